"""From replicates to an analysis: refusals, what is left out, and what to say beside the numbers.

The bootstrap of a model shows what noise, synthesis and sampling do to an estimate in a world that
is like the model. A relation that the model lacks is lacking in that world too: an estimate that is
biased for want of it looks unbiased there. So columns have to be measured in one table; the
bootstrap then also counts that a table may not be chosen again, and the bias by negative counts set
to 0 and by the pull of the model towards even shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.inference.analysis import STAMP, Analysis
from understudy.inference.answering import within_bounds
from understudy.inference.bootstrap_intervals import (
    Bootstrapped,
    Replicates,
    bootstrapped,
    require_repeats,
)
from understudy.inference.choice import caveats
from understudy.inference.choice.advice import RefusedError, advise, unmeasured
from understudy.inference.choice.release_facts import facts_of
from understudy.inference.choice.rule_table import apart_reason, binned_reason, merged_reason
from understudy.inference.estimates.estimands import MEASURED_ONLY
from understudy.inference.estimates.estimators import Question, SetEstimates
from understudy.inference.set_answers import known_numbers
from understudy.release import Release

MOST_FAILED = 0.1
"""Largest share of replicates that may fail: those that fail are no random part."""
NOTED_BIAS = 0.25
LARGE_BIAS = 1.0
"""Bias, in standard errors, that is noted, and that is refused: it is known to the first order
only, from a world that is less sharp than the real one."""


@dataclass(frozen=True)
class Outcome:
    """The answer of one replicate.

    Attributes:
        names: k names.
        estimate: mean over its sets, shape (k,).
        stderr: root of the mean variance within a set, shape (k,).
    """

    names: tuple[str, ...]
    estimate: Floats
    stderr: Floats


@dataclass(frozen=True)
class Answers:
    """What the world of a model answers to some questions.

    Attributes:
        truth: the value in the model's population, for each question; None where it has none.
        replicates: of each replicate, the answer to each question; None where it has none.
    """

    truth: Sequence[Outcome | None]
    replicates: Sequence[Sequence[Outcome | None]]


def outcome_of(answer: SetEstimates) -> Outcome:
    """Mean over the sets."""
    spread = answer.covariances
    variances = np.diagonal(spread, axis1=1, axis2=2) if spread.ndim == 3 else spread
    return Outcome(answer.names, answer.estimates.mean(axis=0), np.sqrt(variances.mean(axis=0)))


def require_rebuilt(model: object | None, release: Release, question: Question) -> None:
    """Refuse a release without a model.

    Raises:
        RefusedError: says what would answer the question.
    """
    if model is None:
        method = release.manifest.method
        raise _refused(
            release,
            question,
            "a bootstrap needs the released model that sets were drawn from, and this release of "
            f"the method {method} has none that can be rebuilt",
        )


def _refused(
    release: Release, question: Question, reason: str, *, anyway: bool = False
) -> RefusedError:
    facts = facts_of(release, question.kind, question.columns)
    return RefusedError(reason, advise(release, facts, bootstrap=True), anyway=anyway)


def doubts(release: Release, question: Question) -> str:
    """Why the bootstrap of a release cannot answer a question; "" if it can."""
    facts = facts_of(release, question.kind, question.columns)
    if release.manifest.ended_early:
        return (
            "the rounds of the method were ended before the budget was spent, which cannot be "
            "done in the same way again"
        )
    if not facts.together:
        return f"{apart_reason(facts)}, and the bootstrap of a model that omits this keeps its bias"
    if question.kind == "function" and facts.binned:
        return binned_reason(facts)
    return merged_reason(facts) if facts.merged else ""


def require_askable(release: Release, question: Question, *, anyway: bool) -> None:
    """Refuse before anything is computed what the bootstrap cannot answer.

    Raises:
        RefusedError: says why, and what would answer it.
        InferenceError: of a kind that no set and so no replicate answers.
    """
    if question.kind in MEASURED_ONLY:
        facts = facts_of(release, question.kind, question.columns)
        raise unmeasured(release, facts, bootstrap=True)
    if question.kind == "total":
        raise _refused(
            release,
            question,
            "synthetic sets have no total of their own, so there is nothing to resample",
        )
    if question.kind == "quantile":
        raise _refused(
            release,
            question,
            "a quantile jumps from one value or bin to the next, which a bootstrap imitates badly",
        )
    reason = doubts(release, question)
    if reason and not anyway:
        raise _refused(release, question, reason, anyway=True)


def analysis_of(
    release: Release,
    question: Question,
    truth: Outcome | None,
    answers: Sequence[Outcome | None],
    *,
    interval: str,
    level: float,
    anyway: bool,
) -> Analysis:
    """The analysis of one question.

    Args:
        release: that is analysed.
        question: asked of it, and of each replicate.
        truth: the answer of the model's population.
        answers: those of the replicates.
        interval: one of `understudy.inference.bootstrap_intervals.INTERVALS`.
        level: confidence level.
        anyway: give numbers even where they are not valid, stamped so.

    Raises:
        InferenceError: not valid, or not to be computed.
    """
    numbers = known_numbers(release, question.columns)
    released = question.answer(release.tables, release.schema, numbers)
    known = _known(released, truth, answers)
    failed = _failed_reason(len(answers) - len(known), len(answers))
    if failed and not anyway:
        raise _refused(release, question, failed)
    assert truth is not None
    pooled = _pooled(released, truth, known, interval=interval, level=level, asked=len(answers))
    facts = facts_of(release, question.kind, question.columns)
    reason = doubts(release, question) or failed or _bias_reason(pooled)
    if reason and not anyway:
        raise _refused(release, question, reason)
    still = [name for name, e in zip(pooled.names, pooled.stderr, strict=True) if np.isnan(e)]
    if len(still) == len(pooled.names):
        raise _refused(release, question, _still_reason(still))
    found = Analysis(
        kind=question.kind,
        formula=question.formula,
        pooled=pooled,
        valid=not reason,
        reason=f"{STAMP}: {reason}" if reason else _why(pooled),
        notes=(
            *released.notes,
            *caveats.drop_notes(released.dropped),
            *_notes(pooled),
            *(
                [f"{', '.join(still[:3])} has no error bars: {_still_reason(still)}."]
                if still
                else ()
            ),
            *caveats.number_notes(release, question.numeric, pooled, question.kind, level),
            *caveats.merged_notes(release, facts),
            *caveats.clipping_notes(release, question.numeric, question.kind),
        ),
        dropped=released.dropped,
        level=level,
    )
    return within_bounds(found, release, question, anyway=anyway)


def _known(
    released: SetEstimates, truth: Outcome | None, answers: Sequence[Outcome | None]
) -> list[Outcome]:
    """Answers of the replicates that have all quantities.

    Raises:
        InferenceError: the model's own population does not have them.
    """
    if truth is None or truth.names != released.names:
        raise InferenceError(
            "The estimate cannot be computed on the model's own population, as it can on the "
            "released sets; ask for fewer or coarser terms."
        )
    known = [
        outcome for outcome in answers if outcome is not None and outcome.names == released.names
    ]
    return [outcome for outcome in known if np.isfinite([outcome.estimate, outcome.stderr]).all()]


def _pooled(
    released: SetEstimates,
    truth: Outcome,
    known: Sequence[Outcome],
    *,
    interval: str,
    level: float,
    asked: int,
) -> Bootstrapped:
    require_repeats(len(known), level)
    centre = outcome_of(released)
    estimates = np.stack([outcome.estimate for outcome in known])
    replicates = Replicates(
        np.where(np.ptp(estimates, axis=0) > 0, estimates, np.nan),
        np.stack([outcome.stderr for outcome in known]),
        truth.estimate,
        centre.stderr,
    )
    return bootstrapped(
        released.names,
        centre.estimate,
        replicates,
        interval=interval,
        sets=len(released.estimates),
        failed=asked - len(known),
        bias=_bin_bias(released),
    )


def _bin_bias(released: SetEstimates) -> Floats:
    """How far numbers within bins may move the mean over the sets, shape (k,)."""
    centre = released.estimates.mean(axis=0)
    if not released.ends:
        return np.zeros_like(centre)
    least, largest = (sets.estimates.mean(axis=0) for sets in released.ends)
    return np.asarray(np.maximum(np.maximum(largest - centre, centre - least), 0.0))


def _still_reason(names: Sequence[str]) -> str:
    return f"no replicate moves {', '.join(names[:3])}, so that the bootstrap shows no error"


def _why(pooled: Bootstrapped) -> str:
    return (
        f"the whole method was run again on {pooled.repeats:,} tables drawn from the released "
        "model, and moved the estimates as shown"
    )


def _failed_reason(failed: int, asked: int) -> str:
    if failed <= MOST_FAILED * asked:
        return ""
    return f"{failed:,} of {asked:,} replicates cannot be estimated, and they are no random part"


def _bias_reason(pooled: Bootstrapped) -> str:
    size, name = _largest_bias(pooled)
    if size <= LARGE_BIAS:
        return ""
    return (
        f"the bias of {name!r} is estimated as {size:.1f} of its standard errors, too much to be "
        "taken off reliably"
    )


def _largest_bias(pooled: Bootstrapped) -> tuple[float, str]:
    """In standard errors, and of which quantity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.nan_to_num(np.abs(pooled.estimated_bias) / pooled.stderr, posinf=0.0)
    place = int(size.argmax())
    return float(size[place]), pooled.names[place]


def _notes(pooled: Bootstrapped) -> Iterator[str]:
    handling = "added to once more" if pooled.kind_of_interval == "percentile" else "taken off"
    size, name = _largest_bias(pooled)
    if size > NOTED_BIAS:
        yield (
            f"The bias of {name!r} is estimated as {size:.2f} of its standard errors; it is in the "
            f"estimate, and {handling} in the interval."
        )
    if pooled.failed:
        asked = pooled.repeats + pooled.failed
        yield f"{pooled.failed:,} of {asked:,} replicates could not be estimated and are left out."
