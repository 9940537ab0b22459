"""Verdicts of all studies, from their pages: ``python benchmarks/verdicts.py``.

Prints how many points of each paper agree, in part, or not, study by study. `--write` puts the same
into `docs/evidence/papers.md`, where it also fills in what each row of its tables found. A cell
with ``<!-- STUDY: words; other words -->`` gets the verdicts of those points of the study's page
whose claims have one of these words (all points without words). `--at COMMIT` counts the pages as
they were at a commit.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from understudy_studies.framework.page_verdicts import (
    WORDS,
    PagePoint,
    about,
    counted,
    in_words,
    kinds,
    points_of,
)

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "evidence"
PAGE = DOCS / "papers.md"
BEGIN, END = "<!-- counts -->", "<!-- end of counts -->"
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
BEFORE = {
    "bowen-liu-1": (20, 7, 1),
    "bowen-liu-2": (27, 5, 1),
    "bowen-liu-3": (16, 12, 2),
    "steps-simulation": (5, 11, 7),
    "steps-voter": (2, 1, 5),
    "steps-voter-cps": (0, 4, 4),
    "pmse-failure": (4, 2, 0),
    "pmse-regression": (10, 12, 4),
    "pmse-table2": (16, 1, 5),
    "pseudo-posterior": (7, 10, 13),
    "pseudo-posterior-diary": (9, 11, 10),
    "pseudo-posterior-hornby": (14, 6, 10),
    "pegs": (8, 5, 2),
    "pegs-hospital": (7, 5, 3),
}
"""Agree, in part, not: at the commit of `EARLIER`, as `--at` counts them."""
EARLIER = "7d1061c"

Pages = Mapping[str, tuple[PagePoint, ...]]


def pages(read: Callable[[str], str]) -> dict[str, tuple[PagePoint, ...]]:
    """Points of all studies.

    Args:
        read: gives the text of a study's page.
    """
    return {name: points_of(read(name)) for studies in PAPERS.values() for name in studies}


def now(name: str) -> str:
    """A page as it is."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def at(commit: str) -> Callable[[str], str]:
    """Pages as they were."""

    def read(name: str) -> str:
        command = ["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", commit, "docs"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        (path,) = (one for one in listed.splitlines() if one.endswith(f"/{name}.md"))
        command = ["git", "-C", str(ROOT), "show", f"{commit}:{path}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return read


def summary(found: Pages) -> str:
    """The table of counts, in Markdown."""
    lines = [
        "| paper | study | agree / in part / not, before | now | causes of those that differ |",
        "|---|---|---|---|---|",
    ]
    for paper, studies in PAPERS.items():
        for name in studies:
            earlier = " / ".join(map(str, BEFORE[name]))
            lines.append(
                f"| {paper} | [`{name}`]({name}.md) | {earlier} | {_slashed(found[name])} "
                f"| {kinds(found[name]) or '–'} |"
            )
    everything = [point for points in found.values() for point in points]
    total = " / ".join(str(sum(one[k] for one in BEFORE.values())) for k in range(len(WORDS)))
    lines.append(f"| all | | {total} | {_slashed(everything)} | {kinds(everything)} |")
    return "\n".join(lines)


def _slashed(points: tuple[PagePoint, ...] | list[PagePoint]) -> str:
    return " / ".join(str(number) for number in counted(points).values())


def filled(text: str, found: Pages) -> str:
    """A page with its counts, and the verdicts of its rows, written anew."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    table = f"{BEGIN}\n\n{summary(found)}\n\n{END}"
    return with_verdicts(head, found) + table + with_verdicts(tail, found)


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
        return f"{comment} {in_words(chosen)} " + ("· " if match["next"] else "")

    return FILTER.sub(verdicts, text)


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/evidence/papers.md")
    parser.add_argument("--at", metavar="COMMIT", help="count the pages of a commit")
    asked = parser.parse_args()
    found = pages(at(asked.at) if asked.at else now)
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    for name, points in found.items():
        print(f"{name:25}{_slashed(points):15}{kinds(points)}")


if __name__ == "__main__":
    main()
