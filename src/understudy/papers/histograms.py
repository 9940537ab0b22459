"""The histograms of Bowen & Liu; urns, the empirical distribution and exact tables.

**The perturbed histogram: the Laplace sanitizer on the bins of numeric columns.**

1. Put numeric columns into bins, and cross them with the categorical ones: K cells.
2. Add noise to the count of every allowed cell, empty ones included; set negative counts to 0.
3. Draw cells in proportion to what is left, and numbers uniformly within their bin: the density
   estimate p_k / h of Wasserman & Zhou.

* **Measures** one table over all columns, and the out-of-domain count; for `bins=bought` the
  deviations of the numeric columns before it, once for all sets.
* **Bins**: those of the schema, a number, the rules of Sturges, of Scott or of
  Freedman & Diaconis from what is public, or Scott's with a bought deviation. The forms
  `dense`, `filtered` and `lazy` are those of `laplace`.
* **Public**: the schema with its bounds and structural zeros; what the bins are made of.
* **Guarantee**: pure ε-DP, add/remove and replace. `mode=paper`, dense only, has continuous noise
  of scale 1/ε, half of what a replaced record needs, and reads the deviations for `bins=scott` or
  the quartiles for `bins=fd` off the rows; the guarantee then is conditional and says so.
  Bowen & Liu take Scott's rule and ten sets at ε/10 each (`bins=scott`, `sets=split`); free sets
  cost less noise.
* **Costs** like `laplace`: K cells (dense), or occupied cells and records.
* **Choose it** for one or two numbers of any shape, and mixed tables of few columns. **Do not**
  choose it when the noise mass that `plan` shows exceeds the number of records: fewer bins, or a
  model (`modips`), then do better.

Sources: Wasserman & Zhou (2010), §3.2; Bowen & Liu (2020), §3.1.2, eq. 4; Scott (1979).

**The smoothed histogram: independent records from the rows' histogram and a uniform density.**

1. Put numeric columns into bins, and cross them with the categorical ones: K allowed cells.
2. Give each cell a prior weight of a = 1/(e^(ε/ñ) − 1) records, and draw ñ records independently
   with probabilities (n_k + a)/(n + Ka). This is the density of Wasserman & Zhou,
   (1 − λ)·histogram + λ·uniform, with λ = Ka/(n + Ka) = K/(K + n(e^(ε/ñ) − 1)).
3. Draw numbers uniformly within their bin.

It is `dp-prior` on bins, and shares its mechanism (`understudy.mechanisms.urn`).

* **Measures** nothing but, for `bins=bought`, the deviations of the numeric columns, once for all
  sets; what leaves is the records. The density would reveal the counts exactly, and stays inside.
* **Bins**: those of the schema, a number, the rules of Sturges, of Scott or of
  Freedman & Diaconis from what is public, or Scott's with a bought deviation.
* **Public**: the schema with its bounds and structural zeros; what the bins are made of; the number
  of records drawn, or that number bought with noise.
* **Guarantee**: pure ε-DP, add/remove and replace. It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each. In `mode=paper` the deviations for `bins=scott`, or the
  quartiles for `bins=fd`, are read off the rows; the guarantee then is conditional and says so.
  Nothing else differs from the paper.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** As n(e^(ε/n) − 1) is hardly more than ε, λ is about K/(K + ε) at any n: with K = 7,
  n = 40 and ε = 1 it is 0.874. Under Scott's rule K grows with n, so results get *worse* with more
  rows.
* **Choose it** to reproduce published results, with very few bins. **Do not** choose it otherwise:
  `perturbed-histogram` gets better with more rows.

Sources: Wasserman & Zhou (2010), "A statistical framework for differential privacy"; Bowen & Liu
(2020), §3.1.2, eqs 5 and 6.

**The multinomial–Dirichlet synthesizer: records from a posterior predictive distribution.**

1. Give each of the K allowed cells of the full table a prior weight of α = ñ/(e^ε − 1) records.
2. Draw ñ records, each one a real record's cell, a uniform cell, or a copy of an earlier synthetic
   record, with weights n, Kα and (so far) i. This is as if cell probabilities were drawn from their
   posterior Dirichlet(n_k + α), then records from these. With two cells it is the beta–binomial
   synthesizer.

* **Measures** nothing; what leaves is the records, and how they were drawn.
* **Public**: the schema with its structural zeros; the number of records drawn, or that number
  bought with noise. The prior follows from these and from ε.
* **Guarantee**: pure ε-DP, add/remove and replace; exact
  (`understudy.mechanisms.urn`). It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each. Under replace no smaller α would do.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** Shares are drawn towards 1/K with weight Kα/(n + Kα), and n does not help: α grows with
  the number of records. With K = 2 and ε = 1 the prior has weight 0.538 at n = ñ = 40, 100 or 1000;
  with K cells and small ε nearly 1/(1 + ε/K). Counts of an analyst's own can be put right, as the
  prior is published: the expected share of cell k is (n_k + α)/(n + Kα).
* **Choose it** for one binary variable or a handful of cells at ε of several units, where a record
  should never leave a noisy table behind, or to reproduce published results. **Do not** choose it
  for tables with many more cells than e^ε: the records are then little more than uniform.

Sources: Abowd & Vilhuber (2008), "How protective are synthetic data?"; Charest (2010), "How can we
analyze differentially-private synthetic datasets?" (beta–binomial); Bowen & Liu (2020), §3.1.1.

**The DP-prior synthesizer: independent records from smoothed shares.**

1. Give each of the K allowed cells of the full table a prior weight of a = 1/(e^(ε/ñ) − 1) records.
2. Draw ñ records independently with probabilities p_k = (n_k + a)/(n + Ka): each one a real
   record's cell with weight n, or a uniform cell with weight Ka.

* **Measures** nothing; what leaves is the records, and how they were drawn. The probabilities would
  reveal the counts exactly, and stay inside.
* **Public**: the schema with its structural zeros; the number of records drawn, or that number
  bought with noise. The prior follows from these and from ε.
* **Guarantee**: pure ε-DP, add/remove and replace; exact
  (`understudy.mechanisms.urn`). It is the drawing that protects, so no seed is
  accepted, and m sets have ε/m each.
* **Costs** occupied cells and records, up to 2⁶² cells.
* **Bias.** Shares are drawn towards 1/K with weight Ka/(n + Ka), and n does not help, as a is about
  ñ/ε: with K = 2 and ε = 1 the prior has weight 0.664 at n = ñ = 40 and 0.667 at 1000; with K cells
  about 1/(1 + ε/K). An analyst can put shares right, as the prior is published.
* **Choose it** to reproduce published results. `dirichlet` biases less at each ε, for a somewhat
  larger variance: its prior falls like e^−ε, this one only like 1/ε. **Do not** choose it for
  tables with more cells than ε: the records are then mostly uniform.

Source: McClure & Reiter (2012), "Differential privacy and statistical disclosure risk measures: an
investigation with binary synthetic data".

**The contingency table itself: records drawn from the exact full table, without privacy.**

A record is a real record's cell, drawn with replacement. The one extreme of the comparison of
synthesizers: every relation is kept, every rare record is shown.

* **Measures** exactly: the full table, by its occupied cells. It is not published as such.
* **Public**: the schema.
* **Guarantee**: none. Needs `allow_nonprivate`, and the release is stamped not private. Records in
  the release are real records, whole, but for numbers within their bins.
* **Costs** occupied cells and records; up to 2⁶² cells.
* **Combining.** Sets are drawn from the same table: their differences show the drawing alone, so
  a single set already says all there is.
* **Choose it** only as a yardstick, for what is lost by drawing records alone. **Do not** publish
  from it.

Sources: Park & Ghosh (2014), §2 and Table 1; Winkler (2003).

**The empirical distribution function, chosen by its Kolmogorov–Smirnov distance from the rows.**

1. Lay the cells out on a public line: the states of a column, or the allowed cells of the full
   table in a declared order of columns.
2. Choose the counts of the cells by the exponential mechanism: every vector of counts, weighted by
   e^(−ε·D/2), D the largest error of a cumulative count. Exact, without Markov chains
   (`understudy.papers.empirical_distribution`).
3. Draw records in proportion to the chosen counts; numbers uniformly within their bin.

* **Several columns.** `columns=independent` gives each column a distribution of its own, at an
  equal share of the budget, and draws the columns independently, given that no impossible
  combination occurs: no other relation between columns is kept. `columns=ordered` lays the full
  table out on one line, sorted by the columns of `order`, the first one first. The distance then is
  one along this line: the distribution of the first column is kept well, and what follows within
  its states less and less. Neither is the multivariate mechanism of the paper, which would need a
  Markov chain.
* **Measures** one distribution per column, or one in all.
* **Public**: the schema with its bins and structural zeros; the order; the number of rows, or that
  number bought with noise.
* **Guarantee**: pure ε-DP, or (ε, δ)-DP through zCDP if δ > 0; add/remove and replace.
* **Costs** about G²·T additions, G cells on a line, T ≈ 2G·log(n)/ε at most n: 0.05 s for a hundred
  cells and 50,000 rows at ε = 1, 15 s at the very most. A line has at most 16,384 cells.
* **Choose it** for a few ordered states, and to reproduce published results. **Do not** choose it
  for long lines: a cumulative count is off by about 1.2·G/ε, whereas with the noise of
  `independent`, summed up, it is off by about √G/ε (add/remove). Nor where error bars are needed:
  the choice has a bias of unknown size, so intervals are refused unless its error is small.

Sources: Wasserman & Zhou (2010), §4; Bowen & Liu (2020), §3.1.2, eq. 7.

**How a histogram chooses the bins of its numeric columns; shared by all histogram methods.**

* `schema`: the bins of the schema. A number: that many of equal width for each column.
* `sturges`: Sturges' rule, from the number of rows alone: the declared one, or `expected_rows`.
* `scott`: Scott's rule, with a **public** deviation σ, by default a sixth of the width of the
  bounds, and a public number of rows.
* `fd`: the rule of Freedman & Diaconis, with the interquartile range of a normal distribution of
  that public deviation.
* `bought`: Scott's rule with a noisy deviation, bought once for all sets at `bins_share` of the
  budget: for each column the table of its codes, spikes and numbers as one bin, a sum, and a
  scatter, at shares of 1, 1 and 8. It pays where n·s²/(c₁ − c₀)² is well above the noise that
  `plan` shows.
* In paper mode, `scott` takes the exact deviations of the rows, and `fd` their exact interquartile
  ranges. The number of bins then tells something about the rows that no ε covers; the guarantee
  says so and is conditional. Sturges' rule reads no row, and is the same in both modes.

Spreads that are bought or read are taken to lie between 1/50 of the width of the bounds and the
largest there can be (half of the width for a deviation, all of it for an interquartile range), so
that the largest possible table is known beforehand; that is the one that a plan shows. Edges that
rules need are kept.

The rules, with their sources, are below. Source: Bowen & Liu (2020), §3.1.2 and §4.2.

**How many bins of equal width a histogram takes: the three rules that Bowen & Liu compare.**

* **Sturges** (1926): K = ⌈1 + log₂ n⌉, from the number of records alone.
* **Scott** (1979): bins of width 3.49·σ·n^(−1/(2 + p)), σ the standard deviation of the column.
* **Freedman & Diaconis** (1981): bins of width 2·Q·n^(−1/(2 + p)), Q its interquartile range.

The exponent is 1/3 for one numeric column (p = 1). For p > 1 it is Scott's, by which the total
error of a histogram of p numbers falls fastest; the rule of Freedman & Diaconis is given for p = 1
only, and has the same exponent here. Sturges' rule has none: K bins for each column.

σ and Q are of the rows, hence private: see above for what takes their place.

Sources: Sturges (1926), "The choice of a class interval"; Scott (1979, 2015, §3.2 and §3.4);
Freedman & Diaconis (1981); Bowen & Liu (2020), §4.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from understudy.dp.budget import Budget, exact, split
from understudy.dp.confidential import terms_of
from understudy.dp.gate import Gate
from understudy.dp.perturbation import Mode
from understudy.dp.released import DrawnDistribution, NoisyMoment, NoisyTable, Released
from understudy.errors import MethodError
from understudy.mechanisms.sums import Moments
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.urn import Urn
from understudy.methods.base import (
    Estimate,
    Facts,
    Method,
    Names,
    NonAdaptiveMethod,
    Prepared,
    UrnMethod,
)
from understudy.methods.binning import MOST_BINS, bins_with_rules, numeric_columns
from understudy.methods.histogram import Laplace
from understudy.methods.plan import AnyGate, PlannedTable, PlanningGate, planned_charge
from understudy.models.model import Model
from understudy.models.tables import ProductModel, TableModel
from understudy.papers.empirical_distribution import CumulativeDistributions, require_drawable
from understudy.papers.exact import ExactDeviations, ExactFullTable, ExactQuartileRanges
from understudy.schema import NUMERIC, Schema


@final
@dataclass(frozen=True, kw_only=True)
class Dirichlet(UrnMethod):
    """The multinomial–Dirichlet synthesizer; its prior follows from the budget."""

    facts: ClassVar[Facts] = Facts(
        name="dirichlet",
        title="records from a Dirichlet–multinomial posterior",
        paper="Abowd & Vilhuber (2008); Charest (2010)",
        guarantee="pure ε; add/remove and replace",
        data="few cells; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Each record that was drawn is copied: it may be drawn again, as if it were a real one."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=True)


@final
@dataclass(frozen=True, kw_only=True)
class DPPrior(UrnMethod):
    """The DP-prior synthesizer; its prior follows from the budget."""

    facts: ClassVar[Facts] = Facts(
        name="dp-prior",
        title="independent records from smoothed shares",
        paper="McClure & Reiter (2012)",
        guarantee="pure ε; add/remove and replace",
        data="few cells; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Records are drawn independently: none is copied."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=False)


@final
@dataclass(frozen=True, kw_only=True)
class ContingencyTable(NonAdaptiveMethod):
    """The exact contingency table, as configured.

    Attributes:
        sets: always "free": all sets are drawn from the one table.
    """

    facts: ClassVar[Facts] = Facts(
        name="contingency-table",
        title="records drawn from the exact full table; not private",
        paper="Park & Ghosh (2014), Table 1",
        guarantee="none",
        data="any columns, up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    sets: Literal["free"] = "free"

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Take the exact full table."""
        self.require_numbered(gate.schema)
        cells = gate.ask(ExactFullTable())
        return lambda: TableModel.sparse(cells.value, gate.schema.domain)


