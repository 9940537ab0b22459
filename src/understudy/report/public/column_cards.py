"""What the public page shows of one column: a chart, its numbers, and notes about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from understudy.release import Release
from understudy.release.measurement_content import Kind
from understudy.report.number_text import number, percent
from understudy.report.public.column_charts import chart, spark
from understudy.report.public.count_accuracy import Marginal, half_width_95, marginal
from understudy.report.public.state_shares import Bar, bars, mean_shares, ordered_as_line
from understudy.schema import Column, Schema


@dataclass(frozen=True)
class Detail:
    """How much the section on columns shows.

    Attributes:
        states: most bars in a chart.
        numbers: whether each chart has its numbers in a folded table.
    """

    states: int
    numbers: bool


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
        shown = [min(size, detail.states) for size in schema.sizes]
        # A guess at the size of a card; should it be too low, the page tries the next detail.
        if sum(1200 + n * (210 + 160 * detail.numbers) for n in shown) < room:
            return DETAILS[k:]
    return DETAILS[-1:]


def card(release: Release, position: int, name: str, detail: Detail) -> Card:
    """Work out and draw one column."""
    column = release.schema.columns[name]
    noisy = marginal(name, release.measurements, release.schema)
    shares = mean_shares(release.tables, name, column)
    found = bars(column, shares, noisy, at_most=detail.states)
    return Card(
        number=position,
        name=name,
        column=column,
        chart=chart(found, label=_spoken(name, found), line=ordered_as_line(column)),
        notes=tuple(_notes(release, name, noisy, found)),
        bars=found,
    )


def overview(release: Release) -> Iterator[tuple[int, str, Markup]]:
    """Number, name and tiny chart of each column."""
    for position, (name, column) in enumerate(release.schema.columns.items(), start=1):
        noisy = marginal(name, release.measurements, release.schema)
        shares = mean_shares(release.tables, name, column)
        yield position, name, spark(bars(column, shares, noisy, at_most=_SPARKS))


def _spoken(name: str, found: Sequence[Bar]) -> str:
    """The chart in words: how many states, and the largest."""
    largest = sorted(found, key=lambda bar: -(bar.share if bar.share is not None else 0))[:3]
    tops = ", ".join(f"{bar.label} {percent(bar.share)}" for bar in largest)
    return f"Bar chart of the shares of {len(found)} states of {name}. Largest: {tops}."


def _notes(release: Release, name: str, noisy: Marginal | None, found: Sequence[Bar]) -> list[str]:
    column = release.schema.columns[name]
    notes = [_band_note(release, name, noisy, found)]
    spikes = [bar.label for bar in found if bar.spike]
    if spikes:
        notes.append(f"▲ single value kept apart from its bin: {', '.join(spikes)}.")
    if len(found) < column.size:
        how = "Neighbouring bins" if ordered_as_line(column) else "The rarest states"
        notes.append(f"{how} are pooled; the column has {column.size:,} states.")
    if not any(table.height for table in release.tables):
        notes.append("The synthetic sets have no rows, so there are no bars.")
    return [note for note in notes if note]


def _band_note(release: Release, name: str, noisy: Marginal | None, found: Sequence[Bar]) -> str:
    if noisy is None:
        return _no_band(release, name)
    if all(bar.measured is None for bar in found):
        return "No band: the noisy total does not rise above its own noise."
    if not noisy.variance.any():
        return "Measured without noise."
    tables = [one for one in release.measurements if one.kind is Kind.TABLE]
    alone = [one for one in tables if one.columns == (name,)]
    if noisy.n_tables == 1 and alone:
        return f"Noise in one count: ± {number(half_width_95(alone[0]))} records (95 %)."
    if noisy.n_tables == 1:
        return "Measurement: one table that holds this column, summed."
    return (
        f"Measurement: {noisy.n_tables} tables that hold this column, summed and weighted by "
        "precision."
    )


def _no_band(release: Release, name: str) -> str:
    kinds = {one.kind for one in release.measurements if name in one.columns}
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
