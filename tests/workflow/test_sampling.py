"""More records of a release: those of its model, those of it that fit, and refusals."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import Day, column
from understudy.errors import MethodError, ReleaseError
from understudy.release.load import require_relations
from understudy.workflow import sample
from understudy.workflow.sample import Condition, ReleasedModel

pytestmark = pytest.mark.whole

FORBIDDEN = """
[[forbidden]]
where = { works = false, pay = { lower = 10, upper = 100 } }
source = "definition"
reviewed = true
[[relations]]
inequality = "began <= ended"
source = "definition"
reviewed = true
"""
BODY = [
    column("age", "integer", lower=18, upper=99, bins=27, source="law"),
    column("sex", "categorical", levels=["f", "m"], source="form"),
    column("works", "boolean", source="form"),
    column(
        *("pay", "continuous"), lower=0, upper=100, bins=20, spikes=[0], decimals=1, missing=[-9]
    ),
    column("grade", "ordinal", levels=["low", "mid", "high"], missing=[""]),
    column("seen", "date", lower=Day("2020-01-01"), upper=Day("2020-12-31"), bins=4),
    column("began", "integer", lower=0, upper=19, bins=4),
    column("ended", "integer", lower=0, upper=19, bins=4),
    column("old", "boolean", derived="age >= 65"),
    column("rate", "continuous", lower=0, upper=100, decimals=2, derived="pay / 2", missing=[""]),
]
SCHEMA = us.Schema.loads("\n".join(["row_limit = 10000", *BODY, FORBIDDEN]))
N = 4_000


def rows():
    rng = np.random.default_rng(2)
    age = rng.integers(18, 100, N)
    works = rng.random(N) < 0.9 - age / 150
    pay = np.where(works, rng.gamma(2 + age / 30, 8, N).clip(0.1, 100), 0).round(1)
    began = rng.integers(0, 20, N)
    days = rng.integers(0, 366, N)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], N),
            "works": works,
            "pay": np.where(rng.random(N) < 0.05, -9.0, pay),
            "grade": rng.choice(["low", "mid", "high", None], N),
            "seen": [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in days],
            "began": began,
            "ended": [rng.integers(one, 20) for one in began],
        }
    )


@pytest.fixture(scope="module")
def release():
    how = {"budget": {"answers": "0.1", "lines": "0.3"}, "method": "marginals"}
    return us.synthesize(rows(), SCHEMA, epsilon=20, delta="1e-6", insecure_noise_seed=1, **how)


@pytest.fixture(scope="module")
def model(release):
    return ReleasedModel.of(release)


@pytest.fixture(scope="module")
def whole(model):
    return model.frame(100_000 if NIGHT else 25_000, seed=1, kind="polars")


@pytest.fixture(scope="module")
def plain():
    """A release whose model is soon made again, for what no dependence has a part in."""
    how = {"method": "independent", "sets": 2, "options": {"sets": "split"}}
    return us.synthesize(rows(), SCHEMA, epsilon=5, insecure_noise_seed=1, **how)


def code(name, series):
    """Levels or twentieths of the numbers of a column, for tables of counts."""
    if series.dtype.is_numeric() and series.n_unique() > 20:
        return (series.rank("average") * 20 / len(series)).floor().clip(0, 19).cast(pl.Int64)
    return series.cast(pl.String).fill_null("")


def test_the_model_has_runs_and_places_so_that_what_follows_tests_them(model):
    assert model.model.places.keys() == model.model.expansions.keys() == {3}
    assert "age" in model.places


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ({"sex": "f", "age": (30, 41)}, (pl.col("sex") == "f") & pl.col("age").is_between(30, 41)),
        ({"pay": (60, None)}, pl.col("pay") >= 60),
        (["age > 70", "works == 'true'"], (pl.col("age") > 70) & pl.col("works")),
        ({"pay": -9}, pl.col("pay") == -9),
        (
            {"grade": ("mid", "high"), "old": True},
            pl.col("grade").is_in(["mid", "high"]) & pl.col("old"),
        ),
        ("rate > 30", pl.col("rate") > 30),
        (
            "(age / 2 < 12) | (pay == 0)",
            ((pl.col("age") < 24) & (pl.col("pay") >= 0)) | (pl.col("pay") == 0),
        ),
        (
            {"seen": (datetime.date(2020, 3, 5), "2020-04-02")},
            pl.col("seen").is_between(datetime.date(2020, 3, 5), datetime.date(2020, 4, 2)),
        ),
        ("began >= 12", pl.col("began") >= 12),
    ],
)
@pytest.mark.nightly(every=9)
def test_records_that_fit_are_those_of_the_model_that_fit(model, whole, where, same):
    """Each column against what fits of an unconditional sample, by χ² of a table of two lines.

    Systematic draws vary less than independent ones, so that χ² < df + 5·√(2·df) + 5 has a false
    alarm below 1e-5 for each column.
    """
    n = 20_000 if NIGHT else 5_000
    found = model.frame(n, where, seed=2, kind="polars")
    assert len(found) == n
    assert found.filter(same).height == n
    require_relations(found, SCHEMA)
    others = whole.filter(same)
    for name in found.columns:
        series = pl.concat([found[name], others[name]])
        table = pd.crosstab(code(name, series).to_numpy(), np.arange(len(series)) < n).to_numpy()
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        freedom = len(table) - 1
        statistic = ((table - expected) ** 2 / expected).sum()
        assert statistic <= freedom + 5 * np.sqrt(2 * freedom) + 5, name
    if others["pay"].n_unique() > 1:
        strength = [np.corrcoef(one["age"], one["pay"])[0, 1] for one in (found, others)]
        spread = np.sqrt(1 / n + 1 / len(others))
        assert abs(np.arctanh(strength[0]) - np.arctanh(strength[1])) < 5 * spread


def test_many_records_are_like_the_released_ones(release, whole):
    table = release.tables[0]
    for name in ("age", "pay"):
        one, other = (frame[name].filter(frame[name] >= 0) for frame in (table, whole))
        assert abs(one.mean() - other.mean()) < 5 * other.std() / np.sqrt(len(one))
    require_relations(whole, SCHEMA)


@pytest.mark.parametrize("n", [0, 3, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_as_many_as_are_asked_for_in_the_types_of_the_sets(release, model, n):
    table = model.frame(n, {"sex": "f"}, seed=1, kind="polars")
    assert (table.schema, table.height) == (release.tables[0].schema, n)


def test_records_beyond_a_part_come_in_parts(model, monkeypatch):
    monkeypatch.setattr(sample, "PART_ROWS", 2**11)
    sizes = [part.height for part in model.parts(5_000, {"sex": "f"}, 1)]
    assert sum(sizes) == 5_000
    assert max(sizes) <= 2**11


@pytest.mark.nightly
def test_a_seed_fixes_the_records_and_nothing_else_does(release, model):
    one, two = (us.sample(release, 50, where="age > 30", seed=4) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    others = (us.sample(release, 50, where="age > 30", seed=seed) for seed in (5, None, None))
    assert len({frame.to_csv() for frame in (one, *others)}) == 4


def test_a_frame_says_what_it_is(plain):
    pandas, arrow = (us.sample(plain, 2, frame=kind) for kind in ("pandas", "arrow"))
    for note in (pandas.attrs["understudy"], arrow.schema.metadata[b"understudy"].decode()):
        assert "NOT private (seeded noise)" in note
        assert "the same information as the release" in note
    assert isinstance(us.sample(plain, 2, frame="polars"), pl.DataFrame)
    assert [*pandas.columns] == [*plain.sets[0].columns]
    assert (pandas.dtypes == plain.sets[0].dtypes).all()


def test_a_folder_gives_the_same_records(plain, tmp_path):
    folder = plain.save(tmp_path / "release")
    pd.testing.assert_frame_equal(us.sample(folder, 9, seed=1), us.sample(plain, 9, seed=1))
    assert "us.sample(release, 1000" in (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"agee": 3}, "names 'agee', which is no column .did you mean 'age'."),
        ({"sex": "x"}, "asks for 'x' of 'sex', which is not one of its values"),
        ({"sex": ("f", "m")}, "gives 'sex' a tuple, which stands for a range"),
        ({"sex": []}, "lists no value of 'sex'"),
        ({"age": (40, 30)}, "ends before it begins"),
        ({"age": [[1]]}, "must give 'age' a value, a list of values or a range"),
        ({"age": {"lower": 1}}, "a value, a list of values or a range .first, last., not dict"),
        ({"age": (3, object())}, "a value, a list of values or a range .first, last., not object"),
        ({"sex": None}, "an absent value of 'sex', whose codes do not hold an empty one"),
        ({3: 1}, "names 3, which is no column"),
        ({"age": "old"}, "must give 'age' a number, not text"),
        ({"seen": 3}, "must give 'seen' a date such as 2020-12-31, not int"),
        ({"grade": ("mid", "top")}, "asks for 'top' of 'grade', which is no level"),
        ({"age": (200, 300)}, "No value that the schema allows fits the condition on age"),
        ({"works": False, "pay": (50, 60)}, "forbids every record that fits the condition on"),
        ("age >", "'age >' cannot be read"),
        ("age + 1", "says neither yes nor no"),
        ("1 < 2", "names no column"),
        ("agee > 1", "names 'agee', which is no column .did you mean 'age'."),
        ("sex > 1", "takes 'sex' for a number, and it has levels"),
        (3, "where must be .* not int"),
        (["age > 1", 3], "not a list with int"),
        ("(age < 65) & (old == 'true')", "Of [0-9,]+ records drawn from the model 0 fit"),
    ],
)
def test_a_condition_that_cannot_be_is_refused_in_a_sentence(model, monkeypatch, where, said):
    monkeypatch.setattr(sample, "_TRIED", 2**14)
    with pytest.raises(MethodError, match=said):
        model.frame(10, where)


def test_what_else_cannot_be(plain):
    for arguments in ({"n": -1}, {"n": 1.5}, {"n": 1, "seed": -1}):
        with pytest.raises(MethodError, match="must be a whole number"):
            us.sample(plain, **arguments)
    with pytest.raises(ReleaseError, match="frame must be one of"):
        us.sample(plain, 1, frame="excel")
    with pytest.raises(ReleaseError, match="must be a Release, or the path"):
        us.sample(3, 1)


def test_evidence_leaves_out_no_state_in_which_a_record_fits(whole):
    """What `holds` takes and `evidence` would not is never drawn; found on drawn records."""
    for where in ("pay <= 20.5", "30 < age", "age != 40", {"pay": [0, -9, 7.5]}, "-age > -30"):
        condition = Condition.of(where, SCHEMA)
        for j, mask in condition.evidence.items():
            name = SCHEMA.names[j]
            assert name in ("age", "pay")
            column = SCHEMA.columns[name]
            series = whole[name]
            fitting = series.filter(_fits(condition, whole))
            inside = np.zeros(len(fitting), dtype=bool)
            for k, one in enumerate(column.intervals):
                if mask[k]:
                    inside |= fitting.is_between(one.low, one.high).to_numpy()
            inside |= (fitting == -9).to_numpy()
            assert inside.all(), where


def _fits(condition, table):
    """The condition on a written table, by the reader's own words for it."""
    text = {
        "pay <= 20.5": (pl.col("pay") <= 20.5) & (pl.col("pay") >= 0),
        "30 < age": pl.col("age") > 30,
        "age != 40": pl.col("age") != 40,
        "-age > -30": pl.col("age") < 30,
    }
    expected = text.get(condition.expressions[0].text) if condition.expressions else None
    expected = pl.col("pay").is_in([0.0, -9.0, 7.5]) if expected is None else expected
    return table.select(expected).to_series()


