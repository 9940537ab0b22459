"""Places of a release: every table that was measured of them, put together by least squares."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import InferenceError

SCHEMA = """
[columns.county]
kind = "categorical"
levels = ["north", "south"]
source = "official list"
reviewed = true
[columns.area]
kind = "categorical"
levels = ["n1", "s1", "n2", "s2", "n3"]
source = "official list"
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
[[relations]]
hierarchy = ["area", "county"]
within = { south = ["s1", "s2"], north = ["n1", "n2", "n3"] }
source = "official list"
reviewed = true
"""
AREAS = np.array(["n1", "s1", "n2", "s2", "n3"])


def people(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.choice(AREAS, n, p=[0.1, 0.2, 0.3, 0.15, 0.25])
    county = np.where(np.char.startswith(area.astype(str), "n"), "north", "south")
    return pl.DataFrame({"county": county, "area": area, "sex": rng.choice(["f", "m"], n)})


def released(seed=1, rows=None, **how):
    schema = us.Schema.loads(SCHEMA)
    given = {"epsilon": 2, "delta": 1e-6, "method": "marginals", "insecure_noise_seed": seed}
    options = {"workload": "county & sex, area & sex"}
    given |= {"options": options, "budget": {"answers": 0}}
    return us.synthesize(people() if rows is None else rows, schema, **{**given, **how})


def test_places_of_a_release_are_better_than_any_table_alone_and_sum_up():
    release = released()
    found = us.places(release, ["county", "area"], ["sex"])
    assert repr(found) == "Places(all 1, county 2, area 5; sex)"
    tables = [one for one in release.measurements if one.kind == "table"]
    alone = [one.stddev for one in tables if one.columns == ("area",)]
    for area in AREAS:
        assert found.total(str(area)).error < min(alone)
    areas = found.table("area")
    north = areas.filter(pl.col("place").str.starts_with("n"))["estimate"].sum()
    assert north == pytest.approx(found.total("north").estimate)
    both = found.total(["n1", "s1"])
    spread = found.total("n1").error ** 2 + found.total("s1").error ** 2
    spread += 2 * found.covariance(["n1"], ["s1"])
    assert both.error**2 == pytest.approx(spread)
    assert found.stated == release.guarantee.statement


def test_a_released_folder_alone_answers(tmp_path):
    release = released()
    loaded = us.Release.load(release.save(tmp_path / "release"))
    ours, theirs = (us.places(one, ["county", "area"]) for one in (release, loaded))
    assert ours.table("area").equals(theirs.table("area"))


@pytest.mark.statistical
def test_intervals_of_places_cover_the_rows_as_often_as_they_say():
    """40 releases of 5 areas and a sum: 240 intervals of 95 %, those of one release together.

    Fewer than 208 or all are seen by chance once in some thousand times.
    """
    rows, hits = people(), 0
    truth = dict(rows["area"].value_counts().iter_rows())
    for seed in range(40):
        found = us.places(released(seed, rows), ["county", "area"], ["sex"])
        for area in AREAS:
            answer = found.total(str(area))
            hits += answer.lower <= truth[area] <= answer.upper
        answer = found.total(["n1", "s1"])
        hits += answer.lower <= truth["n1"] + truth["s1"] <= answer.upper
    assert 208 <= hits < 240


def test_a_table_that_lacks_records_out_of_domain_is_left_aside():
    """Areas that nobody knows are counted in their county, and in no area."""
    rows = people()
    lost = rows.with_columns(pl.lit("x9").alias("area")).head(300)
    release = released(rows=pl.concat([rows, lost]))
    found = us.places(release, ["county", "area"], ["sex"])
    assert any("area" in name for name in found.left_aside)


@pytest.mark.parametrize(
    ("spine", "by", "words"),
    [
        (["area", "county"], [], "no hierarchy"),
        (["county", "block"], [], "no measured column"),
        (["county", "area"], ["area"], "named twice"),
    ],
)
def test_columns_that_are_no_tree_are_refused(spine, by, words):
    with pytest.raises(InferenceError, match=words):
        us.places(released(), spine, by)


def test_a_release_without_a_table_of_places_says_so():
    release = replace(released(), measurements=())
    with pytest.raises(InferenceError, match="no table"):
        us.places(release, ["county", "area"])
