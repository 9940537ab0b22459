"""Budgets: exact numbers, splits, composition, conversion."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from night import NIGHT
from understudy.dp.budget import (
    Budget,
    decimal_down,
    decimal_up,
    delta_of,
    epsilon_of,
    pure_within,
    rho_within,
    sequential,
    split,
)
from understudy.errors import BudgetError

FRACTIONS = st.fractions(min_value=Fraction(1, 10**6), max_value=10**4, max_denominator=10**6)


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10", "1e-1"])
def test_one_tenth_is_exactly_one_tenth(value):
    assert Budget.of(value).epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", [0, -1, "-0.5", "x", "", None, True, float("nan"), float("inf"), "1/0", [], "1e999999"]
)
def test_what_is_no_budget_is_refused(value):
    with pytest.raises(BudgetError, match=r"epsilon"):
        Budget.of(value if value != "1e999999" else float("1e999"))


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, "x", float("nan")])
def test_what_is_no_delta_is_refused(delta):
    with pytest.raises(BudgetError, match=r"delta"):
        Budget.of(1, delta)


@given(amount=FRACTIONS, weights=st.lists(st.integers(0, 50), min_size=1).filter(any))
@settings(derandomize=True, deadline=None)
def test_shares_sum_to_the_amount_exactly(amount, weights):
    shares = split(amount, weights)
    assert sum(shares) == amount
    whole = sum(weights)
    assert all(a * whole == amount * x for a, x in zip(shares, weights, strict=True))


def test_weights_must_make_sense():
    with pytest.raises(ValueError, match="weights"):
        split(Fraction(1), [0, 0])
    with pytest.raises(ValueError, match="weights"):
        split(Fraction(1), [2, -1])


def test_composition():
    amounts = [Fraction(1, 3), Fraction(1, 6)]
    assert sequential(amounts) == Fraction(1, 2)


def test_parallel_composition_doubles_under_replace():
    """Two disjoint cells, each with geometric noise at ε for add/remove. Moving one record from one
    to the other realises a log ratio of 2ε: the doubled figure is attained, not only safe."""
    import numpy as np

    from understudy.dp.distributions import DiscreteLaplace

    distribution = DiscreteLaplace(Fraction(1))
    x = np.arange(-30, 31)
    before = distribution.log_pmf(x - 1)[:, None] + distribution.log_pmf(x)[None, :]
    after = distribution.log_pmf(x)[:, None] + distribution.log_pmf(x - 1)[None, :]
    assert np.abs(before - after).max() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [(1, "1e-9", 0.014973), (0.1, "1e-9", 0.000177), (10, "1e-9", 1.0908)],
)
def test_tight_conversion_has_the_published_figures(epsilon, delta, rho):
    """ρ(1, 10⁻⁹) = 0.014973 by Canonne, Kamath & Steinke (2020)."""
    assert float(Budget.of(epsilon, delta).amount) == pytest.approx(rho, rel=3e-3)


def test_conversion_agrees_with_a_library():
    """ρ = 0.005, δ = 10⁻⁶ gives ε = 0.430 (the classic formula gives 0.531)."""
    assert float(epsilon_of(Fraction(5, 1000), Fraction(1, 10**6))) == pytest.approx(
        0.430, abs=5e-4
    )


@given(epsilon=st.floats(1e-4, 50), delta=st.floats(1e-12, 0.1))
@settings(derandomize=True, deadline=None, max_examples=60 if NIGHT else 20)
def test_conversion_never_promises_too_much(epsilon, delta):
    """The ρ that is spent implies the δ that was asked for; 1 % more of it would not."""
    budget = Budget.of(epsilon, delta)
    rho = float(rho_within(budget.epsilon, budget.delta))
    assert brute_delta(rho, epsilon) <= delta * (1 + 1e-6)
    assert delta_of(1.01 * rho, epsilon) > delta


@cache
def orders():
    """α − 1 on a dense grid, and what of corollary 13 depends on α alone."""
    excess = np.geomspace(1e-6, 1e9, 400_001)
    return excess, np.log(excess) + (1 + excess) * np.log1p(1 / excess)


def brute_delta(rho, epsilon):
    """Corollary 13 on a dense grid of α: an upper bound of the infimum."""
    excess, rest = orders()
    log_delta = excess * ((1 + excess) * rho - epsilon) - rest
    return float(np.exp(min(0.0, log_delta.min())))


@given(rho=FRACTIONS)
@settings(derandomize=True, deadline=None)
def test_pure_within_is_rounded_down(rho):
    epsilon = pure_within(rho)
    assert epsilon**2 / 2 <= rho
    assert (epsilon + Fraction(1, 10**12)) ** 2 / 2 > rho


@given(value=FRACTIONS)
@settings(derandomize=True, deadline=None)
def test_decimals_round_to_the_safe_side(value):
    assert Fraction(decimal_down(value)) <= value <= Fraction(decimal_up(value))
    assert Fraction(decimal_up(value)) <= value * (1 + Fraction(1, 10**11))
