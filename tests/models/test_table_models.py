"""The nearest non-negative table: against bisection, and what makes it the nearest."""

import numpy as np
import pytest
from scipy.optimize import brentq

from understudy.models.tables import project


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.nightly(every=3)
def test_the_threshold_is_the_root_of_the_sum(seed):
    rng = np.random.default_rng(seed)
    x, total = rng.normal(0, 10, rng.integers(1, 30)), rng.uniform(0.1, 50)
    tau = brentq(lambda t: np.maximum(x - t, 0).sum() - total, x.min() - total, x.max())
    np.testing.assert_allclose(project(x, total), np.maximum(x - tau, 0), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_table_is_nearer(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, 6)
    best = project(x, 7)
    assert best.sum() == pytest.approx(7)
    others = 7 * rng.dirichlet(np.ones(6), 5000)
    others = np.vstack([others, 0.999 * best + 0.001 * others])
    assert ((others - x) ** 2).sum(axis=1).min() >= ((best - x) ** 2).sum()


def test_a_table_that_fits_stays_as_it_is():
    np.testing.assert_allclose(project([3.0, 0.0, 4.0], 7), [3, 0, 4])


def test_leading_axes_are_repetitions():
    rng = np.random.default_rng(0)
    x, totals = rng.normal(0, 3, (2, 3, 8)), rng.uniform(0, 9, (2, 3))
    together = project(x, totals)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[i, j], project(x[i, j], totals[i, j]))


@pytest.mark.parametrize("total", [0, -5])
def test_no_records_leave_nothing(total):
    assert project([5.0, -3.0, 1.0], total).tolist() == [0, 0, 0]
