"""Writes `docs/evidence/certificate.md`: the claims of a guarantee, and what was done to refute them.

    python benchmarks/certificate.py
    python benchmarks/certificate.py --ran "make verify" "10,000 altered releases, none accepted"

Claims, proofs and tests are those of the map of proofs (the docstring of `understudy.dp`),
which mechanisms a method asks for is seen by making one release of each line of an audit, and what
audits found stands in `docs/evidence/audits.jsonl` (`understudy audit --results docs/evidence/audits.jsonl`). What
whoever ran a longer check saw is noted by the second form, in `docs/evidence/checks.jsonl`. A test compares
the page with what is written here.
"""

# ruff: noqa: E501  (rows of a page stand in one line each)

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy import dp
from understudy.dp.gate import WITH_EPSILON, Gate, load_mechanisms
from understudy.evaluate.audit import LINES, AuditCase, observations_of, results

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "evidence"
PAGE, AUDITS, CHECKS = DOCS / "certificate.md", DOCS / "audits.jsonl", DOCS / "checks.jsonl"
ROOM = Path(dp.__file__).parents[1]
_CLAIM = re.compile(r"(.*?)\n    proof: (.*?)\n    test: (.*?)(?:\n\n.*)?\n*", re.DOTALL)

HEAD = """# Certificate

What a stated guarantee rests on, claim by claim, so that others can check it: each claim with its
proof (in prose, at the head of the file), the tests that try to refute it, and the audits that went
through it. Written by `python benchmarks/certificate.py`; a test compares it with the map of proofs
(`src/understudy/dp/__init__.py`), the table of mechanisms and the results of audits.

A proof in prose is believed by whoever reads it; a test shows faults, not their absence; an audit
bounds a cost from below. What none of them covers is in [`docs/understand/threat-model.md`](../understand/threat-model.md).
"""
LEMMAS = """## Central lemmas

Five inequalities carry the numbers of most releases. Beside their proofs they are checked as
identities between polynomials, exactly, or by interval arithmetic (Arb), box by box, so that “for
all” is no grid. Where a range has no end, the proof stands alone beyond what is named here.

| Lemma | Proof | Checked for | Test |
|---|---|---|---|
| Discrete Gaussian noise of variance v is μ-GDP if 1/v ≤ E(μ) | `dp/gaussian_dp.py`, (4) and (5) | every μ from 1/4 to 5 (v from 16 to 0.1), vertices up to 8σ; the polynomial below E for every μ up to 1/2, where it is used | `lemmas/test_discrete_gaussian.py` |
| A choice of range ε that leaves a rest m costs r/(1 − r/m), r = ε²/8 | the same, (2) | every pair of two losses, every place up to 3μ from the middle, r from 12 % to 90 % of m | `lemmas/test_choice_with_rest.py` |
| A step of bounded range ε is μ-GDP with μ = 2Φ⁻¹(1/(1 + e^(−ε/2))) | the same, (1) | every ε, by a slope that falls for all z from 0 to 10, and beyond by a bound on the tail | `lemmas/test_bounded_range.py` |
| ñ draws of an urn with prior weight α change by 1 + ñ/α at most | `mechanisms/urn.py` | every table, outcome, number of cells and prior (an identity) | `lemmas/test_urn.py` |
| Truncated noise realises most at an end of its interval | `dp/truncated_laplace.py` | every width, place and change, on the line and on the integers (identities) | `lemmas/test_truncation.py` |
"""
AUDITED = """## Audits

Releases of two neighbouring tables, {range} of each; an event learned on one half of them and
counted on the other bounds ε or μ from below (95 %). An alarm is a bound above what is stated at a
confidence of 1 − 10⁻⁶. *Reach* is what as many releases would show of the hardest mechanism that
keeps the promise. A line that was not run, and a claim that no line goes through, is *no evidence*;
it has not passed. A claim has the reach of the line that came closest. In a worst case no other pair of tables is easier to tell apart; elsewhere a
budget is split, and its parts hide each other, so a smaller share is no sign of a loose promise,
nor of none.

A full audit makes 100,000 releases of each table for methods of one measurement, 10,000 for others
(`understudy audit`); a line with fewer was not run in full.

| Line | Stated | Shown | Share | Reach | Releases | Alarm | Day |
|---|---:|---:|---:|---:|---:|---|---|
"""