@final
@dataclass(frozen=True, kw_only=True)
class EmpiricalCdf(Method):
    """The empirical CDF, as configured.

    Attributes:
        sets: "free": all sets are drawn from one noisy fit; "split": each has a fit of its own, at
            its share of the budget.
        columns: "independent": a distribution for each column; "ordered": one for the full table.
        order: all columns, the one that changes most slowly along the line first; the order of the
            schema if none are given. For columns=ordered.
    """

    facts: ClassVar[Facts] = Facts(
        name="empirical-cdf",
        title="distributions by the exponential mechanism",
        paper="Wasserman & Zhou (2010); Bowen & Liu (2020), §3.1.2",
        guarantee="pure ε, or (ε, δ); add/remove and replace",
        data="columns of few ordered states",
        cost="rows × columns + cells² × 1/ε",
        cost_class="slow",
    )

    sets: Literal["free", "split"] = "free"
    columns: Literal["independent", "ordered"] = "independent"
    order: Names = ()

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One distribution per line; the noise is that of a cumulative count."""
        asked = CumulativeDistributions(self._lines(schema))
        charges = asked.announce(terms_of(schema, budget), spend)
        for names, charge in zip(asked.lines, charges, strict=True):
            table = schema.table(names)
            require_drawable(names, table, schema.most_rows, charge.parameter.epsilon)
        return tuple(planned_charge(asked, charge, schema, budget) for charge in charges)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Draw the distribution of every line."""
        schema = gate.schema
        asked = CumulativeDistributions(self._lines(schema))
        drawn = [table.value for table in gate.ask(asked, spend=spend)]
        if self.columns == "ordered":
            return _table_model(drawn[0], schema)
        return ProductModel(schema.domain, tuple(table.counts for table in drawn))

    def _lines(self, schema: Schema) -> list[tuple[str, ...]]:
        if self.columns == "independent":
            if self.order:
                raise MethodError("The option order belongs to columns=ordered; set both.")
            return [(name,) for name in schema.names]
        order = self.order or schema.names
        if sorted(order) != sorted(schema.names):
            raise MethodError("The option order must name every column of the schema once.")
        return [order]


