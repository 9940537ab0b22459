"""What is public of each column of a release, in words that every format of metadata takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from understudy.errors import line
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Identifier, Schema
from understudy.schema.cell_values import Code, text_of
from understudy.schema.derived_columns import rule_text

Absence = Literal["", "not applicable", "missing", "out of domain"]
"""Why there is no value; "" where there is one."""


@dataclass(frozen=True)
class Category:
    """A single value that a column may hold.

    Attributes:
        text: the value; "" for an empty cell.
        label: what it stands for, in words; "" if that is not said.
        absence: why it is no value.
    """

    text: str
    label: str
    absence: Absence = ""

    @property
    def words(self) -> str:
        """Its label, or else the value itself."""
        return self.label or self.text or "(empty)"


@dataclass(frozen=True)
class Variable:
    """A column of a release.

    Attributes:
        name: as in the synthetic tables.
        column: what the schema declares.
        categories: levels, labelled spikes and codes of absence, in the order of the schema.
    """

    name: str
    column: Column | Identifier
    categories: tuple[Category, ...]

    @property
    def description(self) -> str:
        """One line for the reader, with the unit."""
        unit = "" if isinstance(self.column, Identifier) else self.column.unit
        return line(
            f"{self.column.description} ({unit})" if unit else self.column.description
        ).strip()

    @property
    def rule(self) -> str:
        """The rule by which it follows from other columns; "" if it was drawn."""
        if isinstance(self.column, Identifier) or self.column.derived is None:
            return ""
        return line(rule_text(self.column))

    @property
    def is_numeric(self) -> bool:
        """Whether it lies on the number line."""
        return isinstance(self.column, NUMERIC)

    @property
    def bounds(self) -> tuple[str, str] | None:
        """Declared lower and upper bound as text; None where there are none."""
        column = self.column
        if isinstance(column, Calendar):
            low, high = (column.text_at(int(bound)) for bound in column.bounds)
            return low, high
        if not isinstance(column, NUMERIC):
            return None
        return text_of(column.lower), text_of(column.upper)

    @property
    def decimals(self) -> int | None:
        """Decimals of its numbers; None where they are not declared, or it has no numbers."""
        if isinstance(self.column, Continuous):
            return self.column.decimals
        return 0 if self.is_numeric else None

    @property
    def levels(self) -> tuple[Category, ...]:
        """The categories that are values."""
        return tuple(one for one in self.categories if not one.absence)

    @property
    def absent(self) -> tuple[Category, ...]:
        """The categories that say that there is no value."""
        return tuple(one for one in self.categories if one.absence)


def variables(schema: Schema) -> tuple[Variable, ...]:
    """The columns of a release, in order."""
    return tuple(
        Variable(name, column, _categories(column)) for name, column in schema.declared.items()
    )


def _categories(column: Column | Identifier) -> tuple[Category, ...]:
    if isinstance(column, Identifier):
        return ()
    spikes = getattr(column, "spikes", ())
    levels: tuple[Code, ...] = getattr(column, "levels", ())
    values = levels or tuple(spike for spike in spikes if text_of(spike) in column.value_labels)
    absent: list[tuple[Code, Absence]] = [
        (code, "not applicable") for code in column.not_applicable
    ]
    absent += [(code, "missing") for code in column.missing]
    if column.out_of_domain is not None:
        absent.append((column.out_of_domain, "out of domain"))
    said: list[tuple[Code, Absence]] = [*((value, "") for value in values), *absent]
    labels = {text: line(label) for text, label in column.value_labels.items()}
    named = ((text_of(value), absence) for value, absence in said)
    return tuple(Category(text, labels.get(text, ""), absence) for text, absence in named)
