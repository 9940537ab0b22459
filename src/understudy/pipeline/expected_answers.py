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
from understudy.inference.measured_answers import matrix_answer
from understudy.inference.moments.assumed_moments import assumed_moments
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.moments.moment_answers import MeasuredAnswer
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.inference.moments.moment_sources import MomentSource, joined_matrix
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments
from understudy.release.decoding import decode
from understudy.schema import Schema

_MOST_ROWS = 200_000
_FEW_ROWS = 1_000
_ROWS_PER_STATE = 50  # so that each state is drawn
_REACH = 1.96


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    *,
    pure: bool,
    n_rows: int,
    like: pl.DataFrame | None,
    rows_stddev: float,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments, with the standard deviation of the noise in each number.
        pure: whether the budget has no δ.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
        rows_stddev: of the noise in the number of records, where it is not among the sums.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    sources = _sources(analyses, schema, steps, rows, pure=pure)
    lines: list[Expected] = []
    for analysis in analyses:
        matrix = _matrix_for(analysis, sources, schema, (float(rows.height), rows_stddev))
        lines += _expected(analysis, matrix, schema, rows)
    return tuple(lines)


def require_moments(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[ScoreMoments],
    *,
    pure: bool,
) -> None:
    """Refuse analyses that second moments do not answer, whatever the rows are.

    Each is asked of the exact moments of records drawn evenly over the schema.

    Args:
        analyses: declared ones.
        schema: public.
        steps: what buys second moments.
        pure: whether the budget has no δ.

    Raises:
        InferenceError: a term that no second moments have, or that cannot be computed.
    """
    most = max(schema.sizes)
    rows = _rows(schema, min(max(_FEW_ROWS, _ROWS_PER_STATE * most), _MOST_ROWS), None)
    sources = _sources(analyses, schema, [(asked, 0.0) for asked in steps], rows, pure=pure)
    for analysis in analyses:
        matrix = _matrix_for(analysis, sources, schema, (float(rows.height), 0.0))
        try:
            answer = _answer(analysis, matrix, schema, rows)
        except LostInNoiseError:  # of these records; others may have the answer
            continue
        if answer is None:
            raise InferenceError(
                f"Second moments of its columns do not answer {analysis}: terms must be columns, "
                "levels and conditions on levels, added up, such as 'income ~ age + C(region)', "
                "and the outcome of a logit must be 0 or 1."
            )


def _sources(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    steps: Sequence[tuple[ScoreMoments, float]],
    rows: pl.DataFrame,
    *,
    pure: bool,
) -> list[MomentSource]:
    """What would be measured of the columns of some analyses."""
    used = columns_of(analyses, schema)
    return [
        assumed_moments(schema, rows, asked, used, stddev, pure=pure)
        for asked, stddev in steps
        if set(asked.columns) & set(used)
    ]


def _matrix_for(
    analysis: DeclaredAnalysis,
    sources: Sequence[MomentSource],
    schema: Schema,
    n: tuple[float, float],
) -> MomentMatrix:
    """The moments that are measured for an analysis, all together."""
    matrix = joined_matrix(sources, schema, columns_of([analysis], schema), n)
    assert matrix is not None  # those of its own columns are among them
    return matrix


def _answer(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> MeasuredAnswer | None:
    estimand = analysis.estimand(schema)
    records = Records.complete_of(rows, schema, estimand.columns)
    return matrix_answer(estimand, matrix, schema, [records])


def _expected(
    analysis: DeclaredAnalysis, matrix: MomentMatrix, schema: Schema, rows: pl.DataFrame
) -> list[Expected]:
    try:
        answer = _answer(analysis, matrix, schema, rows)
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
        if np.isfinite(own) or np.isfinite(other)  # a test has no width
    ]


def _rows(schema: Schema, n: int, like: pl.DataFrame | None) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same."""
    rng = np.random.default_rng(0)
    if like is not None:
        return like[list(schema.names)][rng.integers(0, like.height, n)]
    return decode(schema.domain.draw(n, rng.random), schema, rng)
