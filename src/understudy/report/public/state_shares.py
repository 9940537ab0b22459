"""From released values back to states, and the bars of a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.release.places_of_values import places_of
from understudy.report.public.count_accuracy import Marginal
from understudy.schema import NUMERIC, Calendar, Column, Continuous
from understudy.schema.cell_values import Code, text_of


@dataclass(frozen=True)
class Bar:
    """One state, or several pooled.

    Attributes:
        label: text of the state.
        share: share in the synthetic sets, mean over the sets; None without rows.
        measured: noisy share; None without a measurement.
        half_width: half width of the band that noise alone explains (95 %).
        absent: a code of absence (missing, not applicable, out of domain).
        spike: a single value that is kept apart from the bin around it.
        pooled: several levels or codes, so that its share cannot be compared with the others.
        start: for states on the number line, the text of the lower edge.
        end: … and of the upper one.
    """

    label: str
    share: float | None
    measured: float | None = None
    half_width: float = 0.0
    absent: bool = False
    spike: bool = False
    pooled: bool = False
    start: str = ""
    end: str = ""


def state_counts(values: pl.Series, column: Column) -> NDArray[np.int64]:
    """How many released values are in each state; shape (column.size,).

    Values that fit no state are not counted (a release has none).
    """
    if isinstance(column, NUMERIC):
        return _numeric_counts(values, column)
    return _code_counts(values, (*column.levels, *column.codes))


def _code_counts(values: pl.Series, codes: Sequence[Code]) -> NDArray[np.int64]:
    # The empty code stands for null; texts of codes are distinct by the schema's own rule.
    place = {text_of(code): k for k, code in enumerate(codes)}
    counts = np.zeros(len(codes), dtype=np.int64)
    for value, count in values.alias("").value_counts().iter_rows():
        state = place.get("" if value is None else text_of(value))
        if state is not None:
            counts[state] += count
    return counts


def _numeric_counts(values: pl.Series, column: Column) -> NDArray[np.int64]:
    assert isinstance(column, NUMERIC)
    numbers = places_of(values, column)
    low, high = column.bounds
    inside = (numbers >= low) & (numbers <= high)
    absent = values.filter(pl.Series(~inside, dtype=pl.Boolean))
    ordinary = np.zeros(column.n_ordinary, dtype=np.int64)
    places = _places(numbers[inside], column)
    ordinary += np.bincount(places, minlength=column.n_ordinary)
    return np.concatenate([ordinary, _code_counts(absent, column.codes)])


def _places(numbers: NDArray[np.float64], column: Column) -> NDArray[np.int64]:
    assert isinstance(column, NUMERIC)
    bins = [k for k, interval in enumerate(column.intervals) if not interval.spike]
    edges = np.array([column.intervals[k].low for k in bins])
    places = np.array(bins)[np.searchsorted(edges, numbers, side="right") - 1]
    for k, interval in enumerate(column.intervals):
        if interval.spike:
            places[numbers == interval.low] = k
    return np.asarray(places, dtype=np.int64)


def mean_shares(
    tables: Sequence[pl.DataFrame], name: str, column: Column
) -> NDArray[np.float64] | None:
    """Share of each state, mean over the synthetic sets; None without rows."""
    filled = [table for table in tables if table.height]
    if not filled:
        return None
    counts = [state_counts(table.get_column(name), column) / table.height for table in filled]
    return np.asarray(np.mean(counts, axis=0), dtype=np.float64)


def bars(
    column: Column, shares: NDArray[np.float64] | None, noisy: Marginal | None, *, at_most: int
) -> tuple[Bar, ...]:
    """The bars of one column, in the order of its states.

    Args:
        column: the declared column.
        shares: synthetic share of each state.
        noisy: noisy counts of the states, if they were measured.
        at_most: most bars; beyond it states are pooled, neighbours on the number line, the rarest
            levels elsewhere.
    """
    groups = _groups(column, shares, noisy, at_most)
    measured = noisy.grouped(groups).shares() if noisy else None
    drawn = []
    for k, group in enumerate(groups):
        share = None if shares is None else float(shares[list(group)].sum())
        noise = (None, 0.0) if measured is None else (float(measured[0][k]), float(measured[1][k]))
        drawn.append(_bar(column, group, share, noise))
    return tuple(drawn)


def _groups(
    column: Column, shares: NDArray[np.float64] | None, noisy: Marginal | None, at_most: int
) -> list[list[int]]:
    ordinary = list(range(column.n_ordinary))
    absent = list(range(column.n_ordinary, column.size))
    if len(ordinary) > at_most and isinstance(column, NUMERIC):
        groups = _neighbours_pooled(column, at_most)
    else:
        groups = _rarest_pooled(ordinary, _weight(column, shares, noisy), at_most)
    return groups + _rarest_pooled(absent, _weight(column, shares, noisy), max(at_most // 3, 2))


def _weight(
    column: Column, shares: NDArray[np.float64] | None, noisy: Marginal | None
) -> NDArray[np.float64]:
    if shares is not None:
        return shares
    return np.zeros(column.size) if noisy is None else noisy.counts


def _rarest_pooled(states: list[int], weight: NDArray[np.float64], at_most: int) -> list[list[int]]:
    """Each state alone, in order; if there are too many, the rarest together at the end."""
    if len(states) <= at_most:
        return [[state] for state in states]
    kept = set(sorted(states, key=lambda state: (-weight[state], state))[: at_most - 1])
    rest = [state for state in states if state not in kept]
    return [[state] for state in states if state in kept] + [rest]


def _neighbours_pooled(column: Column, at_most: int) -> list[list[int]]:
    """Runs of neighbouring bins, about equally many in each; spikes stay alone where they can."""
    assert isinstance(column, NUMERIC)
    spikes = {k for k, interval in enumerate(column.intervals) if interval.spike}
    if 2 * len(spikes) + 1 >= at_most:
        spikes = set()
    width = -(-column.n_ordinary // (at_most - 2 * len(spikes)))
    groups: list[list[int]] = []
    for k in range(column.n_ordinary):
        alone = k in spikes or not groups or groups[-1][-1] in spikes
        if alone or len(groups[-1]) >= width:
            groups.append([k])
        else:
            groups[-1].append(k)
    return groups


def _bar(
    column: Column, group: list[int], share: float | None, noise: tuple[float | None, float]
) -> Bar:
    absent = group[0] >= column.n_ordinary
    first, last = _labelled(column, group[0]), _labelled(column, group[-1])
    measured, half = noise
    if isinstance(column, NUMERIC) and not absent:
        low, high = column.intervals[group[0]], column.intervals[group[-1]]
        label = first if len(group) == 1 else f"{first} … {last}"
        spike = len(group) == 1 and low.spike
        start, end = _number(low.low, column), _number(high.high, column)
        return Bar(label, share, measured, half, spike=spike, start=start, end=end)
    label = first if len(group) == 1 else f"{len(group):,} other {'codes' if absent else 'states'}"
    return Bar(label, share, measured, half, absent=absent, pooled=len(group) > 1)


def _labelled(column: Column, state: int) -> str:
    """Text of a state, with what it stands for behind it, if that is said."""
    text = column.labels[state]
    empty = state >= column.n_ordinary and column.codes[state - column.n_ordinary] == ""
    return " ".join(filter(None, (text, column.value_labels.get("" if empty else text))))


def _number(value: float, column: Column) -> str:
    if isinstance(column, Calendar):
        return column.text_at(int(value))
    if isinstance(column, Continuous) and value != int(value):
        return f"{value:.4g}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e12 else f"{value:.6g}"


def ordered_as_line(column: Column) -> bool:
    """Whether the states of a column lie on a number line with enough of them for a histogram."""
    return isinstance(column, NUMERIC) and column.n_ordinary > 1
