"""A triangle of all pairs of columns that shows which were measured together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from markupsafe import Markup

from understudy.report.number_text import shortened
from understudy.report.public.answers import Answers
from understudy.report.svg import LARGE, LETTER, SMALL, Box, Chart, Colour

MOST_COLUMNS = 60
_LABEL = 24  # most letters of a name
_LEAST_WIDTH = 480.0  # so that few columns are not blown up
_HALVES = {"counted": 0.42, "moments": 0.29, "kept": 0.14}  # of the height of a mark, in cells
_COLOURS = {"counted": Colour.BAR, "moments": Colour.ABSENT, "kept": Colour.SPIKE}


def pair_map(answers: Answers) -> Markup:
    """The lower triangle of all pairs: a high mark is counted, a low one kept, none is lost.

    A mark of middle height has second moments.

    A pair's row and column end at their names on the diagonal. Marks differ in height, not in
    colour alone; neighbours of one kind in a row are one mark, so that the page stays small.
    """
    names = answers.names
    n = len(names)
    side = 18.0 if n <= 20 else 13.0
    letters = max(len(shortened(name, _LABEL)) for name in names)
    chart = Chart(n * side + 4, max(n * side + 8 + LETTER * letters, _LEAST_WIDTH))
    panel = chart.canvas()
    panel.segments([(0, k * side, k * side, k * side) for k in range(1, n)], Colour.RULE, 0.7)
    panel.segments([(k * side, k * side, k * side, n * side) for k in range(n)], Colour.RULE, 0.7)
    for kind, colour in _COLOURS.items():
        panel.fill(list(_marks(answers, kind, side)), colour)
    size = LARGE if side > SMALL + 4 else SMALL
    for i, name in enumerate(names):
        panel.text(i * side + 4, (i + 0.5) * side, shortened(name, _LABEL), size=size)
    return chart.svg(_spoken(answers))


def _marks(answers: Answers, kind: str, side: float) -> Iterator[Box]:
    """Marks of one kind, row by row."""
    pairs = {"counted": answers.counted, "moments": answers.moments, "kept": answers.kept}[kind]
    names, half = answers.names, _HALVES[kind] * side
    inset = side * (0.5 - _HALVES["counted"])
    for i, name in enumerate(names):
        y = (i + 0.5) * side
        here = [frozenset((name, names[j])) in pairs for j in range(i)]
        for marked, run in groupby(range(i), here.__getitem__):
            places = list(run)
            if marked:
                left, right = places[0] * side + inset, (places[-1] + 1) * side - inset
                yield left, y - half, right, y + half


def _spoken(answers: Answers) -> str:
    """The map in words; the list of measured tables below it names the pairs."""
    by_moments, kept = len(answers.moments), len(answers.kept)
    lost = answers.n_pairs - len(answers.counted) - by_moments - kept
    also = f"{by_moments:,} by second moments, " * bool(by_moments)
    return (
        f"Map of the {answers.n_pairs:,} pairs of columns: {len(answers.counted):,} counted "
        f"together, {also}{kept:,} kept in the sets, {lost:,} not measured together."
    )
