"""Edges of bins that keep to the structural zeros.

A rule about numbers names whole bins, so other bins must have its edges among theirs: then the same
values are forbidden as before. These edges are as public as the schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from understudy.errors import MethodError
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Schema
from understudy.schema.bins import has_values, integer_intervals, real_intervals
from understudy.schema.structural_zeros import Range, Rule

MOST_BINS = 2**20


def numeric_columns(schema: Schema) -> tuple[str, ...]:
    """Names of the columns on the number line, but for those with a single value."""
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, NUMERIC) and column.bounds[0] < column.bounds[1]
    )


def bins_with_rules(schema: Schema, numbers: Mapping[str, int]) -> dict[str, int | tuple[Any, ...]]:
    """Bins of equal width, so many for each column, cut further where rules have their edges.

    There are no more bins than values that the column can hold, and none that only spikes could
    fill. A rule about the very largest whole number gives each value a bin of its own, as edges
    cannot set it apart.

    Args:
        schema: the public schema.
        numbers: numeric column → number of bins, at least 1.

    Returns:
        What `Schema.with_bins` takes.

    Raises:
        MethodError: bins narrower than floating-point numbers can tell apart.
    """
    bins = {}
    for name, number in numbers.items():
        column = schema.columns[name]
        kept = {e for rule in schema.forbidden for e in _edges_of(rule, name, schema.columns)}
        bins[name] = _bins(column, number, kept)
    return bins


def _edges_of(rule: Rule, name: str, columns: dict[str, Column]) -> set[float]:
    """Where bins must begin so that the rule names whole ones."""
    column = columns[name]
    if name not in rule.where or not isinstance(column, NUMERIC):
        return set()
    states, ranges = rule.states(columns)[name], isinstance(rule.where[name], Range)
    bins = [
        (k in states, interval.low)
        for k, interval in enumerate(column.intervals)
        if not interval.spike
    ]
    # Single values each need a bin of their own; of a range, the ends do.
    return {
        low
        for (before, _), (named, low) in pairwise(bins)
        if before != named or (named and not ranges)
    }


def _bins(column: Column, number: int, kept: set[float]) -> int | tuple[Any, ...]:
    assert isinstance(column, NUMERIC)
    number = min(number, _most(column))
    equal = _equal_starts(column, number)
    apart = [place for place in equal if not any(math.isclose(place, edge) for edge in kept)]
    starts = merged_starts(column, sorted({equal[0], *apart, *kept}), kept)
    return number if starts == equal else declared_bins(column, starts)


def declared_bins(column: Column, starts: list[float]) -> int | tuple[Any, ...]:
    """Bins that begin at these places on the number line, as a schema declares them.

    A bin that holds the largest whole number alone needs a bin for each value: edges cannot say it.
    """
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if isinstance(column, Continuous):
        return (*starts, high)
    if starts[-1] == high:
        return int(high - low) + 1
    whole = [int(edge) for edge in (*starts, high)]
    if isinstance(column, Calendar):
        return tuple(column.entry_at(place) for place in whole)
    return tuple(whole)


def _most(column: Column) -> int:
    """Most bins of equal width of which each holds a value."""
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if not isinstance(column, Continuous):
        return int(high - low) + 1
    if column.decimals is None:
        return MOST_BINS
    return max(1, min(MOST_BINS, math.floor((high - low) * 10.0**column.decimals)))


def _equal_starts(column: Column, number: int) -> list[float]:
    assert isinstance(column, NUMERIC)
    low, high = column.bounds
    if isinstance(column, Continuous):
        try:
            return [interval.low for interval in real_intervals(low, high, number, ())]
        except ValueError:
            raise MethodError(
                f"{number:,} bins between {low} and {high} would be narrower than numbers of this "
                "size can tell apart; take fewer."
            ) from None
    return [interval.low for interval in integer_intervals(int(low), int(high), number, (), str)]


def merged_starts(column: Column, starts: list[float], kept: set[float]) -> list[float]:
    """Bins that nothing but spikes could fill go to a neighbour on the same side of every rule.

    Args:
        column: numeric.
        starts: where bins begin, ascending; changed in place.
        kept: those among them that rules need.
    """
    assert isinstance(column, NUMERIC)
    k = 0
    while k < len(starts) and len(starts) > 1:
        end = starts[k + 1] if k + 1 < len(starts) else math.inf
        if _holds_values(column, starts[k], end):
            k += 1
        elif k > 0 and starts[k] not in kept:
            del starts[k]
            k -= 1
        else:  # the schema's own bins keep to the rules, so one of the two edges can go
            del starts[min(k + 1, len(starts) - 1)]
    return starts


def _holds_values(column: Column, low: float, end: float) -> bool:
    """Whether a bin from `low` to before `end` holds a value that is no spike."""
    assert isinstance(column, NUMERIC)
    scale = 1.0
    if isinstance(column, Continuous):
        if column.decimals is None:
            return True
        scale = 10.0**column.decimals
    high = column.bounds[1]
    first = math.ceil(low * scale)
    last = math.floor(high * scale) if end == math.inf else math.ceil(end * scale) - 1
    spikes = {round(interval.low * scale) for interval in column.intervals if interval.spike}
    return has_values(first, last, spikes)
