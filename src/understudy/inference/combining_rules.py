"""Combining rules: one estimate with its error from the estimates of several synthetic sets.

Each synthetic set l = 1 … m gives an estimate q_l and the variance u_l that the analyst's software
prints, as if the set were real. With q̄ and ū the means and b = Σ (q_l - q̄)²/(m - 1):

============ =================================== ==========================================
rule         total variance T                    valid when
============ =================================== ==========================================
``partial``  ū + b/m                             every set has fresh noise and a fresh draw of
                                                 the parameters (split sets; MODIPS; partial
                                                 synthesis)
``full``     (1 + 1/m)·b - ū                     sets are samples from m imputed populations,
                                                 each with fresh parameters
``single``   ū + noise (+ b/m)                   one set, or free draws from *one* noisy fit,
                                                 with the variance of the noise known
============ =================================== ==========================================

The rules are not interchangeable. Sets drawn freely from one noisy fit share its noise: it does not
show in b, so ``partial`` would leave it out and its intervals would be too short.

The rule ``single`` is valid under all of these:

* the sets are one, or free draws from one released fit;
* the noise of that fit moves the estimate additively, without bias and about normally. (With
  Laplace noise and nothing else 95 % intervals cover 93.7 %, since P(|X| > 1.96 standard
  deviations) = exp(-1.96·√2).) Prior weight, as of the Dirichlet and DP-prior sanitizers, is
  bias, which no combining rule repairs;
  `understudy.inference.noise_aware.proportion_likelihood` does;
* ``noise_variance`` is the variance of that movement in the unit of the estimate: for a
  proportion from a noisy count, the variance of the noise / n². For m > 1 it holds the privacy
  noise alone, since the draws of records show in b. For *m = 1* they cannot be seen, and it
  has to hold them too if records were drawn at random: about u itself for draws of
  independent records (Raab et al. 2016).

The numeric kernels `partial_variance`, `full_variance`, `mi_variance` and `single_variance` take
leading axes of repetitions, so that a simulation study calls the code that `pool` calls.

Sources:
    Reiter (2003), "Inference for Partially Synthetic, Public Use Microdata Sets", Survey
    Methodology 29, 181-188. Raghunathan, Reiter & Rubin (2003), "Multiple Imputation for
    Statistical Disclosure Limitation", J. Official Statistics 19, 1-16. Reiter (2002),
    "Satisfying Disclosure Restrictions With Synthetic Data Sets", J. Official Statistics 18,
    531-543. Raab, Nowok & Dibben (2016), "Practical Data Synthesis for Large Samples", J. Privacy
    and Confidentiality 7(3), 67-97. Bowen & Liu (2016), arXiv:1602.01063, eqs. 8-10.

Example:
    >>> pooled = pool([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> float(pooled.estimate[0]), round(float(pooled.covariance[0, 0]), 5), float(pooled.df[0])
    (2.0, 0.83333, 12.5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.arrays import Floats
from understudy.inference.set_estimates import (
    Pooled,
    check_rule,
    read_names,
    read_rule_noise,
    read_sets,
    read_size_ratio,
)

RULES: Final = ("partial", "full", "mi", "single")
_MOST_DF: Final = 1e15
"""Beyond, sets differ by rounding."""


class Totals(NamedTuple):
    """What a rule makes of the sets of each repetition.

    Attributes:
        estimate: q̄, shape (..., k).
        variance: total variance T, shape (..., k).
        df: degrees of freedom of the t reference, shape (..., k); infinite for the normal.
        share: share of T that is not sampling variance, shape (..., k); NaN where not known.
        adjusted: where T is a replacement for a variance estimate that was not positive, (..., k).
    """

    estimate: Floats
    variance: Floats
    df: Floats
    share: Floats
    adjusted: NDArray[np.bool_]


def pool(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    rule: str = "partial",
    names: Sequence[str] | None = None,
    noise_variance: ArrayLike | None = None,
    n_synthetic: float | None = None,
    n_original: float | None = None,
) -> Pooled:
    """Combine the estimates of k quantities from m synthetic sets.

    Args:
        estimates: q_l, shape (m,) for one quantity or (m, k).
        variances: u_l, shape (m,) or (m, k), or covariance matrices (m, k, k), each estimated from
            its set as if that were real.
        rule: "partial", "full", "mi" or "single"; see the table at the head of this module.
        names: k names; q1, q2, … if None.
        noise_variance: for "single" only: shape () or (k,), or covariance (k, k). 0 is for noise
            that is really absent.
        n_synthetic: records in each synthetic set.
        n_original: records that the fit was made from, or a noisy number of them. If both sizes
            are given, "partial" and "single" put ū·n_synthetic/n_original for ū, since a set of
            another size has another sampling variance (Raab et al. 2016); "full" needs them only
            where its variance is not positive. If they are not given, they are taken as equal.

    Returns:
        Estimates with the total covariance and t reference of each. Beside the diagonal the
        covariance is NaN where only variances were given. Where ``full`` had to replace a variance
        that was not positive, `notes` says so.

    Raises:
        InferenceError: the rule is unknown or not valid for this number of sets, or the arrays do
            not fit each other, hold NaN or infinities, or hold negative variances.
    """
    check_rule(rule, RULES)
    q, covariances = read_sets(estimates, variances)
    m, k = q.shape
    named = read_names(names, k)
    ratio = read_size_ratio(n_synthetic, n_original)
    noise = read_rule_noise(rule, m, k, noise_variance)
    totals, covariance = _combined(rule, q, covariances, noise, ratio)
    np.fill_diagonal(covariance, totals.variance)
    return Pooled(
        names=named,
        estimate=totals.estimate,
        covariance=covariance,
        df=totals.df,
        synthesis_share=totals.share,
        rule=rule,
        sets=m,
        notes=_notes(named, totals, ratio),
    )


def _combined(
    rule: str, q: Floats, covariances: Floats, noise: Floats, ratio: float | None
) -> tuple[Totals, Floats]:
    """What a rule makes of checked arrays, and the covariance beside the diagonal."""
    m = len(q)
    u = np.diagonal(covariances, axis1=1, axis2=2)
    within = covariances.mean(axis=0)
    if rule == "full":
        totals = full_variance(q, u, size_ratio=ratio)
        return totals, _full_covariance(totals, within, between(q), m)
    if rule == "mi":
        totals = mi_variance(q, u, size_ratio=ratio)
        return totals, within * _or_one(ratio) + (1 + 1 / m) * between(q)
    totals = single_variance(q, u, np.diagonal(noise), size_ratio=ratio)
    return totals, within * _or_one(ratio) + noise + between(q) / m


def partial_variance(q: ArrayLike, u: ArrayLike, *, size_ratio: float | None = None) -> Totals:
    """Pool sets that each have fresh noise and fresh parameters: T = ū + b/m.

    Degrees of freedom (m - 1)(1 + m·ū/b)²; the normal where b = 0. With b = 2ū, 95 % intervals
    cover 95 % from m = 3 on, 93 % for m = 2 (`tests/inference/test_coverage.py`).

    Args:
        q: estimates, shape (..., m, k), m ≥ 2.
        u: variances, shape (..., m, k).
        size_ratio: n_synthetic/n_original, by which ū is multiplied; 1 if None.

    Source: Reiter (2003); Bowen & Liu (2016), eqs. 8-10.
    """
    return single_variance(q, u, 0.0, size_ratio=size_ratio)


def single_variance(
    q: ArrayLike, u: ArrayLike, noise: Floats | float, *, size_ratio: float | None = None
) -> Totals:
    """Pool sets that share one noise of known variance: T = ū + noise + b/m, b = 0 for one set.

    Given the fit, the sets are independent draws around it, so q̄ varies by b/m; the fit varies
    around the truth by sampling, ū, and by its noise. Only b is estimated from few sets, hence
    the degrees of freedom (m - 1)(1 + m·(ū + noise)/b)², by Satterthwaite's argument as in
    Reiter (2003), and the normal for one set.

    Args:
        q: estimates, shape (..., m, k).
        u: variances, shape (..., m, k).
        noise: variance of the shared noise in the unit of q², shape (..., k) or less.
        size_ratio: n_synthetic/n_original, by which ū is multiplied; 1 if None.
    """
    estimate, within, b = _moments(q, u)
    m = np.shape(q)[-2]
    known = within * _or_one(size_ratio) + noise
    variance = known + b / m
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        df = _told(np.where(b > 0, (m - 1) * (1 + m * known / b) ** 2, np.inf))
        # Not 1 - sampling/variance, which would cancel where the share is small.
        share = (noise + b / m) / variance
    return Totals(estimate, variance, df, share, np.zeros(variance.shape, dtype=np.bool_))


def full_variance(q: ArrayLike, u: ArrayLike, *, size_ratio: float | None = None) -> Totals:
    """Pool samples from m imputed populations: T = (1 + 1/m)·b - ū.

    Degrees of freedom (m - 1)(1 - m·ū/((m + 1)·b))². As a difference of estimates, T may be
    negative, often so for few sets. Where T ≤ 0 it is replaced by ū·n_synthetic/n_original (Reiter
    2002), the sampling variance of the original; being a mean of within-set variances, this has
    the normal as its reference. 95 % intervals are conservative: with b = 2ū they cover 98 % for
    m = 5, where 19 % are replaced, 99 % for m = 20, and 95 % for m = 100
    (`tests/inference/test_coverage.py`).

    Args:
        q: estimates, shape (..., m, k), m ≥ 2.
        u: variances, shape (..., m, k).
        size_ratio: n_synthetic/n_original; 1 if None. Without it the share is not known.

    Source: Raghunathan, Reiter & Rubin (2003); Reiter (2002) for T ≤ 0.
    """
    estimate, within, b = _moments(q, u)
    m = np.shape(q)[-2]
    raw = (1 + 1 / m) * b - within
    adjusted = raw <= 0
    sampling = within * _or_one(size_ratio)
    variance = np.where(adjusted, sampling, raw)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        df = _told(np.where(adjusted, np.inf, (m - 1) * (1 - m * within / ((m + 1) * b)) ** 2))
        share = np.where(adjusted, np.nan, np.clip(1 - sampling / variance, 0, 1))
    if size_ratio is None:
        share = np.full_like(share, np.nan)
    return Totals(estimate, variance, df, share, adjusted)


def mi_variance(q: ArrayLike, u: ArrayLike, *, size_ratio: float | None = None) -> Totals:
    """Pool sets that differ by as much as what they share moved them: T = ū + (1 + 1/m)·b.

    Degrees of freedom (m - 1)(1 + ū/((1 + 1/m)·b))²; the normal where b = 0.

    Args:
        q: estimates, shape (..., m, k), m ≥ 2.
        u: variances, shape (..., m, k).
        size_ratio: n_synthetic/n_original, by which ū is multiplied; 1 if None.

    Source: Rubin (1987), Multiple Imputation for Nonresponse in Surveys, eqs. 3.1.5 and 3.1.6.
    """
    estimate, within, b = _moments(q, u)
    m = np.shape(q)[-2]
    known, extra = within * _or_one(size_ratio), (1 + 1 / m) * b
    variance = known + extra
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        df = _told(np.where(b > 0, (m - 1) * (1 + known / extra) ** 2, np.inf))
        share = extra / variance
    return Totals(estimate, variance, df, share, np.zeros(variance.shape, dtype=np.bool_))


def between(q: Floats) -> Floats:
    """Covariance of the estimates between sets, divisor m - 1, shape (..., m, k) → (..., k, k).

    Zero for one set: nothing is seen of how sets differ.
    """
    m = q.shape[-2]
    if m == 1:
        return np.zeros((*q.shape[:-2], q.shape[-1], q.shape[-1]))
    shifted = q - q[..., :1, :]
    centred = shifted - shifted.mean(axis=-2, keepdims=True)
    return np.asarray(np.swapaxes(centred, -1, -2) @ centred / (m - 1))


def _moments(q: ArrayLike, u: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """q̄, ū and b, each of shape (..., k)."""
    estimates, variances = np.asarray(q, dtype=np.float64), np.asarray(u, dtype=np.float64)
    m = estimates.shape[-2]
    # Distances from the first set: equal estimates then give b = 0 exactly, not rounding errors.
    first = estimates[..., 0, :]
    shifted = estimates - first[..., None, :]
    b = np.zeros_like(first) if m == 1 else shifted.var(axis=-2, ddof=1)
    return first + shifted.mean(axis=-2), variances.mean(axis=-2), b


def _full_covariance(totals: Totals, within: Floats, between_sets: Floats, m: int) -> Floats:
    """(1 + 1/m)·B - Ū where it is a covariance; else the correlations of Ū with the variances T.

    For m ≤ k the matrix B is singular and the difference never is a covariance. To borrow the
    correlations of Ū is what the multivariate tests assume anyway: B proportional to U (Reiter
    2005, see `understudy.inference.pooled_tests`).
    """
    raw = (1 + 1 / m) * between_sets - within
    if np.isfinite(raw).all() and np.linalg.eigvalsh(raw)[0] >= 0:
        return np.asarray(raw)
    scale = np.sqrt(np.diagonal(within))
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(scale > 0, np.sqrt(totals.variance) / scale, 0.0)
    return np.asarray(within * np.outer(unit, unit))


def _or_one(ratio: float | None) -> float:
    return 1.0 if ratio is None else ratio


def _notes(names: tuple[str, ...], totals: Totals, ratio: float | None) -> tuple[str, ...]:
    replaced = [name for name, hit in zip(names, totals.adjusted, strict=True) if hit]
    if not replaced:
        return ()
    sizes = "sizes not given, taken as equal"
    if ratio is not None:
        sizes = f"n_synthetic/n_original = {ratio:.6g}"
    return (
        f"The variance of {', '.join(replaced)} was estimated as not positive and is replaced by "
        f"the within-set variance ({sizes}; Reiter 2002).",
    )


def _told(df: Floats) -> Floats:
    """Degrees of freedom, infinite where sets differ by no more than rounding."""
    return np.asarray(np.where(df < _MOST_DF, df, np.inf))
