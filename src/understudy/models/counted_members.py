"""Records whose columns that count members agree with the members in their slots.

A model of noisy tables draws a unit's number of children and the ages in its slots by their joint
tables, which do not make them agree. To count again alone would lose what was measured of counts,
which is far more exact than what slots add up to. So more records are drawn than are wanted, their
members are counted, and records are chosen among them. They are weighted so that each count by
itself is that of the model, and that every table with a count that was measured comes close to the
model's. Nothing else is asked of weights: what the model says of tables that nobody measured, such
as all counts together, is worse than what members add up to.

**How close is told by the noise.** Of a table of k cells let T be the true one, S that of the
members once single counts are right, and Y = T + E the measured one, with noise of variance v in
each cell. Let all have the same sum. The model's table M follows Y, so about M - T = E. The table
S + b(M - S) is wrong by (1 - b)²|T - S|² + b²(k - 1)v, as is expected. That is least at
b = |T - S|²/(|T - S|² + (k - 1)v). Since |Y - S|² is |T - S|² + (k - 1)v in expectation, b is
estimated by 1 - (k - 1)v/|Y - S|², cut at 0. So an exact table is kept whole. A table whose noise
explains all that members lack of it is left out. The model joins all tables and may have less noise
than one of them. Then members say more than they should; of single counts, which most tables tell,
the model's are therefore kept whole.

Every record that is chosen is a draw of the model, with its members counted. What a rule forbids
after that is never chosen. So counts agree in every unit, and all rules hold.

Sources: calibration of weights to known margins, by iterative proportional fitting (Deming and
Stephan 1940), and systematic sampling with them; James & Stein (1961) for b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.dp.released import NoisyTable
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


def with_counts(model: Model, schema: Schema, measured: Iterable[NoisyTable] = ()) -> Model:
    """The model, of which all records agree with their members; itself where none count any.

    Args:
        model: of the wide table.
        schema: in the bins of the model.
        measured: tables; those bought for answers alone, or in other bins, are left aside.
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

    def margins(self, measured: Iterable[NoisyTable]) -> tuple[Margin, ...]:
        """Measured tables, as far as they are of columns and bins of the schema.

        Args:
            measured: tables; those bought for answers alone are left aside.
        """
        read = (Margin.of(one, self.schema) for one in measured if not one.beside)
        return tuple(one for one in read if one is not None)

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


