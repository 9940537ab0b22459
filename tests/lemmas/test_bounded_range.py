"""What a mechanism of bounded range costs under Gaussian DP: (1) of `dp.gaussian_dp`."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmas.intervals import ROOT2, arb, density, holds_everywhere, upper
from night import NIGHT
from understudy.dp.gaussian_dp import amount_of_pure, pure_within
from understudy.mechanisms.selection import gdp_cost, zcdp_cost

TAIL = 10.0


def test_two_points_are_hardest_to_tell_apart_in_the_middle():
    """g'(z) = Φ(z)Φ(-z)/φ(z) falls for all z > 0, that is zΦ(z)Φ(-z) < φ(z)(2Φ(z) - 1).

    Divided by z and below 1/2, where (2Φ(z) - 1)/z, a mean of 2φ over [0, z], is at least 2φ(z):
    2φ(z)² > Φ(z)Φ(-z). From there to 10 as it stands. Beyond 10, Φ(-z) ≤ φ(z)(1/z - 1/z³ + 3/z⁵),
    so the claim follows from Φ(-z) < (1/z² - 3/z⁴)Φ(z); at 10 the left side is below 10⁻²³ and the
    right one above 0.009, and z²Φ(-z) falls.
    """
    holds_everywhere(lambda z: 2 * density(z) ** 2 - upper(-z) * upper(z), [(0.0, 0.5)])

    def apart(z):
        return density(z) * (z / ROOT2).erf() - z * upper(z) * upper(-z)

    # Over φ(z), since both sides fall like it.
    holds_everywhere(lambda z: apart(z) / density(z), [(0.5, TAIL)])
    assert upper(arb(TAIL)) < arb("1e-23")


def test_the_check_would_see_a_slope_that_does_not_fall():
    with pytest.raises(AssertionError, match="not shown"):
        holds_everywhere(lambda z: density(z) ** 2 - upper(-z) * upper(z), [(0.0, 0.5)])


def exact_amount(epsilon):
    """2·Φ⁻¹(1/(1 + e^-ε))²: μ²/2 of an ε-DP mechanism."""
    half = ROOT2 * (2 / (1 + arb(epsilon).exp())).erfcinv()
    return 2 * half**2


@given(epsilon=st.floats(1e-9, 600))
@settings(derandomize=True, deadline=None, max_examples=200 if NIGHT else 80)
def test_costs_are_rounded_up_and_what_they_buy_down(epsilon):
    exact = exact_amount(epsilon)
    assert arb(amount_of_pure(epsilon)) >= exact
    assert arb(amount_of_pure(epsilon)) <= exact * (1 + arb("1e-9"))
    assert exact_amount(pure_within(amount_of_pure(epsilon) / (1 + 1e-12))) <= exact * (
        1 + arb("1e-11")
    )


@given(spent=st.floats(1e-8, 50))
@settings(derandomize=True, deadline=None, max_examples=200 if NIGHT else 80)
def test_a_pure_step_costs_no_more_than_was_paid_for_it(spent):
    assert exact_amount(pure_within(spent)) <= arb(spent)


@given(epsilon=st.fractions(Fraction(1, 10**6), 40, max_denominator=10**6))
@settings(derandomize=True, deadline=None, max_examples=100 if NIGHT else 40)
def test_a_step_of_bounded_range_costs_half_of_its_range_as_a_pure_one(epsilon):
    assert arb(float(gdp_cost(epsilon))) >= exact_amount(float(epsilon) / 2) * (1 - arb("1e-14"))
    assert zcdp_cost(epsilon) == epsilon**2 / 8
