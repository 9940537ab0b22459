"""The review of a drafted schema in the terminal, column by column."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import understudy as us
from understudy.cli import console, render_review
from understudy.cli.app import with_members
from understudy.errors import DataError, MethodError, SchemaError
from understudy.schema import Schema
from understudy.schema.base import Reviewed
from understudy.schema.toml import file_text
from understudy.steward.check import Finding
from understudy.steward.conventions import Form, all_forms, forms_for, is_proposed
from understudy.steward.review import (
    MANY,
    Path_,
    Review,
    UnnamedEntriesError,
    column_of,
    left_as_drafted,
    split_source,
)


class _EndOfInputError(Exception):
    """Nobody answers any more."""


def _answer(prompt: str) -> str:
    """A line that somebody typed, or a pipe sends.

    Raises:
        _EndOfInputError: there is none.
    """
    render_review.prompt(prompt)
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise _EndOfInputError
    return line.strip()


def _describe_misfits(found: Finding) -> str:
    """Say what does not fit, and on a terminal in how many rows, as `schema check` says it."""
    rows = "1 row" if found.count == 1 else f"{found.count:,} rows"
    return f"{found.problem} ({rows})" if found.count and console.is_terminal() else found.problem


class Session:
    """A review in the terminal.

    Args:
        place: the schema's file.
        data: the rows; None where nothing is to be said of them.
        members: the rows of members, where they are a file of their own.
    """

    def __init__(self, place: Path, data: Path | None, members: Path | None = None) -> None:
        self.review = Review.of(place)
        self._before = file_text(place)
        self._data = None if data is None else with_members(data, members, self.review.schema)
        self._findings: dict[tuple[str, str], list[str]] = {}
        self._extremes = None
        if data is not None:
            self._findings = self._check(self.review.schema)
            from understudy.steward.draft import extremes

            self._extremes = extremes(self._data, self.review.schema)
        self._last_source = ""
        self._last_column = ""
        self._skipped: set[Path_] = set()
        self._undone: list[Review] = []
        self._stood_by: set[str] = set()

    def _check(self, schema: Schema) -> dict[tuple[str, str], list[str]]:
        """Return what does not fit, by table ("" for a flat one) and column ("" for the whole)."""
        findings: dict[tuple[str, str], list[str]] = {}
        for found in us.check(self._data, schema).findings:
            key = (found.table, found.column or "")
            findings.setdefault(key, []).append(_describe_misfits(found))
        return findings

    def _misfits(self, path: Path_) -> list[str]:
        table, name = (path[1] if path[0] == "tables" else ""), column_of(path)
        flat = self._findings.get(("", name), []) if table else []
        return [*self._findings.get((table, name), []), *flat] if name else []

    def _misfits_of_tables(self) -> list[str]:
        """Return what does not fit in no single column."""
        whole = {table: told for (table, name), told in self._findings.items() if not name}
        return [
            f"Table {table!r} {problem}" if table else problem
            for table, told in whole.items()
            for problem in told
        ]

    def _list_sourced(self) -> list[Path_]:
        waiting = self._list_named()
        sourced = [path for path in self.review.sourced if not self._misfits(path)]
        return [path for path in sourced if path not in waiting]

    def _list_named(self) -> list[Path_]:
        """List what a name alone has proposed: without the rows nothing could object to it."""
        return [] if self._data is not None else [*self.review.proposed]

    def accept_sourced(self) -> None:
        """One decision about all that comes from public sources, and is not told to misfit."""
        paths, waiting = self._list_sourced(), len(self._list_named())
        if paths:
            self._decide(self.review.accept(*paths))
        render_review.accepted_at_once(self.review, paths, waiting)

    def ask_all(self) -> None:
        """Ask about what is open until all is decided, or nobody answers any more.

        Raises:
            MethodError: nobody answers at all.
        """
        answered = self.review.decisions > 0
        self._ask_about_table()
        render_review.began(self.review, self._misfits_of_tables(), len(self._list_sourced()))
        while left := [path for path in self.review.open if path not in self._skipped]:
            try:
                if not self._ask(left[0], len(left)):
                    return
                answered = True
            except _EndOfInputError:
                if not answered:
                    raise MethodError(
                        "The review asks in the terminal, and nobody answers there: run it in a "
                        "terminal, or send the answers through a pipe, a line each."
                    ) from None
                return

    def _ask_about_table(self) -> None:
        """Ask for a title and a unit, which no file says. A pipe holds decisions alone."""
        if sys.stdin is None or not sys.stdin.isatty():
            return
        schema = self.review.schema
        title = "" if schema.title else _answer(render_review.TITLE)
        unit = "" if schema.unit.description else _answer(render_review.UNIT)
        if title or unit:
            self._decide(self.review.tell(title=title, unit=unit))

    def _ask(self, path: Path_, left: int) -> bool:
        """Show one column, and do as is said; whether to go on."""
        render_review.show_review(self.review, path, left, self._misfits(path))
        while True:
            key, _, rest = _answer("> ").partition(" ")
            if key == "q":
                return False
            if key == "A":
                self.accept_sourced()
                return True
            if key == "s":
                self._skipped.add(path)
                return True
            if key == "u":
                self._undo()
                return True
            if key not in _DECISIONS:
                render_review.help_of_keys()
                continue
            try:
                decided = _DECISIONS[key](self, path, rest.strip())
            except UnnamedEntriesError as error:
                render_review.show_refusal(error)
                render_review.show_answer(f"e {error.answer}")
                continue
            except SchemaError as error:
                render_review.show_refusal(error)
                continue
            if decided is not None:
                self._decide(decided)
                if key in "c=vl" and column_of(path):
                    self._last_column = column_of(path)
                if key in "ev":
                    self._look_again(path)
                return True

    def _decide(self, decided: Review) -> None:
        decided.save(self._before)
        self._undone.append(self.review)
        self.review, self._before = decided, str(decided.text)

    def _undo(self) -> None:
        """Take the last decision of this session back; what was skipped is asked about again."""
        if not self._undone:
            render_review.nothing_to_undo()
            return
        before = self._undone.pop()
        before.save(self._before)
        self.review, self._before = before, str(before.text)
        self._skipped.clear()
        render_review.undone(len(self.review.open))

    def _look_again(self, path: Path_) -> None:
        """See whether the rows fit a column that was changed."""
        schema, name = self.review.schema, column_of(path)
        if self._data is None or not self.review.measuring_columns(path):
            return
        try:  # of two tables, what a column is measured by hangs on both
            found = self._check(schema if path[0] == "tables" else schema.part([name]))
        except DataError:
            return
        key = (path[1] if path[0] == "tables" else "", name)
        self._findings[key] = found.get(key, [])

    def accept(self, path: Path_, source: str) -> Review | None:
        """As it stands; asks for a source where none is named."""
        part = self.review.part(path)
        if not source and not part.source.strip() and not left_as_drafted(part):
            source = self._source()
        decided = self.review.accept(path, source=source)
        return decided if self._is_meant(path, decided) else None

    def confirm(self, path: Path_, source: str) -> Review | None:
        """With a source; asks for it if it was not said."""
        source = source or self._source()
        decided = self.review.confirm(path, source)
        self._last_source = source
        return decided if self._is_meant(path, decided) else None

    def confirm_many(self, _path: Path_, rest: str) -> Review | None:
        """All open columns whose names fit, by one source.

        Raises:
            SchemaError: none fits.
        """
        named, _, source = rest.partition(";")
        columns = [path for path in self.review.open if column_of(path)]
        paths = [
            path
            for path in columns
            if any(fnmatchcase(column_of(path), one) for one in named.split())
        ]
        if not paths:
            raise SchemaError(
                "No open column has such a name; write names or patterns, such as: "
                "m income_* age; codebook, page 3."
            )
        source = source.strip() or self._source()
        decided = self.review.confirm_many(paths, source)
        if not all(self._is_meant(path, decided) for path in paths):
            return None
        self._last_source = source
        render_review.show_confirmed(paths)
        return decided

    def _is_meant(self, path: Path_, decided: Review) -> bool:
        """Ask whether a source states bounds of many columns that are as the rows have them."""
        part = decided.part(path)
        if not isinstance(part, Reviewed) or not decided.measuring_columns(path):
            return True
        source = part.sources
        alike = [one for one, sources in self._as_in_rows(decided).items() if sources == source]
        if path not in alike or len(alike) < MANY or source in self._stood_by:
            return True
        if _answer(render_review.as_in_rows(len(alike), source)) != "yes":
            return False
        self._stood_by.add(source)
        return True

    def _as_in_rows(self, review: Review) -> dict[Path_, str]:
        """Reviewed columns with bounds that were drafted and kept, or are those of the rows."""
        found = {}
        for path, part in review.parts.items():
            if not isinstance(part, Reviewed) or not (names := review.measuring_columns(path)):
                continue
            kept = {"lower", "upper"}.intersection(part.confirmed)
            extreme = self._extremes is not None and any(
                self._extremes.are_bounds_of(name, review.schema) for name in names
            )
            if part.reviewed and not is_proposed(part) and (kept or extreme):
                found[path] = part.sources
        return found

    def confirm_as_before(self, path: Path_, _rest: str) -> Review | None:
        """With the source of the confirmation before.

        Raises:
            SchemaError: there was none.
        """
        if not self._last_source:
            raise SchemaError("No source was named yet; confirm with c and the source.")
        return self.confirm(path, self._last_source)

    def _source(self) -> str:
        source = _answer("Source (a codebook and page, a law, a judgement): ")
        return self._last_source if source == "=" else source

    def edit(self, path: Path_, entry: str) -> Review:
        """An entry in one line, several until an empty line, or the block in an editor."""
        if entry:
            return self.review.edit(path, *split_source(entry))
        whole = not column_of(path) and path[0] == "tables"
        if sys.stdin.isatty() and os.environ.get("EDITOR") and not whole:
            return self.review.rewrite(path, _in_editor(self.review.text.block(*path)))
        lines = []
        while line := _answer("entry (an empty line ends): "):
            lines.append(line)
        return self.review.edit(path, "\n".join(lines))

    def keep(self, path: Path_, _rest: str) -> Review | None:
        """Left as drafted, if that is really meant."""
        if _answer(render_review.KEPT) != "yes":
            return None
        self._skipped.add(path)
        return self.review.keep(path)

    def exclude(self, path: Path_, _rest: str) -> Review:
        """Taken out of the schema.

        Raises:
            SchemaError: it is no column.
        """
        if path == ("file",):
            raise SchemaError("How the file is written cannot be taken out; change or confirm it.")
        return self.review.exclude(path)

    def same_as(self, path: Path_, other: str) -> Review:
        """As another column that is decided: the one named, or the last that was.

        Raises:
            SchemaError: there is none.
        """
        if not other and not self._last_column:
            raise SchemaError("No column was decided yet; l and its name takes another one's.")
        return self.review.alike(path, other or self._last_column)

    def choose(self, path: Path_, wanted: str) -> Review | None:
        """A form of a convention: those for the column's name, or all whose title has a word.

        Raises:
            SchemaError: there is none.
        """
        forms = _forms(path, wanted)
        if not forms:
            raise SchemaError(
                "No convention is known for this name; v and a word, such as v scale, looks "
                "through all of them."
            )
        render_review.forms(forms)
        number = _answer("number (nothing for none): ")
        if not number:
            return None
        if not number.isdecimal() or not 1 <= int(number) <= len(forms):
            raise SchemaError(f"{number!r} is no number from 1 to {len(forms)}.")
        return self.review.choose(path, forms[int(number) - 1])


_DECISIONS = {
    "a": Session.accept,
    "c": Session.confirm,
    "=": Session.confirm_as_before,
    "m": Session.confirm_many,
    "e": Session.edit,
    "v": Session.choose,
    "l": Session.same_as,
    "k": Session.keep,
    "x": Session.exclude,
}


def _forms(path: Path_, wanted: str) -> tuple[Form, ...]:
    if not column_of(path):
        return ()
    if wanted:
        titles = {
            one.title: one for one in all_forms() if wanted.casefold() in one.title.casefold()
        }
        return tuple(titles.values())
    return forms_for(column_of(path))


def _in_editor(text: str) -> str:
    """A text as somebody left it in the editor of the machine.

    Raises:
        SchemaError: the editor does not run.
    """
    with tempfile.TemporaryDirectory() as folder:  # for the person's eyes alone
        place = Path(folder) / "column.toml"
        place.write_text(text, encoding="utf-8")
        try:
            command = [*shlex.split(os.environ["EDITOR"]), str(place)]
            subprocess.run(command, check=True)  # noqa: S603 — the person's own editor
        except (OSError, ValueError, subprocess.CalledProcessError):
            raise SchemaError("The editor named in EDITOR did not run; nothing changed.") from None
        return file_text(place)
