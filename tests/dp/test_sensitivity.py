"""Sensitivities by enumerating neighbours on a small domain, and the ε that noise then realises.

Every table of up to three records over a coding with an out-of-domain value is compared with each
of its neighbours, through the engine's own coding and counting.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.dp.calibration import calibrate, l1_sensitivity, l2_sensitivity_squared
from understudy.mechanisms.selection_scores import (
    STEPS,
    CellCount,
    DistanceFromModel,
    DistanceFromProduct,
)
from understudy.schema import Schema

pytestmark = pytest.mark.statistical

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y"]
reviewed = true
[columns.b]
kind = "boolean"
missing = [""]
reviewed = true
[[forbidden]]
where = {a = "y", b = true}
reviewed = true
"""
RECORDS = list(product(["x", "y", "?"], [True, None]))
SCHEMA = Schema.loads(COLUMNS)
MARGINALS = [(0,), (1,), (0, 1), ()]


@cache
def engine(rows):
    frame = pl.DataFrame(list(rows), schema={"a": pl.String, "b": pl.Boolean}, orient="row")
    return Table(frame, SCHEMA)


@cache
def vectors(rows):
    exact = engine(rows).count(MARGINALS).expose()
    return [np.append(table.inside.reshape(-1), table.outside) for table in exact]


ALL = [rows for n in range(4) for rows in combinations_with_replacement(RECORDS, n)]


def neighbours(relation):
    """Pairs of tables that differ by one record."""
    for rows in ALL:
        for k, record in product(range(len(rows)), [None, *RECORDS]):
            rest = rows[:k] + rows[k + 1 :]
            if relation == "add_remove" and record is None:
                yield rows, rest
            elif relation == "replace" and record is not None:
                yield rows, tuple(sorted((*rest, record), key=RECORDS.index))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("marginal", range(len(MARGINALS)))
def test_contingency_tables_change_by_at_most_the_stated_norms_and_attain_them(relation, marginal):
    changes = [vectors(a)[marginal] - vectors(b)[marginal] for a, b in neighbours(relation)]
    l1 = max(int(np.abs(change).sum()) for change in changes)
    squared = max(int((change**2).sum()) for change in changes)
    if MARGINALS[marginal] == () and relation == "replace":
        assert l1 == squared == 0  # the total does not change
    else:
        assert l1 == l1_sensitivity(relation)
        assert squared == l2_sensitivity_squared(relation)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("distribution", ["geometric", "laplace"])
