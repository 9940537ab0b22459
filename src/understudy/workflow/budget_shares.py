"""Shares of a budget: the number of rows, heaps, lines, moments and tables of places.

The rest buys records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from understudy._validation import require_list, require_mapping
from understudy.dp.budget import DEFAULT_LINES_SHARE, Budget, Number, exact
from understudy.dp.calibration import (
    NoiseName,
    gaussian_variance,
    l2_sensitivity_squared,
)
from understudy.errors import BudgetError, MethodError, suggestion
from understudy.features.grids import heaped_columns, is_plain
from understudy.features.scores import n_scores
from understudy.inference.declared import (
    DeclaredAnalysis,
    by_absences,
    by_tables,
    by_terms,
    columns_of,
)
from understudy.methods.base import Method
from understudy.schema import NUMERIC, Schema

PARTS: Final = ("rows", "answers", "lines", "layer", "places")
"""Of a budget, as somebody states them: the first is of the whole, the others of the rest."""
DEFAULT_ANSWERS_SHARE = Fraction(1, 3)
"""Of what is left for an automatic release with δ above 0; without δ the moments are dear."""
DECLARED_SHARE = Fraction(1, 2)
"""Of what is left where analyses are declared."""
DEFAULT_LAYER_SHARE = Fraction(3, 20)
"""Of what is left, for moments of all columns beside those of declared analyses."""
PRIORITY_PART = Fraction(1, 4)
"""Of what buys second moments, where columns have priority: for theirs alone."""
DEFAULT_PLACES_SHARE = Fraction(1, 4)
"""Of what is left after the number of rows, for tables of places; never more than for records."""
MOST_ANSWER_SCORES = 400
_HEAPS_PART, _MOST_HEAPS_PART = Fraction(1, 50), Fraction(1, 10)
"""Of what is left after the number of rows, for the heaps of a column, and of all."""
_FINE_WEIGHT, _PLAIN_WEIGHT = 4, 2
"""Of lines that are finer than their bins, and of those that are not: tables tell these too."""


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
    """Part of what is left after the number of rows that buys second moments, if none is stated.

    Args:
        schema: public.
        budget: the stated one.
        automatic: whether the method is chosen automatically.
        declared: whether analyses are declared.
    """
    if declared:
        return DECLARED_SHARE
    wanted = automatic and budget.accounting != "pure" and len(schema.names) > 1
    wanted = wanted or bool(schema.design.weight)
    return DEFAULT_ANSWERS_SHARE if wanted and scored_columns(schema) else Fraction(0)


def is_layered(
    schema: Schema,
    budget: Budget,
    *,
    automatic: bool,
    declared: bool,
    groups: Mapping[tuple[str, ...], tuple[str, ...]],
) -> bool:
    """Return whether moments of all columns are usually bought beside those of declared analyses.

    Args:
        schema: public.
        budget: the stated one.
        automatic: whether the method is chosen automatically.
        declared: whether analyses are declared.
        groups: columns of those that moments of columns are bought for, as of `by_absences`.
    """
    if schema.design.weight:  # weighted moments take the part of answers
        return False
    every = scored_columns(schema)
    wanted = declared and automatic and budget.accounting != "pure" and bool(every)
    return wanted and groups.get(()) != every  # else declared analyses have all columns already


def usual_lines_share(answers: Fraction, *, automatic: bool, declared: bool) -> Fraction:
    """Part of what is left after the number of rows that buys number lines, if none is stated.

    Also without δ: nothing else tells how many numbers lie beyond the bounds.

    Args:
        answers: part that buys second moments.
        automatic: whether the method is chosen automatically.
        declared: whether a declared analysis asks for numbers on their line.
    """
    wanted = declared or automatic
    return min(DEFAULT_LINES_SHARE, (1 - answers) / 2) if wanted else Fraction(0)


def lined_columns(schema: Schema) -> tuple[str, ...]:
    """Columns that have a number line: all numeric ones."""
    return tuple(name for name, column in schema.columns.items() if isinstance(column, NUMERIC))


def heaps_part(schema: Schema) -> Fraction:
    """Part of what is left after the number of rows that counts how numbers are rounded."""
    return min(_HEAPS_PART * len(heaped_columns(schema)), _MOST_HEAPS_PART)


def line_weights(schema: Schema, columns: tuple[str, ...]) -> tuple[int, ...]:
    """Weigh how the cost of some lines is divided among them."""
    return tuple(
        _PLAIN_WEIGHT if is_plain(schema.columns[name]) else _FINE_WEIGHT for name in columns
    )


def stated_parts(budget: Mapping[str, Number] | None) -> dict[str, Fraction]:
    """The parts of a budget that somebody states, exactly.

    Args:
        budget: some of `PARTS`; None for the usual ones.

    Raises:
        BudgetError: no such part, or one that does not lie between 0 and 1.
    """
    require_mapping("budget", budget or {}, BudgetError, '{"answers": 0.3}')
    parts = {}
    for name, stated in (budget or {}).items():
        if name not in PARTS:
            raise BudgetError(
                f"A budget has no part {name!r}{suggestion(name, PARTS)}; its parts are "
                f"{', '.join(PARTS)}."
            )
        parts[name] = exact(stated, f"The part {name!r} of the budget")
        if not (0 < parts[name] < 1 or (parts[name] == 0 and name != "rows")):
            usual = "the usual one is 0.05" if name == "rows" else "0 buys none"
            raise BudgetError(f"The part {name!r} of the budget must lie between 0 and 1; {usual}.")
    return parts


def settable_parts(schema: Schema, *, declared: bool) -> tuple[str, ...]:
    """List the parts of a budget that mean something for a schema.

    Args:
        schema: public.
        declared: whether analyses are declared.
    """
    means = {
        "rows": schema.rows == "private",
        "lines": bool(lined_columns(schema)),
        "layer": declared,
        "places": bool(schema.geography.spine),
    }
    return tuple(part for part in PARTS if means.get(part, True))


def scored_columns(schema: Schema) -> tuple[str, ...]:
    """Columns whose second moments are bought: all, but those of the most levels if too many.

    None where those that are left have a single state each: there is nothing to measure.
    """
    sizes = {name: n_scores(column) for name, column in schema.columns.items()}
    left = sum(sizes.values())
    dropped = set()
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if left <= MOST_ANSWER_SCORES:
            break
        dropped.add(name)
        left -= sizes[name]
    return tuple(name for name in schema.names if name not in dropped) if left else ()


@dataclass(frozen=True)
class AnswerShares:
    """Parts of what is left after the number of rows.

    Attributes:
        moments: buys second moments: those of declared analyses, else those of all columns.
        priority: buys those of priority columns alone.
        layer: buys those of all columns, beside those of declared analyses.
        lines: buys number lines.
        places: buys the tables of places that the schema declares.
    """

    moments: Fraction
    priority: Fraction
    layer: Fraction
    lines: Fraction
    places: Fraction

    @classmethod
    def of(
        cls,
        stated: Mapping[str, Fraction],
        schema: Schema,
        budget: Budget,
        *,
        declared: tuple[DeclaredAnalysis, ...],
        priority: tuple[str, ...],
        automatic: bool,
    ) -> AnswerShares:
        """The parts, from public facts.

        Args:
            stated: those that somebody states, as `stated_parts` gives them.
            schema: public.
            budget: the stated one.
            declared: analyses.
            priority: columns.
            automatic: whether the method is chosen automatically.

        Raises:
            BudgetError: more than there is, a layer beside nothing, or places of no geography.
            MethodError: priority columns, and nothing for them.
        """
        rest, _ = by_tables(declared, schema)
        groups = by_absences(by_terms(rest, schema)[0], schema)
        layered = bool(
            stated["layer"]
            if "layer" in stated
            else is_layered(
                schema, budget, automatic=automatic, declared=bool(declared), groups=groups
            )
        )
        usual = usual_share(schema, budget, automatic=automatic, declared=bool(declared))
        own = stated.get("answers", usual)
        first = own * PRIORITY_PART if priority else Fraction(0)
        if priority and not own:
            if "answers" in stated:
                raise MethodError(
                    "Columns with priority are measured from the budget's part 'answers', which is "
                    "0 here; raise it, or leave priority out."
                )
            own = first = PRIORITY_ALONE
        lines = _lines(stated.get("lines"), own, schema, declared, automatic=automatic)
        layer = min(DEFAULT_LAYER_SHARE, (1 - own - lines) / 2) * layered
        if stated.get("layer") and not declared:
            raise BudgetError(
                "The budget's part 'layer' stands beside declared analyses. Without any, leave it "
                "out: the part 'answers' measures the moments of all columns."
            )
        layer = stated.get("layer", layer)
        places = min(DEFAULT_PLACES_SHARE, (1 - own - lines - layer) / 2)
        places = stated.get("places", places * bool(schema.geography.spine))
        if places and not schema.geography.spine:
            raise BudgetError(
                "The budget's part 'places' measures the tables of [geography], which the schema "
                "does not declare; declare it, or leave the part out."
            )
        if own + lines + layer + places >= 1:
            raise BudgetError(
                "The parts 'answers', 'lines', 'layer' and 'places' of the budget must leave "
                "something for the records."
            )
        return cls(own - first, first, layer, lines, places)


PRIORITY_ALONE = Fraction(1, 4)
"""Where nothing else buys second moments, as without δ, where those of all columns are dear."""


def priority_columns(given: object, schema: Schema) -> tuple[str, ...]:
    """Columns that have priority, in the order of the schema.

    Args:
        given: names; None for none.
        schema: public.

    Raises:
        MethodError: not names of columns.
    """
    if given is None:
        return ()
    require_list("priority", given, MethodError, '["income", "age"]')
    assert isinstance(given, Iterable)
    names = tuple(given)
    for name in names:
        if name not in schema.names:
            raise MethodError(
                f"There is no column {name!r} to have priority"
                f"{suggestion(str(name), schema.names)}."
            )
    return tuple(name for name in schema.names if name in names)


def lines_of(schema: Schema, analyses: tuple[DeclaredAnalysis, ...]) -> tuple[str, ...]:
    """Columns that have a number line: numeric ones of declared analyses, or all without any.

    A line tells where few numbers lie beyond, so that second moments can be of numbers cut off
    there; of weights, how many are above what a record counts with at most.
    """
    used = (*columns_of(analyses, schema), schema.design.weight) if analyses else schema.names
    return tuple(name for name in lined_columns(schema) if name in used)


def _lines(
    stated: Fraction | None,
    answers: Fraction,
    schema: Schema,
    declared: tuple[DeclaredAnalysis, ...],
    *,
    automatic: bool,
) -> Fraction:
    """The part that buys number lines."""
    if not lines_of(schema, declared):
        return Fraction(0)
    if stated is None:
        return usual_lines_share(answers, automatic=automatic, declared=bool(declared))
    return stated
