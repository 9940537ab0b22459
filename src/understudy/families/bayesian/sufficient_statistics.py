"""From sufficient statistics, as measured, to the models of blocks.

Which column gives which axis, which sum and which scatter; units and admissible sets are the
models' own affair. Nothing here knows whether noise was added, but for what `exact` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.families.bayesian.column_blocks import Layout
from understudy.models.bayesian.bayesian_model import BayesianModel
from understudy.models.bayesian.beta_binomial import Bernoulli
from understudy.models.bayesian.dirichlet_multinomial import Multinomial
from understudy.models.bayesian.general_location import Mixture
from understudy.models.bayesian.general_location import Statistics as MixtureStatistics
from understudy.models.bayesian.independent_blocks import Block, single_bin
from understudy.models.bayesian.normal import Normal
from understudy.models.bayesian.normal import Statistics as NormalStatistics
from understudy.privacy.released import NoisyMoment
from understudy.schema import NUMERIC, Schema

_LEAST_PRIOR = 1e-9  # a Beta law needs more than 0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Statistics of one block.

    Attributes:
        counts: of the cells, in the shape of the block's table; the number of successes for a
            Bernoulli model; None where cells are not counted.
        moments: sums by cell, in the order of the layout's numbers, then scatters of the pairs
            (0, 0), (0, 1), …, (1, 1), ….
        n_rows: number of rows as declared or bought; None if it is not known.
        exact: whether the counts are without noise.
    """

    counts: NDArray[Any] | float | None = None
    moments: Sequence[NoisyMoment] = ()
    n_rows: int | None = None
    exact: bool = False


def block(layout: Layout, schema: Schema, measured: Measured, prior: float) -> Block:
    """A block with its model and statistics.

    Args:
        layout: of the block.
        schema: columns in their own bins.
        measured: its statistics.
        prior: α of each allowed cell, in records.
    """
    model, statistics = _model(layout, schema, measured, prior)
    return Block(layout.columns, layout.domain.sizes, layout.numbers, model, statistics)


def _model(
    layout: Layout, schema: Schema, measured: Measured, prior: float
) -> tuple[BayesianModel[Any, Any], Any]:
    if layout.model == "bernoulli":
        assert measured.n_rows is not None
        successes = np.asarray(measured.counts, dtype=np.float64)
        return Bernoulli(measured.n_rows, max(prior, _LEAST_PRIOR)), successes
    allowed = layout.domain.allowed_mask().reshape(-1)
    if layout.model == "multinomial":
        return Multinomial(allowed, prior), np.asarray(measured.counts, np.float64).reshape(-1)
    if layout.model == "normal":
        return _normal(layout, schema, measured)
    bounds = np.array([_bounds(schema, name) for name in layout.numbers])
    return Mixture(bounds, _present(layout, schema), allowed, prior), _mixture(layout, measured)


def _normal(layout: Layout, schema: Schema, measured: Measured) -> tuple[Normal, NormalStatistics]:
    """Mean and variance of the only column, from its sum and its scatter."""
    assert measured.n_rows is not None
    low, high = _bounds(schema, layout.numbers[0])
    total, scatter = (one.values for one in measured.moments)
    mean = (low + high) / 2 + total[0] / max(measured.n_rows, 1)
    variance = scatter[0] / max(measured.n_rows - 1, 1)
    statistics = NormalStatistics(np.asarray(mean), np.asarray(variance))
    return Normal((low, high), measured.n_rows), statistics


def _mixture(layout: Layout, measured: Measured) -> MixtureStatistics:
    p = len(layout.numbers)
    counts = measured.counts if layout.counted else measured.n_rows
    assert counts is not None
    scatter = np.zeros((p, p))
    pairs = np.triu_indices(p)
    scatter[pairs] = [one.values[0] for one in measured.moments[p:]]
    scatter.T[pairs] = scatter[pairs]
    return MixtureStatistics(
        np.asarray(counts, dtype=np.float64).reshape(-1),
        np.stack([one.values for one in measured.moments[:p]], axis=-1),
        scatter,
        n_rows=None if measured.n_rows is None else float(measured.n_rows),
        exact=measured.exact,
    )


def _present(layout: Layout, schema: Schema) -> NDArray[np.bool_]:
    """In which cells each number is there, shape (cells, p)."""
    states = np.indices(layout.domain.sizes).reshape(len(layout.columns), -1)
    return np.stack(
        [states[layout.columns.index(name)] == single_bin(schema, name) for name in layout.numbers],
        axis=-1,
    )


def _bounds(schema: Schema, name: str) -> tuple[float, float]:
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    return column.bounds
