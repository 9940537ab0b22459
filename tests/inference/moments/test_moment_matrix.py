"""The matrix of second moments: entries, complete cases and derivatives against the rows."""

import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from made_matrices import matrix_of
from schemas import column
from understudy.data.table import Table
from understudy.features.scores import FeatureMap
from understudy.inference import second_moments
from understudy.inference.second_moments import MomentMatrix, MomentSource
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.schema import NUMERIC, Schema

SCHEMA = Schema.loads(
    column("x", "continuous", lower=0.0, upper=10.0)
    + column("pay", "integer", lower=0, upper=100, missing=[-1, -2])
    + column("sex", "categorical", levels=["f", "m"])
    + column("job", "categorical", levels=["a", "b", "c"], missing=["?"])
    + column("age", "integer", lower=20, upper=80, missing=[99], bins=[20, 30, 50, 80])
    + column("one", "categorical", levels=["only"])
)


def made(n, seed, absent=0.08):
    rng = np.random.default_rng(seed)
    pay = np.where(rng.random(n) < absent, rng.choice([-1, -2], n), rng.integers(0, 101, n))
    job = np.where(rng.random(n) < absent, "?", rng.choice(["a", "b", "c"], n))
    age = rng.integers(20, 81, n)
    return pl.DataFrame(
        {
            "x": rng.uniform(0, 10, n),
            "pay": pay,
            "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
            "job": job,
            "age": np.where(rng.random(n) < absent * (1 + (job == "a")), 99, age),
            "one": ["only"] * n,
        }
    )


def indicators(frame, matrix, *, among=(), schema=SCHEMA):
    """Rows of the matrix record by record, by the definition; of those with a value only."""
    kept = frame
    for name in among:
        codes = list(schema.columns[name].codes)
        kept = kept.filter(~pl.col(name).is_in(codes))
    z = np.zeros((kept.height, len(matrix.whole)))
    z[:, 0] = 1
    for (name, state), row in matrix.place.items():
        column, values = schema.columns[name], kept[name]
        codes = list(column.codes)
        if state is None:
            low, high = column.bounds
            number = (values.cast(pl.Float64).to_numpy() - (low + high) / 2) / (high - low) * 2
            z[:, row] = np.where(values.is_in(codes).to_numpy(), 0, number)
        elif state < column.n_ordinary and isinstance(column, NUMERIC):
            edges = np.array([piece.low for piece in column.intervals])
            bins = np.searchsorted(edges, values.to_numpy(), side="right") - 1
            z[:, row] = (bins == state) & ~values.is_in(codes).to_numpy()
        elif state < column.size:
            z[:, row] = values.cast(pl.String).to_numpy() == column.labels[state]
    sums = z.T @ z
    for (name, state), row in matrix.place.items():  # a number with its own bins is not measured
        if state is None:
            own = matrix.basis.columns[name]
            sums[row, own[own != row]] = sums[own[own != row], row] = 0
    return sums


@pytest.mark.parametrize("pure", [False, True], ids=["contrasts", "indicators"])
def test_entries_are_sums_over_the_rows(pure):
    frame = made(500, 1)
    matrix = matrix_of(frame, SCHEMA, pure=pure)
    np.testing.assert_allclose(matrix.sums, indicators(frame, matrix), atol=0.02)


def test_a_part_has_the_entries_of_the_whole():
    frame = made(300, 2)
    scores = FeatureMap.of(SCHEMA, SCHEMA.names)
    values = stack_sums(Table(frame, SCHEMA).score_products(scores).expose(), scores) / ONE
    own, kept = scores.part(("age", "job", "x"))
    source = MomentSource.from_values(own, values[kept], 0.0, pure=False)
    n = frame.height, 0.0
    part = MomentMatrix.of(own, SCHEMA, source.numbers, source.variances, n)
    assert own.columns == ("x", "job", "age")
    np.testing.assert_allclose(part.sums, indicators(frame, part), atol=0.02)
    np.testing.assert_allclose(
        part.among(("job", "age"), SCHEMA).sums[0, 0],
        indicators(frame, part, among=("job", "age"))[0, 0],
        atol=0.02,
    )


def test_records_that_count_have_their_own_number():
    frame = made(300, 3)
    matrix = matrix_of(frame, SCHEMA, ("pay", "job", "x"), complete=("pay", "job"))
    exact = indicators(frame, matrix, among=("pay", "job"))
    np.testing.assert_allclose(matrix.sums, exact, atol=0.02)
    assert matrix.n == pytest.approx(exact[0, 0])


