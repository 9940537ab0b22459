"""The review of the schema: a list with a line for each column, and one open card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from understudy.desk import runs
from understudy.desk.project import stamp
from understudy.desk.projects import settle_draft, words_of_data
from understudy.desk.visit import Page, Visit
from understudy.desk.words import N_, _, refusal
from understudy.errors import SchemaError, line
from understudy.schema.base import Reviewed
from understudy.schema.toml import entry_text, file_text
from understudy.steward.conventions import forms_for
from understudy.steward.review import (
    MANY,
    Part,
    Path_,
    Review,
    column_of,
    entries_of,
    is_rule,
    leak_of,
    left_as_drafted,
    split_source,
)

_LINES, _LETTERS = 6, 400
"""Of one entry that are shown."""
_WORDS: Final = {
    "done": N_("decided"),
    "kept": N_("conditional"),
    "drafted": N_("from the rows"),
    "proposed": N_("from a convention"),
    "sourced": N_("sourced"),
    "open": N_("no source"),
}
"""How a part stands, in the list."""


def _show(visit: Visit) -> dict[str, Any]:
    settle_draft(visit.own)
    run = runs.last(visit.own)
    if run.what == "draft" and not visit.own.has("schema.toml"):
        return {"waiting": True, "command": run.command}
    visit.need("schema.toml", "file")
    review = Review.of(visit.own.place("schema.toml"))
    paths, left = [*review.parts], set(review.open)
    at = _place(visit, paths, left)
    return {
        "waiting": False,
        "rows": [(k, _name(review, path), _state(review, path)) for k, path in enumerate(paths)],
        "words": _WORDS,
        "at": at,
        "card": _card(visit, review, paths[at]) if paths else None,
        "left": len(left),
        "ready": len(_ready(review)),
        "stamp": stamp(str(review.text)),
        "findings": _findings(visit) if visit.secret_view else None,
        "command": "understudy schema review schema.toml",
    }


def _act(visit: Visit) -> str | None:
    do = visit.text("do")
    if do == "enter":  # in a field: what is filled in says what is meant, and never that all is
        filled = {"entry": "edit", "many_source": "confirm many"}
        do = next((what for name, what in filled.items() if visit.text(name)), "confirm")
    if do == "confidential":
        visit.toggle_secret_view("schema")
        return _at(visit, visit.text("at"))
    if do == "check":
        words = ["schema", "check", *words_of_data(visit), "schema.toml", "--counts", "--json"]
        runs.start(visit.own, "check", words, into="check.json")
        return _at(visit, visit.text("at"))
    if do == "undo":
        visit.own.undo()
        visit.own.note("decision taken back")
        return _at(visit, visit.text("at"))
    review = Review.of(visit.own.place("schema.toml"))
    before = str(review.text)
    if visit.text("stamp") != stamp(before):
        raise refusal(
            "The schema was changed meanwhile, in another tab or file; this is how it stands "
            "now. Decide again."
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
    paths = [*review.parts]
    if do == "accept sourced":
        return review.accept(*_ready(review))
    if do == "confirm many":
        return _confirm_many(visit, review, paths)
    if do not in _DECISIONS:
        raise refusal("This form asks for nothing that the page knows.")
    return _DECISIONS[do](visit, review, paths[_index(visit.text("at"), paths)])


def _accept(visit: Visit, review: Review, path: Path_) -> Review:
    part, source = review.part(path), visit.text("source")
    if not source and not part.source.strip() and not left_as_drafted(part):
        raise SchemaError(_("Say where the entries come from: a codebook and page, a law."))
    return review.accept(path, source=source)


def _edit(visit: Visit, review: Review, path: Path_) -> Review:
    entry, source = split_source(visit.text("entry"))
    return review.edit(path, entry, source or visit.text("source"))


def _keep(visit: Visit, review: Review, path: Path_) -> Review:
    if visit.text("sure") != "yes":
        raise SchemaError(
            _("Tick that releases may have a conditional guarantee, or confirm with a source.")
        )
    return review.keep(path)


def _exclude(_visit: Visit, review: Review, path: Path_) -> Review:
    if path == ("file",):
        raise SchemaError(_("How the file is written cannot be taken out; confirm it."))
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
    if len(bounds) >= MANY and visit.text("bounds") != "yes":
        visit.form["ask_bounds"] = ["yes"]
        return None
    return review.confirm_many(ticked, source)


def _ready(review: Review) -> list[Path_]:
    """Return the proposals that are accepted at once: more than a name speaks for each."""
    return [path for path in review.sourced if path not in review.proposed]


def _state(review: Review, path: Path_) -> str:
    part = review.part(path)
    left = left_as_drafted(part)
    if part.reviewed:
        return "kept" if left else "done"
    if left or not part.source.strip():
        return "drafted" if left else "open"
    return "proposed" if path in review.proposed else "sourced"


def _card(visit: Visit, review: Review, path: Path_) -> dict[str, Any]:
    part = review.part(path)
    left = left_as_drafted(part)
    hidden = () if visit.secret_view or part.reviewed else left
    others = [
        column_of(one)
        for one, decided in review.parts.items()
        if isinstance(decided, Reviewed)
        and column_of(one)
        and decided.reviewed
        and not decided.left_as_drafted
        and decided.sources
        and one != path
    ]
    return {
        "name": _name(review, path),
        "entries": list(_entries(part, hidden)),
        "source": part.source.strip(),
        "left": [(entry, leak_of(entry)) for entry in left],
        "reviewed": part.reviewed,
        "is_column": bool(column_of(path)),
        "others": [*dict.fromkeys(others)],
        "forms": [form.title for form in _forms(path)],
    }


def _entries(part: Part, hidden: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Return declarations entry by entry; what was read from the rows only where it may be seen."""
    for key, value in entries_of(part):
        if key in hidden:
            yield key, _("read from the rows: shown in the confidential view")
            continue
        if key == "missing":
            yield key, ", ".join(str(code) or _("an empty cell") for code in value)[:_LETTERS]
            continue
        text = entry_text(key, value).partition("=")[2].strip()
        lines = text.split("\n")
        told = "\n".join(lines[:_LINES])[:_LETTERS]
        more = len(lines) > _LINES or len(told) < len("\n".join(lines[:_LINES]))
        plain = value if isinstance(value, str) and not more else told
        yield key, f"{told} …" if more else plain or _("an empty text")


