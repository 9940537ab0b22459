"""Records whose columns that count members agree with the members in their slots.

A model of noisy tables draws a unit's number of children and the ages in its slots by their joint
tables, which do not make them agree. To count again alone would lose what was measured of counts,
which is far more exact than what slots add up to. So more records are drawn than are wanted, their
members are counted, and records are chosen among them. They are weighted so that every table with
a count that was measured is that of the model, and each count by itself. Nothing else is asked of
weights: what the model says of tables that nobody measured, such as all counts together, is worse
than what members add up to.

Every record that is chosen is a draw of the model, with its members counted. What a rule forbids
after that is never chosen. So counts agree in every unit, and all rules hold.

Source: calibration of weights to known margins, by iterative proportional fitting (Deming and
Stephan 1940), and systematic sampling with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.errors import SchemaError
from understudy.models.model import (
    Model,
    PosteriorPredictive,
    Sample,
    drawn_in_parts,
    impossible,
)
from understudy.schema import NUMERIC, Schema
from understudy.schema.households import slot_column

_TIMES: Final = 4
"""Records that are drawn for each that is wanted."""
_AT_ONCE: Final = 2**18
"""Records that are wanted at once, at most, of a model that draws in parts."""
_SWEEPS: Final = 20
"""Of weights over all margins."""
_MOST: Final = 20.0
"""Weight of a record, at most, in parts of the mean."""


def with_counts(model: Model, schema: Schema, measured: Iterable[Sequence[str]] = ()) -> Model:
    """The model, of which all records agree with their members; itself where none count any.

    Args:
        model: of the wide table.
        schema: in the bins of the model.
        measured: columns of each table that was measured.
    """
    counts = Counts.of(schema)
    if counts is None:
        return model
    margins = counts.margins(measured)
    if isinstance(model, PosteriorPredictive):
        refit = model.refit
        return PosteriorPredictive(lambda rng: _Agreeing(refit(rng), counts, margins))
    return _Agreeing(model, counts, margins)


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of members in columns, read from states of the wide table.

    Attributes:
        schema: of the wide table.
        places: of each column that counts.
        states: of each of these: number of members → its state, shape (slots + 1,).
        kinds: of each of these: slot by slot, place of a column → who counts, shape (size + 1,).
    """

    schema: Schema
    places: tuple[int, ...]
    states: tuple[Integers, ...]
    kinds: tuple[tuple[dict[int, NDArray[np.bool_]], ...], ...]

    @classmethod
    def of(cls, schema: Schema) -> Counts | None:
        """None where no column counts members, or where bins do not tell who counts."""
        form, at = schema.members, {name: k for k, name in enumerate(schema.names)}
        if form is None or not form.counts:
            return None
        kinds, states = list[tuple[dict[int, NDArray[np.bool_]], ...]](), list[Integers]()
        try:
            for one in form.counts:
                states.append(_states_of_numbers(schema, one.column, form.rows_per_unit))
                slots = []
                for j in range(1, form.rows_per_unit + 1):
                    own = {name: schema.columns[slot_column(name, j)] for name in one.where}
                    slots.append(
                        {
                            at[slot_column(name, j)]: _mask(chosen, own[name].size)
                            for name, chosen in one.states(own).items()
                        }
                    )
                kinds.append(tuple(slots))
        except SchemaError:  # a bin is cut: records are counted when they have their numbers
            return None
        counted = tuple(at[one.column] for one in form.counts)
        return cls(schema, counted, tuple(states), tuple(kinds))

    def count_members(self, states: Sequence[NDArray[np.integer]]) -> list[Integers]:
        """The state that each column has by the members in the slots, each of shape (n,)."""
        found = []
        for state_of, slots in zip(self.states, self.kinds, strict=True):
            number = np.zeros(len(states[0]), dtype=np.int64)
            for slot in slots:
                number += np.logical_and.reduce([own[states[k]] for k, own in slot.items()])
            found.append(state_of[number])
        return found

    def agree(self, states: Sequence[NDArray[np.integer]]) -> NDArray[np.bool_]:
        """Return which records agree with their members, shape (n,)."""
        pairs = zip(self.places, self.count_members(states), strict=True)
        return np.asarray(np.logical_and.reduce([states[k] == own for k, own in pairs]))

    def count(self, sample: Sample) -> Sample:
        """The records with their members counted."""
        states = list(sample.states)
        for k, own in zip(self.places, self.count_members(states), strict=True):
            states[k] = own
        return Sample(states, sample.values)

    def margins(self, measured: Iterable[Sequence[str]]) -> tuple[tuple[int, ...], ...]:
        """Places of the columns of each table that weights keep; each count by itself comes last.

        Args:
            measured: columns of each table that was measured.
        """
        at = {name: k for k, name in enumerate(self.schema.names)}
        tables = [tuple(at[name] for name in one) for one in measured if {*one} <= {*at}]
        several = [one for one in tables if len(one) > 1 and {*one} & {*self.places}]
        return (*dict.fromkeys(several), *((k,) for k in self.places))

    def keys(self, states: Sequence[NDArray[np.integer]], columns: Sequence[int]) -> Integers:
        """A number of the cell of each record in a table of some columns, shape (n,)."""
        key = np.zeros(len(states[0]), dtype=np.int64)
        for k in columns:
            key = key * self.schema.sizes[k] + states[k]
        return key


