"""Sums over grouped rows are sums over rows."""

import numpy as np
import pytest

from understudy.papers.sampling_base import GroupedDesign


def indicators(n, rng):
    """A constant and indicators of three columns, as predictors of states are."""
    parts = [np.ones((n, 1))]
    for size in (2, 4, 3):
        parts.append(np.eye(size)[rng.integers(0, size, n)][:, 1:])
    return np.hstack(parts)


@pytest.mark.parametrize("kind", ["states", "numbers", "one column", "no rows", "constant"])
@pytest.mark.nightly(every=2)
def test_fitted_values_and_sums_are_those_of_the_rows(kind):
    rng = np.random.default_rng(1)
    x = {
        "states": indicators(200, rng),
        "numbers": np.hstack([indicators(60, rng), rng.normal(size=(60, 2))]),
        "one column": np.ones((7, 1)),
        "no rows": np.empty((0, 3)),
        "constant": np.ones((5, 4)),
    }[kind]
    n, p = x.shape
    beta, v, w = rng.normal(size=p), rng.uniform(size=n), rng.normal(size=n)
    grouped = GroupedDesign.of(x)
    assert grouped.predict(beta) == pytest.approx(x @ beta)
    squares, products = grouped.sums(v, w)
    assert np.tril(squares) == pytest.approx(np.tril((x.T * v) @ x))
    assert products == pytest.approx(x.T @ w)


def test_halves_of_states_have_few_patterns():
    grouped = GroupedDesign.of(indicators(500, np.random.default_rng(2)))
    assert max(len(patterns) for _, patterns in (grouped.first, grouped.second)) <= 12
