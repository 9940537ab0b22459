"""How exact the answers to declared analyses will be, before anything is spent.

Both parts of an error follow from the second moments of the population, which nobody knows before:
so they are computed for stated records, those of an earlier release or records drawn evenly over
the schema, for a stated number of records. The noise is that of the plan. No data are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from understudy.errors import InferenceError
from understudy.inference.declared_analyses import DeclaredAnalysis, Expected, columns_of
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.moments.assumed_moments import assumed_moments
from understudy.inference.moments.moment_answers import answer_of
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.release.decoding import decode
from understudy.schema import Schema

_MOST_ROWS = 200_000
_REACH = 1.96


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    *,
    n_rows: int,
    like: pl.DataFrame | None,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    matrices = [
        assumed_moments(schema, rows, asked.columns, asked.complete, stddev)
        for asked, stddev in steps
    ]
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
