"""What an answer would cost and bring, before anything is spent: rehearsed on a synthetic set.

A synthetic set of the release stands for the confidential table, and the whole answer is made once
with noise of its true scale from a fixed seed. So the widths are those that the answer would have
if the set were the table. Nothing confidential is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from typing import Any, Final

from understudy.errors import InferenceError, MethodError
from understudy.inference.amended_answers import amended_answers
from understudy.inference.question_file import QuestionFile, question_file
from understudy.pipeline.amending import Parent, rehearsed, steps_of
from understudy.privacy.accounting.budget import Budget, Number, decimal_up
from understudy.privacy.mechanism import Charge
from understudy.schema import Schema

_SMALLEST, _LARGEST = 0.001, 10.0
_HALVINGS: Final = 8  # of the logarithm of the range: ε within 4 %


@dataclass(frozen=True)
class ExpectedGain:
    """What is expected of one estimate.

    Attributes:
        question: kind and formula.
        name: of the estimate.
        now: half-width of the 95 % interval that the release gives; NaN where it gives none.
        alone: from the new measurement.
        pooled: from both.
        wanted: what the question asks for; NaN for any.
    """

    question: str
    name: str
    now: float
    alone: float
    pooled: float
    wanted: float

    @property
    def reached(self) -> bool:
        """Whether the pooled interval is as narrow as it is wanted."""
        return math.isnan(self.wanted) or self.pooled <= self.wanted

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for a width that is not known."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


@dataclass(frozen=True)
class AnswerPlan:
    """What an answer would cost and bring.

    Attributes:
        question: that is asked.
        schema: of the release.
        epsilon: what it adds.
        before: stated budget of the release.
        after: stated budget of both.
        steps: what will stand in the ledger.
        gains: expected widths, for each estimate.
        refused: analyses that would have no answer, with the reason.
    """

    question: QuestionFile
    schema: Schema
    epsilon: Number
    before: Budget
    after: Budget
    steps: tuple[Charge[Any], ...]
    gains: tuple[ExpectedGain, ...]
    refused: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.question.title,
            "epsilon": str(self.epsilon),
            "epsilon_before": decimal_up(self.before.epsilon),
            "epsilon_after": decimal_up(self.after.epsilon),
            "delta": decimal_up(self.after.delta),
            "steps": [{"query": step.query, "noise": step.noise} for step in self.steps],
            "expected": [gain.to_json() for gain in self.gains],
            "refused": [{"question": asked, "reason": why} for asked, why in self.refused],
        }


def plan_answer(
    question: object, release: str | Path, *, epsilon: Number | None = None
) -> AnswerPlan:
    """What an answer would cost and bring. No confidential rows are read.

    Args:
        question: the path of a question file, or its content.
        release: folder of the release, as it was published.
        epsilon: what the answer may add to ε; if None, the least that is expected to reach every
            half-width that the question wants.

    Raises:
        InferenceError: not a question, or neither ε nor a wanted width is given.
        MethodError: no ε up to 10 is expected to reach what is wanted.
        ReleaseError: the folder is not a release.
        NotPrivateError: the release has no guarantee.
    """
    asked, parent = question_file(question), Parent.of(release)
    if epsilon is not None:
        return _planned(asked, parent, epsilon)
    if all(map(math.isnan, asked.half_widths)):
        raise InferenceError(
            "Say what the answer may cost (epsilon), or which half_width the question wants."
        )
    return _cheapest(asked, parent)


def _cheapest(asked: QuestionFile, parent: Parent) -> AnswerPlan:
    """By bisection; widths shrink as ε grows."""
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    best = _planned(asked, parent, _rounded(_LARGEST))
    if lacking := [gain for gain in best.gains if not gain.reached]:
        first = lacking[0]
        raise MethodError(
            f"No ε up to {_LARGEST:g} is expected to bring {first.name} of {first.question} to "
            f"± {first.wanted:.3g}; ± {first.pooled:.3g} is what sampling and such a budget leave."
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        plan = _planned(asked, parent, _rounded(math.exp(middle)))
        if all(gain.reached for gain in plan.gains):
            best, high = plan, middle
        else:
            low = middle
    return best


def _rounded(epsilon: float) -> Decimal:
    """Two significant digits, upwards."""
    return Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(epsilon)


def _planned(asked: QuestionFile, parent: Parent, epsilon: Number) -> AnswerPlan:
    steps = steps_of(asked, parent, epsilon)
    amended = rehearsed(asked, parent, epsilon)
    told = amended_answers(amended)[-len(asked.analyses) :]
    gains: list[ExpectedGain] = []
    for one, wanted, term in zip(told, asked.half_widths, asked.terms, strict=True):
        question = f"{one.kind} {one.formula}"
        widths = [part.half_widths for part in (one.before, one.alone, one.pooled)]
        if term and one.names and term not in one.names:
            raise InferenceError(
                f"{question} has no estimate {term!r}; it has {', '.join(one.names[:12])}."
            )
        gains += _gains(question, one.names, widths, wanted, term)
    return AnswerPlan(
        question=asked,
        schema=parent.release.schema,
        epsilon=epsilon,
        before=parent.budget,
        after=parent.extended(epsilon),
        steps=steps,
        gains=tuple(gains),
        refused=tuple(
            (f"{one.kind} {one.formula}", one.pooled.refused) for one in told if not one.names
        ),
    )


def _gains(
    question: str,
    names: tuple[str, ...],
    widths: list[dict[str, float]],
    wanted: float,
    term: str,
) -> Iterator[ExpectedGain]:
    for name in names:
        asked = name == term if term else name != "Intercept"
        now, alone, pooled = (known.get(name, math.nan) for known in widths)
        yield ExpectedGain(question, name, now, alone, pooled, wanted if asked else math.nan)
