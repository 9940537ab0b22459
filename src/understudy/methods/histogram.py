"""The Laplace sanitizer: noise on every cell of the full cross-tabulation.

1. Count all K allowed cells; add noise to each, empty ones included; set negative ones to 0.
2. Draw records in proportion to what is left.

* **Forms.** `dense` writes all cells out and publishes them. `filtered` keeps the cells that reach
  a public threshold, so that huge sparse tables keep their signal. `lazy` draws records from the
  very distribution of the dense form without writing it out; for huge tables nearly all of them
  fall into cells that noise alone has filled, which is what the sanitizer does there. `auto` is
  dense up to four million cells and filtered beyond.
* **Measures** one table over all columns, and the out-of-domain count.
* **Public**: the schema with its structural zeros; the threshold.
* **Guarantee**: pure ε-DP, both neighbouring relations; conditional in paper mode. Skipping empty
  cells would reveal which combinations occur and has no finite ε; no form does it.
* **Costs**: K cells (dense); occupied cells and records (filtered, lazy), up to 2⁶² cells.
* **Choose it** for few columns or small tables, where it keeps every association. **Do not**
  choose it when the noise mass that `plan` shows exceeds the number of records.

Sources: Bowen & Liu (2020), §3.1.1; Dwork, McSherry, Nissim & Smith (2006); for the filtered form
Cormode, Procopiuc, Srivastava & Tran (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from understudy.dp.budget import Budget
from understudy.dp.calibration import calibrate
from understudy.dp.distributions import DiscreteGaussian
from understudy.dp.mechanism import Form
from understudy.dp.perturbation import Mode
from understudy.errors import MethodError
from understudy.mechanisms.sparse_tables import LazyTable, ThresholdTable, threshold_for
from understudy.mechanisms.tables import MAX_CELLS, NoisyTables
from understudy.methods.base import (
    DENSE_CELLS,
    Beside,
    Estimate,
    Facts,
    NonAdaptiveMethod,
    PaidRecords,
    Tables,
)
from understudy.methods.plan import AnyGate
from understudy.models.model import Model
from understudy.models.tables import TableModel
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Laplace(NonAdaptiveMethod):
    """The Laplace sanitizer, as configured.

    Attributes:
        form: "dense" writes every noisy cell out; "filtered" keeps those above a public threshold;
            "lazy" keeps none, for the records alone; "auto": dense up to 2²² cells, else filtered.
        noise: "geometric" (whole numbers) or "laplace" (on a fine public lattice).
        threshold: public threshold of the filtered form, in records; None derives it from the
            number of cells and `spurious`.
        spurious: how many empty cells may survive the threshold on average.
        sets: "free": all sets are drawn from one noisy fit; "split": each has a fit of its own, at
            its share of the budget; always "split" with mode=paper.
        mode: "strict", or "paper" for the noise as published: continuous, and of scale 1/ε although
            the number of rows is public.
    """

    facts: ClassVar[Facts] = Facts(
        name="laplace",
        title="noise on every cell of the full table",
        paper="Bowen & Liu (2020), §3.1.1",
        guarantee="pure ε; add/remove and replace (conditional in paper mode)",
        data="few columns; filtered and lazy up to 2⁶² cells",
        cost="cells (dense), occupied cells + records (filtered, lazy)",
        cost_class="fast",
    )

    sets: Literal["free", "split"] = "free"
    form: Literal["auto", "dense", "filtered", "lazy"] = "auto"
    noise: Literal["geometric", "laplace"] = "geometric"
    threshold: Annotated[int, Field(ge=1)] | None = None
    spurious: Annotated[float, Field(gt=0)] = 10.0
    mode: Mode = "strict"

    def __post_init__(self) -> None:
        """As published each set is made by itself."""
        if self.mode == "paper":
            object.__setattr__(self, "sets", "split")

    def can_resume(self, schema: Schema) -> bool:
        """Unless the whole table is written out, and has more than 2²² cells."""
        return self._form(schema) is not Form.DENSE or schema.domain.n_cells <= DENSE_CELLS

    def measure(self, gate: AnyGate, spend: Fraction, n_rows: int) -> Estimate:
        """Measure the full table, dense or filtered; draw records from it where it is lazy."""
        schema = gate.schema
        self._require(schema, gate.budget)
        form = self._form(schema)
        if form is Form.LAZY:
            lazy = LazyTable(columns=schema.names, n_rows=n_rows, noise=self.noise)
            records = gate.ask(lazy, spend=spend)
            return lambda: PaidRecords.of(records)
        if form is Form.FILTERED:
            threshold = self._threshold(schema, spend, gate.budget)
            filtered = ThresholdTable(schema.names, threshold, noise=self.noise)
            cells = gate.ask(filtered, spend=spend)
            return lambda: TableModel.sparse(cells.value, schema.domain)
        dense = NoisyTables([schema.names], noise=self.noise, mode=self.mode)
        tables = gate.ask(dense, spend=spend)
        return lambda: TableModel.dense(tables[0].value, schema.domain)

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The table, in the dense form; the others do not release every cell."""
        return TableModel.dense(tables[0], schema.domain) if tables else None

    def _form(self, schema: Schema) -> Form:
        if self.mode == "paper":
            return Form.DENSE
        if self.form != "auto":
            return Form(self.form)
        return Form.DENSE if schema.domain.n_cells <= DENSE_CELLS else Form.FILTERED

    def _require(self, schema: Schema, budget: Budget) -> None:
        self.require_pure(budget)
        if self.mode == "paper" and self.form not in ("auto", "dense"):
            raise MethodError("mode=paper writes the whole table out; leave form at dense.")
        if self.threshold is not None and self._form(schema) is not Form.FILTERED:
            raise MethodError("The option threshold belongs to form=filtered; set both.")
        self.require_numbered(schema)
        if self._form(schema) is Form.DENSE and schema.domain.n_cells > MAX_CELLS:
            raise MethodError(
                f"The full table has {schema.domain.n_cells:.3g} cells, too many to write out (at "
                f"most {MAX_CELLS:,}); take form=filtered or form=lazy, or coarser bins."
            )

    def _threshold(self, schema: Schema, spend: Fraction, budget: Budget) -> int:
        if self.threshold is not None:
            return self.threshold
        distribution = calibrate(
            self.noise,
            spend=spend,
            accounting=budget.accounting,
            neighbours=schema.neighbours,
        )
        assert not isinstance(distribution, DiscreteGaussian)
        return threshold_for(schema.domain.n_allowed, distribution.scale, self.spurious)
