"""Estimates and covariances from each synthetic set, as if it were the real table.

Records with an absent value in one of the columns are left out, analysis by analysis. What the sets
share by their making, noise and synthesis, is for the combining rules to count.

A question to synthetic sets is kept as it was asked: once to a release, and again to each
replicate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from understudy._arrays import Floats
from understudy.errors import InferenceError, TooFewError
from understudy.inference import formulas, question, regression_models
from understudy.inference.bin_bias import Known, reach, record_places, shifts
from understudy.inference.conditions import require_varying
from understudy.inference.contributions import edge_variance, ratio, sampling_covariance
from understudy.inference.question import MODELS, SHARES, Estimand, Scores, refuse_derived
from understudy.inference.records import Records
from understudy.schema import Schema
from understudy.schema.expressions import read_name, split_outside


@dataclass(frozen=True)
class Question:
    """An estimand, or an analyst's own function.

    Attributes:
        kind: of the estimand; "function".
        formula: as it is shown.
        columns: that are used.
        asked: what is estimated.
    """

    kind: str
    formula: str
    columns: tuple[str, ...]
    asked: Estimand | Estimator

    @classmethod
    def of(
        cls, kind: str | Estimator, formula: str, schema: Schema, *, probability: float = 0.5
    ) -> Question:
        """Read a question; arguments as in `understudy.inference.analyze.analyze_release`.

        Raises:
            InferenceError: unknown kind or name, or a formula that cannot be read.
        """
        if callable(kind):
            refuse_derived(formula, schema)
            columns = formulas.read_crossing(formula, schema.names) if formula else schema.names
            name = getattr(kind, "__name__", "function")
            return cls("function", f"{name} ({', '.join(columns)})", columns, kind)
        estimand = question.parse(kind, formula, schema, probability=probability)
        require_varying(estimand, schema)
        return cls(estimand.kind, formula, estimand.columns, estimand)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose numbers matter, not only their states."""
        if isinstance(self.asked, Estimand) and self.kind in question.SHARES:
            return self.columns if self.asked.expression else ()
        return self.columns

    @property
    def additive(self) -> bool:
        """True if it models columns as they are, "a ~ b + c" say, without interactions."""
        outcome, *terms = split_outside(self.formula, "~")
        named = {read_name(part) for side in (outcome, *terms) for part in split_outside(side, "+")}
        return self.kind in MODELS and named == {*self.columns}

    def answer(
        self, tables: Sequence[pl.DataFrame], schema: Schema, known: Known | None = None
    ) -> SetEstimates:
        """Estimates from each set.

        Args:
            tables: the sets.
            schema: their schema.
            known: how exactly their numbers are known, if that is to be counted.

        Raises:
            InferenceError: an estimate that cannot be computed.
        """
        if isinstance(self.asked, Estimand):
            return estimate_sets(self.asked, tables, schema, known)
        return estimate_by(self.asked, self.columns, tables, schema)


Estimator = Callable[[pd.DataFrame], tuple[Any, Any]]


@dataclass(frozen=True)
class SetEstimates:
    """Estimates of k quantities from each of m sets.

    Attributes:
        names: k names.
        estimates: shape (m, k).
        covariances: shape (m, k, k), or (m, k) where only variances are known.
        dropped: records left out of each set because a value is absent, shape (m,).
        notes: what was assumed, one sentence each.
        ends: the same with every number where it makes the estimates least, and where it makes
            them largest, within its bin; empty where bins hide nothing.
    """

    names: tuple[str, ...]
    estimates: Floats
    covariances: Floats
    dropped: tuple[int, ...]
    notes: tuple[str, ...] = ()
    ends: tuple[SetEstimates, ...] = ()


def estimate_sets(
    estimand: Estimand,
    tables: Sequence[pl.DataFrame],
    schema: Schema,
    known: Known | None = None,
) -> SetEstimates:
    """Estimates from each set.

    Args:
        estimand: any kind but a total, which sets do not have, or a quantile, of which
            `understudy.inference.quantiles` knows.
        tables: the synthetic sets.
        schema: their schema.
        known: how exactly their numbers are known, if that is to be counted.

    Raises:
        InferenceError: no complete records, or an estimate that cannot be computed in one set;
            says which set and why.
    """
    if estimand.kind in question.MEASURED_ONLY:
        raise InferenceError(f"{question.MEASURED_ONLY[estimand.kind].capitalize()}.")
    sets = [Records.of(table, schema, estimand.columns) for table in tables]
    return estimate_records(estimand, sets, known)


def estimate_records(
    estimand: Estimand, sets: Sequence[Records], known: Known | None = None
) -> SetEstimates:
    """The same from records; arguments and errors are those of `estimate_sets`."""
    kept = [records.take(records.complete()) for records in sets]
    dropped = tuple(
        len(records.complete()) - len(own.complete())
        for records, own in zip(sets, kept, strict=True)
    )
    kept = [estimand.select(records) for records in kept]
    for k, records in enumerate(kept, start=1):
        if not len(records.complete()):
            met = f", where {estimand.where}" if estimand.where else ""
            raise TooFewError(
                f"Set {k} has no record with a value in each of {', '.join(estimand.columns)}{met}."
            )
    if estimand.kind in MODELS:
        return _model(estimand, kept, dropped, known)
    scores = [estimand.scores(records) for records in kept]
    ends = [_ends(estimand, *pair, known) for pair in zip(kept, scores, strict=True)]
    made = _stack_sets(estimand, scores, dropped)
    if all(pair is None for pair in ends):
        return made
    sides = [[_side(s, e, j) for s, e in zip(scores, ends, strict=True)] for j in range(2)]
    return replace(made, ends=tuple(_stack_sets(estimand, side, dropped) for side in sides))


