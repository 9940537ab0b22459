"""Relations between columns that always hold: inequalities and hierarchies, declared by people.

    [[relations]]
    inequality = "start <= end"
    source = "a stay cannot end before it begins"

    [[relations]]
    hierarchy = ["county", "state"]
    within = { North = ["a", "b"], South = ["c"] }

They are facts about everybody, as structural zeros are, and are kept in the same way: each becomes
*boxes* of states that cannot stand together, so that every method that keeps to forbidden
combinations keeps to relations (`relation_boxes`). A value that is absent satisfies every relation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from understudy.errors import suggestion
from understudy.schema.calendar_columns import Calendar
from understudy.schema.cell_values import text_of
from understudy.schema.column_base import Value
from understudy.schema.columns import NUMERIC, Column, Ordinal
from understudy.schema.expressions import Expression, level_state

_SHOWN: Final = 'one of two columns, "start <= end" or "start < end"'


class Relation(BaseModel):
    """A relation between columns that holds for everybody: an inequality, or a hierarchy.

    Attributes:
        inequality: "start <= end" or "start < end", of two numeric columns, two dates or two
            ordinal columns with the same levels.
        at: where models keep to an inequality, as numbers or dates; by default the lower ends of
            the bins of the smaller side. Released records keep to it everywhere.
        hierarchy: two columns with levels, the finer one first.
        within: level of the second column → the levels of the first that lie in it; each lies in
            exactly one.
        source: why it holds (law, questionnaire, arithmetic).
        reviewed: somebody has confirmed that it holds for everyone, not only for these rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    inequality: str = ""
    at: tuple[Value, ...] = ()
    hierarchy: tuple[str, ...] = ()
    within: dict[str, tuple[Value, ...]] = {}
    source: str = ""
    reviewed: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.inequality) == bool(self.hierarchy or self.within):
            raise ValueError("needs either an inequality, or a hierarchy with within")
        if self.inequality:
            _sides(self.inequality)
        elif len(self.hierarchy) != 2 or not self.within or self.at:
            raise ValueError('a hierarchy names two columns, ["county", "state"], and needs within')
        return self

    @property
    def text(self) -> str:
        """The relation in words, for people."""
        return self.inequality or " lies within ".join(self.hierarchy)

    @property
    def columns(self) -> tuple[str, str]:
        """The two columns: the smaller and the larger, or the finer and the coarser."""
        if self.inequality:
            return _sides(self.inequality)[:2]
        return self.hierarchy[0], self.hierarchy[1]

    @property
    def is_strict(self) -> bool:
        """Whether the two sides of an inequality differ."""
        return bool(self.inequality) and _sides(self.inequality)[2]

    def faults(self, columns: Mapping[str, Column]) -> Iterator[str]:
        """What in it does not fit the columns, a sentence each.

        Args:
            columns: that are measured.
        """
        place = f"relation {self.text!r} "
        unknown = [name for name in self.columns if name not in columns]
        for name in unknown:
            hint = suggestion(name, columns)
            yield f"{place}names {name!r}, which is no column that is measured{hint}"
        if not unknown and self.columns[0] == self.columns[1]:
            yield f"{place}names one column twice; name two"
        elif not unknown:
            sides = columns[self.columns[0]], columns[self.columns[1]]
            found = _order_faults(self, *sides) if self.inequality else _fault_within(self, *sides)
            yield from (f"{place}{fault}" for fault in found)

    def places(self, column: Column) -> tuple[float, ...]:
        """`at` on the number line of the smaller side."""
        if not isinstance(column, NUMERIC):
            return tuple(float(level_state(self.columns[0], column, value)) for value in self.at)
        found = (column.position(value) for value in self.at)
        return tuple(place for place in found if place is not None)


def _sides(text: str) -> tuple[str, str, bool]:
    """The smaller column, the larger, and whether they differ."""
    try:
        tree = Expression.read(text).tree
    except ValueError:
        raise ValueError(f"the inequality cannot be read; write {_SHOWN}") from None
    sides = (tree.left, tree.comparators[0]) if isinstance(tree, ast.Compare) else ()
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Gt | ast.GtE):
        sides = sides[::-1]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    assert isinstance(tree, ast.Compare) or not names
    if len(names) < 2 or isinstance(tree.ops[0], ast.Eq | ast.NotEq):  # type: ignore[attr-defined]
        raise ValueError(f"an inequality is {_SHOWN}")
    return names[0], names[1], isinstance(tree.ops[0], ast.Lt | ast.Gt)  # type: ignore[attr-defined]


def _order_faults(relation: Relation, left: Column, right: Column) -> Iterator[str]:
    """What keeps two columns from being compared."""
    if isinstance(left, Ordinal) and isinstance(right, Ordinal):
        if tuple(map(text_of, left.levels)) != tuple(map(text_of, right.levels)):
            yield "compares ordinal columns with other levels; give both the same, in one order"
    elif not (isinstance(left, NUMERIC) and isinstance(right, NUMERIC)):
        yield "compares columns that are not both numeric, dates, or ordinal"
    elif _line(left) != _line(right):
        yield _other_lines(left, right)
    elif any(left.position(value) is None for value in relation.at):
        yield "has an entry in `at` that is no number or date; correct it"


def _line(column: Column) -> tuple[object, ...]:
    """What columns share whose places can be compared."""
    return column.line if isinstance(column, Calendar) else ()


def _other_lines(left: Column, right: Column) -> str:
    kinds = [one.kind if isinstance(one, Calendar) else "number" for one in (left, right)]
    if kinds[0] == kinds[1]:
        return "compares columns of another resolution or timezone; give both the same"
    one, other = sorted(kinds, key=lambda kind: kind == "number")
    return f"compares a {one} with a {other}"


def _fault_within(relation: Relation, child: Column, parent: Column) -> Iterator[str]:
    """What is wrong with the levels of a hierarchy."""
    if isinstance(child, NUMERIC) or isinstance(parent, NUMERIC):
        yield "is a hierarchy, and one of its columns has no levels"
        return
    found: list[int] = []
    try:
        for level, values in relation.within.items():
            level_state(relation.hierarchy[1], parent, level)
            found += [level_state(relation.hierarchy[0], child, value) for value in values]
    except ValueError as error:
        yield str(error)
        return
    if len(set(found)) < len(found):
        yield f"has a level of {relation.hierarchy[0]!r} twice in `within`; keep one of them"
    elif len(found) < child.n_ordinary:
        lacking = min(set(range(child.n_ordinary)) - set(found))
        yield (
            f"does not say where {child.labels[lacking]!r} of {relation.hierarchy[0]!r} lies; add "
            "each level to one entry of `within`"
        )
