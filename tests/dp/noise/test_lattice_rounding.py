"""Statistics are rounded to a public lattice, and what that does to the sensitivity is paid for."""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from understudy.dp.calibration import public_step
from understudy.dp.distributions import LatticeLaplace
from understudy.mechanisms.sums import rounded_sensitivity


@pytest.mark.parametrize("bound", [2, 7, 12])
@pytest.mark.parametrize("step", [1, 2, 8])
def test_no_pair_of_neighbours_is_further_apart_than_stated(bound, step):
    """Enumerates pairs of two whole numbers, both of which change, by at most the bound in all."""

    def rounded(value):
        return (value + step // 2) // step

    moves = [move for move in range(-bound, bound + 1) if move]
    # Both numbers are anywhere on the grid, so each moves the farthest wherever the other is.
    farthest = {
        move: max(abs(rounded(a + move) - rounded(a)) for a in range(-2 * step, 2 * step + 1))
        for move in moves
    }
    pairs = ((p, q) for p, q in product(moves, repeat=2) if abs(p) + abs(q) <= bound)
    assert max(farthest[p] + farthest[q] for p, q in pairs) == rounded_sensitivity(bound, 2, step)


def test_lattice_noise_keeps_its_epsilon_on_the_rounded_statistic():
    """The realised log-ratio of outputs, from the law itself, over the largest rounded move."""
    epsilon, step = F(1, 2), F(1, 4)
    sensitivity = rounded_sensitivity(9, 1, 4) * step
    distribution = LatticeLaplace(sensitivity / epsilon, step)
    outputs = np.arange(-400, 401) * float(step)
    moved = distribution.log_pmf(outputs - float(sensitivity))
    worst = np.max(np.abs(distribution.log_pmf(outputs) - moved))
    assert worst == pytest.approx(float(epsilon), abs=1e-12)


def test_the_public_step_inflates_the_sensitivity_by_no_more_than_promised():
    for sensitivity, d, bits in product([F(1, 7), F(1), F(12345, 11)], [1, 3, 1000], [0, 4, 20]):
        step = public_step(sensitivity, d, bits)
        assert step * d * 2**bits <= sensitivity < 2 * step * d * 2**bits


@pytest.mark.parametrize("arguments", [(F(0), 1), (F(1), 0), (F(1), 1, -1)])
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="expected"):
        public_step(*arguments)
