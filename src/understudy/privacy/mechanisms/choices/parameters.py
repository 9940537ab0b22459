"""Verbs that choose the parameters of a public generator, by how well they suit the rows.

Only the chosen parameters leave. How often a walk moved depends on the rows; it is kept for the
steward and no release holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.admission import verb
from understudy.privacy.door import CHOICE, Door
from understudy.privacy.internal import Internal
from understudy.privacy.released import NO_NOISE, ChosenParameters, Released
from understudy.privacy.selection.exponential_mechanism import rate_of
from understudy.privacy.selection.metropolis import CONVERGENCE, Walk, walk
from understudy.privacy.selection.parameter_score import CandidateScore

Floats = NDArray[np.float64]


class Comparing(Door):
    """Parameters, chosen by the exponential mechanism."""

    @verb
    def choose_parameters(
        self, score: CandidateScore, names: Sequence[str], *, spend: Fraction
    ) -> Released[ChosenParameters]:
        """One of the score's candidates, by the exponential mechanism.

        Args:
            score: the candidates, and how well each suits the rows.
            names: of the parameters.
            spend: cost.

        Raises:
            MethodError: a score for another schema, or one without a bound for these neighbours.
            InsufficientBudgetError: more than is left.
        """
        leaks = self._admit(score, names)
        if not len(score.points):
            raise MethodError("There is no candidate to choose from.")
        pick, entry = self._pay_choice(
            candidates_query(len(score.points), score.columns, score.title),
            sensitivity=score.sensitivity(self.neighbours),
            monotone=score.monotone and self.neighbours == "add_remove",
            cells=1,
            spend=spend,
            stated=score.bound,
        )
        self._leave_in(leaks)
        winner = pick(score.evaluate(self._secret_rows()))
        return self._published(score, names, score.points[winner], entry)

    @verb
    def walk_parameters(
        self, score: CandidateScore, names: Sequence[str], how: Walk, *, spend: Fraction
    ) -> Released[ChosenParameters]:
        """Parameters where a Metropolis walk stands in the end; the promise is conditional.

        Args:
            score: how well parameters suit the rows; its candidates play no part.
            names: of the parameters.
            how: prior, start, steps.
            spend: cost, of the law that the walk approaches.

        Raises:
            MethodError: as in `choose_parameters`.
            InsufficientBudgetError: more than is left.
        """
        leaks = self._admit(score, names)
        monotone = score.monotone and self.neighbours == "add_remove"
        sensitivity = score.sensitivity(self.neighbours)
        epsilon = self._selection_epsilon(spend)
        entry = self._ledger.charge(
            spend,
            CHOICE,
            walk_query(how.steps, score.columns, score.title),
            sensitivity=f"score: {score.bound}{', monotone' * monotone}",
            noise="",
            cells=1,
        )
        self._leave_in(leaks)
        self._suppose(CONVERGENCE)
        against = score.against(self._secret_rows())
        rate = float(rate_of(epsilon, sensitivity, monotone=monotone))
        found = walk(how, lambda theta: rate * against.score(theta), self._secret_randomness)
        self._secret_confide(Internal(found))
        return self._published(score, names, found.end, entry)

    def _admit(self, score: CandidateScore, names: Sequence[str]) -> tuple[str, ...]:
        """Check what is public; what the score leaves in."""
        if score.schema is not self.own_schema:
            raise MethodError("The score relies on what another schema makes public.")
        if score.points.ndim != 2 or score.points.shape[1] != len(names):
            raise MethodError("Each parameter of a candidate needs a name.")
        return score.leaks(self.neighbours)

    def _leave_in(self, leaks: Sequence[str]) -> None:
        for leak in leaks:
            self._concede(leak)

    def _published(
        self, score: CandidateScore, names: Sequence[str], theta: Floats, entry: int
    ) -> Released[ChosenParameters]:
        values = tuple(float(one) for one in np.asarray(theta))
        chosen = ChosenParameters(score.columns, tuple(names), values, self._bins_of(score.columns))
        released = Released(chosen, NO_NOISE, CHOICE, entry)
        self._measured.append(released)
        return released


def candidates_query(n: int, columns: Sequence[str], title: str) -> str:
    """What is asked of a list, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: one of {n:,} by {title}"


def walk_query(steps: int, columns: Sequence[str], title: str) -> str:
    """What is asked of a walk, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: a walk of {steps:,} steps by {title}"
