"""Codebooks as public sources: what is said about a table by a file that is not the table.

**What a codebook yields: columns, what it lacks, what is left out; as the text of a schema.**

**A codebook of any format that is read: which one it is, by its ending and by what is in it.**

**Label sets of SPSS, Stata and SAS: their files, where they hold no row.**
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from understudy._validation import require_text
from understudy.errors import DataError, SchemaError, line, suggestion
from understudy.metadata import ddi, json_formats, lists
from understudy.metadata.source import CodebookFile, Element, parse_xml
from understudy.metadata.spss_stata import SpssSyntax, StataSyntax
from understudy.metadata.variables import (
    Asked,
    CodedValue,
    LeftOut,
    ValueType,
    Variable,
    describe_column,
    note_of,
    propose_column,
    with_rules_that_hold,
)
from understudy.schema import Column, Relation, toml
from understudy.schema.base import text_of
from understudy.schema.file_labels import (
    FileLabels,
    VariableLabels,
    is_statistical,
    read_file_labels,
)

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
        book = replace(cls.empty(), title=title, place=title or line(name))
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
            found = propose_column(commands, name, columns, asked)
            if isinstance(found, Asked):
                asked[name] = found
            elif found is not None:
                columns[name] = found
                asked.pop(name, None)
            elif name in columns or name in asked:
                notes[name] = "; ".join(filter(None, (notes.get(name), note_of(commands))))
        return replace(self, columns=columns, asked=asked, notes=notes)

    @classmethod
    def empty(cls) -> Codebook:
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
        entries |= {name: _write_entries(asked.entries) for name, asked in written.items()}
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
        return f"{self._column_heading(written)}\n{toml.dumps(whole, lists=True)}"

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

    def _column_heading(self, written: dict[str, Asked]) -> str:
        wanted = {name: f"add {' and '.join(one.needed)}" for name, one in written.items()}
        drafted = any(column.drafted for column in self.columns.values()) or any(
            one.entries.get("drafted") for one in written.values()
        )
        return "".join(
            (
                _HEADING.format(place=repr(self.place)),
                _MAYBE_OBSERVED if drafted else "",
                write_comments("Columns of which the codebook does not say enough", wanted),
                write_comments("Worth knowing", self.notes),
                write_comments("Variables that are no column of this schema", self.told),
            )
        )


def write_comments(title: str, lines: dict[str, str]) -> str:
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
    found, notes = describe_column(variable, f"{book.place}, variable {line(variable.name)}")
    if isinstance(found, LeftOut):
        book.left_out[variable.name] = found.why
    elif isinstance(found, Asked):
        book.asked[variable.name] = found
    else:
        book.columns[variable.name] = found
    if notes:
        book.notes[variable.name] = "; ".join(notes)


def _entries(column: Column) -> dict[str, Any]:
    return _write_entries(column.model_dump())


def _write_entries(entries: dict[str, Any]) -> dict[str, Any]:
    """Entries that say something, in a form that TOML can hold."""
    said = {key: value for key, value in entries.items() if value not in ((), {}, "", None)}
    return {**said, "reviewed": False}


_What = TypeVar("_What")


def _among(entries: dict[str, _What], names: Sequence[str]) -> dict[str, _What]:
    kept = frozenset(names)
    return {name: one for name, one in entries.items() if name in kept}


_TYPES: Final[Mapping[str, ValueType]] = {
    "text": "text",
    "days": "date",
    "moments": "other",
    "times": "other",
    "durations": "other",
}


def labels_of(file: CodebookFile) -> FileLabels:
    """Read the labels of a file of SPSS, Stata or SAS without rows.

    Args:
        file: the codebook.

    Raises:
        SchemaError: it cannot be read, or holds rows.
        MethodError: the library for it is not installed.
    """
    try:
        labels = read_file_labels(file.path)
    except DataError as error:
        raise SchemaError(str(error)) from None
    if labels.has_rows:
        file.refuse(
            "it holds rows, so it is confidential data and no public codebook; draft from it "
            "(understudy schema draft), or save its labels without the rows"
        )
    return labels


def variables(labels: FileLabels) -> Iterator[Variable]:
    """Variables of a label set."""
    for one in labels.variables.values():
        yield _variable(one)


def _variable(one: VariableLabels) -> Variable:
    return Variable(
        name=one.name,
        label=one.label,
        value_type=_TYPES.get(one.holds, "integer" if one.decimals == 0 else "number"),
        values=(
            *(
                CodedValue(text_of(code), label, "missing" if _is_absence(one, code) else "")
                for code, label in one.value_labels.items()
            ),
            *(
                CodedValue(text_of(code), "", "missing")
                for code in one.missing_codes
                if code not in one.value_labels
            ),
        ),
        absent_ranges=tuple((_end(low), _end(high)) for low, high in one.missing_ranges),
        on_a_scale=one.measure == "scale",
        ordered=one.measure == "ordinal",
        decimals=one.decimals,
    )


def _is_absence(one: VariableLabels, code: float | str) -> bool:
    """Return whether a code says that there is no answer; a tagged one (.a) among numbers does."""
    tagged = one.holds == "numbers" and isinstance(code, str)
    return tagged or one.is_missing(code)


def _end(number: float) -> str:
    """One end of a range; "" where it is open."""
    return "" if number in {float("inf"), float("-inf")} else text_of(number)


_KNOWN = (
    "DDI (XML, JSON-LD), Frictionless, CSVW, SDV, domain.json or a dictionary of codes (JSON), a "
    "data dictionary (.csv, .tsv), SPSS or Stata syntax (.sps, .do), or a file of SPSS, Stata or "
    "SAS without rows"
)


def read_codebook(path: str | Path, table: str = "") -> Codebook:
    """Read a codebook: what is publicly said about the columns of a table. No row is read.

    Args:
        path: of the file, which must be another than that of the rows.
        table: which of several tables it describes: the name of a resource, data file or table.

    Raises:
        SchemaError: it cannot be read, is of no known format, or describes several tables and
            `table` says none of them.
        MethodError: the library for its format is not installed.
    """
    require_text("table", table, SchemaError, "people")
    file = CodebookFile.read(path)
    try:
        title, variables = _read(file, table)
        book = Codebook.of(title, file.name, variables)
        return replace(book, relations=_relations(file, table))
    except RecursionError:
        return file.refuse("it is nested too deeply; split it")


def _read(file: CodebookFile, table: str) -> tuple[str, Iterable[Variable]]:
    ending = file.path.suffix.lower()
    start = file.content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if is_statistical(file.path):
        labels = labels_of(file)
        return labels.title, variables(labels)
    if ending in {".sps", ".do"}:
        syntax = SpssSyntax(file) if ending == ".sps" else StataSyntax(file)
        return syntax.title, syntax.variables()
    if ending == ".xml" or start == b"<" or file.content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return _from_xml(file, table)
    if ending in {".json", ".jsonld"} or start in {b"{", b"["}:
        return _from_json(file, file.json(), table)
    if ending in {".csv", ".tsv", ".txt"}:
        return "", lists.variables(file)
    return file.refuse(f"its format is not known; those that are read: {_KNOWN}")


def _relations(file: CodebookFile, table: str) -> tuple[str, ...]:
    """Inequalities between columns that can be named in a rule."""
    if file.content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return ()
    content = file.json()
    if ddi.is_cdi(content) or json_formats.is_csvw(content) or not json_formats.is_sdv(content):
        return ()
    found = json_formats.inequalities(content, file, table)
    return tuple(
        f"{low} {'<' if strict else '<='} {high}"
        for low, high, strict in dict.fromkeys(found)
        if low.isidentifier() and high.isidentifier() and low != high
    )


def _from_xml(file: CodebookFile, table: str) -> tuple[str, Iterable[Variable]]:
    skipped = ddi.CODEBOOK_STATISTICS | ddi.LIFECYCLE_STATISTICS | ddi.CDI_STATISTICS
    root = parse_xml(file, skipped)
    if root.name == "codeBook":
        return ddi.codebook_title(root), ddi.codebook_variables(root, file, table)
    if _has(root, "DDICDIModels", "InstanceVariable"):
        content = ddi.CrossDomain(root, file, table)
        return content.title, content.variables()
    if _has(root, "Variable"):
        return ddi.lifecycle_title(root), ddi.lifecycle_variables(root, file, table)
    return file.refuse(
        f"it is XML with the root {root.name!r} and describes no variable in a way that is known; "
        f"what is read: {_KNOWN}"
    )


def _has(root: Element, *names: str) -> bool:
    return root.name in names or next(root.below(*names), None) is not None


def _from_json(file: CodebookFile, content: Any, table: str) -> tuple[str, Iterable[Variable]]:
    if ddi.is_cdi(content):
        found = ddi.CrossDomain(content, file, table)
        return found.title, found.variables()
    if json_formats.is_csvw(content):
        return json_formats.csvw_title(content, table), json_formats.csvw_variables(
            content, file, table
        )
    if json_formats.is_sdv(content):
        return table, json_formats.sdv_variables(content, file, table)
    if json_formats.is_frictionless(content):
        return json_formats.frictionless_title(content, table), json_formats.frictionless_variables(
            content, file, table
        )
    if json_formats.is_known(content):
        return "", json_formats.domain_variables(content, file)
    return file.refuse(f"it is JSON of a form that is not known; those that are read: {_KNOWN}")