def test_split_sets_are_sampled_from_all_of_their_fits(plain):
    assert (us.sample(plain, 100, where={"sex": "m"})["sex"] == "m").all()


def test_a_method_whose_drawing_is_paid_for_is_refused():
    schema = us.Schema.loads(
        "n_rows = 50\nrows = 'public'\n" + column("sex", "categorical", levels=["f", "m"])
    )
    frame = pd.DataFrame({"sex": ["f", "m"] * 25})
    release = us.synthesize(frame, schema, epsilon=1, method="dirichlet")
    with pytest.raises(MethodError, match="drawing records is what its budget pays for") as refused:
        us.sample(release, 1)
    assert "one of the methods marginals, aim, mst" in str(refused.value)


@pytest.mark.nightly
def test_places_within_runs_go_with_the_evidence():
    """Two numbers that rise together, merged into runs: given one, the other is where it is in an
    unconditional sample, and not spread over its whole run. A false alarm: below 1e-5."""
    body = [column(name, "integer", lower=0, upper=99, bins=100) for name in ("one", "two")]
    rng = np.random.default_rng(1)
    one = rng.integers(0, 100, 3_000)
    frame = pd.DataFrame({"one": one, "two": (one + rng.normal(0, 4, 3_000)).round().clip(0, 99)})
    schema = us.Schema.loads("\n".join(["row_limit = 10000", *body]))
    how = {"method": "marginals", "options": {"bins": 6}, "insecure_noise_seed": 3}
    model = ReleasedModel.of(us.synthesize(frame, schema, epsilon=2, **how))
    assert model.model.places.keys() == {0, 1}
    others = model.frame(600_000, seed=1, kind="polars").filter(pl.col("one") >= 85)
    found = model.frame(40_000, {"one": (85, None)}, seed=2, kind="polars")
    counts = np.stack([np.bincount(t["two"].to_numpy(), minlength=100) for t in (found, others)])
    counts = counts[:, counts.sum(axis=0) > 20]
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    freedom = counts.shape[1] - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom) + 5
