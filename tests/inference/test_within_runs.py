"""What merged states may hide of a relation is in the interval."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.inference.estimators import Question
from understudy.inference.set_answers import bound_bias, known_numbers, scatter_values

SCHEMA = us.Schema.loads(
    "".join(
        f'[columns.{name}]\nkind = "integer"\nlower = 0\nupper = 99\nreviewed = true\n'
        f'source = "made"\nmissing = [-1]\n'
        for name in ("x", "y")
    )
    + '[columns.sex]\nkind = "categorical"\nlevels = ["f", "m"]\nreviewed = true\nsource = "made"\n'
)


def rows(n=6_000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 100, n)
    y = np.clip(np.rint(0.5 * x + 20 + 8 * rng.normal(size=n)), 0, 99).astype(int)
    x = np.where(rng.random(n) < 0.02, -1, x)
    return pl.DataFrame({"x": x, "y": y, "sex": np.array(["f", "m"])[rng.integers(0, 2, n)]})


@pytest.fixture(scope="module")
def release():
    return us.synthesize(
        rows(), SCHEMA, epsilon=20, delta="1e-6", method="marginals", sets=4, budget={"answers": 0},
        options={"bins": 4}, insecure_noise_seed=1, seed=1,
    )  # fmt: skip


def asked(release, kind, formula):
    question = Question.of(kind, formula, release.schema)
    known = known_numbers(release, question.columns)
    return question, question.answer(release.tables, release.schema, known), known.schema


def test_values_change_places_within_their_group_and_nowhere_else():
    table, schema = rows(500), SCHEMA.with_bins({"x": (0, 9, 49, 99)})
    groups = {"x": (0, 0, 1, 2)}
    moved = scatter_values(table, schema, groups, np.random.default_rng(2))
    runs = pl.when(pl.col("x") < 0).then(2).when(pl.col("x") < 49).then(0).otherwise(1)
    before, after = (one.with_columns(run=runs) for one in (table, moved))
    assert (before["run"] == after["run"]).all()
    assert (before["x"] != after["x"]).sum() > 400
    for run in range(3):
        own, new = (one.filter(pl.col("run") == run)["x"].sort() for one in (before, after))
        assert own.equals(new)
    assert table.drop("x").equals(moved.drop("x"))
    assert moved.schema == table.schema


def test_a_slope_has_room_for_what_goes_on_within_runs(release):
    """Four runs of 25 numbers have a sixteenth of the variance of x, and as much of the slope; so
    have those of y, for records follow the ridge within runs of both. The bound is twice that."""
    question, answer, schema = asked(release, "ols", "y ~ x")
    bound = bound_bias(question, release, answer, schema)
    slope = answer.estimates.mean(axis=0)[1]
    assert 0.2 < bound[1] / slope < 0.3
    analysis = us.analyze(release, "ols", "y ~ x")
    frame = analysis.to_frame()
    assert frame["bias_bound"].iloc[1] >= bound[1]
    half = (frame["upper"] - frame["lower"]).iloc[1] / 2
    assert half > bound[1]
    assert frame["lower"].iloc[1] < 0.5 < frame["upper"].iloc[1]
    assert any("room for twice" in note for note in analysis.notes)


def test_where_nothing_is_merged_there_is_no_room(release):
    question, answer, schema = asked(release, "mean", "x")
    assert (bound_bias(question, release, answer, schema) == 0).all()
    fine = us.synthesize(
        rows(), SCHEMA.with_bins({"x": (0, 49, 99), "y": (0, 49, 99)}), epsilon=20, delta="1e-6",
        method="marginals", sets=4, budget={"answers": 0}, insecure_noise_seed=1, seed=1,
    )  # fmt: skip
    question, answer, schema = asked(fine, "ols", "y ~ x")
    assert (bound_bias(question, fine, answer, schema) == 0).all()


def test_an_answer_is_the_same_each_time(release):
    question, answer, schema = asked(release, "ols", "y ~ x")
    bounds = [bound_bias(question, release, answer, schema) for _ in range(2)]
    np.testing.assert_array_equal(*bounds)


def test_a_function_of_ones_own_has_room_too(release):
    def correlation(frame):
        r = np.corrcoef(frame["x"], frame["y"])[0, 1]
        return [r], [(1 - r**2) ** 2 / len(frame)]

    question = Question.of(correlation, "x + y", release.schema)
    answer = question.answer(release.tables, release.schema)
    known = known_numbers(release, question.columns)
    [bound] = bound_bias(question, release, answer, known.schema)
    assert 0.15 < bound < 0.3