@pytest.mark.parametrize(
    "columns", [("x", "pay"), ("pay", "age"), ("pay", "job"), ("sex", "age"), ("job", "sex")]
)
def test_complete_cases_of_two_columns_are_known(columns):
    frame = made(700, 4, absent=0.3)
    coded = tuple(name for name in columns if SCHEMA.columns[name].codes)
    matrix = matrix_of(frame, SCHEMA, columns).among(coded, SCHEMA)
    np.testing.assert_allclose(matrix.sums, indicators(frame, matrix, among=coded), atol=0.05)
    some = np.random.default_rng(1).normal(size=(1, *matrix.sums.shape))
    if len(coded) == 1:
        assert matrix.bound_hidden(some)[0] == 0


@pytest.mark.parametrize("absent", [0.02, 0.3])
@pytest.mark.parametrize(
    "columns",
    [("x", "pay", "sex"), ("x", "pay", "job"), ("pay", "job", "age"), ("x", "pay", "job", "age")],
)
@pytest.mark.nightly(every=4)
def test_what_is_not_known_of_three_columns_is_bounded(columns, absent):
    """Any estimate, to first order: 200 random derivatives, and one that looks for the worst."""
    hidden = (pl.col("x") > 8) & (pl.col("sex") == "f")  # values are absent where others are large
    frame = made(900, 5, absent=absent).with_columns(
        pay=pl.when(hidden).then(-1).otherwise("pay"), age=pl.when(hidden).then(99).otherwise("age")
    )
    coded = tuple(name for name in columns if SCHEMA.columns[name].codes)
    matrix = matrix_of(frame, SCHEMA, columns).among(coded, SCHEMA)
    off = indicators(frame, matrix, among=coded) - matrix.sums
    rng = np.random.default_rng(2)
    tried = np.concatenate([rng.normal(size=(200, *off.shape)), np.sign(off)[None]])
    error = np.abs(np.einsum("qij,ij->q", tried, off))
    bound = matrix.bound_hidden(tried)
    assert (error <= bound + 0.1).all()
    assert error[-1] > bound[-1] / 25  # no idle bound


WORK = column("sex", "categorical", levels=["f", "m"]) + "".join(
    [
        column("hours", "integer", lower=0, upper=80, missing=[-1]),
        column("own", "categorical", levels=["yes", "no"], missing=["?"]),
        column("pay", "integer", lower=0, upper=10, missing=[-1]),
    ]
)
RULES = """
[[forbidden]]
where = {hours = "-1", own = ["yes", "no"]}
reviewed = true
[[forbidden]]
where = {own = "?", hours = {lower = 0, upper = 80}}
reviewed = true
"""


def at_work(n, seed, alone):
    """Hours, and whether one works on one's own, of those who work; some lack one of both."""
    rng = np.random.default_rng(seed)
    works, sex = rng.random(n) < 0.6, rng.integers(0, 2, n)
    lacks = [~works | (rng.random(n) < alone) for _ in range(3)]
    hours, own = rng.integers(0, 81, n), np.array(["yes", "no"])[rng.integers(0, 2, n)]
    pay = np.rint(np.clip(hours / 10 + sex + rng.normal(size=n), 0, 10)).astype(int)
    return pl.DataFrame(
        {
            "sex": np.array(["f", "m"])[sex],
            "hours": np.where(lacks[0], -1, hours),
            "own": np.where(lacks[1], "?", own),
            "pay": np.where(lacks[2], -1, pay),
        }
    )


@pytest.mark.parametrize("columns", [("sex", "hours", "own"), ("sex", "hours", "own", "pay")])
@pytest.mark.parametrize("alone", [0.0, 0.02])
def test_values_that_are_absent_together_hide_little(columns, alone):
    schema, frame = Schema.loads(WORK), at_work(3_000, 8, alone)
    matrix = matrix_of(frame, schema, columns).among(columns[1:], schema)
    exact = indicators(frame, matrix, among=columns[1:], schema=schema)
    rng = np.random.default_rng(2)
    off = exact - matrix.sums
    tried = np.concatenate([rng.normal(size=(200, *off.shape)), np.sign(off)[None]])
    bound = matrix.bound_hidden(tried)
    assert (np.abs(np.einsum("qij,ij->q", tried, off)) <= bound + 0.5).all()
    lack = frame.filter(pl.col("hours") == -1).height
    assert matrix.sums[0, 0] == pytest.approx(exact[0, 0], rel=1e-3 + 3 * alone)
    count = np.zeros((1, *off.shape))
    count[0, 0, 0] = 1
    # where before it was all of them
    assert matrix.bound_hidden(count)[0] <= 4 * alone * lack + 0.5
    if not alone:
        np.testing.assert_allclose(matrix.sums, exact, atol=0.05)


def test_nothing_is_hidden_of_values_that_a_schema_says_are_absent_together():
    schema, frame = Schema.loads(WORK + RULES), at_work(2_000, 9, 0.0)
    columns = ("sex", "hours", "own")
    noisy = matrix_of(frame, schema, columns, stddev=30.0, rng=np.random.default_rng(1))
    matrix = noisy.among(columns[1:], schema)
    tried = np.random.default_rng(2).normal(size=(20, *matrix.sums.shape))
    assert (matrix.bound_hidden(tried) == 0).all()
    known = matrix_of(frame, schema, columns).among(columns[1:], schema)
    exact = indicators(frame, known, among=columns[1:], schema=schema)
    np.testing.assert_allclose(known.sums, exact, atol=0.05)


