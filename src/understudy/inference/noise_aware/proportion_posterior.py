"""The posterior of a proportion, exactly: a mixture of Beta distributions, and how one is built.

With a flat prior on π and n₁ ~ Bin(n, π), the weight of Beta(n₁ + 1, n - n₁ + 1) is what the
release says about n₁; `understudy.inference.noise_aware.proportion_likelihood` has those weights
for each mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from understudy.arrays import Floats
from understudy.errors import InferenceError

# Probability that may be dropped, in all, with the components of a mixture that hardly count.
_DROPPED: Final = 1e-12
# Numbers n₁, and n, that a mixture over both takes one by one; see `joint_mixture`.
_LARGEST_SIDE: Final = 600


@dataclass(frozen=True)
class ProportionPosterior:
    """Posterior of a proportion π: a mixture of Beta(n₁ + 1, n - n₁ + 1).

    Attributes:
        successes: n₁ of each component, shape (c,).
        rows: n of each component, shape (c,).
        weights: probability of each component, shape (c,); they add up to 1.
    """

    successes: Floats
    rows: Floats
    weights: Floats

    @property
    def mean(self) -> float:
        """Posterior mean of π."""
        return float(self.weights @ self._means)

    @property
    def sd(self) -> float:
        """Posterior standard deviation of π."""
        means = self._means
        spread = (means - self.mean) ** 2 + means * (1 - means) / (self.rows + 3)
        return math.sqrt(float(self.weights @ spread))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval.

        Args:
            level: probability in (0, 1).

        Raises:
            InferenceError: the level is not in (0, 1).
        """
        if not 0 < level < 1:
            raise InferenceError(f"Expected a credible level between 0 and 1, got {level!r}.")
        return self._quantile((1 - level) / 2), self._quantile((1 + level) / 2)

    def cdf(self, proportion: float) -> float:
        """Posterior probability that π is at most ``proportion``."""
        successes, failures = self.successes + 1, self.rows - self.successes + 1
        return float(self.weights @ special.betainc(successes, failures, proportion))

    def density(self, proportions: ArrayLike) -> Floats:
        """Posterior density, shape (g,) → (g,).

        Args:
            proportions: values of π in [0, 1].
        """
        p = np.asarray(proportions, dtype=np.float64)[:, None]
        failures = self.rows - self.successes
        powers = special.xlogy(self.successes, p) + special.xlog1py(failures, -p)
        logs = powers - special.betaln(self.successes + 1, failures + 1)
        return np.asarray(np.exp(logs) @ self.weights)

    @property
    def _means(self) -> Floats:
        return (self.successes + 1) / (self.rows + 2)

    def _quantile(self, probability: float) -> float:
        return float(optimize.brentq(lambda p: self.cdf(p) - probability, 0.0, 1.0, xtol=1e-12))


def mixture(successes: Floats, rows: Floats, log_weights: Floats) -> ProportionPosterior:
    """Normalise weights, and drop components that hardly count.

    Of c components, those with at most the share 1e-12/c of the total are dropped. They are at most
    c, so that at most 1e-12 of the probability goes, whatever the shape of the weights, and every
    posterior probability changes by at most 2e-12.

    Args:
        successes: n₁ of each component, shape (c,).
        rows: n of each component, shape (c,).
        log_weights: log p(released | n, n₁) + log p(n, n₁), up to a constant, shape (c,).

    Raises:
        InferenceError: no component has a positive weight.
    """
    kept, weights = _counting(log_weights)
    return ProportionPosterior(successes[kept], rows[kept], weights[kept] / weights[kept].sum())


