"""From a release and a question to numbers with valid error bars, or a refusal that says why.

`analyze_release` looks at nothing but the release. It takes the rule that the manifest and the
measurements allow (`understudy.inference.choice.rule_table`), and refuses where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from understudy.errors import InferenceError
from understudy.inference.choice import caveats
from understudy.inference.choice.advice import RefusedError, advise
from understudy.inference.choice.declarations import helped
from understudy.inference.choice.release_facts import Facts, facts_of
from understudy.inference.choice.rule_table import (
    choose,
    distorted_reason,
    distorts,
    noisy_reason,
    outweighs,
)
from understudy.inference.estimate_texts import row_texts
from understudy.inference.estimates.estimands import NO_CORRELATION, SHARES, Estimand
from understudy.inference.estimates.estimators import Estimator, Question
from understudy.inference.moments import moment_answers
from understudy.inference.moments.inverted import LostInNoiseError
from understudy.inference.noise_aware.count_estimates import count_quantiles, estimate_counts
from understudy.inference.noise_aware.urn_estimates import estimate_draws
from understudy.inference.set_answers import SetAnswer, set_answer
from understudy.inference.set_estimates import Pooled, require_level
from understudy.release import Release

STAMP = "not valid"


@dataclass(frozen=True)
class Analysis:
    """Estimates with their errors, and on what these rest.

    Attributes:
        kind: what was asked for.
        formula: of what.
        pooled: estimates, covariance, degrees of freedom, share of variance by synthesis and noise.
        valid: whether the error bars are valid; False only if asked for `anyway`.
        reason: why this rule, or why no rule is valid.
        notes: what to know when reading the numbers, one sentence each.
        dropped: records left out because a value is absent: one number for each set, or one
            (noisy, so not whole) for an estimate from noisy counts.
        level: confidence level of the intervals shown.
    """

    kind: str
    formula: str
    pooled: Pooled
    valid: bool
    reason: str
    notes: tuple[str, ...]
    dropped: tuple[float, ...]
    level: float = 0.95
    headings: ClassVar[tuple[str, ...]] = (
        *("estimate", "SE", "df"),
        *("lower", "upper", "p", "synth."),
    )

    def to_frame(self) -> pd.DataFrame:
        """One row per quantity; the numbers are as computed, nothing is cut to [0, 1]."""
        return self.pooled.to_frame(self.level)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "formula": self.formula,
            "valid": self.valid,
            "reason": self.reason,
            **self.pooled.to_json(self.level),
            "notes": list(self.notes),
            "dropped": list(self.dropped),
        }

    @property
    def title(self) -> str:
        """What was asked and how it was answered, in a line."""
        reason = self.reason.replace(STAMP, STAMP.upper(), 1)
        return f"{self.kind} of {self.formula}, rule {self.pooled.rule}: {reason}."

    @property
    def legend(self) -> str:
        """What the columns are."""
        biased = self.kind != "quantile" and self.pooled.bias.any()
        p = "" if self.kind == "quantile" else " p: two-sided, of the value 0;"
        return (
            f"lower, upper: {100 * self.level:g} % interval;{p} synth.: share of the variance by "
            "synthesis and privacy noise"
            f"{'; bins may bias the estimate, which lower and upper allow for' * bool(biased)}."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text: name, then one text for each of `headings`."""
        shown = self.to_frame()
        if self.kind in SHARES:
            # For people only; an estimate keeps its sign, and only intervals are cut.
            shown[["lower", "upper"]] = shown[["lower", "upper"]].clip(0, 1)
        return [
            (str(name), *row_texts(*values))
            for name, values in zip(shown.index, shown.to_numpy().tolist(), strict=True)
        ]

    def __repr__(self) -> str:
        """As it is printed."""
        return str(self)

    def __str__(self) -> str:
        """The table, aligned, with the notes below."""
        rows = [("", *self.headings), *self.rows()]
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        return "\n".join([self.title, "", *lines, "", self.legend, *self.notes])


def analyze_release(
    release: Release,
    kind: str | Estimator,
    formula: str = "",
    *,
    probability: float = 0.5,
    level: float = 0.95,
    anyway: bool = False,
) -> Analysis:
    """Estimate something from a release alone, with error bars that count noise and synthesis.

    Args:
        release: the release.
        kind: one of `estimands.KINDS`; or a function that takes a data frame of complete records
            and gives estimates and their (co)variances.
        formula: see `understudy.inference.estimates.estimands.parse`; for a function the columns
            that it uses, "a + b", all if "".
        probability: of a quantile.
        level: confidence level in (0, 1).
        anyway: give numbers even where no rule is valid, stamped so. They are pooled by T = ū +
            b/m for several sets (it misses the noise that the sets share), and have the variance
            within the set alone for one set (it misses noise and synthesis).

    Raises:
        InferenceError: unknown kind or name, or an estimate that cannot be computed.
        RefusedError: no valid rule; says why, and what would work if anything is known to.
    """
    require_level(level)
    question = Question.of(kind, formula, release.schema, probability=probability)
    try:
        return _answered(release, question, level=level, anyway=anyway)
    except RefusedError as error:
        ask = partial(_answered, release, level=level, anyway=False)
        raise helped(error, release, question, ask) from None