def _table_model(drawn: DrawnDistribution, schema: Schema) -> TableModel:
    """The chosen counts as a table over the columns in the order of the schema."""
    counts = drawn.counts.transpose([drawn.columns.index(name) for name in schema.names])
    weights = counts.reshape(-1)
    return TableModel(schema.domain, np.arange(weights.size, dtype=np.int64), weights)


WidthRule = Literal["scott", "fd"]
"""Rules that take a spread: a standard deviation (scott) or an interquartile range (fd)."""

WIDTHS: Final[dict[WidthRule, float]] = {"scott": 3.49, "fd": 2.0}
"""Width of a bin in spreads, for one record."""

QUARTILES: Final = 1.349
"""Interquartile range of a normal distribution, in standard deviations."""


def bins_by_width(
    rule: WidthRule,
    width: ArrayLike,
    spread: ArrayLike,
    n_rows: ArrayLike,
    n_numeric: int = 1,
) -> NDArray[np.int64]:
    """Numbers of bins by the rule of Scott, or of Freedman & Diaconis.

    Args:
        rule: which.
        width: of the bounds, any shape; all arguments are broadcast.
        spread: standard deviation or interquartile range, in the same unit.
        n_rows: number of rows; 0 counts as 1.
        n_numeric: numeric columns p.

    Returns:
        At least 1, and 1 where the spread is 0.

    Example:
        >>> bins_by_width("fd", 7.0, 1.349, [40, 100, 1000]).tolist()
        [9, 13, 26]
    """
    rows = np.maximum(np.asarray(n_rows, dtype=np.float64), 1)
    spreads = np.asarray(spread, dtype=np.float64)
    bin_width = WIDTHS[rule] * spreads * rows ** (-1 / (2 + n_numeric))
    wide = np.where(bin_width > 0, bin_width, np.inf)
    return np.maximum(np.ceil(np.asarray(width) / wide), 1).astype(np.int64)


