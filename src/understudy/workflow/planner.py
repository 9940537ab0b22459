"""Plans of one schema at many budgets: how exact answers will be, while ε moves.

How an estimate follows from released numbers does not depend on ε, and neither does its error by
sampling. Only the noise in these numbers does. So both are worked out at powers of two, once each;
between them, errors by noise follow the standard deviation of the noise, which is exact to first
order. What is refused at one power and answered at the next is worked out at the ε itself. The ends
of a range of widths are taken from both powers: their squares follow the variance of the noise.

Where numbers are cut off is decided anew at each power only. `plan.plan` says what holds at an ε.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final

from understudy._validation import require
from understudy.dp.budget import Budget, Number, exact
from understudy.errors import InferenceError, MethodError, suggestion
from understudy.inference.declared import DeclaredAnalysis, Expected
from understudy.schema import Schema
from understudy.schema.schema import given_schema
from understudy.workflow.declared_answers import Measured
from understudy.workflow.options import SynthesisOptions
from understudy.workflow.plan import expected_of, expected_with_ranges
from understudy.workflow.request import Request, adjust_for_row_count, request_of

_SMALLEST, _LARGEST = 0.001, 64.0
_HALVINGS: Final = 12
"""Of the logarithm between both, which leaves .3 % of ε open."""
_KEPT: Final = 64


class Planner:
    """The method and the shares that one schema and one set of options give at any ε.

    Args:
        schema: reviewed, or the path of its file.
        delta: δ of the whole release.
        how: what is to be made of the budget.
        bought: what the analyses need, where that is worked out already; see `beside`.

    Raises:
        SchemaError: not a schema, or not reviewed.
        MethodError: as by `plan.plan`, and so are the others.
        BudgetError: δ is none.
        InferenceError: not an analysis.
    """

    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        delta: Number = 0,
        how: SynthesisOptions,
        bought: tuple[tuple[Measured, Fraction], ...] = (),
    ) -> None:
        self._schema = given_schema(schema)
        self._delta, self._how = delta, how
        self._bought = bought
        self._first: Fraction | None = None
        self._at = lru_cache(_KEPT)(self._work_out)
        self.analyses = self._ask(1).analyses

    def beside(self, *, delta: Number = 0, how: SynthesisOptions) -> Planner:
        """Return the planner of another δ, or of other parts, for the same schema and analyses.

        What the analyses need is not worked out anew.

        Args:
            delta: δ of the whole release.
            how: what is to be made of the budget, with the same analyses.

        Raises:
            BudgetError: δ is none, or parts of the budget that it cannot have.
            MethodError: as by `plan.plan`.
        """
        same_noise = bool(exact(delta)) == bool(exact(self._delta))
        bought = self._bought if same_noise else ()
        return Planner(self._schema, delta=delta, how=how, bought=bought)

    def budget(self, epsilon: Number) -> Budget:
        """Return the budget at an ε, in the unit in which a release is kept.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        return self._ask(epsilon).budget

    def shares(self, epsilon: Number) -> dict[str, Fraction]:
        """Return the parts of the budget at an ε, usual ones included; see `Request.shares`.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        return self._ask(epsilon).shares

    def expected_widths(self, epsilon: Number) -> tuple[Expected, ...]:
        """Expected half-widths of each estimate of each declared analysis.

        Those of the first ε are worked out at it: where δ or a part moves, no other is asked for.

        Args:
            epsilon: ε of the whole release.

        Returns:
            As `Plan.expected`; nothing where no analysis is declared.

        Raises:
            BudgetError: not an ε, or parts of the budget that it cannot have.
        """
        request = self._ask(epsilon)
        self._first = self._first or request.budget.epsilon
        if self._first == request.budget.epsilon:
            return self._at(float(self._first))[0]
        below = 2.0 ** math.floor(math.log2(request.budget.epsilon))
        answers, stddev = self._at(below)
        if not answers:
            return ()
        less, above, part = _stddev(request) / stddev, answers, 0.0
        if any(one.refused or math.isfinite(one.least) for one in answers):
            above, least = self._at(2 * below)
            if not _alike(answers, above):
                return self._at(float(request.budget.epsilon))[0]
            part = (1 - less**2) / (1 - (least / stddev) ** 2)
        return tuple(
            replace(
                one,
                noise=one.noise * less,
                least=_interpolate(one.least, other.least, part),
                largest=_interpolate(one.largest, other.largest, part),
            )
            for one, other in zip(answers, above, strict=True)
        )

    def least_epsilon(self, wanted: Mapping[str, float]) -> Decimal:
        """Return the least ε that is expected to bring some analyses to wanted half-widths.

        By bisection, since widths shrink as ε grows. Each step is as exact as a plan.

        Args:
            wanted: analysis, as "mean income" → half-width of a 95 % interval, above 0, that each
                of its estimates is to have; an intercept may have any.

        Returns:
            ε, rounded up to three digits.

        Raises:
            InferenceError: an analysis that is not declared, or nothing is wanted.
            MethodError: no width, or no ε up to 64 is expected to reach it; says what would be.
        """
        known = {str(one): one for one in self.analyses}
        for text, width in wanted.items():
            if text not in known:
                raise InferenceError(
                    f"No analysis {text!r} is declared{suggestion(text, known)}; declare it first."
                )
            good = isinstance(width, int | float) and 0 < width < math.inf
            require(good, "half_width", "a number above 0", width, MethodError)
        if not wanted:
            raise InferenceError("Say which analysis is to have which half-width.")
        asked = tuple(known[text] for text in wanted)
        self._require_reached(asked, wanted)
        low, high = math.log(_SMALLEST), math.log(_LARGEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _first_too_wide(self._exactly(math.exp(middle), asked), wanted):
                low = middle
            else:
                high = middle
        return Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(math.exp(high))

    def _require_reached(
        self, asked: tuple[DeclaredAnalysis, ...], wanted: Mapping[str, float]
    ) -> None:
        """Refuse what the largest ε does not reach."""
        lacking = _first_too_wide(self._exactly(_LARGEST, asked), wanted)
        if lacking is None:
            return
        if lacking.refused:
            raise MethodError(f"{lacking.analysis} has no expected width: {lacking.refused}.")
        raise MethodError(
            f"No ε up to {_LARGEST:g} is expected to bring {lacking.name} of {lacking.analysis} "
            f"to ± {wanted[lacking.analysis]:.3g}; sampling alone leaves "
            f"± {lacking.sampling:.3g}. Ask for a wider interval."
        )

    def _ask(self, epsilon: Number) -> Request:
        how = self._how
        request = request_of(
            self._schema, epsilon=epsilon, delta=self._delta, how=how, bought=self._bought
        )
        self._bought = request.bought
        if self._schema.rows == "public":
            return adjust_for_row_count(request, self._schema.n_rows or 0)
        return request

    def _work_out(self, epsilon: float) -> tuple[tuple[Expected, ...], float]:
        """Answers as a plan has them, and the noise that they rest on."""
        request = self._ask(_number(epsilon))
        expected, _ = expected_with_ranges(request, self._how)
        return (expected.answers, _stddev(request)) if expected else ((), 0.0)

    def _exactly(self, epsilon: float, asked: tuple[DeclaredAnalysis, ...]) -> tuple[Expected, ...]:
        expected = expected_of(self._ask(_number(epsilon)), self._how, asked)
        return expected.answers if expected else ()


def _number(epsilon: float) -> Fraction:
    return Budget.of(repr(epsilon)).epsilon


def _stddev(request: Request) -> float:
    """Noise in the noisiest moments; in fixed parts of a budget, that in others follows it."""
    return max(step.stddev for step in request.answer_steps())


def _alike(answers: tuple[Expected, ...], others: tuple[Expected, ...]) -> bool:
    """Return whether the same is refused, and the same may have any width."""
    told, known = (
        [(one.name, one.refused != "", math.isnan(one.least)) for one in each]
        for each in (answers, others)
    )
    return told == known


def _interpolate(one: float, other: float, part: float) -> float:
    """Part of the way from one width to another, in squares."""
    return math.sqrt((1 - part) * one**2 + part * other**2) if math.isfinite(one) else one


def _first_too_wide(answers: tuple[Expected, ...], wanted: Mapping[str, float]) -> Expected | None:
    """The first estimate that is wider than wanted, or refused; None if all are as wanted."""
    return next(
        (
            one
            for one in answers
            if one.refused or (one.name != "Intercept" and one.half_width > wanted[one.analysis])
        ),
        None,
    )
