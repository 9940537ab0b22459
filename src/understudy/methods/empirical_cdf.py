"""The empirical distribution function, chosen by its Kolmogorov–Smirnov distance from the rows.

1. Lay the cells out on a public line: the states of a column, or the allowed cells of the full
   table in a declared order of columns.
2. Choose the counts of the cells by the exponential mechanism: every vector of counts, weighted by
   e^(−ε·D/2), D the largest error of a cumulative count. Exact, without Markov chains
   (`understudy.privacy.mechanisms.choices.empirical_distribution`).
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
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np

from understudy.errors import MethodError
from understudy.families.measurement_plan import Form, PlannedTable, planned_charge
from understudy.families.method import Facts, Method, Names
from understudy.models import Model, ProductModel, TableModel
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.choices.empirical_distribution import (
    CumulativeDistributions,
    require_drawable,
)
from understudy.privacy.released import DrawnDistribution
from understudy.privacy.terms import terms_of
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class EmpiricalCdf(Method):
    """Configuration.

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
        lines = self._lines(schema)
        asked, terms = CumulativeDistributions(lines), terms_of(schema, budget)
        charges = asked.announced(terms, spend)
        n_rows = schema.n_rows if schema.rows == "public" else schema.row_limit
        for names, charge in zip(lines, charges, strict=True):
            require_drawable(names, schema.table(names), n_rows, charge.parameter.epsilon)
        return tuple(
            planned_charge(names, charge, budget, form=Form.DISTRIBUTION)
            for names, charge in zip(lines, charges, strict=True)
        )

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
