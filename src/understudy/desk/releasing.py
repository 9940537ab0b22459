"""From the approval of a plan to what is published, and questions that come after; the ledger."""

from __future__ import annotations

import io
import json
import math
import zipfile
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Final

from understudy.desk import runs
from understudy.desk.planning import FIELDS, account, plan_of, words_of
from understudy.desk.projects import words_of_data
from understudy.desk.visit import Page, Visit
from understudy.desk.words import N_, refusal
from understudy.inference.question_file import question_file
from understudy.release.folder import checksums
from understudy.report.text import with_deviations

OUT, INTERNAL, ARCHIVE = "release", "internal.html", "release.zip"
_PAGES: Final = {
    "report.html": N_("Public page"),
    "results.html": N_("Answers"),
    "codebook.html": N_("Codebook"),
}
_FILES: Final = {
    "codebook.xml": N_("codebook in DDI"),
    "croissant.json": N_("metadata in Croissant"),
    "datapackage.json": N_("metadata of Frictionless"),
    "report.html": N_("public page"),
}
"""What some files of a release are."""
DOCUMENTS_FOLDER: Final = "documents"
DOCUMENTS: Final = {
    "citation": ("citation.txt", N_("How it is cited")),
    "nist": ("nist.md", N_("Sheet by NIST SP 800-226")),
    "thresholds": ("thresholds.txt", N_("Noise in the words of disclosure control")),
    "registry": ("registry.yaml", N_("Entry of the OpenDP registry")),
}
"""What `understudy document` writes, into which file, in words."""
_PUBLICATION: Final = {
    "curator": N_("Who publishes"),
    "use": N_("What it is for"),
    "region": N_("Which region the data describe"),
    "published": N_("Day of publication, as 2026-11-28"),
    "sector": N_("Sector, such as Government; may stay empty"),
    "why": N_("Why the budget is what it is; may stay empty"),
}
"""What no release knows, and its entry in the registry needs."""


def _values(visit: Visit) -> dict[str, str]:
    """Fields of the plan that was saved."""
    visit.need("plan.toml", "plan")
    kept = visit.own.read("plan.toml")
    return {name: str(kept.get(name, "")) for name in FIELDS}


def _words(visit: Visit, *, resume: bool) -> list[str]:
    """The command that makes the release."""
    approved = visit.own.read("project.toml")["approved"]
    words = ["synthesize", *words_of_data(visit), *words_of(visit.own, _values(visit))]
    words += ["--out", OUT, *ledger_words(visit, approved["by"])]
    words += ["--reservation", str(number)] if (number := approved.get("reservation")) else []
    return words + (["--resume"] if resume else [])


def ledger_words(visit: Visit, by: str = "") -> list[str]:
    """Return the words of a command that name the project's ledger, if it has one, and who spends.

    Args:
        visit: whose.
        by: who approves; "" where a command spends nothing.
    """
    ledger = visit.own.read("project.toml").get("ledger")
    spent = ["--by", by] if by else []
    return ["--ledger", ledger, *spent] if ledger else []


def _show_approve(visit: Visit) -> dict[str, Any]:
    values = _values(visit)
    schema, found = visit.schema(), plan_of(visit, values)
    return {
        "schema": schema,
        "values": values,
        "plan": found,
        "rows_noise": with_deviations(found.rows_noise),
        "factor": math.exp(min(float(found.budget.epsilon), 700.0)),
        "asked": len(visit.own.analyses),
        "conditional": [
            (name, part.left_as_drafted) for name, part in schema.vouched if part.left_as_drafted
        ],
        "account": account(visit, found.budget),
        "digest": visit.own.digest(),
        "approved": _approver(visit),
        "command": runs.as_typed(["plan", *words_of(visit.own, values)]),
    }


def _approver(visit: Visit) -> str:
    """Who has approved what stands there now; "" if nobody has."""
    approved = visit.own.read("project.toml").get("approved", {})
    return approved.get("by", "") if approved.get("digest") == visit.own.digest() else ""


