"""The review of the schema: a list with a line for each column, and one open card."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from understudy.desk import runs
from understudy.desk.project import stamp
from understudy.desk.projects import data_of, settle_draft
from understudy.desk.visit import Go, Page, Visit
from understudy.errors import DeskError, SchemaError, line
from understudy.schema.toml import COLUMN_ORDER, entry_text, file_text
from understudy.steward.conventions import forms_for, is_proposed
from understudy.steward.review import (
    RULES,
    Part,
    Path_,
    Review,
    leak_of,
    left_as_drafted,
    split_source,
)

_TOLD_APART = ("source", "reviewed", "confirmed", "drafted")
_LINES, _LETTERS = 6, 400
"""Of one entry that are shown."""
_MANY: Final = 5
"""Columns with bounds as in the rows, from which on one source for all of them is asked about."""


def _show(visit: Visit) -> dict[str, Any] | Go:
    settle_draft(visit.own)
    if not visit.own.has("schema.toml"):
        run = runs.last(visit.own)
        if run.what != "draft":
            return visit.to("file")
        return {"waiting": True, "command": run.command}
    review = Review.of(visit.own.place("schema.toml"))
    paths, left = _parts(review), set(review.open)
    at = _place(visit, paths, left)
    rows = [_row(review, path, k, path in left) for k, path in enumerate(paths)]
    ready = [path for path in review.sourced if not _is_proposed(review, path)]
    return {
        "waiting": False,
        "rows": rows,
        "at": at,
        "card": _card(visit, review, paths[at]) if paths else None,
        "left": len(left),
        "ready": len(ready),
        "stamp": stamp(str(review.text)),
        "source": visit.text("source"),
        "many_source": visit.text("many_source"),
        "entry": visit.text("entry"),
        "ticked": visit.texts("tick"),
        "ask_bounds": bool(visit.text("ask_bounds")),
        "findings": _findings(visit) if visit.secret_view else None,
        "command": "understudy schema review schema.toml",
    }


def _act(visit: Visit) -> Go | None:
    do = visit.text("do")
    if do == "enter":  # in a field: what is filled in says what is meant, and never that all is
        filled = {"entry": "edit", "many_source": "confirm many"}
        do = next((what for name, what in filled.items() if visit.text(name)), "confirm")
    if do == "confidential":
        visit.toggle_secret_view("schema")
        return _at(visit, visit.text("at"))
    if do == "check":
        words = ["schema", "check", str(data_of(visit)), "schema.toml", "--counts", "--json"]
        runs.start(visit.own, "check", words, into="check.json")
        return _at(visit, visit.text("at"))
    if do == "undo":
        visit.own.undo()
        visit.own.note("decision taken back")
        return _at(visit, visit.text("at"))
    review = Review.of(visit.own.place("schema.toml"))
    before = str(review.text)
    if visit.text("stamp") != stamp(before):
        raise DeskError(
            "The schema was changed meanwhile, in another tab or file; this is how it stands now. "
            "Decide again."
        )
    decided = _decide(visit, review, do)
    if decided is None:
        return None
    decided.save(file_text(visit.own.place("schema.toml")))
    visit.own.keep_for_undo(before, str(decided.text))
    visit.own.note("schema decision", decision=do)
    if not decided.open:
        visit.own.update(step="questions")
    return _at(visit, "next" if do in _GOES_ON else visit.text("at"))


_GOES_ON = ("accept", "confirm", "confirm many", "keep", "accept sourced", "alike")


def _decide(visit: Visit, review: Review, do: str) -> Review | None:
    paths = _parts(review)
    if do == "accept sourced":
        ready = [path for path in review.sourced if not _is_proposed(review, path)]
        return review.accept(*ready)
    if do == "confirm many":
        return _confirm_many(visit, review, paths)
    if do not in _DECISIONS:
        raise DeskError("This form asks for nothing that the page knows.")
    return _DECISIONS[do](visit, review, paths[_index(visit.text("at"), paths)])


def _accept(visit: Visit, review: Review, path: Path_) -> Review:
    part, source = review.part(path), visit.text("source")
    if not source and not part.source.strip() and not left_as_drafted(part):
        raise SchemaError("Say where the entries come from: a codebook and page, a law.")
    return review.accept(path, source=source)


def _edit(visit: Visit, review: Review, path: Path_) -> Review:
    entry, source = split_source(visit.text("entry"))
    return review.edit(path, entry, source or visit.text("source"))


def _keep(visit: Visit, review: Review, path: Path_) -> Review:
    if visit.text("sure") != "yes":
        raise SchemaError(
            "Tick that releases may have a conditional guarantee, or confirm with a source."
        )
    return review.keep(path)


def _exclude(_visit: Visit, review: Review, path: Path_) -> Review:
    if path == ("file",):
        raise SchemaError("How the file is written cannot be taken out; confirm it.")
    return review.exclude(path)


def _choose(visit: Visit, review: Review, path: Path_) -> Review:
    forms = _forms(path)
    return review.choose(path, forms[_index(visit.text("form"), forms)])


_DECISIONS: Final[dict[str, Callable[[Visit, Review, Path_], Review]]] = {
    "accept": _accept,
    "confirm": lambda visit, review, path: review.confirm(path, visit.text("source")),
    "edit": _edit,
    "keep": _keep,
    "exclude": _exclude,
    "alike": lambda visit, review, path: review.alike(path, visit.text("other")),
    "choose": _choose,
}
"""What the buttons of a card do."""


def _confirm_many(visit: Visit, review: Review, paths: list[Path_]) -> Review | None:
    """One source for all that is ticked; bounds of many as in the rows are asked about."""
    ticked = [paths[_index(text, paths)] for text in visit.texts("tick")]
    source = visit.text("many_source")
    bounds = [p for p in ticked if {"lower", "upper"} & {*left_as_drafted(review.part(p))}]
    if len(bounds) >= _MANY and visit.text("bounds") != "yes":
        visit.form["ask_bounds"] = ["yes"]
        return None
    return review.confirm_many(ticked, source)


def _parts(review: Review) -> list[Path_]:
    """Everything that there is to decide, in the order of the file."""
    schema = review.schema
    paths: list[Path_] = [("file",)] if schema.file.drafted else []
    paths += [("columns", name) for name in schema.declared]
    return paths + [(key, str(k)) for key in RULES for k in range(len(getattr(schema, key)))]


def _row(review: Review, path: Path_, k: int, is_open: bool) -> dict[str, Any]:
    part = review.part(path)
    left = left_as_drafted(part)
    if not is_open:
        state, words = "done", "decided"
    elif left:
        state, words = "drafted", "from the rows"
    elif part.source.strip():
        state, words = "sourced", "from a convention" if _is_proposed(review, path) else "sourced"
    else:
        state, words = "open", "no source"
    if not is_open and left:
        state, words = "kept", "conditional"
    return {
        "k": k,
        "name": _name(review, path),
        "kind": _kind(part),
        "state": state,
        "words": words,
    }


def _card(visit: Visit, review: Review, path: Path_) -> dict[str, Any]:
    part = review.part(path)
    left = left_as_drafted(part)
    hidden = () if visit.secret_view or part.reviewed else left
    others = [
        name
        for name, one in review.schema.declared.items()
        if one.reviewed and not one.left_as_drafted and one.sources and ("columns", name) != path
    ]
    return {
        "name": _name(review, path),
        "entries": list(_entries(part, hidden)),
        "source": part.source.strip(),
        "left": [(entry, leak_of(entry)) for entry in left],
        "hidden": hidden,
        "reviewed": part.reviewed,
        "is_column": path[0] == "columns",
        "others": others,
        "forms": [form.title for form in _forms(path)],
    }


def _entries(part: Part, hidden: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What is declared, entry by entry; what was read from the rows only where it may be seen."""
    content = part.model_dump(exclude_defaults=True, by_alias=True)
    known = [key for key in COLUMN_ORDER if key in content]
    for key in (*known, *(key for key in content if key not in known)):
        if key in _TOLD_APART:
            continue
        if key in hidden:
            yield key, "read from the rows: shown in the confidential view"
            continue
        if key == "missing":
            yield key, ", ".join(str(code) or "an empty cell" for code in content[key])[:_LETTERS]
            continue
        text = entry_text(key, content[key]).partition("=")[2].strip()
        lines = text.split("\n")
        told = "\n".join(lines[:_LINES])[:_LETTERS]
        more = len(lines) > _LINES or len(told) < len("\n".join(lines[:_LINES]))
        plain = content[key] if isinstance(content[key], str) and not more else told
        yield key, f"{told} …" if more else plain or "an empty text"


