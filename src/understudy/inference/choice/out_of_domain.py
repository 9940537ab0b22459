"""Records that do not fit the declared states of a column, and answers that count them wrongly.

Second moments take a record out of domain for an even mix of the levels of a column, and for the
middle between the bounds of a number (`understudy.features.column_scores`). A schema promises that
there are few. Noisy tables over the column alone count them, with known noise: if their mean by
precision is more than `SURE` standard deviations of its noise above 0, an answer of
second moments that rests on the column is refused: with none out of domain, that has a probability
below 1/700 for each column (for Laplace noise below 1/130). The mean of a number is answered all
the same, as its moments count those that have one.

That noise is independent of the noise in second moments, so the intervals that are given cover what
they cover otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from understudy.inference.choice.advice import Advice, RefusedError
from understudy.inference.choice.beyond_bounds import SURE
from understudy.inference.estimates.estimands import RATIOS, Estimand
from understudy.inference.estimates.estimators import Question
from understudy.inference.moments.moment_answers import RULE
from understudy.inference.set_estimates import Pooled
from understudy.release import Release
from understudy.release.measurement_content import Kind
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
        for count, stddev in _counted(release, name)
        if count > SURE * stddev
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
    """The noisy number of records out of domain and its standard deviation, if it was counted."""
    tables = (one for one in release.measurements if one.kind is Kind.TABLE)
    own = [one for one in tables if one.columns == (name,)]
    if own and all(one.stddev > 0 for one in own):
        weights = [one.stddev**-2 for one in own]
        mean = sum(w * one.outside for w, one in zip(weights, own, strict=True)) / sum(weights)
        yield mean, sum(weights) ** -0.5
