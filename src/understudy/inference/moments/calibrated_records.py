"""Synthetic records, with weights that give them the measured second moments.

A sum over the rows of a function g of predictors is estimated from the records. With q(x) the
products of two among 1 and the terms, m(M) their measured sums, the records get the weights

    w_i = q_i' (Σ q q')⁺ m(M), so that Σ w_i q_i = m(M).                                       (1)

Then Σ w_i g(x_i) = Γ m(M), Γ the least-squares regression of g on q over the records: the
generalised regression estimator of survey sampling. What of g is a quadratic function of the terms
rests on the measured moments alone, whatever relations the records have; and so does everything
where there is one predictor of levels, or two that are 0 or 1. Only the remainder e = g − Γq rests
on the records. Noise in M goes through Γ, which is linear.

**Misfit.** If the true distribution of the predictors has the density ratio f/g to that of the
records, the error is n·E[(f/g) e], at most n·sd(e) times the part of f/g that lies in the direction
of e. How far the records are off in a direction is *measured*, in those of q: it is m(M)/n −
mean(q), in units of the spread of q, less its noise. A direction that nobody measured is taken to
be as far off as those are on average, and no less than sampling and a small effect (0.1 standard
deviations, w = 0.1 of Cohen, so 0.1²/3 in the mean square) of unknown size and sign would have it.
That is no bound: it is as much as released values can tell.

Sources: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, chapter 6, and Deville
& Särndal (1992), JASA 87, 376-382, for (1); Cohen (1988), Statistical Power Analysis, chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from understudy.arrays import Floats
from understudy.inference.moments.moment_matrix import MomentMatrix

SMALL_EFFECT: Final = 0.1
_RANK: Final = 1e-9
_MOST: Final = 20_000_000  # numbers in the products of the records' terms


@dataclass(frozen=True)
class CalibratedRecords:
    """Synthetic records with the measured second moments.

    Attributes:
        y: outcome of N records, shape (N,).
        x: their p terms, shape (N, p).
        t: r products of terms, brought to mean squares 1 and mean products 0, shape (N, r).
        weights: of the records, shape (N,).
        crossed: Σ x y, as measured, shape (p,).
        squares: Σ y², as measured.
        sums: Σ t, as measured, shape (r,).
        noise: covariance of `crossed`, `sums` and `squares` by noise, shape (p + r + 1, p + r + 1).
        n: records of the rows.
        forms: derivatives of `crossed`, `sums` and `squares` in the moments.
        matrix: the moments.
    """

    y: Floats
    x: Floats
    t: Floats
    weights: Floats
    crossed: Floats
    squares: float
    sums: Floats
    noise: Floats
    n: float
    forms: Floats
    matrix: MomentMatrix

    def regression(self, values: Floats) -> Floats:
        """Coefficients of values, shape (N, k), on the products, shape (k, r)."""
        return np.asarray(values.T @ self.t / len(self.t))

    def uncalibrated(self) -> CalibratedRecords:
        """The records as they are, each standing for as many rows; with their own sums."""
        share = self.n / len(self.x)
        return replace(
            self,
            weights=np.full(len(self.x), share),
            crossed=self.x.T @ self.y * share,
            squares=float(self.y @ self.y) * share,
            sums=self.t.sum(axis=0) * share,
        )

    @property
    def moment_noise(self) -> Floats:
        """Covariance of `sums` by noise, shape (r, r)."""
        p = len(self.crossed)
        return self.noise[p:-1, p:-1]

    def hidden(self, change: Floats) -> Floats:
        """How far combinations of `crossed`, `sums` and `squares` may be off, shape (k,).

        Args:
            change: the combinations, shape (k, p + r + 1).
        """
        return self.matrix.hidden(np.tensordot(change, self.forms, axes=1))

    def misfit(self) -> float:
        """Mean square by which the records are off in a direction, in units of its spread."""
        off = self.sums / self.n - self.t.mean(axis=0)
        noise = np.diag(self.moment_noise) / self.n**2
        sampling = 1 / self.n + 1 / len(self.t)
        weight = 1 / (noise + sampling) ** 2
        measured = float(weight @ (off**2 - noise) / weight.sum())
        return max(measured, sampling + SMALL_EFFECT**2 / 3)


def calibrated(
    matrix: MomentMatrix, design: Floats, outcome: Floats, sets: Sequence[tuple[Floats, Floats]]
) -> CalibratedRecords:
    """Calibrate the records of all sets together, evenly thinned where they are very many.

    Args:
        matrix: second moments.
        design: weights of p terms in the scores, shape (p, s + 1).
        outcome: weights of the outcome, shape (s + 1,).
        sets: outcome (n,) and design (n, p) of the complete records of each synthetic set.
    """
    y, x = np.concatenate([y for y, _ in sets]), np.concatenate([x for _, x in sets])
    p = len(design)
    step = -(-len(x) * (p + 1) * (p + 2) // (2 * _MOST))
    y, x = y[::step], x[::step]
    t, forms = _products(matrix, design, x)
    crossed, squares = np.multiply.outer(design, outcome), np.multiply.outer(outcome, outcome)
    every = np.concatenate([crossed, forms, squares[None]])
    sums = np.einsum("kij,ij->k", forms, matrix.sums)
    return CalibratedRecords(
        y=y,
        x=x,
        t=t,
        weights=t @ sums / len(t),
        crossed=design @ matrix.sums @ outcome,
        squares=float(outcome @ matrix.sums @ outcome),
        sums=sums,
        noise=matrix.noise_covariance(every),
        n=matrix.n,
        forms=every,
        matrix=matrix,
    )


def _products(matrix: MomentMatrix, design: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Products of two terms, uncorrelated over the records, and their forms in the moments."""
    whole = np.zeros((1, len(matrix.sums)))
    whole[0, 0] = 1
    values, rows = np.column_stack([np.ones(len(x)), x]), np.concatenate([whole, design])
    size = np.maximum(np.abs(values).max(axis=0), 1e-300)
    left, sizes, right = np.linalg.svd(values / size, full_matrices=False)
    kept = sizes > _RANK * sizes[0]
    root = np.sqrt(len(x))
    z, basis = root * left[:, kept], root * (right[kept] / sizes[kept, None] / size) @ rows
    first, second = np.triu_indices(len(basis))
    q = z[:, first] * z[:, second]
    lengths, axes = np.linalg.eigh(q.T @ q / len(x))
    kept = lengths > _RANK * lengths[-1]
    turn = axes[:, kept] / np.sqrt(lengths[kept])
    forms = np.tensordot(turn.T, basis[first][:, :, None] * basis[second][:, None, :], axes=1)
    return q @ turn, forms