def test_noise_realises_the_stated_epsilon_and_no_more(relation, distribution):
    """Largest log ratio of the noisy table's law over neighbours and outcomes: Σ|change| / b."""
    epsilon = Fraction(3, 4)
    noise = calibrate(distribution, spend=epsilon, accounting="pure", neighbours=relation)
    grid = np.arange(-6, 7).astype(float)
    for a, b in neighbours(relation):
        change = vectors(a)[2] - vectors(b)[2]
        ratios = [np.abs(noise.log_pmf(grid - d) - noise.log_pmf(grid)).max() for d in change]
        assert sum(ratios) <= float(epsilon) + 1e-9
    assert l1_sensitivity(relation) / noise.scale == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_gaussian_noise_realises_the_stated_rho(relation):
    """Rényi divergence of discrete Gaussians is at most α · change² / (2σ²)."""
    rho = Fraction(1, 10)
    noise = calibrate("gaussian", spend=rho, accounting="zcdp", neighbours=relation)
    assert l2_sensitivity_squared(relation) / (2 * noise.variance) <= rho
    x = np.arange(-60, 61)
    for alpha in (1.5, 2.0, 8.0):
        log_ratio = noise.log_pmf(x - 1) - noise.log_pmf(x)
        divergence = np.log(np.sum(np.exp(alpha * log_ratio + noise.log_pmf(x)))) / (alpha - 1)
        assert divergence <= alpha / (2 * float(noise.variance)) * (1 + 1e-9)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_distance_from_a_model_has_the_stated_sensitivity(relation, grouped):
    """Enumerated over neighbours, also where states are merged; attained by the largest weight."""
    groups = {"a": (0, 0), "b": (1, 0, 0)} if grouped else {}
    schema = SCHEMA.with_groups(groups) if grouped else SCHEMA
    rng = np.random.default_rng(1)
    candidates = (("a",), ("b",), ("a", "b"))
    cells = sum(np.prod([schema.columns[n].size for n in names]) for names in candidates)
    largest = 0.0
    for _ in range(5):
        estimates = rng.uniform(0, 1.2, cells)
        penalties = rng.uniform(0, 5, 3)
        score = DistanceFromModel(schema, candidates, estimates, (3, 1, 2), penalties)
        values = {}
        for rows in ALL[:60]:
            seen = engine(rows).group(schema, groups) if grouped else engine(rows)
            values[rows] = score.evaluate(seen, {})
        for a, b in neighbours(relation):
            if a in values and b in values:
                largest = max(largest, np.abs(values[a] - values[b]).max())
    bound = float(score.sensitivity(relation))
    assert bound == 3 * STEPS * (1 if relation == "add_remove" else 2)
    # A column merged into one group has nothing to replace: its distance moves by one at most.
    assert 0.9 * bound / (2 if grouped and relation == "replace" else 1) < largest <= bound


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_distance_from_a_product_is_that_from_a_model_and_as_sensitive(relation):
    """Enumerated over neighbours, and attained; what is remembered is of the same estimates."""
    rng = np.random.default_rng(2)
    candidates, largest, remembered = (("a", "b"), ("b", "a")), 0.0, {}
    for _ in range(5):
        one_ways, total = tuple(rng.uniform(0, 2, k) for k in SCHEMA.sizes), rng.uniform(0, 3)
        product = np.outer(*one_ways) / max(total, 1)
        estimates = np.concatenate([product.ravel(), product.T.ravel()])
        slow = DistanceFromModel(SCHEMA, candidates, estimates, (1, 1), np.zeros(2))
        score, values = DistanceFromProduct(SCHEMA, candidates, one_ways, total), {}
        for rows in ALL[:60]:
            values[rows] = score.evaluate(engine(rows), {})
            assert (values[rows] == slow.evaluate(engine(rows), {})).all()
        assert (score.evaluate(engine(ALL[7]), remembered) == values[ALL[7]]).all()
        again = DistanceFromProduct(SCHEMA, candidates, tuple(map(np.copy, one_ways)), total)
        assert (again.evaluate(None, remembered) == values[ALL[7]]).all(), "no row is read again"
        for a, b in neighbours(relation):
            if a in values and b in values:
                largest = max(largest, np.abs(values[a] - values[b]).max())
    bound = float(score.sensitivity(relation))
    assert bound == float(slow.sensitivity(relation))
    assert 0.9 * bound < largest <= bound


def test_merged_states_are_counted_as_groups_and_change_by_no_more():
    groups = {"b": (0, 1, 1)}
    for rows in ALL:
        fine = engine(rows).count([(0, 1)]).expose()[0]
        seen = engine(rows).group(SCHEMA.with_groups(groups), groups)
        coarse = seen.count([(0, 1)]).expose()[0]
        merged = np.stack([fine.inside[:, 0], fine.inside[:, 1:].sum(axis=1)], axis=1)
        assert (coarse.inside == merged).all()
        assert coarse.outside == fine.outside


def test_cell_counts_change_by_one_and_are_monotone_under_add_remove():
    score = CellCount((0, 1))
    values = {rows: score.evaluate(engine(rows).count(score.queries()).expose()) for rows in ALL}
    for relation in ("add_remove", "replace"):
        changes = np.array([values[a] - values[b] for a, b in neighbours(relation)])
        assert np.abs(changes).max() == float(CellCount.sensitivity(relation))
        rises_and_falls = ((changes > 0).any(axis=1) & (changes < 0).any(axis=1)).any()
        assert rises_and_falls == (relation == "replace")  # hence no monotone rule there
