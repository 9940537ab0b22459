"""Questions that came after a release, and the ledger as its administrator sees it."""

from __future__ import annotations

import json
from itertools import count, takewhile
from typing import Any, Final

from understudy.desk import runs
from understudy.desk.projects import words_of_data
from understudy.desk.releasing import OUT, ledger_words
from understudy.desk.visit import Page, Visit
from understudy.desk.words import N_, refusal
from understudy.inference.question_file import question_file

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