def scott_bins(
    width: ArrayLike, deviation: ArrayLike, n_rows: ArrayLike, n_numeric: int = 1
) -> NDArray[np.int64]:
    """Numbers of bins by Scott's rule; see `bins_by_width`.

    Example:
        >>> scott_bins(7.0, 1.0, [40, 100, 1000]).tolist()
        [7, 10, 21]
    """
    return bins_by_width("scott", width, deviation, n_rows, n_numeric)


def sturges_bins(n_rows: ArrayLike) -> NDArray[np.int64]:
    """Numbers of bins by Sturges' rule; 1 for no row.

    Example:
        >>> sturges_bins([0, 1, 40, 64, 100, 1000]).tolist()
        [1, 1, 7, 7, 8, 11]
    """
    rows = np.maximum(np.asarray(n_rows, dtype=np.float64), 1)
    numbers: NDArray[np.int64] = np.ceil(1 + np.log2(rows)).astype(np.int64)
    return numbers


FINEST = 50
PUBLIC_DEVIATION = 6
_LARGEST: dict[WidthRule, int] = {"scott": 2, "fd": 1}  # of spreads: width over this
_WEIGHTS = (1, 1, 8)  # count, sum, scatter: what Scott's rule needs most is the last
_Spread = tuple[tuple[Released[NoisyTable], ...], tuple[Released[NoisyMoment], ...], Schema]


