"""Sums of numbers from second moments and from counts of cells together.

False alarms: chi-squared tests at 10⁻⁴ on both sides.
"""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from made_matrices import exact_products, matrix_of
from night import NIGHT
from understudy.data.table import Table
from understudy.features.grids import LineCells, coarse_states, line_bins
from understudy.features.scores import FeatureMap
from understudy.inference.measured_moments import NumberCounts
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.schema import Schema

SCHEMA = Schema.loads("""
rows = "private"
[columns.age]
kind = "integer"
lower = 0
upper = 40
bins = [0, 10, 20, 40]
reviewed = true
[columns.pay]
kind = "continuous"
lower = 0
upper = 100
bins = [0, 10, 30, 100]
missing = [-1]
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
""")
N, MOMENTS, LINE, TABLE, ROWS = 2_000, 30.0, 8.0, 6.0, 12.0


def people(rng, n=N):
    """Numbers, some of them absent, and some out of domain or beyond a bound."""
    age = rng.integers(0, 41, n).astype(float)
    pay = np.where(rng.random(n) < 0.1, -1, np.minimum(rng.gamma(2, 10, n), 100))
    age[:20], age[20:30] = np.nan, 55
    return pl.DataFrame({"age": age, "pay": pay, "sex": rng.choice(["f", "m"], n)})


def measurement(name, counts, kind, stddev, rng, **more):
    noisy = counts + stddev * rng.normal(size=len(counts))
    about = {"codes": np.arange(len(counts)), "outside": 0.0, "entry": 1, "name": "t"}
    noise = {"distribution": "discrete_gaussian", "scale": str(stddev**2), "stddev": stddev}
    return Measurement(kind=kind, columns=(name,), counts=noisy, **about, **noise, **more)


def counts_of(rows):
    """Of each number the counts of its table, those of its line, and the bins of that."""
    data, found = Table(rows, SCHEMA), {}
    for place, name in enumerate(("age", "pay")):
        bins = {name: line_bins(SCHEMA.columns[name])}
        cells = LineCells.of(SCHEMA.with_bins(bins), name)
        table = data.count([(place,)]).expose()[0].inside
        found[name] = table, data.line_counts({name: cells}).expose()[name][:-1], bins
    return found


def counted(rows, rng, *, noise=1.0, lines=True, exact=None):
    """A table of each number, and its line."""
    found = []
    for name, (table, line, bins) in (exact or counts_of(rows)).items():
        found.append(measurement(name, table, Kind.TABLE, noise * TABLE, rng))
        fine = measurement(name, line, Kind.LINE, noise * LINE, rng, bins=bins)
        found += [fine] * lines
    return tuple(found)


def joined(matrix, measurements):
    return NumberCounts(measurements, SCHEMA).put_to(matrix)


def moments(rows, rng, *, noise=1.0, exact=None):
    matrix = matrix_of(rows, SCHEMA, stddev=noise * MOMENTS, rng=rng, exact=exact)
    matrix.numbers[-1] += noise * ROWS * rng.normal()
    matrix.variances[-1] = (noise * ROWS) ** 2
    return matrix


def quantities(matrix):
    """Derivatives of n, and the sum and the sum of squares of each number."""
    size, places = len(matrix.sums), [matrix.place[name, None] for name in ("age", "pay")]
    found = np.zeros((5, size, size))
    found[0, 0, 0] = 1
    for k, place in enumerate(places):
        found[1 + k, 0, place] = found[3 + k, place, place] = 1
    return found


def values(matrix):
    return np.einsum("qij,ij->q", quantities(matrix), matrix.sums)


@pytest.mark.parametrize("lines", [True, False])
def test_exact_counts_leave_exact_moments_as_they_are(lines):
    """But for where numbers lie within cells, which the bound holds."""
    rng = np.random.default_rng(1)
    rows = people(rng)
    exact = moments(rows, rng, noise=1e-6)
    both = joined(exact, counted(rows, rng, noise=1e-6, lines=lines))
    assert values(both) == pytest.approx(values(exact), abs=N / 2**15)  # scores are rounded


