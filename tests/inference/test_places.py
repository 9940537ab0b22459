"""Places of a release: every table that was measured of them, put together by least squares."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import BudgetError, InferenceError, ReleaseError

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
@pytest.mark.nightly
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


DECLARED = """
[geography]
spine = ["county", "area"]
by = ["sex"]
shares = [1, 3]
"""
TOTALS = """
[[geography.invariants]]
level = "county"
totals = {{ north = {}, south = {} }}
source = "law of the census"
"""


def declared(rows, totals=None, **how):
    """A release whose schema declares places."""
    schema = us.Schema.loads(DECLARED + (TOTALS.format(*totals) if totals else "") + SCHEMA)
    given = {"epsilon": 2, "delta": 1e-6, "insecure_noise_seed": 3, "allow_nonprivate": True}
    return us.synthesize(rows, schema, **{**given, **how})


def counties(rows):
    return [(rows["county"] == name).sum() for name in ("north", "south")]


@pytest.mark.parametrize(
    "how", [{}, {"method": "privbayes"}, {"method": "independent", "sets": 2}, {"delta": 0}]
)
@pytest.mark.nightly(every=4)
def test_declared_places_are_measured_beside_what_records_follow(tmp_path, how):
    """Claim: each level's table is bought with its share, and no method takes it for its own."""
    release = declared(people(), **how)
    schema = release.schema
    plan = us.plan(schema, **{"epsilon": 2, "delta": 1e-6, **how})
    levels = [one for one in plan.setup if one.query.startswith("counts by")]
    county, area = (one for one in levels if one.columns[1:] == ("sex",))
    assert area.share == 3 * county.share
    loaded = us.Release.load(release.save(tmp_path / "release"))
    found = us.places(loaded)
    assert repr(found) == "Places(all 1, county 2, area 5; sex)"
    assert found.fit.variances(2).max() < area.stddev**2
    bought = {one.entry for one in loaded.measurements} - {one.entry for one in loaded.behind_sets}
    assert [one.columns for one in loaded.measurements if one.entry in bought] == [
        ("county", "sex"), ("area", "sex")
    ]  # fmt: skip
    assert loaded.manifest.contradictions == ()


def test_the_plan_says_how_wide_intervals_of_places_will_be():
    for totals in (None, counties(people())):
        release = declared(people(), totals)
        plan = us.plan(release.schema, epsilon=2, delta=1e-6)
        (said,) = (one for one in plan.remarks if "us.places" in one)
        behind = {one.entry for one in release.behind_sets}
        own = tuple(one for one in release.measurements if one.entry not in behind)
        found = us.places(replace(release, measurements=own))
        for level in ("county", "area"):
            errors = [found.table(level, by)["error"] for by in ([], ["sex"])]
            about = [f"± {1.959964 * (one**2).median() ** 0.5:,.3g}" for one in errors]
            about[0] = "± 0" if totals and level == "county" else about[0]
            assert f"{level}, total {about[0]}, of a cell {about[1]}" in said


def test_exact_totals_hold_whatever_the_rows_are_and_the_steward_alone_hears_of_it():
    rows, told = people(), []
    true, wrong = counties(rows), [500, 500]
    for totals in (true, wrong):
        told.clear()
        release = declared(rows, totals, confide=told.append)
        found = us.places(release)
        for name, total in zip(("north", "south"), totals, strict=True):
            answer = found.total(name)
            assert (answer.estimate, answer.error) == (pytest.approx(total), pytest.approx(0))
        assert found.total("n1").error > 1
        assert [one.value.levels for one in told if hasattr(one.value, "levels")] == (
            [] if totals is true else [("county",)]
        )
        assert "exact totals of the level county" in str(release.guarantee.public_inputs)
    same = declared(rows, wrong, confide_misfits=False)
    assert same.manifest.to_json() == release.manifest.to_json(), "nothing released depends on it"


def test_a_table_without_records_out_of_domain_is_left_aside_beside_exact_totals():
    rows = people().with_columns(
        pl.when(pl.int_range(pl.len()) < 300).then(pl.lit("x")).otherwise("sex").alias("sex")
    )
    release = declared(rows, counties(rows))
    assert {"county × sex", "area × sex"} <= {*us.places(release).left_aside}


def test_parts_of_the_budget_buy_places_only_where_they_are_declared():
    with pytest.raises(BudgetError, match="geography"):
        us.plan(us.Schema.loads(SCHEMA), epsilon=1, budget={"places": 0.2})
    schema = us.Schema.loads(DECLARED + SCHEMA)
    none = us.plan(schema, epsilon=1, delta=1e-6, budget={"places": 0})
    assert not any("us.places" in one for one in none.remarks)
    with pytest.raises(BudgetError, match="must leave"):
        us.plan(schema, epsilon=1, delta=1e-6, budget={"places": 0.9})


def test_a_folder_that_lacks_the_tables_it_says_were_bought_is_refused(tmp_path):
    release = released()
    told = replace(release, manifest=replace(release.manifest, places_share="1/4"))
    with pytest.raises(ReleaseError, match="tables of places"):
        us.Release.load(told.save(tmp_path / "release"))