@dataclass(frozen=True, kw_only=True)
class Binned(Method):
    """Bin options of a histogram method.

    Attributes:
        bins: "schema"; "sturges", "scott" or "fd" for a rule; "bought"; or a number of bins for
            every numeric column.
        deviations: public standard deviation of some columns, for bins=scott and bins=fd; the
            others have a sixth of the width of their bounds.
        expected_rows: public guess of the number of rows, for the rules where it is private.
        bins_share: share of the budget that bins=bought may spend, once for all sets.
        mode: "paper" for the method as published, with what that leaves in.
    """

    bins: Literal["schema", "sturges", "scott", "fd", "bought"] | int = "schema"
    deviations: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = field(
        default_factory=dict
    )
    expected_rows: Annotated[int, Field(ge=1)] | None = None
    bins_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    mode: Mode = "strict"

    @property
    def needs_records(self) -> bool:
        """Quartiles are read off the numbers, as published."""
        return self.bins == "fd" and self.mode == "paper"

    def setup_share(self, schema: Schema) -> Fraction:
        """Nothing is bought unless bins are."""
        return exact(self.bins_share) if self.bins == "bought" else Fraction(0)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """For bins=bought a count, a sum and a scatter of each numeric column."""
        if self.bins != "bought":
            return ()
        self._require_bins(schema)
        gate = PlanningGate(schema, budget)
        _ask_spreads(gate, spend)
        return tuple(gate.steps)

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """The same rows in the chosen bins."""
        return super().setup(self._in_bins(gate, spend), spend, fits=fits)

    def _in_bins(self, gate: Gate, spend: Fraction) -> Gate:
        schema = gate.schema
        self._require_bins(schema)
        if self.bins == "bought":
            bought = _ask_spreads(gate, spend)
            spreads = {name: _noisy_deviation(spread) for name, spread in bought.items()}
        elif self.mode == "paper" and self.bins in ("scott", "fd"):
            spreads = _read_off(gate, self.bins)
        else:
            return gate.rebin(self._public_bins(schema))
        return gate.rebin(bins_with_rules(schema, self._by_rule(schema, spreads)))

    def bin_columns(self, schema: Schema) -> Schema:
        """The schema in the chosen bins; in the most there can be, if rows decide on them.

        Raises:
            MethodError: options that do not fit the schema.
        """
        self._require_bins(schema)
        bins = self._public_bins(schema)
        return schema.with_bins(bins) if bins else schema

    def _public_bins(self, schema: Schema) -> dict[str, int | tuple[object, ...]]:
        if self.bins == "schema":
            return {}
        names = numeric_columns(schema)
        if isinstance(self.bins, int):
            return bins_with_rules(schema, dict.fromkeys(names, self.bins))
        if self.bins == "sturges":
            number = int(sturges_bins(self._rows(schema)))
            return bins_with_rules(schema, dict.fromkeys(names, number))
        by_rows = self.bins == "bought" or self.mode == "paper"
        default = {name: _width(schema, name) / PUBLIC_DEVIATION for name in names}
        public = dict.fromkeys(names, 0.0) if by_rows else default | self.deviations
        if self.bins == "fd":
            public = {name: QUARTILES * deviation for name, deviation in public.items()}
        return bins_with_rules(schema, self._by_rule(schema, public, clipped=by_rows))

    def _by_rule(
        self, schema: Schema, spreads: Mapping[str, float], *, clipped: bool = True
    ) -> dict[str, int]:
        """Numbers of bins from deviations, or for bins=fd from interquartile ranges."""
        rule: WidthRule = "fd" if self.bins == "fd" else "scott"
        names, numbers = numeric_columns(schema), {}
        for name in names:
            width, spread = _width(schema, name), spreads[name]
            if clipped:
                spread = min(max(spread, width / FINEST), width / _LARGEST[rule])
            rows = self._rows(schema)
            numbers[name] = int(bins_by_width(rule, width, spread, rows, len(names)))
        return numbers

    def _rows(self, schema: Schema) -> int:
        rows = schema.n_rows if schema.rows == "public" else self.expected_rows
        if rows is None:
            raise MethodError(
                "This rule needs the number of rows, which is private here; give a public guess of "
                "it in the option expected_rows, or a number of bins."
            )
        return rows

    def _require_bins(self, schema: Schema) -> None:
        if isinstance(self.bins, int) and not 1 <= self.bins <= MOST_BINS:
            raise MethodError(f"The number of bins must lie between 1 and {MOST_BINS:,}.")
        names = numeric_columns(schema)
        unknown = [name for name in self.deviations if name not in names]
        if unknown:
            raise MethodError(
                f"The option deviations names {unknown[0]!r}, which is no numeric column."
            )
        if self.deviations and (self.bins not in ("scott", "fd") or self.mode == "paper"):
            raise MethodError(
                "The option deviations belongs to bins=scott or bins=fd, and mode=strict."
            )
        if self.bins == "bought" and not names:
            raise MethodError("There is no numeric column to choose bins for; take bins=schema.")


