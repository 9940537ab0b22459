"""Gates are made here and nowhere else, with the mechanisms of this package and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from understudy.engine import Engine
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.checkpoint.journal import Journal
from understudy.privacy.checkpoint.replay import Replay
from understudy.privacy.earlier_runs import Unrecorded
from understudy.privacy.gate import Gate
from understudy.privacy.internal import Confide
from understudy.privacy.mechanism import Mechanisms
from understudy.privacy.mechanisms import MECHANISMS
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp import WITHOUT_EPSILON

NAMED: Final[Mechanisms] = (*MECHANISMS, *WITHOUT_EPSILON)
"""All that a gate can be asked for."""


def open_gate(
    engine: Engine,
    budget: Budget,
    randomness: Randomness,
    journal: Journal | None = None,
    *,
    allow_nonprivate: bool = False,
    stop: Callable[[], bool] = lambda: False,
    confide: Confide = lambda _told: None,
) -> Gate:
    """A gate in front of rows.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise.
        journal: open, of this very request; None for a run that cannot be continued.
        allow_nonprivate: as in `Gate`, and so are the others.
        stop: whether whoever waits has asked for an end.
        confide: takes what the steward alone may know.
    """
    return Gate(
        engine,
        budget,
        randomness,
        mechanisms=NAMED,
        allow_nonprivate=allow_nonprivate,
        stop=stop,
        confide=confide,
        record=lambda ledger: (
            Unrecorded() if journal is None else Replay(journal, ledger, randomness)
        ),
    )
