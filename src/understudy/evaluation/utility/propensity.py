"""Can a model tell synthetic rows from original ones? Scores by three models.

What is measured, and against which null, stands in `understudy.evaluation.utility.discriminators`.

The same scores are computed within groups of records, too: a good average can hide a group that
fares badly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from understudy.arrays import Floats
from understudy.evaluation.comparison import Comparison
from understudy.evaluation.definitions import DEFINITIONS, Definition
from understudy.evaluation.evaluation_results import Score, Subgroup
from understudy.evaluation.utility.discriminators import (
    Fitted,
    Null,
    Stack,
    fit_models,
    pair_propensities,
    pmse,
    sd_of_mean,
    specks,
    stack_sets,
    tree_propensities,
)
from understudy.evaluation.utility.indicator_designs import main_design
from understudy.evaluation.utility.marginal_distances import Distances, marginal_distances
from understudy.evaluation.utility.sparse_logistic import Logistic

Curves = dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]
Tell = Callable[[int, int], None]

GRID = 101


def propensity_scores(
    comparison: Comparison, tell: Tell | None = None
) -> tuple[tuple[Score, ...], Curves]:
    """PMSE and SPECKS by three models, and the distributions of their propensities.

    Args:
        comparison: original and sets.
        tell: called with how many of how many models are done.
    """
    stacks, note = stack_sets(comparison)
    scores: list[Score] = []
    specks_scores: list[Score] = []
    curves: Curves = {}
    for done, fitted in enumerate(fit_models(comparison, stacks), start=1):
        scores.append(_pmse_score(fitted, stacks, note))
        specks_scores.append(_specks_score(fitted, stacks, note))
        curves[fitted.name] = _curves(fitted.propensities, stacks)
        if tell:
            tell(done, 3)
    return (*scores, *specks_scores), curves


def quick_scores(comparison: Comparison) -> dict[Definition, float]:
    """SPECKS by main effects and by a tree, and pMSE / fresh; means over the sets, without nulls.

    Args:
        comparison: original and sets; pMSE / fresh is NaN where there is nothing to fit.
    """
    names = ("SPECKS, logistic, main effects", "SPECKS, CART", "pMSE / fresh")
    found = []
    for stack in stack_sets(comparison)[0]:
        propensity, rank = _main_effects(comparison, stack)
        features = np.stack(stack.rows, axis=1).astype(np.float32)
        tree = tree_propensities(features, stack.synthetic, comparison.seed)
        expected = stack.simulated_null(rank).mean
        ratio = pmse(propensity, stack.share) / expected if rank > 1 else float("nan")
        found.append((specks(propensity, stack.synthetic), specks(tree, stack.synthetic), ratio))
    means = np.mean(found, axis=0).tolist()
    return {DEFINITIONS[name]: mean for name, mean in zip(names, means, strict=True)}


def _main_effects(comparison: Comparison, stack: Stack) -> tuple[Floats, int]:
    """Propensities by main effects, shape (N,), and the parameters of the model."""
    model = Logistic(main_design(stack.rows, comparison.columns))
    return model.fit(stack.synthetic), model.rank


def logistic_ratio(comparison: Comparison) -> float | None:
    """Mean over the sets of pMSE by main effects over its null; None if there is nothing to fit."""
    ratios = []
    for stack in stack_sets(comparison)[0]:
        propensity, rank = _main_effects(comparison, stack)
        if rank < 2:
            return None
        ratios.append(pmse(propensity, stack.share) / stack.simulated_null(rank).mean)
    return float(np.mean(ratios))


def pair_specks(comparison: Comparison) -> list[float]:
    """SPECKS by logistic regression with pairs for each set, without a null.

    Of the three models it is the one to take alone: main effects do not see lost associations, and
    a greedy tree finds them by chance where the margins are right.
    """
    stacks = stack_sets(comparison)[0]
    return [specks(pair_propensities(comparison, stack), stack.synthetic) for stack in stacks]


def _pmse_score(fitted: Fitted, stacks: list[Stack], thinned: str) -> Score:
    values = [pmse(p, s.share) for p, s in zip(fitted.propensities, stacks, strict=True)]
    null = fitted.null_pmse or _permutation_null(fitted.permuted[:, 0])
    source = "" if fitted.null_pmse else _source(fitted)
    notes = [fitted.note, source, thinned]
    return _score(DEFINITIONS[f"pMSE, {fitted.name}"], values, null, stacks, notes)


def _specks_score(fitted: Fitted, stacks: list[Stack], thinned: str) -> Score:
    values = [specks(p, s.synthetic) for p, s in zip(fitted.propensities, stacks, strict=True)]
    null = _permutation_null(fitted.permuted[:, 1])
    notes = [_source(fitted), thinned]
    return _score(DEFINITIONS[f"SPECKS, {fitted.name}"], values, null, stacks, notes)


def _score(
    definition: Definition, values: list[float], null: Null, stacks: list[Stack], notes: list[str]
) -> Score:
    sd = sd_of_mean(null.sd, stacks[0].share, len(stacks))
    note = "; ".join(part for part in notes if part)
    return Score.over_sets(definition, values, null=null.mean, null_sd=sd, note=note)


def _permutation_null(values: Floats) -> Null:
    return Null(float(values.mean()), float(values.std(ddof=1)))


def _source(fitted: Fitted) -> str:
    return f"null from {len(fitted.permuted)} permutations"


def _curves(
    propensities: list[Floats], stacks: list[Stack]
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """A grid, and the distribution functions of original and synthetic rows, mean over the sets."""
    low = min(float(p.min()) for p in propensities)
    high = max(float(p.max()) for p in propensities)
    grid = np.linspace(low, high, GRID)
    groups = []
    for synthetic in (False, True):
        distributions = [
            np.searchsorted(np.sort(p[s.synthetic == synthetic]), grid, side="right")
            / (s.synthetic == synthetic).sum()
            for p, s in zip(propensities, stacks, strict=True)
        ]
        groups.append(tuple(np.mean(distributions, axis=0).tolist()))
    return tuple(grid.tolist()), groups[0], groups[1]


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
        {
            definition.name + _DETAILS.get(definition, ""): score
            for definition, score in scores.items()
        },
        tuple(scores),
    )


def _scores(part: Comparison, column: int) -> dict[Definition, float]:
    scores = {}
    for order in (1, 2):
        distances = marginal_distances(part, order)
        kept = [k for k, columns in enumerate(distances.marginals) if column not in columns]
        if kept:
            name = f"total variation, {order}-way, other columns"
            scores[DEFINITIONS[name]] = float(distances.means[kept].mean())
            scores[DEFINITIONS[f"{name} / fresh"]] = _ratio(distances, kept)
    ratio = logistic_ratio(part)
    if ratio is not None:
        scores[_RATIO] = ratio
    return scores


def _ratio(distances: Distances, kept: list[int]) -> float:
    null = float(distances.nulls[kept].mean())
    return float(distances.means[kept].mean()) / null if null else 1.0
