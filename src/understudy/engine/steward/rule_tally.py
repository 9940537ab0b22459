"""In how many rows a declared rule or relation does not hold: for the steward, before a release.

INTERNAL: numbers of rows are known from the rows. Nothing else reads a derived column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from understudy.engine.coding import ColumnCoder
from understudy.engine.reading.column_types import type_fault
from understudy.engine.reading.table_rows import Rows
from understudy.schema import NUMERIC, Schema
from understudy.schema.derived_columns import Cells, follows, sources_of
from understudy.schema.relation_boxes import breaks

_SLACK = 1e-6  # of a column's range: rows may have been rounded in other places than ours


@dataclass(frozen=True)
class RuleTally:
    """Counts rows batch by batch.

    Attributes:
        schema: with the rules.
        coders: of the columns that are read.
        rules: derived columns that can be compared.
        related: places of the relations whose columns are there.
    """

    schema: Schema
    coders: tuple[ColumnCoder, ...]
    rules: tuple[str, ...]
    related: tuple[int, ...]
    _counts: Counter[str | int] = field(default_factory=Counter, init=False, repr=False)

    @classmethod
    def of(cls, rows: Rows, schema: Schema, coders: Sequence[ColumnCoder]) -> RuleTally:
        """Of what there is to compare: rows may lack a derived column.

        Args:
            rows: the data.
            schema: of them.
            coders: of the measured columns that can be read.
        """
        types = rows.types() if schema.derived else {}
        there = {coder.name: coder for coder in coders}
        for name, column in schema.derived.items():
            coder = ColumnCoder(name, column)
            readable = name in types and name not in rows.unreadable
            if readable and type_fault(coder, types[name], rows.kind) is None:
                there[name] = coder
        rules = [
            name
            for name, column in schema.derived.items()
            if {name, *sources_of(column)} <= set(there)
        ]
        related = [k for k, one in enumerate(schema.relations) if set(one.columns) <= set(there)]
        read = {name: there[name] for name in there if name in schema.columns or name in rules}
        return cls(schema, tuple(read.values()), tuple(rules), tuple(related))

    def add(self, batch: pl.DataFrame) -> None:
        """Count the rows of a batch that do not keep to a rule or relation."""
        if not (self.rules or self.related):
            return
        cells = {coder.name: cells_of(coder, batch) for coder in self.coders}
        for name in self.rules:
            held = follows(name, self.schema.stated, cells, slack=_SLACK)
            self._counts[name] += int((~held).sum())
        for k in self.related:
            off = breaks(self.schema.relations[k], self.schema.columns, cells)
            self._counts[k] += int(off.sum())

    def found(self) -> Iterator[tuple[str | None, str, int]]:
        """Column (None for a relation), what does not hold, and in how many rows."""
        for name in self.rules:
            if self._counts[name]:
                yield (
                    name,
                    "differs from what its rule gives, and is not read: the release will have what "
                    "the rule gives; correct the data, or the rule",
                    self._counts[name],
                )
        for k in self.related:
            if self._counts[k]:
                yield (
                    None,
                    f"The relation {self.schema.relations[k].text} does not hold, and rows whose "
                    "bins rule it out will be counted as out of domain; correct the data, or take "
                    "the relation out",
                    self._counts[k],
                )


def cells_of(coder: ColumnCoder, batch: pl.DataFrame) -> Cells:
    """A column as it is coded; a value that fits no state is absent.

    Args:
        coder: of the column.
        batch: n rows that have it.
    """
    reading = coder.read(batch.get_column(coder.name))
    if not isinstance(coder.column, NUMERIC):
        return Cells(reading.states, np.empty(0))
    ordinary = reading.states < coder.column.n_ordinary
    numbers = np.clip(reading.number, *coder.column.bounds)
    return Cells(reading.states, np.where(ordinary, numbers, np.nan))
