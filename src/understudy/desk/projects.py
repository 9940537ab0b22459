"""The first pages: which project, and which file, whose rows, under which ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.desk import runs
from understudy.desk.project import Project
from understudy.desk.visit import Page, Visit
from understudy.desk.words import N_, _, refusal
from understudy.errors import DeskError, SchemaError
from understudy.schema import Schema, toml
from understudy.steward.review import Review

_FORM = {
    "separator": (N_("Mark between cells"), N_("Such as ; or the word tab.")),
    "decimal": (N_("Decimal mark"), N_("A point or a comma.")),
    "thousands": (N_("Mark of thousands"), N_("Such as . or the word space.")),
    "quote": (N_("Mark around texts"), N_('Usually "; the word none where there is none.')),
    "encoding": (N_("Encoding"), N_("Such as utf-8 or windows-1252.")),
    "sheet": (N_("Sheet"), N_("Of a workbook; else the first.")),
    "source": (N_("Where this is written"), N_("A manual and its page.")),
}
"""How a file is written: entries of `[file]`, in words."""
_FIELDS = (
    *("data", "members", "key", "codebook", "ready", *_FORM),
    *("title", "unit", "rows", "count", "population", "ledger"),
)
"""Of the file page, in the order of the form."""


def _show_projects(visit: Visit) -> dict[str, Any]:
    found = []
    for folder in visit.desk.known.folders():
        try:
            project = visit.desk.known.find(Project(folder).id, visit.desk.roots)
        except DeskError:
            continue
        found.append((project.id, folder.name, project.read("project.toml").get("step", "file")))
    return {
        "found": found,
        "root": str(visit.desk.roots.folders[0]),
        "command": "understudy desk",
    }


def _act_projects(visit: Visit) -> str:
    folder = visit.desk.roots.inside(
        _require_field(visit, "folder", _("Say the project's folder."))
    )
    new = visit.text("do") == "new"
    project = Project.create(folder) if new else Project.open(folder)
    visit.desk.known.add(folder)
    step = project.read("project.toml").get("step", "file")
    return f"/p/{project.id}/{step}"


def _show_file(visit: Visit) -> dict[str, Any]:
    kept = visit.own.read("project.toml")
    values = {name: visit.text(name, str(kept.get(name, ""))) for name in _FIELDS}
    values["rows"] = values["rows"] or "private"
    listing, folder = [], None
    if picking := visit.text("picking"):
        folder = visit.desk.roots.inside(visit.text("look") or visit.desk.roots.folders[0])
        listing = visit.desk.roots.list_folder(folder)
    above = None if folder is None or folder in visit.desk.roots.folders else folder.parent
    return {
        "values": values,
        "picking": picking,
        "listing": listing,
        "folder": folder,
        "above": above,
        "has_schema": visit.own.has("schema.toml"),
        "form": _FORM,
        "form_said": any(values[name] for name in _FORM),
        "lacking": _unsaid(visit),
        "command": runs.as_typed(_draft_words(kept)) if kept.get("data") else "",
    }


def _act_file(visit: Visit) -> str | None:
    do, _, place = visit.text("do").partition(":")
    if do == "pick":  # for the field that is being filled
        visit.form.update({visit.text("picking"): [place], "picking": [""]})
        return None
    if do in ("look", "picking"):
        visit.form[do] = [place]
        return None
    if do == "start again":
        for name in ("schema.toml", "draft.toml", "undo.json"):
            visit.own.place(name).unlink(missing_ok=True)
        visit.own.note("schema removed")
        return visit.to("file")
    _save(visit)
    if not visit.own.has("schema.toml"):
        _begin_schema(visit)
    elif visit.text("title") or visit.text("unit"):  # that the schema does not say
        schema = visit.own.place("schema.toml")
        told = Review.of(schema).tell(title=visit.text("title"), unit=visit.text("unit"))
        told.save(toml.file_text(schema))
    return visit.to("schema")


def _begin_schema(visit: Visit) -> None:
    """Take a reviewed schema over, or have one drafted.

    Raises:
        SchemaError: what was chosen is no schema.
    """
    if ready := visit.text("ready"):
        text = toml.file_text(visit.desk.roots.inside(ready))
        toml.loads(text, Schema)
        visit.own.write_text("schema.toml", text)
        visit.own.update(step="schema")
        visit.own.note("schema taken over")
    else:
        runs.start(visit.own, "draft", _draft_words(visit.own.read("project.toml")))


def _save(visit: Visit) -> None:
    """Write down what the form says, once all of it can be meant.

    Raises:
        DeskError: what lacks, or lies elsewhere.
    """
    if not (visit.own.has("schema.toml") or visit.text("ready")):
        _require_told(visit)
    if bool(visit.text("ledger")) != bool(visit.text("population")):
        raise refusal("A ledger and its population belong together; give both, or none.")
    known = visit.own.read("project.toml")
    kept = {name: visit.text(name, str(known.get(name, ""))) for name in _FIELDS}
    _require_field(visit, "data", _("Say the confidential table."))
    for name in ("data", "members", "codebook", "ready"):
        if kept[name]:
            place = visit.desk.roots.inside(kept[name])
            if not place.exists():
                raise refusal("There is no such file; choose one from the list.")
            kept[name] = str(place)
    if kept["ledger"] and "://" not in kept["ledger"]:
        kept["ledger"] = str(visit.desk.roots.inside(kept["ledger"]))
    visit.own.update(**{name: value or None for name, value in kept.items()})


def _require_told(visit: Visit) -> None:
    """Refuse a draft of a table of which too little is said."""
    _require_field(visit, "title", _("Say a title."))
    _require_field(visit, "unit", _("Say whose row it is, such as one respondent."))
    rows, count = visit.text("rows"), visit.number("count", _("The number of rows"))
    if rows not in ("private", "public"):
        raise refusal("Rows are private or public; choose one of the two.")
    if rows == "public" and count is None:
        raise refusal("A public number of rows has to be said; else choose private.")


def _draft_words(kept: dict[str, Any]) -> list[str]:
    told = ("members", "key", "codebook", "title")
    more = [w for name in told if kept.get(name) for w in (f"--{name}", kept[name])]
    form = [w for name in _FORM if kept.get(name) for w in ("--file", f"{name}={kept[name]}")]
    out = ["--out", "draft.toml", "--quiet"]
    return ["schema", "draft", kept["data"], *more, *form, *out]


def settle_draft(project: Project) -> None:
    """Make the schema of a draft that a run has left, with what was said of its rows.

    Args:
        project: that has no schema yet.

    Raises:
        SchemaError: what was said does not fit the draft.
    """
    draft = project.place("draft.toml")
    if not draft.exists() or project.has("schema.toml"):
        return
    kept = project.read("project.toml")
    told = {name: kept.get(name, "") for name in ("unit", "rows", "population")}
    count = int(str(kept["count"]).replace(",", "")) if kept.get("count") else None
    project.write_text("schema.toml", str(Review.of(draft).tell(**told, count=count).text))
    project.update(step="schema")
    draft.unlink()


def _unsaid(visit: Visit) -> tuple[str, ...]:
    if not visit.own.has("schema.toml"):
        return ("title", "unit")
    try:
        return visit.schema().unsaid
    except SchemaError:  # the next page says what is wrong with it
        return ()


def _require_field(visit: Visit, name: str, refusal: str) -> str:
    if not (text := visit.text(name)):
        raise DeskError(refusal)
    return text


def words_of_data(visit: Visit) -> list[str]:
    """Return the confidential tables as words of a command: the table, and that of its members.

    Raises:
        DeskError: none is named, one is gone, or leads elsewhere by now.
    """
    kept = visit.own.read("project.toml")
    if not kept.get("data"):
        raise refusal("No table is named; choose it on the page of the file.")
    members = (
        ["--members", str(_chosen_table(visit, kept["members"]))] if kept.get("members") else []
    )
    return [str(_chosen_table(visit, kept["data"])), *members]


def _chosen_table(visit: Visit, text: str) -> Path:
    """A table that lies where it lay when it was chosen."""
    place = visit.desk.roots.inside(text)
    if str(place) != text or not place.exists():
        raise refusal("The table is not where it was, or a link by now; choose it again.")
    return place


PROJECTS = Page(N_("Projects"), "projects", _show_projects, _act_projects)
FILE = Page(N_("File"), "file", _show_file, _act_file)