def _states_of_numbers(schema: Schema, name: str, most: int) -> Integers:
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    numbers, states = np.arange(most + 1), np.zeros(most + 1, dtype=np.int64)
    for k, interval in enumerate(column.intervals):
        states[(numbers >= interval.low) & (numbers <= interval.high)] = k
    return states


def _mask(states: frozenset[int], size: int) -> NDArray[np.bool_]:
    found = np.zeros(size + 1, dtype=np.bool_)
    found[[*states]] = True
    return found


@dataclass(frozen=True)
class _Agreeing:
    """A model whose records agree with their members; see above."""

    model: Model
    counts: Counts
    margins: tuple[tuple[int, ...], ...]

    @property
    def in_parts(self) -> bool:
        """As the model itself."""
        return drawn_in_parts(self.model)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records."""
        if n_rows <= _AT_ONCE or not self.in_parts:
            return self._sample(n_rows, rng)
        sizes = [_AT_ONCE] * (n_rows // _AT_ONCE) + [n_rows % _AT_ONCE] * (n_rows % _AT_ONCE > 0)
        return _join_parts([self._sample(n, rng) for n in sizes])

    def _sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        if not n_rows:
            return self.model.sample(0, rng)
        counts = self.counts
        drawn = _join_parts([self.model.sample(n_rows, rng) for _ in range(_TIMES)])
        counted = counts.count(drawn)
        allowed = np.ones(len(drawn.states[0]), dtype=np.bool_)
        allowed[impossible(counts.schema.domain, counted.states)] = False
        weights = _rake(
            [(counts.keys(drawn.states, m), counts.keys(counted.states, m)) for m in self.margins],
            allowed,
        )
        return _select(counted, rng.permutation(_systematic(weights, n_rows, rng)))


def _join_parts(parts: Sequence[Sample]) -> Sample:
    states = [np.concatenate(column) for column in zip(*(p.states for p in parts), strict=True)]
    names = parts[0].values
    return Sample(states, {n: np.concatenate([p.values[n] for p in parts]) for n in names})


def _select(sample: Sample, rows: NDArray[np.int64]) -> Sample:
    values = {name: numbers[rows] for name, numbers in sample.values.items()}
    return Sample([column[rows] for column in sample.states], values)


def _rake(margins: Sequence[tuple[Integers, Integers]], allowed: NDArray[np.bool_]) -> Floats:
    """Weights of records by which tables of them are what is wanted.

    Args:
        margins: of each table the cell of each record in what is wanted, and in what there is.
        allowed: which records may have weight.

    Returns:
        Shape (n,), with mean 1.
    """
    if not allowed.any():
        return np.ones(len(allowed))
    weights = allowed / allowed.mean()
    tables = []
    for wanted, own in margins:
        cells, places = np.unique(np.concatenate([wanted, own]), return_inverse=True)
        size, n = len(cells), len(wanted)
        tables.append((np.bincount(places[:n], minlength=size).astype(float), places[n:], size))
    for _ in range(_SWEEPS):
        for wanted_table, own, size in tables:
            found = np.bincount(own, weights, minlength=size)
            factor = np.divide(wanted_table, found, out=np.zeros(size), where=found > 0)
            weights = np.minimum(weights * factor[own], _MOST)
        weights *= len(weights) / weights.sum()
    return np.asarray(weights)


def _systematic(weights: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of n records, each as often as its weight says, up to rounding, in random order."""
    order = rng.permutation(len(weights))
    ends = np.cumsum(weights[order])
    places = (np.arange(n) + rng.random()) / n * ends[-1]
    at = np.minimum(np.searchsorted(ends, places, side="right"), len(order) - 1)
    return np.asarray(order[at])
