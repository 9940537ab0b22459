"""Intervals from a parametric bootstrap of the whole release.

The world of a replicate b has the released model as its population, in which the quantity has the
value θ_M. A table is drawn from it, the whole method is run again on that table, with its choices,
noise, fit and sampling, and gives θ*_b as the release gave θ̂. So θ*_b - θ_M shows by how much
everything together moves an estimate, and stands for θ̂ - θ. With q_p its p-quantile among the
replicates, and α = 1 - level:

=============== ================================================================================
``basic``       [θ̂ - q_{1-α/2}, θ̂ - q_{α/2}]: takes the bias off, since θ̂ - θ is what is imitated
``percentile``  [θ̂ + q_{α/2}, θ̂ + q_{1-α/2}]: the quantiles of θ*, moved by θ̂ - θ_M, so that they
                are those of Efron's percentile method where the model has just the value θ̂. Keeps
                the skewness of θ̂ and **adds** its bias once more instead of taking it off
``studentised`` as basic, with (θ*_b - θ_M)/s*_b for θ*_b - θ_M and the ends times s, where s and
                s*_b are the errors that a set shows as if it were real (the root of the mean over
                sets); an error that goes with the estimate is followed
=============== ================================================================================

Quantiles are those of order statistics, p·(B + 1), so that with exchangeable replicates an interval
holds just its level. Standard errors are the deviation of θ*, the bias is its mean less θ_M.

Kernels take leading axes of repetitions.

Sources: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 12-14; Davison & Hinkley
(1997), Bootstrap Methods and their Application, ch. 2 and 5; for differentially private estimates
Ferrando, Wang & Sheldon (2022), "Parametric bootstrap for differentially private confidence
intervals", AISTATS, whose bootstrap reruns a mechanism on data from its own released estimate.

**From replicates to an analysis: refusals, what is left out, and what to say beside the numbers.**

The bootstrap of a model shows what noise, synthesis and sampling do to an estimate in a world that
is like the model. A relation that the model lacks is lacking in that world too: an estimate that is
biased for want of it looks unbiased there. So columns have to be measured in one table; the
bootstrap then also counts that a table may not be chosen again, and the bias by negative counts set
to 0 and by the pull of the model towards even shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from understudy._arrays import Floats
from understudy.errors import InferenceError
from understudy.inference import caveats
from understudy.inference.analysis import STAMP, Analysis
from understudy.inference.analyze import within_bounds
from understudy.inference.combining import Pooled, check_rule, require_level
from understudy.inference.conditions import require_told
from understudy.inference.estimators import Question, SetEstimates
from understudy.inference.question import MEASURED_ONLY, Estimand
from understudy.inference.refusals import RefusedError, advise, unmeasured_refusal
from understudy.inference.rules import (
    apart_reason,
    binned_reason,
    facts_of,
    merged_reason,
    moved_reason,
)
from understudy.inference.set_answers import known_numbers
from understudy.release.release import Release

INTERVALS: Final = ("basic", "percentile", "studentised")


@dataclass(frozen=True)
class Replicates:
    """Estimates of k quantities in replicates that the model draws.

    Attributes:
        estimates: θ*, shape (..., B, k).
        stderrs: the errors s*, shape (..., B, k).
        truth: θ_M, shape (..., k).
        stderr: the error s of the released sets, shape (..., k).
    """

    estimates: Floats
    stderrs: Floats
    truth: Floats
    stderr: Floats

    @property
    def spread(self) -> Floats:
        """Standard errors, shape (..., k)."""
        return np.asarray(self.estimates.std(axis=-2, ddof=1))

    @property
    def bias(self) -> Floats:
        """Mean of the estimates less the truth, shape (..., k)."""
        return np.asarray(self.estimates.mean(axis=-2) - self.truth)

    def compute_deviations(self, interval: str) -> Floats:
        """θ* - θ_M, for "studentised" in units of s*; shape (..., B, k)."""
        moved = self.estimates - self.truth[..., None, :]
        if interval != "studentised":
            return np.asarray(moved)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(moved / self.stderrs)


def ends(
    estimate: Floats, replicates: Replicates, interval: str, level: float
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the intervals, each of shape (..., k).

    Args:
        estimate: θ̂, shape (..., k).
        replicates: see there.
        interval: one of `INTERVALS`.
        level: confidence level in (0, 1).
    """
    moved = replicates.compute_deviations(interval)
    probabilities = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(moved, probabilities, axis=-2, method="weibull")
    if interval == "percentile":
        return estimate + low, estimate + high
    unit = replicates.stderr if interval == "studentised" else np.ones_like(estimate)
    return np.asarray(estimate - high * unit), np.asarray(estimate - low * unit)