def _answered(release: Release, question: Question, *, level: float, anyway: bool) -> Analysis:
    """The answer to a question by the first rule that applies."""
    facts = facts_of(release, question.kind, question.columns)
    if isinstance(question.asked, Estimand):
        analysis = _from_moments(release, question.asked, facts, anyway=anyway, level=level)
        if analysis is not None:
            return analysis
        if question.kind == "correlation":  # no rule of sets has one
            raise RefusedError(NO_CORRELATION, None, anyway=False)
    if choose(facts).name == "noise-aware":
        assert isinstance(question.asked, Estimand)
        return _from_counts(release, question.asked, facts, level=level)
    _require_allowed(release, facts, anyway=anyway)
    answer = set_answer(question, release, facts)
    said = (
        *caveats.number_notes(release, question.numeric, answer.pooled, question.kind, level),
        *caveats.merged_notes(release, facts),
        *caveats.clipping_notes(release.schema, question.numeric, question.kind),
    )
    reason = _doubt(answer, facts)
    if reason:
        _refuse(release, facts, reason, anyway=anyway)
    return _from_sets(answer, facts, reason, formula=question.formula, level=level, more=said)


def _from_moments(
    release: Release, estimand: Estimand, facts: Facts, *, anyway: bool, level: float
) -> Analysis | None:
    """The answer of second moments; of levels only where no table has it, which has less noise."""
    rule = choose(facts)
    if rule.name == "noise-aware" and not moment_answers.is_numeric(estimand, release.schema):
        return None
    try:
        answer = moment_answers.moment_answer(estimand, release)
    except LostInNoiseError as error:
        if rule.valid or anyway:
            return None
        raise RefusedError(str(error).rstrip("."), advise(release, facts)) from None
    if answer is None:
        return None
    return Analysis(
        kind=estimand.kind,
        formula=estimand.formula,
        pooled=answer.pooled,
        valid=True,
        reason=moment_answers.REASON,
        notes=(*answer.pooled.notes, *caveats.share_notes(estimand.kind, answer.pooled, level)),
        dropped=(answer.dropped,),
        level=level,
    )


def _doubt(answer: SetAnswer, facts: Facts) -> str:
    """Why the numbers themselves do not allow the rule of their sets; "" if they do, or none is."""
    if not choose(facts).valid:
        return ""
    if distorts(facts, answer.stderr):
        return distorted_reason(facts)
    return noisy_reason(facts) if outweighs(facts, answer.pooled.synthesis_share) else ""


def _from_counts(release: Release, estimand: Estimand, facts: Facts, *, level: float) -> Analysis:
    if estimand.kind == "quantile":
        counted = count_quantiles(estimand, release.measurements, release.schema)
        said = caveats.count_notes(release.measurements, estimand, counted)
    elif facts.full:
        counted = estimate_counts(estimand, release.measurements, release.schema)
        said = caveats.count_notes(release.measurements, estimand, counted)
    else:
        counted = estimate_draws(estimand, release)
        said = caveats.draw_notes(estimand, counted)
    pooled = counted.pooled
    if np.isnan(pooled.estimate).all():  # no answer is no valid answer
        raise InferenceError(" ".join(pooled.notes))
    numeric = estimand.columns if counted.varied else ()
    return Analysis(
        kind=estimand.kind,
        formula=estimand.formula,
        pooled=pooled,
        valid=True,
        reason=choose(facts).reason(facts),
        notes=(
            *pooled.notes,
            *said,
            *caveats.number_notes(release, numeric, pooled, estimand.kind, level),
            *caveats.clipping_notes(release.schema, estimand.used, estimand.kind),
            *caveats.share_notes(estimand.kind, pooled, level),
        ),
        dropped=(counted.dropped,),
        level=level,
    )


def _require_allowed(release: Release, facts: Facts, *, anyway: bool) -> None:
    rule = choose(facts)
    if facts.kind == "total":  # sets have no total of their own: their size is a noisy number
        raise RefusedError(rule.reason(facts), advise(release, facts), anyway=False)
    if not rule.valid:
        _refuse(release, facts, rule.reason(facts), anyway=anyway)


def _refuse(release: Release, facts: Facts, reason: str, *, anyway: bool) -> None:
    if not anyway:
        raise RefusedError(reason, advise(release, facts))


def _from_sets(
    answer: SetAnswer,
    facts: Facts,
    doubt: str,
    *,
    formula: str,
    level: float,
    more: tuple[str, ...],
) -> Analysis:
    rule, pooled = choose(facts), answer.pooled
    valid = rule.valid and not doubt
    reason = doubt or rule.reason(facts)
    if not valid:  # what share of an error is noise is not known where noise is not counted
        pooled = replace(pooled, synthesis_share=np.full(len(pooled.names), np.nan))
    said = (
        *pooled.notes,
        *answer.notes,
        *caveats.drop_notes(answer.dropped),
        *caveats.distortion_notes(facts),
    )
    return Analysis(
        kind=facts.kind,
        formula=formula,
        pooled=pooled,
        valid=valid,
        reason=reason if valid else f"{STAMP}: {reason}",
        notes=(*said, *more, *caveats.share_notes(facts.kind, pooled, level)),
        dropped=answer.dropped,
        level=level,
    )
