"""MODIPS: model-based synthesis through sanitised sufficient statistics.

1. Perturb the sufficient statistics s of a Bayesian model: counts of cells, sums of numbers by
   cell, scatters pooled within cells.
2. Put them into the set of values they can have: by clipping afterwards (thresholding), or by noise
   that is redrawn until it falls inside (truncation), calibrated for that.
3. Draw parameters θ from the posterior given s*, and records from f(x | θ), clipped to the bounds.

Each set has noise and parameters of its own, so that differences between sets show both and the
rule for partially synthetic data holds (T = ū + b/m).

* **Models**, one for each block of columns (`BlocksMethod`): Bernoulli, multinomial, normal,
  multivariate normal, or categorical cells with a normal distribution of common covariance in each
  (`understudy.models`). A wide table has several blocks, **independent of each other**: whatever
  goes together across blocks is lost. `plan` lists the columns of each.
* **Measures** for each block the table of its cells (normal columns have a single bin there, their
  spikes and codes a cell each) with the out-of-domain count, then a sum for each normal column and
  a scatter for each pair of them. With a single cell the number of rows stands for the table; of
  one column of two levels, with a public number of rows, only the successes are counted.
* **Public**: the schema, with bounds of all normal columns; the prior; the blocks.
* **Guarantee**: pure ε-DP, both neighbouring relations; the sensitivities are proven in
  `mechanisms/__init__.py`, for sums that stay valid when a record changes its cell. In
  paper mode it is conditional, as published: continuous noise, halved counts, sensitivities of a
  record that keeps its cell, and noise in the means of cells of scale R/n_k, n_k their private
  counts, where the strict form has it in their sums.
* **Budget**: `split` gives every statistic of every block an equal share; `weighted` one in
  proportion to the weights of counts, sums and scatters; `nonsplit` gives all sums and scatters of
  a block noise of one scale.
* **Costs** one pass over the rows for all tables, and one for each block with normal columns.
* **Choose it** for few columns with many people in each cell, for numbers that are roughly normal
  within cells, and where valid inference from several sets matters. **Do not** choose it for skewed
  numbers (clipped normal draws keep means and variances, no shapes), for relations across blocks,
  or where the noise mass that `plan` shows exceeds the number of records.

Sources: Liu (2016), arXiv:1606.00788; Bowen & Liu (2020), §3.2; Reiter (2003) for the rule.

**Classical multiple synthesis: records from the posterior of a Bayesian model, without privacy.**

The baseline without privacy of the comparative study: the models and blocks of `modips`, given the
exact sufficient statistics. Parameters are drawn once for each set, then records, so that the
differences between sets show the uncertainty of the parameters (T = ū + b/m).

* **Measures** exactly: the table of cells of each block, sums and scatters of its normal columns.
* **Public**: schema, prior, blocks. The exact statistics are not published as such.
* **Guarantee**: none. Records drawn from exact statistics reveal them in the long run. Needs
  `allow_nonprivate`, and the release is stamped not private.
* **Costs** one pass over the rows for all tables, and one for each block with normal columns.
* **Choose it** only as a yardstick: what is lost beyond it is the price of privacy. **Do not**
  publish from it.

Sources: Rubin (1993); Raghunathan, Reiter & Rubin (2003); Reiter (2003); Bowen & Liu (2020), §3.2.

**Marginal Bayesian bootstrap: columns drawn independently from their exact tables, not private.**

For each set, and each column by itself, draw shares of its states from Dirichlet(counts), which is
the Bayesian bootstrap; then draw records, columns independently, given that no impossible
combination occurs. The other extreme of the comparison of synthesizers: no relation is kept.

* **Measures** exactly: the one-way table of each column. They are not published as such.
* **Public**: the schema with its structural zeros.
* **Guarantee**: none, though it looks harmless: a state that nobody has never occurs, so one that
  occurs was somebody's. Needs `allow_nonprivate`, and the release is stamped not private. With a
  prior, Dirichlet(counts + α), ñ records of one column would be ε/M-DP for α ≥ ñ/(e^(ε/M) − 1), and
  M columns together ε-DP (`understudy.mechanisms.urn`), were there no structural
  zeros to condition on. `independent` is the private method to take.
* **Costs** rows × columns.
* **Combining.** Each set has shares of its own, drawn around those of the rows: T = ū + b/m is
  valid for shares and moments of single columns. Relations between columns are lost in all sets.
* **Choose it** only as a yardstick. **Do not** publish from it.

Sources: Rubin (1981), "The Bayesian bootstrap"; Park & Ghosh (2014), §2 and Table 1; McClure &
Reiter (2012) for the prior.

**Which columns are modelled together, by which Bayesian model, and from which statistics.**

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
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypedDict, final

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from understudy.dp.budget import Budget
from understudy.dp.perturbation import Bounds, Mode
from understudy.dp.released import NoisyMoment, NoisyTable, Released
from understudy.errors import MethodError
from understudy.mechanisms.sums import Moments
from understudy.mechanisms.tables import BinomialCount, NoisyTables
from understudy.methods.base import Estimate, Facts, Names, NonAdaptiveMethod, split_names
from understudy.methods.plan import AnyGate
from understudy.models.model import InferenceFacts, PosteriorPredictive
from understudy.models.tables import ProductModel
from understudy.papers.bayesian_models import (
    PRIOR,
    BayesianModel,
    Bernoulli,
    Block,
    BlocksModel,
    Mixture,
    Multinomial,
    Normal,
    NormalStatistics,
    single_bin,
)
from understudy.papers.bayesian_models import LocationStatistics as MixtureStatistics
from understudy.papers.exact import ExactMoments, ExactTables
from understudy.schema import NUMERIC, Column, Continuous, Domain, Schema


@final
@dataclass(frozen=True, kw_only=True)
class MarginalBootstrap(NonAdaptiveMethod):
    """The bootstrap of every column, as configured.

    Attributes:
        sets: always "posterior": each set has shares of its own.
    """

    facts: ClassVar[Facts] = Facts(
        name="marginal-bootstrap",
        title="Bayesian bootstrap of each column, drawn independently; not private",
        paper="Rubin (1981); Park & Ghosh (2014), Table 1",
        guarantee="none",
        data="any columns, any number of them",
        cost="rows × columns",
        cost_class="fast",
    )
    private: ClassVar[bool] = False
    inference: ClassVar[InferenceFacts] = InferenceFacts(posterior_rule="partial", independent=True)

    sets: Literal["posterior"] = "posterior"

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Take the exact table of each column."""
        tables = gate.ask(ExactTables([(name,) for name in gate.schema.names]))
        domain = gate.schema.domain

        def draw(rng: np.random.Generator) -> ProductModel:
            """Shares of each column from Dirichlet(counts): gamma numbers, up to their sum."""
            return ProductModel(
                domain, tuple(rng.standard_gamma(table.value.counts) for table in tables)
            )

        return lambda: PosteriorPredictive(draw)


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
        """True if cells are counted; with a single cell the number of rows is all there is."""
        return self.model in ("multinomial", "mixture")

    @property
    def kinds(self) -> tuple[int, int, int]:
        """Numbers of measured tables of cells (or numbers of successes), sums and scatters."""
        p = len(self.numbers)
        return int(self.counted or self.model == "bernoulli"), p, p * (p + 1) // 2


