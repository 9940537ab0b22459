"""Privacy budgets: exact numbers, how they split, and how they compose.

A budget with δ = 0 is kept in pure ε. With δ > 0 it is turned once into another unit, in which many
steps compose tightly, and the whole is stated as (ε, δ) again. That unit is ρ of zero-concentrated
differential privacy (zCDP; Bun & Steinke 2016), or μ²/2 of Gaussian differential privacy (GDP;
Dong, Roth & Su 2022, `gaussian_dp`), which allows more where the noise is Gaussian.

**TRUSTED BASE 1: budget, composition, ledger, promise.**
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from understudy.dp import gaussian_dp
from understudy.errors import BudgetError, MethodError

Neighbours = Literal["add_remove", "replace"]
Approximate = Literal["zcdp", "gdp"]
Accounting = Literal["pure", "zcdp", "gdp"]
Number = int | float | str | Decimal | Fraction

UNITS: dict[Accounting, str] = {"pure": "epsilon", "zcdp": "rho", "gdp": "half_mu_squared"}
"""How a manifest names the unit of each accounting."""

SIGNS = {"epsilon": "ε", "rho": "ρ", "half_mu_squared": "μ²/2"}
"""How people write these units."""

LEAST_DELTA = Fraction(1, 10**300)
DEFAULT_ROWS_SHARE = Fraction(1, 20)
"""Of a budget, for the number of rows."""
DEFAULT_LINES_SHARE = Fraction(1, 10)
"""Of what is left then, for number lines; never more than second moments leave."""
MOST_EPSILON = 10**15  # within what floating point can tell apart; far beyond any privacy
_DIGITS = 12
_LONG_EXPONENT = re.compile(r"[eE][+-]?\d{4}")


@dataclass(frozen=True)
class Budget:
    """An upper limit of what a release may spend.

    Attributes:
        epsilon: ε > 0.
        delta: δ in [0, 1); 0 asks for pure differential privacy.
        approximate: the unit it is kept in where δ > 0.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    approximate: Approximate = "zcdp"

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0, approximate: Approximate = "zcdp") -> Budget:
        """Budget from numbers or text; 0.1 means exactly one tenth.

        Args:
            epsilon: ε.
            delta: δ.
            approximate: the unit it is kept in where δ > 0.

        Raises:
            BudgetError: not a number, ε not positive and finite, or δ outside [0, 1) or too small
                to be told from 0.

        Example:
            >>> Budget.of(0.1).epsilon
            Fraction(1, 10)
        """
        eps, dlt = exact(epsilon, "epsilon"), exact(delta, "delta")
        if not 0 < eps <= MOST_EPSILON:
            raise BudgetError(
                "epsilon must be above 0 and at most 10^15; typical values lie between 0.1 and 10."
            )
        if not 0 <= dlt < 1:
            raise BudgetError(
                "delta must be at least 0 and below 1; leave it at 0 for pure DP, or "
                "choose it far below 1 / number of rows."
            )
        if 0 < dlt < LEAST_DELTA:
            raise BudgetError("delta is below 10^-300; leave it at 0 for pure DP.")
        return cls(eps, dlt, approximate)

    @property
    def accounting(self) -> Accounting:
        """The unit that the ledger is kept in: pure ε, ρ of zCDP, or μ²/2 of GDP."""
        return self.approximate if self.delta else "pure"

    @property
    def unit(self) -> str:
        """Sign of that unit."""
        return SIGNS[self.unit_name]

    @property
    def unit_name(self) -> str:
        """Name of that unit in a manifest."""
        return UNITS[self.accounting]

    @cached_property
    def amount(self) -> Fraction:
        """All there is to spend, in the ledger's unit."""
        if not self.delta:
            return self.epsilon
        within = gdp_within if self.approximate == "gdp" else rho_within
        return within(self.epsilon, self.delta)

    @property
    def mu(self) -> Fraction | None:
        """μ of GDP, rounded up, where it is kept in that."""
        return mu_of(self.amount) if self.accounting == "gdp" else None


