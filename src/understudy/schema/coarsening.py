"""Columns in groups of states, or in other bins; rules carried over.

A grouped column has a level for each group, those of absence included. A rule keeps its meaning as
long as each group lies wholly inside or wholly outside of it; one that would cut a group is left
out, so that fewer cells are forbidden. `signatures` says which states may be merged without that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from understudy.errors import SchemaError
from understudy.schema.base import Code, is_number
from understudy.schema.columns import NUMERIC, Categorical, Column, Ordinal
from understudy.schema.constraints import Rule
from understudy.schema.domain import Domain
from understudy.schema.numeric import DEFAULT_BINS, Continuous, Integer, Numeric
from understudy.schema.temporal import Calendar

Groups = Mapping[str, tuple[int, ...]]
"""Column → group of each of its states, numbered from 0 without gaps."""
_N = TypeVar("_N", bound=Numeric)


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


def stand_in_column(
    column: Categorical | Ordinal, groups: Sequence[int], absent: Collection[int]
) -> Categorical | Ordinal:
    """The column with the first level of each group in the place of all of it.

    What a condition says of that level it must say of the whole group.

    Args:
        column: of levels.
        groups: group of each state, numbered from 0 without gaps.
        absent: groups that count as absence; they have the last numbers.

    Raises:
        SchemaError: formulas would see numbers where those of the column are texts, or the reverse.
    """
    levels = tuple(column.levels[groups.index(k)] for k in sorted(set(groups) - set(absent)))
    codes = tuple(f"{_NOT_COUNTED}{'′' * k}" for k in range(len(absent)))
    if _are_numbers(levels) != _are_numbers(column.levels) or set(codes) & {*map(str, levels)}:
        raise SchemaError("Levels that stand for others must be of the kind of all levels.")
    said = {"source": column.sources or "levels that stand for others", "reviewed": column.reviewed}
    given = {"kind": column.kind, "levels": levels, "missing": codes, **said}
    return type(column).model_validate(given)


_NOT_COUNTED: Final = "not counted"


def _are_numbers(levels: Sequence[Code]) -> bool:
    return all(is_number(level) for level in levels if level != "")


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
            levels = (*getattr(coarse[name], "levels", ()), *coarse[name].codes)
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
    return _in_bins(name, column, bins)


def _in_bins(name: str, column: _N, bins: int | tuple[Any, ...] | None) -> _N:
    try:
        return type(column).model_validate({**column.model_dump(), "bins": bins})
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise SchemaError(f"These bins do not fit the column {name!r}: {message}.") from None


MOST_CUTS: Final = 20
"""Edges that bins may have beside the usual ones, and still count as these; fine bins have more."""
_NEAR = 1e-9  # of the range, within which an edge takes the place of another


def cuts_of(column: Numeric) -> tuple[float, ...] | None:
    """Where bins begin beside the usual ones; None of a column for which others were declared.

    A schema that has the usual edges among its own, and few more, does not tell who wrote them.

    Example:
        >>> from understudy.schema import Integer
        >>> age = Integer(kind="integer", lower=0, upper=99)
        >>> cuts_of(with_cuts(age, [63]))
        (63,)
    """
    usual, bins = _usual(column), getattr(column, "bins", None)
    if bins == usual:
        return ()
    if not isinstance(bins, tuple):
        return None
    try:
        plain = _in_bins("", column, usual)
    except SchemaError:  # the usual ones do not fit, so these were declared
        return None
    own, known = bin_starts(column), bin_starts(plain)
    cuts = tuple(place for place in own if place not in known)
    whole = own == join_starts(column, known, cuts)
    return cuts if whole and 0 < len(cuts) <= MOST_CUTS else None


def divides_usual(column: Numeric) -> bool:
    """Return whether bins divide the usual ones, as those do that nobody declared."""
    try:
        plain = _in_bins("", column, _usual(column))
    except SchemaError:
        return False
    return {*bin_starts(column)}.issuperset(bin_starts(plain))


def usual_bins(column: _N) -> _N:
    """The column in the bins that it has where none are declared; they are not checked."""
    return column.model_copy(update={"bins": _usual(column)})


def in_one_bin(column: _N) -> _N:
    """The column in a single bin over its range, beside its spikes.

    Raises:
        SchemaError: spikes alone would fill it.
    """
    return _in_bins("", column, 1)


def _usual(column: Numeric) -> int | None:
    return DEFAULT_BINS if isinstance(column, Continuous) else None


def with_cuts(column: _N, cuts: Collection[float], name: str = "") -> _N:
    """A numeric column with further bins.

    Args:
        column: as declared.
        cuts: where these begin.
        name: of the column, for the message.

    Raises:
        SchemaError: bins that do not fit.
    """
    edges = [*join_starts(column, bin_starts(column), cuts), column.bounds[1]]
    if isinstance(column, Calendar):
        return _in_bins(name, column, tuple(column.entry_at(int(edge)) for edge in edges))
    whole = isinstance(column, Integer)
    return _in_bins(name, column, tuple(int(edge) if whole else edge for edge in edges))


def number_text(number: float, column: Column) -> str:
    """A number of a column as people write it."""
    if isinstance(column, Calendar):
        return str(column.text_at(int(number)))
    return f"{number:,.12g}"


def bin_starts(column: Numeric) -> list[float]:
    """Where the bins of a numeric column begin, ascending."""
    return [interval.low for interval in column.intervals if not interval.spike]


def join_starts(column: Numeric, starts: Collection[float], cuts: Collection[float]) -> list[float]:
    """Where bins begin, ascending, with some that take the place of those right beside them."""
    low, high = column.bounds
    near = _NEAR * (high - low)
    apart = [place for place in starts if all(abs(place - cut) > near for cut in cuts)]
    return sorted({*apart, *cuts})


def states_in(column: Column, other: Column, states: Collection[int]) -> tuple[int, ...]:
    """States of a column in other bins that lie within some states, ascending.

    Args:
        column: whose states are given.
        other: the same column, in bins that divide its own.
        states: ordinary ones.
    """
    if not isinstance(column, NUMERIC) or not isinstance(other, NUMERIC) or column == other:
        return tuple(states)
    spikes = {one.low: k for k, one in enumerate(column.intervals) if one.spike}
    bins = [k for k, one in enumerate(column.intervals) if not one.spike]
    starts = bin_starts(column)
    return tuple(
        k
        for k, one in enumerate(other.intervals)
        if (spikes[one.low] if one.spike else bins[bisect_right(starts, one.low) - 1]) in states
    )


def state_words(column: Column, states: Collection[int]) -> str:
    """Some ordinary states in words, the same whichever bins their numbers are in.

    Example:
        >>> from understudy.schema import Integer
        >>> state_words(Integer(kind="integer", lower=0, upper=9, bins=(0, 2, 5, 9)), [1, 2])
        '2 to 9'
    """
    labels = column.labels
    if not isinstance(column, NUMERIC):
        return " or ".join(labels[state] for state in states)
    bins = [k for k, one in enumerate(column.intervals) if not one.spike]
    runs: list[list[int]] = []
    for place, k in enumerate(bins):
        if k in states:
            begins = not place or bins[place - 1] not in states
            runs = [*runs, [k]] if begins else [*runs[:-1], [*runs[-1], k]]
    ranges = (_range_label(labels[run[0]], labels[run[-1]]) for run in runs)
    return " or ".join([*ranges, *(labels[k] for k in states if k not in bins)])


def _range_label(first: str, last: str) -> str:
    """The label of bins side by side: "63 to 64" and "65 to 99", or "[0, 5)" and "[5, 9]"."""
    if first == last:
        return first
    if first.startswith("["):
        return f"{first.partition(', ')[0]}, {last.partition(', ')[2]}"
    return f"{first.partition(' to ')[0]} to {last.rpartition(' to ')[2]}"


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
