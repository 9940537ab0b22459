"""MODIPS: model-based synthesis through sanitised sufficient statistics.

1. Perturb the sufficient statistics s of a Bayesian model: counts of cells, sums of numbers by
   cell, scatters pooled within cells.
2. Put them into the set of values they can have: by clipping afterwards (thresholding), or by noise
   that is redrawn until it falls inside (truncation), calibrated for that.
3. Draw parameters θ from the posterior given s*, and records from f(x | θ), clipped to the bounds.

Each set has noise and parameters of its own, so that differences between sets show both and the
rule for partially synthetic data holds (T = ū + b/m).

* **Models**, one for each block of columns (`blocks.py`): Bernoulli, multinomial, normal,
  multivariate normal, or categorical cells with a normal distribution of common covariance in each
  (`understudy.models`). A wide table has several blocks, **independent of each other**: whatever
  goes together across blocks is lost. `plan` lists the columns of each.
* **Measures** for each block the table of its cells (normal columns have a single bin there, their
  spikes and codes a cell each) with the out-of-domain count, then a sum for each normal column and
  a scatter for each pair of them. With a single cell the number of rows stands for the table; of
  one column of two levels, with a public number of rows, only the successes are counted.
* **Public**: the schema, with bounds of all normal columns; the prior; the blocks.
* **Guarantee**: pure ε-DP, both neighbouring relations; the sensitivities are proven in
  `privacy/mechanisms/sums/moments.py`, for sums that stay valid when a record changes its cell. In
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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypedDict, final

from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from understudy.errors import MethodError
from understudy.families.column_blocks import BlocksMethod, Layout, Measured, block
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts, listed
from understudy.models.bayesian.bayesian_model import BlocksModel
from understudy.models.model import Model
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.counts.binomial_count import BinomialCount
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables
from understudy.privacy.mechanisms.sums.moments import Moments
from understudy.privacy.noise.perturbation import Bounds, Mode
from understudy.privacy.released import NoisyMoment
from understudy.schema import Schema

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _three(weights: object) -> object:
    shares = listed(weights)
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
    """Configuration; those of blocks and models are in `BlocksMethod`.

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

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """Tables of cells, then numbers of successes, then sums and scatters block by block."""
        self._require(budget)
        layouts = self.layouts(schema)
        each, moments = self._spends(layouts, spend)
        binned = schema.with_bins(self.bins(schema))
        noise: _NoiseOptions = {"bounds": self.bounds, "mode": self.mode}
        tables = [
            planned
            for layout in layouts
            if layout.counted
            for planned in announced(
                NoisyTables([layout.columns], noise="geometric", **noise),
                binned,
                each,
                budget,
                [layout.columns],
            )
        ]
        successes = [
            planned
            for layout in layouts
            if layout.model == "bernoulli"
            for planned in announced(
                BinomialCount(layout.columns[0], **noise),
                schema,
                each,
                budget,
                [layout.columns],
                form=Form.MOMENTS,
            )
        ]
        sums = [
            planned
            for layout, share in zip(layouts, moments, strict=True)
            if layout.numbers
            for planned in announced(
                self._asked(layout),
                binned,
                share,
                budget,
                [layout.columns] * sum(layout.kinds[1:]),
                form=Form.MOMENTS,
            )
        ]
        return (*tables, *successes, *sums)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Measure the statistics of all blocks."""
        self._require(gate.budget)
        gate.require(spend)
        schema, layouts = gate.schema, self.layouts(gate.schema)
        total = _known_rows(gate, layouts)
        binned = gate.rebinned(self.bins(schema))
        counts = self._counts(binned, layouts, spend)
        _, shares = self._spends(layouts, spend)
        blocks = []
        for layout, share in zip(layouts, shares, strict=True):
            moments = self._moments(binned, layout, share)
            measured = Measured(counts=counts.get(layout.columns), moments=moments, n_rows=total)
            blocks.append(block(layout, schema, measured, self.prior))
        return BlocksModel(schema, tuple(blocks))

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

    def _counts(
        self, gate: Gate, layouts: Sequence[Layout], spend: Fraction
    ) -> dict[tuple[str, ...], Counts]:
        """Noisy tables of all blocks that have one, in one pass; then successes; by columns."""
        each, _ = self._spends(layouts, spend)
        noise: _NoiseOptions = {"bounds": self.bounds, "mode": self.mode}
        counts: dict[tuple[str, ...], Counts] = {}
        tabled = [layout.columns for layout in layouts if layout.counted]
        if tabled:
            tables = gate.ask(
                NoisyTables(tabled, noise="geometric", **noise), spend=each * len(tabled)
            )
            counts |= {table.value.columns: table.value.counts for table in tables}
        for layout in layouts:
            if layout.model == "bernoulli":
                noisy = gate.ask(BinomialCount(layout.columns[0], **noise), spend=each)
                counts[layout.columns] = noisy.value.successes
        return counts

    def _moments(self, gate: Gate, layout: Layout, spend: Fraction) -> list[NoisyMoment]:
        if not layout.numbers:
            return []
        moments = gate.ask(self._asked(layout), spend=spend)
        return [moment.value for moment in moments]

    def _asked(self, layout: Layout) -> Moments:
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


def _known_rows(gate: Gate, layouts: Sequence[Layout]) -> int | None:
    """Number of rows, if declared or bought; the sum of noisy counts has to do otherwise."""
    try:
        return gate.n_rows.value
    except MethodError:
        if all(layout.counted for layout in layouts):
            return None
        raise
