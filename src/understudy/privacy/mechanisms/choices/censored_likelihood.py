r"""A posterior that is ε-DP at any number of records: each record's log-likelihood is censored.

Candidates θ₁, …, θ_G are public and laid by the prior: drawn from it, or equally likely under it.
A record i contributes c_i(θ) ∈ [-W, 0], its log-likelihood cut to an interval of width W, less the
upper end (`Censoring`); the score of θ is u(θ) = Σ c_i(θ) ≤ 0, and θ is drawn with

    P(θ) ∝ exp(r·u(θ)),

the posterior of the censored likelihood to the power r. Without records it is the prior.

**Theorem.** Let each c_i be a function of record i alone, with values in an interval of width W.
Then the draw is rW-DP under add/remove and 2rW-DP under replace, at every n and for every prior.
Smaller figures hold for no model with two candidates that some records tell apart by all of W.

*Proof.* Let a record with contribution c join the table D. Then

    P_{D+}(θ)/P_D(θ) = e^{r·c(θ)} / E_D[e^{r·c}],

where numerator and mean lie between e^{r·lo} and e^{r·hi}, hi - lo = W. So the ratio lies between
e^{-rW} and e^{rW}; where lo and hi are does not matter. Replacing is removing and adding. *Tight*:
take two candidates, contributions a = (hi, lo) and b = (lo, hi), and a table of n times b. With
odds e^{-nrW} of the first candidate, one more a multiplies its probability by e^{rW} up to a factor
1 + O(e^{-(n-1)rW}), and a b replaced by an a by e^{2rW}. ∎

**In terms of the exponential mechanism** u is a score of sensitivity W, *monotone*, as no record
raises it: `understudy.privacy.selection.exponential_mechanism.select` has the exponent ε·u/W under
add/remove and ε·u/(2W) under replace. The log ratio over θ has a range of ε, so the draw costs ε²/8
in ρ (`selection.zcdp_cost`). m draws of θ share the budget, each at ε/m; records drawn from one θ
are free, as many as wanted.

**Which width.** It is free, for any ε: W = ε (replace: ε/2) is the posterior itself, r = 1, as
published; a wider interval cuts less off, at a power r = ε/W (replace: ε/(2W)) below 1. A narrow
one keeps only the tip of each density. It then rewards the candidate that gives the highest density
to a few records, which is the smallest σ, and more records do not help. For normals take
W ≈ log(σ_max/σ_min) + 4 over the candidates, so that a record two to three σ off is not cut even
where σ is largest.
`tests/privacy/mechanisms/choices/test_censored_likelihood.py` compares them at ε = 1.

**What breaks it.** Weights made from the table: one record then moves the contributions of all, and
censoring does not help (`tests/privacy/mechanisms/choices/test_censored_likelihood.py`: width 1,
one record added, a log ratio of 5.50). Nothing here takes weights; a `Censoring` names a function
of the own record, from a closed list. A walk over θ in place of a list reaches this distribution
only in the limit, and its guarantee is conditional (`understudy.privacy.selection.metropolis`).

**Rounding.** A contribution is rounded to a whole number of W·2⁻³⁰, and sums are whole numbers: no
order of summation, no chunk and no other record has a part in what a record contributes. That asks
of a `RecordModel` that a record's log densities are the same bits whatever stands beside it. Scores
are whole numbers too, of sensitivity 2³⁰. Above 2⁵³ a score is rounded to the next float64,
by at most 2⁻⁵³ of itself: inside the clip of `selection` an eighth of one of its steps, which are
2¹⁰ of these. Its factor is a power of two here and rounds nothing, so its proof, with room for 0.3
of a step, stands for all n < 2³³, the largest n whose sums fit.

Sources: Hu, Williams & Savitsky (2022), arXiv 2205.05003 (the interval [-ε/2, ε/2]); Dimitrakakis
et al. (2017) for posterior draws as a mechanism; McSherry & Talwar (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Neighbours

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]

Form = Literal["interval", "own-peak", "own-weight", "own-range"]

STEPS: Final = 2**30
"""Whole numbers by which a contribution of the full width is counted. Public."""

_HUGE: Final = 1e300
_CHUNK: Final = 2**20


@dataclass(frozen=True, kw_only=True)
class Censoring:
    """What a record may contribute: a public function of its own log densities, in [-W, 0].

    With ℓ(θ) = log f(y | θ) at the candidates:

    * `interval`: clip(ℓ, high - W, high) - high. `high` must lie where ℓ is: with
      high = W/2 = ε/2, as published, the log density of a normal with σ = 1, below -0.9, is always
      cut at the lower end, and the posterior is the prior. For normals and their mixtures with
      σ ≥ σ_min it is `normal_ceiling(σ_min)`;
    * `own-peak`: max(ℓ - max ℓ, -W), max over the candidates. It needs no `high`, does not depend
      on the unit of y, and spends no width between a record's own peak and a common ceiling;
    * `own-weight`: w·ℓ - W/2, w = min(1, (W/2)/max|ℓ|), which no interval cuts: the record that
      stands out is weighted down, and never cut. Where log f ≤ 0, as over states, it takes up only
      half of the width, and realises half of ε;
    * `own-range`: (ℓ - max ℓ)·min(1, W/(max ℓ - min ℓ)), the same with no width lost.

    The last two give a record little weight as soon as any candidate is far from it, so they learn
    slowly; and they weigh records by their own value, most of all those that suit all candidates,
    so the posterior leans to the middle of the candidates. Both once W is below the range of ℓ,
    where W·r = ε is all that counts. Take `own-peak` unless there is a reason.

    A log density that is not a number counts as -∞.

    Attributes:
        form: which of these functions.
        width: W, public.
        high: upper end of the interval, public; for `interval` only.

    Raises:
        MethodError: an unknown form, a width that is not a positive number, an upper end missing or
            without use.
    """

    form: Form
    width: float
    high: float | None = None

    def __post_init__(self) -> None:
        """Check what is public."""
        if not isinstance(self.form, str) or self.form not in get_args(Form):
            raise MethodError(
                f"A record's contribution is one of {', '.join(get_args(Form))}. Weights from the "
                "table are none of them: with those, censoring bounds nothing."
            )
        if not 1e-100 < self.width < 1e100:
            raise MethodError("The width of the interval must be a positive number.")
        if (self.form == "interval") != (self.high is not None and np.isfinite(self.high)):
            raise MethodError("The form interval needs a finite upper end, and no other has one.")

    def contributions(self, log_densities: Floats) -> Floats:
        """c(θ) of each record.

        Args:
            log_densities: ℓ, shape (…, G): each record's at all candidates, along the last axis.
                For `interval` alone, where each number stands for itself, any shape.

        Returns:
            The same shape, in [-W, 0].
        """
        width = self.width
        values = np.nan_to_num(log_densities, nan=-_HUGE, posinf=_HUGE, neginf=-_HUGE)
        values = np.clip(values, -_HUGE, _HUGE)
        if self.form == "interval":
            values -= self.high or 0.0
        elif self.form == "own-weight":
            largest = np.abs(values).max(axis=-1, keepdims=True, initial=width / 2)
            values = values * (width / 2 / largest) - width / 2
        else:
            values -= values.max(axis=-1, keepdims=True, initial=-_HUGE)
        if self.form == "own-range":
            values *= width / -values.min(axis=-1, keepdims=True, initial=-width)
        return np.clip(values, -width, 0.0, out=values)

    def steps(self, log_densities: Floats) -> NDArray[np.int64]:
        """c(θ) in whole numbers of W·2⁻³⁰: from -2³⁰ to 0, the same shape."""
        return np.rint(self.contributions(log_densities) * (STEPS / self.width)).astype(np.int64)


def censored_title(censoring: Censoring) -> str:
    """What candidates are judged by, in the words of the ledger."""
    return f"likelihoods censored to a width of {censoring.width:g} ({censoring.form})"


class RecordModel(Protocol):
    """Densities of one record at public candidates.

    Attributes:
        points: parameters θ of the candidates, shape (G, p).
    """

    @property
    def points(self) -> Floats:
        """Parameters of the candidates, shape (G, p)."""
        ...

    def log_densities(self, records: Floats) -> Floats:
        """Logarithms of f(y | θ), each row from its own record, the same bits in any company.

        Args:
            records: shape (m, d).

        Returns:
            Shape (m, G).
        """
        ...


@dataclass(frozen=True, eq=False)
class CensoredLikelihood:
    """The score of candidate parameters; see the head of this file.

    Attributes:
        model: candidates, and the densities of records.
        censoring: what a record contributes.
    """

    model: RecordModel
    censoring: Censoring

    @property
    def points(self) -> Floats:
        """Candidates, shape (G, p)."""
        return self.model.points

    @property
    def monotone(self) -> bool:
        """Whether an added record moves the scores of all candidates one way: none up."""
        return True

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of a score between neighbours: one full width, for both relations."""
        return Fraction(STEPS)

    @property
    def bound(self) -> str:
        """The sensitivity in words."""
        return f"a record's log-likelihood, censored to a width of {self.censoring.width:g}"

    def posterior_epsilon(self, neighbours: Neighbours) -> float:
        """ε of a draw with r = 1, the posterior to the power one: W, or 2W under replace."""
        return self.censoring.width * (1 if neighbours == "add_remove" else 2)

    def evaluate(self, records: Floats, counts: Integers | None = None) -> Floats:
        """Score of each candidate, in steps of W·2⁻³⁰. CONFIDENTIAL.

        Args:
            records: shape (n, d).
            counts: how often each record stands in the table, shape (n,); None for once.

        Returns:
            Whole numbers ≤ 0, shape (G,).
        """
        total = np.zeros(len(self.points), dtype=np.int64)
        length = max(1, _CHUNK // max(1, len(self.points)))
        for start in range(0, len(records), length):
            part = slice(start, start + length)
            steps = self.censoring.steps(self.model.log_densities(records[part]))
            total += steps.sum(axis=0) if counts is None else counts[part].astype(np.int64) @ steps
        return total.astype(np.float64)

    def log_probabilities(
        self, records: Floats, counts: Integers | None = None, *, power: float = 1.0
    ) -> Floats:
        """Logarithms of P(θ), the distribution itself in floating point, shape (G,). CONFIDENTIAL.

        Args:
            records: shape (n, d).
            counts: how often each record stands in the table; None for once.
            power: r.
        """
        scores = self.evaluate(records, counts) * (power * self.censoring.width / STEPS)
        return np.asarray(scores - np.logaddexp.reduce(scores))
