"""Scores of the parameters of a generator: the pMSE, and censored likelihoods.

**How hard simulated records are to tell from the rows: the score of the pMSE mechanism.**

For a public set Z(θ) of ñ simulated records and a class 𝒯 of trees that is fixed beforehand, the
score of θ is

    q(θ) = min over T ∈ 𝒯 of SSE(T),   SSE(T) = Σ ab/(a + b) over the leaves of T,

a simulated records and b rows in a leaf: the larger, the less any tree can tell. In the terms of
the paper, with ñ = n, pMSE = 1/4 - q/(2n). With several sets Z₁(θ), …, Z_L(θ) q is their mean.

**Sensitivity.** Z does not depend on the rows: it is a function of θ and of numbers ω drawn before
they are seen. A row added raises q(θ) by something in [0, ñ/(ñ + 1)], for every θ; a row replaced
moves it by at most ñ/(ñ + 1) (`understudy.papers.trees_greedy` has the proof, and the counts
for which both are attained); a mean over sets keeps both. So Δ = ñ/(ñ + 1), **monotone** under
add/remove, where the exponent is ε·q/Δ; under replace it is ε·q/(2Δ), in the paper's terms ε(n +
1)·pMSE where it has ε·n·pMSE/2. A row with a value out of its column's domain, or in an impossible
combination of these columns, is left out: that is decided row by row, so neighbours remain
neighbours or become equal.

**Which size.** Where Z is nearly like the rows, q falls with the squared relative differences of
the leaves in proportion to c²/(1 + c)³, c = ñ/n. That is largest at c = 2, a fifth above c = 1. A
simulated record may count several times (`copies`), which is a set like any other: with many rows
that is cheaper than to simulate as many records.

**Rounding.** Counts are whole. The computed q of k leaves is off by less than k·2⁻⁵² of itself, and
neither falls when a row comes in nor rises when one leaves
(`understudy.papers.trees_greedy`). The lattice of the exponential mechanism
(`understudy.mechanisms.selection`) has steps of 2⁻²⁰Δ and room for 0.3 of one:
enough up to n·k = 2²⁹, half a billion rows for a stump, half a million for a tree of depth ten.

**As published** (`mode="paper"`): trees grown greedily, with a bound of 1/n on the pMSE, for rows
replaced and ñ = n: in units of q, Δ = 2. The bound is proven for optimal trees alone; greedy ones
exceed it (`tests/trees`, and the study `pmse-failure`), which the guarantee then says.

Source: Snoke & Slavković (2018), "pMSE Mechanism: Differentially Private Synthetic Data with
Maximal Distributional Similarity", §3 and theorem 4.1.

**Parameters of a public generator, chosen by how well they suit the rows.**

Either one of a public list, by the exponential mechanism, or where a Metropolis walk stands in the
end (what the promise then rests on is said below). Only the
chosen parameters leave; how often a walk moved depends on the rows, and is for the steward alone.

**Scores** tell how well each of some public points suits the rows; larger is better. Every one has

* `schema`, in whose states rows are, and `columns`, those of the rows that it looks at;
* `points`, the candidates, shape (G, p);
* `title` and `bound`, what candidates are judged by and the sensitivity, in the ledger's words;
* `monotone` and `sensitivity(neighbours)`: whether an added row moves the scores of all candidates
  one way, and the largest change of any of them between neighbouring tables, proved where the score
  is defined;
* `leaks(neighbours)`: its unpaid leaks; an error if it has no bound for these neighbours;
* `evaluate(coded)`: the score of each candidate, shape (G,), and `against(coded)`: the rows, to be
  compared with any parameters, one `score(theta)` after the other. Both CONFIDENTIAL; `coded` holds
  the states of all rows, one array per column of the schema.

The list is closed, since these see rows.

A Metropolis walk over parameters: the exponential mechanism over a continuous space, in the end.

The target has density ∝ π(θ)·exp(r·q(θ)), π a proper public prior and q a bounded score, so it is a
distribution. Each step proposes θ + w·z, z standard normal and w public widths, and goes there with
probability min(1, ratio of the densities). The score is deterministic (its simulated sets rest on
fixed numbers ω); with fresh sets at each step, as published, the walk would approach another
distribution.

**Guarantee**: only of the distribution that the walk approaches. After finitely many steps the
distribution of θ is another one, and nobody can measure by how much its ratio for neighbours
exceeds e^ε; so the promise is *conditional* on convergence. Start, widths and number of steps are
public; nothing is tuned to the rows. How often it moved says something of the rows, and is never
released.

Sources: Metropolis, Rosenbluth, Rosenbluth, Teller & Teller (1953), Journal of Chemical Physics 21;
McSherry & Talwar (2007) for the target.

**A posterior that is ε-DP at any number of records: each record's log-likelihood is censored.**

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
raises it: `understudy.mechanisms.selection.select` has the exponent ε·u/W under
add/remove and ε·u/(2W) under replace. The log ratio over θ has a range of ε, so the draw costs ε²/8
in ρ (`selection.zcdp_cost`). m draws of θ share the budget, each at ε/m; records drawn from one θ
are free, as many as wanted.

**Which width.** It is free, for any ε: W = ε (replace: ε/2) is the posterior itself, r = 1, as
published; a wider interval cuts less off, at a power r = ε/W (replace: ε/(2W)) below 1. A narrow
one keeps only the tip of each density. It then rewards the candidate that gives the highest density
to a few records, which is the smallest σ, and more records do not help. For normals take
W ≈ log(σ_max/σ_min) + 4 over the candidates, so that a record two to three σ off is not cut even
where σ is largest.
`tests/mechanisms/choices/test_censored_likelihood.py` compares them at ε = 1.

**What breaks it.** Weights made from the table: one record then moves the contributions of all, and
censoring does not help (`tests/mechanisms/choices/test_censored_likelihood.py`: width 1,
one record added, a log ratio of 5.50). Nothing here takes weights; a `Censoring` names a function
of the own record, from a closed list. A walk over θ in place of a list reaches this distribution
only in the limit, and its guarantee is conditional.

**Rounding.** A contribution is rounded to a whole number of W·2⁻³⁰, and sums are whole numbers: no
order of summation, no chunk and no other record has a part in what a record contributes. That asks
of a `RecordModel` that a record's log densities are the same bits whatever stands beside it. Scores
are whole numbers too, of sensitivity 2³⁰. Above 2⁵³ a score is rounded to the next float64,
by at most 2⁻⁵³ of itself: inside the clip of `selection` an eighth of one of its steps, which are
2¹⁰ of these. Its factor is a power of two here and rounds nothing, so its proof, with room for 0.3
of a step, stands for all n < 2³³, the largest n whose sums fit.

Sources: Hu, Williams & Savitsky (2022), arXiv 2205.05003 (the interval [-ε/2, ε/2]); Dimitrakakis
et al. (2017) for posterior draws as a mechanism; McSherry & Talwar (2007).

**The likelihood of one column given others, record by record and censored: a score of candidates.**

A candidate θ_g is judged by Σ c_i(θ_g) over the rows, c_i the censored logarithm of
P(state of the column | states of its parents; θ_g): the score below, whose proof
it rests on. So under add/remove a choice at ε has odds exp(ε·u/W), under replace exp(ε·u/(2W)), u
the score and W the width: the posterior, of the censored likelihood, to the power ε/W or ε/(2W).

What the proof asks for holds for these reasons.

* A record contributes a function of its own states: the column model is asked for one combination
  of the parents' states at a time (`ColumnGenerator`), so there is nothing else that its answer
  could depend on.
* A row without a state in one of the columns, or in an impossible combination of them, is left out:
  that is decided row by row, so neighbours stay neighbours or become equal.
* Contributions are whole numbers of steps. Equal rows are counted, and a count times a contribution
  is what they contribute together, exactly.

**Walks.** A walk goes where no list of candidates reaches, so a record's own peak is the supremum
over all θ. For the regressions of this software it is log 1 = 0, whatever the record: an intercept
far out, or a mean with a tiny σ, makes any state as good as certain. So over a continuum `own-peak`
*is* the form `interval` with the upper end 0, and that is what `against` wants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, Protocol, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from understudy._arrays import Codes, Floats
from understudy.dp.accountant import CHOICE
from understudy.dp.budget import Neighbours
from understudy.dp.confidential import CodedView, Diagnostic, PublicContext, SecretRows, known_rows
from understudy.dp.mechanism import Charge, Mechanism, Outcome, answer
from understudy.dp.perturbation import Mode
from understudy.dp.randomness import Randomness
from understudy.dp.released import ChosenParameters, Released
from understudy.errors import MethodError
from understudy.mechanisms.selection import Choosing, choice_charge
from understudy.papers.generators import ColumnGenerator, Prior, SimulatedColumn, SimulatedRecords
from understudy.papers.trees_exact import Trees
from understudy.papers.trees_greedy import Prepared, PreparedCounts, sensitivity
from understudy.schema import Schema

GREEDY = (
    "Simulated records were compared with the rows by trees grown greedily. The published bound on "
    "how much one row can change that comparison is proven for optimal trees; greedy ones exceed "
    "it, so one row can change the choice by more than ε says."
)
"""The unpaid leak of paper mode."""


@dataclass(frozen=True, eq=False)
class PropensityTrees:
    """The score of candidate parameters.

    Attributes:
        schema: in whose states rows and simulated records are.
        simulators: one for each set that a candidate is judged by, of the same columns and size.
        points: candidates, shape (G, p).
        trees: the class of trees, over the states of the columns.
        copies: how often each simulated record counts.
        mode: "strict"; or "paper", for the published bound on greedy trees.

    Raises:
        MethodError: trees that depend on the data in strict mode, or simulators that differ.
    """

    schema: Schema
    simulators: tuple[SimulatedColumn | SimulatedRecords, ...]
    points: Floats
    trees: Trees
    copies: int = 1
    mode: Mode = "strict"

    def __post_init__(self) -> None:
        """Check what is public, before anything is paid for."""
        if self.mode == "strict" and not self.trees.data_independent:
            raise MethodError(
                "These trees depend on the rows, so the score has no proven sensitivity; take a "
                "class that is fixed beforehand, or mode=paper."
            )
        if len({(simulator.columns, simulator.n_records) for simulator in self.simulators}) != 1:
            raise MethodError("The sets of a candidate need the same columns and size.")
        if self.copies < 1:
            raise MethodError("A simulated record counts once at least.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that rows and simulated records are compared in."""
        return self.simulators[0].columns

    @property
    def title(self) -> str:
        """Criterion by which candidates are judged, in words."""
        return self.trees.title

    @property
    def n_simulated(self) -> int:
        """ñ: simulated records of a set, copies counted."""
        return self.simulators[0].n_records * self.copies

    @property
    def monotone(self) -> bool:
        """True if an added row raises the scores of all candidates, if it moves them."""
        return self.mode == "strict"

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of any candidate's score between neighbouring tables."""
        if self.mode == "paper":
            return Fraction(2)
        return sensitivity(self.n_simulated)

    @property
    def bound(self) -> str:
        """The sensitivity in words; their number follows from the number of rows, where bought."""
        return "2, as published" if self.mode == "paper" else "s/(s + 1) of s simulated records"

    def leaks(self, neighbours: Neighbours) -> tuple[str, ...]:
        """The unpaid leaks of the score.

        Raises:
            MethodError: the published form has no bound for these neighbours.
        """
        if self.mode == "strict":
            return ()
        if neighbours != "replace":
            raise MethodError(
                "The published bound is for a replaced row and a public number of rows; declare "
                'rows = "public" and n_rows, or leave mode=paper out.'
            )
        return (GREEDY,)

    def evaluate(self, coded: Sequence[Codes]) -> Floats:
        """Score of each candidate, shape (G,).

        Args:
            coded: states of all rows, one array per column of the schema.
        """
        comparison = self.against(coded)
        return np.array([comparison.score(theta) for theta in self.points])

    def against(self, coded: Sequence[Codes]) -> Comparison:
        """The rows as the trees want them, to be compared with any simulated set. CONFIDENTIAL."""
        rows = _table(known_rows(coded, self.schema, self.columns))
        return Comparison(self, self.trees.prepare(rows))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Rows prepared for comparison. CONFIDENTIAL.

    Attributes:
        how: simulators, trees and copies.
        rows: what the class of trees made of the rows.
    """

    how: PropensityTrees
    rows: Prepared

    def score(self, theta: Floats) -> float:
        """q(θ), the mean over the sets."""
        return float(np.mean([self._one(each.codes(theta)) for each in self.how.simulators]))

    def _one(self, codes: Sequence[Codes]) -> float:
        table = _table(codes)
        if isinstance(self.rows, PreparedCounts):
            return float(
                self.rows.smallest_sses_of(self.rows.trees.counts(table) * self.how.copies)
            )
        return self.rows.smallest_sse(np.repeat(table, self.how.copies, axis=0))


def _table(codes: Sequence[Codes]) -> NDArray[Any]:
    """States as the trees read them, shape (n, p)."""
    return np.stack(codes, axis=1)


CONVERGENCE = (
    "The parameters were drawn by a Metropolis walk of finitely many steps; ε holds for the "
    "distribution that the walk approaches, as far as it has come near it."
)
"""The condition of the guarantee."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk, described by public numbers.

    Attributes:
        prior: of the parameters; proper.
        start: where it begins, shape (p,).
        widths: standard deviation of a proposed step by parameter, shape (p,).
        steps: how many.

    Raises:
        MethodError: no step, or widths that are not positive.
    """

    prior: Prior
    start: Floats
    widths: Floats
    steps: int

    def __post_init__(self) -> None:
        """Check what is public."""
        if self.steps < 1 or self.widths.shape != self.start.shape:
            raise MethodError("A walk needs a step at least, and a width for each parameter.")
        if not np.all(self.widths > 0):
            raise MethodError("The widths of a walk's steps must be positive.")


@dataclass(frozen=True, eq=False)
class Travelled(Diagnostic):
    """The course of a walk. CONFIDENTIAL but for where it ended.

    Attributes:
        end: where it stands, shape (p,).
        accepted: share of proposed steps that were taken.
        path: log density at each step, up to a constant, shape (steps + 1,).
    """

    end: Floats
    accepted: float
    path: Floats


def walk(how: Walk, log_weight: Callable[[Floats], float], source: Randomness) -> Travelled:
    """Walk, and stand where the last step led.

    Args:
        how: prior, start, widths, steps.
        log_weight: r·q(θ), finite.
        source: where the randomness comes from.
    """

    def height(theta: Floats) -> float:
        return float(how.prior.log_density(theta)) + log_weight(theta)

    p = len(how.start)
    theta, here, moved = how.start.copy(), height(how.start), 0
    path = np.empty(how.steps + 1)
    path[0] = here
    for step in range(how.steps):
        uniforms = source.uniforms(p + 1)
        proposed = theta + how.widths * scipy.special.ndtri(uniforms[:p])
        there = height(proposed)
        if np.log(uniforms[p]) < there - here:
            theta, here, moved = proposed, there, moved + 1
        path[step + 1] = here
    return Travelled(theta, moved / how.steps, path)


Form = Literal["interval", "own-peak", "own-weight", "own-range"]

STEPS: Final = 2**30
"""Whole numbers by which a contribution of the full width is counted. Public."""

_HUGE: Final = 1e300
_CHUNK: Final = 2**20


@dataclass(frozen=True, kw_only=True)
class Censoring:
    """A limit on a record's contribution: a public function of its own log densities, in [-W, 0].

    With ℓ(θ) = log f(y | θ) at the candidates:

    * `interval`: clip(ℓ, high - W, high) - high. `high` must lie where ℓ is: with
      high = W/2 = ε/2, as published, the log density of a normal with σ = 1, below -0.9, is always
      cut at the lower end, and the posterior is the prior. For normals and their mixtures with
      σ ≥ σ_min it is -log(σ_min √(2π));
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
                "table are not admitted: with those, censoring bounds nothing."
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
    """Name what candidates are judged by, in the words of the ledger."""
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
        """True if an added record moves the scores of all candidates one way: none up."""
        return True

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of a score between neighbours: one full width, for both relations."""
        return Fraction(STEPS)

    @property
    def bound(self) -> str:
        """The sensitivity in words."""
        return f"a record's log-likelihood, censored to a width of {self.censoring.width:g}"

    def evaluate(self, records: Floats, counts: Codes | None = None) -> Floats:
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
        self, records: Floats, counts: Codes | None = None, *, power: float = 1.0
    ) -> Floats:
        """Logarithms of P(θ), the distribution itself in floating point, shape (G,). CONFIDENTIAL.

        Args:
            records: shape (n, d).
            counts: how often each record stands in the table; None for once.
            power: r.
        """
        scores = self.evaluate(records, counts) * (power * self.censoring.width / STEPS)
        return np.asarray(scores - np.logaddexp.reduce(scores))


@dataclass(frozen=True, eq=False)
class Cells:
    """Densities of records that are states of the parents, then of the column.

    It is a `RecordModel`.

    Attributes:
        column_model: of the column.
        points: candidates, shape (G, p).
    """

    column_model: ColumnGenerator
    points: Floats

    def log_densities(self, records: Floats) -> Floats:
        """Shape (m, G); records of shape (m, parents + 1), whole numbers."""
        densities = np.empty((len(records), len(self.points)))
        states = records.astype(np.int64)
        changes = (states[1:, :-1] != states[:-1, :-1]).any(axis=1)
        for rows in np.split(np.arange(len(states)), 1 + np.flatnonzero(changes)):
            if len(rows):
                given, outcomes = states[rows[0], :-1], states[rows, -1]
                densities[rows] = self.column_model.log_shares(self.points, given, outcomes)
        return densities


@dataclass(frozen=True, eq=False)
class ColumnLikelihood:
    """The score of candidates for the parameters of one column; see the head of this file.

    Attributes:
        schema: in whose states rows are.
        column_model: of the column given its parents.
        points: candidates, shape (G, p).
        censoring: what a record contributes.
    """

    schema: Schema
    column_model: ColumnGenerator
    points: Floats
    censoring: Censoring

    @property
    def columns(self) -> tuple[str, ...]:
        """The parents, then the column."""
        return (*self.column_model.parents, self.column_model.column)

    @property
    def title(self) -> str:
        """Criterion by which candidates are judged, in words."""
        return censored_title(self.censoring)

    @property
    def bound(self) -> str:
        """The sensitivity in words."""
        return self._likelihood.bound

    @property
    def monotone(self) -> bool:
        """True if an added row moves the scores of all candidates one way: none up."""
        return self._likelihood.monotone

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """Largest change of a score between neighbours, in steps of the width."""
        return self._likelihood.sensitivity(neighbours)

    def leaks(self, neighbours: Neighbours) -> tuple[str, ...]:
        """Nothing is leaked unpaid."""
        return ()

    def evaluate(self, coded: Sequence[Codes]) -> Floats:
        """Score of each candidate, in steps of W·2⁻³⁰, shape (G,). CONFIDENTIAL.

        Args:
            coded: states of all rows, one array per column of the schema.
        """
        return self._likelihood.evaluate(*self._cells(coded))

    def against(self, coded: Sequence[Codes]) -> CellComparison:
        """The rows, counted by cell. CONFIDENTIAL.

        Raises:
            MethodError: another form than `interval`, which is the one a walk can have.
        """
        if self.censoring.form != "interval":
            raise MethodError("A walk knows no candidates; it needs the form interval.")
        return CellComparison(self, *self._cells(coded))

    @property
    def _likelihood(self) -> CensoredLikelihood:
        return CensoredLikelihood(Cells(self.column_model, self.points), self.censoring)

    def _cells(self, coded: Sequence[Codes]) -> tuple[Floats, NDArray[np.integer[Any]]]:
        """Cells that hold rows, those of the same parents side by side; and how many."""
        columns = known_rows(coded, self.schema, self.columns)
        place = np.zeros(len(columns[0]), dtype=np.int64)
        for states in columns:  # places of cells, numbered again each time: no product overflows
            wide = place * (1 + int(states.max(initial=0))) + states
            place = np.unique(wide, return_inverse=True)[1].ravel()
        _, first, counts = np.unique(place, return_index=True, return_counts=True)
        return np.stack([column[first] for column in columns], axis=1).astype(np.float64), counts


@dataclass(frozen=True, eq=False, repr=False)
class CellComparison:
    """Rows counted by cell. CONFIDENTIAL.

    Attributes:
        how: column model and censoring.
        cells: those that hold rows, shape (m, columns).
        counts: rows in each, shape (m,).
    """

    how: ColumnLikelihood
    cells: Floats
    counts: NDArray[np.integer[Any]]

    def score(self, theta: Floats) -> float:
        """The score of parameters, in steps of W·2⁻³⁰."""
        model = Cells(self.how.column_model, theta[None])
        likelihood = CensoredLikelihood(model, self.how.censoring)
        return float(likelihood.evaluate(self.cells, self.counts)[0])


CandidateScore = ColumnLikelihood | PropensityTrees
"""A score of candidate parameters."""


@dataclass(frozen=True)
class ListedParameters(Mechanism[Released[ChosenParameters], Choosing]):
    """One of the score's candidates.

    Attributes:
        score: the candidates, and how well each suits the rows.
        names: of the parameters.
    """

    name: ClassVar[str] = CHOICE
    needs_records: ClassVar[bool] = True

    score: CandidateScore
    names: Sequence[str]

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step.

        Raises:
            MethodError: a score for another schema, or one without a bound for these neighbours.
            BudgetError: more than is left, or next to nothing.
        """
        _require(self.score, self.names, terms)
        n = len(self.score.points)
        if not n:
            raise MethodError("There is no candidate to choose from.")
        query = candidates_query(n, self.score.columns, self.score.title)
        return (_charge(self.score, terms, query, spend),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[ChosenParameters]]:
        """Judge all of them, and pick one."""
        winner = charges[0].parameter.pick(self.score.evaluate(rows.states()), source)
        theta = self.score.points[winner]
        leaks = self.score.leaks(rows.view.neighbours)
        return answer(
            _publish_parameters(self.score, self.names, theta, rows.view), None, leaks=leaks
        )


