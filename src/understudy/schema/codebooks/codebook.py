"""What a codebook yields: columns, what it lacks, what is left out; as the text of a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from understudy.errors import SchemaError, line, suggestion
from understudy.schema import toml
from understudy.schema.codebooks.derived_proposals import proposed, with_rules_that_hold
from understudy.schema.codebooks.described_column import Asked, LeftOut, described
from understudy.schema.codebooks.stated_rules import note_of
from understudy.schema.codebooks.variable import Variable
from understudy.schema.columns import Column
from understudy.schema.relations import Relation

_MOST_CODES = 2 * 10**6  # a short file can point to one long list from many variables
_HEADING = """\
# From the codebook {place}. No row was read.
# Look through every column, add what is asked for, and set reviewed = true.
"""
_MAYBE_OBSERVED = """\
#
# What has fingerprints in `drafted` may have been observed in the rows: a range, or a value without
# a label. Replace it by what is publicly known, or say in `confirmed` what confirms it.
"""


@dataclass(frozen=True)
class Codebook:
    """A codebook: what is publicly said about the columns of a table.

    Attributes:
        title: of the table; "" if the codebook has none.
        place: how the codebook is named in `source`.
        columns: name → column, in the order of the codebook; not reviewed.
        asked: name → what is known of a column for which the codebook does not say enough.
        left_out: name → why no column was made of it.
        notes: name → what a reviewer should know of it.
        order: names of all variables.
        relations: inequalities that it states, "start <= end"; not reviewed.

    Example:
        >>> book = Codebook.of("People", "people.xml", [Variable("age", lower="0", upper="120")])
        >>> book.columns["age"].upper, book.columns["age"].source
        (120, 'People, variable age')
    """

    title: str
    place: str
    columns: dict[str, Column]
    asked: dict[str, Asked]
    left_out: dict[str, str]
    notes: dict[str, str]
    order: tuple[str, ...]
    relations: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, name: str, variables: Iterable[Variable]) -> Codebook:
        """From the variables that a reader found.

        Args:
            title: of the codebook; "" if it has none.
            name: of its file.
            variables: in the order of the codebook.

        Raises:
            SchemaError: a variable without a name, two of one name, or none at all; too many codes.
        """
        title = line(" ".join(title.split()))
        book = replace(cls.nothing(), title=title, place=title or line(name))
        order: dict[str, None] = {}
        rules: dict[str, tuple[str, ...]] = {}
        n_codes = 0
        for variable in variables:
            if not variable.name.strip():
                raise SchemaError(
                    f"The codebook {name!r} describes a variable without a name, number "
                    f"{len(order) + 1}; name it, or take it out."
                )
            if variable.name in order:
                raise SchemaError(
                    f"The codebook {name!r} describes the variable {variable.name!r} twice; take "
                    "one out, or say by `table` (--table) which table is meant."
                )
            order[variable.name] = None
            n_codes += len(variable.values)
            if n_codes > _MOST_CODES:
                raise SchemaError(
                    f"The codebook {name!r} lists more than {_MOST_CODES:,} codes in all; split it."
                )
            _take(book, variable)
            if variable.rules:
                rules[variable.name] = variable.rules
        if not order:
            raise SchemaError(f"The codebook {name!r} describes no variable.")
        return replace(book, order=tuple(order)).with_rules(rules)

    def with_rules(self, rules: Mapping[str, tuple[str, ...]]) -> Codebook:
        """The same, columns derived as the codebook says; what cannot be is a note.

        Args:
            rules: name → what it says.
        """
        columns, asked, notes = dict(self.columns), dict(self.asked), dict(self.notes)
        for name, commands in rules.items():
            found = proposed(commands, name, columns, asked)
            if isinstance(found, Asked):
                asked[name] = found
            elif found is not None:
                columns[name] = found
                asked.pop(name, None)
            elif name in columns or name in asked:
                notes[name] = "; ".join(filter(None, (notes.get(name), note_of(commands))))
        return replace(self, columns=columns, asked=asked, notes=notes)

    @classmethod
    def nothing(cls) -> Codebook:
        """A codebook that says nothing."""
        return cls("", "", {}, {}, {}, {}, ())

    def only(self, names: Sequence[str]) -> Codebook:
        """The part about some columns, in the order of the codebook.

        Args:
            names: of columns; none of them stand for all.

        Raises:
            SchemaError: one that the codebook does not have.
        """
        for name in names:
            if name not in self.order:
                raise SchemaError(
                    f"The codebook {self.place!r} has no variable {name!r}"
                    f"{suggestion(name, self.order)}."
                )
        if not names:
            return self
        return replace(
            self,
            columns=with_rules_that_hold(_among(self.columns, names)),
            asked=_among(self.asked, names),
            left_out=_among(self.left_out, names),
            notes=_among(self.notes, names),
            order=tuple(name for name in self.order if name in names),
        )

    def dumps(self) -> str:
        """A schema as TOML text: what the codebook says, and in its heading what it lacks.

        The schema is complete only if nothing is asked for: until then, reading it names each
        entry that is missing. It holds nothing that was read from rows, and is refused until every
        column is reviewed.

        Raises:
            SchemaError: no variable of the codebook can be a column.
        """
        written = {name: one for name, one in self.asked.items() if not one.in_words}
        entries = {name: _entries(column) for name, column in self.columns.items()}
        entries |= {name: _written(asked.entries) for name, asked in written.items()}
        if not entries:
            raise SchemaError(
                f"The codebook {self.place!r} has no variable that can be a column: "
                f"{self._reasons()}."
            )
        columns = {name: entries[name] for name in self.order if name in entries}
        title = {"title": self.title} if self.title else {}
        head = {"format": 1, **title, "rows": "private", "unit": {"rows_per_unit": 1}}
        relations = self.proposed_relations(columns)
        whole = {**head, "columns": columns, **({"relations": relations} if relations else {})}
        return f"{self._heading(written)}\n{toml.dumps(whole, lists=True)}"

    def proposed_relations(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Entries of the relations between some columns, for a person to confirm.

        Args:
            names: of the columns.
        """
        known, found = set(names), []
        for text in self.relations:
            relation = Relation(inequality=text)
            if set(relation.columns) <= known:
                found.append({"inequality": text, "source": self.place, "reviewed": False})
        return found

    @property
    def told(self) -> dict[str, str]:
        """Variables that do not stand in the schema's text: name → why."""
        in_words = {name: one.in_words for name, one in self.asked.items() if one.in_words}
        told = {**self.left_out, **in_words}
        return {name: told[name] for name in self.order if name in told}

    def _reasons(self) -> str:
        return "; ".join(f"{name!r}: {why}" for name, why in list(self.told.items())[:3])

    def _heading(self, written: dict[str, Asked]) -> str:
        wanted = {name: f"add {' and '.join(one.needed)}" for name, one in written.items()}
        drafted = any(column.drafted for column in self.columns.values()) or any(
            one.entries.get("drafted") for one in written.values()
        )
        return "".join(
            (
                _HEADING.format(place=repr(self.place)),
                _MAYBE_OBSERVED if drafted else "",
                commented("Columns of which the codebook does not say enough", wanted),
                commented("Worth knowing", self.notes),
                commented("Variables that are no column of this schema", self.told),
            )
        )