def _width(schema: Schema, name: str) -> float:
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    return column.bounds[1] - column.bounds[0]


def _moments(name: str) -> Moments:
    return Moments((name,), weights=_WEIGHTS[1:])


def _read_off(gate: Gate, rule: WidthRule) -> dict[str, float]:
    """The exact spread of each numeric column, unpaid, as published."""
    names = numeric_columns(gate.schema)
    if rule == "scott":
        spreads = gate.ask(ExactDeviations(names))
    else:
        spreads = gate.ask(ExactQuartileRanges(names))
    return {name: found.value for name, found in zip(names, spreads, strict=True)}


def _ask_spreads(gate: AnyGate, spend: Fraction) -> dict[str, _Spread]:
    """A noisy count, sum and scatter of each numeric column."""
    names, found = numeric_columns(gate.schema), {}
    gate.require(spend)
    for name, share in zip(names, split(spend, [1] * len(names)), strict=True):
        counted, summed = split(share, [_WEIGHTS[0], sum(_WEIGHTS[1:])])
        view = gate.rebin({name: 1})
        counts = view.ask(NoisyTables([(name,)], noise="geometric"), spend=counted)
        found[name] = counts, view.ask(_moments(name), spend=summed), view.schema
    return found


def _noisy_deviation(spread: _Spread) -> float:
    """A noisy standard deviation; 0 where noise leaves none."""
    (count,), (_, scatter), schema = spread
    n = _numbers(count.value, schema)
    variance = float(max(scatter.value.values[0], 0.0) / max(n - 1, 1))
    return math.sqrt(variance)