@dataclass(frozen=True)
class WalkedParameters(Mechanism[Released[ChosenParameters], Choosing]):
    """Where a Metropolis walk stands in the end; the promise is conditional.

    Attributes:
        score: how well parameters suit the rows; its candidates play no part.
        names: of the parameters.
        how: prior, start, steps.
    """

    name: ClassVar[str] = CHOICE
    needs_records: ClassVar[bool] = True

    score: CandidateScore
    names: Sequence[str]
    how: Walk

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step; the cost is that of the distribution that the walk approaches.

        Raises:
            MethodError: as in `ListedParameters`.
            BudgetError: more than is left, or next to nothing.
        """
        _require(self.score, self.names, terms)
        query = walk_query(self.how.steps, self.score.columns, self.score.title)
        return (_charge(self.score, terms, query, spend, rest=Fraction(0)),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[ChosenParameters]]:
        """Walk, and tell the steward how it went."""
        against, rate = self.score.against(rows.states()), float(charges[0].parameter.rate)
        chain = walk(self.how, lambda theta: rate * against.score(theta), source)
        rows.tell(chain)
        return answer(
            _publish_parameters(self.score, self.names, chain.end, rows.view),
            None,
            leaks=self.score.leaks(rows.view.neighbours),
            unproved=(CONVERGENCE,),
        )


def candidates_query(n: int, columns: Sequence[str], title: str) -> str:
    """Describe what is asked of a list, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: one of {n:,} by {title}"


def walk_query(steps: int, columns: Sequence[str], title: str) -> str:
    """Describe what is asked of a walk, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: a walk of {steps:,} steps by {title}"


def _require(score: CandidateScore, names: Sequence[str], terms: PublicContext) -> None:
    if score.schema is not terms.schema:
        raise MethodError("The score relies on what another schema makes public.")
    if score.points.ndim != 2 or score.points.shape[1] != len(names):
        raise MethodError("Each parameter of a candidate needs a name.")
    score.leaks(terms.neighbours)  # refuses neighbours for which it has no bound


def _charge(
    score: CandidateScore,
    terms: PublicContext,
    query: str,
    spend: Fraction,
    *,
    rest: Fraction | None = None,
) -> Charge[Choosing]:
    return choice_charge(
        terms,
        query,
        sensitivity=score.sensitivity(terms.neighbours),
        monotone=score.monotone,
        cells=1,
        spend=spend,
        stated=score.bound,
        rest=rest,
    )


def _publish_parameters(
    score: CandidateScore, names: Sequence[str], theta: Floats, view: CodedView
) -> ChosenParameters:
    values = tuple(float(value) for value in np.asarray(theta))
    return ChosenParameters(score.columns, tuple(names), values, view.bins_of(score.columns))
