"""Compiled: where the cells of each record stand in a text (see `text_records`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Flags, compiled

__all__ = ["NULL", "gather_cells", "split_records"]

NULL = -1
"""Length of an empty cell without quotes."""

_MALFORMED, _CUT_OFF = -1, -2
_NUL, _LF, _CR = 0, 10, 13

Bytes = NDArray[np.uint8]
Marks = tuple[int, int, int, bool]
"""Separator; quote, −1 for none; most lines of a record; whether nothing follows the text."""
Cells = tuple[NDArray[np.int32], NDArray[np.int32], Flags]
"""First byte of each cell, its bytes, and whether it has doubled quotes."""
Records = tuple[NDArray[np.int64], Flags, Cells]
"""Where each record begins, which ones do not fit, shape (n,); and cells, shape (columns, n)."""


@compiled
def split_records(
    text: Bytes,
    at: int,
    marks: Marks,
    slots: NDArray[np.int64],
    records: Records,
) -> tuple[int, int]:
    """Find the cells of as many records as there is room for.

    Args:
        text: UTF-8.
        at: where the first record begins.
        marks: see `Marks`.
        slots: column for each cell of a record, −1 for one that is not wanted.
        records: filled in. The cells of records that do not fit have no bytes.

    Returns:
        How many records, and where the next one begins.
    """
    begins, malformed, (starts, lengths, doubled) = records
    n = 0
    while at < len(text) and n < len(begins):
        cells = (starts[:, n], lengths[:, n], doubled[:, n])
        after = _record(text, at, marks, slots, cells)
        if after == _CUT_OFF:
            break
        begins[n] = at
        malformed[n] = after == _MALFORMED
        if after == _MALFORMED:
            lengths[:, n] = 0
            while at < len(text) and text[at] != _LF:
                at += 1
            after = at + 1
        at = after
        n += 1
    return n, at


@compiled
def _record(text: Bytes, at: int, marks: Marks, slots: NDArray[np.int64], cells: Cells) -> int:
    """Where the next record begins; or that this one does not fit, or is not all there."""
    separator, quote, most_lines, _ = marks
    starts, lengths, doubled = cells
    cell = 0
    while cell < len(slots):
        slot = slots[cell]
        quoted, twice = at < len(text) and text[at] == quote, False
        start = at + 1 if quoted else at
        if quoted:
            end, most_lines, twice = _quoted_end(text, start, marks, most_lines)
            at = end + 1
        else:
            end = _plain_end(text, start, marks)
            at = end
        if end < 0:
            return end
        last = at >= len(text) or text[at] != separator
        if last and not quoted and end > start and text[end - 1] == _CR:
            end -= 1
        if slot >= 0:
            starts[slot] = start
            lengths[slot] = end - start if quoted or end > start else NULL
            doubled[slot] = twice
        cell += 1
        if last:
            break
        at += 1
    else:
        return _MALFORMED  # a separator behind the last cell
    if cell < len(slots):
        return _MALFORMED
    return _after_line(text, at)


@compiled
def _quoted_end(text: Bytes, at: int, marks: Marks, lines: int) -> tuple[int, int, bool]:
    """The closing quote of a cell, how many lines the record may still have, and doubled quotes."""
    _, quote, _, final = marks
    twice = False
    while at < len(text):
        if text[at] == quote:
            if at + 1 >= len(text) or text[at + 1] != quote:
                return at, lines, twice
            twice = True
            at += 1
        elif text[at] == _LF:
            lines -= 1
        if text[at] == _NUL or lines == 0:
            return _MALFORMED, lines, twice
        at += 1
    return (_MALFORMED if final else _CUT_OFF), lines, twice


@compiled
def _plain_end(text: Bytes, at: int, marks: Marks) -> int:
    """What follows a cell without quotes: a separator, or the end of the line."""
    separator, quote, _, _ = marks
    while at < len(text) and text[at] != separator and text[at] != _LF:
        if text[at] == quote or text[at] == _NUL:
            return _MALFORMED
        at += 1
    return at


@compiled
def _after_line(text: Bytes, at: int) -> int:
    """What follows the line break that must stand here, or the end of the text."""
    if at < len(text) and text[at] == _CR:
        at += 1
    return at + 1 if at >= len(text) or text[at] == _LF else _MALFORMED


@compiled
def gather_cells(
    text: Bytes,
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
    doubled: Flags,
    quote: int,
) -> tuple[NDArray[np.int64], Bytes]:
    """Copy the cells of one column one behind the other; of doubled quotes, one is left.

    Returns:
        Where each cell begins, and where the last one ends, shape (n + 1,); and the bytes.
    """
    size = 0
    for k in range(len(lengths)):
        size += max(lengths[k], 0)
    bounds, copied = np.zeros(len(starts) + 1, dtype=np.int64), np.empty(size, dtype=np.uint8)
    place = 0
    for k in range(len(starts)):
        at = starts[k]
        end = at + max(lengths[k], 0)
        while at < end:
            copied[place] = text[at]
            place += 1
            at += 2 if doubled[k] and text[at] == quote else 1
        bounds[k + 1] = place
    return bounds, copied
