"""Verdicts of all studies, from their pages: ``python benchmarks/verdicts.py``.

Prints how many points of each paper agree, in part, or not, study by study. `--write` puts the same
into `docs/evidence/findings.md`, and fills in what each row of `docs/evidence/papers.md` found. A
cell with ``<!-- STUDY: words; other words -->`` gets the verdicts of those points of the study's
page whose claims have one of these words (all points without words).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from understudy_studies.framework.page_verdicts import (
    PagePoint,
    about,
    counted,
    kinds,
    points_of,
)

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "evidence"
PAGE = DOCS / "papers.md"
COUNTS = DOCS / "findings.md"
HEAD = """<!-- Written by benchmarks/verdicts.py; do not edit. -->

# What came out again

Points of each of the [five papers](papers.md): those that agree, in part, or not. That page says
what the words mean, and each study's page has every point.
"""
FILTER = re.compile(r"<!-- ([a-z0-9-]+)(?:: ([^>|]*?))? -->(?P<old>[^<|]*)(?=(?P<next><)?)")

PAPERS = {
    "Bowen & Liu (2020)": ("bowen-liu-1", "bowen-liu-2", "bowen-liu-3"),
    "Bowen, Liu & Su (2021)": ("steps-simulation", "steps-voter", "steps-voter-cps"),
    "Snoke & Slavković (2018)": ("pmse-failure", "pmse-regression", "pmse-table2"),
    "Savitsky, Williams & Hu (2020)": (
        "pseudo-posterior",
        "pseudo-posterior-diary",
        "pseudo-posterior-hornby",
    ),
    "Park & Ghosh (2014)": ("pegs", "pegs-hospital"),
}
Pages = Mapping[str, tuple[PagePoint, ...]]


def page_of(name: str) -> str:
    """Text of a study's page."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def pages() -> dict[str, tuple[PagePoint, ...]]:
    """Points of all studies, from their pages."""
    return {name: points_of(page_of(name)) for studies in PAPERS.values() for name in studies}


def summary(found: Pages) -> str:
    """The page of counts, in Markdown."""
    lines = [
        HEAD,
        "| paper | study | agree / in part / not | causes of those that differ |",
        "|---|---|---|---|",
    ]
    for paper, studies in PAPERS.items():
        for name in studies:
            counts = _slashed(found[name])
            causes = kinds(found[name]) or "–"
            lines.append(f"| {paper} | [`{name}`]({name}.md) | {counts} | {causes} |")
    everything = [point for points in found.values() for point in points]
    lines.append(f"| all | | {_slashed(everything)} | {kinds(everything)} |")
    return "\n".join(lines) + "\n"


def _slashed(points: tuple[PagePoint, ...] | list[PagePoint], between: str = " / ") -> str:
    return between.join(str(number) for number in counted(points).values())


def with_verdicts(text: str, found: Pages) -> str:
    """Rows with their verdicts.

    Raises:
        SystemExit: a row names a study that there is none of, or words that no point has.
    """

    def verdicts(match: re.Match[str]) -> str:
        name, words = match[1], [one.strip() for one in (match[2] or "").split(";") if one.strip()]
        if name not in found:
            raise SystemExit(f"There is no study {name!r}: {match[0]}")
        chosen = about(found[name], words)
        if not chosen:
            raise SystemExit(f"No point of {name} has these words: {match[2]}")
        comment = match[0][: match.start("old") - match.start()]
        return f"{comment} {_slashed(chosen, between='/')} " + ("· " if match["next"] else "")

    return FILTER.sub(verdicts, text)


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into both pages")
    asked = parser.parse_args()
    found = pages()
    if asked.write:
        COUNTS.write_text(summary(found), encoding="utf-8")
        PAGE.write_text(with_verdicts(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    for name, points in found.items():
        print(f"{name:25}{_slashed(points):15}{kinds(points)}")


if __name__ == "__main__":
    main()
