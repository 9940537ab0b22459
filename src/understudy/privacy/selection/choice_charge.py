"""What a choice by the exponential mechanism costs and draws with, before it sees a score."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.accounting.run_cost import CHOICE
from understudy.privacy.mechanism import Charge
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.selection.exponential_mechanism import rate_of, select, selection_epsilon
from understudy.privacy.terms import Terms

__all__ = ["CHOICE", "Choosing", "choice_charge"]


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """The exponential mechanism with its public parameters.

    Attributes:
        epsilon: of `exponential_mechanism.select`.
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
    terms: Terms,
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

    In Gaussian DP its ε rests on what is left after it (`exponential_mechanism.gdp_cost`); the gate
    asks for prices one at a time, and nobody else can spend of that before it is paid. What it
    costs if that rest is never spent: `accounting.run_cost`.

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
