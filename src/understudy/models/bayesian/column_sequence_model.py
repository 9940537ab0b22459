"""Records drawn column by column, by column models at one draw, or one choice, of parameters.

Column models know no rules. Records in impossible combinations are drawn again, and in the end
uniformly over the allowed cells (`models.model.conditioned`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.domain.domain import completions
from understudy.features.number_line import Drawn
from understudy.functions.sequential_generator import SequentialGenerator
from understudy.models.model import REDRAWS, Sample, conditioned, impossible, put
from understudy.privacy.samplers.column_model import Theta
from understudy.privacy.samplers.column_sequence import Labels, SequentialModel
from understudy.schema import NUMERIC, Schema

_CHUNK = 2**16
"""Records drawn at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class PosteriorModel:
    """Column models at given parameters: a model of the whole table.

    Attributes:
        schema: columns, in whose bins states are.
        column_model: of the columns that are drawn.
        theta: its parameters, one draw; released.
        given: records of the columns that are kept; empty where all are drawn.
        labels: components of these records, where they were drawn given the records' own values;
            released as published, not in strict mode.
        redraws: how often impossible records are drawn again.

    Raises:
        ValueError: given columns that are not the model's, or a column that nothing draws.
    """

    schema: Schema
    column_model: SequentialModel
    theta: Theta
    given: Mapping[str, Drawn] = field(default_factory=dict)
    labels: Labels | None = None
    redraws: int = field(default=REDRAWS, kw_only=True)

    def __post_init__(self) -> None:
        if set(self.given) != set(self.column_model.given):
            raise ValueError("the records that are kept have the columns that the model is given")
        if {*self.given, *self.column_model.columns} != set(self.schema.names):
            raise ValueError("each column is given or drawn")

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records.

        Raises:
            ValueError: some columns are kept, of another number of records.
        """
        if not self.given:
            drawn = self._fresh(n_rows, rng)
            return conditioned(
                drawn,
                self.schema.domain,
                lambda n: self._fresh(n, rng),
                rng,
                redraws=self.redraws,
            )
        if any(len(column.states) != n_rows for column in self.given.values()):
            raise ValueError("a partially synthetic set has a record for each record that is kept")
        return self._beside(n_rows, rng)

    def _fresh(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records of all columns, rules left aside."""
        sample = self._empty(n_rows)
        for start in range(0, n_rows, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n_rows))
            put(sample, rows, self._of(self._drawn({}, None, len(rows), rng)))
        return sample

    def _beside(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records with the given columns."""
        sample = self._empty(n_rows)
        rows = np.arange(n_rows)
        for _ in range(1 + self.redraws):
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                put(sample, part, self._completed(part, rng))
            states = [column[rows] for column in sample.states]
            rows = rows[impossible(self.schema.domain, states)]
            if not rows.size:
                return sample
        put(sample, rows, self._evenly(rows, rng))
        return sample

    def _completed(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Sample:
        """Some of the given records with the other columns drawn, rules left aside."""
        kept = {name: column.taken(rows) for name, column in self.given.items()}
        labels = None
        if self.labels is not None:
            labels = {name: labels[rows] for name, labels in self.labels.items()}
        return self._of(kept | self._drawn(kept, labels, len(rows), rng))

    def _evenly(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Sample:
        """Some of the given records, the other columns drawn uniformly from what rules leave."""
        kept = {name: column.taken(rows) for name, column in self.given.items()}
        places = [self.schema.names.index(name) for name in self.given]
        states = {name: np.zeros(len(rows), dtype=np.int64) for name in self.schema.names}
        states |= {name: column.states for name, column in kept.items()}
        open_names = [name for name in self.schema.names if name not in kept]
        domain = self.schema.domain
        for group, left in completions(domain, places, [states[name] for name in self.given]):
            drawn = left.draw(len(group), rng.random)
            for name, column in zip(open_names, drawn, strict=True):
                states[name][group] = column
        nowhere = np.full(len(rows), np.nan)
        numbers = {name: Drawn(states[name], nowhere) for name in open_names}
        return self._of(kept | numbers)

    def _drawn(
        self, kept: Mapping[str, Drawn], labels: Labels | None, n: int, rng: np.random.Generator
    ) -> dict[str, Drawn]:
        uniforms = rng.random((len(self.column_model.column_models), 3, n))
        return self.column_model.sample(self.theta, kept, uniforms, labels)

    def _numeric(self) -> list[str]:
        return [name for name, column in self.schema.columns.items() if isinstance(column, NUMERIC)]

    def _empty(self, n_rows: int) -> Sample:
        return Sample(
            [np.empty(n_rows, dtype=np.int64) for _ in self.schema.names],
            {name: np.empty(n_rows) for name in self._numeric()},
        )

    def _of(self, drawn: Mapping[str, Drawn]) -> Sample:
        """Records of all columns, in the order of the schema."""
        numbers = {name: drawn[name].numbers for name in self._numeric()}
        return Sample(
            [drawn[name].states for name in self.schema.names],
            {name: places for name, places in numbers.items() if places is not None},
        )


"""Records drawn at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class GeneratedModel:
    """A generator at chosen parameters: a model of the whole table.

    Attributes:
        generator: G.
        theta: shape (p,); released, or drawn from the prior.
        redraws: how often impossible records are drawn again.

    Raises:
        ValueError: a number of parameters that is not the generator's.
    """

    generator: SequentialGenerator
    theta: Floats
    redraws: int = field(default=REDRAWS, kw_only=True)

    def __post_init__(self) -> None:
        if self.theta.shape != self.generator.prior.means.shape:
            raise ValueError(f"the generator has {len(self.generator.prior.names)} parameters")

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        domain = self.generator.schema.domain
        sample = self._draw(n_rows, rng)
        return conditioned(sample, domain, lambda n: self._draw(n, rng), rng, redraws=self.redraws)

    def _draw(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records, rules left aside."""
        schema = self.generator.schema
        numeric = [name for name, column in schema.columns.items() if isinstance(column, NUMERIC)]
        sample = Sample(
            [np.empty(n_rows, dtype=np.int64) for _ in schema.names],
            {name: np.empty(n_rows) for name in numeric},
        )
        for start in range(0, n_rows, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n_rows))
            uniforms = rng.random((len(schema.names), 2, len(rows)))
            drawn = self.generator.records(self.theta, uniforms)
            numbers = {name: _numbers(drawn[name]) for name in numeric}
            put(sample, rows, Sample([drawn[name].states for name in schema.names], numbers))
        return sample


def _numbers(drawn: Drawn) -> Floats:
    assert drawn.numbers is not None
    return drawn.numbers
