"""How parameters are chosen: the exponential mechanism over public candidates, many times.

The score is q(θ) = min SSE over a class of trees that is fixed beforehand, of sensitivity n/(n + 1)
for a replaced record. Draws are by Gumbel-max, which has the distribution of
`understudy.mechanisms.selection` but for its rounding.

* **One grid**: a candidate of the prior, with all of ε.
* **Rounds**: equal shares of ε; each further round lays points around the last choice, in a space
  that is narrower by a public factor (`Prior.around`).
* **By column**, as the method `pmse` does unless told otherwise: the distribution of x₁ is chosen
  by what trees see of x₁ alone, at ε/2; then that of x₂ given x₁ by trees over both, at ε/2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.mechanisms.selection import rate_of
from understudy.papers.trees_greedy import sensitivity
from understudy_studies.framework.random_streams import Streams
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.candidates import (
    DEPTH_1,
    DEPTH_2,
    FIRST_COLUMN,
    GENERATOR,
    PARTITIONS,
    PRIOR,
    cells,
    counted,
    counts_of,
    points,
    trees_of,
)
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS

ROUNDS = 3
SHRINK = 0.4
"""By which factor the space narrows from round to round."""
FINER = 256
"""Candidates of each further round."""
CONDITIONAL = 512
"""Candidates for x₂ given x₁."""

ONE_GRID = {methods.GRID_1: DEPTH_1, methods.GRID_2: DEPTH_2, methods.GRID_FIXED: PARTITIONS}
"""Methods on one grid, and their trees."""

_FIRST = GENERATOR.parts[0]


def rate(epsilon: float, shares: int = 1) -> float:
    """The exponent per unit of q, for a share of ε and classes of trees that are fixed."""
    share = Fraction(epsilon) / shares
    return float(rate_of(share, sensitivity(N_ROWS), monotone=False))


def chosen(weights: Floats, rng: np.random.Generator) -> Integers:
    """Places drawn with P(k) ∝ exp(weight): (..., G) → (...)."""
    return np.asarray((weights + rng.gumbel(size=weights.shape)).argmax(axis=-1))


def scores(tables: Floats, name: str) -> Floats:
    """The score q of every candidate of the prior for every table: (R, n, 2) → (R, G)."""
    trees = trees_of(name)
    original = trees.counts(cells(tables))
    return np.stack([trees.smallest_sses_of(counts, counted(name)) for counts in original])


def proven(
    tables: Floats, epsilons: Sequence[float], streams: Streams
) -> Iterator[tuple[str, Floats, np.random.Generator]]:
    """The strict searches that are cheap: method, θ of shape (R, budgets, 5), and its generator.

    Args:
        tables: confidential records, shape (R, n, 2).
        epsilons: budgets.
        streams: of the chunk; what follows a search goes on with its generator.
    """
    for method, trees in ONE_GRID.items():
        rng = streams.generator(method)
        yield method, on_one_grid(scores(tables, trees), epsilons, rng), rng
    rng = streams.generator(methods.COLUMNS)
    yield methods.COLUMNS, by_column(tables, epsilons, rng), rng


def on_one_grid(q: Floats, epsilons: Sequence[float], rng: np.random.Generator) -> Floats:
    """θ for every table and budget: scores of shape (R, G) → (R, budgets, 5)."""
    found = [points()[chosen(rate(epsilon) * q, rng)] for epsilon in epsilons]
    return np.stack(found, axis=1)


def in_rounds(
    tables: Floats, q: Floats, epsilons: Sequence[float], rng: np.random.Generator
) -> Floats:
    """The same in rounds, by trees of depth 2; q has the scores of the first round."""
    trees = trees_of(DEPTH_2)
    found = np.empty((len(tables), len(epsilons), len(PRIOR.names)))
    originals = trees.counts(cells(tables))
    for j, epsilon in enumerate(epsilons):
        each = rate(epsilon, ROUNDS)
        for i, k in enumerate(chosen(each * q, rng)):
            theta = points()[k]
            for narrower in range(1, ROUNDS):
                finer = around(theta, SHRINK**narrower)
                sses = trees.smallest_sses_of(originals[i], counts_of(DEPTH_2, finer))
                theta = finer[chosen(each * sses, rng)]
            found[i, j] = theta
    return found


def around(centre: Floats, shrink: float) -> Floats:
    """`PRIOR.around(centre, shrink).points(FINER)`, without laying the points again."""
    return np.asarray(centre + shrink * (points()[:FINER] - PRIOR.means))


def by_column(tables: Floats, epsilons: Sequence[float], rng: np.random.Generator) -> Floats:
    """θ for every table and budget, column by column, by trees of depth 2: (R, budgets, 5)."""
    alone, both = trees_of(FIRST_COLUMN), trees_of(DEPTH_2)
    first = counted(FIRST_COLUMN)
    codes = cells(tables)
    found = np.empty((len(tables), len(epsilons), len(PRIOR.names)))
    for i, (column, pair) in enumerate(
        zip(alone.counts(codes[..., :1]), both.counts(codes), strict=True)
    ):
        q = alone.smallest_sses_of(column, first)
        for j, epsilon in enumerate(epsilons):
            each = rate(epsilon, 2)
            theta = points()[:CONDITIONAL].copy()
            theta[:, _FIRST] = points()[chosen(each * q, rng), _FIRST]
            sses = both.smallest_sses_of(pair, counts_of(DEPTH_2, theta))
            found[i, j] = theta[chosen(each * sses, rng)]
    return found