def _numbers(counted: NoisyTable, schema: Schema) -> float:
    """Noisy number of records in the single bin of a column."""
    column = schema.columns[counted.columns[0]]
    assert isinstance(column, NUMERIC)
    (place,) = (k for k, interval in enumerate(column.intervals) if not interval.spike)
    return float(counted.counts[place])


@final
@dataclass(frozen=True, kw_only=True)
class PerturbedHistogram(Binned, Laplace):
    """The perturbed histogram; bins are chosen in `Binned`, noise in `Laplace`.

    Attributes:
        sets: "free": all sets are drawn from one noisy fit; "split": each has a fit of its own, at
            its share of the budget.
    """

    facts: ClassVar[Facts] = Facts(
        name="perturbed-histogram",
        title="noise on every bin, numbers uniform within",
        paper="Wasserman & Zhou (2010); Bowen & Liu (2020), §3.1.2",
        guarantee="pure ε; add/remove and replace (conditional in paper mode)",
        data="few columns, numeric or mixed",
        cost="cells (dense), occupied cells + records (filtered, lazy)",
        cost_class="fast",
    )

    sets: Literal["free", "split"] = "free"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One table over all columns, in the chosen bins."""
        return super().plan(self.bin_columns(schema), spend, budget)


@final
@dataclass(frozen=True, kw_only=True)
class SmoothedHistogram(Binned, UrnMethod):
    """The smoothed histogram; bins are chosen in `Binned`, the prior by the budget.

    Attributes:
        sets: always "split": each set has draws of its own, at its share of the budget.
    """

    facts: ClassVar[Facts] = Facts(
        name="smoothed-histogram",
        title="independent records from a smoothed histogram",
        paper="Wasserman & Zhou (2010); Bowen & Liu (2020), §3.1.2",
        guarantee="pure ε; add/remove and replace",
        data="few bins, numeric or mixed; up to 2⁶² cells",
        cost="occupied cells + records",
        cost_class="fast",
    )

    sets: Literal["split"] = "split"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One step over all columns, in the chosen bins."""
        return super().plan(self.bin_columns(schema), spend, budget)

    def urn(self, columns: tuple[str, ...], n_rows: int) -> Urn:
        """Records are drawn independently: the shares are those of `dp-prior`, over bins."""
        return Urn(columns=columns, n_rows=n_rows, reinforced=False)