def _act_approve(visit: Visit) -> str:
    if visit.text("do") == "withdraw":
        _give_back(visit)
        visit.own.note("approval withdrawn")
        return visit.to("approve")
    if not (by := visit.text("by")):
        raise refusal("Type the name of whoever approves.")
    if visit.text("digest") != visit.own.digest():
        raise refusal(
            "Schema, questions or plan were changed since this page was shown; read it again."
        )
    if lacks := visit.schema().unsaid:
        raise refusal(
            "The schema says no %(entry)s; say it on the page of the file.", entry=lacks[0]
        )
    approved = {"by": by, "digest": visit.own.digest()}
    kept = visit.own.read("project.toml")
    if ledger := kept.get("ledger"):
        if not approved.items() <= kept.get("approved", {}).items():
            _give_back(visit)
        words = ["plan", *words_of(visit.own, _values(visit)), "--reserve", "--json"]
        said = runs.output([*words, *ledger_words(visit, by)], visit.own.folder)
        approved |= {"ledger": ledger, "reservation": json.loads(said)["reservation"]}
    visit.own.update(approved=approved, step="release")
    visit.own.note("approved", **approved)
    return visit.to("release")


def _give_back(visit: Visit) -> None:
    """Void what the last approval has reserved, unless a run is spending it."""
    kept = visit.own.read("project.toml").get("approved", {})
    if number := kept.get("reservation"):
        from understudy.ledger.ledger import PopulationLedger

        reservation = PopulationLedger.open(kept["ledger"]).reservation(number)
        if reservation.state == "open" and not reservation.charges:
            reservation.void(by=kept["by"])
    visit.own.update(approved=None)


def _show_release(visit: Visit) -> dict[str, Any]:
    run, done = runs.last(visit.own), visit.own.has(OUT)
    paid = visit.own.has(f"{OUT}.checkpoint") and not done
    approved = _approver(visit)
    words = _words(visit, resume=paid) if approved and not done else []
    return {
        "done": done,
        "paid": paid,
        "approved": approved,
        "mine": run.what == "release",
        "command": runs.as_typed(words) if words else run.command,
    }


def _act_release(visit: Visit) -> str:
    do = visit.text("do")
    if do in ("stop", "early"):
        runs.stop(visit.own, early=do == "early")
        return visit.to("release")
    if not _approver(visit):
        raise refusal("What stands there now is not approved yet; approve it first.")
    if visit.own.has(OUT):
        raise refusal("There is a release already; nothing is spent again.")
    paid = visit.own.has(f"{OUT}.checkpoint")
    runs.start(visit.own, "release", [*_words(visit, resume=paid), "--quiet"])
    visit.own.update(step="release")
    return visit.to("release")


def _show_look(visit: Visit) -> dict[str, Any]:
    visit.need(OUT, "release")
    kept = visit.own.read("project.toml")
    pages = [(name, words) for name, words in _PAGES.items() if visit.own.has(f"{OUT}/{name}")]
    asked = visit.query.get("shown", "report.html")
    return {
        "pages": pages,
        "shown": asked if asked in dict(pages) else "report.html",
        "internal": visit.own.has(INTERNAL),
        "verdict": kept.get("verdict", {}),
        "command": runs.as_typed(["show", OUT]),
    }


def _act_look(visit: Visit) -> str:
    do = visit.text("do")
    if do == "confidential":
        visit.toggle_secret_view("look")
    elif do == "compare":
        words = ["evaluate", *words_of_data(visit), OUT, "--out", INTERNAL, "--quiet"]
        words += ledger_words(visit)
        visit.own.place(INTERNAL).unlink(missing_ok=True)
        runs.start(visit.own, "evaluate", words)
    elif do in ("accepted", "rejected"):
        if not (reason := visit.text("reason")):
            raise refusal("Say why, in a sentence: it goes into the log.")
        visit.own.update(verdict={"is": do, "reason": reason}, step="publish")
        visit.own.note(f"release {do}", reason=reason)
        return visit.to("publish" if do == "accepted" else "look")
    return visit.to("look")


