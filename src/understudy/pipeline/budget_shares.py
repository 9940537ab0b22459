"""How a budget is kept, and which parts of it buy the number of rows and second moments."""

from __future__ import annotations

from fractions import Fraction

from understudy.errors import BudgetError
from understudy.families.method import Method
from understudy.features.column_scores import Scores
from understudy.privacy.accounting.budget import Budget, Number, exact
from understudy.privacy.noise.calibration import (
    NoiseName,
    gaussian_variance,
    l2_sensitivity_squared,
)
from understudy.schema import Schema

DEFAULT_ROWS_SHARE = Fraction(1, 20)
DEFAULT_ANSWERS_SHARE = Fraction(1, 4)
"""Of what is left for an automatic release with δ above 0; without δ the moments are dear."""
DECLARED_SHARE = Fraction(1, 2)
"""Of what is left where analyses are declared."""
MOST_ANSWER_SCORES = 400


def rows_noise(budget: Budget) -> NoiseName:
    """The noise of the number of rows."""
    return "geometric" if budget.accounting == "pure" else "gaussian"


def budget_of(epsilon: Number, delta: Number, method: Method, schema: Schema) -> Budget:
    """The budget of a release, in the unit that suits the method.

    Discrete Gaussian noise with a stddev near 1 or below costs much more in GDP than in zCDP, so a
    large budget is kept in zCDP nevertheless: where a table that has one column's share of it would
    get more noise by GDP.

    Raises:
        BudgetError: not a budget.
    """
    tight, plain = (
        Budget.of(epsilon, delta, accounting) for accounting in (method.accounting, "zcdp")
    )
    if tight.accounting != "gdp":
        return tight
    squared = l2_sensitivity_squared(schema.neighbours)
    by_gdp, by_zcdp = (
        gaussian_variance(
            budget.amount / len(schema.names), accounting=budget.accounting, squared=squared
        )
        for budget in (tight, plain)
    )
    return tight if by_gdp <= by_zcdp else plain


def usual_share(schema: Schema, budget: Budget, *, automatic: bool, declared: bool) -> Fraction:
    """Part of what is left after the number of rows that buys second moments, if none is stated."""
    if declared:
        return DECLARED_SHARE
    wanted = automatic and budget.accounting != "pure" and len(schema.names) > 1
    return DEFAULT_ANSWERS_SHARE if wanted and scored_columns(schema) else Fraction(0)


def rows_part(stated: Number) -> Fraction:
    """The part that buys the number of rows, as stated.

    Raises:
        BudgetError: not between 0 and 1.
    """
    share = exact(stated, "rows_share")
    if not 0 < share < 1:
        raise BudgetError("rows_share must lie between 0 and 1; the default is 0.05.")
    return share


def stated_share(stated: Number) -> Fraction:
    """The part that somebody states.

    Raises:
        BudgetError: not below 1, or negative.
    """
    share = exact(stated, "answers_share")
    if not 0 <= share < 1:
        raise BudgetError("answers_share must lie between 0 and 1; 0 buys no answers.")
    return share


def scored_columns(schema: Schema) -> tuple[str, ...]:
    """Columns whose second moments are bought: all, but those of the most levels if too many."""
    sizes = {name: len(Scores.of(schema, (name,))) for name in schema.names}
    left = sum(sizes.values())
    dropped = set()
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if left <= MOST_ANSWER_SCORES:
            break
        dropped.add(name)
        left -= sizes[name]
    return tuple(name for name in schema.names if name not in dropped)