def _findings(visit: Visit) -> list[str] | None:
    """Return what a check of the rows has found; None before one."""
    run = runs.last(visit.own)
    told = None if run.what == "check" and run.active else visit.own.read_json("check.json")
    return None if told is None else [str(text) for text in told["findings"]]


def _place(visit: Visit, paths: list[Path_], left: set[Path_]) -> int:
    """Which card is open: the one that is asked for, or the first that is not decided."""
    asked = visit.text("at") or visit.query.get("at", "next")
    if asked.isdecimal() and len(asked) < 6 and int(asked) < len(paths):
        return int(asked)
    return next((k for k, path in enumerate(paths) if path in left), 0)


def _at(visit: Visit, place: str) -> str:
    return visit.to(f"schema?at={place}" if place.isdecimal() else "schema")


def _index(text: str, known: list[Any] | tuple[Any, ...]) -> int:
    if not text.isdecimal() or len(text) > 6 or int(text) >= len(known):
        raise refusal("What was chosen is not in the list any more; choose again.")
    return int(text)


def _name(review: Review, path: Path_) -> str:
    if path == ("file",):
        return _("How the text file is written")
    if is_rule(path):
        return line(getattr(review.part(path), "text", "rule"))
    if not column_of(path):
        return _("slots of %(table)s", table=path[1])
    return f"{column_of(path)} ({path[1]})" if path[0] == "tables" else path[1]


def _forms(path: Path_) -> tuple[Any, ...]:
    return forms_for(column_of(path)) if column_of(path) else ()


SCHEMA = Page(N_("Schema"), "schema", _show, _act)