def exact(value: Number, name: str = "number") -> Fraction:
    """A finite number as an exact fraction; floats mean the decimal they print as.

    Raises:
        BudgetError: not a finite number.
    """
    if isinstance(value, bool):
        raise BudgetError(f"{name} must be a number such as 1 or 0.5, not true or false.")
    try:
        text = repr(value) if isinstance(value, float) else value
        text = str(text) if isinstance(text, Decimal) else text
        if isinstance(text, str) and _LONG_EXPONENT.search(text):
            raise ValueError  # written out, the number would fill the memory
        number = Fraction(text)
    except (ValueError, InvalidOperation, ZeroDivisionError, TypeError, OverflowError):
        raise BudgetError(f"{name} must be a finite number such as 1 or 0.5.") from None
    return number


def split(amount: Fraction, weights: Sequence[int | Fraction]) -> list[Fraction]:
    """Shares of an amount, exactly proportional to non-negative weights; they sum to the amount.

    Example:
        >>> split(Fraction(1), [1, 3])
        [Fraction(1, 4), Fraction(3, 4)]
    """
    total = sum(Fraction(weight) for weight in weights)
    if total <= 0 or any(weight < 0 for weight in weights):
        raise ValueError("weights must be non-negative and not all zero")
    return [amount * Fraction(weight) / total for weight in weights]


def divide_cost(
    amount: Fraction, weights: Sequence[int | Fraction] | None, n: int
) -> list[Fraction]:
    """Shares of a cost of n steps, as their weights say; equal ones if None.

    Raises:
        MethodError: another number of weights, or weights that divide nothing.
    """
    if not n:
        return []
    try:
        shares = split(amount, weights or [1] * n)
    except ValueError as error:
        raise MethodError(f"A cost cannot be divided so: {error}.") from None
    if len(shares) != n:
        raise MethodError(f"There are {n} steps to pay; give each a weight.")
    return shares


def sequential(amounts: Iterable[Fraction]) -> Fraction:
    """Cost of several mechanisms on the same rows: costs add up, in ε as in ρ and μ²/2.

    A choice that leaves a rest of its budget has another cost than its price (`RunCost`).

    Sources: Dwork & Roth (2014), Theorem 3.14; Bun & Steinke (2016), Lemma 1.7; Dong, Roth & Su
    (2022), Corollary 3.3.
    """
    return sum(amounts, Fraction(0))


def delta_of(rho: float, epsilon: float) -> float:
    """Smallest δ such that ρ-zCDP implies (ε, δ)-DP by the tight conversion.

    Source: Canonne, Kamath & Steinke (2020), Corollary 13:
    δ = inf over α > 1 of exp((α−1)(αρ−ε)) / (α−1) · (1 − 1/α)^α.
    """
    if rho <= 0:
        return 0.0
    low, high = math.log(1e-6), math.log((epsilon + 1) / (2 * rho) + 2)
    # The logarithm is quasi-convex in α, so a golden-section search over log(α − 1) finds it.
    return min(
        1.0, math.exp(min(0.0, _golden_section(lambda t: _log_delta(rho, epsilon, t), low, high)))
    )


def _log_delta(rho: float, epsilon: float, log_excess: float) -> float:
    excess = math.exp(log_excess)
    alpha = 1 + excess
    return excess * (alpha * rho - epsilon) - log_excess - alpha * math.log1p(1 / excess)