def joint_mixture(n1: Floats, log_n1: Floats, n: Floats, log_n: Floats) -> ProportionPosterior:
    """Mixture over n₁ and n, n₁ ≤ n, with weights exp(log_n1 + log_n).

    First n₁ and n are cut to where their marginal probabilities count, as in `mixture`. Up to 600
    numbers of either are then taken one by one, and the mixture is exact. More of them are put into
    runs (`_starts`), standing at their middles: a run of n keeps its exact marginal probability,
    and one of n₁ that given n.

    Args:
        n1: consecutive whole numbers, shape (a,).
        log_n1: log p(released | n₁), shape (a,).
        n: consecutive whole numbers, shape (b,).
        log_n: log p(released | n) + log p(n) - log(n + 1), shape (b,).

    Raises:
        InferenceError: no pair has a positive weight.
    """
    of_n1, of_n = _log_marginals(n1, log_n1, n, log_n)
    kept1, kept = _hull(of_n1), _hull(of_n)
    first1, last1, _ = _runs(n1[kept1], of_n1[kept1])
    first, last, log_run = _runs(n[kept], of_n[kept])
    rows = np.floor((first + last) / 2)
    # P(first1 ≤ n₁ ≤ ends | n): a run that n cuts off counts as far as n.
    ends = np.minimum(last1[:, None], rows)
    upto = np.append(0.0, np.cumsum(np.exp(log_n1[kept1] - log_n1[kept1].max())))
    places = np.maximum(ends - first1[0] + 1, 0).astype(np.int64)
    inside = upto[places] - upto[(first1 - first1[0]).astype(np.int64)][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(inside, 0.0)) - np.log(upto[places[-1]]) + log_run
    possible = np.isfinite(logs)
    middles1, rows = np.broadcast_arrays((first1[:, None] + ends) / 2, rows)
    return mixture(middles1[possible], rows[possible], logs[possible])


def _counting(log_weights: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Which weights count, and all of them relative to the largest."""
    largest = log_weights.max() if log_weights.size else -np.inf
    if not np.isfinite(largest):
        raise InferenceError(
            "No confidential count can have given what was released under this distribution; check "
            "it, its lattice, and that the count was not rounded or clipped."
        )
    weights = np.exp(log_weights - largest)
    return weights > _DROPPED / weights.size * weights.sum(), weights


def _hull(log_weights: Floats) -> slice:
    """From the first to the last weight that counts."""
    kept = np.flatnonzero(_counting(log_weights)[0])
    return slice(int(kept[0]), int(kept[-1]) + 1)


def _log_marginals(n1: Floats, log_n1: Floats, n: Floats, log_n: Floats) -> tuple[Floats, Floats]:
    """Marginals of exp(log_n1 + log_n) over n₁ ≤ n: of n₁, shape (a,), and of n, shape (b,).

    Running sums, taken of logarithms so that numbers that contradict each other do not underflow.
    """
    upto = np.append(-np.inf, np.logaddexp.accumulate(log_n1))
    beyond = np.append(np.logaddexp.accumulate(log_n[::-1])[::-1], -np.inf)
    of_n1 = log_n1 + beyond[np.searchsorted(n, n1, side="left")]
    return of_n1, log_n + upto[np.searchsorted(n1, n, side="right")]


def _runs(values: Floats, log_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """First and last number, and log weight, of each run."""
    starts = _starts(values)
    places = (starts - values[0]).astype(np.int64)
    weights = np.add.reduceat(np.exp(log_weights - log_weights.max()), places)
    with np.errstate(divide="ignore"):
        return starts, np.append(starts[1:] - 1, values[-1]), np.log(weights)


def _starts(values: Floats) -> Floats:
    """First numbers of runs: single numbers if they are few enough, else runs of odd width.

    No run is much wider than a 300th of the range, nor than a 50th of its first number, since it is
    n₁/n that has to be known well. Odd, so that the middle is a whole number.
    """
    if values.size <= _LARGEST_SIDE:
        return values
    widest = 2 * (values.size // _LARGEST_SIDE) + 1
    starts = [float(values[0])]
    while starts[-1] + (width := min(widest, 2 * int(starts[-1] / 100) + 1)) <= values[-1]:
        starts.append(starts[-1] + width)
    return np.array(starts)
