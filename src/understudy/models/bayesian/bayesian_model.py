"""Bayesian models that see the rows only through sufficient statistics.

A model of this kind needs nothing of the rows but a few numbers s (counts, sums, sums of squares).
So synthesis has two steps: θ from the posterior given s, then records from f(x | θ). With noisy
numbers in the place of s this is the synthesizer of Liu (2016); with exact ones it is classical
multiple synthesis (Raghunathan, Reiter & Rubin 2003; Reiter 2003). Everything here is
post-processing of s.

All arrays may have leading axes of repetitions, so that a simulation study runs the very code that
a release runs.

Blocks of columns may each have a model of its own, independent of each other. A record is then
drawn block by block. One in an impossible combination is drawn again, given the
parameters, and in the end uniformly over the allowed cells (`conditioning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.features.number_line import Line, line_of, settled
from understudy.models.model import REDRAWS, Sample, conditioned
from understudy.models.table_models import unravel
from understudy.schema import NUMERIC, Schema

S_contra = TypeVar("S_contra", contravariant=True)
P = TypeVar("P")


@dataclass(frozen=True)
class Drawn:
    """Synthetic records of one model.

    Attributes:
        cells: cell of each record in the table of the model's states, shape (..., n).
        values: numbers of each record, shape (..., n, p); without meaning where the cell says that
            there is no number.
    """

    cells: NDArray[np.int64]
    values: Floats


class BayesianModel(Protocol[S_contra, P]):
    """Sufficient statistics → parameters → records."""

    def posterior(self, statistics: S_contra, rng: np.random.Generator) -> P:
        """Draw parameters given the statistics, which may be noisy and out of range."""
        ...

    def predict(self, parameters: P, n_rows: int, rng: np.random.Generator) -> Drawn:
        """Draw records given the parameters, in an order that says nothing."""
        ...


@dataclass(frozen=True)
class Block:
    """Columns that are modelled together.

    Attributes:
        columns: names, one per axis of the model's table of cells.
        sizes: their numbers of states in that table, where `numbers` have a single bin.
        numbers: those of which the model draws the numbers, in the order of its values.
        model: posterior and prediction.
        statistics: what the model takes; exact or noisy.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    numbers: tuple[str, ...]
    model: BayesianModel[Any, Any]
    statistics: Any


@dataclass(frozen=True)
class BlocksModel:
    """A model of the whole table. Each call of `sample` draws parameters afresh.

    Attributes:
        schema: columns in their own bins, with the structural zeros.
        blocks: each column is in one of them.
        redraws: how often impossible records are drawn again.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    redraws: int = field(default=REDRAWS, kw_only=True)

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw parameters, then records."""
        theta = [block.model.posterior(block.statistics, rng) for block in self.blocks]
        sample = self._draw(theta, n_rows, rng)
        return conditioned(
            sample,
            self.schema.domain,
            lambda n: self._draw(theta, n, rng),
            rng,
            redraws=self.redraws,
        )

    def _draw(self, theta: Sequence[Any], n_rows: int, rng: np.random.Generator) -> Sample:
        states: dict[str, NDArray[np.integer[Any]]] = {}
        values: dict[str, Floats] = {}
        for block, parameters in zip(self.blocks, theta, strict=True):
            drawn = block.model.predict(parameters, n_rows, rng)
            self._take(block, drawn, states, values)
        return Sample([states[name] for name in self.schema.names], values)

    def _take(
        self,
        block: Block,
        drawn: Drawn,
        states: dict[str, NDArray[np.integer[Any]]],
        values: dict[str, Floats],
    ) -> None:
        """States in the schema's own bins, and numbers that fit their column."""
        axes = dict(zip(block.columns, unravel(drawn.cells, block.sizes), strict=True))
        for j, name in enumerate(block.numbers):
            line, recoded = self._lines[name]
            bins, values[name] = settled(line, drawn.values[:, j])
            fixed = recoded[axes[name]]
            axes[name] = np.where(fixed < 0, bins, fixed)
        states.update(axes)

    @cached_property
    def _lines(self) -> dict[str, tuple[Line, NDArray[np.int64]]]:
        """For each drawn column: its number line, and states of the block's table → own states.

        The single bin is −1 there.
        """
        lines = {}
        for name in (name for block in self.blocks for name in block.numbers):
            column = self.schema.columns[name]
            assert isinstance(column, NUMERIC)
            spikes = [k for k, interval in enumerate(column.intervals) if interval.spike]
            place = single_bin(self.schema, name)
            states = [*spikes[:place], -1, *spikes[place:], *range(column.n_ordinary, column.size)]
            lines[name] = line_of(column), np.array(states, dtype=np.int64)
        return lines


def single_bin(schema: Schema, name: str) -> int:
    """State of the only bin of a numeric column, if it had one bin, its spikes and its codes."""
    column = schema.with_bins({name: 1}).columns[name]
    assert isinstance(column, NUMERIC)
    return next(k for k, interval in enumerate(column.intervals) if not interval.spike)
