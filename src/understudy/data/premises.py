"""Premises: facts about the rows that a guarantee takes for granted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Premises:
    """Facts about the rows, and about where they are, that are taken for granted; public.

    Attributes:
        conditions: what must hold for the promise of a release to hold.
        unproved: the same, where nobody can check it in a single run.
    """

    conditions: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    def __add__(self, other: Premises) -> Premises:
        """Both, this one's first."""
        return Premises(self.conditions + other.conditions, self.unproved + other.unproved)

    @classmethod
    def of_parts(
        cls, related: set[str], unknown: set[str], *, condition: str, unproved: str
    ) -> Premises:
        """Describe the parts of a query or a plan that do not keep to single rows.

        Args:
            related: those of which several rows may rest on one.
            unknown: those of which nobody can promise more.
            condition: a sentence about all of them, with {} for their names.
            unproved: one about the unknown ones.
        """
        told = [
            (sentence.format(", ".join(sorted(parts))),) if parts else ()
            for sentence, parts in ((condition, related | unknown), (unproved, unknown))
        ]
        return cls(*told)


NO_PREMISES = Premises()
