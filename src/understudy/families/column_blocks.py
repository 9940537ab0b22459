"""Which columns are modelled together, by which Bayesian model, and from which statistics.

Everything in a layout follows from the schema and the options, so that a plan can say it
beforehand. Used by `modips` (noisy statistics) and `multiple-synthesis` (exact ones).

**Numbers.** A numeric column is modelled as normal, or by its bins like a categorical one. By
default continuous columns are normal, and whole numbers and dates if each bin holds more than one
value. A spike or a code of a normal column is a cell of its own.

**Blocks.** Columns are taken in the order of the schema as long as the table of their cells, in
which normal columns have a single bin, stays within `cells`; then a new block begins. Blocks are
independent of each other: what goes together across blocks is lost, but for structural zeros.

**Statistics.** Which column gives which axis, which sum and which scatter, is said here; units and
admissible sets are the models' own affair. Nothing here knows whether noise was added, but for what
`exact` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from understudy.errors import MethodError
from understudy.families.method import Method, Names
from understudy.models.bayesian.bayesian_model import BayesianModel, Block, single_bin
from understudy.models.bayesian.beta_binomial import Bernoulli
from understudy.models.bayesian.dirichlet_multinomial import PRIOR, Multinomial
from understudy.models.bayesian.general_location import Mixture
from understudy.models.bayesian.general_location import Statistics as MixtureStatistics
from understudy.models.bayesian.normal import Normal
from understudy.models.bayesian.normal import Statistics as NormalStatistics
from understudy.privacy.released import NoisyMoment
from understudy.schema import NUMERIC, Column, Continuous, Domain, Schema

ModelName = Literal["bernoulli", "multinomial", "normal", "mvn", "mixture"]


@dataclass(frozen=True)
class Layout:
    """One block.

    Attributes:
        columns: names.
        numbers: those that are modelled as normal.
        model: by which model.
        domain: cells of the block's table, in which `numbers` have a single bin.
    """

    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    model: ModelName
    domain: Domain

    @property
    def counted(self) -> bool:
        """Whether cells are counted; with a single cell the number of rows is all there is."""
        return self.model in ("multinomial", "mixture")

    @property
    def kinds(self) -> tuple[int, int, int]:
        """How many tables of cells (or numbers of successes), sums and scatters are measured."""
        p = len(self.numbers)
        return int(self.counted or self.model == "bernoulli"), p, p * (p + 1) // 2


@dataclass(frozen=True, kw_only=True)
class BlocksMethod(Method):
    """Options of the methods that synthesize by blocks.

    Attributes:
        model: "auto" takes for each block the model that its columns need; a name insists on one.
            "bernoulli", "normal": each column alone; "mvn": all columns in one block;
            "multinomial": numeric columns by their bins.
        normal: numeric columns that are modelled as normal; None for the default.
        cells: most cells in the table of one block.
        prior: α of each allowed cell, in records.
    """

    model: Literal["auto", "bernoulli", "multinomial", "normal", "mvn", "mixture"] = "auto"
    normal: Names | None = None
    cells: Annotated[int, Field(ge=1)] = 200
    prior: Annotated[float, Field(ge=0, allow_inf_nan=False)] = PRIOR

    @property
    def prior_weight(self) -> float:
        """The prior of the models of cells."""
        return self.prior

    def modelled(self, schema: Schema) -> tuple[str, ...]:
        """Those that are modelled as normal."""
        return self.numbers(schema)

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """Columns that are modelled as normal, in the order of the schema.

        Raises:
            MethodError: one that is not numeric, or none where the model needs one.
        """
        if self.model in ("bernoulli", "multinomial"):
            if self.normal:
                raise MethodError(f"model={self.model} has no normal columns; leave normal out.")
            return ()
        if self.normal is None:
            return tuple(name for name, column in schema.columns.items() if _is_number(column))
        for name in self.normal:
            if not isinstance(schema.columns.get(name), NUMERIC):
                raise MethodError(f"normal names {name!r}, which is no numeric column.")
        return tuple(name for name in schema.names if name in self.normal)

    def bins(self, schema: Schema) -> dict[str, int]:
        """A single bin for each of these columns."""
        return dict.fromkeys(self.numbers(schema), 1)

    def layouts(self, schema: Schema) -> tuple[Layout, ...]:
        """The blocks, in the order of the schema.

        Raises:
            MethodError: the model does not fit these columns.
        """
        numbers = self.numbers(schema)
        binned = schema.with_bins(self.bins(schema))
        limit = 0 if self.model in ("bernoulli", "normal") else self.cells
        layouts = tuple(self._layout(binned, block, numbers) for block in _split(binned, limit))
        self._require_fit(layouts, numbers, schema.rows)
        return layouts

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """That blocks are independent, and which they are."""
        blocks = [", ".join(layout.columns) for layout in self.layouts(schema)]
        if len(blocks) == 1:
            return ()
        return (
            f"{len(blocks)} blocks of columns are modelled independently of each other; what goes "
            f"together across blocks is lost: {'; '.join(blocks)}. The option cells sets the size.",
        )

    def _layout(self, binned: Schema, names: tuple[str, ...], numbers: tuple[str, ...]) -> Layout:
        mine = tuple(name for name in names if name in numbers)
        domain = binned.table(names)
        return Layout(names, mine, self._model(binned, domain, names, mine), domain)

    def _model(
        self, binned: Schema, domain: Domain, names: tuple[str, ...], numbers: tuple[str, ...]
    ) -> ModelName:
        if self.model == "mixture":
            return "mixture" if numbers else "multinomial"
        if self.model != "auto":
            return self.model
        if numbers and domain.n_cells > 1:
            return "mixture"
        if numbers:
            return "normal" if len(numbers) == 1 else "mvn"
        alone = len(names) == 1 and domain.n_cells == 2 and binned.rows == "public"
        return "bernoulli" if alone else "multinomial"

    def _require_fit(self, layouts: Sequence[Layout], numbers: tuple[str, ...], rows: str) -> None:
        model = self.model
        if model == "bernoulli" and rows != "public":
            raise MethodError('model=bernoulli needs a public number of rows (rows = "public").')
        if model == "bernoulli" and any(layout.domain.n_cells != 2 for layout in layouts):
            raise MethodError("model=bernoulli needs columns of two levels, without codes.")
        single = all(layout.domain.n_cells == 1 and layout.numbers for layout in layouts)
        if model in ("normal", "mvn") and not single:
            raise MethodError(
                f"model={model} needs numeric columns only, without codes or spikes; take "
                "model=mixture, or leave it out."
            )
        if model == "mixture" and not numbers:
            raise MethodError("model=mixture needs a normal column; take model=multinomial.")


def _is_number(column: Column) -> bool:
    if isinstance(column, Continuous):
        return True
    if not isinstance(column, NUMERIC):
        return False
    return all(interval.spike or interval.low < interval.high for interval in column.intervals)


def _split(binned: Schema, limit: int) -> Sequence[tuple[str, ...]]:
    """Columns in order, a new block wherever the table of cells would exceed the limit."""
    blocks: list[list[str]] = []
    n_cells = math.inf
    for name, column in binned.columns.items():
        n_cells *= column.size
        if n_cells > limit:
            blocks.append([])
            n_cells = column.size
        blocks[-1].append(name)
    return [tuple(block) for block in blocks]


_LEAST_PRIOR = 1e-9  # a Beta prior needs more than 0


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
    total, scatter = (moment.values for moment in measured.moments)
    mean = (low + high) / 2 + total[0] / max(measured.n_rows, 1)
    variance = scatter[0] / max(measured.n_rows - 1, 1)
    statistics = NormalStatistics(np.asarray(mean), np.asarray(variance))
    return Normal((low, high), measured.n_rows), statistics


def _mixture(layout: Layout, measured: Measured) -> MixtureStatistics:
    p = len(layout.numbers)
    counts = measured.counts if layout.counted else measured.n_rows
    assert counts is not None
    scatter = np.zeros((p, p))
    numbers = np.asarray(counts, dtype=np.float64).reshape(-1)
    pairs = np.triu_indices(p)
    scatter[pairs] = [moment.values[0] for moment in measured.moments[p:]]
    scatter.T[pairs] = scatter[pairs]
    return MixtureStatistics(
        numbers,
        np.stack([_sums(moment, numbers) for moment in measured.moments[:p]], axis=-1),
        scatter,
        n_rows=None if measured.n_rows is None else float(measured.n_rows),
        exact=measured.exact,
    )


def _sums(moment: NoisyMoment, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums by cell; such that the model finds noisy means again, where it is they that are known.

    Args:
        moment: sums or means of (x − middle of the bounds) by cell.
        counts: of the cells, with their noise.
    """
    means = moment.statistic == "mean"
    return moment.values * np.maximum(counts, 1) if means else moment.values


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
