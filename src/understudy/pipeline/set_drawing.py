"""The records of every set of a release: free sets from one fit, split sets from a fit each.

What a release does, and what a bootstrap replicate of it does again, is this one function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from understudy.families.method import Prepared
from understudy.models import Model, Sample
from understudy.pipeline.interruption import Progress
from understudy.pipeline.number_places import Places, placed
from understudy.pipeline.request import Request
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyTable, Released
from understudy.release.decoding import decode
from understudy.schema import Schema


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
    per_fit = request.sets // request.fits
    drawn: list[Sample] = []
    for _ in range(request.fits):
        model = _fitted(request, prepared, gate, n_rows, sets=per_fit)
        drawn += [model.sample(n_rows, rng) for _ in range(per_fit)]
    return drawn


def _fitted(request: Request, prepared: Prepared, gate: Gate, n_rows: int, *, sets: int) -> Model:
    """A fit; for several posterior sets, what draws parameters for each of them."""
    method, before = request.method, len(gate.measured)
    model = prepared.fit(request.fit_spend, n_rows * sets)
    if sets == 1 or method.sets != "posterior":
        return model
    return method.redrawn(prepared.schema, _tables(gate.measured[before:]), n_rows, model)


def _tables(measured: Sequence[Released[object]]) -> list[tuple[NoisyTable, Noise]]:
    return [
        (outcome.value, outcome.noise)
        for outcome in measured
        if isinstance(outcome.value, NoisyTable)
    ]


def decoded_sets(
    samples: Sequence[Sample],
    places: Mapping[str, Places],
    schema: Schema,
    chance: tuple[np.random.Generator, Randomness],
    tell: Progress,
) -> tuple[pl.DataFrame, ...]:
    """The values of each set, in another order than the one in which its records were drawn.

    Args:
        samples: records of each set as states.
        places: how numbers lie within their bins, by column.
        schema: of the release.
        chance: of numbers within bins, and of the order.
        tell: is told how many sets are drawn.
    """
    rng, secret = chance
    tables = []
    for k, drawn in enumerate(samples, start=1):
        values = decode(drawn.states, schema, rng, placed(places, schema, drawn, rng))
        order = pl.Series(secret.permutation(values.height))
        # Column by column, so that there is no second copy of the whole set.
        names = values.columns
        tables.append(pl.DataFrame([values.drop_in_place(name).gather(order) for name in names]))
        tell("Drawing synthetic sets", k, len(samples))
    return tuple(tables)
