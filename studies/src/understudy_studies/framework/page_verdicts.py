"""The verdicts that stand on written pages, counted: for a page that sums up several.

A page of a study has one table of points (`claim_verdicts.comparison`). Here it is read back, so
that sums of several pages need no run, and are wrong on no page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from understudy_studies.framework.claim_verdicts import Word
from understudy_studies.framework.verdict_causes import BEGINNINGS

WORDS: tuple[Word, ...] = ("agrees", "partly", "not")
UNKNOWN = "no cause"
_HEADING = re.compile(r"^\| The paper says \| We measured \| Verdict \|")
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class PagePoint:
    """A point of a paper, as its page has it.

    Attributes:
        claim: what the paper says.
        word: whether it agrees.
        kind: which of the five causes it has; "" if it agrees, `UNKNOWN` if it has none.
    """

    claim: str
    word: Word
    kind: str


def points_of(page: str) -> tuple[PagePoint, ...]:
    r"""The points of a page.

    Args:
        page: its Markdown; with or without a column of causes.

    Example:
        >>> head = "| The paper says | We measured | Verdict | Why it differs |\n|-|-|-|-|\n"
        >>> points_of(head + "| Tea is \\|warm\\|. | So. | **not** | A real difference: it. |\n")
        (PagePoint(claim='Tea is |warm|.', word='not', kind='difference'),)
    """
    lines = iter(page.splitlines())
    return tuple(_point(line) for line in _rows(lines))


def _rows(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if _HEADING.match(line):
            next(lines)
            break
    for line in lines:
        if not line.startswith("|"):
            return
        yield line


def _point(row: str) -> PagePoint:
    cells = [cell.strip().replace("\\|", "|") for cell in _CELLS.split(row)[1:-1]]
    found = cells[2].strip("*")
    word = next(word for word in WORDS if word == found)
    why = cells[3] if len(cells) > 3 else ""
    return PagePoint(cells[0], word, "" if word == "agrees" else _kind(why))


def _kind(why: str) -> str:
    """Which cause a sentence begins with."""
    return next((kind for kind, words in BEGINNINGS.items() if why.startswith(words)), UNKNOWN)


def counted(points: Iterable[PagePoint]) -> dict[Word, int]:
    """How many points agree, in part or not."""
    found = Counter(point.word for point in points)
    return {word: found[word] for word in WORDS}


def kinds(points: Iterable[PagePoint]) -> str:
    """The causes of those that do not agree, with their numbers.

    Example:
        >>> kinds([PagePoint("a", "not", "reading"), PagePoint("b", "partly", "reading")])
        'reading 2'
    """
    found = Counter(point.kind for point in points if point.kind)
    names = [*BEGINNINGS, UNKNOWN]
    return ", ".join(f"{name} {found[name]}" for name in names if found[name])


def about(points: Iterable[PagePoint], words: Iterable[str]) -> tuple[PagePoint, ...]:
    """Points whose claims have one of some words, in any case; all, if there are no words."""
    wanted = [word.casefold() for word in words]
    return tuple(
        point
        for point in points
        if not wanted or any(word in point.claim.casefold() for word in wanted)
    )
