"""Second moments and tables of several columns together, against all of it solved at once.

False alarms: chi-squared tests at 10⁻⁴ on both sides.
"""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from understudy.features.scores import UNIT, FeatureMap
from understudy.inference.measured_moments import MeasuredMoments
from understudy.inference.second_moments import MomentMatrix
from understudy.release.measurement import Measurement, product_codes
from understudy.release.shape import Kind
from understudy.schema import Schema

SCHEMA = Schema.loads("""
rows = "private"
[columns.age]
kind = "integer"
lower = 0
upper = 13
missing = [-1]
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.region]
kind = "categorical"
levels = ["a", "b", "c", "d"]
reviewed = true
""")
NAMES, MOMENTS = SCHEMA.names, 30.0
ROWS = 1e6  # so that nothing follows from how many there are
SIZES = tuple(SCHEMA.columns[name].size for name in NAMES)
STATES = np.array(list(product(*map(range, SIZES))))  # of each cell of the whole table
SCORES = FeatureMap.of(SCHEMA, NAMES)
NORTH = {"region": (0, 0, 1, 1)}
BY_TWOS = {"age": (*(k // 2 for k in range(14)), 7)}
TABLES = (
    (("age", "sex", "region"), {}, 9.0),
    (("age", "region"), NORTH, 4.0),
    (("region", "sex"), NORTH, 2.0),
    (("age", "sex"), {}, 6.0),
)
DRAWS = 40
N_RELEASED = SCORES.size + 1  # with the number of records


def weights_of_moments():
    """What a record of each cell adds to each released number, and to the number of records."""
    of_cell = np.zeros((len(STATES), len(SCORES)))
    for axis, name in enumerate(NAMES):
        table = SCORES.tables[name] / UNIT
        if name == "age":
            table[:14, 0] = (2 * np.arange(14) - 13) / 13
            table[14:, 0] = 0
        of_cell[:, SCORES.places(name)] = table[STATES[:, axis]]
    counted, sums, products, squares, coded = SCORES.order.places
    assert not len(counted)
    found = np.zeros((N_RELEASED, len(STATES)))
    found[sums] = of_cell.T
    first, second = SCORES.pairs
    found[products] = (of_cell[:, first] * of_cell[:, second]).T
    number, present = of_cell[:, list(SCORES.numbers)].T, STATES[:, 0] < 14
    found[squares] = 2 * number**2 - present
    assert not len(coded)
    found[-1] = 1
    return found


def weights_of_table(columns, groups):
    """Which cells of the whole table each cell of a table has."""
    merged = [np.array(groups.get(name, range(SIZES[NAMES.index(name)]))) for name in columns]
    own = [group[STATES[:, NAMES.index(name)]] for group, name in zip(merged, columns, strict=True)]
    place = np.ravel_multi_index(own, [group.max() + 1 for group in merged])
    return np.equal.outer(np.arange(place.max() + 1), place).astype(float)


def cells(rng, n=3_000):
    """How many records are in each cell."""
    return rng.multinomial(n, rng.dirichlet(np.ones(len(STATES)))).astype(float)


def measurement(kind, columns, codes, counts, stddev, groups):
    about = {"outside": 0.0, "entry": 1, "name": "t", "groups": groups}
    noise = {"distribution": "discrete_gaussian", "scale": str(stddev**2), "stddev": stddev}
    return Measurement(kind=kind, columns=columns, codes=codes, counts=counts, **about, **noise)


def measured(there, rng, tables, scale=1.0):
    """Second moments and tables with noise, and the number of rows with noise of its own."""
    exact = weights_of_moments() @ there
    deviations = np.append(np.full(SCORES.size, MOMENTS), ROWS)
    noisy = exact + scale * deviations * rng.normal(size=len(exact))
    codes = product_codes(SCORES)
    found = [measurement(Kind.PRODUCTS, NAMES, codes, noisy[:-1], scale * MOMENTS, {})]
    for columns, groups, stddev in tables:
        counts = weights_of_table(columns, groups) @ there
        counts = counts + scale * stddev * rng.normal(size=len(counts))
        places = np.arange(len(counts))
        found.append(measurement(Kind.TABLE, columns, places, counts, scale * stddev, groups))
    return found, (noisy[-1], scale * ROWS)


def joined(found, n) -> MomentMatrix:
    return MeasuredMoments(found, SCHEMA, n).matrix(NAMES)


def covariance(matrix):
    together = matrix.together
    found = np.diag(matrix.variances)
    found[np.ix_(together.entries, together.entries)] = together.covariance
    return found


def solve_at_once(found, n, tables):
    """The released numbers by least squares in all cells, and the covariance of their noise."""
    moments = weights_of_moments()
    design = np.vstack([moments, *(weights_of_table(*table[:2]) for table in tables)])
    variances = [np.append(np.full(SCORES.size, MOMENTS**2), ROWS**2)]
    variances += [np.full(len(one.counts), one.stddev**2) for one in found[1:]]
    told = np.concatenate([found[0].counts, [n[0]], *(one.counts for one in found[1:])])
    precision = design.T / np.concatenate(variances)
    inverse = np.linalg.pinv(precision @ design, hermitian=True)
    return moments @ inverse @ (precision @ told), moments @ inverse @ moments.T


@pytest.mark.parametrize("tables", [TABLES[:1], TABLES[1:3], TABLES], ids=["one", "merged", "all"])
def test_numbers_are_those_of_least_squares_in_all_cells_at_once(tables):
    """But for what tables have in common by their number of records, which they are not asked for.

    That tells a little more of how many have a code, and of squares, which go with it.
    """
    rng = np.random.default_rng(1)
    found, n = measured(cells(rng), rng, tables)
    matrix, (values, noise) = joined(found, n), solve_at_once(found, n, tables)
    told = weights_of_moments().any(axis=1)  # nobody is out of domain
    told[-1] = False
    scale, own = np.sqrt(np.diag(noise))[told], np.sqrt(np.diag(covariance(matrix)))[told]
    off = np.abs((matrix.numbers - values)[told] / scale)
    *_, squares, _ = SCORES.order.places
    common = np.isin(np.flatnonzero(told), [*squares, SCORES.order.places[1][1]])
    assert own[~common] == pytest.approx(scale[~common], rel=1e-3)
    assert off[~common].max() < 0.02
    assert (own > scale * 0.999).all()
    assert (own < scale * 1.05).all()
    assert off.max() < 0.4


@pytest.fixture(scope="module")
def errors():
    """Of random combinations of the numbers, in standard errors: several a draw of the noise."""
    rng = np.random.default_rng(2)
    there, exact, found = cells(rng), weights_of_moments(), []
    told = exact.any(axis=1)
    told[-1] = False
    for _ in range(DRAWS):
        matrix = joined(*measured(there, rng, TABLES))
        error = (matrix.numbers - exact @ there)[told]
        root = np.linalg.cholesky(covariance(matrix)[np.ix_(told, told)])
        found.append(np.linalg.solve(root, error))
    return np.array(found)


@pytest.mark.parametrize("factor", [1.0, 1.3, 0.7])
def test_noise_is_what_the_matrix_says(errors, factor):
    """All numbers at once; a scale that is wrong by 30 % shows."""
    squares = np.sum(errors**2) / factor**2
    inside = stats.chi2(errors.size).ppf(5e-5) < squares < stats.chi2(errors.size).ppf(1 - 5e-5)
    assert inside == (factor == 1.0)


def test_wide_cells_are_bounded_and_never_make_an_interval_wider():
    """Of a number whose states are merged by twos, the bound holds whatever lies where."""
    rng = np.random.default_rng(3)
    there, exact = cells(rng), weights_of_moments()
    tables = ((("age", "sex"), BY_TWOS, 1.0),)
    for scale in (1e-6, 0.01, 1.0, 10.0):
        found, n = measured(there, rng, tables, scale)
        matrix, alone = joined(found, n), joined(found[:1], n)
        gradients = np.eye(N_RELEASED)
        bound = matrix.within_cells_by(gradients)
        half = 1.96 * np.sqrt(np.diag(covariance(matrix))) + bound
        before = 1.96 * np.sqrt(alone.variances)
        assert (half <= before * (1 + 1e-9)).all()
        slack = 6 * np.sqrt(np.diag(covariance(matrix))) + 0.2  # scores are rounded
        assert (np.abs(matrix.numbers - exact @ there) <= bound + slack).all()
    assert (half < 0.8 * before).any()  # where noise is large, cells help though they are wide
    assert bound.any()
