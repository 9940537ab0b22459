"""Rounding to a public lattice is exact, and what it does to the sensitivity is paid for."""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from understudy.dp.calibration import lattice_sensitivity, public_step, round_to_lattice
from understudy.dp.distributions import LatticeLaplace


@pytest.mark.parametrize("step", [F(1, 2**20), F(1, 8), F(1), F(64)])
def test_rounding_is_the_mathematical_one(step):
    values = np.random.default_rng(1).normal(size=2000) * 1000
    for value, rounded in zip(values, round_to_lattice(values, step), strict=True):
        assert F(float(rounded)) == step * round(F(float(value)) / step)


def test_ties_go_to_the_even_multiple_and_shape_is_kept():
    rounded = round_to_lattice([[0.25, 0.75], [-0.25, 1.25]], F(1, 2))
    assert rounded.tolist() == [[0, 1], [0, 1]]


def test_huge_values_are_clipped_not_refused():
    assert round_to_lattice([1e300, -1e300], F(1, 4)).tolist() == [2.0**50, -(2.0**50)]
    assert round_to_lattice([1e300], F(1, 2**500)).tolist() == [2.0**-448]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_refused_without_showing_any(value):
    with pytest.raises(ValueError, match="finite") as caught:
        round_to_lattice([123.456, value], F(1))
    assert "123" not in str(caught.value)
    assert "nan" not in str(caught.value)


@pytest.mark.parametrize("step", [F(0), F(-1), F(3), F(1, 3), F(2**501)])
def test_steps_must_be_powers_of_two(step):
    with pytest.raises(ValueError, match="power of two"):
        round_to_lattice([1.0], step)
    with pytest.raises(ValueError, match="power of two"):
        lattice_sensitivity(F(1), step, 1)


@pytest.mark.parametrize("bound", [F(3, 10), F(1), F(7, 3)])
@pytest.mark.parametrize("step", [F(1, 4), F(1), F(2)])
def test_no_pair_of_neighbours_is_further_apart_than_stated(bound, step):
    """Enumerates pairs of two-coordinate statistics whose L1 distance is at most the bound."""
    grid = [F(i, 16) * step for i in range(-8, 9)]
    moves = [bound * F(i, 6) for i in range(-6, 7)]
    stated = lattice_sensitivity(bound, step, 2)

    def rounded(value):
        return step * round(value / step)

    # Both coordinates are anywhere on the grid, so each moves the farthest wherever the other is.
    farthest = {move: max(abs(rounded(a + move) - rounded(a)) for a in grid) for move in moves}
    pairs = ((p, q) for p, q in product(moves, repeat=2) if abs(p) + abs(q) <= bound)
    worst = max(farthest[p] + farthest[q] for p, q in pairs)
    assert worst <= stated
    assert worst >= stated - step  # The statement is not idle: the enumeration comes close to it.


def test_record_wise_rounding_is_covered_too():
    step, bound = F(1, 2), F(5, 4)
    contributions = [F(i, 16) for i in range(-20, 21)]
    rounded = [step * round(c / step) for c in contributions]
    assert max(abs(r) for r in rounded) <= lattice_sensitivity(bound, step, 1)
    replaced = max(abs(r - s) for r in rounded for s in rounded)
    assert replaced <= lattice_sensitivity(2 * bound, step, 1)


def test_lattice_noise_keeps_its_epsilon_on_the_rounded_statistic():
    """The realised log-ratio of outputs, from the law itself, over the largest rounded move."""
    epsilon, step, bound = F(1, 2), F(1, 4), F(1, 3)
    sensitivity = lattice_sensitivity(bound, step, 1)
    distribution = LatticeLaplace(sensitivity / epsilon, step)
    outputs = np.arange(-400, 401) * float(step)
    moved = distribution.log_pmf(outputs - float(sensitivity))
    assert np.max(np.abs(distribution.log_pmf(outputs) - moved)) <= float(epsilon) + 1e-12


def test_the_public_step_inflates_the_sensitivity_by_no_more_than_promised():
    for sensitivity, d, bits in product([F(1, 7), F(1), F(12345, 11)], [1, 3, 1000], [0, 4, 20]):
        step = public_step(sensitivity, d, bits)
        assert step * d * 2**bits <= sensitivity < 2 * step * d * 2**bits
        assert lattice_sensitivity(sensitivity, step, d) <= sensitivity * (1 + F(1, 2**bits))


@pytest.mark.parametrize(
    "call",
    [
        lambda: lattice_sensitivity(F(-1), F(1), 1),
        lambda: lattice_sensitivity(F(1), F(1), 0),
        lambda: public_step(F(0), 1),
        lambda: public_step(F(1), 0),
        lambda: public_step(F(1), 1, -1),
    ],
)
def test_arguments_out_of_range_are_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()
