"""Sections of the public page on single columns: a small chart, numbers, and notes about them.

**From released values back to states, and the bars of a chart.**
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from markupsafe import Markup
from numpy.typing import NDArray

from understudy.release.decoding import places_of
from understudy.release.release import Release, once
from understudy.release.shape import Kind
from understudy.report.accuracy import Marginal, half_width_95, marginal
from understudy.report.svg import LETTER, WIDTH, Box, Chart, Colour, Panel, percent_scale
from understudy.report.text import number, percent, shorten_label
from understudy.schema import NUMERIC, Calendar, Column, Continuous, Schema
from understudy.schema.base import Code, text_of
from understudy.schema.derived import rule_text


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
    """Count the released values in each state; shape (column.size,).

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


@once
def mean_shares(release: Release, name: str) -> NDArray[np.float64] | None:
    """Share of each state of a column, mean over the synthetic sets; None without rows."""
    column, filled = release.schema.stated[name], [one for one in release.tables if one.height]
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
    measured = noisy.group(groups).shares() if noisy else None
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
    first, last = _label_state(column, group[0]), _label_state(column, group[-1])
    measured, half = noise
    if isinstance(column, NUMERIC) and not absent:
        low, high = column.intervals[group[0]], column.intervals[group[-1]]
        label = first if len(group) == 1 else f"{first} … {last}"
        spike = len(group) == 1 and low.spike
        start, end = _number(low.low, column), _number(high.high, column)
        return Bar(label, share, measured, half, spike=spike, start=start, end=end)
    label = first if len(group) == 1 else f"{len(group):,} other {'codes' if absent else 'states'}"
    return Bar(label, share, measured, half, absent=absent, pooled=len(group) > 1)


def _label_state(column: Column, state: int) -> str:
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
    """Return whether states lie on a number line, with enough of them for a histogram."""
    return isinstance(column, NUMERIC) and column.n_ordinary > 1


_RIGHT = 50.0  # room for the shares in words
_ROW = 19.0  # height of one row
_PLOT = 132.0  # height of the upright bars
_LEFT = 34.0  # room for the scale of the upright bars


def chart(bars: Sequence[Bar], *, label: str, line: bool) -> Markup:
    """Draw the bars of one column.

    Args:
        bars: states in order.
        label: what the chart shows, for those who cannot see it.
        line: whether the ordinary states lie on a number line (upright bars); else rows.
    """
    upright = [bar for bar in bars if line and not bar.absent]
    rows = [bar for bar in bars if not line or bar.absent]
    gap = 0.6 * (any(bar.absent for bar in rows) and not all(bar.absent for bar in rows))
    top = _PLOT + 36.0 if upright else 0.0
    depth = (len(rows) + gap) * _ROW + 6.0 if rows else 0.0
    drawn = Chart(top + depth)
    highest = _highest(bars)
    if upright:
        place = (_LEFT, 8.0, WIDTH - 10.0, 8.0 + _PLOT)
        _draw_line(drawn.panel(place, (0, len(upright)), (0, highest)), upright, highest)
    if rows:
        gutter = max(_LEFT, 14 + LETTER * max(len(shorten_label(bar.label)) for bar in rows))
        place = (gutter, top + 3.0, WIDTH - _RIGHT, top + depth - 3.0)
        _draw_rows(drawn.panel(place, (0, highest), (len(rows) + gap, 0)), rows, gap, highest)
    return drawn.svg(label)


def spark(bars: Sequence[Bar]) -> Markup:
    """The shares of one column as a tiny chart without texts, for an overview of many columns."""
    highest = max((bar.share or 0 for bar in bars if not bar.pooled), default=0) or 1
    outlines: dict[Colour, list[str]] = {}
    for k, bar in enumerate(bars):
        colour = Colour.ABSENT if bar.absent else Colour.SPIKE if bar.spike else Colour.BAR
        top = 24 - 22 * min((bar.share or 0) / highest, 1)
        outlines.setdefault(colour, []).append(f"M{k} 24V{top:.0f}h.8V24")
    paths = Markup("").join(
        Markup('<path d="{}" style="{}"/>').format("".join(pieces), colour.filled)
        for colour, pieces in outlines.items()
    )
    frame = '<svg viewBox="0 0 {} 25" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    return Markup(frame).format(max(len(bars), 1), paths)  # noqa: S704 - our own drawing


def _highest(bars: Sequence[Bar]) -> float:
    """Upper end of the scale: the largest bar or band, a little more, never nothing."""
    tops = [
        max(bar.share or 0, (bar.measured or 0) + bar.half_width) for bar in bars if not bar.pooled
    ]
    return min(max([*tops, 0.01]), 1.5) * 1.04


