"""Records that do not fit the declared states of a column, and answers that count them wrongly.

Second moments take a record out of domain for an even mix of the levels of a column, and for the
middle between the bounds of a number (`understudy.features.column_scores`). A schema promises that
there are few. Noisy tables over the column alone count them, with known noise: if their mean by
precision is more than noise explains, an answer of second moments that rests on the column is
refused. With none out of domain in any column, that happens anywhere in a release with a
probability of about `FALSE_ALARM`, an even part of it for each column. The mean of a number is
answered all the same, as its moments count those that have one.

That noise is independent of the noise in second moments, so the intervals that are given cover what
they cover otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.special import ndtri

from understudy.inference.choice.advice import Advice, RefusedError
from understudy.inference.choice.beyond_bounds import FALSE_ALARM
from understudy.inference.estimates.estimands import RATIOS, Estimand
from understudy.inference.estimates.estimators import Question
from understudy.inference.moments.moment_answers import RULE
from understudy.inference.set_estimates import Pooled
from understudy.release import Release
from understudy.release.measurement_kind import Kind
from understudy.schema import NUMERIC, Schema


def doubt(release: Release, question: Question, pooled: Pooled) -> RefusedError | None:
    """Why an answer counts records that have none of the states of a column; None if it does not.

    Args:
        release: that was asked.
        question: what was asked.
        pooled: the answer.
    """
    if pooled.rule != RULE:
        return None
    n_rows = max(release.manifest.n_rows, 1)
    found = {
        name: count / n_rows
        for name in _resting(question, release.schema)
        for count, least in _counted(release, name)
        if count > least
    }
    if not found:
        return None
    shares = " and ".join(f"{100 * share:.2g} % of {name}" for name, share in found.items())
    reason = (
        f"about {shares} (noisy numbers) are out of domain, so are empty or have a value that the "
        "schema does not declare, and second moments count them as a mix of those that it does"
    )
    return RefusedError(reason, Advice("domain", tuple(found)))


def _resting(question: Question, schema: Schema) -> Iterator[str]:
    """Columns of which every record must have a declared value."""
    asked = question.asked
    ratio = asked if isinstance(asked, Estimand) and asked.kind in RATIOS else None
    for name in question.columns:
        number = isinstance(schema.columns[name], NUMERIC)
        if not (number and ratio is not None and name in ratio.used):
            yield name


def _counted(release: Release, name: str) -> Iterator[tuple[float, float]]:
    """The noisy number of records out of domain and the most that noise explains, if counted."""
    tables = (one for one in release.measurements if one.kind is Kind.TABLE)
    own = [one for one in tables if one.columns == (name,)]
    if own and all(one.stddev > 0 for one in own):
        weights = [one.stddev**-2 for one in own]
        mean = sum(w * one.outside for w, one in zip(weights, own, strict=True)) / sum(weights)
        level = FALSE_ALARM / len(release.schema.names)
        heavy = any(one.family.is_laplace for one in own)  # a mean of several has lighter tails
        reach = -math.log(2 * level) / math.sqrt(2) if heavy else -float(ndtri(level))
        yield mean, reach * sum(weights) ** -0.5