def find_framed_page(visit: Visit, name: str) -> Path:
    """Return a page to be shown in a frame.

    Args:
        visit: whose.
        name: of a page of the release, or of the internal one where that may be seen.

    Raises:
        DeskError: there is no such page, or it may not be seen.
    """
    place = visit.own.place(OUT) / name if name in _PAGES else visit.own.place(INTERNAL)
    if name not in (*_PAGES, INTERNAL) or place.is_symlink() or not place.is_file():
        raise refusal("There is no such page.")
    if name == INTERNAL and not visit.secret_view:
        raise refusal("The internal page is shown in the confidential view alone.")
    return place


def _show_publish(visit: Visit) -> dict[str, Any]:
    visit.need(OUT, "release")
    folder, kept = visit.own.place(OUT), visit.own.read("project.toml")
    files, beside = _list_files(folder), visit.own.place(DOCUMENTS_FOLDER)
    return {
        "documents": _list_files(beside) if beside.is_dir() else [],
        "kinds": DOCUMENTS,
        "asked": _PUBLICATION,
        "words": _FILES,
        "files": [one for one in files if not one[0].startswith("noisy/")],
        "noisy": [one for one in files if one[0].startswith("noisy/")],
        "verdict": kept.get("verdict", {}),
        "signed": (folder / "manifest.sig").exists(),
        "archive": visit.own.has(ARCHIVE),
        "folder": str(folder),
        "command": "understudy-verify release",
    }


def _list_files(folder: Path) -> list[tuple[str, int, str]]:
    """Name, bytes and checksum of each file."""
    sums = checksums(folder)
    return [(name, (folder / name).stat().st_size, sums[name]) for name in sorted(sums)]


def _act_publish(visit: Visit) -> str | None:
    if visit.own.read("project.toml").get("verdict", {}).get("is") != "accepted":
        raise refusal("The release is not accepted yet; look at it first.")
    do, folder = visit.text("do"), visit.own.folder
    if do == "sign":
        key = visit.desk.roots.inside(visit.text("key"))
        visit.form["checked"] = [runs.output(["sign", OUT, str(key)], folder)]
        visit.own.note("signed")
        visit.own.place(ARCHIVE).unlink(missing_ok=True)
        visit.form["good"] = ["yes"]
        return None
    if do in DOCUMENTS:
        _write_document(visit, do)
        return visit.to("publish")
    good, said = runs.verify(OUT, folder)
    if do == "verify":
        visit.form["checked"], visit.form["good"] = [said], ["yes"] if good else []
        return None
    if not good:
        raise refusal("The release does not fit itself, so no archive is made. %(said)s", said=said)
    _archive(visit)
    return visit.to("publish")


def _write_document(visit: Visit, kind: str) -> None:
    """Have a document about the release written beside it, in the place of an older one."""
    name = DOCUMENTS[kind][0]
    words = ["document", OUT, kind, "--out", f"{DOCUMENTS_FOLDER}/.{name}"]
    told = {one: visit.text(one) for one in _PUBLICATION if kind == "registry"}
    words += [word for one, text in told.items() if text for word in (f"--{one}", text)]
    folder = visit.own.place(DOCUMENTS_FOLDER)
    folder.mkdir(mode=0o700, exist_ok=True)
    new = folder / f".{name}"
    new.unlink(missing_ok=True)
    runs.output(words, visit.own.folder)
    new.replace(folder / name)
    visit.own.note("document written", document=name)


def _archive(visit: Visit) -> None:
    """Put the files of the release, and nothing else, into one."""
    folder, packed = visit.own.place(OUT), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(checksums(folder)):
            archive.write(folder / name, f"{OUT}/{name}")
    place = visit.own.place(ARCHIVE)
    place.write_bytes(packed.getvalue())
    place.chmod(0o600)
    visit.own.update(step="asked")
    visit.own.note("archive made")


APPROVE = Page(N_("Approve"), "approve", _show_approve, _act_approve)
RELEASE = Page(N_("Release"), "release", _show_release, _act_release)
LOOK = Page(N_("Look"), "look", _show_look, _act_look)
PUBLISH = Page(N_("Publish"), "publish", _show_publish, _act_publish)


_MOST_ENTRIES: Final = 200
_VERDICTS: Final = "verdicts-{}.json"
"""File of the verdicts on the claims of one question."""
_WORDS: Final = {"yes": N_("Yes"), "no": N_("No"), "undecided": N_("Undecided")}


