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
  `understudy.papers.proportion_likelihood` does;
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

**Estimates and variances of m sets, read into checked arrays, and estimates with their error.**

One place for the checks, so that every rule refuses the same input with the same sentence. A pooled
estimate has everything that belongs to it: error, degrees of freedom, interval, p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from understudy._arrays import Floats
from understudy._validation import require_list, require_number
from understudy.errors import InferenceError, nearest

# Relative to the largest entry: what rounding leaves in a covariance matrix from other software.
_ROUNDING = 1e-8


def check_rule(rule: str, known: Sequence[str], what: str = "a rule") -> None:
    """Refuse a rule that is not known, or whatever else `what` says.

    Raises:
        InferenceError: it is not; the message suggests the nearest.
    """
    if rule in known:
        return
    close = nearest(rule, known)
    meant = f" Did you mean {close!r}?" if close else ""
    raise InferenceError(f"Expected {what} among {', '.join(known)}, got {rule!r}.{meant}")


def require_level(level: float) -> None:
    """Refuse what is no confidence level.

    Raises:
        InferenceError: it is not in (0, 1).
    """
    if not 0 < level < 1:
        raise InferenceError(f"Expected a confidence level between 0 and 1, got {level!r}.")


def read_sets(estimates: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats]:
    """Check estimates and variances of m sets.

    Args:
        estimates: shape (m,) or (m, k), m ≥ 1, k ≥ 1.
        variances: shape of the estimates, or (m, k, k).

    Returns:
        Estimates, shape (m, k), and covariances, shape (m, k, k), NaN beside the diagonal where
        only variances were given.

    Raises:
        InferenceError: shapes do not fit, a number is not finite, or a variance is negative.
    """
    q = _numbers(estimates, "estimates")
    u = _numbers(variances, "variances")
    if q.ndim == 1:
        q = q[:, None]
        u = u[:, None] if u.ndim == 1 else u
    if q.ndim != 2 or 0 in q.shape:
        raise InferenceError(
            f"Expected estimates of shape (sets,) or (sets, quantities), got {np.shape(estimates)}."
        )
    m, k = q.shape
    if u.shape not in {(m, k), (m, k, k)}:
        raise InferenceError(
            f"Expected variances of shape {(m, k)} or {(m, k, k)} for {m} sets of {k} quantities, "
            f"got {np.shape(variances)}."
        )
    return q, diagonal(u) if u.ndim == 2 else checked_covariance(u)


def read_rule_noise(rule: str, m: int, k: int, noise_variance: ArrayLike | None) -> Floats:
    """The noise that a rule is given; others count it by how the sets differ.

    Args:
        rule: one of the combining rules.
        m: number of sets.
        k: number of quantities.
        noise_variance: as handed in; None where it was not.

    Returns:
        Covariance of the noise, shape (k, k); 0 for rules that are not given it.

    Raises:
        InferenceError: the rule cannot be used for so many sets with this knowledge of the noise.
    """
    if rule == "single":
        if noise_variance is None:
            raise InferenceError(
                "The rule 'single' needs noise_variance, the variance that noise adds to the "
                "estimate: with one noise in all sets it cannot be estimated from them."
            )
        return _read_noise(noise_variance, k)
    if noise_variance is not None:
        raise InferenceError(
            f"The rule {rule!r} counts the noise by how the sets differ; noise_variance would "
            f"count it twice. Leave it out, or use rule='single' if the sets share one noise."
        )
    if m < 2:
        raise InferenceError(
            f"The rule {rule!r} needs at least 2 sets, got 1. Use rule='single' with "
            f"noise_variance, or a noise-aware likelihood."
        )
    return np.zeros((k, k))


def _read_noise(noise_variance: ArrayLike, k: int) -> Floats:
    """Covariance of the noise in k quantities, shape () or (k,) or (k, k) → (k, k).

    Raises:
        InferenceError: the shape does not fit, a number is not finite, or a variance is negative.
    """
    noise = _numbers(noise_variance, "noise_variance")
    if noise.shape not in {(), (k,), (k, k)}:
        raise InferenceError(
            f"Expected noise_variance to be a number, or of shape {(k,)} or {(k, k)}, "
            f"got {noise.shape}."
        )
    if noise.ndim == 2:
        return checked_covariance(noise)
    return diagonal(np.broadcast_to(noise, (k,)))


