"""Second moments that are expected of stated records, before any are measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.features.column_scores import UNIT, Scores
from understudy.inference.estimates.analysis_records import ABSENT, Records
from understudy.inference.moments.moment_sources import MomentSource
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.schema import NUMERIC, Schema


def assumed_moments(
    schema: Schema,
    rows: pl.DataFrame,
    asked: ScoreMoments,
    columns: Sequence[str],
    stddev: float,
    *,
    pure: bool,
) -> MomentSource:
    """Exact second moments of stated records, with the noise that they would have.

    Args:
        schema: of the records.
        rows: the records: synthetic ones, or drawn from public facts.
        asked: what would be measured.
        columns: those of its columns that matter; and those of which values must be there.
        stddev: of the noise in each number.
        pure: whether the budget has no δ.
    """
    kept = tuple(name for name in asked.columns if name in {*columns, *asked.complete})
    records = Records.of(rows, schema, kept)
    if asked.complete:
        known = Records.of(rows, schema, asked.complete).complete()
        records = records.take(known)
    whole = Scores.of(schema, asked.columns, asked.complete, pure=pure)
    scores, _ = whole.part(kept)
    return MomentSource.from_values(scores, _sums(scores, schema, records), stddev, pure=pure)


def _sums(scores: Scores, schema: Schema, records: Records) -> Floats:
    """What would be released of the records, without noise; absences counted as evenly spread."""
    z = score_values(scores, schema, records)
    first, second = scores.pairs
    present = [records.states[scores.each[k].column] != ABSENT for k in scores.numbers]
    squares = [
        (2 * z[own, k] ** 2 - 1).sum() for own, k in zip(present, scores.numbers, strict=True)
    ]
    counted, absent = np.array([float(len(z))]), np.zeros(len(scores.coded))
    parts = (counted, z.sum(axis=0), (z.T @ z)[first, second], np.array(squares), absent)
    return np.asarray(scores.order.joined(parts) * scores.order.weights(float(scores.weight)))


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
