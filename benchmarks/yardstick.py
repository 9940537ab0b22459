"""How far a synthetic table lies from the real one, by the scores that the utility tables quote.

All of them are scores of `understudy evaluate`, computed by the same functions and defined in
`understudy.evaluate.scores`; here is only which ones, and under which key they are recorded.
What takes long and is not quoted is left out: permutations, products of columns, regressions.

Every random choice has a fixed seed. `FORMER` names the scores of records that were made by rules
of their own before, which have other keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from understudy._parallel import single_threaded
from understudy.data.coding import ColumnCoder
from understudy.evaluate.associations import correlation_scores, relation_scores
from understudy.evaluate.comparison import Comparison, ordered_columns, ordered_names
from understudy.evaluate.marginals import group_scores, marginal_distances, number_scores
from understudy.evaluate.prediction import prediction_scores
from understudy.evaluate.propensity import quick_scores
from understudy.evaluate.regression import records_of
from understudy.evaluate.scores import DEFINITIONS, Better, Metric
from understudy.inference.records import Records
from understudy.schema import Schema

KEYS = {
    "total variation, 1-way": "tv1",
    "total variation, 2-way": "tv2",
    "total variation, 3-way (all triples)": "three_way",
    "total variation, 3-way (500 triples)": "three_way",
    "SPECKS, logistic, main effects": "specks",
    "SPECKS, CART": "specks_tree",
    "pMSE / fresh": "pmse",
    "trained on synthetic, area under the curve": "trained_auc",
    "trained on synthetic, accuracy": "trained_accuracy",
    "relative error of means, median": "mean_error",
    "relative error of standard deviations, median": "sd_error",
    "rank error of deciles": "decile_error",
    "means kept": "means_kept",
    "standard deviations kept": "sds_kept",
    "deciles kept": "deciles_kept",
    "difference of correlation": "correlation_difference",
    "correlations kept": "correlations_kept",
    "within-group distance": "group_distance",
    "relations broken": "relations_broken",
}
"""Name of a score → key of a record."""

TITLES = {key: DEFINITIONS[name].short for name, key in KEYS.items()}
"""Key of a record → heading of the score in tables."""

HIGH = frozenset(key for name, key in KEYS.items() if DEFINITIONS[name].better is Better.HIGH)
"""Keys of scores that should be high."""

FORMER = {
    "tv3": "tv3 (64)",
    "specks_lr": "SPECKS-lr",
    "specks_cart": "SPECKS-cart",
    "pmse_ratio": "pMSE / resampled",
    "auc": "AUC",
    "accuracy": "accuracy",
}
"""Key of a former record → heading of a score that is no longer computed."""

FRESH = "_fresh"
"""Ending of keys that say what a fresh sample of the population is expected to score."""


def distances(comparison: Comparison, *, most_cells: int | None = None) -> dict[str, float]:
    """tv1, tv2 and three_way, and what a fresh sample would have; NaN where no table is left.

    Args:
        comparison: the real rows and one synthetic table.
        most_cells: tables of two and three columns with more cells are left out.
    """
    found = {}
    for order, key in ((1, "tv1"), (2, "tv2"), (3, "three_way")):
        limit = most_cells if order > 1 else None
        far = marginal_distances(comparison, order, most_cells=limit)
        there = bool(far.marginals)
        found[key] = float(far.values.mean()) if there else math.nan
        found[key + FRESH] = float(far.nulls.mean()) if there else math.nan
    return found


def discrimination(comparison: Comparison) -> dict[str, float]:
    """specks, specks_tree and pmse: how well models tell synthetic rows from real ones."""
    with single_threaded():  # threads that wait for a busy processor cost more than they give
        found = quick_scores(comparison)
    return {KEYS[definition.name]: value for definition, value in found.items()}


def prediction(comparison: Comparison, target: int, *, real_rows: bool = False) -> dict[str, float]:
    """How well a model that learned from synthetic rows predicts a fifth of the real ones.

    Args:
        comparison: the real rows and one synthetic table.
        target: the column that is predicted.
        real_rows: learn from the other four fifths of the real rows instead: what could be reached.
    """
    with single_threaded():
        scores = prediction_scores(comparison, target)
    if isinstance(scores, str):
        return {}
    if real_rows:
        return {key: float(one.null) for key, one in _keyed(scores) if one.null is not None}
    return {key: one.value for key, one in _keyed(scores)}


def kept(comparison: Comparison, real: pl.DataFrame, made: pl.DataFrame) -> dict[str, float]:
    """Numbers, correlations, small groups and relations; what there is none of is left out.

    Args:
        comparison: of both tables.
        real: the real rows.
        made: the synthetic table.
    """
    schema = comparison.schema
    names = ordered_names(schema)
    original, copy = (_records(schema, names, frame) for frame in (real, made))
    columns = ordered_columns(original, [copy])
    with single_threaded():
        scores = [
            *number_scores(columns, comparison.generator(0))[0],
            *correlation_scores(columns)[0],
            *group_scores(comparison)[0],
            *relation_scores(comparison, columns)[0],
        ]
    found = {key: one.value for key, one in _keyed(scores)}
    nulls = {key + FRESH: one.null for key, one in _keyed(scores) if one.null is not None}
    return found | nulls


def _records(schema: Schema, names: Sequence[str], frame: pl.DataFrame) -> Records:
    readings = [ColumnCoder(name, schema.columns[name]).read(frame[name]) for name in names]
    return records_of(schema, names, readings)


def _keyed(scores: Sequence[Metric]) -> list[tuple[str, Metric]]:
    return [(KEYS[one.definition.name], one) for one in scores if one.definition is not None]