def _ends(
    estimand: Estimand, records: Records, scores: Scores, known: Known | None
) -> tuple[Floats, Floats] | None:
    """Least and largest value of each record of a set, if bins hide it."""
    ends = None if known is None else reach(estimand, records.within(known.schema), known)
    if ends is None:
        return None
    return np.minimum(ends[0], scores.value), np.maximum(ends[1], scores.value)


def _side(scores: Scores, ends: tuple[Floats, Floats] | None, side: int) -> Scores:
    return scores if ends is None else replace(scores, value=ends[side])


def _stack_sets(
    estimand: Estimand, scores: Sequence[Scores], dropped: tuple[int, ...]
) -> SetEstimates:
    results = [_ratios(estimand, one, k) for k, one in enumerate(scores, start=1)]
    estimates, covariances = (np.stack(part) for part in zip(*results, strict=True))
    return SetEstimates(scores[0].names, estimates, covariances, dropped)


def _model(
    estimand: Estimand, kept: list[Records], dropped: tuple[int, ...], known: Known | None
) -> SetEstimates:
    kind, frames = estimand.kind, [records.frame() for records in kept]
    laid = regression_models.designs(kind, estimand.formula, frames)
    results = [regression_models.fit(kind, laid, k) for k in range(len(kept))]
    estimates, covariances = (np.stack(part) for part in zip(*results, strict=True))
    note = f"Outcome {laid.outcome}; {regression_models.COVARIANCE[kind]}."
    made = SetEstimates(laid.names, estimates, covariances, dropped, (note,))
    spread = () if known is None else known.select_binned(estimand.columns)
    if not spread:
        return made
    assert known is not None
    named = formulas.constants(estimand.formula)
    within = [records.within(known.schema) for records in kept]
    moved = {name: record_places(within, name, named) for name in spread}
    sides = shifts(kind, estimand.formula, laid, moved, results)
    ends = [replace(made, estimates=q, covariances=u, notes=()) for q, u in sides]
    return replace(made, ends=tuple(ends))


def _ratios(estimand: Estimand, scores: Scores, k: int) -> tuple[Floats, Floats]:
    """Means or shares of one set, shapes (k,) and (k, k)."""
    n_quantities = len(scores.names)
    totals, squares = (
        np.asarray(np.bincount(scores.quantity, values, n_quantities), dtype=np.float64)
        for values in (scores.value, scores.value**2)
    )
    sizes = np.bincount(scores.group_of[scores.quantity], minlength=int(scores.group_of[-1]) + 1)
    group_sizes = sizes[scores.group_of].astype(np.float64)
    for name, size in zip(scores.names, group_sizes, strict=True):
        if size < 2:
            raise TooFewError(
                f"Set {k} has {size:.0f} records for {name!r}; at least 2 are needed."
            )
    estimates = ratio(totals, group_sizes)
    covariance = sampling_covariance(estimates, squares, group_sizes, scores.group_of)
    if estimand.kind in SHARES:
        place = np.diag_indices(n_quantities)
        covariance[place] = np.maximum(covariance[place], edge_variance(group_sizes))
    return estimates, covariance


def estimate_by(
    estimator: Estimator, columns: Sequence[str], tables: Sequence[pl.DataFrame], schema: Schema
) -> SetEstimates:
    """Estimates of an analyst's own function from each set.

    Args:
        estimator: takes a data frame of complete records (see `Records.frame`), gives estimates,
            shape (k,) or a mapping from name to number, and their variances (k,) or covariance
            (k, k).
        columns: columns that it uses.
        tables: the synthetic sets.
        schema: their schema.

    Raises:
        InferenceError: it gives something else, or not the same names for every set.
    """
    sets = [Records.of(table, schema, columns) for table in tables]
    complete = [records.complete() for records in sets]
    frames = [r.take(rows).frame() for r, rows in zip(sets, complete, strict=True)]
    results = [_read_result(estimator(frame)) for frame in frames]
    names = results[0][0]
    shapes = {(labels, values.shape, spread.shape) for labels, values, spread in results}
    if len(shapes) > 1:
        raise InferenceError("The function gives other quantities for one set than for another.")
    return SetEstimates(
        names,
        np.stack([result[1] for result in results]),
        np.stack([result[2] for result in results]),
        tuple(int((~rows).sum()) for rows in complete),
    )


def _read_result(result: object) -> tuple[tuple[str, ...], Floats, Floats]:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InferenceError(
            "The function must give a pair: estimates (numbers, or a mapping from name to number) "
            "and their variances or covariance; without these no error can be stated."
        )
    estimates, covariance = result
    try:
        if isinstance(estimates, Mapping):
            names = tuple(map(str, estimates))
            values = np.asarray(list(estimates.values()), dtype=np.float64)
        else:
            values = np.atleast_1d(np.asarray(estimates, dtype=np.float64))
            labels = (
                estimates.index if isinstance(estimates, pd.Series) else range(1, values.size + 1)
            )
            names = tuple(map(str, labels))
        spread = np.atleast_1d(np.asarray(covariance, dtype=np.float64))
    except (TypeError, ValueError):
        raise InferenceError("The function must give numbers; it gave something else.") from None
    if values.ndim != 1 or spread.shape not in {values.shape, values.shape * 2}:
        raise InferenceError(
            f"The function gave estimates of shape {values.shape} and variances of shape "
            f"{spread.shape}; expected (k,), and (k,) or (k, k)."
        )
    return names, values, spread
