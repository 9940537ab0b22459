"""The compiled loops over records of the mixture of regressions; laws in `mixture_gibbs`.

Every kernel takes C chains, along the first axis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise.rejection_sampling import compiled

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
    law: tuple[Floats, Floats],
    uniforms: Floats,
) -> Integers:
    """A component for each record, with probability ∝ (π_k N_k)^α (kernel).

    Args:
        fitted: x'β_k, shape (C, n, K).
        records: y and α, both of shape (C, n).
        law: log π_k - log(2πσ_k²)/2 and 1/(2σ_k²), both of shape (C, K).
        uniforms: in (0, 1), shape (C, n).
    """
    responses, weights = records
    offsets, halves = law
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
    law: tuple[Floats, Floats],
    sums: Floats,
) -> None:
    """Write log Σ_k (π_k N_k)^α of each record into `sums`, shape (n,) (kernel).

    Args as in `drawn_labels`, of one chain: without the first axis.
    """
    responses, weights = records
    offsets, halves = law
    n, components = fitted.shape
    parts = np.empty(components)
    for i in range(n):
        largest = _weighted_logs(fitted[i], (responses[i], weights[i]), offsets, halves, parts)
        total = 0.0
        for k in range(components):
            total += math.exp(parts[k] - largest)
        sums[i] = largest + math.log(total)
