"""Where short texts stand beside points without lying on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from understudy.report.svg import LETTER, SMALL, Anchor, Box, Point

_AWAY = 8.0  # points from a marker to its text
_CORNERS = ((1, -1), (-1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0))


def placed(
    points: Sequence[Point], texts: Sequence[str], taken: Sequence[Box]
) -> Iterator[tuple[float, float, Anchor]]:
    """A place beside each point: the first of six that is free, else the one above to the right.

    Args:
        points: markers.
        texts: of each.
        taken: boxes (left, top, right, bottom) that no text may lie on.

    Yields:
        Place and anchor of each text, in order.
    """
    reach = _AWAY - 2
    occupied = [*taken, *((x - reach, y - reach, x + reach, y + reach) for x, y in points)]
    for (x, y), text in zip(points, texts, strict=True):
        boxes = [_box(x, y, text, corner) for corner in _CORNERS]
        free = [k for k, box in enumerate(boxes) if not any(_meet(box, one) for one in occupied)]
        k = free[0] if free else 0
        occupied.append(boxes[k])
        aside, down = _CORNERS[k]
        yield x + aside * _AWAY, y + down * 9.0, "left" if aside > 0 else "right"


def _box(x: float, y: float, text: str, corner: tuple[int, int]) -> Box:
    aside, down = corner
    start = x + aside * _AWAY
    end = start + aside * LETTER * len(text)
    middle = y + down * 9.0
    return min(start, end), middle - SMALL / 2, max(start, end), middle + SMALL / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
