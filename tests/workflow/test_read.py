"""Noisy tables of other systems, read as a release: what stands in it, and what is refused."""

import io
import pickle
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import DataError
from understudy_verify import verify

SCHEMA = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
[columns.job]
kind = "categorical"
levels = ["none", "worker", "boss"]
missing = [""]
source = "codebook"
reviewed = true
[[forbidden]]
where = { sex = "m", job = "boss" }
source = "made up"
reviewed = true
"""
CELLS = [("f", "none", 30.0), ("f", "worker", 50.0), ("f", "boss", 12.0), ("f", "", 3.0),
         ("m", "none", 41.0), ("m", "worker", 60.0), ("m", "", -2.0)]  # fmt: skip
ABOUT = {"stated_by": "Office", "epsilon": 1, "n_rows": 200, "seed": 1}


def written(folder, cells=CELLS, ending="csv", entries="scale = 2", law="discrete laplace"):
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    table = pl.DataFrame(cells, schema=["sex", "job", "value"], orient="row")
    if ending == "csv":
        table.write_csv(folder / "t.csv")
    else:
        table.write_parquet(folder / "t.parquet")
    text = f"""
schema = "schema.toml"
n_rows = 200
[stated]
by = "Office of Freedonia"
epsilon = 1
words = "One person added or removed."
[[tables]]
file = "t.{ending}"
law = "{law}"
{entries}
"""
    (folder / "read.toml").write_text(text, encoding="utf-8")
    return folder / "read.toml"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_becomes_a_release_that_loads_and_that_the_checker_takes(tmp_path, ending):
    release = us.read_measurements(written(tmp_path, ending=ending), seed=1)
    place = release.save(tmp_path / "release")
    loaded = us.Release.load(place)
    assert loaded.not_compared == ()
    assert "broken" not in {said[1] for said in verify(place)}
    (table,) = loaded.measurements
    assert table.counts.tolist() == [30, 50, 12, 3, 41, 60, 0, -2]
    assert loaded.guarantee.kind == "none"
    assert loaded.guarantee.epsilon is None
    assert "As stated by Office of Freedonia: ε = 1. One person" in loaded.guarantee.statement
    assert [entry["mechanism"] for entry in loaded.manifest.ledger] == ["stated elsewhere"]
    (records,) = loaded.tables
    assert records.height == 200
    assert records.filter(pl.col("sex") == "m", pl.col("job") == "boss").height == 0


def test_answers_rest_on_the_stated_noise(tmp_path):
    """The count of a cell has the variance of its noise beside that of sampling; more noise, wider
    intervals."""
    widths = []
    for variance in (4, 400):
        path = written(tmp_path, entries=f"variance = {variance}", law="gaussian")
        analysis = us.analyze(us.read_measurements(path, seed=1), "table", "sex")
        assert analysis.pooled.rule == "noise-aware"
        widths.append(float(analysis.pooled.stderr[0]))
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize(
    ("law", "entries", "stddev"),
    [
        ("laplace", "scale = 2", 8**0.5),
        ("laplace", "variance = 8", 8**0.5),
        ("discrete laplace", "variance = 8", 8**0.5),
        ("laplace", "scale = 1.7", 1.7 * 2**0.5),
        ("discrete gaussian", "variance = 12.345678", 12.345678**0.5),
        ("gaussian", "variance = 9", 3.0),
        ("discrete gaussian", "variance = 9", 3.0),
    ],
)
def test_every_law_has_the_deviation_that_is_stated(tmp_path, law, entries, stddev):
    release = us.read_measurements(written(tmp_path, entries=entries, law=law), seed=1)
    assert release.measurements[0].stddev == pytest.approx(stddev, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": CELLS[1:]}, "each combination"),
        ({"cells": [*CELLS, CELLS[0]]}, "each combination"),
        ({"cells": [*CELLS[1:], ("f", "king", 1.0)]}, "does not have"),
        ({"cells": [*CELLS[1:], ("f", "none", float("nan"))]}, "finite"),
        ({"entries": ""}, "scale or a variance"),
        ({"entries": "scale = 1\nvariance = 2"}, "scale or a variance"),
        ({"law": "gaussian", "entries": "variance = 0.5"}, "below 2"),
        ({"law": "cauchy"}, "law"),
        ({"entries": "scale = 1e-9"}, "between 0.001"),
        ({"entries": "scale = -1"}, "greater than 0"),
        ({"entries": "scale = 1\nclipped = true"}, "clipped"),
    ],
)
def test_what_does_not_fit_is_refused_and_no_value_is_shown(tmp_path, change, words):
    with pytest.raises(DataError, match=words) as caught:
        us.read_measurements(written(tmp_path, **change))
    assert "50" not in str(caught.value)


def test_objects_are_read_by_their_attributes_alone(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    schema = us.Schema.load(tmp_path / "schema.toml")
    values = np.array([30, 50, 12, 3, 41, 60, 7, -2.0])
    both = SimpleNamespace(clique=("sex", "job"), stddev=3.0, noisy_measurement=values)
    one = SimpleNamespace(clique=["sex"], stddev=2, values=[97, 103])
    release = us.read_measurements([both, one], schema, **ABOUT)
    joint, single = release.measurements
    assert joint.counts.tolist() == [30, 50, 12, 3, 41, 60, 0, -2], "zeros hold nothing"
    small = us.read_measurements([both], schema, **ABOUT, delta=1e-9)
    assert float(small.guarantee.delta) == 1e-9
    assert "δ = 1e-09" in small.guarantee.statement
    assert (joint.stddev, single.stddev) == pytest.approx((3, 2)), "sums of powers of e"
    for wrong in (
        SimpleNamespace(clique=("sex",), stddev=2.0, values=[1.0]),
        SimpleNamespace(clique=("sex",), values=[1.0, 2.0]),
        SimpleNamespace(clique=("age",), stddev=2.0, values=[1.0, 2.0]),
        object(),
    ):
        with pytest.raises(DataError):
            us.read_measurements([wrong], schema, **ABOUT)


def test_what_is_stated_stands_in_pages_as_text(tmp_path):
    path = written(tmp_path)
    text = path.read_text(encoding="utf-8").replace("of Freedonia", "<b>[red]of|`F`</b>")
    path.write_text(text, encoding="utf-8")
    place = us.read_measurements(path, seed=1).save(tmp_path / "release")
    assert us.Release.load(place).not_compared == ()
    assert "broken" not in {said[1] for said in verify(place)}
    path.write_text(text.replace("Office", "Off\\nice"), encoding="utf-8")
    with pytest.raises(DataError, match=r"stated\.by"):
        us.read_measurements(path)


def test_a_pickle_is_never_loaded(tmp_path):
    """A file of measurements is text; one that runs something when it is loaded runs nothing."""

    class Trap:
        def __reduce__(self):
            return (print, ("loaded",))

    path = tmp_path / "measured.npz"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(DataError, match="TOML"):
        us.read_measurements(path)
    with pytest.raises(DataError):
        us.read_measurements(io.BytesIO(path.read_bytes()))


def test_a_column_without_a_table_is_named(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    one = SimpleNamespace(clique=["sex"], stddev=2, values=[97, 103])
    with pytest.raises(DataError, match="'job'"):
        us.read_measurements([one], tmp_path / "schema.toml", **ABOUT)


@pytest.mark.statistical
@pytest.mark.nightly
def test_intervals_of_read_tables_cover_the_share_as_often_as_they_say():
    """300 populations of 500 with noise of deviation 12 in two cells: the share is covered 95 % of
    the time, ± 3.8 points by chance once in 400 times; noise taken for half of it gives 80 %."""
    rng, hits = np.random.default_rng(5), 0
    schema = us.Schema.loads(SCHEMA.split("[columns.job]")[0])
    for _ in range(300):
        people = rng.binomial(500, 0.4)
        values = np.array([people, 500 - people]) + rng.normal(0, 12, 2)
        made = SimpleNamespace(clique=("sex",), stddev=12.0, values=values)
        release = us.read_measurements([made], schema, **{**ABOUT, "n_rows": 500})
        lower, upper = us.analyze(release, "table", "sex").pooled.interval()
        hits += lower[0] < 0.4 < upper[0]
    assert 0.912 < hits / 300 < 0.988
