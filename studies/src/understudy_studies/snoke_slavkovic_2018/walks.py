"""Metropolis walks as published: from the fitted parameters, with a prior that is nearly flat.

A walk starts at the parameters fitted to the confidential records, which is a leak of its own, and
is stopped after some steps. Its steps have a standard deviation of `WIDTH` in the units of the
columns (of the logarithms for σ). The published lengths and widths are lost. Simulated sets rest on
one fixed ω; the published walk draws new ones at each step.
"""

from __future__ import annotations

import numpy as np

from understudy._arrays import Floats
from understudy.dp.randomness import Randomness
from understudy.papers.generator_scores import Walk, walk
from understudy.papers.generators import Prior
from understudy_studies.measures.cart_path import GreedyFamily, by_column
from understudy_studies.snoke_slavkovic_2018.candidates import PRIOR, simulated, theta_of
from understudy_studies.snoke_slavkovic_2018.limits import published_rate
from understudy_studies.snoke_slavkovic_2018.population import fitted
from understudy_studies.snoke_slavkovic_2018.proposals import FLAT, flat_stddevs

WIDTH = 0.1


def walked(
    table: Floats,
    trees: GreedyFamily,
    epsilon: float,
    source: Randomness,
    *,
    sets: int,
    steps: int,
) -> Floats:
    """Where one walk for one of m sets ends, shape (5,).

    Args:
        table: confidential records, shape (n, 2).
        trees: a single kind of greedy trees.
        epsilon: budget of all sets.
        source: where the randomness comes from.
        sets: m.
        steps: of the walk.
    """
    stddevs = flat_stddevs()
    prior = Prior(PRIOR.names, np.zeros(len(PRIOR.names)), stddevs)
    how = Walk(prior, theta_of(fitted(table)), stddevs * (WIDTH / FLAT), steps)
    original, exponent = by_column(table), published_rate(epsilon, sets)

    def log_weight(theta: Floats) -> float:
        synthetic = by_column(simulated(theta, len(table)))
        return exponent * float(trees.sses_of(original, synthetic)[0])

    return walk(how, log_weight, source).end
