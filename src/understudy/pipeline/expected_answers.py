"""How exact the answers to declared analyses will be, before anything is spent.

Both parts of an error follow from the second moments of the population, which nobody knows before:
so they are computed for stated records, those of an earlier release or records drawn evenly over
the schema, for a stated number of records. The noise is that of the plan. No data are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy import engine as engines
from understudy.errors import InferenceError
from understudy.features.scores import Scores
from understudy.inference.declared_analyses import DeclaredAnalysis
from understudy.inference.estimates.analysis_records import Records
from understudy.inference.moments.moment_answers import answer_of
from understudy.inference.moments.moment_matrix import MomentMatrix
from understudy.privacy.mechanisms.sums.score_moments import ONE
from understudy.release.decoding import decode
from understudy.schema import Schema

ASSUMED_ROWS = 1_000
"""Where the number of records is private and none is stated."""
_MOST_ROWS = 200_000
_REACH = 1.96


@dataclass(frozen=True)
class Expected:
    """What is expected of one estimate.

    Attributes:
        analysis: that it belongs to.
        name: of the estimate.
        noise: half-width of a 95 % interval by privacy noise alone; NaN where none is expected.
        sampling: half-width by sampling alone.
        refused: why no answer is expected; "" if one is.
    """

    analysis: str
    name: str
    noise: float
    sampling: float
    refused: str = ""


def expected_answers(
    analyses: Sequence[DeclaredAnalysis],
    schema: Schema,
    columns: tuple[str, ...],
    stddev: float,
    *,
    n_rows: int,
    like: pl.DataFrame | None = None,
) -> tuple[Expected, ...]:
    """Expected half-widths of each estimate of some analyses.

    Args:
        analyses: declared ones.
        schema: public.
        columns: whose second moments will be measured.
        stddev: of the noise in each of them.
        n_rows: how many records to assume, at most 200,000.
        like: records to assume; drawn evenly over the schema if None.
    """
    rows = _rows(schema, min(n_rows, _MOST_ROWS), like)
    scores = Scores.of(schema, columns)
    open_schema = schema.model_copy(update={"rows": "private", "n_rows": None})
    exact = engines.Table(rows, open_schema).score_products(scores).expose()
    values = np.concatenate([exact.sums, exact.products]) / ONE
    matrix = MomentMatrix.from_numbers(scores, values, stddev, float(rows.height), 0.0)
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


def _rows(schema: Schema, n: int, like: pl.DataFrame | None) -> pl.DataFrame:
    """Records drawn evenly over what the schema allows, or from others; always the same."""
    rng = np.random.default_rng(0)
    if like is not None:
        return like.select(schema.names)[rng.integers(0, like.height, n)]
    return decode(schema.domain.draw(n, rng.random), schema, rng)