def _findings(visit: Visit) -> list[str] | None:
    """What a check of the rows has found; None before one."""
    place = visit.own.place("check.json")
    run = runs.last(visit.own)
    if not place.exists() or (run.what == "check" and run.active):
        return None
    try:
        return [str(text) for text in json.loads(place.read_text(encoding="utf-8"))["findings"]]
    except (ValueError, KeyError, TypeError):  # it ended before it had found anything
        return None


def _place(visit: Visit, paths: list[Path_], left: set[Path_]) -> int:
    """Which card is open: the one that is asked for, or the first that is not decided."""
    asked = visit.text("at") or visit.query.get("at", "next")
    if asked.isdecimal() and len(asked) < 6 and int(asked) < len(paths):
        return int(asked)
    return next((k for k, path in enumerate(paths) if path in left), 0)


def _at(visit: Visit, place: str) -> Go:
    return visit.to(f"schema?at={place}" if place.isdecimal() else "schema")


def _index(text: str, known: list[Any] | tuple[Any, ...]) -> int:
    if not text.isdecimal() or len(text) > 6 or int(text) >= len(known):
        raise DeskError("What was chosen is not in the list any more; choose again.")
    return int(text)


def _name(review: Review, path: Path_) -> str:
    if path == ("file",):
        return "How the text file is written"
    return path[1] if path[0] == "columns" else line(getattr(review.part(path), "text", "rule"))


def _kind(part: Part) -> str:
    return str(getattr(part, "kind", "")) or "rule"


def _is_proposed(review: Review, path: Path_) -> bool:
    """A name alone has proposed it: without a look at the rows nothing could object."""
    return path[0] == "columns" and is_proposed(review.schema.declared[path[1]])


def _forms(path: Path_) -> tuple[Any, ...]:
    return forms_for(path[1]) if path[0] == "columns" else ()


SCHEMA = Page("Schema", "schema", _show, _act)
