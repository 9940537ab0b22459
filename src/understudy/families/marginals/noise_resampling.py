"""Measured tables drawn anew: the truth that noisy counts leave possible.

A released count is y = t + e with noise e of a known, symmetric law. Under a flat prior for the
true count t its posterior is y plus noise of that law. So a table that is drawn anew is the noisy
one with fresh noise of the same law; what is computed from it varies around what was released as
that varies around the truth. Where the law is discrete Laplace, discrete Gaussian, or Laplace on a
fine lattice, the continuous law of the same deviation stands for it: nothing here has to be
private, for it is post-processing of what was released.

What this leaves out: a flat prior knows neither that counts are whole numbers of at least 0 nor
that tables agree (the model that is fitted afterwards sees to that, and is a little further from
sparse tables than the released fit, having twice the noise to get rid of); which tables were
measured, and which states merged, stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.families.marginals.noisy_marginal import Noted
from understudy.privacy.released import Noise
from understudy.schema import Schema


def fresh(schema: Schema, noted: Noted, rng: np.random.Generator) -> Noted:
    """A measured table with fresh noise on top; structural zeros stay 0.

    Args:
        schema: in which it was measured, states not merged.
        noted: the released table and its noise.
        rng: randomness.
    """
    table = noted.table
    binned = schema.with_bins(table.bins) if table.bins else schema
    coarse = binned.with_groups(table.groups) if table.groups else binned
    allowed = coarse.table(table.columns).allowed_mask().reshape(table.counts.shape)
    drawn = np.where(allowed, noise_of(noted.noise, table.counts.shape, rng), 0.0)
    outside = float(table.outside) + float(noise_of(noted.noise, (), rng))
    return Noted(replace(table, counts=table.counts + drawn, outside=outside), noted.noise)


def noise_of(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise of the deviation of a released number, Gaussian or Laplace as that was.

    Args:
        noise: what was added.
        shape: of the result.
        rng: randomness.
    """
    if "gaussian" in noise.law:
        return np.asarray(rng.normal(0.0, noise.stddev, shape))
    return np.asarray(rng.laplace(0.0, noise.stddev / np.sqrt(2), shape))
