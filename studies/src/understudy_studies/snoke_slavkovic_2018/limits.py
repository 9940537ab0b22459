"""The distributions that Metropolis walks approach, drawn from by weighted candidates.

As published, θ is a point of a continuous space, drawn by a Metropolis walk. What such a walk would
give if it were run for ever is a distribution with density ∝ π(θ)·exp(r·q(θ)). Here it is drawn
from without a walk, by importance resampling: candidates come from a mixture of the prior and of
normal distributions around the *true* parameters, each with the weight prior/mixture. That is a
device of the simulation, which nobody has who does not know the truth; it shows the best that a
walk can do. The effective number of candidates, (Σw)²/Σw², is reported.

**As published** the trees are greedy, the bound on the pMSE is 1/n, and the exponent is
ε·n·pMSE/2, that is ε·q/4. Greedy trees exceed the bound, so this is no valid guarantee.

**The published prior**, normal with the standard deviation 1,000, has proper density but next to no
mass near any data. `log_odds` compares what is left there with the mass where every tree parts
synthetic from original records.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from understudy.arrays import Floats
from understudy.decision_trees import Greedy
from understudy.functions.parameter_prior import Prior
from understudy.privacy.selection.exponential_mechanism import rate_of
from understudy_studies.measures.cart_path import GreedyFamily
from understudy_studies.snoke_slavkovic_2018.candidates import (
    DEPTH_2,
    PRIOR,
    TRUTH,
    Counts,
    cells,
    counts_of,
    simulated,
    theta_of,
    trees_of,
)
from understudy_studies.snoke_slavkovic_2018.population import Regressions

CANDIDATES = 512
SHRINKS = (0.4, 0.2, 0.1, 0.05)
"""Widths of the normal distributions around the truth, in standard deviations of the prior."""
SHARES = (0.3, 0.2, 0.2, 0.15, 0.15)
"""Of the candidates: of the prior, then of these distributions."""
FLAT = 1000.0
"""Standard deviation of the published prior, in units of the columns."""
PUBLISHED_SENSITIVITY = Fraction(2)
"""The bound 1/n on the pMSE, in units of q = 2n(1/4 − pMSE)."""
COMPLEXITY = 0.00305
"""Of greedy trees: the published value is lost; see `table_2`."""


class Weighted(NamedTuple):
    """Candidates that stand for the prior.

    Attributes:
        theta: shape (G, 5).
        prior: logarithms of the weights, that sum to about 1, shape (G,).
        flat: the same for the published prior, of which only the part near the data is covered.
    """

    theta: Floats
    prior: Floats
    flat: Floats


@cache
def weighted() -> Weighted:
    """The candidates: points of a mixture, with prior/mixture as weights."""
    truth = theta_of(Regressions.of(TRUTH))
    distributions = (PRIOR, *(PRIOR.around(truth, shrink) for shrink in SHRINKS))
    sizes = [round(share * CANDIDATES) for share in SHARES]
    theta = np.concatenate(
        [
            distribution.points(size + 1)[1:]
            for distribution, size in zip(distributions, sizes, strict=True)
        ]
    )
    parts = [
        log_density(distribution, theta) + math.log(size)
        for distribution, size in zip(distributions, sizes, strict=True)
    ]
    mixture = logsumexp(parts, axis=0)
    flat = Prior(PRIOR.names, np.zeros(5), flat_stddevs())
    return Weighted(theta, log_density(PRIOR, theta) - mixture, log_density(flat, theta) - mixture)


def flat_stddevs() -> Floats:
    """Standard deviations of the published prior in the units of the generator, shape (5,)."""
    unit = theta_of(Regressions(*[np.ones(())] * 5))
    unit[[1, 4]] = 1.0  # logarithms have no unit
    return np.asarray(FLAT * unit)


def log_density(distribution: Prior, theta: Floats) -> Floats:
    """Of a normal distribution with its constant, shape (...)."""
    constant = np.log(distribution.stddevs).sum() + len(distribution.names) / 2 * math.log(
        2 * math.pi
    )
    return np.asarray(distribution.log_density(theta) - constant)


def published_rate(epsilon: float, sets: int) -> float:
    """The published exponent per unit of q, for one of m sets."""
    share = Fraction(epsilon) / sets
    return float(rate_of(share, PUBLISHED_SENSITIVITY, monotone=False))


@cache
def greedy_trees(*depths: int | None) -> GreedyFamily:
    """Trees as published, pruned, of some depths; None for no limit."""
    return GreedyFamily(tuple(Greedy(depth=depth, complexity=COMPLEXITY) for depth in depths))


@cache
def _sets() -> Floats:
    return simulated(weighted().theta)


@cache
def _counts() -> Counts:
    return counts_of(DEPTH_2, weighted().theta)


def greedy_scores(tables: Floats, *depths: int | None) -> Floats:
    """2n(1/4 − pMSE) by greedy trees, for every depth, table and candidate.

    Args:
        tables: shape (R, n, 2).
        depths: D of them, None for no limit.

    Returns:
        Shape (D, R, G).
    """
    trees = greedy_trees(*depths)
    found = [[trees.sses(table, one) for one in _sets()] for table in tables]
    return np.ascontiguousarray(np.moveaxis(np.array(found), -1, 0))


def exact_scores(tables: Floats) -> Floats:
    """The score q by trees of depth 2 on the public grid: (R, n, 2) → (R, G)."""
    trees = trees_of(DEPTH_2)
    return np.stack(
        [trees.smallest_sses_of(counts, _counts()) for counts in trees.counts(cells(tables))]
    )


def drawn(q: Floats, exponent: float, sets: int, rng: np.random.Generator) -> Floats:
    """θ of each set, independent draws: scores of shape (R, G) → (R, m, 5)."""
    weights = weighted().prior + exponent * q
    noise = rng.gumbel(size=(len(q), sets, q.shape[-1]))
    return np.asarray(weighted().theta[(weights[:, None] + noise).argmax(axis=-1)])


def effective(q: Floats, exponent: float) -> Floats:
    """The effective number of candidates for each table, shape (R,)."""
    weights = weighted().prior + exponent * q
    return np.asarray(np.exp(2 * logsumexp(weights, axis=-1) - logsumexp(2 * weights, axis=-1)))


def log_odds(q: Floats, exponent: float) -> Floats:
    """log₁₀ of the mass near the data over that where all is parted (q = 0), shape (R,).

    The published prior has practically all of its mass, 1, where q is 0.
    """
    return np.asarray(logsumexp(weighted().flat + exponent * q, axis=-1) / math.log(10))
