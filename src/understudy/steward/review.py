"""Decisions about a drafted schema, one after the other, each written down in its text.

What is decided about a column is what the promise of a release rests on: that its entries are
public. Accepted is what was not read from the rows; what was, keeps its mark until it is changed,
or confirmed with a source, for this column alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from understudy import _storage
from understudy.errors import SchemaError, line, suggestion
from understudy.schema import Relation, Rule, Schema, toml
from understudy.schema.base import Reviewed
from understudy.schema.households import MemberRule, MemberTable, read_tables
from understudy.schema.toml import COLUMN_ORDER, SchemaText, laid_out
from understudy.steward.conventions import Form, is_proposed

Path_ = tuple[str, ...]
"""Where in the file a decision belongs: ("file",), ("columns", name) or ("relations", "0").

Of two tables it begins with ("tables", "person"), which alone is the number of slots."""

_RULES = "forbidden", "relations", "rules"
"""Lists of what holds for everybody."""

MANY = 5
"""Columns with bounds as in the rows, from which on one source for all of them is asked about."""

_OWN = {"description", "drafted"}
_TOLD_APART = ("source", "reviewed", "confirmed", "drafted")
_KEPT = ("missing", "not_applicable", "out_of_domain", "description", "unit", "drafted")

_LEAKS = {
    "levels": "a level that one person alone has is told to be in the table",
    "lower": "the smallest value is one person's",
    "upper": "the largest value is one person's",
    "bins": "edges follow the values of the rows",
    "derived": "that a rule holds in every row was read from the rows",
    "spikes": "that many rows share a value is told",
    "typical": "the values follow those of the rows",
    "format": "a single day can decide it",
    "unit": "it is the text of the rows",
    "decimals": "one value with more decimals than the others decides it",
    "missing": "that a value is absent, or how, may be one person's doing",
    "not_applicable": "that the question did not arise may be one person's doing",
    "out_of_domain": "the code is one that the rows hold",
    "value_labels": "labels are words of the confidential file",
    "encoding": "a single byte can decide it",
    "separator": "a single line can decide it",
    "quote": "a single cell can decide it",
    "decimal": "a single number can decide it",
    "thousands": "a single number can decide it",
    "multiline": "a single cell can decide it",
    "sheet": "its name is one of the confidential file",
    "rows_per_unit": "the size of the largest units is told",
}


Part = Reviewed | Relation | Rule | MemberRule


def column_of(path: Path_) -> str:
    """Name of the column that a decision is about; "" if it is about something else.

    Example:
        >>> column_of(("tables", "person", "columns", "age")), column_of(("relations", "0"))
        ('age', '')
    """
    return path[-1] if path[-2:-1] == ("columns",) else ""


def is_rule(path: Path_) -> bool:
    """Return whether a decision is about a rule, an inequality or a hierarchy."""
    return path[-2:-1] != ("columns",) and len(path) in (2, 4) and path[-2] in _RULES


class UnnamedEntriesError(SchemaError):
    """An edit names a source, and not all that came from the rows.

    Attributes:
        answer: the whole edit in one line, as it could be typed. It holds values of the schema's
            file, so it is for whoever reviews that file, and stands in no message.
    """

    def __init__(self, name: str, unnamed: Sequence[str], answer: str) -> None:
        super().__init__(
            f"{name}: {', '.join(unnamed)} also came from the rows; name all of it in this edit, "
            "or first confirm with a source what stays."
        )
        self.answer = answer


def left_as_drafted(part: Part) -> tuple[str, ...]:
    """Entries that stand as they were read from the rows; rules are never read."""
    return part.left_as_drafted if isinstance(part, Reviewed) else ()


def entries_of(part: Part) -> Iterator[tuple[str, Any]]:
    """List what is declared, in the order of a schema's file; what vouches for it is told apart.

    Of a table, what stands in parts of its own is left out.
    """
    own = ("columns", *_RULES) if isinstance(part, MemberTable) else ()
    content = part.model_dump(exclude_defaults=True, by_alias=True, exclude={*own})
    content |= part.model_dump(by_alias=True, include={*left_as_drafted(part)})  # usual ones too
    known = [key for key in COLUMN_ORDER if key in content]
    for key in (*known, *(key for key in content if key not in known)):
        if key not in _TOLD_APART:
            yield key, content[key]


def leak_of(entry: str) -> str:
    """Describe what an entry tells of the rows if it is left as it was read from them.

    Args:
        entry: name of one that can be read from rows.
    """
    return _LEAKS.get(entry, "it was read from the rows")


@dataclass(frozen=True)
class Review:
    """A schema's file under review.

    Attributes:
        place: the file.
        text: what stands in it.
        decisions: how many were made so far.
    """

    place: Path
    text: SchemaText = field(repr=False)
    decisions: int = 0

    @classmethod
    def of(cls, place: Path) -> Review:
        """The review of a file.

        Raises:
            SchemaError: it cannot be read, or is no schema.
        """
        review = cls(place, SchemaText.of(toml.file_text(place)))
        _ = review.parts
        return review

    @cached_property
    def schema(self) -> Schema:
        """The schema that the text says.

        Raises:
            SchemaError: it says none.
        """
        return toml.loads(str(self.text), Schema, self.place.absolute())

    @cached_property
    def parts(self) -> dict[Path_, Part]:
        """Everything that there is to decide; the form of the file first, then as in the file."""
        schema, content = self.schema, tomllib.loads(str(self.text))
        parts: dict[Path_, Part] = {("file",): schema.file} if schema.file.drafted else {}
        if "tables" in content:
            parts |= self._parts_of_tables(content)
        else:
            parts |= {("columns", name): one for name, one in schema.declared.items()}
        for key in ("forbidden", "relations"):  # those of slots stand behind what the file has
            number = len(content.get(key, ()))
            parts |= {(key, str(k)): one for k, one in enumerate(getattr(schema, key)[:number])}
        return parts

    def _parts_of_tables(self, content: Mapping[str, Any]) -> dict[Path_, Part]:
        (of, units), (table, members) = read_tables(content)
        form, declared = self.schema.members, self.schema.declared
        own = declared if form is None else form.member_columns(declared)
        above, below = ("tables", of), ("tables", table)
        parts: dict[Path_, Part] = {
            (*above, "columns", name): declared[name] for name in units.columns
        }
        if form is not None:  # members by themselves have no slots
            parts[below] = members
        parts |= {(*below, "columns", name): own[name] for name in members.columns}
        listed: Mapping[str, Sequence[Part]] = {
            "forbidden": [Rule.model_validate(one) for one in members.forbidden],
            "relations": [Relation.model_validate(one) for one in members.relations],
            "rules": members.rules,
        }
        for key, rules in listed.items():
            parts |= {(*below, key, str(k)): one for k, one in enumerate(rules)}
        return parts

    @property
    def open(self) -> tuple[Path_, ...]:
        """Parts not decided: not reviewed, or left as drafted; the form of the file first."""
        return tuple(
            path for path, one in self.parts.items() if not one.reviewed or left_as_drafted(one)
        )

    def measuring_columns(self, path: Path_) -> tuple[str, ...]:
        """Columns of the schema by which a column is measured: of members, one for each slot."""
        form, name = self.schema.members, column_of(path)
        if form is None or path[:2] != ("tables", form.table):
            return (name,) if name in self.schema.columns else ()
        return form.slots_of([name])

    @property
    def sourced(self) -> tuple[Path_, ...]:
        """Open parts whose source is named, and in which nothing was read from the rows."""
        return tuple(
            path
            for path in self.open
            if not left_as_drafted(part := self.part(path)) and part.source.strip()
        )

    @property
    def proposed(self) -> tuple[Path_, ...]:
        """Those of `sourced` that a name alone has proposed: no look at the rows could object."""
        parts = ((path, self.part(path)) for path in self.sourced)
        return tuple(p for p, one in parts if isinstance(one, Reviewed) and is_proposed(one))

    def part(self, path: Path_) -> Part:
        """Return the part of the schema that a decision is about."""
        return self.schema.file if path == ("file",) else self.parts[path]

    def list_questions(self, path: Path_) -> tuple[str, ...]:
        """List what the heading of a draft says of a column: questions that the rows raise."""
        head = str(self.text).partition("\n\n")[0]
        about = re.escape(f"#   {column_of(path)!r}: ")
        return tuple(re.findall(rf"^{about}(.+)$", head, re.MULTILINE)) if column_of(path) else ()

    def accept(self, *paths: Path_, source: str = "") -> Review:
        """Reviewed as they stand, in one decision; refused where something was read from the rows.

        Args:
            paths: what is accepted.
            source: where the entries come from, if that is to be said now.

        Raises:
            SchemaError: an entry is left as drafted.
        """
        for path in paths:
            if left := left_as_drafted(self.part(path)):
                raise SchemaError(
                    f"{self.name(path)}: {', '.join(left)} were read from the rows; confirm them "
                    "with a source, or change them."
                )
        return self._with(paths, {"reviewed": True} | ({"source": source} if source else {}))

    def confirm(self, path: Path_, source: str) -> Review:
        """Reviewed: a source confirms each entry that is left as drafted.

        Raises:
            SchemaError: no source.
        """
        part = self.part(path)
        if not source.strip():
            raise SchemaError("A confirmation needs a source: a codebook and page, a law.")
        left, known = left_as_drafted(part), getattr(part, "confirmed", {})
        said = {"confirmed": {**known, **dict.fromkeys(left, source)}} if left else {}
        own = {} if part.source.strip() and left else {"source": source}
        return self._with([path], {**own, "reviewed": True, **said})

    def confirm_many(self, paths: Sequence[Path_], source: str) -> Review:
        """Reviewed by one source in one decision; see `confirm`.

        Raises:
            SchemaError: no source, or none is named.
        """
        if not paths:
            raise SchemaError("Name the columns that this source confirms.")
        review = self
        for path in paths:
            review = review.confirm(path, source)
        return replace(review, decisions=self.decisions + 1)

    def tell(
        self,
        *,
        title: str = "",
        unit: str = "",
        rows: str = "",
        count: int | None = None,
        population: str = "",
    ) -> Review:
        """Take in what no rows tell: the table's name, whose rows it has, and which are public.

        Args:
            title: as releases bear it; "" leaves it.
            unit: whom one row stands for, such as one respondent; "" leaves it.
            rows: "private" or "public"; "" leaves it.
            count: their public number, or a public limit of a private one; None for none.
            population: whose ledger governs them; "" for none.

        Raises:
            SchemaError: it does not fit a schema.
        """
        limit = "n_rows" if (rows or self.schema.rows) == "public" else "row_limit"
        told = {"title": title, "rows": rows, limit: count}
        text = self.text.with_entries((), {name: one for name, one in told.items() if one})
        text = text.with_entries(("unit",), {"description": unit}) if unit else text
        if population:
            own = f"[ledger]\n{toml.entry_text('population', population)}\n"
            head, heading, rest = str(text).partition("[unit]")
            text = SchemaText.of(f"{head}{own}{heading}{rest}")
        return self._check(text)

    def keep(self, path: Path_) -> Review:
        """Reviewed though entries are left as drafted, so that guarantees are conditional."""
        return self._with([path], {"reviewed": True})

    def edit(self, path: Path_, entry: str, source: str = "") -> Review:
        """One entry, or several, changed; reviewed by that where a source is named.

        What was said to be its source is none of the new value. An entry that is named with the
        value of the draft is confirmed by the source, as `confirm` would.

        Args:
            path: whose.
            entry: TOML as `upper = 120`; several with commas between them, or a line each.
            source: where the column as it then stands comes from.

        Raises:
            SchemaError: no TOML, or no schema comes of it.
            UnnamedEntriesError: a source is named, and an entry that the edit does not name is left
                as drafted.
        """
        entries = _entries_in(entry)
        if not entries:
            raise SchemaError(
                f"{entry!r} is no entry; write it as it stands in the file, such as upper = 120 or "
                'levels = ["f", "m"].'
            )
        if "drafted" in entries:
            raise SchemaError("The marks of a draft are not edited; confirm or change the entries.")
        values = set(entries).intersection(getattr(self.part(path), "readable", entries))
        values -= {"source", "reviewed"}
        gone = {"source": ""} if values and "source" not in entries else {}
        changed = self._with([path], {**entries, **gone})
        if not source.strip():
            return changed
        left = left_as_drafted(changed.part(path))
        if unnamed := [one for one in left if one not in entries]:
            kept = dict(entries_of(changed.part(path)))
            whole = {**{one: kept[one] for one in unnamed}, **entries}
            answer = f"{_in_one_line(whole)}; {source.strip()}"
            raise UnnamedEntriesError(self.name(path), unnamed, answer)
        decided = changed.confirm(path, source) if left else changed.accept(path, source=source)
        return replace(decided, decisions=changed.decisions)

    def rewrite(self, path: Path_, block: str) -> Review:
        """A table of the file written anew, with its heading; its marks stay whatever is written.

        Raises:
            SchemaError: no schema comes of it.
        """
        if isinstance(part := self.part(path), MemberTable):
            raise SchemaError("A whole table is not written anew here; change its entries.")
        drafted = dict(getattr(part, "drafted", {}))
        text = self.text.with_block(path, block)
        marks = {"drafted": drafted} if drafted else {}
        return self._check(text.with_entries(path, marks))

    def alike(self, path: Path_, other: str) -> Review:
        """The entries of another column that is reviewed, and what confirms them.

        Raises:
            SchemaError: there is no such column, or it is not decided itself.
        """
        own = column_of(path)
        columns = {column_of(one): one for one in self.parts if column_of(one) and one != path}
        # Of two columns of this name that of the same table is meant.
        columns |= {
            name: (*path[:-1], name) for name in columns if (*path[:-1], name) in self.parts
        }
        if not own:
            raise SchemaError("Only a column can be as another one; confirm or change this one.")
        if other not in columns:
            raise SchemaError(f"{other!r} is no other column{suggestion(other, columns)}.")
        model = self.part(columns[other])
        assert isinstance(model, Reviewed)
        if not model.reviewed or model.left_as_drafted or not model.sources:
            raise SchemaError(f"Column {other!r} is not decided with a source yet.")
        part = self.part(path)
        assert isinstance(part, Reviewed)
        entries = model.model_dump(exclude_defaults=True, by_alias=True)
        entries = {key: value for key, value in entries.items() if key not in _OWN}
        kept = part.model_dump(include=_OWN, exclude_defaults=True)
        column = type(model).model_validate({**entries, **kept})
        said = dict.fromkeys(column.left_as_drafted, model.sources)
        confirmed = {"confirmed": {**entries.get("confirmed", {}), **said}} if said else {}
        block = {**entries, **kept, **confirmed, "reviewed": True}
        return self._check(self.text.with_block(path, _block(path, block)))

    def choose(self, path: Path_, form: Form) -> Review:
        """The column in a form that a convention has; its codes of absence stay.

        Entries of the form that the draft had read too are confirmed by the convention.

        Raises:
            SchemaError: codes of absence are values of the form.
        """
        part = self.part(path)
        assert isinstance(part, Reviewed)
        old = part.model_dump(exclude_defaults=True, by_alias=True)
        new = form.column.model_dump(exclude_defaults=True, by_alias=True)
        kept = {key: old[key] for key in _KEPT if key in old}
        column = type(form.column).model_validate({**kept, **new})
        left = [key for key in column.left_as_drafted if key in new]
        said = {"confirmed": dict.fromkeys(left, form.column.source)} if left else {}
        reviewed = set(column.left_as_drafted) <= set(left)
        entries = {**new, **{k: v for k, v in kept.items() if k != "drafted"}, **said}
        entries |= {"reviewed": reviewed} | {k: v for k, v in kept.items() if k == "drafted"}
        return self._check(self.text.with_block(path, _block(path, entries)))

    def exclude(self, path: Path_) -> Review:
        """Without a column, which will then not be released; or without a rule.

        Raises:
            SchemaError: others name it, or it is the only one.
        """
        if isinstance(self.part(path), MemberTable):
            raise SchemaError("A table cannot be taken out; change its entries, or confirm them.")
        # repr keeps a line break in a name from ending the comment.
        note = f"# {line(self.name(path))} was taken out when the schema was reviewed.\n"
        try:
            return self._check(self.text.with_block(path, note))
        except SchemaError as error:
            raise SchemaError(f"{self.name(path)} cannot be taken out. {error}") from None

    def name(self, path: Path_) -> str:
        """Name what a decision is about, in words."""
        if is_rule(path):
            return f"The rule “{getattr(self.part(path), 'text', '')}”"
        if path == ("file",):
            return "The table [file]"
        table = f" of the table {path[1]!r}" if path[0] == "tables" else ""
        return f"Column {column_of(path)!r}{table}" if column_of(path) else f"Slots{table}"

    def save(self, before: str) -> None:
        """Write the text into its file at once, if nobody else has changed that.

        Args:
            before: what stood in the file when it was last read or written.

        Raises:
            SchemaError: it has another content by now, or cannot be written.
        """
        if toml.file_text(self.place) != before:
            raise SchemaError(
                f"The schema file {str(self.place)!r} was changed by someone else meanwhile; this "
                "decision was not written. Begin again: those before it are kept."
            )
        try:
            _storage.replace(self.place, str(self.text).encode("utf-8"))
        except OSError as error:
            raise SchemaError(
                f"The schema file {str(self.place)!r} cannot be written: {_storage.reason(error)}; "
                "this decision was not written."
            ) from None

    def _with(self, paths: tuple[Path_, ...] | list[Path_], entries: Mapping[str, Any]) -> Review:
        text = self.text
        for path in paths:
            text = text.with_entries(path, entries)
        return self._check(text)

    def _check(self, text: SchemaText) -> Review:
        review = replace(self, text=text, decisions=self.decisions + 1)
        _ = review.parts
        return review


def _block(path: Path_, entries: Mapping[str, Any]) -> str:
    """A table with its heading."""
    table = laid_out(entries)
    for name in reversed(path):
        table = {name: table}
    return tomli_w.dumps(table)


def split_source(text: str) -> tuple[str, str]:
    """Entries as somebody types them, and behind a semicolon the source that they come from.

    Example:
        >>> split_source('lower = 0, levels = ["a; b"]; codebook, page 3')
        ('lower = 0, levels = ["a; b"]', 'codebook, page 3')
        >>> split_source("upper = 120")
        ('upper = 120', '')
    """
    for k, letter in enumerate(text):
        if letter == ";" and _entries_in(text[:k]):  # one within a text leaves no entries
            return text[:k].strip(), text[k + 1 :].strip()
    return text.strip(), ""


def _in_one_line(entries: Mapping[str, Any]) -> str:
    """Entries as somebody could type them, in one line.

    Example:
        >>> _in_one_line({"lower": 0, "levels": ["a, b", "c"]})
        'lower = 0, levels = ["a, b", "c"]'
    """
    texts = (toml.entry_text(key, value) for key, value in entries.items())
    return ", ".join(" ".join(map(str.strip, text.strip().split("\n"))) for text in texts)


def _entries_in(text: str) -> dict[str, Any]:
    """Entries as somebody types them: a line each, or in one line with commas; {} if they are none.

    Example:
        >>> _entries_in('lower = 0, levels = ["a, b", "c"]')
        {'lower': 0, 'levels': ['a, b', 'c']}
    """
    for whole, key in ((text, ""), (f"x = {{ {text} }}", "x")):
        try:
            found = tomllib.loads(whole)
        except ValueError:
            continue
        return dict(found[key]) if key else found
    return {}
