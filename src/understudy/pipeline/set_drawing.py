"""The records of every set of a release: free sets from one fit, split sets from a fit each.

What a release does, and what a bootstrap replicate of it does again, is this one function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from understudy.families.method import Prepared
from understudy.families.moment_tables import measured_beside
from understudy.models import Model, Sample
from understudy.pipeline.drawn_parts import Decoder, DrawnParts
from understudy.pipeline.interruption import Progress
from understudy.pipeline.request import Request
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyTable, Released
from understudy.release.one_way_check import DrawnOneWays
from understudy.release.synthetic_sets import PART_ROWS, Elsewhere, PartedSets

Drawing = tuple[np.random.Generator, Randomness, Elsewhere | None]
"""Chance of records and of their numbers; of their order; and what writes parts in other processes,
if any do."""


def prepared_by(request: Request, gate: Gate) -> Prepared:
    """The method, with what is bought once for all fits; with nothing, where each fit buys its own.

    Args:
        request: what was asked for.
        gate: that knows the number of rows by now.
    """
    if request.method.anew:
        return Prepared(partial(request.method.fit, gate), gate.schema)
    return request.method.setup(gate, request.setup_spend, fits=request.fits)


def draw_sets(
    request: Request, prepared: Prepared, gate: Gate, n_rows: int, rng: np.random.Generator
) -> list[Sample]:
    """Fit, and draw.

    Args:
        request: what was asked for.
        prepared: its method, with what is bought once.
        gate: through which it measures.
        n_rows: records of each set.
        rng: randomness of sampling that follows the last paid step.
    """
    models = fitted_models(request, prepared, gate, n_rows)
    return [model.sample(n_rows, rng) for model in models]


def fitted_models(request: Request, prepared: Prepared, gate: Gate, n_rows: int) -> list[Model]:
    """What each set is drawn from; with the last of them everything is paid.

    Args:
        request: what was asked for.
        prepared: its method, with what is bought once.
        gate: through which it measures.
        n_rows: records of each set.
    """
    per_fit = request.sets // request.fits
    models: list[Model] = []
    for _ in range(request.fits):
        models += [_fitted(request, prepared, gate, n_rows, sets=per_fit)] * per_fit
    return models


def _fitted(request: Request, prepared: Prepared, gate: Gate, n_rows: int, *, sets: int) -> Model:
    """A fit; for several posterior sets, what draws parameters for each of them."""
    method, before = request.method, len(gate.measured)
    model = prepared.fit(request.fit_spend, n_rows * sets)
    if sets == 1 or method.sets != "posterior":
        return model
    beside = measured_beside(gate.measured)
    return method.redrawn(prepared.schema, _tables(gate.measured[before:]), n_rows, model, beside)


def _tables(measured: Sequence[Released[object]]) -> list[tuple[NoisyTable, Noise]]:
    return [
        (outcome.value, outcome.noise)
        for outcome in measured
        if isinstance(outcome.value, NoisyTable)
    ]


def drawn_tables(
    models: Sequence[Model],
    n_rows: int,
    decoder: Decoder,
    drawing: Drawing,
    tell: Progress,
) -> tuple[Sequence[pl.DataFrame], tuple[DrawnOneWays, ...]]:
    """The sets, each in another order than the one in which its records were drawn.

    With them how often each state stands in each: in some records, of sets that are drawn later.

    Sets of more than `PART_ROWS` records are drawn part by part, and when they are asked for.

    Args:
        models: what each set is drawn from.
        n_rows: records of each set.
        decoder: gives them values.
        drawing: chance, and what writes parts.
        tell: is told how many sets are drawn.
    """
    rng, secret, elsewhere = drawing
    if n_rows > PART_ROWS:
        parts = DrawnParts.of(models, n_rows, decoder, (rng, secret))
        # Records that are drawn already are not sent around.
        later = None if parts.whole else elsewhere
        return PartedSets(len(models), n_rows, parts, elsewhere=later), parts.one_ways()
    tables, samples = [], [model.sample(n_rows, rng) for model in models]
    for k, drawn in enumerate(samples, start=1):
        tables.append(decoder.values(drawn, rng, secret.permutation(n_rows)))
        tell("Drawing synthetic sets", k, len(samples))
    return tuple(tables), tuple(DrawnOneWays.of(drawn.states, decoder.schema) for drawn in samples)