def pvalues(
    estimate: Floats, replicates: Replicates, interval: str, bias: Floats | float = 0.0
) -> Floats:
    """Two-sided p-values of the value 0: least α whose interval leaves 0 out, shape (..., k).

    Twice the smaller share of replicates beyond 0, at least 2/(B + 1), at most 1; NaN where no
    replicate moves. A bias of up to `bias`, shape (..., k), may be in the estimate.
    """
    moved = replicates.compute_deviations(interval)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = replicates.stderr if interval == "studentised" else np.ones_like(estimate)
        place = -estimate if interval == "percentile" else estimate / unit
        slack = bias / unit
    n = moved.shape[-2]
    below = (moved <= (place + slack)[..., None, :]).sum(axis=-2)
    above = (moved >= (place - slack)[..., None, :]).sum(axis=-2)
    levels = np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (n + 1))
    return np.where(np.isnan(moved).any(axis=-2), np.nan, levels)


@dataclass(frozen=True, kw_only=True)
class Bootstrapped(Pooled):
    """Estimates whose errors come from a bootstrap.

    Attributes:
        replicates: see there.
        kind_of_interval: one of `INTERVALS`.
        failed: replicates that could not be estimated and are left out.
    """

    replicates: Replicates
    kind_of_interval: str
    failed: int = 0

    @property
    def repeats(self) -> int:
        """Number of replicates."""
        return int(self.replicates.estimates.shape[-2])

    @property
    def estimated_bias(self) -> Floats:
        """Bias as replicates show it, shape (k,); `estimate` still has it."""
        return self.replicates.bias

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Raises:
            InferenceError: the level is not in (0, 1), or there are too few replicates for it.
        """
        require_repeats(self.repeats, level)
        low, high = ends(self.estimate, self.replicates, self.kind_of_interval, level)
        return low - self.bias, high + self.bias

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, shape (k,)."""
        return pvalues(self.estimate, self.replicates, self.kind_of_interval, self.bias)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data, with the bias of each quantity."""
        content = super().to_json(level)
        for term, bias in zip(content["terms"], self.estimated_bias.tolist(), strict=True):
            term["bias"] = bias if math.isfinite(bias) else None
        return content | {
            "repeats": self.repeats,
            "failed": self.failed,
            "interval": self.kind_of_interval,
        }


def summarise_replicates(
    names: tuple[str, ...],
    estimate: Floats,
    replicates: Replicates,
    *,
    interval: str,
    sets: int,
    failed: int = 0,
    bias: Floats | float = 0.0,
) -> Bootstrapped:
    """Estimates with their bootstrap errors.

    The share of synthesis and noise is what the variance of θ* has beyond the mean of s*².

    Args:
        names: k names.
        estimate: θ̂, shape (k,).
        replicates: see there.
        interval: one of `INTERVALS`.
        sets: sets of the release.
        failed: replicates left out.
        bias: bound on what bins hide, shape (k,).

    Raises:
        InferenceError: errors of 0 by which a studentised interval would have to divide.
    """
    if interval == "studentised" and not (
        (replicates.stderrs > 0).all() and (replicates.stderr > 0).all()
    ):
        raise InferenceError(
            "A studentised interval divides by the error within a set, which is 0 for some "
            "quantity in some replicate; take interval='basic'."
        )
    deviations = replicates.spread
    sampling = (replicates.stderrs**2).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(deviations > 0, 1 - sampling / deviations**2, 0.0).clip(0, 1)
    return Bootstrapped(
        names=names,
        estimate=estimate,
        covariance=np.atleast_2d(np.cov(replicates.estimates, rowvar=False)),
        df=np.full(len(names), np.inf),
        synthesis_share=share,
        rule=f"bootstrap ({interval})",
        sets=sets,
        replicates=replicates,
        kind_of_interval=interval,
        failed=failed,
        bias=np.asarray(bias, dtype=np.float64),
    )


def require_repeats(repeats: int, level: float) -> None:
    """Refuse a level whose quantiles lie outside so few replicates.

    Raises:
        InferenceError: B + 1 < 2/α, or a level outside (0, 1).
    """
    require_level(level)
    least = math.ceil(round(2 / (1 - level) - 1, 9))
    if repeats < least:
        raise InferenceError(
            f"An interval of {100 * level:g} % needs at least {least} replicates, got {repeats}."
        )


def require_options(uncertainty: str, interval: str, *, workers: int, repeats: int) -> None:
    """Refuse what is no option of a bootstrap.

    Raises:
        InferenceError: says what would be one.
    """
    if uncertainty != "bootstrap":
        raise InferenceError(
            f"Expected uncertainty to be 'rules' or 'bootstrap', got {uncertainty!r}."
        )
    check_rule(interval, INTERVALS, "an interval")
    for name, value in (("workers", workers), ("repeats", repeats)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InferenceError(f"{name} must be a whole number, at least 1.")


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
    """Answers of a model's own world to some questions.

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
        raise _make_refusal(
            release,
            question,
            "a bootstrap needs the released model that sets were drawn from, and this release has "
            "none that can be rebuilt",
        )


