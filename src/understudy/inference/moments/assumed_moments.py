"""Second moments that are expected for stated records, before any are measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.features.column_scores import Scores
from understudy.inference.estimates.analysis_records import ABSENT, Records
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.schema import Schema


def assumed_moments(
    schema: Schema,
    rows: pl.DataFrame,
    columns: Sequence[str],
    complete: Sequence[str],
    stddev: float,
) -> MomentMatrix:
    """Exact second moments of stated records, with the noise that they would have.

    Args:
        schema: of the records.
        rows: the records: synthetic ones, or drawn from public facts.
        columns: that are measured.
        complete: those of them of which a record must have a value to count.
        stddev: of the noise in each number.
    """
    scores = Scores.of(schema, columns, complete)
    records = Records.of(rows, schema, columns)
    if complete:
        known = Records.of(rows, schema, complete).complete()
        records = records.take(known)
    z = score_values(scores, schema, records)
    first, second = scores.pairs
    values = np.concatenate([z.sum(axis=0), (z.T @ z)[first, second]])
    counted = stddev if complete else 0.0
    return MomentMatrix.from_numbers(scores, values, stddev, float(len(z)), counted)


def score_values(scores: Scores, schema: Schema, records: Records) -> Floats:
    """Scores of records, shape (records, scores); of an absent number no score is other than 0."""
    n = len(records.complete())
    z = np.zeros((n, len(scores)))
    for place, score in enumerate(scores.each):
        column, states = schema.columns[score.column], records.states[score.column]
        if score.state is None:
            low, high = column.bounds  # type: ignore[union-attr]
            half = (high - low) / 2 or 1.0
            numbers = (records.numbers[score.column] - (low + high) / 2) / half
            z[:, place] = np.where(states == ABSENT, 0.0, numbers)
        else:
            z[:, place] = states == score.state
    return z
