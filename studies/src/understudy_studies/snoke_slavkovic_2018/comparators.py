"""The other methods of the paper's comparison, by the kernels that releases use.

All of them need bounds. These lie B standard deviations from the middle, by the true deviations,
which are taken as public; records beyond them are clipped first.

* **Noisy Bayes** (Bowen & Liu): sums and scatters with Laplace noise, then parameters from their
  posterior and records from the normal distribution (`understudy.papers.bayesian_models`
  with one cell), m sets at ε/m, five statistics with an equal share each.
* **Smoothed histogram** (Wasserman & Zhou): records from an urn
  (`understudy.mechanisms.urn`) with a weight for each bin. For n records at ε
  together it is 1/(exp(ε/n) − 1), and for ε a record 1/(exp(ε) − 1), with bins by Scott's rule and
  the public deviations. Neither gives the paper's printed values. A weight of 1/ε with 45 bins a
  side does, at all budgets (`AS_PRINTED`): fitted. There each record costs log(1 + ε), since one
  record more in a bin of weight w multiplies the probability of a draw by at most 1 + 1/w.
* **Without privacy**: the same Bayesian model with exact statistics.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from understudy._arrays import Floats, Integers
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import Randomness
from understudy.mechanisms.sums import MomentNoise, moment_noises
from understudy.mechanisms.urn import draw_urn, prior_weight
from understudy.papers.bayesian_models import LocationStatistics, Mixture
from understudy.papers.histograms import scott_bins
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.candidates import SPREADS, schema_of
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS

WIDE = 1e3
"""Bounds that no record comes near, in standard deviations: none at all, where none are needed."""
PRINTED_BINS, PRINTED_REACH = 45, 4.0
"""Bins a side within such bounds that fit the paper's table 2; elsewhere bins are as wide."""


def bounds_of(reach: float) -> Floats:
    """Bounds of both columns, shape (2, 2)."""
    return np.stack([-reach * SPREADS, reach * SPREADS], axis=1)


def clipped(tables: Floats, reach: float) -> Floats:
    """Records within bounds."""
    low, high = bounds_of(reach).T
    return np.clip(tables, low, high)


def without_privacy(tables: Floats, sets: int, rng: np.random.Generator) -> Floats:
    """Sets from the posterior predictive distribution: (R, n, 2) → (R, m, n, 2)."""
    sums, scatter = _statistics(tables)
    sums, scatter = (np.repeat(one[:, None], sets, axis=1) for one in (sums, scatter))
    return _drawn(sums, scatter, tables.shape[-2], WIDE, rng)


def noisy_bayes(
    tables: Floats,
    reach: float,
    epsilon: float,
    *,
    sets: int,
    rng: np.random.Generator,
    randomness: Randomness,
) -> Floats:
    """Sets at ε/m each: (R, n, 2) → (R, m, n, 2).

    Args:
        tables: confidential records.
        reach: of the bounds, in standard deviations.
        epsilon: budget of all sets of a repetition.
        sets: m.
        rng: for post-processing.
        randomness: for privacy noise.
    """
    sums, scatter = _statistics(clipped(tables, reach))
    exact = [sums[:, 0], sums[:, 1], scatter[:, 0, 0], scatter[:, 0, 1], scatter[:, 1, 1]]
    steps = planned(reach, Fraction(epsilon) / sets, tables.shape[-2])
    first, second, xx, xy, yy = (
        perturb(np.repeat(one[:, None], sets, axis=1), step.distribution, randomness)
        for one, step in zip(exact, steps, strict=True)
    )
    noisy = np.stack([xx, xy, xy, yy], axis=-1).reshape(*xx.shape, 2, 2)
    return _drawn(np.stack([first, second], axis=-1), noisy, tables.shape[-2], reach, rng)


@cache
def planned(reach: float, share: Fraction, n_rows: int = N_ROWS) -> tuple[MomentNoise, ...]:
    """The five statistics of a set with their noise: sums, then scatters, in this order."""
    schema = schema_of(reach, 1, n_rows)
    found = moment_noises(schema, ("x1", "x2"), (), spend=share, mode="paper")
    return tuple(found)


class Smoothing(NamedTuple):
    """How a histogram is smoothed.

    Attributes:
        sides: bins of both columns, shape (2,).
        prior: weight of each bin, in records.
    """

    sides: Integers
    prior: Fraction


def smoothing_of(method: str, reach: float, epsilon: float, n_rows: int = N_ROWS) -> Smoothing:
    """The bins and the weight of a smoothed histogram.

    Args:
        method: `methods.AS_PRINTED`, `methods.PER_RECORD` or `methods.SMOOTHED`.
        reach: of the bounds, in standard deviations.
        epsilon: budget.
        n_rows: n.
    """
    if method == methods.AS_PRINTED:
        width = 2 * PRINTED_REACH / PRINTED_BINS
        return Smoothing(np.full(2, math.ceil(2 * reach / width)), 1 / Fraction(epsilon))
    sides = np.asarray(scott_bins(2 * reach * SPREADS, SPREADS, n_rows, 2))
    records = 1 if method == methods.PER_RECORD else n_rows
    return Smoothing(sides, prior_weight(records, Fraction(epsilon), reinforced=False))


def smoothed_histogram(
    tables: Floats,
    reach: float,
    smoothing: Smoothing,
    rng: np.random.Generator,
    randomness: Randomness,
) -> Floats:
    """The only set: (R, n, 2) → (R, 1, n, 2).

    Args:
        tables: confidential records.
        reach: of the bounds, in standard deviations.
        smoothing: bins and weight.
        rng: for post-processing.
        randomness: for privacy noise.
    """
    sides = smoothing.sides
    n_bins, low = int(sides.prod()), bounds_of(reach)[:, 0]
    width = -2 * low / sides
    places = np.minimum(((clipped(tables, reach) - low) / width).astype(np.int64), sides - 1)
    flat = places[..., 0] * sides[1] + places[..., 1]
    flat += np.arange(len(tables))[:, None] * n_bins
    counts = np.bincount(flat.ravel(), minlength=len(tables) * n_bins).reshape(-1, n_bins)
    drawn = draw_urn(
        counts, n_bins, smoothing.prior, tables.shape[-2], reinforced=False, randomness=randomness
    )
    states = np.where(drawn < 0, ~drawn, drawn)
    corner = np.stack(np.divmod(states, sides[1]), axis=-1)
    records: Floats = low + (corner + rng.random(corner.shape)) * width
    return records[:, None]


def _statistics(tables: Floats) -> tuple[Floats, Floats]:
    """Sums of both columns, shape (R, 2), and their scatter, shape (R, 2, 2)."""
    sums = tables.sum(axis=-2)
    residuals = tables - sums[:, None] / tables.shape[-2]
    return sums, np.einsum("rij,rik->rjk", residuals, residuals)


def _drawn(
    sums: Floats, scatter: Floats, n_rows: int, reach: float, rng: np.random.Generator
) -> Floats:
    """Sets from the model given statistics, of shape (R, m, …)."""
    one_cell = np.ones((1, 2), dtype=np.bool_), np.ones(1, dtype=np.bool_)
    model = Mixture(bounds_of(reach), *one_cell)
    counts = np.full((*sums.shape[:-1], 1), float(n_rows))
    statistics = LocationStatistics(counts, sums[..., None, :], scatter, float(n_rows), exact=True)
    return model.predict(model.posterior(statistics, rng), n_rows, rng).values
