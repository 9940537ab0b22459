"""What is left after the number of rows, divided among what buys answers; the rest buys records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from understudy.arguments import require_list
from understudy.errors import BudgetError, MethodError, suggestion
from understudy.inference.declared_analyses import DeclaredAnalysis, by_absences, on_lines
from understudy.pipeline.budget_shares import (
    PRIORITY_PART,
    lined_columns,
    stated_share,
    usual_layer_share,
    usual_lines_share,
    usual_share,
)
from understudy.privacy.accounting.budget import Budget, Number
from understudy.schema import Schema


@dataclass(frozen=True)
class StatedShares:
    """Shares as somebody states them; None for the usual one.

    Attributes:
        answers: for second moments.
        layer: for those of all columns, beside those of declared analyses.
        lines: for number lines.
    """

    answers: Number | None = None
    layer: Number | None = None
    lines: Number | None = None


@dataclass(frozen=True)
class AnswerShares:
    """Parts of what is left after the number of rows.

    Attributes:
        moments: buys second moments: those of declared analyses, else those of all columns.
        priority: buys those of priority columns alone.
        layer: buys those of all columns, beside those of declared analyses.
        lines: buys number lines.
    """

    moments: Fraction
    priority: Fraction
    layer: Fraction
    lines: Fraction

    @classmethod
    def of(
        cls,
        stated: StatedShares,
        schema: Schema,
        budget: Budget,
        *,
        declared: tuple[DeclaredAnalysis, ...],
        priority: tuple[str, ...],
        automatic: bool,
    ) -> AnswerShares:
        """The parts, from public facts.

        Args:
            stated: what somebody wants them to be.
            schema: public.
            budget: the stated one.
            declared: analyses.
            priority: columns.
            automatic: whether the method is chosen automatically.

        Raises:
            BudgetError: no parts, or more than there is.
            MethodError: priority columns, and nothing for them.
        """
        usual = usual_share(schema, budget, automatic=automatic, declared=bool(declared))
        own = usual if stated.answers is None else stated_share(stated.answers)
        first = own * PRIORITY_PART if priority else Fraction(0)
        if priority and not own:
            if stated.answers is not None:
                raise MethodError("A part of answers_share buys what has priority, and it is 0.")
            own = first = PRIORITY_ALONE
        lines = _lines(stated.lines, own, schema, declared, automatic=automatic)
        layer = usual_layer_share(
            *(schema, budget, own + lines),
            automatic=automatic,
            groups=by_absences(declared, schema),
        )
        if stated.layer is not None:
            layer = stated_share(stated.layer, "layer_share")
            if layer and not declared:
                raise BudgetError(
                    "layer_share is beside declared analyses; without any, answers_share buys the "
                    "moments of all columns."
                )
        if own + lines + layer >= 1:
            raise BudgetError(
                "lines_share, layer_share and answers_share must leave something for the records."
            )
        return cls(own - first, first, layer, lines)


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
    """Columns that have a number line: those that declared analyses ask for, else all numeric."""
    return on_lines(analyses, schema) if analyses else lined_columns(schema)


def _lines(
    stated: Number | None,
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
    return stated_share(stated, "lines_share")
