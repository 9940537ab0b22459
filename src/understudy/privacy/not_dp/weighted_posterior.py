r"""The pseudo posterior mechanism: parameters drawn under record weights that follow their risk.

1. Draw θ₁, …, θ_S from the plain posterior; L_hi = |log f(x_i | θ_h)| for every record.
2. Δ is an upper quantile of max_i L_hi over the draws; those above it are dropped.
3. Δ_i = max_h L_hi over the draws kept says how much a record stands out.
4. Weights α_i fall as Δ_i rises (`Weighting` has other forms).
5. Draw from the pseudo posterior ∝ p(θ)·∏ c_i(θ), in which a record of weight α_i contributes c_i,
   f^α_i or what a sampler has in its place (`column_model`); steps 1 and 2 again, with |log c_i|:
   Δ_α.

A synthetic set is made from one of the draws kept in step 5, taken at random, and no two sets from
one.

**Guarantee: none at a finite number of records**, for the reasons in `record_weights`. That the
bound is of these records and these draws, that one record moves the weights of others, and that
records say which draws are dropped, holds for each form of weights. As the number of records grows
the claim of the source is ε = 2Δ_α a draw, for a model whose posterior contracts and records that
fill the space of values.

θ leaves by `understudy.privacy.not_dp.pseudo_posterior_draw` alone, one draw at a time;
everything else here is CONFIDENTIAL, and for the steward.

**Cost**: one chain for `unweighted` and `count`, two for `vector`, two or three for `scalar`, and
one more to reweight; and twice S·n log-likelihoods for each. Linear algebra runs in one thread: its
matrices are small, and more threads would wait for each other more than they compute.

Source: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1 and §3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from understudy.errors import MethodError
from understudy.privacy.internal import Diagnostic
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.record_weights import (
    LipschitzBounds,
    lipschitz_bounds,
    reweighted,
    scalar_weight,
    vector_weights,
)
from understudy.privacy.not_dp.weighting_spec import Weighting, isolation_weights
from understudy.privacy.samplers.column_model import Floats, Records, Theta
from understudy.privacy.samplers.column_sequence import SequentialModel
from understudy.privacy.samplers.numeric_column import NumberModel


@dataclass(frozen=True, eq=False, repr=False)
class FittedPosterior(Diagnostic):
    """Draws under weights, and what became of the weights. CONFIDENTIAL.

    Attributes:
        theta: all draws of the last chain, leading axis (S,).
        weights: α, shape (n,).
        before: bounds under the plain posterior; None where weights do not need them.
        after: bounds of |log c_i| in the last chain.
        order: its draws that were kept, in the random order in which they are released.
    """

    theta: Theta
    weights: Floats
    before: LipschitzBounds | None
    after: LipschitzBounds
    order: NDArray[np.int64]

    def draw(self, k: int) -> Theta:
        """The k-th draw to be released, from 0, without the leading axis."""
        place = self.order[k]
        return {name: values[place] for name, values in self.theta.items()}


@dataclass(frozen=True, eq=False)
class PseudoPosterior:
    """The mechanism, described by public numbers.

    Attributes:
        column_model: of the sensitive columns.
        weighting: of the records.
        draws: S of each chain.

    Raises:
        MethodError: no draw, count weights for something else than one numeric column, or an
            intruder's column that is no predictor.
    """

    column_model: SequentialModel
    weighting: Weighting = field(default_factory=Weighting)
    draws: int = 500

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.draws < 1:
            raise MethodError("A pseudo posterior needs one draw at least.")
        if self.weighting.form == "count":
            self._require_countable()

    @property
    def releasable(self) -> int:
        """How many draws can be released, whatever the rows: so many are kept at least."""
        return max(1, math.floor(self.weighting.level * self.draws))

    def fit(
        self, records: Records, source: Randomness, *, before: LipschitzBounds | None = None
    ) -> FittedPosterior:
        """Steps (1) to (5).

        Args:
            records: all columns of the model, n ≥ 0 records.
            source: where the randomness comes from.
            before: bounds under the plain posterior that other weights were made from too; None
                finds them.
        """
        with threadpool_limits(limits=1):  # small matrices: more threads wait for each other
            before, weights = self._weights(records, source, before)
            theta, after = self._chain(records, weights, source)
            if self.weighting.reweight is not None:
                weights = reweighted(weights, after.by_record, share=self.weighting.reweight)
                theta, after = self._chain(records, weights, source)
        kept = np.flatnonzero(after.kept)
        return FittedPosterior(theta, weights, before, after, kept[source.permutation(len(kept))])

    def _weights(
        self, records: Records, source: Randomness, before: LipschitzBounds | None
    ) -> tuple[LipschitzBounds | None, Floats]:
        """Bounds under the plain posterior, where they are needed, and the weights."""
        form, ones = self.weighting.form, np.ones(_size(records))
        if form == "count":
            return None, self._counted(records)
        if not self.weighting.compares:
            return None, ones
        if before is None:
            _, before = self._chain(records, ones, source)
        by_risk = vector_weights(
            before.by_record, scale=self.weighting.scale, shift=self.weighting.shift
        )
        if form == "vector":
            return before, by_risk
        bound = self.weighting.bound
        if bound is None:
            bound = self._chain(records, by_risk, source)[1].bound
        return before, ones * _one_weight(bound, before.bound)

    def _chain(
        self, records: Records, weights: Floats, source: Randomness
    ) -> tuple[Theta, LipschitzBounds]:
        """Draws under weights, and the bounds of what records contribute."""
        theta = self.column_model.posterior(records, weights, source, draws=self.draws)
        bounds = lipschitz_bounds(
            lambda: self.column_model.log_contributions(theta, records, weights),
            level=self.weighting.level,
        )
        return theta, bounds

    def _counted(self, records: Records) -> Floats:
        (column_model,) = self.column_model.column_models
        assert isinstance(column_model, NumberModel)
        names = self.weighting.columns or self.column_model.given
        given = [records[name] for name in names]
        return isolation_weights(
            column_model.declared, records[column_model.column], given, self.weighting.radius
        )

    def _require_countable(self) -> None:
        column_models = self.column_model.column_models
        if len(column_models) != 1 or not isinstance(column_models[0], NumberModel):
            raise MethodError(
                "Count weights compare the values of one numeric column among records with the "
                "same predictors; name that column alone as sensitive, or take other weights."
            )
        unknown = [name for name in self.weighting.columns if name not in self.column_model.given]
        if unknown:
            raise MethodError(
                f"The intruder's columns are predictors that stay: {', '.join(unknown)} is none."
            )


def _one_weight(bound: float, plain: float) -> float:
    """α = Δ_α/Δ, at most 1; 0 where the wanted bound is 0, as of no records."""
    if not np.isfinite(plain):
        return 0.0
    return scalar_weight(2 * bound, plain) if bound > 0 else float(plain == 0)


def _size(records: Records) -> int:
    """Number of records."""
    return next((len(drawn.states) for drawn in records.values()), 0)
