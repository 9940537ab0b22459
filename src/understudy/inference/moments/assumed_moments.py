"""Second moments that are expected for stated records, before any are measured."""

from __future__ import annotations

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.features.column_scores import UNIT, Scores
from understudy.inference.estimates.analysis_records import ABSENT, Records
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.schema import NUMERIC, Schema


def assumed_moments(
    schema: Schema,
    rows: pl.DataFrame,
    asked: ScoreMoments,
    noise: tuple[float, float],
    *,
    pure: bool,
) -> MomentMatrix:
    """Exact second moments of stated records, with the noise that they would have.

    Args:
        schema: of the records.
        rows: the records: synthetic ones, or drawn from public facts.
        asked: what would be measured.
        noise: standard deviations, of each number and of the number of records.
        pure: whether the budget has no δ.
    """
    records = Records.of(rows, schema, asked.columns)
    if asked.complete:
        known = Records.of(rows, schema, asked.complete).complete()
        records = records.take(known)
    scores = Scores.of(schema, asked.columns, asked.complete, pure=pure)
    values, n = _sums(scores, schema, records), float(len(records.complete()))
    return MomentMatrix.from_numbers(scores, schema, values, noise[0], (n, noise[1]))


def _sums(scores: Scores, schema: Schema, records: Records) -> Floats:
    """What would be released of the records, without noise; absences counted as evenly spread."""
    z = score_values(scores, schema, records)
    first, second = scores.pairs
    front = [float(len(z))] if scores.complete else []
    weighted = float(scores.weight) * np.concatenate([front, z.sum(axis=0)])
    present = [records.states[scores.each[k].column] != ABSENT for k in scores.numbers]
    squares = [
        (2 * z[own, k] ** 2 - 1).sum() for own, k in zip(present, scores.numbers, strict=True)
    ]
    absent = np.zeros(len(scores.coded))
    return np.concatenate([weighted, (z.T @ z)[first, second], squares, absent])


def score_values(scores: Scores, schema: Schema, records: Records) -> Floats:
    """Scores of records, shape (records, scores); 0 where a value is absent."""
    blocks = []
    for name in scores.columns:
        column, states = schema.columns[name], records.states[name]
        block = scores.tables[name][states] / UNIT
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            block[:, 0] = (records.numbers[name] - (low + high) / 2) / ((high - low) / 2 or 1.0)
        block[states == ABSENT] = 0
        blocks.append(block)
    return np.hstack(blocks)
