"""Parameters of a public generator, chosen by how well they suit the rows.

Either one of a public list, by the exponential mechanism, or where a Metropolis walk stands in the
end (`understudy.privacy.selection.metropolis`, which says what the promise then rests on). Only the
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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.choices.censored_column_likelihood import ColumnLikelihood
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import ChosenParameters, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.selection.choice_charge import CHOICE, Choosing, choice_charge
from understudy.privacy.selection.metropolis import CONVERGENCE, Walk, walk
from understudy.privacy.selection.tree_distinguisher_score import PropensityTrees
from understudy.privacy.terms import Terms, View

CandidateScore = ColumnLikelihood | PropensityTrees
"""A score of candidate parameters."""


Floats = NDArray[np.float64]


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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
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
        return answer(_chosen(self.score, self.names, theta, rows.view), None, leaks=leaks)


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

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Choosing], ...]:
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
            _chosen(self.score, self.names, chain.end, rows.view),
            None,
            leaks=self.score.leaks(rows.view.neighbours),
            unproved=(CONVERGENCE,),
        )


def candidates_query(n: int, columns: Sequence[str], title: str) -> str:
    """What is asked of a list, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: one of {n:,} by {title}"


def walk_query(steps: int, columns: Sequence[str], title: str) -> str:
    """What is asked of a walk, in the words of the ledger."""
    return f"parameters over {' × '.join(columns)}: a walk of {steps:,} steps by {title}"


def _require(score: CandidateScore, names: Sequence[str], terms: Terms) -> None:
    if score.schema is not terms.schema:
        raise MethodError("The score relies on what another schema makes public.")
    if score.points.ndim != 2 or score.points.shape[1] != len(names):
        raise MethodError("Each parameter of a candidate needs a name.")
    score.leaks(terms.neighbours)  # refuses neighbours for which it has no bound


def _charge(
    score: CandidateScore,
    terms: Terms,
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


def _chosen(
    score: CandidateScore, names: Sequence[str], theta: Floats, view: View
) -> ChosenParameters:
    values = tuple(float(value) for value in np.asarray(theta))
    return ChosenParameters(score.columns, tuple(names), values, view.bins_of(score.columns))
