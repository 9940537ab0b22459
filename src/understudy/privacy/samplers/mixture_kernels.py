"""The compiled loops over records of the mixture of regressions; distributions in `mixture_gibbs`.

Every kernel takes C chains, along the first axis.

**Log-likelihoods** of each record under many draws are CONFIDENTIAL. They are two matrices, draws
by records, in chunks of draws, so that the memory is bounded:

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
from numpy.typing import NDArray

from understudy.privacy.noise.rejection_sampling import compiled
from understudy.privacy.samplers.mixture_prior import Mixtures

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def _weighted_logs(
    fitted: Floats, record: tuple[float, float], offsets: Floats, halves: Floats, logs: Floats
) -> float:
    """Write α·log(π_k N_k) of one record for each k, and return the largest (kernel)."""
    response, weight = record
    largest = -np.inf
    for k in range(logs.size):
        distance = response - fitted[k]
        logs[k] = weight * (offsets[k] - halves[k] * distance * distance)
        largest = max(largest, logs[k])
    return largest


@compiled
def drawn_labels(
    fitted: Floats,
    records: tuple[Floats, Floats],
    density: tuple[Floats, Floats],
    uniforms: Floats,
) -> Integers:
    """A component for each record, with probability ∝ (π_k N_k)^α (kernel).

    Args:
        fitted: x'β_k, shape (C, n, K).
        records: y and α, both of shape (C, n).
        density: log π_k - log(2πσ_k²)/2 and 1/(2σ_k²), both of shape (C, K).
        uniforms: in (0, 1), shape (C, n).
    """
    responses, weights = records
    offsets, halves = density
    chains, n, components = fitted.shape
    labels = np.empty((chains, n), dtype=np.int64)
    parts = np.empty(components)
    for c in range(chains):
        for i in range(n):
            record = (responses[c, i], weights[c, i])
            largest = _weighted_logs(fitted[c, i], record, offsets[c], halves[c], parts)
            total = 0.0
            for k in range(components):
                total += math.exp(parts[k] - largest)
                parts[k] = total
            at, place = 0, uniforms[c, i] * total
            while at < components - 1 and parts[at] <= place:
                at += 1
            labels[c, i] = at
    return labels


@compiled
def cluster_sums(
    design: Floats, responses: Floats, weights: Floats, labels: Integers, components: int
) -> tuple[Floats, Floats, Floats]:
    """Weighted sums over the records of each component: Σα, Σα·xx' and Σα·xy (kernel).

    Args:
        design: x, shape (n, p).
        responses: y, shape (C, n).
        weights: α, shape (C, n).
        labels: shape (C, n).
        components: K.

    Returns:
        Shapes (C, K), (C, K, p, p) and (C, K, p).
    """
    chains, n = responses.shape
    p = design.shape[1]
    totals = np.zeros((chains, components))
    squares = np.zeros((chains, components, p, p))
    products = np.zeros((chains, components, p))
    for c in range(chains):
        for i in range(n):
            k, weight = labels[c, i], weights[c, i]
            totals[c, k] += weight
            for j in range(p):
                part = weight * design[i, j]
                products[c, k, j] += part * responses[c, i]
                for m in range(j + 1):
                    squares[c, k, j, m] += part * design[i, m]
        for k in range(components):
            for j in range(p):
                for m in range(j):
                    squares[c, k, m, j] = squares[c, k, j, m]
    return totals, squares, products


@compiled
def cluster_residuals(
    design: Floats,
    responses: Floats,
    weights: Floats,
    labels: Integers,
    coefficients: Floats,
) -> Floats:
    """Σα(y - x'β_k)² over the records of each component, shape (C, K) (kernel).

    Args as in `cluster_sums`, and β of shape (C, K, p).
    """
    chains, n = responses.shape
    sums = np.zeros(coefficients.shape[:2])
    for c in range(chains):
        for i in range(n):
            k, distance = labels[c, i], responses[c, i]
            for j in range(design.shape[1]):
                distance -= design[i, j] * coefficients[c, k, j]
            sums[c, k] += weights[c, i] * distance * distance
    return sums


@compiled
def log_power_sums(
    fitted: Floats,
    records: tuple[Floats, Floats],
    density: tuple[Floats, Floats],
    sums: Floats,
) -> None:
    """Write log Σ_k (π_k N_k)^α of each record into `sums`, shape (n,) (kernel).

    Args as in `drawn_labels`, of one chain: without the first axis.
    """
    responses, weights = records
    offsets, halves = density
    n, components = fitted.shape
    parts = np.empty(components)
    for i in range(n):
        largest = _weighted_logs(fitted[i], (responses[i], weights[i]), offsets, halves, parts)
        total = 0.0
        for k in range(components):
            total += math.exp(parts[k] - largest)
        sums[i] = largest + math.log(total)


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
        sums = np.empty((last - first, n))
        for s in range(first, last):
            fitted = design @ draws.coefficients[s].T
            density = offsets[s], halves[s]
            log_power_sums(fitted, records, density, sums[s - first])
        yield sums
