"""Sensitivities by enumerating neighbours on a small domain, and the ε that noise then realises.

Every table of up to three records over a coding with an out-of-domain value is compared with each
of its neighbours, through the engine's own coding and counting.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from understudy.engine import Table
from understudy.privacy.calibration import calibrate, l1_sensitivity, l2_sensitivity_squared
from understudy.privacy.scores import CellCount, MarginalDistance
from understudy.schema import Schema

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


def tables():
    return [rows for n in range(4) for rows in combinations_with_replacement(RECORDS, n)]


def engine(rows):
    frame = pl.DataFrame(list(rows), schema={"a": pl.String, "b": pl.Boolean}, orient="row")
    return Table(frame, SCHEMA)


def vectors(rows):
    exact = engine(rows).count(MARGINALS).expose()
    return [np.append(table.inside.reshape(-1), table.outside) for table in exact]


ALL = {rows: vectors(rows) for rows in tables()}


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
    changes = [ALL[a][marginal] - ALL[b][marginal] for a, b in neighbours(relation)]
    l1 = max(int(np.abs(change).sum()) for change in changes)
    squared = max(int((change**2).sum()) for change in changes)
    if MARGINALS[marginal] == () and relation == "replace":
        assert l1 == squared == 0  # the total does not change
    else:
        assert l1 == l1_sensitivity(relation)
        assert squared == l2_sensitivity_squared(relation)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("law", ["geometric", "laplace"])
def test_noise_realises_the_stated_epsilon_and_no_more(relation, law):
    """Largest log ratio of the noisy table's law over neighbours and outcomes: Σ|change| / b."""
    epsilon = Fraction(3, 4)
    noise = calibrate(law, spend=epsilon, accounting="pure", neighbours=relation)
    grid = np.arange(-6, 7).astype(float)
    for a, b in neighbours(relation):
        change = ALL[a][2] - ALL[b][2]
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
def test_marginal_distance_has_the_stated_sensitivity(relation):
    rng = np.random.default_rng(1)
    marginals = ((0,), (1,))
    largest = 0.0
    for _ in range(20):
        estimates = (rng.normal(1, 2, 2), rng.normal(1, 2, 3))
        score = MarginalDistance(marginals, estimates)
        values = {
            rows: score.evaluate(engine(rows).count(score.queries()).expose())
            for rows in list(ALL)[:60]
        }
        for a, b in neighbours(relation):
            if a in values and b in values:
                largest = max(largest, np.abs(values[a] - values[b]).max())
    bound = float(MarginalDistance.sensitivity(relation))
    assert largest <= bound + 1e-9
    assert largest > 0.9 * bound


def test_cell_counts_change_by_one_and_are_monotone_under_add_remove():
    score = CellCount((0, 1))
    values = {rows: score.evaluate(engine(rows).count(score.queries()).expose()) for rows in ALL}
    for relation in ("add_remove", "replace"):
        changes = np.array([values[a] - values[b] for a, b in neighbours(relation)])
        assert np.abs(changes).max() == float(CellCount.sensitivity(relation))
        rises_and_falls = ((changes > 0).any(axis=1) & (changes < 0).any(axis=1)).any()
        assert rises_and_falls == (relation == "replace")  # hence no monotone rule there
