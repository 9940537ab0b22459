"""The records of every set of a release: free sets from one fit, split sets from a fit each.

What a release does, and what a bootstrap replicate of it does again, is this one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.families.method import Prepared
from understudy.models import Model, Sample
from understudy.models.model import drawn_in_parts, settled
from understudy.pipeline.interruption import Progress
from understudy.pipeline.number_places import Places, placed
from understudy.pipeline.request import Request
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import Noise, NoisyTable, Released
from understudy.release.decoding import decode
from understudy.release.synthetic_sets import PART_ROWS, PartedSets, part_sizes
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
    return method.redrawn(prepared.schema, _tables(gate.measured[before:]), n_rows, model)


def _tables(measured: Sequence[Released[object]]) -> list[tuple[NoisyTable, Noise]]:
    return [
        (outcome.value, outcome.noise)
        for outcome in measured
        if isinstance(outcome.value, NoisyTable)
    ]


def drawn_tables(
    models: Sequence[Model],
    n_rows: int,
    places: Mapping[str, Places],
    schema: Schema,
    chance: tuple[np.random.Generator, Randomness],
    *,
    tell: Progress,
) -> Sequence[pl.DataFrame]:
    """The sets, each in another order than the one in which its records were drawn.

    Sets of more than `PART_ROWS` records are drawn part by part, and when they are asked for.

    Args:
        models: what each set is drawn from.
        n_rows: records of each set.
        places: how numbers lie within their bins, by column.
        schema: of the release.
        chance: of records and of numbers within bins, and of the order.
        tell: is told how many sets are drawn.
    """
    if n_rows > PART_ROWS:
        return _parted(models, n_rows, partial(_values, places, schema), chance)
    rng, secret = chance
    tables, samples = [], [model.sample(n_rows, rng) for model in models]
    for k, drawn in enumerate(samples, start=1):
        values = _values(places, schema, drawn, rng)
        tables.append(_in_order(values, secret.permutation(values.height)))
        tell("Drawing synthetic sets", k, len(samples))
    return tuple(tables)


def _parted(
    models: Sequence[Model],
    n_rows: int,
    valued: Callable[[Sample, np.random.Generator], pl.DataFrame],
    chance: tuple[np.random.Generator, Randomness],
) -> PartedSets:
    """Sets in parts; records of a model that cannot be drawn in parts are drawn now, as states."""
    rng, secret = chance
    own = [settled(model, rng) for model in models]
    whole = {
        k: _reordered(model.sample(n_rows, rng), secret.permutation(n_rows))
        for k, model in enumerate(own)
        if not drawn_in_parts(model)
    }
    drawing, mixing = rng.integers(2**63, size=2).tolist(), secret.words(4).tolist()
    sizes = part_sizes(n_rows)

    def part(k: int, i: int) -> pl.DataFrame:
        its = np.random.default_rng([*drawing, k, i])
        start = i * PART_ROWS
        drawn = (
            _reordered(whole[k], slice(start, start + sizes[i]))
            if k in whole
            else own[k].sample(sizes[i], its)
        )
        order = np.random.default_rng([*mixing, k, i]).permutation(sizes[i])
        return _in_order(valued(drawn, its), order)

    return PartedSets(len(own), n_rows, part)


def _values(
    places: Mapping[str, Places], schema: Schema, drawn: Sample, rng: np.random.Generator
) -> pl.DataFrame:
    return decode(drawn.states, schema, rng, placed(places, schema, drawn, rng))


def _reordered(drawn: Sample, rows: NDArray[np.int64] | slice) -> Sample:
    """Some records, in an order."""
    values = {name: numbers[rows] for name, numbers in drawn.values.items()}
    return Sample([column[rows] for column in drawn.states], values)


def _in_order(values: pl.DataFrame, order: NDArray[np.int64]) -> pl.DataFrame:
    """The records in an order; column by column, so that there is no second copy of all."""
    places = pl.Series(order.astype(np.uint32))  # as Polars takes them without a copy
    return pl.DataFrame([values.drop_in_place(name).gather(places) for name in values.columns])
