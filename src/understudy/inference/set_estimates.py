"""Estimates and variances of m sets, read into checked arrays, and estimates with their error.

One place for the checks, so that every rule refuses the same input with the same sentence. A pooled
estimate has everything that belongs to it: error, degrees of freedom, interval, p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from understudy.arguments import require_list, require_number
from understudy.arrays import Floats
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

    def __post_init__(self) -> None:
        """One bound for each quantity."""
        object.__setattr__(self, "bias", np.broadcast_to(self.bias, self.estimate.shape))

    @property
    def stderr(self) -> Floats:
        """Standard errors, shape (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the confidence intervals, each of shape (k,).

        Estimate ± (quantile · standard error + bias).

        Args:
            level: confidence level in (0, 1).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        require_level(level)
        reach = self._quantile((1 + level) / 2) * self.stderr + self.bias
        return self.estimate - reach, self.estimate + reach

    @property
    def pvalue(self) -> Floats:
        """Two-sided p-values of the hypotheses that each quantity is 0, whatever the bias."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.maximum(np.abs(self.estimate) - self.bias, 0) / self.stderr
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

        `bias_bound` is the part of the half-width that bounds the bias by bins and runs.
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
                "bias_bound": self.bias,
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
