"""Rows of `results.csv` by size of the table, move and trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from understudy_studies.framework.study import Row
from understudy_studies.snoke_slavkovic_2018.bound_violations.trees import (
    COMPLEXITIES,
    DEPTHS,
    FIXED,
)

RATE = {"published": "rate_published", "true": "rate_true"}
"""Bound → column with the rate at which it is broken."""


class Results:
    """The results of the study.

    Args:
        rows: rows of `results.csv`.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._found = {
            (row["n_rows"], row["move"], row["method"], row["depth"], row["complexity"]): row
            for row in self.rows
        }

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of records."""
        return tuple(dict.fromkeys(row["n_rows"] for row in self.rows))

    @property
    def fixed(self) -> tuple[Row, ...]:
        """All rows of classes for which the theorem holds."""
        return tuple(row for row in self.rows if row["method"] in FIXED)

    def greedy(self, n_rows: int, move: str, method: str, depth: str, complexity: float) -> Row:
        """A row of greedy trees."""
        return self._found[n_rows, move, method, depth, complexity]

    def by_depth(self, n_rows: int, move: str, method: str, complexity: float) -> list[Row]:
        """The rows of all depths."""
        return [self.greedy(n_rows, move, method, depth, complexity) for depth in DEPTHS]

    def depths(self, move: str, method: str) -> Iterator[tuple[int, float, list[Row]]]:
        """For every n and complexity the rows of all depths."""
        for n in self.sizes:
            for complexity in COMPLEXITIES[n]:
                yield n, complexity, self.by_depth(n, move, method, complexity)