@dataclass(frozen=True, eq=False)
class Margin:
    """A measured table, which weights follow as far as its noise lets them.

    Attributes:
        columns: places of its columns.
        groups: of each column, the place on its axis of each state.
        noisy: records in each cell, one axis for each column.
        variance: of the noise in a cell.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    noisy: Floats
    variance: float

    @classmethod
    def of(cls, table: NoisyTable, schema: Schema) -> Margin | None:
        """None where the table has other columns or bins than the schema."""
        at = {name: k for k, name in enumerate(schema.names)}
        if not {*table.columns} <= {*at}:
            return None
        places = tuple(at[name] for name in table.columns)
        groups = tuple(
            np.asarray(table.groups.get(name, range(schema.sizes[k])), dtype=np.int64)
            for name, k in zip(table.columns, places, strict=True)
        )
        noisy = np.asarray(table.counts, dtype=np.float64)
        sizes = tuple(int(one.max()) + 1 for one in groups)
        states = tuple(schema.sizes[k] for k in places)
        if sizes != noisy.shape or states != tuple(map(len, groups)):
            return None
        return cls(places, groups, noisy, table.stddev**2)

    @property
    def noise(self) -> float:
        """Expected sum of squares of the noise; cells that are impossible hold 0 and have none."""
        return self.variance * (np.count_nonzero(self.noisy) - 1)

    def share(self, states: Sequence[NDArray[np.integer]], weights: Floats, total: float) -> float:
        """The part b of what records lack that they are to be given.

        Args:
            states: of the records.
            weights: of the records.
            total: records in the table.
        """
        axes = [own[states[k]] for k, own in zip(self.columns, self.groups, strict=True)]
        places = np.ravel_multi_index(axes, self.noisy.shape)
        found = np.bincount(places, weights, minlength=self.noisy.size) * total / weights.sum()
        lacking = float(((self.noisy.ravel() - found) ** 2).sum())
        return max(1 - self.noise / lacking, 0.0) if lacking else 0.0


@dataclass(frozen=True)
class _Agreeing:
    """A model whose records agree with their members; see above."""

    model: Model
    counts: Counts
    margins: tuple[Margin, ...]

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
        weights = self._weigh(drawn, counted, allowed)
        return _select(counted, rng.permutation(_systematic(weights, n_rows, rng)))

    def _weigh(self, drawn: Sample, counted: Sample, allowed: NDArray[np.bool_]) -> Floats:
        """Weights of records, shape (n,): by single counts first, then by all tables."""
        if not allowed.any():
            return np.ones(len(allowed))
        counts, margins = self.counts, self.margins

        def keys(columns: tuple[int, ...]) -> tuple[Integers, Integers]:
            return counts.keys(drawn.states, columns), counts.keys(counted.states, columns)

        alone = [_target(*keys((k,))) for k in counts.places]
        weights = _rake(alone, allowed / allowed.mean())
        several = [m for m in margins if len(m.columns) > 1 and {*m.columns} & {*counts.places}]
        if not several:
            return weights
        total = max(float(min(margins, key=lambda one: one.noise).noisy.sum()), 1.0)
        shares = dict[tuple[int, ...], float]()
        for one in several:  # each fit may have measured it anew
            own = one.share(counted.states, weights, total)
            shares[one.columns] = max(own, shares.get(one.columns, 0.0))
        tables = [_target(*keys(m), weights, share) for m, share in shares.items() if share]
        return _rake([*tables, *alone], weights) if tables else weights


_Target = tuple[Floats, Integers]
"""A table of records, and the cell of each record in it."""


def _join_parts(parts: Sequence[Sample]) -> Sample:
    states = [np.concatenate(column) for column in zip(*(p.states for p in parts), strict=True)]
    names = parts[0].values
    return Sample(states, {n: np.concatenate([p.values[n] for p in parts]) for n in names})


def _select(sample: Sample, rows: NDArray[np.int64]) -> Sample:
    values = {name: numbers[rows] for name, numbers in sample.values.items()}
    return Sample([column[rows] for column in sample.states], values)


def _target(
    wanted: Integers, own: Integers, weights: Floats | None = None, share: float = 1.0
) -> _Target:
    """The table of what is wanted, or what records with weights have and a share of the rest."""
    cells, places = np.unique(np.concatenate([wanted, own]), return_inverse=True)
    one, two = np.split(places.astype(np.int64), 2)
    table: Floats = share * np.bincount(one, minlength=len(cells)).astype(np.float64)
    if weights is not None:
        table += (1 - share) * np.bincount(two, weights, minlength=len(cells))
    return table, two


def _rake(targets: Sequence[_Target], weights: Floats) -> Floats:
    """Weights of records by which tables of them are what is wanted, shape (n,), with mean 1."""
    for _ in range(_SWEEPS):
        for wanted, own in targets:
            found = np.bincount(own, weights, minlength=len(wanted))
            factor = np.divide(wanted, found, out=np.zeros(len(wanted)), where=found > 0)
            raked = np.minimum(weights * factor[own], _MOST)
            weights = raked if raked.any() else weights  # few records may have no cell in common
        weights = np.asarray(weights * (len(weights) / weights.sum()))
    return weights


def _systematic(weights: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of n records, each as often as its weight says, up to rounding, in random order."""
    order = rng.permutation(len(weights))
    ends = np.cumsum(weights[order])
    places = (np.arange(n) + rng.random()) / n * ends[-1]
    at = np.minimum(np.searchsorted(ends, places, side="right"), len(order) - 1)
    return np.asarray(order[at])