def _draw_rows(panel: Panel, rows: Sequence[Bar], gap: float, highest: float) -> None:
    """Lying bars; pooled states have their share in words alone, or they would dwarf the others."""
    places = [k + 0.5 + gap * bar.absent for k, bar in enumerate(rows)]
    panel.segments([(0, 0, 0, len(rows) + gap)], Colour.RULE, 1.0)
    for absent, colour in ((False, Colour.BAR), (True, Colour.ABSENT)):
        boxes = [
            (0.0, y - 0.32, bar.share, y + 0.32)
            for bar, y in zip(rows, places, strict=True)
            if bar.share and bar.absent == absent and not bar.pooled
        ]
        panel.fill(boxes, colour)
    along, across = _bands(rows, places, 0.42, highest)
    panel.segments(along, Colour.INK, 1.4)
    panel.segments(across, Colour.INK, 1.4)
    for bar, y in zip(rows, places, strict=True):
        colour = Colour.MUTED if bar.absent or bar.pooled else Colour.INK
        panel.beside(-7, y, shorten_label(bar.label), colour)
        shown = bar.share if bar.share is not None else bar.measured
        panel.beside(panel.width + _RIGHT, y, percent(shown), Colour.MUTED)


def _draw_line(panel: Panel, bars: Sequence[Bar], highest: float) -> None:
    percent_scale(panel, len(bars), highest)
    places = [k + 0.5 for k in range(len(bars))]
    for spike, colour in ((False, Colour.BAR), (True, Colour.SPIKE)):
        half = 0.28 if spike else 0.46
        boxes = [
            (x - half, 0.0, x + half, bar.share)
            for bar, x in zip(bars, places, strict=True)
            if bar.share and bar.spike == spike
        ]
        panel.fill(boxes, colour)
    for segments in _bands(bars, places, 0.36, highest):
        panel.segments([(b, a, d, c) for a, b, c, d in segments], Colour.INK, 1.4)
    _draw_edges(panel, bars)