def read_names(names: Sequence[str] | None, k: int) -> tuple[str, ...]:
    """Names of k quantities; q1, q2, … if none are given.

    Raises:
        InferenceError: there are not k of them.
    """
    if names is not None:
        require_list("names", names, InferenceError, "['mean']")
    named = tuple(f"q{i + 1}" for i in range(k)) if names is None else tuple(names)
    if len(named) != k:
        raise InferenceError(f"Expected {k} names, one for each quantity, got {len(named)}.")
    return named


def read_size_ratio(n_synthetic: float | None, n_original: float | None) -> float | None:
    """n_synthetic/n_original, or None where neither is given.

    Raises:
        InferenceError: one is given alone, or is not positive.
    """
    if n_synthetic is None and n_original is None:
        return None
    if n_synthetic is None or n_original is None:
        raise InferenceError("Expected both n_synthetic and n_original, or neither; one was given.")
    require_number("n_synthetic", n_synthetic, InferenceError, 1000)
    require_number("n_original", n_original, InferenceError, 1000)
    if not (0 < n_synthetic < np.inf and 0 < n_original < np.inf):
        raise InferenceError("Expected n_synthetic and n_original to be positive numbers.")
    return n_synthetic / n_original


def diagonal(variances: Floats) -> Floats:
    """Covariances of which only the variances are known, shape (..., k) → (..., k, k).

    Beside the diagonal stands NaN, not 0: it is not known. Only where one of the two variances is 0
    must the covariance be 0.

    Raises:
        InferenceError: a variance is negative.
    """
    if (variances < 0).any():
        raise InferenceError("Expected variances of at least 0, got a negative one.")
    products = variances[..., :, None] * variances[..., None, :]
    on_diagonal = np.eye(variances.shape[-1], dtype=np.bool_)
    return np.where(on_diagonal, variances[..., None, :], np.where(products == 0, 0.0, np.nan))


def checked_covariance(matrices: Floats) -> Floats:
    """Covariance matrices made exactly symmetric, shape (..., k, k).

    Raises:
        InferenceError: one is not symmetric, or not positive semi-definite, beyond rounding.
    """
    mirrored = np.swapaxes(matrices, -1, -2)
    largest = np.abs(matrices).max(axis=(-1, -2), keepdims=True)
    if (np.abs(matrices - mirrored) > _ROUNDING * largest).any():
        raise InferenceError("Expected symmetric covariance matrices, got one that is not.")
    symmetric = np.asarray((matrices + mirrored) / 2)
    if (np.diagonal(symmetric, axis1=-2, axis2=-1) < 0).any():
        raise InferenceError("Expected variances of at least 0, got a negative one.")
    if (np.linalg.eigvalsh(symmetric)[..., :1] < -_ROUNDING * largest[..., 0]).any():
        raise InferenceError(
            "Expected covariance matrices, got one that gives a linear combination of the "
            "quantities a negative variance."
        )
    return symmetric


