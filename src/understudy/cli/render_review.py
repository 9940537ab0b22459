"""The review of a schema as a terminal shows it: proposals, their sources, and what each tells."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from understudy.cli.console import escape, out
from understudy.errors import SchemaError
from understudy.errors import line as on_one_line
from understudy.schema.derived import rule_text
from understudy.schema.toml import entry_text
from understudy.steward.conventions import Form
from understudy.steward.review import (
    Part,
    Path_,
    Review,
    column_of,
    entries_of,
    is_rule,
    leak_of,
    left_as_drafted,
)

_LINES = 8
"""Lines of one entry that are shown."""
_KEYS = (
    "a accept · c SOURCE confirm · = same source · m NAMES; SOURCE many · e ENTRY; SOURCE edit · "
    "l like the last · v forms · x take out · u undo · s skip · ? help · q quit"
)
_HELP = """\
a            accept it as it stands: it is public (a SOURCE names where it comes from)
c SOURCE     confirm what was read from the rows: the source that has these very values
=            confirm with the source of the confirmation before
m NAMES      confirm many at once, such as: m income_* age; codebook, page 3
e ENTRY      change an entry, such as: e lower = 0, upper = 120 (e alone: lines, or your EDITOR);
             with a source it is decided: e lower = 0, upper = 120; codebook, page 3
l            the same entries and source as the column decided before (l NAME: as that one)
A            accept at once all that comes from public sources alone
v            forms that conventions have for this name (v WORD: all forms with this word)
x            take the column out of the schema, so that it is not released
k            keep what was read from the rows unconfirmed: the guarantee is then conditional
u            undo the last decision
s            skip it for now
q            quit; all decisions are in the file
An entry changed because of what the rows hold is read from the rows: it needs a source, too."""
KEPT = "Releases will have a conditional guarantee that names this column. Type yes to keep it so: "

TITLE = "Title of the table, as releases bear it (Enter leaves it empty): "
UNIT = "Whom one row stands for, such as one respondent (Enter leaves it empty): "


def prompt(text: str) -> None:
    """Ask for a line."""
    out.print(escape(text), end="", soft_wrap=True)
    sys.stdout.flush()


def began(review: Review, findings: Sequence[str], sourced: int) -> None:
    """Show what lies ahead.

    Args:
        review: as it stands.
        findings: about the rows as a whole.
        sourced: how many are open that come from public sources alone.
    """
    left = len(review.open)
    if left:
        columns = "1 decision is" if left == 1 else f"{left} decisions are"
        out.print(f"{columns} open. Each is written into {escape(str(review.place))} at once.")
        out.print(_KEYS, soft_wrap=True)
    if sourced > 1:
        out.print(f"A accepts {sourced} of them at once, which come from public sources alone.")
    for problem in findings:
        _show_finding(f"{problem}.")


def show_review(review: Review, path: Path_, left: int, findings: Sequence[str]) -> None:
    """One column as it is proposed."""
    part = review.part(path)
    name = title(review, path)
    out.print(f"\n[bold]{escape(name)}[/bold]  ({left} open)")
    for line in _entries(part):
        out.print(f"  {escape(line)}", soft_wrap=True)
    out.print(f"  from: {escape(part.source.strip() or 'no source named')}", soft_wrap=True)
    for entry in left_as_drafted(part):
        out.print(
            f"  [bold]{entry}[/bold] from the rows; if left: {leak_of(entry)}.", soft_wrap=True
        )
    for question in review.list_questions(path):
        _show_finding(question)
    for problem in findings:
        _show_finding(f"the column {problem}.")


def title(review: Review, path: Path_) -> str:
    """Name a part as the heading of its card."""
    if path == ("file",):
        return "How the text file is written"
    if is_rule(path):
        return f"What holds for everybody: {review.name(path).removeprefix('The rule ')}"
    if name := column_of(path):
        return f"{name} of the table {path[1]}" if path[0] == "tables" else name
    return f"How many rows of the table {path[1]} one unit can have, and their order"


def _entries(part: Part) -> Iterator[str]:
    """List what is declared, as it stands in a schema's file."""
    for key, value in entries_of(part):
        lines = entry_text(key, value).rstrip("\n").split("\n")
        yield from lines[:_LINES]
        if len(lines) > _LINES:
            yield f"    … {len(lines) - _LINES} lines more"


