"""What a release is made of: bought, measured and drawn through a gate, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from understudy.families.method import Prepared
from understudy.models import Model
from understudy.pipeline.describe import measurements_of
from understudy.pipeline.drawn_parts import Decoder
from understudy.pipeline.interruption import Progress
from understudy.pipeline.number_places import places_of
from understudy.pipeline.request import Request
from understudy.pipeline.set_drawing import Drawing, drawn_tables, fitted_models, prepared_by
from understudy.pipeline.settled_request import settled
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.noisy_table import RowCount
from understudy.privacy.released import Released
from understudy.release import Measurement
from understudy.release.one_way_check import Contradiction, contradictions, own_noise
from understudy.schema import Schema


def measured(
    request: Request,
    gate: Gate,
    drawing: Drawing,
    tell: Progress,
) -> tuple[
    Released[int],
    Schema,
    tuple[Measurement, ...],
    Sequence[pl.DataFrame],
    tuple[Contradiction, ...],
]:
    """Measure through a gate, and draw.

    Args:
        request: what was asked for.
        gate: that has spent nothing yet.
        drawing: randomness of sampling after the last paid step, and of the order of records; and
            what writes parts of long sets in other processes, if any do.
        tell: who waits.

    Returns:
        The number of rows, the schema of the release, what was measured, the synthetic tables, and
        the columns in which these contradict it.
    """
    n_rows, request = bought_once(request, gate)
    prepared = prepared_by(request, gate)
    models = _fitted(request, prepared, gate, n_rows, tell)
    measurements = measurements_of(gate, prepared.schema)
    rows = float(n_rows.value), n_rows.noise.stddev
    places = places_of(measurements, prepared.schema, rows, request.method)
    decoder = Decoder(places, prepared.schema)
    tables, one_ways = drawn_tables(models, n_rows.value, decoder, drawing, tell)
    found = contradictions(
        one_ways,
        measurements,
        prepared.schema,
        n_rows=rows[0],
        rows_stddev=rows[1],
        own_noise=own_noise(request.method.sets, request.sets),
    )
    return n_rows, prepared.schema, measurements, tables, found


def bought_once(request: Request, gate: Gate) -> tuple[Released[int], Request]:
    """The number of rows; and number lines and second moments, if answers are to have them.

    Args:
        request: what was asked for.
        gate: that has spent nothing yet.

    Returns:
        The number, and what is asked for of so many rows.
    """
    n_rows = gate.ask(RowCount(), spend=request.rows_spend)
    request = settled(request, n_rows.value)
    if request.lines is not None:
        gate.ask(request.lines, spend=request.lines_spend)
    if request.heaps is not None:
        gate.ask(request.heaps, spend=request.heaps_spend)
    for asked, spend in request.answers:
        gate.ask(asked, spend=spend)
    return n_rows, request


def _fitted(
    request: Request, prepared: Prepared, gate: Gate, n_rows: Released[int], tell: Progress
) -> list[Model]:
    """What each set is drawn from, while it is told how much of the budget is spent."""
    _tell_spending(gate, tell)
    gate.listen(lambda _entry: _tell_spending(gate, tell))
    models = fitted_models(request, prepared, gate, n_rows.value)
    _tell_spending(gate, tell, done=True)
    return models


def _tell_spending(gate: Gate, tell: Progress, *, done: bool = False) -> None:
    """How much of the budget is spent; a method that is done may leave some of it."""
    percent = int(100 * gate.share_spent)
    stage = f"Measuring with noise, {percent} % of {gate.budget.unit} spent"
    tell(stage, 100 if done else percent, 100)