def _numbers(values: ArrayLike, what: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InferenceError(
            f"Expected {what} to be an array of numbers, with the same shape for every set."
        ) from None
    if not np.isfinite(array).all():
        raise InferenceError(
            f"Expected finite {what}, got NaN or an infinity; leave out a quantity that a set "
            f"cannot give."
        )
    return array


@dataclass(frozen=True)
class Pooled:
    """Estimates of k quantities from one or several synthetic sets.

    Attributes:
        names: what is estimated, k names.
        estimate: point estimates, shape (k,).
        covariance: total covariance, shape (k, k); its diagonal is always known, entries beside
            the diagonal are NaN where only variances were given.
        df: degrees of freedom of the t reference of each, shape (k,); infinite for the normal.
        synthesis_share: share of each variance that comes from synthesis and privacy noise rather
            than from sampling, shape (k,); NaN where it is not known.
        rule: name of the rule that gave the variance.
        sets: how many sets were pooled.
        notes: what was assumed or replaced on the way, one sentence each; often empty.
        bias: how far each estimate may lie off by where numbers lie within their bins, at most,
            shape (k,); 0 by default.
        lean: where the middle of what may be lies from the estimate, if it may lie off farther in
            one direction: from `lean` − `bias` to `lean` + `bias`. Shape (k,); 0 by default.
    """

    names: tuple[str, ...]
    estimate: Floats
    covariance: Floats
    df: Floats
    synthesis_share: Floats
    rule: str
    sets: int
    notes: tuple[str, ...] = ()
    bias: Floats = field(default_factory=lambda: np.zeros(1))
    lean: Floats = field(default_factory=lambda: np.zeros(1), kw_only=True)

    def __post_init__(self) -> None:
        """One bound for each quantity."""
        for name in ("bias", "lean"):
            wide = np.broadcast_to(getattr(self, name), self.estimate.shape)
            object.__setattr__(self, name, wide)

    @property
    def stderr(self) -> Floats:
        """Standard errors, shape (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Estimate + lean ± (quantile · standard error + bias).

        Args:
            level: confidence level in (0, 1).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        reach = self._quantile((1 + level) / 2) * self.stderr + self.bias
        middle = self.estimate + self.lean
        return middle - reach, middle + reach

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, whatever the bias."""
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(self.estimate + self.lean)
            return self._two_sided(np.maximum(off - self.bias, 0) / self.stderr)

    def _two_sided(self, t: Floats) -> Floats:
        """Chance of a t reference beyond ±t, shape (k,)."""
        normal = np.isinf(self.df)
        finite = np.where(normal, 1.0, self.df)
        return np.asarray(np.where(normal, 2 * ndtr(-t), 2 * stdtr(finite, -t)))

    def _quantile(self, probability: float) -> Floats:
        normal = np.isinf(self.df)
        finite = np.where(normal, 1.0, self.df)
        quantile = np.where(normal, ndtri(probability), stdtrit(finite, probability))
        return np.asarray(quantile)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """One row per quantity: estimate, stderr, df, lower, upper, pvalue and so on.

        `bias_bound` is how far the estimate may lie off by bins and runs, in either direction.
        """
        lower, upper = self.interval(level)
        return pd.DataFrame(
            {
                "estimate": self.estimate,
                "stderr": self.stderr,
                "df": self.df,
                "lower": lower,
                "upper": upper,
                "pvalue": self.pvalue,
                "synthesis_share": self.synthesis_share,
                "bias_bound": self.bias + np.abs(self.lean),
            },
            index=pd.Index(self.names, name="term"),
        )

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data; numbers that are not finite become None."""
        rows = self.to_frame(level).reset_index().to_dict(orient="records")
        clean = [
            {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
            for row in rows
        ]
        return {
            "rule": self.rule,
            "sets": self.sets,
            "level": level,
            "terms": clean,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Untested(Pooled):
    """Estimates of which no value is a hypothesis of interest."""

    @property
    def pvalue(self) -> Floats:
        """NaN: that nothing varies is no hypothesis of interest, and none is tested."""
        return np.full(len(self.names), np.nan)


RULES: Final = ("partial", "full", "mi", "single")
_MOST_DF: Final = 1e15
"""Beyond, sets differ by rounding."""


class Totals(NamedTuple):
    """Totals that a rule takes over the sets of each repetition.

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
    totals, covariance = _apply_rule(rule, q, covariances, noise, ratio)
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


def _apply_rule(
    rule: str, q: Floats, covariances: Floats, noise: Floats, ratio: float | None
) -> tuple[Totals, Floats]:
    """Combine checked arrays by a rule; also return the covariance beside the diagonal."""
    m = len(q)
    u = np.diagonal(covariances, axis1=1, axis2=2)
    within = covariances.mean(axis=0)
    if rule == "full":
        totals = full_variance(q, u, size_ratio=ratio)
        return totals, _full_covariance(totals, within, covariance_between(q), m)
    if rule == "mi":
        totals = mi_variance(q, u, size_ratio=ratio)
        return totals, within * _or_one(ratio) + (1 + 1 / m) * covariance_between(q)
    totals = single_variance(q, u, np.diagonal(noise), size_ratio=ratio)
    return totals, within * _or_one(ratio) + noise + covariance_between(q) / m


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
        df = _adjust_degrees(np.where(b > 0, (m - 1) * (1 + m * known / b) ** 2, np.inf))
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
        df = _adjust_degrees(
            np.where(adjusted, np.inf, (m - 1) * (1 - m * within / ((m + 1) * b)) ** 2)
        )
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
        df = _adjust_degrees(np.where(b > 0, (m - 1) * (1 + known / extra) ** 2, np.inf))
        share = extra / variance
    return Totals(estimate, variance, df, share, np.zeros(variance.shape, dtype=np.bool_))


def covariance_between(q: Floats) -> Floats:
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
    correlations of Ū is what tests of several quantities assume anyway: B proportional to U (Reiter
    2005).
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


def _adjust_degrees(df: Floats) -> Floats:
    """Degrees of freedom, infinite where sets differ by no more than rounding."""
    return np.asarray(np.where(df < _MOST_DF, df, np.inf))