def _make_refusal(
    release: Release, question: Question, reason: str, *, anyway: bool = False
) -> RefusedError:
    facts = facts_of(release, question.kind, question.columns)
    advice = advise(release, facts, bootstrap=True)
    return RefusedError("bootstrap-not-valid", reason, advice, anyway=anyway)


def doubts(release: Release, question: Question) -> str:
    """Explain why the bootstrap of a release cannot answer a question; "" if it can."""
    facts = facts_of(release, question.kind, question.columns)
    if release.manifest.ended_early:
        return (
            "the rounds of the method were ended before the budget was spent, which cannot be "
            "done in the same way again"
        )
    if facts.moved:
        return moved_reason(facts)
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
        raise unmeasured_refusal(release, facts, bootstrap=True)
    if question.kind == "total":
        raise _make_refusal(
            release,
            question,
            "synthetic sets have no total of their own, so there is nothing to resample",
        )
    if question.kind == "quantile":
        raise _make_refusal(
            release,
            question,
            "a quantile jumps from one value or bin to the next, which a bootstrap imitates badly",
        )
    if isinstance(question.asked, Estimand):
        require_told(question.asked, release.schema)
    reason = doubts(release, question)
    if reason and not anyway:
        raise _make_refusal(release, question, reason, anyway=True)


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
        interval: one of `understudy.inference.bootstrap.INTERVALS`.
        level: confidence level.
        anyway: give numbers even where they are not valid, stamped so.

    Raises:
        InferenceError: not valid, or not to be computed.
    """
    numbers = known_numbers(release, question.columns)
    released = question.answer(release.tables, release.schema, numbers)
    known = _keep_complete(released, truth, answers)
    failed = _failed_reason(len(answers) - len(known), len(answers))
    if failed and not anyway:
        raise _make_refusal(release, question, failed)
    assert truth is not None
    pooled = _pool_replicates(
        released, truth, known, interval=interval, level=level, asked=len(answers)
    )
    facts = facts_of(release, question.kind, question.columns)
    reason = doubts(release, question) or failed or _bias_reason(pooled)
    if reason and not anyway:
        raise _make_refusal(release, question, reason)
    still = [name for name, e in zip(pooled.names, pooled.stderr, strict=True) if np.isnan(e)]
    if len(still) == len(pooled.names):
        raise _make_refusal(release, question, _still_reason(still))
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


def _keep_complete(
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


def _pool_replicates(
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
    return summarise_replicates(
        released.names,
        centre.estimate,
        replicates,
        interval=interval,
        sets=len(released.estimates),
        failed=asked - len(known),
        bias=_bin_bias(released),
    )


def _bin_bias(released: SetEstimates) -> Floats:
    """Bound how far numbers within bins may move the mean over the sets, shape (k,)."""
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
