"""Single mechanisms at their worst, asked of a gate with all of its budget."""

from __future__ import annotations

import numpy as np

from understudy.audit.observation import Observation
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.candidate import CandidateColumns
from understudy.privacy.selection.scores import DistanceFromModel

_PAIR = (("a",), ("b",))
_ODDS = 3.5
"""Logarithm of the odds against the first candidate, under the one table."""


def opposite_scores(gate: Gate) -> Observation:
    """A choice between two tables of one column, of which a record more moves the scores apart.

    The counts of `a` lie above what is estimated and those of `b` below it, by so much that the
    first is chosen seldom: the probability of that then grows by nearly e^ε. With μ, by which the
    odds are to be even, it is chosen as often as the other.
    """
    records = 8.0
    # Of the scores, whose difference counts by ε/2 for each record.
    apart = 0.0 if gate.budget.delta else 2 * _ODDS / float(gate.budget.amount)
    estimates = np.array([records, 0.0, records + apart, 1.0])
    score = DistanceFromModel(gate.schema, _PAIR, estimates, (1, 1), np.zeros(2))
    chosen = gate.ask(CandidateColumns(candidates=_PAIR, score=score), spend=gate.budget.amount)
    return {"the first is chosen": float(chosen.value == _PAIR[0])}
