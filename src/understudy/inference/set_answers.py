"""What the sets of a release say together, by the rule that holds for them or comes nearest to it.

A quantity whose variance is 0 within a set has no error there: all records share one value, or an
outcome does not vary among the records that decide a coefficient. A sample of such records says
nothing of the variance in the population, so such a quantity gets none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.inference.choice.advice import Advice, RefusedError, advise
from understudy.inference.choice.refusals import errorless_reason
from understudy.inference.choice.release_facts import Facts
from understudy.inference.choice.rule_table import choose
from understudy.inference.combining.combining_rules import pool
from understudy.inference.combining.pooled import Pooled, Vector
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.estimates.estimators import SetEstimates
from understudy.inference.estimates.question import Question
from understudy.inference.quantile_answers import set_quantiles
from understudy.release import Release


@dataclass(frozen=True)
class SetAnswer:
    """What synthetic sets say together.

    Attributes:
        pooled: the estimates.
        stderr: of the shares that misplaced records could move, shape (k,).
        notes: what was assumed, one sentence each.
        dropped: records left out of each set.
    """

    pooled: Pooled
    stderr: Vector
    notes: tuple[str, ...]
    dropped: tuple[int, ...]


def set_answer(question: Question, release: Release, facts: Facts) -> SetAnswer:
    """What the sets say together.

    Args:
        question: asked of the release.
        release: with its sets.
        facts: of both.

    Raises:
        InferenceError: an estimate that cannot be computed, or no quantity with an error.
    """
    rule = choose(facts)
    how = rule.name if rule.valid else "partial" if facts.sets > 1 else "single"
    if question.kind == "quantile":
        assert isinstance(question.asked, Estimand)
        found_there, dropped = set_quantiles(question.asked, release, how)
        return SetAnswer(found_there, found_there.share_stderr, (), dropped)
    found = question.answer(release.tables, release.schema)
    pooled = pool(
        found.estimates,
        found.covariances,
        rule=how,
        names=found.names,
        noise_variance=0.0 if facts.sets == 1 else None,
    )
    certain = errorless(found)
    # From counts a mean has an error in any case; of a model the same records would decide again.
    advice = advise(release, facts) if facts.counted else None
    pooled, said = without_errors(pooled, certain, advice)
    return SetAnswer(pooled, pooled.stderr, (*found.notes, *said), found.dropped)


def errorless(found: SetEstimates) -> NDArray[np.bool_]:
    """Quantities whose variance is 0 within a set, shape (k,)."""
    spread = found.covariances
    variances = np.diagonal(spread, axis1=1, axis2=2) if spread.ndim == 3 else spread
    return np.asarray((variances <= 0).any(axis=0))


def without_errors(
    pooled: Pooled, certain: NDArray[np.bool_], advice: Advice | None = None
) -> tuple[Pooled, tuple[str, ...]]:
    """Take the errors of some quantities away, and say so.

    Args:
        pooled: the estimates.
        certain: the quantities, shape (k,).
        advice: what would have some.

    Raises:
        RefusedError: no quantity keeps an error.
    """
    if not certain.any():
        return pooled, ()
    names = [name for name, hit in zip(pooled.names, certain, strict=True) if hit]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    if certain.all():
        raise RefusedError(errorless_reason(shown), advice, anyway=False)
    covariance = np.where(certain[:, None] | certain, np.nan, pooled.covariance)
    share = np.where(certain, np.nan, pooled.synthesis_share)
    kept = replace(pooled, covariance=covariance, synthesis_share=share)
    return kept, (f"{shown} has no error bars: {errorless_reason(shown)}.",)
