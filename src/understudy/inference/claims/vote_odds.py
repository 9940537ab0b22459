"""How many subsets are asked about a claim, when their votes decide, and how likely that is wrong.

All of this follows from public facts: the budget, the number of records as it is declared or
assumed, and how many coefficients a model has.

**How many subsets.** A claim that is z standard errors of all rows from its border is z/√k of a
subset's, so that by normal theory a subset is right with probability Φ(z/√k), and k subsets are
ahead by about k(Φ(z/√k) − ½) ≈ 0.4·z·√k votes. That grows with k, while the noise stays. But the
bias of small subsets grows too: that of a median of means is γ/(6√m) of the standard error of m
records of skewness γ, for m = n/k as much as γk/(6√n) standard errors of all rows. The distance at
which votes stand out, A/√k + Bk/√n, is least at k = (A√n/(2B))^(2/3). With A = 5r, r the number of
votes that the noise exceeds with probability 5 %, and B = ½, for what corrections leave of
skewness,

    k = (5r·√n)^(2/3), at least 25, at most n/30 and n/(10·coefficients),

and one less where it is even, so that votes are never tied.

**When they decide.** The noisy number of yes less k/2 must be beyond a band: the least number that
the noise, together with the votes of k fair coins, exceeds with probability at most 5 %. So if the
estimate of all rows lies at the border, or on the other side of it, the verdict yes has a
probability of at most 5 %, as far as subsets are right as often as wrong at the border; and the
reverse for no. Within the band it is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from scipy import stats

from understudy.arrays import Floats
from understudy.errors import BudgetError, MethodError
from understudy.privacy.mechanisms.counts.votes import MOST_SUBSETS, VoteNoise

WRONG: Final = 0.05
"""Probability of either verdict where subsets say yes as often as no, at most."""
LEAST_SUBSETS: Final = 25
LEAST_RECORDS: Final = 30
"""Records of a subset."""
RECORDS_PER_COEFFICIENT: Final = 10
_LEVEL: Final = 0.95


@dataclass(frozen=True)
class Odds:
    """Probabilities of the three verdicts.

    Attributes:
        right: of the verdict that the claim deserves.
        undecided: of none.
        wrong: of the opposite.
    """

    right: float
    undecided: float
    wrong: float


def noise_reach(noise: VoteNoise) -> int:
    """The least number of votes that the noise exceeds with probability at most `WRONG`."""
    return _least(lambda votes: 1 - float(noise.cdf(votes)))


def band_of(k: int, noise: VoteNoise) -> int:
    """The least lead that k fair coins and the noise exceed with probability at most `WRONG`.

    Args:
        k: number of subsets, odd.
        noise: in the number of votes.
    """
    votes = np.arange(k + 1)
    chance = stats.binom.pmf(votes, k, 0.5)
    leads = np.asarray(votes - k / 2, dtype=np.float64)
    return _least(lambda lead: float(chance @ _beyond(lead, leads, noise)))


def subsets_for(records: int, coefficients: int, noise: VoteNoise) -> int:
    """How many subsets are asked.

    Args:
        records: as declared or assumed.
        coefficients: numbers that each subset has to tell.
        noise: in the number of votes.

    Raises:
        MethodError: too few records for a single subset.
        BudgetError: even if all subsets agreed, the noise would hide it.
    """
    each = max(LEAST_RECORDS, RECORDS_PER_COEFFICIENT * coefficients)
    if records < each:
        raise MethodError(
            f"A claim with {coefficients} coefficients needs subsets of {each} records, and there "
            f"are {records:,}; claim something simpler."
        )
    reach = noise_reach(noise)
    best = max(LEAST_SUBSETS, round((5 * reach * math.sqrt(records)) ** (2 / 3)))
    k: int = min(best, records // each, MOST_SUBSETS)
    k -= 1 - k % 2
    band = band_of(k, noise)
    if k <= 2 * band:
        raise BudgetError(
            f"Even if all of {k} subsets agreed, noise and chance would hide it, up to {band:,} "
            "votes; raise epsilon, or claim something of more records."
        )
    return k


def odds_at(lead: float, k: int, noise: VoteNoise) -> Odds:
    """Probabilities by noise alone, given how many votes the right side is ahead of half.

    Args:
        lead: number of votes on the right side, less k/2.
        k: number of subsets.
        noise: in the number of votes.
    """
    return _odds(np.ones(1), np.array([lead]), k, noise)


def odds_of(distance: float, k: int, noise: VoteNoise) -> Odds:
    """Probabilities for a claim some standard errors of all rows from its border.

    By normal theory each subset is right with probability Φ(z/√k), by itself; votes are binomial,
    and the noise is added.

    Args:
        distance: z; its sign does not matter.
        k: number of subsets.
        noise: in the number of votes.
    """
    votes = np.arange(k + 1)
    chance = stats.binom.pmf(votes, k, stats.norm.cdf(abs(distance) / math.sqrt(k)))
    return _odds(chance, np.asarray(votes - k / 2, dtype=np.float64), k, noise)


def votes_interval(noisy: int, k: int, noise: VoteNoise) -> tuple[float, float]:
    """95 % interval for the share of the k subsets that said yes, by noise alone."""
    reach = _least(lambda votes: 1 - float(noise.cdf(votes)), (1 - _LEVEL) / 2)
    low, high = ((noisy + side * reach) / k for side in (-1, 1))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def side_of(noisy: int, k: int, noise: VoteNoise) -> str:
    """The verdict: "yes", "no" or "undecided"."""
    lead = Fraction(2 * noisy - k, 2)
    if abs(lead) <= band_of(k, noise):
        return "undecided"
    return "yes" if lead > 0 else "no"


def _odds(chance: Floats, leads: Floats, k: int, noise: VoteNoise) -> Odds:
    """Of leads of the right side, each with its chance."""
    band = band_of(k, noise)
    right, wrong = (float(chance @ _beyond(band, side * leads, noise)) for side in (1, -1))
    return Odds(right, max(0.0, 1 - right - wrong), wrong)


def _beyond(band: int, leads: Floats, noise: VoteNoise) -> Floats:
    """Probability that a lead with noise, which is whole and symmetric, is beyond a band."""
    return np.asarray(1 - noise.cdf(np.floor(band - leads)))


def _least(exceeded: Callable[[int], float], probability: float = WRONG) -> int:
    """The least whole number that is exceeded with at most a probability."""
    low, high = -1, 1
    while exceeded(high) > probability:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeded(middle) > probability else (low, middle)
    return high