def _draw_edges(panel: Panel, bars: Sequence[Bar]) -> None:
    """Texts under the number line: values in the middle of a bar, or edges between bars."""
    if all(bar.start == bar.end for bar in bars):
        marks = [(k + 0.5, bar.start) for k, bar in enumerate(bars)]
    else:
        marks = [(float(k), bar.start) for k, bar in enumerate(bars) if not bar.spike]
        marks.append((float(len(bars)), bars[-1].end))
    longest = max(len(text) for _, text in marks)
    room = max(2, min(9, int(panel.width / (LETTER * longest + 16))))
    step = max(1, -(-(len(marks) - 1) // (room - 1)))
    for x, text in marks[::step]:
        panel.below(x, 14, text, Colour.MUTED, last=longest > 5 and x == len(bars))
    for k, bar in enumerate(bars):
        if bar.spike:
            panel.below(k + 0.5, 27, "▲", Colour.SPIKE)


def _bands(
    bars: Sequence[Bar], places: Sequence[float], half: float, highest: float
) -> tuple[list[Box], list[Box]]:
    """Segments for rows: the band along each bar, the noisy measurement across it.

    Negative noisy shares have no place on the scale: their band begins at zero, without a stroke.
    """
    along: list[Box] = []
    across: list[Box] = []
    for bar, place in zip(bars, places, strict=True):
        if bar.measured is None or bar.pooled:
            continue
        low = min(max(bar.measured - bar.half_width, 0), highest)
        high = min(max(bar.measured + bar.half_width, 0), highest)
        along.append((low, place, high, place))
        if 0 <= bar.measured <= highest:
            across.append((bar.measured, place - half, bar.measured, place + half))
    return along, across


@dataclass(frozen=True)
class Detail:
    """The amount of detail in the section on columns.

    Attributes:
        states: most bars in a chart.
        numbers: whether each chart has its numbers in a folded table.
    """

    states: int
    numbers: bool


_LONGEST_RULE = 300  # characters
_SPARKS = 16  # most bars of a tiny chart

DETAILS = (Detail(30, True), Detail(30, False), Detail(16, False), Detail(8, False))


@dataclass(frozen=True)
class Card:
    """One column on the page.

    Attributes:
        number: position of the column, from 1.
        name: its name.
        column: what the schema declares.
        chart: the chart, as SVG.
        notes: remarks about the chart.
        bars: the numbers in the chart.
    """

    number: int
    name: str
    column: Column
    chart: Markup
    notes: tuple[str, ...]
    bars: tuple[Bar, ...]


def fitting_details(schema: Schema, room: int) -> tuple[Detail, ...]:
    """The finest detail that should fit into so many bytes, and the coarser ones after it."""
    for k, detail in enumerate(DETAILS):
        sizes = [column.size for column in schema.stated.values()]
        shown = [min(size, detail.states) for size in sizes]
        # A guess at the size of a card; should it be too low, the page tries the next detail.
        if sum(1200 + n * (210 + 160 * detail.numbers) for n in shown) < room:
            return DETAILS[k:]
    return DETAILS[-1:]


def card(release: Release, position: int, name: str, detail: Detail) -> Card:
    """Work out and draw one column."""
    column = release.schema.stated[name]
    noisy = marginal(name, release.measurements, release.schema)
    shares = mean_shares(release, name)
    drawn = bars(column, shares, noisy, at_most=detail.states)
    return Card(
        number=position,
        name=name,
        column=column,
        chart=chart(drawn, label=_describe_chart(name, drawn), line=ordered_as_line(column)),
        notes=tuple(_notes(release, name, noisy, drawn)),
        bars=drawn,
    )


def overview(release: Release) -> Iterator[tuple[int, str, Markup]]:
    """Number, name and tiny chart of each column."""
    for position, (name, column) in enumerate(release.schema.stated.items(), start=1):
        noisy = marginal(name, release.measurements, release.schema)
        shares = mean_shares(release, name)
        yield position, name, spark(bars(column, shares, noisy, at_most=_SPARKS))


def _describe_chart(name: str, drawn: Sequence[Bar]) -> str:
    """The chart in words: how many states, and the largest."""
    largest = sorted(drawn, key=lambda bar: -(bar.share if bar.share is not None else 0))[:3]
    tops = ", ".join(f"{bar.label} {percent(bar.share)}" for bar in largest)
    return f"Bar chart of the shares of {len(drawn)} states of {name}. Largest: {tops}."


def _notes(release: Release, name: str, noisy: Marginal | None, drawn: Sequence[Bar]) -> list[str]:
    column = release.schema.stated[name]
    notes = [_band_note(release, name, noisy, drawn)]
    spikes = [bar.label for bar in drawn if bar.spike]
    if spikes:
        notes.append(f"▲ single value kept apart from its bin: {', '.join(spikes)}.")
    if len(drawn) < column.size:
        how = "Neighbouring bins" if ordered_as_line(column) else "The rarest states"
        notes.append(f"{how} are pooled; the column has {column.size:,} states.")
    notes.append(_branch_note(release, name))
    if not any(table.height for table in release.tables):
        notes.append("The synthetic sets have no rows, so there are no bars.")
    return [note for note in notes if note]


def _branch_note(release: Release, name: str) -> str:
    """Describe how finely levels with public branches were crossed with other columns."""
    column = release.schema.stated[name]
    behind = (one for one in release.measurements if not one.beside)
    crossed = (one.groups[name] for one in behind if name in one.groups)
    groups = next(crossed, None)
    if groups is None or getattr(column, "hierarchy", None) is None:
        return ""
    sizes = np.bincount(groups)
    alone, together = int((sizes == 1).sum()), int((sizes > 1).sum())
    return (
        f"Measured with other columns as {alone:,} levels by themselves and {together:,} groups of "
        "rarer ones, of one branch where that has enough records."
    )


def _band_note(release: Release, name: str, noisy: Marginal | None, drawn: Sequence[Bar]) -> str:
    if noisy is None:
        return _no_band(release, name)
    if all(bar.measured is None for bar in drawn):
        return "No band: the noisy total does not rise above its own noise."
    if not noisy.variance.any():
        return "Measured without noise."
    tables = [table for table in release.measurements if table.kind is Kind.TABLE]
    alone = [table for table in tables if table.columns == (name,)]
    if noisy.n_tables == 1 and alone:
        return f"Noise in one count: ± {number(half_width_95(alone[0]))} records (95 %)."
    if noisy.n_tables == 1:
        return "Measurement: one table that holds this column, summed."
    return (
        f"Measurement: {noisy.n_tables} tables that hold this column, summed and weighted by "
        "precision."
    )


def _no_band(release: Release, name: str) -> str:
    if name in release.schema.derived:
        rule = rule_text(release.schema.derived[name])
        return f"Not measured: in every row computed by the rule {rule[:_LONGEST_RULE]}."
    kinds = {table.kind for table in release.measurements if name in table.columns}
    if "cells" in kinds:
        return "No band: only cells above a public threshold were released."
    if "totals" in kinds:
        return "No band: only totals of the noisy table were released."
    for kind, words in _WITHOUT_BAND.items():
        if kind in kinds:
            return f"No band: {words}."
    return "No band: this column has no released measurement."


_WITHOUT_BAND = {
    "kept": "this column is published as it stands",
    "exact": "exact statistics were used, which are not published",
    "draws": "the records themselves were drawn from rows and a prior",
    "sweeps": "the records themselves were drawn column by column",
    "posterior": "records were drawn from a posterior of the exact rows",
    "parameters": "records were drawn from a generator whose parameters were chosen",
    "distribution": "its distribution was chosen whole, by the exponential mechanism",
    "successes": "one noisy number of its second level was released, not a count of each",
    "sums": "noisy sums and a scatter were released, not counts of its bins",
    "nodes": "only some branches of the hierarchy count its states",
    "leaf-sums": "the noisy cells of the full table were not written out",
}
