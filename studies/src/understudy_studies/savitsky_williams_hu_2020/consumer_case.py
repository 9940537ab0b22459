"""What a table brings to be compared on: a public schema, records, predictors and one income."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats
from understudy.errors import StudyError
from understudy.features.grids import Drawn
from understudy.papers.sampling_base import Records
from understudy.schema import NUMERIC, Column, Schema
from understudy_studies.savitsky_williams_hu_2020 import consumer_files, population

SIMULATED, DIARY, HORNBY = "simulated consumers", "diary sample", "packaged sample"
INCOME = "income"
"""The sensitive column of every table."""

_FOUR = ("gender", "age", "education", "region"), ("gender", "age", "region")
_KNOWN: Final = {
    SIMULATED: _FOUR,
    DIARY: _FOUR,
    HORNBY: (("age", "education", "marital"), ("age", "marital")),
}
"""By table: the columns that an intruder is supposed to know, and fewer of them."""

Columns = Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Case:
    """A table that mechanisms are compared on.

    Attributes:
        name: short name.
        schema: its public schema; predictors first, income last.
        columns: gives states of the predictors, and income in dollars.
        words: what the table is.
        known: predictors that an intruder is supposed to know, as count weights compare records:
            the reading that is reported.
        known_few: the same, fewer of them.
    """

    name: str
    schema: Schema
    columns: Callable[[], Columns]
    words: str
    known: tuple[str, ...] = ()
    known_few: tuple[str, ...] = ()

    @property
    def predictors(self) -> tuple[str, ...]:
        """Names of the public columns."""
        return tuple(name for name in self.schema.names if name != INCOME)

    @property
    def income(self) -> Column:
        """The sensitive column as the schema declares it."""
        return self.schema.columns[INCOME]

    @property
    def own_unit(self) -> float:
        """Dollars of a unit of asinh on a scale less like a logarithm: a hundredth of a bound."""
        assert isinstance(self.income, NUMERIC)
        return max(abs(bound) for bound in self.income.bounds) / 100

    @property
    def values(self) -> Floats:
        """Income of all records, shape (n,)."""
        return np.asarray(self.columns()[INCOME], dtype=np.float64)

    @property
    def spikes(self) -> Floats:
        """Income at each state that is a spike, NaN at the one bin of all others."""
        assert isinstance(self.income, NUMERIC)
        return np.array(
            [interval.low if interval.spike else np.nan for interval in self.income.intervals]
        )

    def records(self) -> Records:
        """All records, as a mechanism takes them.

        Raises:
            StudyError: the table is a file that is not at hand.
        """
        found = {name: Drawn(self.columns()[name]) for name in self.predictors}
        return {**found, INCOME: self._incomes()}

    def incomes_of(self, drawn: Drawn) -> Floats:
        """Income of records, spikes where they stand, shape (n,)."""
        assert drawn.numbers is not None
        return np.where(np.isnan(drawn.numbers), self.spikes[drawn.states], drawn.numbers)

    def _incomes(self) -> Drawn:
        assert isinstance(self.income, NUMERIC)
        values, (low, high) = self.values, self.income.bounds
        if values.min() < low or values.max() > high:
            raise StudyError(f"The table {self.name!r} has incomes outside its public bounds.")
        usual = int(np.flatnonzero(np.isnan(self.spikes))[0])
        states = np.full(len(values), usual, dtype=np.int64)
        for k in np.flatnonzero(~np.isnan(self.spikes)):
            states[values == self.spikes[k]] = k
        return Drawn(states, np.where(states == usual, values, np.nan))


@cache
def find(name: str) -> Case:
    """The case of this name: `SIMULATED`, `DIARY` or `HORNBY`."""
    if name == SIMULATED:
        schema, words = population.schema(), population.WORDS
        return Case(name, schema, population.consumers, words, *_KNOWN[name])
    folder, words = {
        DIARY: (consumer_files.DIARY, consumer_files.DIARY_WORDS),
        HORNBY: (consumer_files.HORNBY, consumer_files.HORNBY_WORDS),
    }[name]
    schema = consumer_files.schema(folder)
    return Case(name, schema, lambda: consumer_files.consumers(folder), words, *_KNOWN[name])
