"""NAPSU-MQ, remade from its description: tables from a posterior that knows its noise, pooled.

Counts of marginal cells get Gaussian noise. Of the distribution of maximum entropy with these
marginals, p(x) ∝ exp(λ·a(x)), λ has a normal prior and the noisy counts a normal likelihood with
mean n E(a) and covariance n Cov(a) + σ² I, which counts sampling and noise alike. From each of many
draws of λ a table is drawn, analysed as if it were the rows, and the analyses are pooled by the
rules for fully synthetic data. Nothing here is protected code: the noise is numpy's.

The authors use NUTS; here as many chains as sets, started from the normal approximation at the
mode, walk at random with its covariance. Tables are kept as counts of all cells, so domains are
small.

Source: Räisä, Jälkö, Kaski & Honkela 2023, "Noise-aware statistical inference with differentially
private synthetic data" (AISTATS); the rules: Raghunathan, Reiter & Rubin 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Floats = NDArray[np.float64]
PRIOR = 10.0
SETS = 100
STEPS = 500
MODE_STEPS = 60


def cells_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """All cells of a table, the last column fastest.

    >>> cells_of((2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return np.stack([one.ravel() for one in np.indices(sizes)], axis=1)


def indicators(sizes: Sequence[int], marginals: Sequence[Sequence[int]]) -> Floats:
    """Indicators of cells of marginals, without those that the others and the total tell.

    Args:
        sizes: of the columns.
        marginals: columns by their places.

    Returns:
        Of shape (cells, queries).

    >>> indicators((2, 2), [(0,), (1,)]).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    cells = cells_of(sizes)
    kept = np.ones((len(cells), 1))
    for marginal in marginals:
        within = cells[:, list(marginal)]
        for levels in np.unique(within, axis=0)[::-1]:
            column = (within == levels).all(axis=1).astype(float)[:, None]
            more = np.hstack([kept, column])
            if np.linalg.matrix_rank(more) > kept.shape[1]:
                kept = more
    return kept[:, 1:]


def noise_stddev(epsilon: float, delta: float, n_marginals: int) -> float:
    """Standard deviation of the noise where one record replaces another.

    Two cells of each marginal change by 1 at most, so the L2 sensitivity is √(2 marginals); the
    exact condition is that of Balle & Wang (2018).
    """

    def excess(ratio: float) -> float:
        upper = stats.norm.cdf(ratio / 2 - epsilon / ratio)
        return upper - np.exp(epsilon) * stats.norm.cdf(-ratio / 2 - epsilon / ratio) - delta

    return float(np.sqrt(2 * n_marginals) / optimize.brentq(excess, 1e-6, 50))


@dataclass(frozen=True)
class Posterior:
    """What noisy counts say of λ.

    Attributes:
        queries: shape (cells, k).
        noisy: counts, shape (k,).
        n: records.
        stddev: of the noise.
    """

    queries: Floats
    noisy: Floats
    n: int
    stddev: float

    def shares(self, lambdas: Floats) -> Floats:
        """Of all cells, shape (chains, cells), for λ of shape (chains, k)."""
        exponent = lambdas @ self.queries.T
        shares = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def moments(self, lambdas: Floats) -> tuple[Floats, Floats]:
        """Mean (chains, k) and covariance (chains, k, k) of the queries of one record."""
        shares = self.shares(lambdas)
        mean = shares @ self.queries
        square = (self.queries.T[None] * shares[:, None, :]) @ self.queries
        return mean, square - mean[:, :, None] * mean[:, None, :]

    def log_density(self, lambdas: Floats) -> Floats:
        """Of the posterior, up to a constant; shape (chains,)."""
        mean, covariance = self.moments(lambdas)
        root = np.linalg.cholesky(self.n * covariance + self.stddev**2 * np.eye(len(self.noisy)))
        off = np.linalg.solve(root, (self.noisy - self.n * mean)[:, :, None])[:, :, 0]
        spread = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return -(off**2).sum(axis=1) / 2 - spread - (lambdas**2).sum(axis=1) / (2 * PRIOR**2)

    def normal(self) -> tuple[Floats, Floats]:
        """Mode (k,), by scoring with halved steps, and covariance (k, k) there."""
        found = np.zeros((1, len(self.noisy)))
        for _ in range(MODE_STEPS):
            mean, covariance = (one[0] for one in self.moments(found))
            slope = self.n * covariance
            weight = np.linalg.inv(slope + self.stddev**2 * np.eye(len(slope)))
            precision = slope @ weight @ slope + np.eye(len(slope)) / PRIOR**2
            uphill = slope @ weight @ (self.noisy - self.n * mean) - found[0] / PRIOR**2
            found = self._better(found, np.linalg.solve(precision, uphill))
        return found[0], np.linalg.inv(precision)

    def _better(self, found: Floats, step: Floats) -> Floats:
        tried = found + step * 0.5 ** np.arange(12)[:, None]
        heights = self.log_density(tried)
        best = int(np.argmax(heights))
        return tried[[best]] if heights[best] > self.log_density(found)[0] else found

    def draws(self, rng: np.random.Generator, chains: int = SETS, steps: int = STEPS) -> Floats:
        """The last λ of each chain, shape (chains, k)."""
        mode, covariance = self.normal()
        root = np.linalg.cholesky(covariance)
        now = mode + rng.normal(size=(chains, len(mode))) @ root.T
        height = self.log_density(now)
        for _ in range(steps):
            by = rng.normal(size=now.shape) @ root.T * 2.38 / np.sqrt(len(mode))
            risen = self.log_density(now + by)
            taken = np.log(rng.random(chains)) < risen - height
            now, height = now + by * taken[:, None], np.where(taken, risen, height)
        return now


def synthetic_counts(
    counts: NDArray[np.int64],
    sizes: Sequence[int],
    marginals: Sequence[Sequence[int]],
    budget: tuple[float, float],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Synthetic tables as large as the rows, by counts of their cells.

    Args:
        counts: of the rows, by cell.
        sizes: of the columns.
        marginals: that are measured, columns by their places.
        budget: ε and δ; an infinite ε adds hardly any noise.
        rng: for noise, draws and tables.

    Returns:
        Of shape (sets, cells).
    """
    queries, n = indicators(sizes, marginals), int(counts.sum())
    stddev = noise_stddev(*budget, len(marginals)) if np.isfinite(budget[0]) else 1e-3
    noisy = counts @ queries + rng.normal(0, stddev, queries.shape[1])
    posterior = Posterior(queries, noisy, n, stddev)
    return rng.multinomial(n, posterior.shares(posterior.draws(rng)))


def pooled(estimates: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Ends of 95 % intervals by the rules for fully synthetic data of the size of the rows.

    Where the variance would be negative, that within the sets stands in its place, as in Reiter
    (2002).

    Args:
        estimates: of each set, shape (sets, k).
        variances: of the same shape.
    """
    sets, within = len(estimates), variances.mean(axis=0)
    between = (1 + 1 / sets) * estimates.var(axis=0, ddof=1)
    total = np.where(between > within, between - within, within)
    degrees = (sets - 1) * (1 - within / between) ** 2
    half = stats.t.ppf(0.975, degrees) * np.sqrt(total)
    return estimates.mean(axis=0) - half, estimates.mean(axis=0) + half


def fit(kind: str, design: Floats, outcome: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Coefficients and their variances from counts of cells.

    Args:
        kind: "ols" (any variances) or "logit".
        design: of the cells, shape (cells, p).
        outcome: of the cells.
        counts: of records.
    """
    if kind == "ols":
        bread = np.linalg.inv(design.T @ (design * counts[:, None]))
        found = bread @ design.T @ (counts * outcome)
        off = counts * (outcome - design @ found) ** 2
        return found, np.diag(bread @ (design.T @ (design * off[:, None])) @ bread)
    found = np.zeros(design.shape[1])
    for _ in range(25):
        share = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (design * (counts * share * (1 - share))[:, None])
        found = found + np.linalg.solve(slope, design.T @ (counts * (outcome - share)))
    return found, np.diag(np.linalg.inv(slope))
