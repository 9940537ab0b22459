"""The other methods of the paper's comparison, by the kernels that releases use.

All of them need bounds. These lie B standard deviations from the middle, by the true deviations,
which are taken as public; records beyond them are clipped first.

* **Noisy Bayes** (Bowen & Liu): sums and scatters with Laplace noise, then parameters from their
  posterior and records from the normal distribution (`understudy.models.bayesian.general_location`
  with one cell), m sets at ε/m, five statistics with an equal share each.
* **Smoothed histogram** (Wasserman & Zhou): records from an urn
  (`understudy.privacy.mechanisms.records.urn`); bins by Scott's rule with the public deviations.
* **Without privacy**: the same Bayesian model with exact statistics.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.families.bin_rules import scott_bins
from understudy.models.bayesian.general_location import Mixture, Statistics
from understudy.privacy.mechanisms.records.urn import draw_urn, prior_weight
from understudy.privacy.mechanisms.sums.moment_noise import MomentNoise, moment_noises
from understudy.privacy.noise.perturbation import perturb
from understudy.privacy.noise.randomness import Randomness
from understudy_studies.snoke_slavkovic_2018.candidates import SPREADS, schema_of
from understudy_studies.snoke_slavkovic_2018.population import N_ROWS

WIDE = 1e3
"""Bounds that no record comes near, in standard deviations: none at all, where none are needed."""


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
    return _drawn(
        np.repeat(sums[:, None], sets, axis=1), np.repeat(scatter[:, None], sets, axis=1), WIDE, rng
    )


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
    steps = planned(reach, Fraction(epsilon) / sets)
    first, second, xx, xy, yy = (
        perturb(np.repeat(one[:, None], sets, axis=1), step.distribution, randomness)
        for one, step in zip(exact, steps, strict=True)
    )
    noisy = np.stack([xx, xy, xy, yy], axis=-1).reshape(*xx.shape, 2, 2)
    return _drawn(np.stack([first, second], axis=-1), noisy, reach, rng)


@cache
def planned(reach: float, share: Fraction) -> tuple[MomentNoise, ...]:
    """The five statistics of a set with their noise: sums, then scatters, in this order."""
    found = moment_noises(schema_of(reach, 1), ("x1", "x2"), (), spend=share, mode="paper")
    return tuple(found)


def smoothed_histogram(
    tables: Floats,
    reach: float,
    prior: Fraction,
    rng: np.random.Generator,
    randomness: Randomness,
) -> Floats:
    """The only set: (R, n, 2) → (R, 1, n, 2).

    Args:
        tables: confidential records.
        reach: of the bounds, in standard deviations.
        prior: weight of each bin, in records (`prior_of`).
        rng: for post-processing.
        randomness: for privacy noise.
    """
    sides = bins_of(reach)
    n_bins, low = int(sides.prod()), bounds_of(reach)[:, 0]
    width = -2 * low / sides
    places = np.minimum(((clipped(tables, reach) - low) / width).astype(np.int64), sides - 1)
    flat = places[..., 0] * sides[1] + places[..., 1]
    flat += np.arange(len(tables))[:, None] * n_bins
    counts = np.bincount(flat.ravel(), minlength=len(tables) * n_bins).reshape(-1, n_bins)
    drawn = draw_urn(counts, n_bins, prior, N_ROWS, reinforced=False, randomness=randomness)
    states = np.where(drawn < 0, ~drawn, drawn)
    corner = np.stack(np.divmod(states, sides[1]), axis=-1)
    records: Floats = low + (corner + rng.random(corner.shape)) * width
    return records[:, None]


def bins_of(reach: float) -> Integers:
    """Bins of both columns by Scott's rule, shape (2,)."""
    return np.asarray(scott_bins(2 * reach * SPREADS, SPREADS, N_ROWS, 2))


def prior_of(epsilon: float, *, per_record: bool) -> Fraction:
    """Weight of each bin: for n records at ε together, or (no guarantee for the set) at ε each."""
    return prior_weight(1 if per_record else N_ROWS, Fraction(epsilon), reinforced=False)


def _statistics(tables: Floats) -> tuple[Floats, Floats]:
    """Sums of both columns, shape (R, 2), and their scatter, shape (R, 2, 2)."""
    sums = tables.sum(axis=-2)
    residuals = tables - sums[:, None] / tables.shape[-2]
    return sums, np.einsum("rij,rik->rjk", residuals, residuals)


def _drawn(sums: Floats, scatter: Floats, reach: float, rng: np.random.Generator) -> Floats:
    """Sets from the model given statistics, of shape (R, m, …)."""
    one_cell = np.ones((1, 2), dtype=np.bool_), np.ones(1, dtype=np.bool_)
    model = Mixture(bounds_of(reach), *one_cell)
    counts = np.full((*sums.shape[:-1], 1), float(N_ROWS))
    statistics = Statistics(counts, sums[..., None, :], scatter, float(N_ROWS), exact=True)
    return model.predict(model.posterior(statistics, rng), N_ROWS, rng).values
