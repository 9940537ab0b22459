"""The joint answer of the sets of a release, by the rule that holds for them or comes nearest.

A quantity whose variance is 0 within a set has no error there: all records share one value, or an
outcome does not vary among the records that decide a coefficient. A sample of such records says
nothing of the variance in the population, so such a quantity gets none.

**What merged states may hide of a relation: twice what their order within runs adds to it.**

Of an ordered column that was measured with others in runs of merged states, a table tells which run
goes with what. Where a record lies in its run follows what its neighbours in the table say of this
run and the next ones (`understudy.graphical.compression`): within a run the relation goes on
as it does from run to run. That is likely, and not known. If numbers change places at random with
others of their run, the relation ends at the run; the difference D of an estimate is what its going
on within runs adds. Intervals have room for a bias of 2·|D|: the relation within runs may be none,
or three times as strong. Outer runs, whose ends lie far out, are where straight lines say too
little, and noise makes them shorter. Nothing of a column by itself changes, nor what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.inference.bin_bias import Known, add_bin_bias, record_ranges
from understudy.inference.combining import (
    Pooled,
    Totals,
    mi_variance,
    partial_variance,
    pool,
    single_variance,
)
from understudy.inference.conditions import require_told
from understudy.inference.counts import FEWEST
from understudy.inference.estimators import Question, SetEstimates
from understudy.inference.quantiles import Curve, Quantiles, Steps, quantiles
from understudy.inference.question import Estimand
from understudy.inference.records import Records
from understudy.inference.refusals import Advice, RefusedError, advise
from understudy.inference.rules import RuleFacts, errorless_reason, merged_columns, select_rule
from understudy.release.measurement import groups_of
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema

ROOM = 2.0
"""Bias that there is room for, in parts of what order within runs adds."""
SEED = 1
"""Of what changes places: an answer to a question is the same each time."""


def bound_bias(
    question: Question, release: Release, answer: SetEstimates, schema: Schema
) -> Floats:
    """Bound on the bias by merged states, shape (k,); 0 where none is merged.

    Args:
        question: asked of the release.
        release: with its sets.
        answer: of each set.
        schema: in the bins that were measured.

    Raises:
        InferenceError: an estimate that cannot be computed from sets without order within runs.
    """
    names = merged_columns(release.behind_sets, question.columns)
    if len(question.columns) < 2 or not names:
        return np.zeros(len(answer.names))
    groups = groups_of(release.behind_sets)
    rng = np.random.default_rng(SEED)
    tables = [
        scatter_values(table, schema, {name: groups[name] for name in names}, rng)
        for table in release.tables
    ]
    apart = question.answer(tables, release.schema)
    return np.asarray(ROOM * np.abs((answer.estimates - apart.estimates).mean(axis=0)))


def scatter_values(
    table: pl.DataFrame,
    schema: Schema,
    groups: Mapping[str, Sequence[int]],
    rng: np.random.Generator,
) -> pl.DataFrame:
    """A set in which values of some columns change places with others of their group.

    Args:
        table: the set.
        schema: in whose states groups are.
        groups: column → group of each state.
        rng: randomness.
    """
    changed = []
    for name, merged in groups.items():
        runs = np.append(merged, -1)[_states(table, schema, name)]
        to, source = np.argsort(runs, kind="stable"), np.lexsort((rng.random(len(runs)), runs))
        order = np.empty(len(runs), dtype=np.int64)
        order[to] = source
        changed.append(table[name].gather(order))
    return table.with_columns(changed)


def _states(table: pl.DataFrame, schema: Schema, name: str) -> Integers:
    """State of each value, `ABSENT` for an absent one, shape (n,)."""
    records, column = Records.of(table, schema, [name]), schema.columns[name]
    if isinstance(column, NUMERIC):
        return Records.states_of(records.numbers[name], column)
    return records.states[name]


_ROUNDING = 1e-12
_POOLED = {"partial": partial_variance, "mi": mi_variance}


@dataclass(frozen=True)
class SetAnswer:
    """The joint answer of synthetic sets.

    Attributes:
        pooled: the estimates.
        stderr: of the shares that misplaced records could move, shape (k,).
        notes: what was assumed, one sentence each.
        dropped: records left out of each set.
    """

    pooled: Pooled
    stderr: Floats
    notes: tuple[str, ...]
    dropped: tuple[int, ...]


def set_answer(question: Question, release: Release, facts: RuleFacts) -> SetAnswer:
    """Combine the answers of the sets.

    Args:
        question: asked of the release.
        release: with its sets.
        facts: of both.

    Raises:
        InferenceError: an estimate that cannot be computed, or no quantity with an error.
    """
    rule = select_rule(facts)
    how = rule.name if rule.valid else "partial" if facts.sets > 1 else "single"
    known = known_numbers(release, question.columns)
    if isinstance(question.asked, Estimand):
        require_told(question.asked, known.schema)
    if question.kind == "quantile":
        assert isinstance(question.asked, Estimand)
        pooled_quantiles, dropped = set_quantiles(question.asked, release, how)
        return SetAnswer(pooled_quantiles, pooled_quantiles.share_stderr, (), dropped)
    answer = question.answer(release.tables, release.schema, known)
    pooled, *ends = (
        pool(
            sets.estimates,
            sets.covariances,
            rule=how,
            names=answer.names,
            noise_variance=0.0 if facts.sets == 1 else None,
        )
        for sets in (answer, *answer.ends)
    )
    if ends:
        pooled = add_bin_bias(pooled, *ends)
    pooled = replace(pooled, bias=pooled.bias + bound_bias(question, release, answer, known.schema))
    certain = errorless(answer)
    # From counts a mean has an error in any case; of a model the same records would decide again.
    advice = advise(release, facts) if facts.counted else None
    pooled, said = without_errors(pooled, certain, advice)
    return SetAnswer(pooled, pooled.stderr, (*answer.notes, *said), answer.dropped)


def known_numbers(release: Release, columns: Sequence[str]) -> Known:
    """Return how exactly the numbers of some columns are known in the sets.

    By the bins of the schema, if they were measured in these together (or else alone), and by the
    coarser bins of a measurement if not.

    Args:
        release: with its measurements.
        columns: of a question.
    """
    tables = [table for table in release.behind_sets if table.kind.is_joint]
    together = [table for table in tables if set(columns) <= set(table.columns)]
    bins = {}
    for name in columns:
        measured = [table for table in together or tables if name in table.columns]
        if measured and all(name in table.bins for table in measured):
            bins[name] = measured[0].bins[name]
    schema = release.schema.with_bins(bins) if bins else release.schema
    return Known(schema, release.manifest.inference.modelled)


def errorless(answer: SetEstimates) -> NDArray[np.bool_]:
    """Quantities whose variance is 0 within a set, shape (k,)."""
    spread = answer.covariances
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
        raise RefusedError("too-few", errorless_reason(shown), advice, anyway=False)
    covariance = np.where(certain[:, None] | certain, np.nan, pooled.covariance)
    share = np.where(certain, np.nan, pooled.synthesis_share)
    kept = replace(pooled, covariance=covariance, synthesis_share=share)
    return kept, (f"{shown} has no error bars: {errorless_reason(shown)}.",)


def set_quantiles(
    estimand: Estimand, release: Release, rule: str
) -> tuple[Quantiles, tuple[int, ...]]:
    """Quantiles from synthetic sets, and how many records of each set were left out.

    Args:
        estimand: a quantile.
        release: with its sets.
        rule: "partial", "mi", or "single", which counts neither noise nor synthesis.

    Raises:
        InferenceError: a set has too few records in every group, or the expression cannot be told
            from bins.
    """
    sets = [_values(estimand, table, release) for table in release.tables]
    names = estimand.names(release.schema)
    estimates: list[float] = []
    curves: list[Curve | None] = []
    for j in range(len(names)):
        parts = [[ends[quantity == j] for ends in values] for quantity, *values in sets]
        if min(len(low) for low, _, _ in parts) < FEWEST:
            estimates.append(np.nan)
            curves.append(None)
            continue
        low, high, middle = (list(columns) for columns in zip(*parts, strict=True))
        p = estimand.probability
        curves.append(Curve(set_steps(low, p, rule), set_steps(high, p, rule)))
        estimates.append(_least_crossing(set_steps(middle, p, rule)))
    dropped = tuple(
        int((~Records.of(table, release.schema, estimand.columns).complete()).sum())
        for table in release.tables
    )
    return quantiles(names, estimates, curves, rule=rule, sets=len(sets)), dropped


def _values(
    estimand: Estimand, table: pl.DataFrame, release: Release
) -> tuple[Integers, Floats, Floats, Floats]:
    """Quantity, least, largest and released value of each record; each of shape (n,)."""
    known = known_numbers(release, estimand.columns)
    records = Records.of(table, release.schema, estimand.columns)
    scores = estimand.scores(records)
    spread = [n for n in records.numbers if n not in known.drawn and n not in estimand.groups]
    low, high = record_ranges(estimand, records.within(known.schema), spread)
    return scores.quantity, low, high, scores.value


def set_steps(sets: Sequence[Floats], p: float, rule: str) -> Steps:
    """The mean distribution function of some sets, with its error by a combining rule.

    Args:
        sets: the values in each.
        p: probability of the quantile.
        rule: "partial", "mi" or "single".
    """
    values = np.unique(np.concatenate(sets))
    below = np.stack([np.searchsorted(np.sort(numbers), values, side="right") for numbers in sets])
    sizes = np.array([[float(len(numbers))] for numbers in sets])
    shares = below / sizes
    within = np.broadcast_to(p * (1 - p) / sizes, shares.shape)
    totals = _totals(shares, within, rule)
    return Steps(
        values=values,
        excess=totals.estimate - p,
        stderr=np.sqrt(totals.variance),
        df=totals.df,
        kurtosis=np.array(0.0),
        half=0.5 / sizes.mean(axis=0),
        share=totals.share,
    )


def _totals(q: Floats, u: Floats, rule: str) -> Totals:
    if rule == "single":
        return single_variance(q, u, 0.0)
    return _POOLED[rule](q, u)


def _least_crossing(steps: Steps) -> float:
    """The least number that the mean distribution function takes to p."""
    return float(steps.values[(steps.excess >= -_ROUNDING).argmax()])
