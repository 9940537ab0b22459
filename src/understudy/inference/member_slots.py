"""The members of units, as questions see them: one flat table, and slots of the wide one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from understudy.inference.question import MODELS, RATIOS
from understudy.inference.records import Records
from understudy.inference.second_moments import MomentMatrix
from understudy.inference.slot_moments import SlotMoments
from understudy.release.households import members_of
from understudy.schema import Rule, Schema
from understudy.schema.expressions import names_in
from understudy.schema.geography import Geography
from understudy.schema.households import NO_MEMBER, Members, slot_column, state_of_nobody

BY_MOMENTS: Final = (*RATIOS, "total", *MODELS, "correlation")
"""Kinds, of those in `question`, that second moments of all slots answer."""


@dataclass(frozen=True, eq=False)
class MemberSlots:
    """The members' table of a schema.

    Attributes:
        wide: the schema, whose records are units with their members in slots.
        form: how they hold them.
    """

    wide: Schema
    form: Members

    @cached_property
    def schema(self) -> Schema:
        """Columns of members, and those of their units, as one flat table."""
        declared = self.wide.declared
        return self._flat(self.form.member_columns(declared))

    @property
    def slots(self) -> range:
        """Numbers of the slots."""
        return range(1, self.form.rows_per_unit + 1)

    def in_slot(self, columns: Sequence[str], j: int) -> tuple[str, ...]:
        """Columns of the wide table that hold some columns of the members in one slot."""
        own = self.form.columns
        return tuple(slot_column(name, j) if name in own else name for name in columns)

    def wide_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The same in all slots, each once."""
        return tuple(dict.fromkeys(w for j in self.slots for w in self.in_slot(columns, j)))

    @cached_property
    def slot_schemas(self) -> tuple[Schema, ...]:
        """The schema of the members in each slot."""
        return tuple(map(self._slot_schema, self.slots))

    def _slot_schema(self, j: int) -> Schema:
        """The flat schema of the members in one slot, of whom there may be none.

        All columns of a slot are empty together, which rules say of each pair of them.
        """
        declared = self.wide.columns
        own = {name: declared[slot_column(name, j)] for name in self.form.columns}
        empty = {
            name: state_of_nobody(column)
            for name, column in own.items()
            if NO_MEMBER in column.codes
        }
        rules = [
            Rule.of_states(
                {
                    one: frozenset({state}),
                    other: frozenset(range(own[other].size)) - {empty[other]},
                }
            )
            for (one, state), other in itertools.product(empty.items(), empty)
            if one != other
        ]
        return self._flat(own, rules)

    def _flat(self, own: Mapping[str, Any], rules: Sequence[Rule] = ()) -> Schema:
        schema = self.wide
        units = self.form.unit_columns(schema.columns)
        changed: dict[str, Any] = {"members": None, "forbidden": tuple(rules), "relations": ()}
        changed |= {"geography": Geography(), "columns": {**units, **own}}
        return schema.model_copy(update=changed)

    def members_in(self, table: pl.DataFrame, columns: Sequence[str]) -> Records:
        """Members in records of the wide table, with a value of each of some columns."""
        own, units = members_of(table, self.wide, columns)
        beside = (name for name in columns if name not in self.form.columns)
        rows = pl.DataFrame([*own, *(table.get_column(name).gather(units) for name in beside)])
        whole = replace(Records.of(rows, self.schema, columns), units=units)
        return whole.take(whole.complete())

    def part(self, columns: Sequence[str], joint: MomentMatrix) -> SlotMoments:
        """Take the matrix of all slots' columns apart by slots."""
        names = [dict(zip(self.in_slot(columns, j), columns, strict=True)) for j in self.slots]
        return SlotMoments.of(joint, names, self.slot_schemas)


def asked_members(formula: str, schema: Schema) -> MemberSlots | None:
    """The members' table, if a question names one of its columns; else None.

    Args:
        formula: of the question.
        schema: of the release.
    """
    form = schema.members
    if form is None or not names_in(formula) & {*form.columns}:
        return None
    known: MemberSlots = schema.worked_out.setdefault("members", MemberSlots(schema, form))
    return known
