"""What relations forbid, as boxes of states; and inequalities one behind the other.

An inequality s ≤ e forbids, at each threshold t, the states of s from t on beside those of e below
t. The lower ends of the bins of s suffice, and of those that rule out the same states of e the
first: no more boxes than the column with fewer states has states. Finer bins keep the thresholds of
the declared ones, so that a relation costs a model no more cells than the declared bins do. Numbers
of two bins that overlap are put in order when values are drawn (`release.ordered_numbers`).

Where s ≤ m and m ≤ e are both declared, s ≤ e follows wherever m has a value, and has boxes of its
own: then any cell that is allowed holds numbers that keep to all inequalities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.schema.calendar_columns import Calendar
from understudy.schema.cell_values import Code
from understudy.schema.columns import NUMERIC, Column, Ordinal
from understudy.schema.derived_columns import Cells
from understudy.schema.expressions import level_state
from understudy.schema.number_columns import Integer
from understudy.schema.relations import Relation
from understudy.schema.value_grid import Grid

Box = dict[str, frozenset[int]]
"""Column → states; a record that has one of them in each column cannot exist."""

_MOST_CHAINS: Final = 64
_MOST_STEPS: Final = 500  # of one staircase


@dataclass(frozen=True)
class Chain:
    """Inequalities one behind the other, from the smallest column to the largest.

    Attributes:
        names: columns, ascending.
        strict: whether two neighbours differ; one fewer.
        at: thresholds of the first inequality.
    """

    names: tuple[str, ...]
    strict: tuple[bool, ...]
    at: tuple[float, ...] = ()


def chains(relations: Sequence[Relation], columns: Mapping[str, Column]) -> tuple[Chain, ...]:
    """Every chain of inequalities, single ones included.

    Args:
        relations: of the schema.
        columns: that they name.

    Raises:
        ValueError: inequalities in a circle, or too many chains.
    """
    single = [
        Chain(one.columns, (one.is_strict,), one.places(columns[one.columns[0]]))
        for one in relations
        if one.inequality
    ]
    found, ahead = list(single), list(single)
    while ahead:
        chain = ahead.pop()
        for step in single:
            if step.names[0] == chain.names[-1]:
                if step.names[1] in chain.names:
                    raise ValueError(
                        f"the inequalities of {step.names[0]!r} run in a circle; take one out"
                    )
                longer = Chain(
                    (*chain.names, step.names[1]), (*chain.strict, *step.strict), chain.at
                )
                found.append(longer)
                ahead.append(longer)
        if len(found) > _MOST_CHAINS:
            raise ValueError(
                f"the inequalities form more than {_MOST_CHAINS} chains; take some out"
            )
    return tuple(found)


def relation_boxes(
    relations: Sequence[Relation], columns: Mapping[str, Column]
) -> tuple[tuple[str, Box], ...]:
    """The boxes that relations forbid, each with the text of its relation.

    Args:
        relations: that fit the columns.
        columns: that they name, in any bins.

    Raises:
        ValueError: see `chains`.
    """
    found: list[tuple[str, Box]] = []
    for relation in relations:
        if relation.hierarchy:
            found += [(relation.text, box) for box in _boxes_within(relation, columns)]
    for chain in chains(relations, columns):
        text = "".join(
            f"{name}{' < ' if strict else ' <= '}"
            for name, strict in zip(chain.names, chain.strict, strict=False)
        )
        found += [(text + chain.names[-1], box) for box in _boxes_of(chain, columns)]
    return tuple(found)


def _boxes_within(relation: Relation, columns: Mapping[str, Column]) -> Iterator[Box]:
    """For each level of the coarser column, the finer ones in it beside all others of it."""
    finer, coarser = relation.hierarchy
    whole = range(columns[coarser].n_ordinary)
    for level, values in relation.within.items():
        inside = level_state(coarser, columns[coarser], level)
        states = frozenset(level_state(finer, columns[finer], value) for value in values)
        others = frozenset(whole) - {inside}
        if states and others:
            yield {finer: states, coarser: others}


def _boxes_of(chain: Chain, columns: Mapping[str, Column]) -> Iterator[Box]:
    """The staircase of the first and the last column; those between must have values."""
    first, last = (Grid.of(columns[chain.names[k]]) for k in (0, -1))
    between = {
        name: frozenset(range(columns[name].n_ordinary))
        for name in chain.names[1:-1]
        if columns[name].codes
    }
    places = np.unique(chain.at or first.lows)
    least = places
    for name, apart in zip(chain.names[1:], chain.strict, strict=True):
        least = Grid.of(columns[name]).from_on(least, strict=apart)
    n_below = np.searchsorted(np.sort(last.highs), least, side="left")
    kept = [k for n, k in zip(*np.unique(n_below, return_index=True), strict=True) if n]
    if len(kept) > _MOST_STEPS:
        raise ValueError(
            f"the inequality of {chain.names[0]!r} and {chain.names[-1]!r} has {len(kept):,} steps "
            f"by the bins of these columns; name at most {_MOST_STEPS:,} in `at`"
        )
    for k in kept:
        large = frozenset(np.flatnonzero(first.lows >= places[k]).tolist())
        small = frozenset(np.flatnonzero(last.highs < least[k]).tolist())
        if large:
            yield {chain.names[0]: large, chain.names[-1]: small, **between}


def rebinned(
    relations: Sequence[Relation], before: Mapping[str, Column], after: Mapping[str, Column]
) -> tuple[Relation, ...]:
    """The relations of a table in other bins; finer ones keep the thresholds of the former.

    Args:
        relations: that fit the columns.
        before: the columns as they were.
        after: the same in other bins.
    """
    kept = []
    for one in relations:
        if one.inequality and not one.at:
            old, new = (_thresholds(one, columns) for columns in (before, after))
            finer = 0 < len(old) < len(new)
            kept.append(one.model_copy(update={"at": old}) if finer else one)
        else:
            kept.append(one)
    return tuple(kept)


def _thresholds(relation: Relation, columns: Mapping[str, Column]) -> tuple[Code, ...]:
    """Where the steps of the staircase are, as the first column writes them."""
    name = relation.columns[0]
    chain = Chain(relation.columns, (relation.is_strict,))
    lows = Grid.of(columns[name]).lows
    steps = (float(lows[sorted(box[name])].min()) for box in _boxes_of(chain, columns))
    column = columns[name]
    return tuple(_written(column, step) for step in steps)


def _written(column: Column, place: float) -> Code:
    """A place on the number line as a schema writes it."""
    if isinstance(column, Calendar):
        return column.entry_at(int(place))
    if isinstance(column, Ordinal):
        return column.levels[int(place)]
    return int(place) if isinstance(column, Integer) else place


def breaks(
    relation: Relation, columns: Mapping[str, Column], cells: Mapping[str, Cells]
) -> NDArray[np.bool_]:
    """Which records break a relation; one with an absent value breaks none.

    Args:
        relation: that fits the columns.
        columns: that are measured.
        cells: of its two columns, of n records each.

    Returns:
        Shape (n,).
    """
    one, other = relation.columns
    if relation.inequality and isinstance(columns[one], NUMERIC):
        small, large = cells[one].numbers, cells[other].numbers
        return small >= large if relation.is_strict else small > large
    broken = np.zeros(len(cells[one].states), dtype=np.bool_)
    for _, box in relation_boxes((relation,), columns):
        broken |= np.all([np.isin(cells[name].states, sorted(box[name])) for name in box], axis=0)
    return broken
