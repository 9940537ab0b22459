"""One of a public list of candidates, by the exponential mechanism; or all, in a random order.

**One.** Proof: `understudy.privacy.selection.exponential_mechanism`, with the sensitivity that is
proved where the score is defined (`understudy.privacy.selection.scores`). Candidates, and which of
them may win, are public. Only the winner leaves; exact scores stay, and are remembered from one
choice to the next so that no table is counted twice.

**All, in a uniformly random order**: independent of the rows, so free, and public. It is a
mechanism only so that a continued run gets the order that the first one drew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.functions.triangulation import Columns, TreeLimit
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Choice, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.selection.choice_charge import CHOICE, Choosing, choice_charge
from understudy.privacy.selection.dependence_scores import Dependence
from understudy.privacy.selection.exponential_mechanism import first_within
from understudy.privacy.selection.scores import (
    DistanceFromModel,
    DistanceFromProduct,
    Score,
    n_judged,
)
from understudy.privacy.terms import Terms, View

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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
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

    def _require_feasible(self, view: View) -> None:
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

    def _tables(self, view: View) -> list[Columns]:
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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """Nothing: no row is looked at."""
        return ()

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[tuple[int, ...]]]:
        """Draw it."""
        return answer(tuple(source.permutation(self.n).tolist()))
