"""What a row of results is about, in words."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.studies.coverage.simulation import REAL_ROWS
from understudy.studies.study import Row


@dataclass(frozen=True)
class Layout:
    """A way to make a release, but for its budget.

    Attributes:
        method: method with its form, or `REAL_ROWS`.
        sets: number and kind of sets, and whether rows had to be public.
    """

    method: str
    sets: str

    @classmethod
    def of(cls, row: Row) -> Layout:
        """The layout of a row of results."""
        if row["method"] == REAL_ROWS:
            return cls(REAL_ROWS, "–")
        form = row["options"].removeprefix("form=")
        sets = "1" if row["sets"] == 1 else f"{row['sets']} {row['sets_kind']}"
        public = ", rows public" if row["rows"] == "public" else ""
        return cls(f"{row['method']} {form}".strip(), sets + public)

    def __str__(self) -> str:
        return self.method if self.method == REAL_ROWS else f"{self.method}, {self.sets}"