@pytest.mark.parametrize("pure", [False, True], ids=["contrasts", "indicators"])
@pytest.mark.parametrize("together", [False, True])
def test_derivatives_are_those_of_differences_where_values_are_absent_together(pure, together):
    schema = Schema.loads(WORK + RULES * together)
    matrix = matrix_of(at_work(400, 6, 0.1), schema, schema.names, pure=pure)
    check_derivatives(matrix.among(schema.names[1:], schema))


@pytest.mark.parametrize("pure", [False, True], ids=["contrasts", "indicators"])
@pytest.mark.parametrize("coded", [(), ("pay",), ("pay", "job", "age")])
@pytest.mark.nightly(every=3)
def test_derivatives_are_those_of_differences(pure, coded):
    matrix = matrix_of(made(400, 6), SCHEMA, ("x", "pay", "sex", "job", "age"), pure=pure)
    check_derivatives(matrix.among(coded, SCHEMA))


def check_derivatives(matrix):
    """Change one released number at a time: entries change as their derivatives say."""
    weights = np.random.default_rng(3).normal(size=matrix.sums.shape)
    gradient = matrix.gradient(weights[None])[0]
    for k in range(len(matrix.numbers)):
        numbers = matrix.numbers.copy()
        numbers[k] += 1e-4
        change = (weights * (replace(matrix, numbers=numbers).sums - matrix.sums)).sum()
        assert change / 1e-4 == pytest.approx(gradient[k], abs=1e-4 + 1e-4 * abs(gradient[k]))


def test_noise_in_the_matrix_has_the_stated_covariance():
    frame = made(400, 7)
    exact = matrix_of(frame, SCHEMA, ("x", "pay", "sex", "job"), stddev=3.0)
    matrix = exact.among(("pay", "job"), SCHEMA)
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(3, *matrix.sums.shape))
    stated = matrix.noise_covariance(weights)
    deviations = np.sqrt(matrix.variances)
    seen = []
    for _ in range(400):
        noisy = replace(
            matrix, numbers=matrix.numbers + deviations * rng.normal(size=len(deviations))
        )
        seen.append(np.einsum("qij,ij->q", weights, noisy.sums - matrix.sums))
    # The sd of a variance of 400 is 7 %: a ratio off by 30 % has a chance below 1e-4.
    ratio = np.var(seen, axis=0) / np.diag(stated)
    assert ((ratio > 0.7) & (ratio < 1.3)).all()
    assert ((ratio / 2 < 0.7) | (ratio / 2 > 1.3)).all()


@pytest.mark.parametrize("coded", [(), ("pay", "job")])
def test_derivatives_of_products_are_the_same_in_parts(coded, monkeypatch):
    matrix = matrix_of(made(400, 6), SCHEMA, ("x", "pay", "sex", "job", "age"))
    matrix = matrix.among(coded, SCHEMA)
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(2, 7, len(matrix.whole)))
    left[2:], right[3:] = left[2:].round(), right[3:].round()  # some weights are 0
    whole = matrix.gradient(left[:, :, None] * right[:, None, :])
    monkeypatch.setattr(second_moments, "_AT_ONCE", 3 * matrix.whole.size)
    parts = matrix.gradient_of_products(left, right)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-12)
    products = left[:, :, None] * right[:, None, :]
    covariance = matrix.noise_covariance(products)
    np.testing.assert_allclose(matrix.noise_between(parts, parts), covariance, rtol=1e-9)
    np.testing.assert_allclose(matrix.noise_of_pairs(parts, parts), np.diag(covariance), rtol=1e-9)
    np.testing.assert_allclose(matrix.within_cells_by(parts), matrix.within_cells(products))


@pytest.mark.nightly
def test_derivatives_of_shares_of_many_levels_need_little_memory():
    """Of all at once they would be 600 · 301² numbers, 430 MB."""
    levels = [f"l{k}" for k in range(300)]
    schema = Schema.loads(
        column("x", "categorical", levels=levels) + column("g", "categorical", levels=["a", "b"])
    )
    frame = pl.DataFrame({"x": levels * 2, "g": ["a"] * 300 + ["b"] * 300})
    matrix = matrix_of(frame, schema, ("x", "g"))
    each, both = (matrix.indicators(schema, name) for name in ("x", "g"))
    left, right = np.tile(each, (2, 1)), np.repeat(both, 300, axis=0)
    tracemalloc.start()
    gradient = matrix.gradient_of_products(left, right)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * gradient.nbytes + 300e6
