"""A verdict on a claim, and the plan of one: what they say, for people and as plain data.

**How many subsets are asked about a claim, when their votes decide, and how likely that is wrong.**

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from scipy import stats

from understudy._arrays import Floats
from understudy.dp.accountant import Entry
from understudy.dp.budget import Budget, decimal_up, size_in_signs
from understudy.dp.guarantee import Guarantee
from understudy.dp.released import Noise
from understudy.errors import BudgetError, MethodError
from understudy.mechanisms.votes import MOST_SUBSETS, VoteNoise

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
    """Compute how many subsets are asked.

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


Side = Literal["yes", "no", "undecided"]
DISTANCES: Final = (0, 1, 2, 3, 4, 6, 8)
"""Standard errors of all rows from the border, at which probabilities are stated."""
LEADS: Final = (0, 0.5, 1, 2, 4)
"""Votes ahead of half, in bands, at which probabilities by noise alone are stated."""
CAVEATS: Final = (
    "It speaks of the rows, with numbers clipped to their bounds and records without a value left "
    "out, as random subsets of them see it: small subsets are biased where a column is skewed or a "
    "level is rare.",
    "Undecided is no evidence that the claim is false; nor is a no evidence that its opposite is "
    "true, for a subset that cannot tell votes no.",
    "A claim that was chosen after a look at the confidential rows is not covered by ε.",
)


@dataclass(frozen=True)
class VerdictPlan:
    """The cost of a verdict and its certainty, from public facts alone.

    Attributes:
        claim: as it was written.
        subsets: how many random subsets vote.
        records: number of records, as declared or assumed.
        noise: in the number of votes.
        noise_words: the same in words.
        band: votes around half within which the verdict is undecided.
        by_lead: probabilities by noise alone; votes ahead of half → odds.
        by_distance: probabilities by sampling and noise; standard errors of all rows between the
            estimate and the border → odds.
        budget: that is spent.
        notes: what else there is to know of the claim, in sentences.
    """

    claim: str
    subsets: int
    records: int
    noise: Noise
    noise_words: str
    band: int
    by_lead: Mapping[float, Odds]
    by_distance: Mapping[int, Odds]
    budget: Budget
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> str:
        """The budget in words."""
        return size_in_signs(self.budget.epsilon, self.budget.delta)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "claim": self.claim,
            "subsets": self.subsets,
            "records": self.records,
            "noise": {**vars(self.noise), "words": self.noise_words},
            "band": self.band,
            "by_votes_ahead": [{"ahead": at, **vars(odds)} for at, odds in self.by_lead.items()],
            "by_standard_errors": [
                {"distance": at, **vars(odds)} for at, odds in self.by_distance.items()
            ],
            "epsilon": decimal_up(self.budget.epsilon),
            "delta": decimal_up(self.budget.delta),
            "notes": [*self.notes, *CAVEATS],
        }

    def __repr__(self) -> str:
        """One line."""
        return f"VerdictPlan({self.claim!r}, {self.epsilon}, {self.subsets:,} subsets)"


@dataclass(frozen=True)
class Verdict:
    """The verdict of noisy votes of random subsets about a claim.

    Attributes:
        verdict: "yes", "no" or "undecided".
        votes: noisy number of subsets that say yes; may be below 0 or above their number.
        share: 95 % interval for the share of the subsets that said yes, by noise alone.
        plan: claim, number of subsets, band, noise and stated probabilities.
        guarantee: what is promised.
        ledger: what was paid.
    """

    verdict: Side
    votes: int
    share: tuple[float, float]
    plan: VerdictPlan
    guarantee: Guarantee
    ledger: tuple[Entry, ...]

    @property
    def claim(self) -> str:
        """As it was written."""
        return self.plan.claim

    @property
    def subsets(self) -> int:
        """Number of subsets that voted."""
        return self.plan.subsets

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "claim": self.claim,
            "verdict": self.verdict,
            "votes": self.votes,
            "share_of_votes": list(self.share),
            "plan": self.plan.to_json(),
            "guarantee": self.guarantee.to_json(),
            "ledger": [entry.to_json() for entry in self.ledger],
        }

    def __str__(self) -> str:
        """A paragraph, with what it does not say."""
        low, high = (f"{100 * end:.0f}" for end in self.share)
        said = {"yes": "Yes", "no": "No", "undecided": "Undecided"}[self.verdict]
        first = (
            f"{said}: {self.claim}. Of {self.subsets:,} random subsets, about {self.votes:,} say "
            f"yes ({low} to {high} %, by noise alone); half is {self.subsets / 2:,.1f}, and "
            f"{self.plan.band:,} votes more or less decide."
        )
        return "\n".join([first, *self.plan.notes, *CAVEATS, self.guarantee.statement])

    def __repr__(self) -> str:
        """One line."""
        return f"Verdict({self.verdict}: {self.claim!r}; {self.guarantee.brief})"
