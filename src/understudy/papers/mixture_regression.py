"""Finite mixtures of regressions as the model of a number: the paper's synthesizer.

z given x is Σ_k π_k·N(x'β_k, σ_k²), with the prior of `papers.mixture_gibbs`. A record of weight α
contributes, as "power" says,

    labels: c(θ) = K^(α - 1)·Σ_k (π_k·N_k)^α,      marginal: c(θ) = (Σ_k π_k·N_k)^α.

The second is the paper's: its equation raises the density f of the mixture. The first raises each
component by itself, as a Gibbs sampler with a label for each record does (`mixture_gibbs`). Its
factor K^(α - 1) does not depend on θ, so that the target is as it was; with it a record of weight 0
contributes nothing, 1, and one of weight 1 its density. Where weights are below 1 the two differ
much: under "labels" components fill up that stay empty under "marginal". The library's own sampler,
"gibbs", draws each block of θ under the first (`mixture_gibbs`), and corrects a proposal for each
under the second (`mixture_metropolis`); the sampler by gradients (`mixture_nuts`, an extra) takes
either.

**New numbers** come from a component that is drawn with probability π_k, and so are a function of θ
and x. The paper draws the component given the confidential number of the same record (`labels`),
and then the new number depends on the old one beyond θ: no argument about θ covers it. That is
offered as it was published, and is a leak.

**Cost.** A sweep takes O(n·p·(p + K)) operations, a few milliseconds for thousands of records. Its
many small products of matrices are kept on one thread: shared out, they would wait for each other
longer than they compute, above all on a machine with other work.

Source: Savitsky, Williams & Hu (2020), appendix, equations (30)–(35).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from understudy._arrays import Floats, Integers
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.features.grids import normal_quantiles
from understudy.papers.mixture_gibbs import (
    MixtureGibbs,
    MixturePrior,
    Mixtures,
    densities,
    drawn_labels,
    log_contributions,
    mixture_draws,
)
from understudy.papers.mixture_metropolis import MixtureMetropolis, metropolis_draws
from understudy.papers.mixture_nuts import POWERS, MixtureNuts, Power, check_numpyro, nuts_draws
from understudy.papers.sampling_base import Theta

Sampler = Literal["gibbs", "nuts"]
_Rows = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, kw_only=True)
class MixtureRegression:
    """A mixture with its prior and its chain; θ is "log_shares", "coefficients", "variances".

    Attributes:
        prior: K and the rest.
        burn_in: sweeps left out at the beginning.
        thin: sweeps from one kept draw to the next.
        sampler: the library's own, or by gradients.
        power: what a record of weight α contributes.

    Raises:
        MethodError: numbers of sweeps out of range, or a sampler that is not there.
    """

    prior: MixturePrior = field(default_factory=MixturePrior)
    burn_in: int = 500
    thin: int = 2
    sampler: Sampler = "gibbs"
    power: Power = "labels"

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.sampler not in get_args(Sampler) or self.power not in POWERS:
            raise MethodError("A mixture's sampler is gibbs or nuts, its power labels or marginal.")
        if self.sampler == "nuts":
            check_numpyro()
        if self.burn_in < 0 or self.thin < 1:
            raise MethodError("A chain leaves out 0 sweeps or more, and thins by 1 or more.")

    def draws(
        self, responses: Floats, design: Floats, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Shapes (S, K), (S, K, p) and (S, K); see `Regression`."""
        rows = responses, design, weights
        own = self._gibbs if self.power == "labels" else self._metropolis
        kept = (own if self.sampler == "gibbs" else self._nuts)(rows, source, draws)
        return {
            "log_shares": kept.log_shares,
            "coefficients": kept.coefficients,
            "variances": kept.variances,
        }

    def _gibbs(self, rows: _Rows, source: Randomness, draws: int) -> Mixtures:
        z, design, weights = rows
        sampler = MixtureGibbs(self.prior, z[np.newaxis], design, weights[np.newaxis])
        with threadpool_limits(limits=1, user_api="blas"):
            kept = mixture_draws(sampler, source, draws=draws, burn_in=self.burn_in, thin=self.thin)
        return kept.of_chain(0)

    def _metropolis(self, rows: _Rows, source: Randomness, draws: int) -> Mixtures:
        target = MixtureMetropolis(self.prior, *rows)
        with threadpool_limits(limits=1, user_api="blas"):
            return metropolis_draws(
                target, source, draws=draws, burn_in=self.burn_in, thin=self.thin
            )

    def _nuts(self, rows: _Rows, source: Randomness, draws: int) -> Mixtures:
        target = MixtureNuts(self.prior, *rows, self.power)
        sampled = nuts_draws(target, source, draws=draws, warm_up=self.burn_in, thin=self.thin)
        return sampled.mixtures

    def log_likelihoods(self, draws: Theta, responses: Floats, design: Floats) -> Floats:
        """Shape (S, n); see `Regression`."""
        return self._power_sums(draws, responses, design, np.ones(len(responses)))

    def log_contributions(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        """Shape (S, n); see `Regression`."""
        if self.power == "marginal":
            return weights * self.log_likelihoods(draws, responses, design)
        return self._power_sums(draws, responses, design, weights)

    def _power_sums(
        self, draws: Theta, responses: Floats, design: Floats, weights: Floats
    ) -> Floats:
        mixtures = _mixtures(draws)
        whole = len(mixtures.log_shares) * max(1, len(responses))
        with threadpool_limits(limits=1, user_api="blas"):
            (sums,) = log_contributions(mixtures, responses, design, weights, chunk=whole)
        sums -= (1.0 - weights) * math.log(self.prior.components)
        return sums

    def numbers(self, theta: Theta, design: Floats, uniforms: Floats) -> Floats:
        """Shape (n,); see `Regression`."""
        free = np.full(len(design), -1, dtype=np.int64)
        return self.draw_given_labels(theta, design, free, uniforms)

    def labels(self, theta: Theta, responses: Floats, design: Floats, uniforms: Floats) -> Integers:
        """Shape (n,); see `Regression`."""
        mixtures = _mixtures({name: array[np.newaxis] for name, array in theta.items()})
        fitted = design @ np.swapaxes(mixtures.coefficients, 1, 2)
        records = np.ascontiguousarray(responses)[np.newaxis], np.ones((1, len(responses)))
        labels: Integers = drawn_labels(fitted, records, densities(mixtures), uniforms[np.newaxis])
        return np.asarray(labels[0])

    def draw_given_labels(
        self, theta: Theta, design: Floats, labels: Integers, uniforms: Floats
    ) -> Floats:
        """Shape (n,); see `Regression`."""
        ends = np.cumsum(np.exp(theta["log_shares"]))
        by_share = np.searchsorted(ends[:-1], uniforms[0] * ends[-1], side="right")
        components = np.where(labels >= 0, labels, by_share)
        fitted = design @ theta["coefficients"].T
        stddevs = np.sqrt(theta["variances"])
        middles = fitted[np.arange(len(design)), components]
        return np.asarray(middles + stddevs[components] * normal_quantiles(uniforms[1]))


def _mixtures(draws: Theta) -> Mixtures:
    return Mixtures(draws["log_shares"], draws["coefficients"], draws["variances"])