def commented(title: str, lines: dict[str, str]) -> str:
    """A list as comment lines of a schema; "" if it is empty.

    Args:
        title: of the list.
        lines: name → sentence without its full stop.
    """
    if not lines:
        return ""
    # repr keeps a line break in a name from ending the comment.
    listed = (f"#   {name!r}: {line(sentence)}.\n" for name, sentence in lines.items())
    return f"#\n# {title}:\n{''.join(listed)}"


def _take(book: Codebook, variable: Variable) -> None:
    found, notes = described(variable, f"{book.place}, variable {line(variable.name)}")
    if isinstance(found, LeftOut):
        book.left_out[variable.name] = found.why
    elif isinstance(found, Asked):
        book.asked[variable.name] = found
    else:
        book.columns[variable.name] = found
    if notes:
        book.notes[variable.name] = "; ".join(notes)


def _entries(column: Column) -> dict[str, Any]:
    return _written(column.model_dump())


def _written(entries: dict[str, Any]) -> dict[str, Any]:
    """Entries that say something, in a form that TOML can hold."""
    said = {key: value for key, value in entries.items() if value not in ((), {}, "", None)}
    return {**said, "reviewed": False}


_What = TypeVar("_What")


def _among(entries: dict[str, _What], names: Sequence[str]) -> dict[str, _What]:
    kept = frozenset(names)
    return {name: one for name, one in entries.items() if name in kept}
