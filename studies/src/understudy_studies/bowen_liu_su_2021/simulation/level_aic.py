"""Which laws of the levels bear out what the paper says of its choice of groups.

The AIC of a column is that of Lemma 1: K probabilities that are estimated. Since
AIC ≈ (K − 1) log 2πn + Σ log p + 2K, a column of more levels has the larger AIC unless nearly all
records have one level. The other AIC is that of a model in which all levels are alike likely.

Source: Bowen, Liu & Su (2021), METRON 79, Lemma 1 and section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from understudy.papers.hierarchy_mechanisms import aic, group_scores, ordered_groups
from understudy_studies.bowen_liu_su_2021.simulation import population
from understudy_studies.bowen_liu_su_2021.simulation.population import (
    BINS,
    BOUNDS,
    MAIN,
    NAMES,
    SIZES,
    Levels,
    Scenario,
)
from understudy_studies.framework.interval_tally import Values

COLUMNS = (*NAMES, "y")
FIRST, SECOND = (0, 1, 3), (2, 4)
"""Places of the paper's groups, x1 + x2 + x4 and x3 + y."""
_DRAWS = 40
_N_ROWS = 10_000


@dataclass(frozen=True)
class LevelAic:
    """AICs of the five columns under a law of the levels, means over draws of 10,000 records.

    Attributes:
        estimated: by Lemma 1, shape (5,).
        alike: of the model in which all levels are alike likely, shape (5,).
    """

    estimated: Values
    alike: Values


@cache
def of(levels: Levels) -> LevelAic:
    """The AICs under a law, main effects.

    Args:
        levels: the law.
    """
    rng = np.random.default_rng(1)
    scenario = Scenario(MAIN, _N_ROWS, levels)
    found = []
    for _ in range(_DRAWS):
        data = population.drawn(scenario, _N_ROWS, rng)
        states = [*np.unravel_index(data.cells, SIZES), _bins(data.values)]
        sizes = (*SIZES, BINS)
        counts = [np.bincount(one, minlength=n) for one, n in zip(states, sizes, strict=True)]
        found.append([[float(aic(one)) for one in counts], [_alike(one) for one in counts]])
    return LevelAic(*np.mean(found, axis=0))


def _bins(values: Values) -> NDArray[np.int64]:
    low, high = BOUNDS[MAIN]
    return np.minimum(((values - low) / (high - low) * BINS).astype(np.int64), BINS - 1)


def _alike(counts: NDArray[np.int64]) -> float:
    """−2 log of the multinomial probability with all levels alike likely; nothing is estimated."""
    n = counts.sum()
    log = gammaln(n + 1) - gammaln(counts + 1).sum() - n * np.log(len(counts))
    return float(-2 * log)


def each_below(scores: Values) -> bool:
    """Whether x1, x2 and x4 each have a smaller AIC than x3 and y."""
    return bool(scores[list(FIRST)].max() < scores[list(SECOND)].min())


def means(scores: Values) -> tuple[float, float]:
    """Mean AICs of the paper's two groups."""
    return float(scores[list(FIRST)].mean()), float(scores[list(SECOND)].mean())


def widest(scores: Values) -> str:
    """The first of the two groups whose mean AICs are furthest apart, in words."""
    groups = ordered_groups(range(len(scores)))
    best = groups[int(np.argmax(group_scores(scores, groups)))]
    return " + ".join(COLUMNS[j] for j in best)
