"""PMSE and SPECKS of given propensities, and what they are when there is nothing to tell.

Original (n) and synthetic rows (ñ) are stacked, N = n + ñ, c = ñ/N; p̂ is an estimated probability
that a row is synthetic.

* pMSE = (1/N) Σ (p̂ - c)²: 0 if nothing tells them apart, c(1 - c) if everything does.
* SPECKS: Kolmogorov-Smirnov distance of the laws of p̂ in the original and in the synthetic rows.

**Which null.** A flexible model tells any two samples apart to some degree. The null used here is
that original and synthetic rows are *two independent samples of one population*, for three reasons:
it answers what a reader asks (is this as good as a fresh sample?), permuted labels follow it
exactly, so that all models share it, and sets made through noise are not draws from the original
rows. With k parameters, the intercept included, and large samples:

* two independent samples: mean (k - 1)c(1 - c)/N, sd √(2(k - 1))·c(1 - c)/N;
* sets drawn from a correct model that was fitted to the original without noise (Snoke et al. 2018,
  section 3; the default of synthpop): 1 - c times as much. A bootstrap copy of the original has it.

The mean over m sets varies less than one set, but the sets share the original. Distances of p̂ in
two sets are correlated by c, their squares by c²: the sd of the mean is √((1 + (m - 1)c²)/m) times
that of one set. For large samples this is exact in logistic pMSE, and Kolmogorov-Smirnov distances
follow it within a few per cent (`tests/evaluation/utility/test_pmse_specks.py` simulates both).

Sources:
    Woo, Reiter, Oganian & Karr (2009), J. Privacy and Confidentiality 1(1); Snoke, Raab, Nowok,
    Dibben & Slavković (2018), J. Royal Statistical Society A 181, 663-688. SPECKS: Bowen, Liu & Su
    (2021), METRON 79, 1-31.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Labels = NDArray[np.bool_]


def pmse(propensity: Vector, share: float) -> float:
    """Mean squared distance of the propensities, shape (N,), from the share of synthetic rows."""
    return float(np.mean((propensity - share) ** 2))


def specks(propensity: Vector, synthetic: Labels) -> float:
    """Kolmogorov-Smirnov distance of the propensities in the two groups, both of shape (N,).

    Tied propensities are taken jointly: the laws are compared behind the last of them.
    """
    order = np.argsort(propensity, kind="stable")
    ahead = np.cumsum(synthetic[order]) / synthetic.sum()
    behind = np.cumsum(~synthetic[order]) / (~synthetic).sum()
    ordered = propensity[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(ahead - behind)[last].max())


@dataclass(frozen=True)
class Null:
    """Mean and standard deviation of a score of one set, under a hypothesis."""

    mean: float
    sd: float


def fresh_null(parameters: int, n_original: int, n_synthetic: int) -> Null:
    """Null of logistic pMSE for two independent samples of one population.

    Args:
        parameters: k, the intercept included.
        n_original: n.
        n_synthetic: ñ.
    """
    total = n_original + n_synthetic
    unit = n_synthetic / total * (n_original / total) / total
    return Null((parameters - 1) * unit, math.sqrt(2 * (parameters - 1)) * unit)


def fitted_null(parameters: int, n_original: int, n_synthetic: int) -> Null:
    """Null of logistic pMSE for sets from a model fitted to the original (Snoke et al. 2018)."""
    fresh = fresh_null(parameters, n_original, n_synthetic)
    left = n_original / (n_original + n_synthetic)
    return Null(fresh.mean * left, fresh.sd * left)


def sd_of_mean(sd: float, share: float, sets: int) -> float:
    """Standard deviation of a score's mean over sets that share the original."""
    return sd * math.sqrt((1 + (sets - 1) * share**2) / sets)
