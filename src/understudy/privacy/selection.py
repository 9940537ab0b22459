r"""The exponential mechanism over a finite list, drawn exactly (McSherry & Talwar 2007).

**Law.** P(i) ∝ exp(r·gᵢ) with r ≤ ε/(2Δ'), or r ≤ ε/Δ' if the score is monotone (one added record
moves all scores the same way). gᵢ is the score uᵢ in steps of Δ/2ᵏ, k = `LATTICE_BITS` public,
rounded to an integer, and Δ' = 2ᵏ + 1.

**Rounding is paid for.** Let f be the float64 nearest to 2ᵏ/Δ and g = rint(clip(f·u, ±2⁵⁰)).
Forming and multiplying by f has relative error below 2⁻⁵¹·⁹, so |g - 2ᵏu/Δ| < 1/2 + 0.3 < 1 inside
the clip, and clipping never moves two numbers apart. For neighbours 2ᵏ|u - u'|/Δ ≤ 2ᵏ, so
|g - g'| < 2ᵏ + 2, and being an integer |g - g'| ≤ 2ᵏ + 1 = Δ'. Each step of u ↦ g is
non-decreasing, so scores that all move one way still do. Hence the integer scores g have
sensitivity Δ' and the mechanism below is ε-DP by the standard proof, with no further rounding. The
price is a factor 1 + 2⁻²⁰ in ε. If r has terms too large for 64-bit arithmetic it is rounded
*down*.

**Exact draw.** With γᵢ = r·(max g - gᵢ) ≥ 0 rational, propose i uniformly and accept it with
Bernoulli(exp(-γᵢ)), made of integers (`understudy.privacy.rejection`). The accepted index has
P(i) ∝ exp(-γᵢ), and as the best candidate is always accepted, the expected number of proposals is
at most the number of candidates.

**Feasibility is walked inside.** A drawn candidate that a *public* rule excludes is removed and the
draw repeated among the rest. Write wᵢ = exp(-γᵢ), and suppose the infeasible candidates x₁, …, xₗ
came first. Given those draws, the next one is i with probability wᵢ/(W - w(x₁) - … - w(xₗ)); given
further that it is feasible, with probability wᵢ/W(F), W(F) the weight of the feasible set, whatever
came before. So the winner has P(i) = wᵢ/W(F): the exponential mechanism on the feasible set. (The
order so produced is the one of Plackett and Luce, the one Gumbel-max gives.) After
`LONGEST_WALK` removals the rule is applied to all that remain, which by the same argument changes
nothing but the time. Only the winner leaves; the walk does not.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BudgetError
from understudy.privacy import gaussian_dp
from understudy.privacy.budget import Accounting, pure_within
from understudy.privacy.randomness import Randomness
from understudy.privacy.rejection import compiled, exp_trial, word_below

__all__ = [
    "LATTICE_BITS",
    "gdp_cost",
    "lattice_gaps",
    "rate_of",
    "select",
    "selection_epsilon",
    "selection_rate",
    "zcdp_cost",
]

LATTICE_BITS: Final = 20
"""Score steps per sensitivity, as a power of two. Public."""

LONGEST_WALK: Final = 32
"""Infeasible candidates removed one by one before the rule is applied to all that remain."""

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
    words: NDArray[np.uint64], gaps: NDArray[np.int64], rate: tuple[int, int]
) -> tuple[int, int]:
    """Return (accepted index or -1 when the words run out, words used by complete proposals)."""
    cursor = np.zeros(1, dtype=np.int64)
    while True:
        used = cursor[0]
        index = word_below(words, cursor, gaps.size)
        accepted = exp_trial(words, cursor, (gaps[index] * rate[0], rate[1]))
        if cursor[0] > words.size:
            return -1, used
        if accepted:
            return index, cursor[0]


def _draw(gaps: NDArray[np.int64], rate: Fraction, source: Randomness) -> int:
    """Return one index with P(i) ∝ exp(-rate·gaps[i])."""
    words = np.empty(0, dtype=np.uint64)
    winner = -1
    while winner < 0:
        fresh = source.words(min(_CHUNK_WORDS, 4 * gaps.size + 16))
        words = np.concatenate((words, fresh))
        winner, used = _propose(words, gaps - gaps.min(), rate.as_integer_ratio())
        words = words[used:]
    return winner


def select(
    scores: NDArray[np.float64],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    monotone: bool,
    feasible: Callable[[int], bool] | None,
    source: Randomness,
) -> int | None:
    """Choose one candidate by the exponential mechanism, exactly.

    Args:
        scores: Scores uᵢ, higher is better, shape ``(n,)``. Beyond 2³⁰ sensitivities they count as
            that.
        epsilon: Pure-DP cost; see `zcdp_cost` and `gdp_cost` for the other costs.
        sensitivity: Largest change Δ of any score between neighbours.
        monotone: Whether one added record moves all scores the same way. Then the exponent is
            εu/Δ instead of εu/(2Δ); sound for add/remove neighbours only.
        feasible: Public rule, a function of the index alone, or None for no rule. It must not
            depend on the rows.
        source: Where the words come from.

    Returns:
        The winner's index, or None if there is no feasible candidate.

    Raises:
        ValueError: If scores are not a finite vector, or a parameter is not positive. No message
            shows a score.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError("select: expected a one-dimensional array of scores")
    rate = selection_rate(epsilon, monotone=monotone)
    gaps = lattice_gaps(scores, sensitivity)
    alive = np.arange(gaps.size)
    walked = 0
    while alive.size:
        place = _draw(gaps[alive], rate, source)
        winner = int(alive[place])
        if feasible is None or feasible(winner):
            return winner
        alive = np.delete(alive, place)
        walked += 1
        if walked == LONGEST_WALK:
            alive = alive[[bool(feasible(int(index))) for index in alive]]
            feasible = None
    return None
