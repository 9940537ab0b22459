"""Columns in groups of states, or in other bins; rules carried over.

A grouped column has a level for each group, those of absence included. A rule keeps its meaning as
long as each group lies wholly inside or wholly outside of it; one that would cut a group is left
out, so that fewer cells are forbidden. `signatures` says which states may be merged without that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from understudy.errors import SchemaError
from understudy.schema.columns import NUMERIC, Categorical, Column
from understudy.schema.constraints import Rule
from understudy.schema.domain import Domain

Groups = Mapping[str, tuple[int, ...]]
"""Column → group of each of its states, numbered from 0 without gaps."""


def signatures(domain: Domain) -> tuple[NDArray[np.int64], ...]:
    """For each column, a number for each state: equal ones stand in the same rules.

    Example:
        >>> domain = Domain((3, 2), ({0: frozenset({1, 2}), 1: frozenset({0})},))
        >>> [numbers.tolist() for numbers in signatures(domain)]
        [[0, 1, 1], [1, 0]]
    """
    numbers = []
    for j, size in enumerate(domain.sizes):
        member = np.zeros((size, len(domain.boxes)), dtype=np.bool_)
        for r, box in enumerate(domain.boxes):
            member[list(box.get(j, ())), r] = True
        places = {row: k for k, row in enumerate(sorted({r.tobytes() for r in member}))}
        numbers.append(np.array([places[row.tobytes()] for row in member], dtype=np.int64))
    return tuple(numbers)


def grouped_column(name: str, column: Column, groups: Sequence[int]) -> Categorical:
    """The column with a level for each group.

    Args:
        name: of the column.
        column: as declared.
        groups: group of each state.

    Raises:
        SchemaError: not one group for each state, or numbers with gaps.
    """
    numbers = sorted(set(groups))
    if len(groups) != column.size or numbers != list(range(len(numbers))):
        raise SchemaError(f"These groups do not fit the {column.size} states of {name!r}.")
    members: list[list[str]] = [[] for _ in numbers]
    for label, group in zip(column.labels, groups, strict=True):
        members[group].append(label)
    levels: dict[str, None] = {}  # in order; texts that differ are two levels
    for labels in members:
        text = _text(labels)
        while text in levels:
            text += "′"
        levels[text] = None
    coarse = Categorical(
        kind="categorical",
        levels=tuple(levels),
        source="; ".join(("groups of states", *filter(None, [column.sources]))),
        reviewed=column.reviewed,
    )
    # A group of what stands as drafted stands as drafted: its text says which values it holds.
    drafted = coarse.marks() if column.left_as_drafted else {}
    return coarse.model_copy(update={"drafted": drafted})


def _text(labels: Sequence[str]) -> str:
    """A group in words."""
    if len(labels) <= 3:
        return " or ".join(labels)
    return f"{labels[0]} … {labels[-1]} ({len(labels)} values)"


def grouped_rules(
    rules: Sequence[Rule],
    columns: Mapping[str, Column],
    coarse: Mapping[str, Column],
    groups: Groups,
) -> tuple[Rule, ...]:
    """The rules over grouped columns, without those that cut a group.

    Args:
        rules: over the columns as declared.
        columns: as declared.
        coarse: the same with grouped ones.
        groups: of the grouped columns.
    """
    kept = []
    for rule in rules:
        where = dict(rule.where)
        states = rule.states(dict(columns))
        for name in set(where) & set(groups):
            inside = {groups[name][state] for state in states[name]}
            if any(g in inside and s not in states[name] for s, g in enumerate(groups[name])):
                break
            levels = getattr(coarse[name], "levels", ())
            where[name] = tuple(levels[g] for g in sorted(inside))
        else:
            kept.append(rule.model_copy(update={"where": where}))
    return tuple(kept)


def sum_groups(counts: ArrayLike, groups: Sequence[int]) -> NDArray[np.float64]:
    """Counts of the groups of a column, shape (groups,).

    Example:
        >>> sum_groups([1, 2, 3], (0, 1, 0)).tolist()
        [4.0, 2.0]
    """
    weights = np.asarray(counts, dtype=np.float64)
    return np.bincount(groups, weights=weights).astype(np.float64)


def column_in_bins(name: str, column: Column | None, bins: int | tuple[Any, ...]) -> Column:
    """A numeric column in other bins.

    Args:
        name: of the column.
        column: as declared; None if there is none.
        bins: number of bins of equal width, or all edges.

    Raises:
        SchemaError: not numeric, or bins that do not fit.
    """
    if not isinstance(column, NUMERIC):
        raise SchemaError(f"There is no numeric column {name!r} that could be put into bins.")
    try:
        return type(column).model_validate({**column.model_dump(), "bins": bins})
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise SchemaError(f"These bins do not fit the column {name!r}: {message}.") from None


def in_these_bins(column: Column, bins: int | tuple[Any, ...]) -> bool:
    """Return whether a column has these bins, in whatever form its edges are written.

    Args:
        column: as declared.
        bins: number of bins of equal width, or all edges, of moments as texts too.
    """
    return isinstance(column, NUMERIC) and (
        column.bins == bins or column_in_bins("", column, bins) == column
    )


def fits(rule: Rule, columns: dict[str, Column]) -> bool:
    """Return whether a rule names whole bins."""
    try:
        rule.states(columns)
    except SchemaError:
        return False
    return True
