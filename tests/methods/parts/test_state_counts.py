"""Counts of the states of a column, from its table and from its number line."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from night import NIGHT
from understudy.dp.released import Noise, NoisyLine, NoisyTable
from understudy.features.grids import LineCells, line_bins
from understudy.methods import marginal_based, noisy_marginals
from understudy.methods.binning import fine_bins
from understudy.methods.marginal_based import NoisyStatistics
from understudy.methods.noisy_marginals import (
    CompressedDomain,
    LineParts,
    StateCounts,
    line_parts,
    observations,
)
from understudy.methods.registry import configure
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.analyze import model_of, request_again

COLUMNS = {
    "income": 'kind = "integer"\nlower = 0\nupper = 1000000\nspikes = [0]\nmissing = [-9]',
    "age": 'kind = "integer"\nlower = 0\nupper = 110',
    "price": 'kind = "continuous"\nlower = 0\nupper = 250\ndecimals = 2',
    "real": 'kind = "continuous"\nlower = -3\nupper = 8.7\nnot_applicable = ["none"]',
    "day": 'kind = "date"\nlower = 1990-06-15\nupper = 2020-01-01',
    "wait": 'kind = "duration"\nlower = "PT0S"\nupper = "P9D"',
    "bins": 'kind = "integer"\nlower = 0\nupper = 9000\nbins = [0, 40, 900, 9000]',
    "single": 'kind = "integer"\nlower = 1\nupper = 9',
}
SIGMA = Noise("discrete Gaussian", "9", 3.0)


def schemas(name):
    """A column as it is declared, and in fine bins."""
    declared = f'[columns.{name}]\n{COLUMNS[name]}\nsource = "codebook"\nreviewed = true'
    own = Schema.loads(declared)
    return own, own.with_bins(fine_bins(own))


def counted(column, values, codes):
    """Exact counts of the states of a column: numbers, and records of each code."""
    counts = np.zeros(column.size)
    spikes = {one.low: k for k, one in enumerate(column.intervals) if one.spike}
    bins = [(one.low, k) for k, one in enumerate(column.intervals) if not one.spike]
    lows = np.array([low for low, _ in bins])
    for value in values:
        at = spikes.get(value)
        if at is None:
            at = bins[int(np.searchsorted(lows, value, side="right")) - 1][1]
        counts[at] += 1
    counts[column.n_ordinary :] = codes
    return counts


def lined(name, seed, stddev=0.0):
    """A line and a table of the same records, with noise; and the exact counts of the table."""
    rng, (own, fine) = np.random.default_rng(seed), schemas(name)
    column, bins = fine.columns[name], {name: line_bins(own.columns[name])}
    narrow = own.with_bins(bins).columns[name]
    low, high = column.bounds
    values = low + (high - low) * rng.random(300) ** 3
    values = np.floor(values) if float(low).is_integer() and name != "real" else values
    values = np.append(values, [low, high, *(one.low for one in column.intervals if one.spike)])
    codes = rng.integers(0, 50, column.size - column.n_ordinary)
    exact = counted(column, values, codes)
    beyond = rng.integers(0, 9, 2)  # clipped to the bounds in a table
    cells = np.append(counted(narrow, values, codes), beyond)
    np.add.at(exact, list(LineCells(column).ends), beyond)
    line = NoisyLine((name,), cells + rng.normal(0, stddev, len(cells)), 0.0, SIGMA, bins)
    return fine, line, exact


@pytest.mark.parametrize("name", COLUMNS)
def test_parts_hold_the_same_records_in_a_table_and_in_a_line(name):
    fine, line, exact = lined(name, 1)
    parts = LineParts.of(line, fine)
    np.testing.assert_array_equal(np.bincount(parts.states, exact), parts.counts)
    assert parts.cells.sum() == len(line.counts)
    assert (parts.cells > 0).all()
    if name in ("income", "price", "age", "real", "bins"):  # edges of both go together
        assert len(parts.counts) > 0.8 * min(len(line.counts) - 2, len(exact))


def dense(table, spread, lines):
    """Generalised least squares by matrices: counts and their covariance."""
    parts = [np.eye(len(line.counts))[line.states].T for line in lines]
    design = np.vstack([np.eye(len(table)), *parts])
    precision = np.diag(1 / np.concatenate([spread, *(line.variances for line in lines)]))
    covariance = np.linalg.inv(design.T @ precision @ design)
    told = np.concatenate([table, *(line.counts for line in lines)])
    return covariance @ design.T @ precision @ told, covariance


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_counts_are_generalised_least_squares(data):
    """Without a line, with one, and with a finer one within its parts."""
    k = data.draw(st.integers(1, 12))
    states = np.sort(data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)))
    numbers = st.floats(-1e4, 1e4)
    table = np.array(data.draw(st.lists(numbers, min_size=k, max_size=k)))
    spread = np.array(data.draw(st.lists(st.floats(0.1, 100), min_size=k, max_size=k)))
    lines = []
    for coarser in (1, 2)[: data.draw(st.integers(0, 2))]:
        parts = np.unique(states // coarser, return_inverse=True)[1]
        n_parts = int(parts.max()) + 1
        counts = np.array(data.draw(st.lists(numbers, min_size=n_parts, max_size=n_parts)))
        cells = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n_parts, max_size=n_parts)))
        lines.append(LineParts(parts, counts, cells, SIGMA))
    groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k)))
    found = StateCounts(table, spread, tuple(lines))
    wanted, covariance = dense(table, spread, lines)
    np.testing.assert_allclose(found.counts, wanted, atol=1e-6)
    np.testing.assert_allclose(found.deviations**2, np.diag(covariance), rtol=1e-6)
    into = np.eye(int(groups.max()) + 1)[groups].T
    np.testing.assert_allclose(
        found.variances_of(groups), np.diag(into @ covariance @ into.T), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", ["income", "price", "real", "bins"])
def test_a_finer_line_tells_records_again_what_the_usual_one_lost_to_it(name):
    fine, usual, exact = lined(name, 2)
    column = schemas(name)[0].columns[name]
    size = LineCells.of_line(schemas(name)[0], name, 4).size
    finer = NoisyLine((name,), np.zeros(size), 0.0, SIGMA, {name: line_bins(column, 4)})
    alone, both = (line_parts(fine, found)[name] for found in ([usual], [usual, finer]))
    assert (len(alone), len(both)) == (1, 2)
    spread = np.full(len(exact), 50.0)
    once, twice = (StateCounts(exact, spread, lines) for lines in (alone, both))
    assert (twice.deviations < once.deviations).all()


def test_states_that_hold_nobody_have_none_whatever_a_line_says():
    line = LineParts(np.array([0, 0, 1]), np.array([50.0, 8]), np.array([1, 1]), SIGMA)
    table = NoisyTable(("x",), np.array([30.0, 4, 9]), 0.0, SIGMA)
    found = StateCounts.of(table, np.array([True, False, True]), (line,))
    assert found.counts.tolist() == [40.0, 0.0, 8.5]
    np.testing.assert_allclose(found.deviations**2, [4.5, 0, 4.5])


def test_without_a_line_a_table_is_as_it_was():
    found = StateCounts(np.array([3.0, 4]), np.array([9.0, 0]))
    assert found.counts.tolist() == [3.0, 4.0]
    assert found.deviations.tolist() == [3.0, 0.0]
    assert found.variances_of(np.array([0, 0])).tolist() == [9.0]


def test_the_first_table_of_a_column_takes_its_line():
    """Not one over groups, not a second one, none of another column."""
    fine, line, exact = lined("age", 2)
    plain = NoisyTable(("age",), exact, 0.0, SIGMA)
    groups = {"age": tuple(range(len(exact)))}
    grouped = NoisyTable(("age",), exact, 0.0, SIGMA, groups=groups)
    found = observations(
        CompressedDomain(fine, {}), [grouped, plain, plain], 300, line_parts(fine, [line])
    )
    variance = SIGMA.stddev**2
    assert [(one.variance < variance).all() for one in found] == [False, True, False]
    assert [(one.variance == variance).all() for one in found] == [True, False, True]
    assert line_parts(fine, []) == {}


def test_a_line_that_is_drawn_again_has_fresh_noise_in_every_cell():
    """Deviations within five standard errors; parts of more cells have more."""
    fine, line, exact = lined("income", 3)
    plain = NoisyTable(("income",), exact, 0.0, SIGMA)
    parts = LineParts.of(line, fine)
    released = NoisyStatistics([plain, plain], {"income": (parts,)}, [], None)
    rng = np.random.default_rng(4)
    n = 6_000 if NIGHT else 1_500
    again = [released.resample(fine, rng) for _ in range(n)]
    drawn = np.array([one.lines["income"][0].counts for one in again])
    ratio = drawn.var(axis=0) / parts.variances
    assert parts.cells.max() > 1
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / n)
    np.testing.assert_allclose(
        drawn.mean(axis=0), parts.counts, atol=5 * 3 * np.sqrt(parts.cells.max() / n)
    )


def release(n=4_000, **more):
    rng = np.random.default_rng(5)
    trait = rng.normal(size=n)
    age = np.clip(np.rint(50 + 14 * trait), 0, 110).astype(int)
    sex = np.where(rng.random(n) < 0.3 + 0.004 * age, "f", "m")
    declared = f'[columns.age]\n{COLUMNS["age"]}\nsource = "codebook"\nreviewed = true\n'
    schema = Schema.loads(
        declared + '[columns.sex]\nkind = "categorical"\nlevels = ["f", "m"]\nreviewed = true'
    )
    return us.synthesize(
        pl.DataFrame({"age": age, "sex": sex}), schema, epsilon=1, delta="1e-6",
        insecure_noise_seed=1, budget={"lines": 0.2}, method="marginals", **more,
    )  # fmt: skip


def test_the_model_of_a_release_has_its_line():
    """Whoever has the release builds the model that its records were drawn from."""
    made = release()
    tables = [one.noisy(made.schema) for one in made.measurements if one.kind is Kind.TABLE]
    method = configure("marginals", {})
    model, alone = model_of(made, 1), method.rebuilt(made.schema, tables, made.manifest.n_rows)
    (table,) = (one for one in tables if one.columns == ("age",) and not one.groups)
    (line,) = (one for one in made.measurements if one.kind is Kind.LINE)
    counts = np.asarray(table.counts), np.asarray(line.counts)[: len(table.counts)]
    both = np.average(counts, axis=0, weights=[1 / table.stddev**2, 1 / line.stddev**2])
    drawn = made.tables[0]["age"].to_numpy()
    errors = [
        np.abs(own.numbers["age"][1].masses[20:80] - both[20:80]).mean() for own in (model, alone)
    ]
    assert errors[0] < 0.8 * errors[1]
    made_counts = np.bincount(drawn, minlength=111)
    masses = [own.numbers["age"][1].masses for own in (model, alone)]
    far = [np.abs(own - made_counts[: len(own)]).sum() for own in masses]
    assert far[0] < 0.8 * far[1]
    again = request_again(made)  # as a bootstrap asks for its replicates
    bins = {"age": line_bins(again.schema.columns["age"])}
    assert LineCells.of(again.schema.with_bins(bins), "age").size == line.counts.size


@pytest.mark.parametrize("n", [60, 4_000])
def test_a_line_counts_once(monkeypatch, n):
    """Also where single columns are measured again, as with few records."""
    fits = []

    def observe(*asked):
        fits.append([])
        return observations(*asked)

    def watch(merged, table, allowed, lines):
        if table.columns == ("age",):
            fits[-1].append(len(lines))
        return sum_states(merged, table, allowed, lines)

    sum_states = noisy_marginals._sum_states
    monkeypatch.setattr(marginal_based, "observations", observe)
    monkeypatch.setattr(noisy_marginals, "_sum_states", watch)
    made = release(n=n)
    last = fits[-1]
    assert model_of(made, 1) is not None
    assert fits[-1] == last
    assert {sum(lines) for lines in fits} == {1}
    if n < 100:
        assert len(last) > 1


def test_sets_of_their_own_fits_share_no_line():
    """They are to differ by all of their noise."""
    made = release(sets=2, options={"sets": "split"})
    tables = [one.noisy(made.schema) for one in made.measurements if one.kind is Kind.TABLE]
    method = configure("marginals", {"sets": "split"})
    (line,) = (one for one in made.measurements if one.kind is Kind.LINE)
    value = NoisyLine(("age",), np.asarray(line.counts), line.outside, line.noise, line.bins)
    first = method.by_fit(made.schema, tables, 2)[0]
    n_rows = made.manifest.n_rows
    one, other = (method.rebuilt(made.schema, first, n_rows, beside) for beside in ((), [value]))
    np.testing.assert_array_equal(one.numbers["age"][1].masses, other.numbers["age"][1].masses)
