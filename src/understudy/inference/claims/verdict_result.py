"""A verdict on a claim, and the plan of one: what they say, for people and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from understudy.inference.claims.vote_odds import Odds
from understudy.privacy.accounting.budget import Budget, decimal_up
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.released import Noise

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
    """What a verdict would cost and how sure it would be, from public facts alone.

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
        delta = f", δ = {decimal_up(self.budget.delta)}" if self.budget.delta else ""
        return f"ε = {decimal_up(self.budget.epsilon)}{delta}"

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
    """What noisy votes of random subsets say of a claim.

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
        """How many voted."""
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
