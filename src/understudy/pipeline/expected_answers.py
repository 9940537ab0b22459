"""How exact the answers to declared analyses will be, before anything is spent.

Both parts of an error follow from the second moments of the population, which nobody knows before:
so they are computed for stated records, those of an earlier release or records drawn evenly over
the schema, for a stated number of records. The noise is that of the plan. No data are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.arrays import Floats
from understudy.errors import InferenceError
from understudy.features.column_scores import UNIT, Scores
from understudy.inference.declared_analyses import DeclaredAnalysis, Expected, columns_of
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.moments.moment_answers import answer_of
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.release.decoding import decode
from understudy.schema import NUMERIC, Schema

_MOST_ROWS = 200_000
_REACH = 1.96


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    *,
    pure: bool,
    n_rows: int,
    like: pl.DataFrame | None,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        pure: whether the budget has no δ.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    matrices = [_matrix(asked, stddev, schema, rows, pure=pure) for asked, stddev in steps]
    lines: list[Expected] = []
    for analysis in analyses:
        used = set(columns_of([analysis], schema))
        coded = {name for name in used if schema.columns[name].codes}
        matrix = next(
            each
            for each in matrices
            if used <= set(each.scores.columns) and set(each.scores.complete) == coded
        )
        lines += _expected(analysis, matrix, schema, rows)
    return tuple(lines)


def _matrix(
    asked: ScoreMoments, stddev: float, schema: Schema, rows: pl.DataFrame, *, pure: bool
) -> MomentMatrix:
    """Exact second moments of the assumed records, with the noise that they will have."""
    records = Records.of(rows, schema, asked.columns)
    if asked.complete:
        known = Records.of(rows, schema, asked.complete).complete()
        records = records.take(known)
    scores = Scores.of(schema, asked.columns, asked.complete, pure=pure)
    values, n = _sums(scores, schema, records), (float(len(records.complete())), 0.0)
    return MomentMatrix.from_numbers(scores, schema, values, stddev, n)


def _sums(scores: Scores, schema: Schema, records: Records) -> Floats:
    """What would be released of records with a value of each column, without noise."""
    z = score_values(scores, schema, records)
    first, second = scores.pairs
    front = [float(len(z))] if scores.complete else []
    weighted = float(scores.weight) * np.concatenate([front, z.sum(axis=0)])
    squares = (2 * z[:, scores.numbers] ** 2 - 1).sum(axis=0)
    absent = np.zeros(len(scores.coded))
    return np.concatenate([weighted, (z.T @ z)[first, second], squares, absent])


def score_values(scores: Scores, schema: Schema, records: Records) -> Floats:
    """Scores of records with a value of each column, shape (records, scores)."""
    blocks = []
    for name in scores.columns:
        column = schema.columns[name]
        block = scores.tables[name][records.states[name]] / UNIT
        if isinstance(column, NUMERIC):
            low, high = column.bounds
            block[:, 0] = (records.numbers[name] - (low + high) / 2) / ((high - low) / 2 or 1.0)
        blocks.append(block)
    return np.hstack(blocks)


def _expected(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> list[Expected]:
    estimand = analysis.estimand(schema)
    records = Records.of(rows, schema, estimand.columns)
    complete = records.take(records.complete())
    try:
        answer = answer_of(estimand, matrix, schema, [complete])
    except InferenceError as error:
        return [Expected(str(analysis), "", np.nan, np.nan, str(error))]
    if answer is None:
        why = "second moments do not have it; it is answered by what the synthesis measures, if so"
        return [Expected(str(analysis), "", np.nan, np.nan, why)]
    pooled = answer.pooled
    variance = np.diag(pooled.covariance)
    noise = np.sqrt(variance * pooled.synthesis_share)
    sampling = np.sqrt(variance * (1 - pooled.synthesis_share))
    names = zip(pooled.names, noise, sampling, strict=True)
    return [
        Expected(str(analysis), name, float(_REACH * own), float(_REACH * other))
        for name, own, other in names
    ]


def _rows(schema: Schema, n: int, like: pl.DataFrame | None) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same."""
    rng = np.random.default_rng(0)
    if like is not None:
        return like.select(schema.names)[rng.integers(0, like.height, n)]
    return decode(schema.domain.draw(n, rng.random), schema, rng)