@dataclass(frozen=True, kw_only=True)
class BlocksMethod(NonAdaptiveMethod):
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

    def inference_facts(self, schema: Schema) -> InferenceFacts:
        """The prior of the models of cells, and the numbers that are modelled as normal."""
        return InferenceFacts("partial", modelled=self.numbers(schema), prior_weight=self.prior)

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


Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _three(weights: object) -> object:
    shares = split_names(weights)
    if not isinstance(shares, list | tuple) or len(shares) != 3:
        raise ValueError("give three numbers, for tables, sums and scatters, as in 1,2,1")
    return shares


Weights = Annotated[tuple[Weight, Weight, Weight], BeforeValidator(_three)]
Counts = NDArray[Any] | float


class _NoiseOptions(TypedDict):
    bounds: Bounds
    mode: Mode


@final
@dataclass(frozen=True, kw_only=True)
class Modips(BlocksMethod):
    """MODIPS, as configured; options of blocks and models are in `BlocksMethod`.

    Attributes:
        sets: always "split": each set has noise and parameters of its own.
        budget: "split" gives every statistic an equal share; "weighted" one by `weights`;
            "nonsplit" gives all sums and scatters of a block noise of one scale.
        weights: of a table of cells, a sum and a scatter, with budget="weighted".
        bounds: noisy statistics that cannot occur are clipped ("threshold"), or their noise is
            drawn again until they can ("truncate").
        mode: "strict", or "paper" for the noise as published.
    """

    facts: ClassVar[Facts] = Facts(
        name="modips",
        title="Bayesian models given noisy sufficient statistics",
        paper="Liu (2016); Bowen & Liu (2020), §3.2",
        guarantee="pure ε; add/remove and replace (conditional in paper mode)",
        data="categorical cells with normal numbers; wide tables in independent blocks",
        cost="rows + cells · p² (p normal columns of a block)",
        cost_class="fast",
    )

    sets: Literal["split"] = "split"
    budget: Literal["split", "weighted", "nonsplit"] = "split"
    weights: Weights | None = None
    bounds: Literal["threshold", "truncate"] = "threshold"
    mode: Literal["strict", "paper"] = "strict"

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Tables of cells, then numbers of successes, then sums and scatters block by block."""
        self._require(gate.budget)
        gate.require(spend)
        schema, layouts = gate.schema, self.layouts(gate.schema)
        binned, (each, shares) = gate.rebin(self.bins(schema)), self._spends(layouts, spend)
        noise: _NoiseOptions = {"bounds": self.bounds, "mode": self.mode}
        tabled = [layout.columns for layout in layouts if layout.counted]
        tables: tuple[Released[NoisyTable], ...] = ()
        if tabled:
            noisy = NoisyTables(tabled, noise="geometric", **noise)
            tables = binned.ask(noisy, spend=each * len(tabled))
        successes = {
            layout.columns: binned.ask(BinomialCount(layout.columns[0], **noise), spend=each)
            for layout in layouts
            if layout.model == "bernoulli"
        }
        moments = [
            binned.ask(self._statistics(layout), spend=share) if layout.numbers else ()
            for layout, share in zip(layouts, shares, strict=True)
        ]

        def estimate() -> BlocksModel:
            """Every block given its statistics."""
            counts: dict[tuple[str, ...], Counts] = {
                **{table.value.columns: table.value.counts for table in tables},
                **{columns: noisy.value.successes for columns, noisy in successes.items()},
            }
            total = _known_rows(gate, layouts)
            blocks = []
            for layout, sums in zip(layouts, moments, strict=True):
                measured = Measured(
                    counts=counts.get(layout.columns),
                    moments=[moment.value for moment in sums],
                    n_rows=total,
                )
                blocks.append(block(layout, schema, measured, self.prior))
            return BlocksModel(schema, tuple(blocks))

        return estimate

    def _require(self, budget: Budget) -> None:
        self.require_pure(budget)
        if (self.budget == "weighted") != (self.weights is not None):
            raise MethodError("budget=weighted and weights belong together; set both or neither.")

    def _spends(
        self, layouts: Sequence[Layout], spend: Fraction
    ) -> tuple[Fraction, list[Fraction]]:
        """Cost of each table (or number of successes), and of all moments of each block."""
        of_table, of_sum, of_scatter = map(Fraction, self.weights or (1, 1, 1))
        kinds = [layout.kinds for layout in layouts]
        moments = [of_sum * sums + of_scatter * scatters for _, sums, scatters in kinds]
        unit = spend / (sum(of_table * tables for tables, _, _ in kinds) + sum(moments))
        return unit * of_table, [unit * weight for weight in moments]

    def _statistics(self, layout: Layout) -> Moments:
        """The sums and scatters of one block."""
        _, sums, scatters = layout.kinds
        weights = None
        if self.weights is not None:
            _, of_sum, of_scatter = self.weights
            weights = [Fraction(of_sum)] * sums + [Fraction(of_scatter)] * scatters
        return Moments(
            layout.numbers,
            layout.columns,
            weights=weights,
            calibration="nonsplit" if self.budget == "nonsplit" else "split",
            bounds=self.bounds,
            mode=self.mode,
        )


def _known_rows(gate: AnyGate, layouts: Sequence[Layout]) -> int | None:
    """Number of rows, if declared or bought; the sum of noisy counts has to do otherwise."""
    try:
        return gate.n_rows.value
    except MethodError:
        if all(layout.counted for layout in layouts):
            return None
        raise


@final
@dataclass(frozen=True, kw_only=True)
class MultipleSynthesis(BlocksMethod):
    """Multiple synthesis, as configured; options of blocks and models are in `BlocksMethod`.

    Attributes:
        sets: always "posterior": one fit, and parameters of its own for each set.
    """

    facts: ClassVar[Facts] = Facts(
        name="multiple-synthesis",
        title="Bayesian models given exact statistics; not private",
        paper="Raghunathan, Reiter & Rubin (2003); Bowen & Liu (2020), §3.2",
        guarantee="none",
        data="categorical cells with normal numbers; wide tables in independent blocks",
        cost="rows + cells · p² (p normal columns of a block)",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    sets: Literal["posterior"] = "posterior"

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Take exact tables of all blocks, then exact sums and scatters block by block."""
        schema, layouts = gate.schema, self.layouts(gate.schema)
        binned = gate.rebin(self.bins(schema))
        tables = binned.ask(ExactTables([layout.columns for layout in layouts]))
        moments = [
            binned.ask(ExactMoments(layout.numbers, layout.columns)) if layout.numbers else ()
            for layout in layouts
        ]

        def estimate() -> BlocksModel:
            """Every block given its statistics."""
            blocks = []
            for layout, table, sums in zip(layouts, tables, moments, strict=True):
                counts = table.value.counts
                measured = Measured(
                    counts=counts[1] if layout.model == "bernoulli" else counts,
                    moments=[moment.value for moment in sums],
                    n_rows=int(counts.sum()),
                    exact=True,
                )
                blocks.append(block(layout, schema, measured, self.prior))
            return BlocksModel(schema, tuple(blocks))

        return estimate
