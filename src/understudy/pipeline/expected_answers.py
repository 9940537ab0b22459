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
from understudy.families.measurement_plan import PlannedTable
from understudy.features.column_scores import Scores
from understudy.inference.declared_analyses import DeclaredAnalysis, Expected
from understudy.inference.estimates.analysis_records import ABSENT, Records
from understudy.inference.moments.moment_answers import answer_of
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.release.decoding import decode
from understudy.schema import Schema

_MOST_ROWS = 200_000
_REACH = 1.96


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    step: PlannedTable,
    *,
    n_rows: int,
    like: pl.DataFrame | None,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        step: of the plan that buys second moments.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    scores, records = Scores.of(schema, step.columns), Records.of(rows, schema, step.columns)
    z = score_values(scores, schema, records)
    first, second = scores.pairs
    values = np.concatenate([z.sum(axis=0), (z.T @ z)[first, second]])
    matrix = MomentMatrix.from_numbers(scores, values, step.stddev, float(rows.height), 0.0)
    return tuple(
        line for analysis in analyses for line in _expected(analysis, matrix, schema, rows)
    )


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


def _rows(schema: Schema, n: int, like: pl.DataFrame | None) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same."""
    rng = np.random.default_rng(0)
    if like is not None:
        return like.select(schema.names)[rng.integers(0, like.height, n)]
    return decode(schema.domain.draw(n, rng.random), schema, rng)