def _show_finding(sentence: str) -> None:
    out.print(f"  CONFIDENTIAL, by the rows: {escape(sentence)}", soft_wrap=True)


def forms(found: Sequence[Form]) -> None:
    """Forms to choose from, by number."""
    for k, form in enumerate(found, 1):
        levels = [escape(label) for label in form.column.labels[:6]]
        told = f"{', '.join(levels)}{', …' if form.column.size > len(levels) else ''}"
        out.print(f"  {k}  {escape(form.title)}: {told}", soft_wrap=True)


def as_in_rows(n_columns: int, source: str) -> str:
    """Word the question about many bounds as the rows have them, which one source confirms.

    Args:
        n_columns: how many columns.
        source: that of all of them.
    """
    return (
        f"CONFIDENTIAL: {n_columns} columns have bounds as the rows have them, and one source, "
        f"{on_one_line(source)}. Does it state these very bounds? Type yes if it does: "
    )


def accepted_at_once(review: Review, paths: Sequence[Path_], waiting: int) -> None:
    """Show the columns that were accepted in one decision, and where each comes from.

    Args:
        review: after it.
        paths: what was accepted.
        waiting: how many columns a name alone has proposed, with no rows to object.
    """
    if waiting:
        columns = "1 column waits" if waiting == 1 else f"{waiting} columns wait"
        out.print(
            f"{columns} that names alone have proposed: conventions are accepted at once only with "
            "--data, so that it is seen whether the rows fit them.",
            soft_wrap=True,
        )
    if not paths:
        out.print("Nothing is open that comes from public sources alone.")
        return
    out.print(f"Accepted at once, {len(paths)} from public sources alone:")
    for path in paths:
        part = review.part(path)
        name = column_of(path) or review.name(path)
        derived = review.schema.stated.get(name) if path[0] == "columns" else None
        rule = f" = {rule_text(derived)}" if derived is not None and derived.derived else ""
        out.print(f"  {escape(name)}{escape(rule)}: {escape(part.source)}", soft_wrap=True)


def show_confirmed(paths: Sequence[Path_]) -> None:
    """Show which columns one source confirmed."""
    names = ", ".join(column_of(path) for path in paths)
    out.print(f"Confirmed, {len(paths)}: {escape(names)}.", soft_wrap=True)


def undone(left: int) -> None:
    """Show that the last decision was taken back.

    Args:
        left: how many are open now.
    """
    out.print(f"The last decision is taken back; {left} open.")


def nothing_to_undo() -> None:
    """Show that there is no decision to take back."""
    out.print("There is no decision of this session to take back.")


def show_refusal(error: SchemaError) -> None:
    """Show why a decision cannot be."""
    out.print(escape(str(error)), soft_wrap=True)


def show_answer(answer: str) -> None:
    """Show a whole answer, in a line of its own that can be typed as it stands."""
    out.print("With the values that stand in the file this is the whole line:", soft_wrap=True)
    out.print(escape(answer), soft_wrap=True)


def help_of_keys() -> None:
    """Show what each key does."""
    for line in _HELP.split("\n"):
        out.print(escape(line), soft_wrap=True)


def show_end(review: Review) -> None:
    """Show how many decisions were made, and what is left."""
    drafted = sum(bool(left_as_drafted(part)) for part in review.parts.values())
    n = review.decisions
    out.print(f"\n{n} decision{'s' if n != 1 else ''}, {drafted} left as drafted.", soft_wrap=True)
    if unreviewed := _list_unreviewed(review):
        out.print(
            f"Not reviewed: {escape(', '.join(unreviewed[:5]))}"
            f"{f' and {len(unreviewed) - 5} more' if len(unreviewed) > 5 else ''}.",
            soft_wrap=True,
        )
    else:
        out.print(
            "The schema is reviewed. `understudy schema check` says where the rows do not fit it, "
            "before anything is spent.",
            soft_wrap=True,
        )


def _list_unreviewed(review: Review) -> list[str]:
    left = [path for path, part in review.parts.items() if not part.reviewed]
    names = {path: review.name(path).removeprefix("The rule ") for path in left if is_rule(path)}
    names[("file",)] = "[file]"
    return [column_of(path) or names.get(path) or review.name(path) for path in left]
