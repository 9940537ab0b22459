"""Public candidates of the pMSE mechanism, and the simulated sets that stand for them.

Everything here is known before a confidential record is drawn, and is the same for all repetitions,
budgets and classes of trees: candidates θ_k are points of the generator's prior, their sets are
Z_k = G(θ_k, ω) with one fixed ω, and the counts by which trees see a set are made once per process.

ω is laid evenly (a Sobol sequence through the normal quantiles) rather than drawn: the luck of one
ω, shared by all repetitions, would be a bias that no Monte Carlo error shows.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats
from understudy.papers.generators import Prior, SequentialGenerator, normal_regressions
from understudy.papers.trees_exact import Grid, GridDepthTwo
from understudy.papers.trees_greedy import CountedTreeClass, Partitions, random_partitions
from understudy.schema import Schema
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS, Parameters, Regressions

Counts = NDArray[np.int32]

TRUTH = Parameters()
"""The distribution of the confidential records."""
SPREADS = np.array([TRUTH.stddev, math.hypot(TRUTH.slope * TRUTH.stddev, TRUTH.residual)])
"""True standard deviations of both columns, taken as public."""
REACH = 5.0
"""Where the generator's bounds lie, in standard deviations from 0."""
HALVES = REACH * SPREADS
"""Half widths: the bounds of column j are ∓HALVES[j]."""
CELLS = 32
"""Equal cells of a column between its bounds, which trees may split at."""
CANDIDATES = 1024
"""G, of a first round."""
FIXED_TREES, FIXED_DEPTH = 64, 6
"""Public random partitions: how many, and how deep."""

DEPTH_1, DEPTH_2, PARTITIONS, FIRST_COLUMN = "depth 1", "depth 2", "partitions", "x1 alone"
_PIECES = 16


def schema_of(reach: float, bins: int, n_rows: int = N_ROWS) -> Schema:
    """Both columns with public bounds, so many true standard deviations from 0."""
    columns = (
        f'[columns.x{j}]\nkind = "continuous"\nlower = {-half!r}\nupper = {half!r}\n'
        f"bins = {bins}\nreviewed = true\n"
        for j, half in enumerate((reach * SPREADS).tolist(), start=1)
    )
    return Schema.loads(f'rows = "public"\nn_rows = {n_rows}\n' + "".join(columns))


GENERATOR: SequentialGenerator = normal_regressions(
    schema_of(REACH, CELLS), (("x1", ()), ("x2", ("x1",)))
)
"""The paper's: normal, then a normal regression on it; with the package's proper priors."""
PRIOR: Prior = GENERATOR.prior
"""Of μ₁, log σ₁, β₀, β₁, log σ₂, in units in which the bounds are −1 and 1."""


def regressions_of(theta: Floats) -> Regressions:
    """Parameters in the units of the columns.

    Args:
        theta: in the units of the generator, shape (..., 5).
    """
    mean, log_stddev, intercept, slope, log_residual = np.moveaxis(theta, -1, 0)
    first, second = HALVES
    return Regressions(
        mean=first * mean,
        stddev=first * np.exp(log_stddev),
        intercept=second * intercept,
        slope=slope * (second / first),
        residual=second * np.exp(log_residual),
    )


def theta_of(regressions: Regressions) -> Floats:
    """Parameters in the units of the generator, shape (..., 5)."""
    first, second = HALVES
    return np.stack(
        [
            regressions.mean / first,
            np.log(regressions.stddev / first),
            regressions.intercept / second,
            regressions.slope * (first / second),
            np.log(regressions.residual / second),
        ],
        axis=-1,
    )


@cache
def omega(n_rows: int = N_ROWS) -> Floats:
    """ω as standard normal numbers of both columns, shape (n, 2)."""
    even = Prior(("x1", "x2"), np.zeros(2), np.ones(2))
    return np.asarray(even.points(n_rows + 1)[1:])


def simulated(theta: Floats, n_rows: int = N_ROWS, *, bounded: bool = False) -> Floats:
    """The sets G(θ, ω): (..., 5) → (..., n, 2).

    Args:
        theta: in the units of the generator.
        n_rows: n.
        bounded: whether numbers are kept within the bounds, as `GENERATOR` does; the paper has
            none.
    """
    return sets_of(theta, omega(n_rows), bounded=bounded)


def generated(
    theta: Floats, rng: np.random.Generator, n_rows: int = N_ROWS, *, bounded: bool
) -> Floats:
    """New sets from the generator, of the same shape; arguments as for `simulated`."""
    normal = rng.standard_normal((*theta.shape[:-1], n_rows, 2))
    return sets_of(theta, normal, bounded=bounded)


def sets_of(theta: Floats, normal: Floats, *, bounded: bool) -> Floats:
    """Records from standard normal numbers that broadcast to (..., n, 2); the rest as above."""
    mean, stddev, intercept, slope, residual = (
        parameter[..., None] for parameter in regressions_of(theta)
    )
    found = np.empty((*theta.shape[:-1], normal.shape[-2], 2))
    first, second = found[..., 0], found[..., 1]
    first[...] = mean + stddev * normal[..., 0]
    if bounded:
        np.clip(first, -HALVES[0], HALVES[0], out=first)
    second[...] = intercept + slope * first + residual * normal[..., 1]
    if bounded:
        np.clip(second, -HALVES[1], HALVES[1], out=second)
    return found


def cells(tables: Floats) -> NDArray[np.int32]:
    """Cells of records, those beyond the bounds in the outer ones, shape (..., n, 2)."""
    places = tables * (CELLS / (2 * HALVES))
    places += CELLS / 2
    return np.clip(places, 0, CELLS - 1, out=places).astype(np.int32)


@cache
def trees_of(name: str) -> CountedTreeClass:
    """A class of trees over cells, fixed before the data.

    `DEPTH_1` asks for either column at any edge of a cell; as a list of partitions its counts are
    those of both sides of each edge.
    """
    if name == DEPTH_2:
        return GridDepthTwo(Grid((CELLS, CELLS)))
    if name == FIRST_COLUMN:
        return GridDepthTwo(Grid((CELLS,)))
    if name == PARTITIONS:
        ends = [0.0] * 2, [CELLS - 1.0] * 2
        return random_partitions(*ends, depth=FIXED_DEPTH, trees=FIXED_TREES, seed=0)
    edges = np.arange(CELLS - 1, dtype=np.float64)
    columns = np.repeat(np.arange(2, dtype=np.int32), len(edges))[:, None]
    return Partitions(columns, np.tile(edges, 2)[:, None], np.zeros(2, dtype=np.bool_))


@cache
def points(size: int = CANDIDATES) -> Floats:
    """Points of the prior, the same for every use, shape (G, 5)."""
    return PRIOR.points(size)


def counts_of(name: str, theta: Floats) -> Counts:
    """What a class of trees sees of the sets of parameters: (G, 5) → (G, K)."""
    trees, width = trees_of(name), 1 if name == FIRST_COLUMN else 2
    pieces = np.array_split(theta, min(_PIECES, max(1, len(theta))))
    return np.concatenate(
        [trees.counts(cells(simulated(piece, bounded=True))[..., :width]) for piece in pieces]
    )


@cache
def counted(name: str) -> Counts:
    """The counts of all candidates of a first round, shape (G, K)."""
    return counts_of(name, points())
