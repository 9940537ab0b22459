"""Blocks of columns, each with a Bayesian model of its own, independent of each other.

A record is drawn block by block. One in an impossible combination is drawn again, given the
parameters, and in the end uniformly over the allowed cells (`conditioning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.arrays import Floats
from understudy.features.number_line import Line, line_of, settled
from understudy.models.bayesian.bayesian_model import BayesianModel, Drawn
from understudy.models.model import REDRAWS, Sample, conditioned
from understudy.models.table_models import unravel
from understudy.schema import NUMERIC, Schema


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
            line, own = self._lines[name]
            bins, values[name] = settled(line, drawn.values[:, j])
            fixed = own[axes[name]]
            axes[name] = np.where(fixed < 0, bins, fixed)
        states.update(axes)

    @cached_property
    def _lines(self) -> dict[str, tuple[Line, NDArray[np.int64]]]:
        """For each drawn column: its number line, and states of the block's table → own states.

        The single bin is −1 there.
        """
        found = {}
        for name in (name for block in self.blocks for name in block.numbers):
            column = self.schema.columns[name]
            assert isinstance(column, NUMERIC)
            spikes = [k for k, one in enumerate(column.intervals) if one.spike]
            place = single_bin(self.schema, name)
            own = [*spikes[:place], -1, *spikes[place:], *range(column.n_ordinary, column.size)]
            found[name] = line_of(column), np.array(own, dtype=np.int64)
        return found


def single_bin(schema: Schema, name: str) -> int:
    """State of the only bin of a numeric column, if it had one bin, its spikes and its codes."""
    column = schema.with_bins({name: 1}).columns[name]
    assert isinstance(column, NUMERIC)
    return next(k for k, one in enumerate(column.intervals) if not one.spike)