def test_sums_are_those_of_generalised_least_squares():
    """By the normal equations of all numbers at once; whole numbers have cells of their own."""
    rng = np.random.default_rng(2)
    rows = people(rng).with_columns(pay=pl.lit(-1.0))
    release = counted(rows, rng)[:2]
    matrix = moments(rows, rng)
    table, line = release
    fine = line.bin_schema(SCHEMA).columns["age"]
    middle = np.array([cell.low for cell in fine.intervals]) / 20 - 1
    place = matrix.basis.source[0, matrix.scores.places("age")[0] + 1]
    square = matrix.basis.squares[matrix.place["age", None]]
    contrasts = matrix.scores.tables["age"][coarse_states(fine, SCHEMA.columns["age"])] / 2**15
    wanted = [place, square, len(matrix.numbers) - 1]
    told = [middle, 2 * middle**2 - 1, np.ones(fine.size)]
    for j in matrix.scores.places("age")[2:]:  # the second is out of domain
        wanted.append(matrix.basis.source[0, j + 1])
        told.append(contrasts[:, j])
    told = np.array(told)
    # Unknown: cells of the line with both beyond them, and how many are out of domain.
    k, inside = fine.size, np.zeros((3, fine.size + 3))
    for state, row in enumerate(inside):
        row[:k] = coarse_states(fine, SCHEMA.columns["age"]) == state
    fold = np.zeros((k, k + 3))
    fold[:, :k] = np.eye(k)
    fold[0, k] = fold[-1, k + 1] = 1
    inside[0, k] = inside[2, k + 1] = 1
    sums = told @ fold
    sums[2, -1] = 1
    out = np.eye(k + 3)[-1:]
    design = np.vstack([np.eye(k + 3)[:-1], inside, sums, out])
    at_out = matrix.basis.source[0, matrix.scores.places("age")[1] + 1]
    entries = [*wanted, at_out]
    y = np.concatenate([line.counts, table.counts, matrix.numbers[entries]])
    noise = np.concatenate([np.full(k + 2, LINE**2), np.full(3, TABLE**2)])
    weights = 1 / np.concatenate([noise, matrix.variances[entries]])
    covariance = np.linalg.inv(design.T * weights @ design)
    estimate = covariance @ (design.T * weights) @ y
    both = joined(matrix, release)
    assert both.numbers[wanted] == pytest.approx(sums @ estimate)
    assert both.numbers[at_out] == pytest.approx(estimate[-1])
    at = np.searchsorted(both.together.entries, wanted)
    shown = both.together.covariance[np.ix_(at, at)]
    np.testing.assert_allclose(shown, sums @ covariance @ sums.T, rtol=1e-6, atol=1e-9)
    assert both.together.off.size == 0


def test_the_noise_is_as_stated_and_less_than_before():
    """Standardised errors of releases; twice the scale, or half of it, would be noticed."""
    releases = 400 if NIGHT else 40
    rng = np.random.default_rng(3)
    rows = people(rng)
    exact = values(moments(rows, rng, noise=1e-9))
    products, counts = (
        exact_products(rows, SCHEMA, FeatureMap.of(SCHEMA, SCHEMA.names)),
        counts_of(rows),
    )
    errors = []
    for _ in range(releases):
        before = moments(rows, rng, exact=products)
        both = joined(before, counted(rows, rng, exact=counts))
        derivatives = quantities(both)
        noise = np.diag(both.noise_covariance(derivatives))
        errors.append((values(both) - exact) / np.sqrt(noise))
        assert (noise < np.diag(before.noise_covariance(derivatives))).all()
    size = np.sum(np.square(errors), axis=0)
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], releases)
    ages = size[[0, 1, 3]]  # cells of pay hide a bit more
    assert ((low < ages) & (ages < high)).all()
    assert not ((low < ages / 4) | (ages * 4 < high)).any()


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("at", [0.0, 0.999])
def test_the_bound_holds_wherever_numbers_lie_in_their_cells(at, lines):
    rng = np.random.default_rng(4)
    rows = people(rng)
    pay = rows["pay"].to_numpy().copy()
    edges = np.array([0, 10, 30, 100.0])
    if lines:
        bins = {"pay": line_bins(SCHEMA.columns["pay"])}
        cells = SCHEMA.with_bins(bins).columns["pay"].intervals
        edges = np.array([*(cell.low for cell in cells), 100.0])
    cell = np.minimum(np.searchsorted(edges, pay, "right") - 1, len(edges) - 2)
    moved = edges[cell] + at * np.diff(edges)[cell]
    rows = rows.with_columns(pay=np.where(pay < 0, -1, moved))
    exact = values(moments(rows, rng, noise=1e-9))
    release = counted(rows, rng, noise=1e-3, lines=lines)
    both = joined(moments(rows, rng, noise=30), release)
    bound = both.within_cells(quantities(both))
    off = np.abs(values(both) - exact)
    noise = np.sqrt(np.diag(both.noise_covariance(quantities(both))))
    assert (bound[[2, 4]] > 0).all()
    assert (off <= bound + 4 * noise).all()
    assert (off[[2, 4]] > 0.01 * bound[[2, 4]]).all()


def test_without_counts_of_numbers_nothing_changes():
    rng = np.random.default_rng(5)
    matrix = moments(people(rng), rng)
    assert joined(matrix, ()) is matrix
