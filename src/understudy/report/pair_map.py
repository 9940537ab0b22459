"""Which pairs of columns were measured together, as a triangle of squares.

Importing this module imports matplotlib, which takes a while: import it when a chart is wanted.
"""

from __future__ import annotations

from markupsafe import Markup

from understudy.report.answers import Answers
from understudy.report.drawing import LARGE, LETTER, SMALL, Box, Pen
from understudy.report.text import shortened

MOST_COLUMNS = 60
_LABEL = 24  # most letters of a name


def pair_map(answers: Answers) -> Markup:
    """The lower triangle of all pairs: a full square is counted, a small one kept, a dot lost.

    A square's row and column end at their names on the diagonal. Kinds differ in size, not in
    colour alone.
    """
    names = answers.names
    n = len(names)
    side = 18.0 if n <= 20 else 13.0
    letters = max(len(shortened(name, _LABEL)) for name in names)
    pen = Pen(n * side + 4, max(n * side + 8 + LETTER * letters, 240))
    panel = pen.canvas()
    places: dict[str, list[Box]] = {"counted": [], "kept": [], "lost": []}
    for i in range(n):
        for j in range(i):
            pair = frozenset((names[i], names[j]))
            kind = _kind(pair, answers)
            half = side * _HALVES[kind]
            x, y = (j + 0.5) * side, (i + 0.5) * side
            places[kind].append((x - half, y - half, x + half, y + half))
    for kind, boxes in places.items():
        panel.fill(boxes, _COLOURS[kind])
    for i, name in enumerate(names):
        size = LARGE if side > SMALL + 4 else SMALL
        panel.text(i * side + 4, (i + 0.5) * side, shortened(name, _LABEL), size=size)
    return pen.svg(_spoken(answers))


_HALVES = {"counted": 0.44, "kept": 0.25, "lost": 0.06}
_COLOURS = {"counted": "--bar", "kept": "--spike", "lost": "--absent"}


def _kind(pair: frozenset[str], answers: Answers) -> str:
    if pair in answers.counted:
        return "counted"
    return "kept" if pair in answers.kept else "lost"


def _spoken(answers: Answers) -> str:
    """The map in words; the list of measured tables below it names the pairs."""
    lost = answers.n_pairs - len(answers.counted) - len(answers.kept)
    return (
        f"Map of the {answers.n_pairs:,} pairs of columns: {len(answers.counted):,} counted "
        f"together, {len(answers.kept):,} kept in the sets, {lost:,} not measured together."
    )
