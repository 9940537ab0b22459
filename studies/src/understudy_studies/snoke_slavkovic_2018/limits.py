"""The distributions that Metropolis walks approach, drawn from by weighted candidates.

As published, θ is a point of a continuous space, drawn by a Metropolis walk. What such a walk would
give if it were run for ever is a distribution with density ∝ π(θ)·exp(r·q(θ)). Here it is drawn
from without a walk, by importance resampling of the candidates of `proposals`: the best that a walk
can do. The effective number of candidates, (Σw)²/Σw², is reported, and a point of the paper that
rests on fewer than `LEAST_EFFECTIVE` is not judged.

**As published** the trees are greedy, the bound on the pMSE is 1/n, and the exponent is
ε·n·pMSE/2, that is ε·q/4. Greedy trees exceed the bound, so this is no valid guarantee. The pMSE of
a candidate is a mean over several sets, as in the paper (§3.1): of a single one it would be rough,
and the law would prefer whoever suits its luck.

**The published prior**, normal with the standard deviation 1,000, has proper density but next to no
mass near any data. `log_odds` compares what is left there with the mass where every tree parts
synthetic from original records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import logsumexp

from understudy._arrays import Floats
from understudy.mechanisms.selection import rate_of
from understudy_studies.measures.cart_path import GreedyFamily, by_column
from understudy_studies.snoke_slavkovic_2018.candidates import (
    DEPTH_2,
    cells,
    counts_of,
    sets_of,
    trees_of,
)
from understudy_studies.snoke_slavkovic_2018.proposals import Weighted

PUBLISHED_SENSITIVITY = Fraction(2)
"""The bound 1/n on the pMSE, in units of q = 2n(1/4 − pMSE)."""
LEAST_EFFECTIVE = 20
"""Effective candidates that a point of the paper needs in each of its cases."""


def published_rate(epsilon: float, sets: int) -> float:
    """The published exponent per unit of q, for one of m sets."""
    share = Fraction(epsilon) / sets
    return float(rate_of(share, PUBLISHED_SENSITIVITY, monotone=False))


def greedy_scores(tables: Floats, theta: Floats, trees: GreedyFamily, worlds: Floats) -> Floats:
    """2n(1/4 − pMSE) by greedy trees, for every tree, table and candidate; means over sets.

    Args:
        tables: shape (R, n, 2).
        theta: candidates, shape (G, 5).
        trees: D of them.
        worlds: standard normal numbers that sets are made of, the same for all candidates, shape
            (L, n, 2).

    Returns:
        Shape (D, R, G).
    """
    originals = [by_column(table) for table in tables]
    found = np.zeros((len(theta), len(tables), len(trees.members)))
    for k, one in enumerate(theta):
        for world in worlds:
            synthetic = by_column(sets_of(one, world, bounded=False))
            for r, original in enumerate(originals):
                found[k, r] += trees.sses_of(original, synthetic)
    return np.ascontiguousarray(np.moveaxis(found / len(worlds), (0, 2), (2, 0)))


def exact_scores(tables: Floats, theta: Floats) -> Floats:
    """The score q by trees of depth 2 on the public grid, of tables of `N_ROWS`.

    Args:
        tables: shape (R, n, 2).
        theta: candidates, shape (G, 5).

    Returns:
        Shape (R, G).
    """
    trees = trees_of(DEPTH_2)
    counts = counts_of(DEPTH_2, theta)
    return np.stack([trees.smallest_sses_of(one, counts) for one in trees.counts(cells(tables))])


@dataclass(frozen=True)
class TiltedPrior:
    """The law with density ∝ prior·exp(rate·q), for every table.

    Attributes:
        candidates: that stand for the prior.
        q: scores, shape (R, G).
        rate: of the exponent.
    """

    candidates: Weighted
    q: Floats
    rate: float

    @property
    def _weights(self) -> Floats:
        return np.asarray(self.candidates.prior + self.rate * self.q)

    def drawn(self, sets: int, rng: np.random.Generator) -> Floats:
        """θ of each set, independent draws, shape (R, m, 5)."""
        weights = self._weights
        noise = rng.gumbel(size=(len(weights), sets, weights.shape[-1]))
        return np.asarray(self.candidates.theta[(weights[:, None] + noise).argmax(axis=-1)])

    def effective(self) -> Floats:
        """The effective number of candidates for each table, shape (R,)."""
        weights = self._weights
        return np.asarray(np.exp(2 * logsumexp(weights, axis=-1) - logsumexp(2 * weights, axis=-1)))

    def log_odds(self) -> Floats:
        """log₁₀ of the mass near the data over that where all is parted (q = 0), shape (R,).

        For the published prior, which has practically all of its mass, 1, where q is 0.
        """
        tilted = self.candidates.flat + self.rate * self.q
        return np.asarray(logsumexp(tilted, axis=-1) / math.log(10))
