r"""Record weights from Lipschitz bounds, as the pseudo posterior mechanism makes them.

Posterior draws θ₁, …, θ_S give a matrix L_hi = |log f(y_i | θ_h)|, S × n, read in chunks of draws.

1. Δ_h = max_i L_hi for each draw; Δ is the upper `level` quantile of them, one that is attained;
   draws with Δ_h > Δ are dropped.
2. Δ_i = max_h L_hi over the draws kept, so that max_i Δ_i = Δ.
3. Δ̃_i = (Δ_i - min)/(max - min), and α_i = clip(c·(1 - Δ̃_i) + g, 0, 1): `vector_weights`.
4. The pseudo posterior ∝ prior·∏ f(y_i | θ)^α_i is drawn from, and steps 1 and 2 repeated with
   α_i·L_hi: its bound Δ_α, and what the paper calls ε = 2Δ_α a draw.

The other weights: one α for all records (`scalar_weight`), the exponential mechanism with the
log-likelihood as its score; and α_i^w = k·α_i·Δ_α/Δ_{α,i} (`reweighted`), which raises the weight
of each record whose bound lies below that of the worst.

**Guarantee: none at a finite number of records.** 2Δ_α is *not* an ε of differential privacy:

* Δ_α is a maximum over *these* records and over the parameters that happened to be drawn. DP bounds
  all tables and all parameters, and log f is unbounded in both;
* Δ̃ is scaled by the smallest and largest Δ_i, so one record that changes moves the weights of all
  others, and the contributions of n records with it, not of one;
* which draws are dropped depends on the rows;
* theorem 3 of the paper lets the records fill the space of values as n grows. No table has values
  everywhere, and what is rare, where it has none, is what needs protection.

`tests/privacy/not_dp/test_record_weights.py` shows it: 100 records, one replaced by an outlier, and
densities of the same θ that differ by a factor e³⁴⁹ where the two tables say 2Δ_α = 14 and 16. Nor
does 2Δ cover a replaced record by the paper's own argument, which is for one added or removed:
replacing is both, and 4Δ. The figures are made from the rows and unprotected; they are INTERNAL.

Whoever wants a bound that holds takes `understudy.privacy.mechanisms.choices.censored_likelihood`.

Sources: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1 (steps, eq. 26), §3.2 (eqs. 27-29), theorems 2 and 3; Hu, Savitsky & Williams (2020),
arXiv 2006.01230, for the second weighting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError

Floats = NDArray[np.float64]
Chunks = Callable[[], Iterable[Floats]]
"""Reads the matrix of log-likelihoods again: its rows, one per draw, some (s, n) at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class LipschitzBounds:
    """How large log-likelihoods became. CONFIDENTIAL: all of it is made from the rows.

    Attributes:
        by_draw: Δ_h, shape (S,).
        kept: which draws were kept, shape (S,).
        by_record: Δ_i over the draws kept, shape (n,).
        bound: Δ = max Δ_i; 0 without records, infinite if a log-likelihood is.
    """

    by_draw: Floats
    kept: NDArray[np.bool_]
    by_record: Floats
    bound: float


def lipschitz_bounds(
    chunks: Chunks, *, level: float = 0.95, weights: Floats | None = None
) -> LipschitzBounds:
    """Read the matrix twice, and never hold it.

    A log-likelihood that is not a number counts as infinite.

    Args:
        chunks: starts the reading again, with the same numbers in the same order.
        level: of the quantile of Δ_h above which a draw is dropped, in (0, 1]; 1 drops none.
        weights: α_i, shape (n,), for bounds of α_i·|log f|; None if the matrix has them in it.

    Raises:
        MethodError: no draw, a level outside (0, 1], or a second reading of another length.
    """
    if not 0 < level <= 1:
        raise MethodError(f"The quantile that truncates the draws is in (0, 1], not {level}.")
    by_draw = np.array(
        [largest for part in chunks() for largest in _sizes(part, weights).max(1, initial=0)]
    )
    if not by_draw.size:
        raise MethodError("Lipschitz bounds need one draw at least.")
    kept = by_draw <= np.quantile(by_draw, level, method="inverted_cdf")
    by_record = _largest_kept(chunks, kept, weights)
    return LipschitzBounds(by_draw, kept, by_record, float(by_record.max(initial=0.0)))


