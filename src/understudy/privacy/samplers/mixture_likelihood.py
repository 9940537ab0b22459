"""Log-likelihoods of each record under many draws of a mixture of regressions. CONFIDENTIAL.

Two matrices, draws by records, in chunks of draws, so that the memory is bounded:

* `log_likelihoods`: log f(y_i | θ), f = Σ_k π_k N_k, from which weights and sensitivities follow;
* `log_contributions`: log Σ_k (π_k N_k)^α_i, what a record of weight α_i adds to the logarithm of
  the target of `mixture_gibbs`. With u_k = π_k N_k, and as the power mean rises
  with its exponent,

      α·log f  ≤  log Σ_k u_k^α  ≤  α·log f + (1 - α)·log K.

  At α = 1 it is log f; at α = 0 it is log K, whatever θ. What does not depend on θ, like
  (1 - α)·log K, moves no posterior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from understudy.privacy.samplers.mixture_kernels import Floats, log_power_sums
from understudy.privacy.samplers.mixture_prior import Mixtures

CHUNK: Final = 1 << 21
"""Numbers in a chunk, at most (16 MiB); never less than one draw."""


def densities(mixtures: Mixtures) -> tuple[Floats, Floats]:
    """What log(π_k N_k) = offset - half·(y - x'β_k)² is made of, both of shape (..., K)."""
    variances = mixtures.variances
    offsets = mixtures.log_shares - 0.5 * np.log(2.0 * math.pi * variances)
    return np.asarray(offsets), 0.5 / variances


def log_likelihoods(
    draws: Mixtures, responses: Floats, design: Floats, *, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Log f(y_i | θ_s), the density of the mixture.

    Args:
        draws: leading axis (S,).
        responses: y, shape (n,).
        design: x, shape (n, p).
        chunk: numbers in a chunk, at most; never less than one draw.

    Returns:
        Chunks of shape (draws in it, n), together (S, n).
    """
    return log_contributions(draws, responses, design, np.ones(len(responses)), chunk=chunk)


def log_contributions(
    draws: Mixtures, responses: Floats, design: Floats, weights: Floats, *, chunk: int = CHUNK
) -> Iterator[Floats]:
    """Log Σ_k (π_k N_k)^α_i, what each record adds to the log of the weighted target.

    Args:
        draws: leading axis (S,).
        responses: y, shape (n,).
        design: x, shape (n, p).
        weights: α, shape (n,).
        chunk: numbers in a chunk, at most; never less than one draw.

    Returns:
        Chunks of shape (draws in it, n), together (S, n).
    """
    offsets, halves = densities(draws)
    n_draws, n = len(offsets), len(responses)
    records = np.ascontiguousarray(responses), np.ascontiguousarray(weights)
    step = max(1, chunk // max(n, 1))
    for first in range(0, n_draws, step):
        last = min(first + step, n_draws)
        found = np.empty((last - first, n))
        for s in range(first, last):
            fitted = design @ draws.coefficients[s].T
            law = offsets[s], halves[s]
            log_power_sums(fitted, records, law, found[s - first])
        yield found