def _golden_section(function: object, low: float, high: float) -> float:
    assert callable(function)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = function(left), function(right)
    for _ in range(100):  # narrower by 10⁻²⁰: what floats tell apart
        if f_left < f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = function(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = function(right)
    return float(min(f_left, f_right))


@lru_cache(maxsize=64)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest ρ (rounded down to 12 significant digits) whose zCDP implies (ε, δ)-DP."""
    eps, dlt = float(epsilon), float(delta)
    # Even δ → 1 needs no more than this: at α → ∞ the bound is driven by ρ ≤ ε.
    low, high = 0.0, eps + 4 * math.sqrt(eps) + 4 - 4 * math.log(dlt)
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:  # floats tell no more
            break
        low, high = (middle, high) if delta_of(middle, eps) <= dlt * (1 - 1e-12) else (low, middle)
    return _digits(Fraction(low), ROUND_FLOOR)


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Smallest ε (rounded up to 12 significant digits) with ρ-zCDP ⇒ (ε, δ)-DP."""
    r, dlt = float(rho), float(delta)
    low, high = 0.0, r + 2 * math.sqrt(r * -math.log(dlt)) + 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:  # floats tell no more
            break
        low, high = (low, middle) if delta_of(r, middle) <= dlt * (1 - 1e-12) else (middle, high)
    return _digits(Fraction(high), ROUND_CEILING)


@lru_cache(maxsize=64)
def gdp_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest μ²/2 (rounded down to 12 significant digits) whose GDP implies (ε, δ)-DP."""
    amount = gaussian_dp.amount_within(float(epsilon), _log(delta))
    return _digits(Fraction(amount), ROUND_FLOOR)


def gdp_epsilon_of(amount: Fraction, delta: Fraction) -> Fraction:
    """Smallest ε (rounded up to 12 significant digits) with √(2·amount)-GDP ⇒ (ε, δ)-DP."""
    return _digits(Fraction(gaussian_dp.epsilon_of(float(amount), _log(delta))), ROUND_CEILING)


def mu_of(amount: Fraction) -> Fraction:
    """μ of an amount μ²/2, rounded up to 12 significant digits."""
    with localcontext() as context:
        context.prec, context.rounding = 2 * _DIGITS, ROUND_CEILING
        squared = Decimal(2 * amount.numerator) / Decimal(amount.denominator)
        return _digits(Fraction(squared.sqrt().next_plus()), ROUND_CEILING)


def pure_within(
    amount: Fraction, accounting: Accounting = "zcdp", *, rest: Fraction = Fraction(0)
) -> Fraction:
    """Largest ε (rounded down) such that what is ε-DP costs at most an amount.

    In ρ that is √(2ρ) (Bun & Steinke 2016, Prop. 1.4). In μ²/2 it is the better of two rules proved
    in `gaussian_dp`: one for the step alone, and ε²/2 = amount·rest/(amount + rest) for one that
    leaves a rest of the budget.

    Args:
        amount: in the unit of the accounting, above 0.
        accounting: that unit.
        rest: what the ledger still allows after this step; used in Gaussian DP only.
    """
    if accounting == "pure":
        return amount
    if accounting == "gdp":
        alone = _digits(Fraction(gaussian_dp.pure_within(float(amount))), ROUND_FLOOR)
        return max(alone, pure_within(amount * rest / (amount + rest))) if rest > 0 else alone
    scale = 10**24
    root = math.isqrt((2 * amount.numerator * scale) // amount.denominator)
    return Fraction(root, 10**12)


def decimal_up(value: Fraction) -> str:
    """Decimal text of a cost, rounded up at 12 significant digits: never less than was spent."""
    return _plain(_digits(value, ROUND_CEILING))


def size_in_signs(epsilon: Fraction, delta: Fraction) -> str:
    """ε, and δ if there is one, in signs; rounded up as costs are."""
    return f"ε = {decimal_up(epsilon)}" + (f", δ = {decimal_up(delta)}" if delta else "")


def decimal_down(value: Fraction) -> str:
    """Decimal text rounded down at 12 significant digits: never more than is there."""
    return _plain(_digits(value, ROUND_FLOOR))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _digits(value: Fraction, rounding: str) -> Fraction:
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, rounding
        return Fraction(Decimal(value.numerator) / Decimal(value.denominator))


def _plain(value: Fraction) -> str:
    text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