def _latest(visit: Visit) -> tuple[str, str]:
    """The release as the last answer has amended it, and what the next will make of it."""
    latest, number = OUT, 2
    while visit.own.has(following := f"{OUT}-{number}"):
        latest, number = following, number + 1
    return latest, following


def _verdicts(visit: Visit) -> list[dict[str, Any]]:
    """Return what the rows have said to claims, question by question, where they were asked."""
    files = _verdict_files(visit)
    return [{**one, "file": name} for name in files for one in visit.own.read_json(name) or ()]


def _verdict_files(visit: Visit) -> list[str]:
    return [*takewhile(visit.own.has, map(_VERDICTS.format, count(1)))]


def _show_asked(visit: Visit) -> dict[str, Any]:
    visit.need(OUT, "release")
    done = [one for one in visit.own.log() if str(one.get("what", "")).startswith("question ")]
    return {
        "planned": json.loads(visit.form["planned"][0]) if "planned" in visit.form else None,
        "latest": _latest(visit)[0],
        "done": done[-20:],
        "verdicts": _verdicts(visit),
        "words": _WORDS,
        "command": runs.as_typed(
            ["answer", "QUESTION.toml", "--release", _latest(visit)[0], "--plan"]
        ),
    }


def _act_asked(visit: Visit) -> str | None:
    place = visit.desk.roots.inside(visit.text("question"))
    asked, (latest, following) = question_file(place), _latest(visit)
    do = visit.text("do")
    if do == "plan":
        if asked.claims and not visit.text("most"):
            raise refusal("Say which ε the verdicts on these claims may cost together.")
        words = ["answer", str(place), "--release", latest, "--plan", "--json"]
        words += ["--epsilon", visit.text("most")] if visit.text("most") else []
        said = runs.output(words, visit.own.folder)
        visit.form["planned"], visit.form["about"] = [said], [asked.title]
        visit.form["digest"] = [asked.digest]
        return None
    if do == "refuse":
        if not (reason := visit.text("reason")):
            raise refusal("Say why, in a sentence: it goes into the log.")
        visit.own.note(N_("question refused"), digest=asked.digest, reason=reason)
        return visit.to("asked")
    if visit.text("digest") != asked.digest:
        raise refusal("The question was changed since its cost was shown; look at it again.")
    if not (by := visit.text("by")):
        raise refusal("Type the name of whoever approves.")
    words = ["answer", str(place), *words_of_data(visit), "--release", latest, "--yes"]
    words += ["--epsilon", visit.text("epsilon"), *ledger_words(visit, by)]
    visit.own.note(N_("question approved"), digest=asked.digest, by=by)
    if asked.claims:
        into = _VERDICTS.format(len(_verdict_files(visit)) + 1)
        runs.start(visit.own, "answer", [*words, "--json"], into=into)
    else:
        runs.start(visit.own, "answer", [*words, "--out", following, "--quiet"])
    return visit.to("asked")


def _show_ledger(visit: Visit) -> dict[str, Any]:
    place = visit.text("ledger", visit.desk.ledger)
    command = runs.as_typed(["ledger", "show", "--ledger", place or "LEDGER"])
    empty = {"place": place, "populations": [], "entries": [], "command": command}
    if not place or visit.form.get("refused"):
        return empty
    from understudy.ledger.entries import describe_entries
    from understudy.ledger.ledger import PopulationLedger

    opened = PopulationLedger.open(place)
    rows = opened.history()[-_MOST_ENTRIES:]
    return {
        **empty,
        "populations": [opened.totals(one.name) for one in opened.populations()],
        "entries": [*describe_entries(rows)][::-1],
    }


def _act_ledger(visit: Visit) -> str:
    text = visit.text("ledger")
    if not text:
        raise refusal("Name the ledger's file, or its address.")
    place = text if "://" in text else str(visit.desk.roots.inside(text))
    visit.form["refused"] = ["yes"]
    from understudy.ledger.ledger import PopulationLedger

    PopulationLedger.open(place)
    visit.desk.ledger = place
    return "/ledger"


ASKED = Page(N_("Questions that came"), "asked", _show_asked, _act_asked)
LEDGER = Page(N_("Ledger"), "ledger", _show_ledger, _act_ledger)