def claims() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Section, words, files of the proof and of the tests, as the map has them."""
    section = ""
    for block in re.split(r"^(?=claim: )", dp.__doc__ or "", flags=re.MULTILINE):
        if block.startswith("claim: "):
            found = _CLAIM.fullmatch(block.removeprefix("claim: "))
            assert found is not None, block
            yield section, " ".join(found[1].split()), found[2].split(), found[3].split()
        heads = re.findall(r"^([A-ZÄÖÜ][A-Z ]{5,}[A-Z].*)$", block, re.MULTILINE)
        section = heads[-1] if heads else section


def asked_by(line: AuditCase) -> set[str]:
    """Files of the mechanisms that one release of a line asks for."""
    asked, ask = set[str](), Gate.ask

    def noting(gate: Gate, mechanism: Any, *args: Any, **how: Any) -> Any:
        asked.add(type(mechanism).__module__)
        return ask(gate, mechanism, *args, **how)

    Gate.ask = noting
    try:
        observations_of(line.trial(), line.frames()[1], [1])
    finally:
        Gate.ask = ask
    return {_place(name) for name in asked}


def _place(module: str) -> str:
    """The file of a mechanism, as the map names it."""
    return Path(sys.modules[module].__file__ or "").relative_to(ROOM).as_posix()


def latest() -> dict[str, dict[str, Any]]:
    """The result of each line with most releases."""
    found = dict[str, dict[str, Any]]()
    for result in results(AUDITS):
        before = found.get(result["line"])
        if before is None or before["releases"] <= result["releases"]:
            found[result["line"]] = result
    return found


def page() -> str:
    """The whole text."""
    found, through = latest(), {str(line): asked_by(line) for line in LINES}
    counts = sorted(result["releases"] for result in found.values())
    among = f"{counts[0]:,} to {counts[-1]:,}" if counts else "none yet"
    parts = [HEAD, LEMMAS, AUDITED.format(range=among).rstrip("\n")]
    parts[-1] += "".join(f"\n{_audited(line, found.get(str(line)))}" for line in LINES) + "\n"
    parts.append(_checks())
    section = ""
    for head, words, proofs, tests in claims():
        if head != section:
            section = head
            parts.append(f"## {head[0]}{head[1:].lower()}\n")
        parts.append(_claim(words, proofs, tests, through, found))
    return "\n".join(parts)


def _audited(line: AuditCase, result: dict[str, Any] | None) -> str:
    name = f"{line}{' (worst case)' if line.worst else ''}"
    if result is None:
        return f"| {name} | | | | | not run | no evidence | |"
    unit = {"mu": "μ", "epsilon": "ε"}[result["unit"]]
    stated = f"{unit} = {result['stated']:.3g}" + (
        f", δ = {result['delta']:g}" if result["delta"] else ""
    )
    share = f"{result['shown'] / result['stated']:.2f}"
    alarm = "**ALARM**" if result["alarm"] else "no"
    numbers = f"{result['shown']:.2f} | {share} | {result['reach']:.2f}"
    return f"| {name} | {stated} | {numbers} | {result['releases']:,} | {alarm} | {result['day']} |"


def _checks() -> str:
    lines = CHECKS.read_text(encoding="utf-8").splitlines() if CHECKS.exists() else []
    last = {one["ran"]: one for one in map(json.loads, lines)}
    rows = (f"| `{ran}` | {one['found']} | {one['day']} |" for ran, one in last.items())
    return "\n".join(
        ["## Longer checks, last run\n", "| Command | Found | Day |", "|---|---|---|", *rows, ""]
    )


def _claim(
    words: str,
    proofs: list[str],
    tests: list[str],
    through: dict[str, set[str]],
    found: dict[str, dict[str, Any]],
) -> str:
    files = ", ".join(f"[`{_short(proof)}`]({_link(proof)})" for proof in proofs)
    checked = ", ".join(f"[`{test}`](../../tests/{test})" for test in tests)
    lines = [f"### {words[0].upper()}{words[1:]}\n"]
    asked = [kind for kind in load_mechanisms(WITH_EPSILON) if _place(kind.__module__) in proofs]
    lines += [f"- `{kind.__name__}`: {(kind.__doc__ or '').splitlines()[0]}" for kind in asked]
    lines += ([""] if asked else []) + [f"Proof: {files}.\n", f"Test: {checked}."]
    mine = [name for name, its in through.items() if its & {*proofs}]
    lines.append(f"\nAudit: {_evidence(mine, found)}")
    return "\n".join(lines) + "\n"


def _evidence(mine: list[str], found: dict[str, dict[str, Any]]) -> str:
    """What audits say of a claim: nothing, that they passed and how far they could see, or alarms.

    Args:
        mine: lines that went through its mechanisms.
        found: line → its result.
    """
    done = [found[name] for name in mine if name in found]
    if not mine:
        return "**no evidence**: no line goes through it."
    if not done:
        return f"**no evidence**: of {len(mine)} lines through it none was run."
    alarms = sum(result["alarm"] for result in done)
    said = f"**ALARM** in {alarms} of" if alarms else "**passed** by"
    best = max(done, key=lambda result: float(result["shown"] / result["stated"]))
    seen, reach = best["shown"] / best["stated"], best["reach"] / best["stated"]
    days = max(result["day"] for result in done)
    left = f" ({len(mine) - len(done)} more were not run)" if len(done) < len(mine) else ""
    return (
        f"{said} {len(done)} lines{left}. The closest saw {seen:.2f} of the promise, where its "
        f"reach was {reach:.2f}; last on {days}."
    )


def _short(proof: str) -> str:
    return (ROOM / proof).resolve().relative_to(ROOM.parent).as_posix()


def _link(proof: str) -> str:
    return "../../" + (ROOM / proof).resolve().relative_to(ROOT).as_posix()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ran", nargs=2, metavar=("COMMAND", "FOUND"), help="note a longer check")
    asked = parser.parse_args()
    if asked.ran:
        day = datetime.now(UTC).date().isoformat()
        note = {"day": day, "ran": asked.ran[0], "found": asked.ran[1]}
        with CHECKS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note, ensure_ascii=False) + "\n")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
