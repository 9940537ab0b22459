"""The same scores within groups of records: a good average can hide a group that fares badly."""

from __future__ import annotations

import numpy as np

from understudy.evaluation.comparison import Comparison
from understudy.evaluation.definitions import DEFINITIONS, Definition
from understudy.evaluation.evaluation_results import Subgroup
from understudy.evaluation.utility.marginal_distances import Distances, marginal_distances
from understudy.evaluation.utility.propensity import logistic_ratio

SMALL = 50
"""Original rows below which the scores of a group mean little."""

MOST_GROUPS = 60

_RATIO = DEFINITIONS["pMSE / fresh"]
_DETAILS = {_RATIO: ", logistic, main effects"}


def subgroup_scores(comparison: Comparison, column: int) -> tuple[Subgroup, ...]:
    """Scores within each state of a column that occurs in the original, in the order of states.

    Total variation distances come with their ratio to those of a fresh sample of this size, since
    small groups have large distances by chance. Only sets that have records in the group count;
    the share of the group is compared first.

    Args:
        comparison: original and sets.
        column: the grouping column.
    """
    groups: list[Subgroup] = []
    for state, label in enumerate(comparison.labels(column)):
        part = comparison.where(column, state)
        if not part.n_original:
            continue
        if len(groups) == MOST_GROUPS:
            break
        groups.append(_group(comparison, part, column, label))
    return tuple(groups)


def _group(whole: Comparison, part: Comparison, column: int, label: str) -> Subgroup:
    share = part.n_original / whole.n_original
    sizes = [len(rows[0]) for rows in part.sets]
    synthetic = float(
        np.mean([n / len(rows[0]) for n, rows in zip(sizes, whole.sets, strict=True)])
    )
    scores = {DEFINITIONS["share, synthetic / original"]: synthetic / share}
    inhabited = part.with_sets([rows for rows, n in zip(part.sets, sizes, strict=True) if n])
    if inhabited.sets:
        scores |= _scores(inhabited, column)
    return Subgroup(
        whole.schema.names[column],
        label,
        part.n_original,
        part.n_original < SMALL,
        {one.name + _DETAILS.get(one, ""): score for one, score in scores.items()},
        tuple(scores),
    )


def _scores(part: Comparison, column: int) -> dict[Definition, float]:
    scores = {}
    for order in (1, 2):
        found = marginal_distances(part, order)
        kept = [k for k, columns in enumerate(found.marginals) if column not in columns]
        if kept:
            name = f"total variation, {order}-way, other columns"
            scores[DEFINITIONS[name]] = float(found.means[kept].mean())
            scores[DEFINITIONS[f"{name} / fresh"]] = _ratio(found, kept)
    ratio = logistic_ratio(part)
    if ratio is not None:
        scores[_RATIO] = ratio
    return scores


def _ratio(found: Distances, kept: list[int]) -> float:
    null = float(found.nulls[kept].mean())
    return float(found.means[kept].mean()) / null if null else 1.0
