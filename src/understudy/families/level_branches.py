"""Levels and their public branches: in what order they stand, and which are measured together."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.models.graphical.merged_branches import merged_branches
from understudy.models.graphical.merged_state_model import merged_levels
from understudy.schema import Categorical, Column

PARTS: Final = 256
"""A level, or a group of one branch, is crossed with other columns from this part of the records
on. Of 64, 128 and 256, found best on made diagnoses (`benchmarks/level_branches.py`)."""
CELLS: Final = 4
"""Cells of a table of two columns, as full as noise wants them, whose records suffice as well."""


def has_branches(column: Column) -> bool:
    """Whether levels have public branches."""
    return isinstance(column, Categorical) and column.hierarchy is not None


def in_branches(column: Column) -> Integers:
    """The states in an order in which those of one branch stand together; as declared without."""
    own = np.arange(column.size)
    return np.lexsort([own, *_branches(column)]) if has_branches(column) else own


def level_groups(
    column: Column, counts: Floats, stddev: float, signatures: Integers, room: float = math.inf
) -> Integers:
    """Group of each state of an unordered column: rare levels together, if possible of one branch.

    Args:
        column: with branches or without.
        counts: released, of each state.
        stddev: of their noise.
        signatures: equal numbers for states that may be merged, shape (K,).
        room: cells that noise leaves room for in a table of two columns.
    """
    least = max(float(counts.sum()), 0.0) / PARTS
    if not has_branches(column):
        least *= min(1.0, PARTS * CELLS / max(room, 1.0))
        return merged_levels(counts, stddev, least=least, signatures=signatures)
    return merged_branches(counts, stddev, _branches(column), least=least, signatures=signatures)


def _branches(column: Column) -> list[Integers]:
    """The branch of each state, finest branching first; codes of absence have one of their own."""
    assert isinstance(column, Categorical)
    assert column.hierarchy is not None
    codes = ("",) * len(column.codes)
    named = (np.array([*names, *codes]) for names in column.hierarchy.branches(column.levels))
    return [np.unique(names, return_inverse=True)[1] for names in named]
