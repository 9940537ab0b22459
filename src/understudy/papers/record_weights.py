"""Record weights from Lipschitz bounds, as the pseudo posterior mechanism makes them.

Posterior draws θ₁, …, θ_S give a matrix L_hi = |log f(y_i | θ_h)|, S × n, read in chunks of draws.

1. Δ_h = max_i L_hi for each draw; Δ is the upper `level` quantile of them, one that is attained;
   draws with Δ_h > Δ are dropped.
2. Δ_i = max_h L_hi over the draws kept, so that max_i Δ_i = Δ.
3. Δ̃_i = (Δ_i - min)/(max - min), and α_i = clip(c·(1 - Δ̃_i) + g, 0, 1): `vector_weights`.
4. The pseudo posterior ∝ prior·∏ f(y_i | θ)^α_i is drawn from, and steps 1 and 2 repeated with
   α_i·L_hi: its bound Δ_α, and what the paper calls ε = 2Δ_α a draw.

The other weights: one α for all records (`scalar_weight`), the exponential mechanism with the
log-likelihood as its score; and α_i^w = k·α_i·Δ_α/Δ_{α,i} (`raise_weights`), which raises the
weight of each record whose bound lies below that of the worst.

**Guarantee: none at a finite number of records.** 2Δ_α is *not* an ε of differential privacy:

* Δ_α is a maximum over *these* records and over the parameters that happened to be drawn. DP bounds
  all tables and all parameters, and log f is unbounded in both;
* Δ̃ is scaled by the smallest and largest Δ_i, so one record that changes moves the weights of all
  others, and the contributions of n records with it, not of one;
* which draws are dropped depends on the rows;
* theorem 3 of the paper lets the records fill the space of values as n grows. No table has values
  everywhere, and what is rare, where it has none, is what needs protection.

`tests/papers/not_dp/test_record_weights.py` shows it: 100 records, one replaced by an outlier, and
densities of the same θ that differ by a factor e³⁴⁹ where the two tables say 2Δ_α = 14 and 16. Nor
does 2Δ cover a replaced record by the paper's own argument, which is for one added or removed:
replacing is both, and 4Δ. The figures are made from the rows and unprotected; they are INTERNAL.

Whoever wants a bound that holds takes `understudy.papers.generator_scores`.

Sources: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1 (steps, eq. 26), §3.2 (eqs. 27-29), theorems 2 and 3; Hu, Savitsky & Williams (2020),
arXiv 2006.01230, for the second weighting.

**The pseudo posterior mechanism: parameters drawn under record weights that follow their risk.**

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

θ leaves by `understudy.papers.pseudo_posterior` alone, one draw at a time;
everything else here is CONFIDENTIAL, and for the steward.

**Cost**: one chain for `unweighted` and `count`, two for `vector`, two or three for `scalar`, and
one more to reweight; and twice S·n log-likelihoods for each. Linear algebra runs in one thread: its
matrices are small, and more threads would wait for each other more than they compute.

Source: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1 and §3.2.

**How records are weighted in a pseudo posterior, described by public numbers.**

* `unweighted`: α_i = 1, the plain posterior, as a baseline.
* `vector`: α_i falls with the record's Lipschitz bound under the plain posterior, from c + g where
  it is smallest to g where it is largest (`record_weights`).
* `scalar`: one α for all records, the exponential mechanism with the log-likelihood as its score;
  such that the largest bound would come down to a wanted one, were the parameters to stay.
* `count`: the share of the records with the same predictors whose value lies near the record's own
  (below). It is for one numeric column given others. A code of absence is near itself alone.

None of them makes a guarantee of differential privacy: each weight depends on other records.

**Weights by count** tell how isolated a record's value is among those like it. A record i with
public pattern p (its combination of predictors) has the isolation risk

    IR_i = share of the records h of pattern p, itself among them, with |y_h - y_i| > r,

the chance that a guess at random among them misses y_i by more than r; and the weight
α_i = 1 - IR_i, the share within r. The only record of a pattern counts itself alone, and so weighs
1: this measure does not see that whoever knows the pattern knows the record. Which predictors make
the pattern is what the intruder is supposed to know (`columns`): with many of them most records
are alone and weigh 1, with few of them most weigh little.

A weight by count carries no guarantee, as a weight is a function of the values of all records of
the pattern, and one record replaced moves them all. The risk rests on how an intruder is supposed
to guess; the pseudo posterior under these weights has a Lipschitz bound (`record_weights` beside
this file), which is as little a guarantee as with any other weights from the rows.

**How it is computed.** Values are sorted within each pattern. The computed difference y_h - y_i
never falls as y_h rises (rounding is monotone), so the records within r are one run, whose two ends
are found by bisection on that very difference: O(n log n), and the same answer as comparing all
pairs, to the last bit.

Sources: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy", §3.1, §3.2 and §4, with its "count-weighted" synthesizer; Hu & Savitsky (2019), arXiv
1901.06462.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from understudy._arrays import Codes, Floats, compiled
from understudy.dp.confidential import Diagnostic
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.features.grids import Drawn
from understudy.papers.column_models import NumberModel, SequentialModel
from understudy.papers.sampling_base import Records, Theta
from understudy.schema import NUMERIC, Column

Chunks = Callable[[], Iterable[Floats]]
"""Reads the matrix of log-likelihoods again: its rows, one per draw, some (s, n) at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class LipschitzBounds:
    """The largest log-likelihoods. CONFIDENTIAL: all of it is made from the rows.

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


def raise_weights(weights: Floats, by_record: Floats, *, share: float = 1.0) -> Floats:
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


def isolation_risks(values: Floats, patterns: Codes, radius: float | Floats) -> Floats:
    """IR_i of each record, O(n log n).

    A value that is not a finite number is within r of none, itself included: its risk is 1.

    Args:
        values: y, shape (n,).
        patterns: number of each record's pattern, shape (n,).
        radius: r ≥ 0, in the unit of the values; or one for each record, which is a public
            function of its own value, shape (n,).

    Returns:
        Shape (n,), in [0, 1].

    Raises:
        MethodError: a single radius below 0 or not a number, or lengths that differ.
    """
    if np.ndim(radius) == 0 and not radius >= 0:
        raise MethodError("The radius of the isolation risk must be 0 or more.")
    if values.ndim != 1 or patterns.shape != values.shape:
        raise MethodError("Isolation risks need a pattern for each value.")
    values = np.asarray(values, dtype=np.float64)
    clean = np.where(np.isfinite(values), values, np.inf)
    order = np.lexsort((clean, patterns))
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), values.shape)[order]
    risks = np.empty(len(values))
    risks[order] = _risks(clean[order], _starts(patterns[order]), radii)
    return risks


def count_weights(values: Floats, patterns: Codes, radius: float | Floats) -> Floats:
    """α_i = 1 - IR_i, shape (n,); arguments as for `isolation_risks`.

    >>> count_weights(np.array([1.0, 2.0, 9.0, 9.0]), np.array([0, 0, 0, 1]), 1.0).round(3).tolist()
    [0.667, 0.667, 0.333, 1.0]
    """
    return 1 - isolation_risks(values, patterns, radius)


def _starts(patterns: Codes) -> NDArray[np.int64]:
    """Find where the patterns begin, and n at the end; patterns ascending."""
    changes = np.flatnonzero(patterns[1:] != patterns[:-1]) + 1
    ends = [len(patterns)] if len(patterns) else []
    return np.array([0, *changes, *ends], dtype=np.int64)


@compiled
def _risks(values: Floats, starts: NDArray[np.int64], radii: Floats) -> Floats:
    """Risks of records sorted by pattern, then by value, infinite values last (kernel)."""
    risks = np.ones(values.size)
    for place in range(starts.size - 1):
        start, stop = starts[place], starts[place + 1]
        for i in range(start, stop):
            if values[i] < np.inf:
                within = _end(values, i, stop, radii[i]) - _begin(values, start, i, radii[i])
                risks[i] = 1 - max(within, 0) / (stop - start)
    return risks


@compiled
def _end(values: Floats, i: int, high: int, radius: float) -> int:
    """First record from i on with values[h] - values[i] > radius (kernel)."""
    low = i
    while low < high:
        middle = (low + high) // 2
        if values[middle] < np.inf and values[middle] - values[i] <= radius:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _begin(values: Floats, low: int, i: int, radius: float) -> int:
    """First record up to i with values[i] - values[h] ≤ radius (kernel)."""
    high = i
    while low < high:
        middle = (low + high) // 2
        if values[i] - values[middle] <= radius:
            high = middle
        else:
            low = middle + 1
    return low


Form = Literal["unweighted", "vector", "scalar", "count"]

_APART: Final = 2.0**1000
"""From one state of absence to the next, where values are compared: farther than any radius."""


@dataclass(frozen=True, kw_only=True)
class Weighting:
    """A form of weights and its numbers, all of them public.

    Attributes:
        form: which.
        scale: c ≥ 0, of vector weights.
        shift: g, of vector weights.
        level: of the quantile of Δ_h above which a draw is dropped, in (0, 1]; 1 drops none.
        bound: of scalar weights, the wanted Lipschitz bound Δ_α; None: that which vector weights
            of the same c and g reach.
        radius: of count weights, how far a value lies from one near it, as a part of its size.
        columns: of count weights, the predictors that the intruder is supposed to know; none
            are all.
        reweight: k in (0, 1]: weights are then raised once, to k·α_i·Δ_α/Δ_{α,i}; None leaves
            them.

    Raises:
        MethodError: a number out of range.
    """

    form: Form = "vector"
    scale: float = 1.0
    shift: float = 0.0
    level: float = 0.95
    bound: float | None = None
    radius: float = 0.2
    reweight: float | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what is public."""
        if not (0 <= self.scale < math.inf and abs(self.shift) < math.inf):
            raise MethodError("Weights need a scale of 0 or more, and a finite shift.")
        if not 0 < self.level <= 1:
            raise MethodError(
                f"The quantile that truncates the draws is in (0, 1], not {self.level}."
            )
        if self.bound is not None and not 0 < self.bound < math.inf:
            raise MethodError("The wanted bound of scalar weights must be positive and finite.")
        if not 0 <= self.radius < math.inf:
            raise MethodError("The radius of count weights must be 0 or more, and finite.")
        if self.columns and self.form != "count":
            raise MethodError("The intruder's columns are for count weights; leave them out.")
        if self.reweight is not None and self.form == "unweighted":
            raise MethodError("There are no weights to raise; take reweight with other weights.")
        if self.reweight is not None and not 0 < self.reweight <= 1:
            raise MethodError(f"The share of the bound is in (0, 1], not {self.reweight}.")

    @property
    def compares(self) -> bool:
        """True if weights are made from the bounds of the plain posterior."""
        return self.form in ("vector", "scalar")


