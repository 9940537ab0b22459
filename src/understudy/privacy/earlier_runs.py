"""What earlier runs asked, paid and were told: here nothing, as there were none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from understudy.privacy.mechanism import A, Charge, Mechanism, Outcome
from understudy.privacy.terms import View


class Unrecorded:
    """What earlier runs asked, paid and were told, where there were none and nobody writes down.

    `understudy.privacy.checkpoint.replay` has one with a journal.

    Attributes:
        factor: by what costs shrink, because an earlier run lost charges.
    """

    factor = Fraction(1)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """While this is open, nobody else asks."""
        yield

    def take_over(self, mechanism: Mechanism[Any, Any], view: View) -> None:
        """Take over what earlier runs paid for this very step without an answer."""

    def answered(
        self, mechanism: Mechanism[A, Any], charges: tuple[Charge[Any], ...], view: View
    ) -> tuple[tuple[int, ...], Outcome[A] | None] | None:
        """Numbers of the entries if an earlier run has paid, and the outcome if it is written down.

        The ledger has the entries then.

        Raises:
            CheckpointError: earlier runs asked for something else at this point.
        """
        return None

    def keep(self, outcome: Outcome[Any]) -> None:
        """Write down what was just paid and run."""

    def look(self, stopping: Callable[[], bool]) -> bool:
        """Whether to end between rounds."""
        return stopping()
