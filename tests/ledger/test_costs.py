"""Costs in every unit: against numerical trade-off functions, and tables that are enumerated."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from understudy.errors import LedgerError
from understudy.ledger.account import NOTHING, Amounts, Cost, fraction, gdp_of_pure, round_cost

SIZES = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(3), Fraction(12)]
TYPE_I = np.concatenate([np.logspace(-9, -0.31, 400), np.linspace(0.5, 0.999, 100)])


def randomised_response(epsilon, alpha):
    """Trade-off function of the worst ε-DP mechanism."""
    return np.maximum(0, np.maximum(1 - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - alpha)))


def is_gaussian(mu, epsilon):
    """Whether what is ε-DP is μ-GDP, on a grid and at the one corner."""
    alpha = np.append(TYPE_I, 1 / (1 + math.exp(epsilon)))
    gaussian = ndtr(-ndtri(alpha) - mu)
    return bool(np.all(gaussian <= randomised_response(epsilon, alpha) * (1 + 1e-9)))


def renyi(p, q, alpha):
    return math.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1)


@pytest.mark.parametrize("epsilon", SIZES)
def test_pure_steps_are_gaussian_and_no_smaller_mu_would_do(epsilon):
    mu = math.sqrt(2 * gdp_of_pure(epsilon))
    assert is_gaussian(mu, float(epsilon))
    assert not is_gaussian(mu * 0.999, float(epsilon))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
def test_pure_steps_are_zcdp_and_hardly_less_would_do(epsilon):
    rho = float(Cost("pure", Fraction(epsilon), "add_remove").amounts.zcdp)
    p = np.array([1, math.exp(epsilon)]) / (1 + math.exp(epsilon))
    worst = max(renyi(p, p[::-1], alpha) / alpha for alpha in (1.0001, 1.1, 2, 5, 50))
    assert worst <= rho < worst / 0.9


def test_gaussian_steps_are_zcdp_of_the_same_amount():
    grid = np.linspace(-20, 20, 40_001)
    p, q = (np.exp(-((grid - mean) ** 2) / 2) * 1e-3 / math.sqrt(2 * math.pi) for mean in (0, 1))
    amounts = Cost("gdp", Fraction(1, 2), "add_remove").amounts
    assert amounts == Amounts(None, Fraction(1, 2), Fraction(1, 2))
    for alpha in (1.5, 2, 3):
        assert renyi(p, q, alpha) == pytest.approx(alpha * amounts.zcdp, rel=1e-9)


def test_sums_in_epsilon_cost_no_less_than_their_steps():
    """So that a release is settled to its sum; seven tenths of it would be too little."""
    for a, b in product(SIZES, SIZES):
        steps = gdp_of_pure(a) + gdp_of_pure(b)
        assert steps <= gdp_of_pure(a + b) * (1 + Fraction(1, 10**9))
    assert gdp_of_pure(Fraction(1)) + gdp_of_pure(Fraction(1)) > gdp_of_pure(Fraction(7, 5))
    assert gdp_of_pure(Fraction(2)) <= 4 * gdp_of_pure(Fraction(1))


def test_replacing_is_removing_and_adding_on_every_small_table():
    """The difference of two counts: neighbours by a record differ by 1, by a replaced one by 2."""
    tables = [table for n in range(4) for table in product((-1, 1), repeat=n)]
    replaced = [(a, b) for a in tables for b in tables if len(a) == len(b)]
    one_other = [(a, b) for a, b in replaced if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    removed = {abs(sum(t) - sum(t[:k] + t[k + 1 :])) for t in tables for k in range(len(t))}
    assert removed == {1}
    change = max(abs(sum(a) - sum(b)) for a, b in one_other)
    for accounting, growth in (("pure", change), ("zcdp", change**2), ("gdp", change**2)):
        cost = Cost(accounting, Fraction(1, 7), "add_remove")
        assert cost.under("replace").amount == cost.amount * growth
        assert cost.under("add_remove") is cost
    twice = Cost("pure", Fraction(1), "add_remove").under("replace").amounts
    assert twice == Amounts(Fraction(2), Fraction(2), gdp_of_pure(Fraction(2)))
    with pytest.raises(LedgerError, match='rows = "private"'):
        Cost("gdp", Fraction(1), "replace").under("add_remove")


def test_what_is_not_finite_stays_so_and_is_never_0():
    sum_ = (
        Cost("zcdp", Fraction(1), "replace").amounts + Cost("pure", Fraction(1), "replace").amounts
    )
    assert sum_ == Amounts(None, Fraction(3, 2), None)
    assert Cost("zcdp", Fraction(0), "replace").amounts == NOTHING
    assert Amounts(None, Fraction(1), Fraction(0)).to_json() == {
        "epsilon": None,
        "rho": "1",
        "mu": "0",
    }


class OwnFraction(Fraction):
    def __le__(self, other):
        return True


@pytest.mark.parametrize(
    "amount",
    [None, 1.0, 1, True, "1", math.inf, Fraction(-1, 3), OwnFraction(1), Fraction(10**15 + 1)],
)
def test_what_is_no_finite_cost_is_refused(amount):
    with pytest.raises(LedgerError, match="finite cost"):
        Cost("pure", amount, "add_remove")


def test_numbers_too_fine_to_be_written_are_rounded_up():
    fine = Fraction(10**5000, 3 * 10**5000 + 1)
    rounded = round_cost(fine)
    assert fine < rounded < fine + Fraction(1, 10**299)
    cost = Cost("zcdp", fine, "replace")
    assert Cost.from_json(cost.to_json()) == cost
    assert round_cost(Fraction(1, 3)) == Fraction(1, 3)
    tiny = Fraction(1, 10**120)
    assert gdp_of_pure(tiny) >= tiny**2 * Fraction(math.pi) / 4
    assert gdp_of_pure(Fraction(10**15)) > 10**15


@pytest.mark.parametrize(
    "text", ["", "1/0", "2/4", "01", "1/2/3", "-1", "½", "1 ", 1, None, "9" * 999]
)
def test_only_what_was_written_is_read(text):
    with pytest.raises(ValueError, match=r"no amount"):
        fraction(text)
