"""Utility losses: single numbers that say how far synthetic rows are from the original ones.

They are cheap, without nulls and permutations, so that a method can be scored over many budgets and
repetitions (`understudy.risk_utility`). 0 is perfect, lower is better, and each has a worst value;
a set without rows has that one, since it tells nothing.

Source of the distances and of SPECKS: `understudy.evaluation.utility.marginal_distances`, `…pmse`;
of the overlap of intervals: Karr et al. (2006), The American Statistician 60, 224-232.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.engine.coding import ColumnCoder
from understudy.evaluation.comparison import Comparison
from understudy.evaluation.utility.coefficients import coefficient_scores
from understudy.evaluation.utility.indicator_designs import default_models
from understudy.evaluation.utility.marginal_distances import conditional_score, marginal_distances
from understudy.evaluation.utility.propensity import pair_specks
from understudy.evaluation.utility.regression_comparison import compare_models, records_of
from understudy.inference.estimates.analysis_records import Records
from understudy.schema import Schema


@dataclass(frozen=True)
class Pairing:
    """Original rows and synthetic sets of one schema. CONFIDENTIAL.

    Attributes:
        schema: what all of them are read against; bins that a method chose for itself do not
            matter, so that methods are comparable.
        original: the original rows, at least one.
        sets: the synthetic sets.
        comparison: all of them coded.
    """

    schema: Schema
    original: pl.DataFrame
    sets: Sequence[pl.DataFrame]
    comparison: Comparison

    @classmethod
    def of(
        cls, schema: Schema, original: pl.DataFrame, sets: Sequence[pl.DataFrame], seed: int = 0
    ) -> Pairing:
        """Code rows and sets; `seed` is that of random choices."""
        return cls(schema, original, sets, Comparison.of(schema, original, sets, seed))


@dataclass(frozen=True)
class Loss:
    """One utility loss.

    Attributes:
        name: what users call it by.
        title: what is kept or lost, for a heading.
        scale: what the number is.
        worst: its largest value.
        measure: computes it; NaN where it is not defined.
    """

    name: str
    title: str
    scale: str
    worst: float
    measure: Callable[[Pairing], float]


def losses(pairing: Pairing, names: Sequence[str]) -> dict[str, float]:
    """Several losses of one release, means over its sets.

    Args:
        pairing: rows and sets.
        names: of `LOSSES`.
    """
    if not all(table.height for table in pairing.sets):
        return {name: LOSSES[name].worst for name in names}
    return {name: LOSSES[name].measure(pairing) for name in names}


def _marginals(order: int) -> Callable[[Pairing], float]:
    def measure(pairing: Pairing) -> float:
        distances = marginal_distances(pairing.comparison, order)
        return float(distances.values.mean()) if distances.marginals else math.nan

    return measure


def _conditional(pairing: Pairing) -> float:
    score = conditional_score(pairing.comparison)
    return math.nan if score is None else score.value


def _specks(pairing: Pairing) -> float:
    return float(np.mean(pair_specks(pairing.comparison)))


def _intervals(pairing: Pairing) -> float:
    """1 less the mean overlap of the intervals of the default regressions."""
    schema, names = pairing.schema, pairing.schema.names
    columns = pairing.original[list(names)]
    readings = [ColumnCoder(n, schema.columns[n]).read(columns.get_column(n)) for n in names]
    original = records_of(schema, names, readings)
    models, _ = default_models(original, None)
    if not models:
        return math.nan
    sets = [Records.of(table, schema, names) for table in pairing.sets]
    compared, _ = compare_models(models, original, sets, lambda _done, _total: None)
    sizes = columns.height, pairing.sets[0].height
    values = {score.name: score.value for score in coefficient_scores(compared, *sizes)}
    return 1.0 - values.get("confidence-interval overlap", 0.0)


_TOTAL = "total variation distance, mean over all"

LOSSES = {
    loss.name: loss
    for loss in (
        Loss("one-way", "Columns one by one", f"{_TOTAL} columns", 1.0, _marginals(1)),
        Loss("two-way", "Pairs of columns", f"{_TOTAL} pairs", 1.0, _marginals(2)),
        Loss(
            "conditional",
            "One column given another",
            "L1 distance of conditional distributions, mean over ordered pairs",
            2.0,
            _conditional,
        ),
        Loss(
            "specks",
            "Whole records: can a model tell them apart?",
            "SPECKS by logistic regression with pairs",
            1.0,
            _specks,
        ),
        Loss(
            "intervals",
            "Regressions",
            "share of 95 % intervals that is lost, mean over coefficients",
            1.0,
            _intervals,
        ),
    )
}
"""Name → loss."""
