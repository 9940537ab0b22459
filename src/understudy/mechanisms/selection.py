"""The exponential mechanism over a finite list, drawn exactly (McSherry & Talwar 2007).

**Distribution.** P(i) ∝ exp(r·gᵢ) with r ≤ ε/(2Δ'), or r ≤ ε/Δ' if the score is monotone (one added
record moves all scores the same way). gᵢ is the score uᵢ in steps of Δ/2ᵏ, k = `LATTICE_BITS`
public, rounded to an integer, and Δ' = 2ᵏ + 1.

**Rounding is paid for.** Let f be the float64 nearest to 2ᵏ/Δ and g = rint(clip(f·u, ±2⁵⁰)).
Forming and multiplying by f has relative error below 2⁻⁵¹·⁹, so |g - 2ᵏu/Δ| < 1/2 + 0.3 < 1 inside
the clip, and clipping never moves two numbers apart. For neighbours 2ᵏ|u - u'|/Δ ≤ 2ᵏ, so
|g - g'| < 2ᵏ + 2, and being an integer |g - g'| ≤ 2ᵏ + 1 = Δ'. Each step of u ↦ g is
non-decreasing, so scores that all move one way still do. Hence the integer scores g have
sensitivity Δ' and the mechanism below is ε-DP by the standard proof, with no further rounding. The
price is a factor 1 + 2⁻²⁰ in ε. If r has terms too large for 64-bit arithmetic it is rounded
*down*.

**Exact draw.** With γᵢ = r·(max g - gᵢ) ≥ 0 rational, propose i uniformly and accept it with
Bernoulli(exp(-γᵢ)), made of integers (`understudy.dp.sampling`). The accepted
index has P(i) ∝ exp(-γᵢ), and as the best candidate is always accepted, the expected number of
proposals is at most the number of candidates.

**Feasibility** is public, and settled before anything is paid or drawn; no code of a caller runs
while candidates are drawn, for it would see draws that nobody paid for. F, the feasible candidates,
is stated in one of two ways.

*A mask over the whole list.* The draw is made among F alone: the exponential mechanism on a shorter
public list, with the same sensitivity and the same proof, P(i) = wᵢ/W(F) for wᵢ = exp(-γᵢ) and W(F)
the weight of F. (γ counts from the best score of all candidates or of the feasible ones: a factor
common to all wᵢ.)

*A `TreeLimit`*, where lists are too long to ask it of each candidate: numbers alone, of which this
package makes the rule. A drawn candidate that is not in F is removed and the draw repeated among
the rest (`first_within`). Suppose the candidates x₁, …, xₗ, none of F, came first. Given those
draws the next one is i with probability wᵢ/(W - w(x₁) - … - w(xₗ)); given further that it is in F,
with probability wᵢ/W(F), whatever came before. So the winner has P(i) = wᵢ/W(F), the distribution
of a mask. (The order so produced is the one of Plackett and Luce, the one Gumbel-max gives.) Only
the winner leaves; how many were removed does not.

**What a choice by the exponential mechanism costs and draws with, before it sees a score.**

**One of a public list of candidates, by the exponential mechanism; or all, in a random order.**

**One.** The sensitivity is proved where the score is defined
(`understudy.mechanisms.selection_scores`). Candidates, and which of them may win, are public. Only
the winner leaves; exact scores stay, and are remembered from one choice to the next so that no
table is counted twice.

**All, in a uniformly random order**: independent of the rows, so free, and public. It is a
mechanism only so that a continued run gets the order that the first one drew.

**TRUSTED where something is chosen: the exponential mechanism and its scores.**
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import compiled
from understudy.dp import gaussian_dp
from understudy.dp.accountant import CHOICE
from understudy.dp.admission import HowMany
from understudy.dp.budget import Accounting, pure_within
from understudy.dp.confidential import CodedView, PublicContext, SecretRows
from understudy.dp.mechanism import Charge, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import Choice, Released
from understudy.dp.sampling import exp_trial, word_below
from understudy.errors import BudgetError, MethodError
from understudy.graphical.junction_tree import Columns, TreeLimit
from understudy.mechanisms.selection_scores import (
    Dependence,
    DistanceFromModel,
    DistanceFromProduct,
    Score,
    n_judged,
)

LATTICE_BITS: Final = 20
"""Score steps per sensitivity, as a power of two. Public."""

_LARGEST_SCORE: Final = 2.0**50
# Gaps are at most 2**51 steps, so that gap * numerator stays below 2**62.
_LARGEST_NUMERATOR: Final = 2**11
_LARGEST_DENOMINATOR: Final = 2**61
_CHUNK_WORDS: Final = 2**16


def zcdp_cost(epsilon: Fraction) -> Fraction:
    """Return the ρ of zero-concentrated DP that `select` at ``epsilon`` costs: ε²/8.

    Over the candidates, log P(i)/P'(i) = r·(gᵢ - g'ᵢ) - log(Z/Z'): its range is r times the range
    of gᵢ - g'ᵢ. In general gᵢ - g'ᵢ ∈ [-Δ', Δ'] and r ≤ ε/(2Δ'); for a monotone score it is in
    [0, Δ'] or in [-Δ', 0] and r ≤ ε/Δ'. In both cases the range is at most ε, the mechanism is
    ε-bounded-range, and hence ε²/8-zCDP. Under pure DP both forms cost ε. (Replacing a record adds
    one and removes one: a monotone score is then no longer one-sided, and needs the general form.)

    Sources:
        Durfee & Rogers (2019), bounded range; Cesar & Rogers (2021), "Bounding, Concentrating, and
        Truncating", lemma 3.2.
    """
    return epsilon**2 / 8


def gdp_cost(epsilon: Fraction, *, rest: Fraction = Fraction(0)) -> Fraction:
    """Return the μ²/2 of Gaussian DP that `select` at ``epsilon`` costs, rounded up.

    It is ε-bounded-range (`zcdp_cost`), hence μ-GDP with μ = 2Φ⁻¹(1/(1 + e^(-ε/2))): for small ε a
    cost of πε²/16, 57 % more than the r = ε²/8 of zCDP. A choice that leaves a rest of the budget,
    more than r, costs r/(1 - r/rest) if that is less. Both are proved in `gaussian_dp`.

    Args:
        epsilon: of `select`.
        rest: what the ledger still allows after the choice.
    """
    alone = Fraction(gaussian_dp.amount_of_pure(float(epsilon) / 2))
    ideal = zcdp_cost(epsilon)
    return min(alone, ideal / (1 - ideal / rest)) if rest > ideal else alone


def selection_epsilon(
    spend: Fraction, accounting: Accounting, *, rest: Fraction = Fraction(0)
) -> Fraction:
    """Return the ε at which an exponential mechanism costs `spend`, rounded down.

    That is `spend` in pure DP. Its losses have range ε where those of an ε-DP mechanism have 2ε,
    so in ρ and in μ²/2 it is twice what `pure_within` says: √(8ρ), or the inverse of `gdp_cost`.

    Args:
        spend: the cost, above 0.
        accounting: its unit.
        rest: what the ledger still allows after the choice; used in Gaussian DP only.

    Raises:
        BudgetError: so small a cost that ε would be below 10⁻¹².
    """
    epsilon = spend if accounting == "pure" else 2 * pure_within(spend, accounting, rest=rest)
    if epsilon <= 0:
        raise BudgetError(
            "This budget leaves next to nothing for a step; raise epsilon, or ask for fewer sets "
            "or columns."
        )
    return epsilon


def selection_rate(epsilon: Fraction, *, monotone: bool) -> Fraction:
    """Return r, the exponent per step of the score lattice, rounded down to 64-bit terms.

    Exactly ε/(2Δ') or ε/Δ', Δ' = 2ᵏ + 1, where that has small terms; otherwise below it by a
    relative r·2⁻¹¹ or so (5·10⁻¹⁰ at ε = 1). Too small for any 64-bit fraction it becomes 0.

    Raises:
        ValueError: If ``epsilon`` is not positive.
    """
    rate = rate_of(epsilon, Fraction(2**LATTICE_BITS + 1), monotone=monotone)
    if rate.numerator <= _LARGEST_NUMERATOR and rate.denominator <= _LARGEST_DENOMINATOR:
        return rate
    numerator = min(_LARGEST_NUMERATOR, int(rate * _LARGEST_DENOMINATOR))
    return Fraction(numerator, ceil(numerator / rate)) if numerator else Fraction(0)


def rate_of(epsilon: Fraction, sensitivity: Fraction, *, monotone: bool) -> Fraction:
    """Return the exponent per unit of a score: ε/(2Δ), or ε/Δ if it is monotone.

    Raises:
        ValueError: If ``epsilon`` is not positive.
    """
    if epsilon <= 0:
        raise ValueError("select: expected epsilon > 0")
    return epsilon / ((1 if monotone else 2) * sensitivity)


def lattice_gaps(scores: NDArray[np.float64], sensitivity: Fraction) -> NDArray[np.int64]:
    """Return how many lattice steps each score lies below the best, int64, shape ``(n,)``.

    Raises:
        ValueError: If a score is NaN or infinite, or the sensitivity is not a positive normal
            number; no score is shown.
    """
    if not np.all(np.isfinite(scores)):
        raise ValueError("select: expected finite scores")
    factor = 2**LATTICE_BITS / sensitivity if sensitivity > 0 else Fraction(0)
    if not 2**-900 < factor < 2**900:
        raise ValueError("select: expected a positive sensitivity between 2**-800 and 2**800")
    with np.errstate(over="ignore", under="ignore"):
        steps = np.clip(scores * float(factor), -_LARGEST_SCORE, _LARGEST_SCORE)
    lattice = np.rint(steps).astype(np.int64)
    return np.asarray(lattice.max(initial=-(2**50)) - lattice)


@compiled
def _propose(
    words: NDArray[np.uint64],
    cursor: NDArray[np.int64],
    gaps: NDArray[np.int64],
    rate: tuple[int, int],
) -> int:
    """Return the accepted index, or -1 when the words run out.

    The cursor is left behind the words of complete proposals.
    """
    while True:
        start = cursor[0]
        index = word_below(words, cursor, gaps.size)
        accepted = exp_trial(words, cursor, (gaps[index] * rate[0], rate[1]))
        if cursor[0] > words.size:
            cursor[0] = start
            return -1
        if accepted:
            return index


def _draw(gaps: NDArray[np.int64], rate: Fraction, source: Randomness) -> int:
    """Return one index with P(i) ∝ exp(-rate·gaps[i])."""
    words = np.empty(0, dtype=np.uint64)
    winner, cursor = -1, np.zeros(1, dtype=np.int64)
    while winner < 0:
        fresh = source.words(min(_CHUNK_WORDS, 4 * gaps.size + 16))
        words = np.concatenate((words, fresh))
        cursor[0] = 0
        winner = _propose(words, cursor, gaps - gaps.min(), rate.as_integer_ratio())
        words = words[cursor[0] :]
    return winner


def select(
    scores: NDArray[np.float64],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    monotone: bool,
    feasible: NDArray[np.bool_] | None,
    source: Randomness,
) -> int:
    """Choose one candidate by the exponential mechanism, exactly.

    Args:
        scores: Scores uᵢ, higher is better, shape ``(n,)``. Beyond 2³⁰ sensitivities they count as
            that.
        epsilon: Pure-DP cost; see `zcdp_cost` and `gdp_cost` for the other costs.
        sensitivity: Largest change Δ of any score between neighbours.
        monotone: Whether one added record moves all scores the same way. Then the exponent is
            εu/Δ instead of εu/(2Δ); sound for add/remove neighbours only.
        feasible: Which candidates there are to choose from, public, shape ``(n,)``; None for all.
        source: Where the words come from.

    Returns:
        The winner's index.

    Raises:
        ValueError: If scores are not a finite vector, no candidate is feasible, or a parameter is
            not positive. No message shows a score.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or (feasible is not None and feasible.shape != scores.shape):
        raise ValueError("select: expected a one-dimensional array of scores, and a mask of it")
    alive = np.arange(scores.size) if feasible is None else np.flatnonzero(feasible)
    if not alive.size:
        raise ValueError("select: expected a feasible candidate")
    rate = selection_rate(epsilon, monotone=monotone)
    return int(alive[_draw(lattice_gaps(scores, sensitivity)[alive], rate, source)])


def first_within(
    limit: TreeLimit, tables: Sequence[Columns], draw: Callable[[NDArray[np.bool_]], int]
) -> int:
    """Draw candidates, each once at most, until one keeps to a limit; see the head of this file.

    Args:
        limit: on junction trees.
        tables: columns of each candidate, n of them; one at least keeps to the limit.
        draw: one of the candidates of a mask, shape ``(n,)``, by the exponential mechanism.

    Returns:
        The place of the first that keeps to the limit.
    """
    left = np.ones(len(tables), dtype=np.bool_)
    place = draw(left)
    while not limit.allows(tables[place]):
        left[place] = False
        place = draw(left)
    return place


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """The exponential mechanism with its public parameters.

    Attributes:
        epsilon: of `selection.select`.
        sensitivity: largest change of any score between neighbouring tables.
        monotone: whether one added record moves all scores the same way.
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool

    @property
    def rate(self) -> Fraction:
        """The exponent per unit of a score."""
        return rate_of(self.epsilon, self.sensitivity, monotone=self.monotone)

    def pick(
        self,
        scores: NDArray[np.float64],
        source: Randomness,
        feasible: NDArray[np.bool_] | None = None,
    ) -> int:
        """The place of the winner.

        Args:
            scores: exact, shape (n,). CONFIDENTIAL.
            source: where the randomness comes from.
            feasible: which candidates there are to choose from, public, shape (n,); all if None.
        """
        return select(
            scores,
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            feasible=feasible,
            source=source,
        )


def choice_charge(
    terms: PublicContext,
    query: str,
    *,
    sensitivity: Fraction,
    monotone: bool,
    cells: int,
    spend: Fraction,
    stated: str = "",
    rest: Fraction | None = None,
) -> Charge[Choosing]:
    """The line of the ledger for a choice.

    In Gaussian DP its ε rests on what is left after it (`selection.gdp_cost`); the gate
    asks for prices one at a time, and nobody else can spend of that before it is paid. What it
    costs if that rest is never spent: `dp.accountant.RunCost`.

    Args:
        terms: the accounting, what is left, and which tables are neighbours.
        query: what is asked, in words.
        sensitivity: largest change of any score between neighbouring tables.
        monotone: whether one added record moves all scores the same way.
        cells: choices, or candidates, that the ledger counts.
        spend: cost.
        stated: the sensitivity in words, where a number does not say it.
        rest: what is left after it, as far as ε may rest on that; all that is left if None.

    Raises:
        MethodError: a cost that is not positive.
        BudgetError: more than is left, or next to nothing.
    """
    terms.require(spend)
    rest = terms.left - spend if rest is None else rest
    epsilon = selection_epsilon(spend, terms.accounting, rest=rest)
    monotone = monotone and terms.neighbours == "add_remove"
    return Charge(
        spent=spend,
        mechanism=CHOICE,
        query=query,
        sensitivity=f"score: {stated or sensitivity}{', monotone' * monotone}",
        noise="",
        cells=cells,
        parameter=Choosing(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone),
    )


C = TypeVar("C")
Feasible = NDArray[np.bool_] | TreeLimit | None
"""Which candidates of a public list may win (see `exponential_mechanism`)."""


@dataclass(frozen=True)
class Candidate(Mechanism[Released[C], Choosing]):
    """One candidate.

    Attributes:
        candidates: as many as the score has values.
        score: one of the named scores.
        feasible: which candidates may win, shape (candidates,); or, of sets of columns, those that
            a limit allows. All if None.
    """

    name: ClassVar[str] = CHOICE

    candidates: Sequence[C]
    score: Score
    feasible: Feasible = None

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Choosing], ...]:
        """One step.

        Raises:
            MethodError: no candidate, or none that is feasible; or a score of another schema, or of
                another number of candidates.
            BudgetError: more than is left, or next to nothing.
        """
        score, n = self.score, len(self.candidates)
        of_schema = Dependence | DistanceFromModel | DistanceFromProduct
        if isinstance(score, of_schema) and score.schema is not terms.schema:
            raise MethodError("The score relies on what another schema makes public.")
        if not n:
            raise MethodError("There is no candidate to choose from.")
        if n_judged(score, terms.schema) != n:
            raise MethodError("The score does not have one value per candidate.")
        self._require_feasible(terms.view)
        charge = choice_charge(
            terms,
            f"one of {n} candidates by {score.title}",
            sensitivity=score.sensitivity(terms.neighbours),
            monotone=score.monotone,
            cells=1,
            spend=spend,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[C]]:
        """Judge all of them, and pick one."""
        values, choosing, feasible = _exact(self.score, rows), charges[0].parameter, self.feasible
        if isinstance(feasible, TreeLimit):
            tables = self._tables(rows.view)
            winner = first_within(
                feasible, tables, lambda left: choosing.pick(values, source, left)
            )
        else:
            winner = choosing.pick(values, source, feasible)
        return answer(self.candidates[winner])

    def _require_feasible(self, view: CodedView) -> None:
        """Refuse a rule that leaves nothing."""
        feasible = self.feasible
        if isinstance(feasible, TreeLimit):
            if feasible.sizes != view.schema.sizes:
                raise MethodError("The limit is on trees over the columns of another schema.")
            left = any(map(feasible.allows, self._tables(view)))
        else:
            left = feasible is None or bool(feasible.any())
            if feasible is not None and feasible.shape != (len(self.candidates),):
                raise MethodError("A mask of feasible candidates needs a place for each of them.")
        if not left:
            raise MethodError("No candidate is feasible; widen the public limit.")

    def _tables(self, view: CodedView) -> list[Columns]:
        """The columns of each candidate."""
        return [view.places(_columns(candidate)) for candidate in self.candidates]


@dataclass(frozen=True)
class CandidateColumns(Candidate[tuple[str, ...]]):
    """The same among sets of columns; the release says which one was chosen.

    Attributes:
        candidates: names of the columns of each.
    """

    candidates: Sequence[tuple[str, ...]]

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Choosing], ...], source: Randomness
    ) -> Outcome[Released[tuple[str, ...]]]:
        """Judge all of them, pick one, and publish it."""
        outcome = super().run(rows, charges, source)
        return replace(outcome, measurements=tuple(Choice(chosen) for chosen in outcome.answers))


def _exact(score: Score, rows: SecretRows) -> NDArray[np.float64]:
    """Exact scores; those of one table each are remembered from one choice to the next."""
    if isinstance(score, Dependence):
        return score.evaluate_new(rows.engine, rows.memory(Dependence))
    if isinstance(score, DistanceFromModel):
        return score.evaluate(rows.engine, rows.memory(DistanceFromModel))
    if isinstance(score, DistanceFromProduct):
        return score.evaluate(rows.engine, rows.memory(DistanceFromProduct))
    return score.evaluate(rows.engine.count(score.queries()).expose())


def _columns(candidate: object) -> tuple[str, ...]:
    """A candidate that is a set of columns.

    Raises:
        MethodError: it is something else.
    """
    if not isinstance(candidate, tuple):
        raise MethodError("A limit on trees is for candidates that are sets of columns.")
    return candidate


@dataclass(frozen=True)
class RandomOrder(Mechanism[Released[tuple[int, ...]], None]):
    """A random order of 0 … n - 1.

    Attributes:
        n: how many things.
    """

    name: ClassVar[str] = "random order"

    n: HowMany

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """Nothing: no row is looked at."""
        return ()

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[tuple[int, ...]]]:
        """Draw it."""
        return answer(tuple(source.permutation(self.n).tolist()))