def isolation_weights(
    column: Column, drawn: Drawn, given: Sequence[Drawn], radius: float
) -> Floats:
    """Count weights of records of one numeric column. CONFIDENTIAL.

    Args:
        column: as the schema declares it.
        drawn: the column, n records.
        given: the predictors; records with the same states have one pattern.
        radius: as a part of the size of a record's own value.

    Returns:
        α, shape (n,).
    """
    values, radii = _comparable(column, drawn, radius)
    return count_weights(values, _patterns(given, len(values)), radii)


def _comparable(column: Column, drawn: Drawn, radius: float) -> tuple[Floats, Floats]:
    """Values that can be compared, and how far one near them lies; each of shape (n,)."""
    assert isinstance(column, NUMERIC)
    assert drawn.numbers is not None
    spikes = [interval.low if interval.spike else 0.0 for interval in column.intervals]
    codes = [_APART * (k + 1) for k in range(column.size - column.n_ordinary)]
    named = np.array([*spikes, *codes], dtype=np.float64)[drawn.states]
    values = np.where(np.isnan(drawn.numbers), named, drawn.numbers)
    return values, np.where(values < _APART, radius * np.abs(values), 0.0)


def _patterns(given: Sequence[Drawn], n: int) -> NDArray[np.int64]:
    """Number of each record's combination of states, shape (n,)."""
    patterns = np.zeros(n, dtype=np.int64)
    for drawn in given:
        pairs = np.stack([patterns, drawn.states])
        _, patterns = np.unique(pairs, axis=1, return_inverse=True)
    return patterns.reshape(-1).astype(np.int64)


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
        """Number of draws that can be released, whatever the rows: so many are kept at least."""
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
                weights = raise_weights(weights, after.by_record, share=self.weighting.reweight)
                theta, after = self._chain(records, weights, source)
        kept = np.flatnonzero(after.kept)
        return FittedPosterior(theta, weights, before, after, kept[source.permutation(len(kept))])

    def _weights(
        self, records: Records, source: Randomness, before: LipschitzBounds | None
    ) -> tuple[LipschitzBounds | None, Floats]:
        """Bounds under the plain posterior, where they are needed, and the weights."""
        form, ones = self.weighting.form, np.ones(_size(records))
        if form == "count":
            return None, self._weigh_isolation(records)
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

    def _weigh_isolation(self, records: Records) -> Floats:
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
                f"The intruder's columns are predictors that stay, and {', '.join(unknown)} is not "
                "one."
            )


def _one_weight(bound: float, plain: float) -> float:
    """α = Δ_α/Δ, at most 1; 0 where the wanted bound is 0, as of no records."""
    if not np.isfinite(plain):
        return 0.0
    return scalar_weight(2 * bound, plain) if bound > 0 else float(plain == 0)


def _size(records: Records) -> int:
    """Number of records."""
    return next((len(drawn.states) for drawn in records.values()), 0)