def _sizes(part: Floats, weights: Floats | None) -> Floats:
    """|α_i·log f|, shape (s, n); infinite where it is not a number."""
    sizes = np.abs(part)
    sizes[np.isnan(sizes)] = np.inf
    if weights is not None:
        with np.errstate(invalid="ignore"):
            sizes = np.where(weights == 0, 0.0, sizes * weights)
    return np.asarray(sizes, dtype=np.float64)


def _largest_kept(chunks: Chunks, kept: NDArray[np.bool_], weights: Floats | None) -> Floats:
    """Δ_i over the draws kept, shape (n,)."""
    largest: Floats | None = None
    start = 0
    for part in chunks():
        stop = start + len(part)
        here = _sizes(part[kept[start:stop]], weights).max(axis=0, initial=0.0)
        largest = here if largest is None else np.maximum(largest, here)
        start = stop
    if largest is None or start != len(kept):
        raise MethodError("The second reading has another number of draws than the first.")
    return largest


def scaled_risks(by_record: Floats) -> Floats:
    """Δ̃: bounds on a scale from 0, the smallest, to 1, the largest, along the last axis.

    All equal they are 0: none is riskier than another. An infinite bound is 1, finite ones beside
    it 0, which is the limit.

    Args:
        by_record: Δ_i ≥ 0, shape (…, n).

    Returns:
        Shape (…, n), in [0, 1].
    """
    if not by_record.shape[-1]:
        return by_record.copy()
    low, high = by_record.min(-1, keepdims=True), by_record.max(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = (by_record - low) / (high - low)
    return np.where(np.isinf(by_record), 1.0, np.where(high > low, scaled, 0.0))


def vector_weights(by_record: Floats, *, scale: float = 1.0, shift: float = 0.0) -> Floats:
    """α_i = clip(c·(1 - Δ̃_i) + g, 0, 1), eq. 26 of the paper.

    Bounds of 1, 2 and 5:

    >>> vector_weights(np.array([1.0, 2.0, 5.0]), scale=0.7).round(6).tolist()
    [0.7, 0.525, 0.0]
    >>> vector_weights(np.array([1.0, 2.0, 5.0]), scale=0.7, shift=-0.1).round(6).tolist()
    [0.6, 0.425, 0.0]

    Args:
        by_record: Δ_i, shape (…, n).
        scale: c ≥ 0.
        shift: g.

    Returns:
        Shape (…, n), in [0, 1]. Any one of them depends on all records.

    Raises:
        MethodError: a scale below 0, which would favour the records at risk, or not a number.
    """
    if not (0 <= scale < np.inf and abs(shift) < np.inf):
        raise MethodError("Weights need a scale of 0 or more, and a finite shift.")
    return np.clip(scale * (1 - scaled_risks(by_record)) + shift, 0.0, 1.0)


def scalar_weight(target: float, bound: float) -> float:
    """α = ε/(2Δ), at most 1: all records weigh what the worst of them may (eqs. 28 and 29).

    With a Δ that is fixed before rows are seen, and holds for all tables and all parameters, this
    would be the exponential mechanism at ε under add/remove. With Δ from these rows it is not.

    Args:
        target: ε > 0; for the bound Δ_α of weights already computed, 2Δ_α.
        bound: Δ of the unweighted posterior.

    Raises:
        MethodError: a target that is not positive.
    """
    if not target > 0:
        raise MethodError("The target of a scalar weight must be positive.")
    return min(1.0, target / (2 * bound)) if bound > 0 else 1.0


def reweighted(weights: Floats, by_record: Floats, *, share: float = 1.0) -> Floats:
    """α_i^w = k·α_i·Δ_α/Δ_{α,i}, clipped at 1: bounds of all records near that of the worst.

    Where |log f| stays as it is, α_i^w·|log f| ≤ k·Δ_α. The posterior under new weights differs,
    so its bound is to be computed again, and k lowered until it is no larger. The status is that of
    the weights it starts from: no guarantee at a finite number of records.

    Args:
        weights: α_i, shape (…, n).
        by_record: Δ_{α,i} under those weights, shape (…, n).
        share: k, in (0, 1].

    Returns:
        Shape (…, n), in [0, 1]. A weight of 0 stays 0.

    Raises:
        MethodError: a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise MethodError(f"The share of the bound is in (0, 1], not {share}.")
    bound = by_record.max(axis=-1, keepdims=True, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        raised = share * weights * (bound / by_record)
    raised = np.where(by_record > 0, raised, 1.0)
    raised = np.where(np.isinf(by_record), share * weights, raised)
    return np.where(weights > 0, np.clip(raised, 0.0, 1.0), 0.0)
