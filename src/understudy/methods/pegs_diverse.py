"""Gibbs sampling from ℓ-diverse rows: syntactic, without any privacy guarantee.

* **Draws** each record from a uniform seed, column after column again, given the key columns. Rows
  of sensitive columns get the smallest weight in each state at which the entropy of their draws
  reaches log ℓ; rows of other columns are used as they are.
* **Public**: schema, keys, their order, ℓ. The exact tables are not published as such.
* **Guarantee**: none. ℓ-diversity is a property of the rows, not of what an outsider learns; it is
  **not differential privacy** (`understudy.privacy.not_dp.l_diverse_gibbs`). Needs
  `allow_nonprivate`, and the release is stamped not private. Where the schema forbids combinations,
  even the syntactic promise is about rows before forbidden states are left out.
* **Costs** like `pegs`.
* **Choose it** to compare with older practice. **Do not** publish from it.

Sources: Park & Ghosh (2014), §3.3; Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, final

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.gibbs_family import GibbsMethod
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts, Names
from understudy.families.paid_records import PaidRecords
from understudy.models import Model
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.mechanisms.records.key_counts import table_names
from understudy.privacy.not_dp.l_diverse_gibbs import DiverseRows
from understudy.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class PegsDiverse(GibbsMethod):
    """Configuration; `order`, `keys` and `key_limit` are in `GibbsMethod`.

    Attributes:
        diversity: ℓ, at most the number of states of each sensitive column.
        sensitive: columns whose rows are made ℓ-diverse; all columns if none is named.
        sweeps: how often each column is drawn for one record.
    """

    facts: ClassVar[Facts] = Facts(
        name="pegs-diverse",
        title="Gibbs sampling from l-diverse rows; syntactic, not private",
        paper="Park & Ghosh (2014), §3.3",
        guarantee="none",
        data="many categorical columns",
        cost="rows × columns + records × sweeps × columns",
        cost_class="fast",
    )
    private: ClassVar[bool] = False

    diversity: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 2.0
    sensitive: Names = ()
    sweeps: Annotated[int, Field(ge=1)] = 1

    def mechanism(self, schema: Schema, n_rows: int) -> DiverseRows:
        """The named mechanism.

        Raises:
            MethodError: an unknown column, or one with fewer states than ℓ.
        """
        for name in self.sensitive:
            if name not in schema.names:
                raise MethodError(f"The option sensitive names {name!r}, which is no column.")
        chosen = self.sensitive or schema.names
        for name in chosen:
            if (size := schema.columns[name].size) < self.diversity:
                raise MethodError(
                    f"The column {name!r} has {size} states, so its rows cannot be "
                    f"{self.diversity:g}-diverse; take diversity={size} or less, or name the "
                    "columns that are to be so with the option sensitive."
                )
        places = tuple(j for j, name in enumerate(schema.names) if name in chosen)
        return DiverseRows(
            sweep=self.sweep(schema),
            diversity=self.diversity,
            sensitive=places,
            n_rows=n_rows,
            sweeps=self.sweeps,
        )

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The exact table of each column."""
        asked = self.mechanism(schema, 1)
        how = {"form": Form.SWEEPS, "records": True}
        return announced(asked, schema, spend, budget, table_names(asked.sweep), **how)

    @property
    def turns(self) -> int:
        """How often each column is drawn for one record."""
        return self.sweeps

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """What ℓ-diversity is not."""
        cut = {name for _, box in schema.boxes for name in box}
        named = [name for name in self.sensitive or schema.names if name in cut]
        limits = (
            f"Where forbidden combinations leave fewer states of {', '.join(named)} open, what is "
            "drawn from is less diverse than its row.",
        )
        return (
            "l-diversity is a property of the rows that records are drawn from, not of what an "
            "outsider learns; it is not differential privacy.",
            *limits * bool(named),
        )

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Draw the records through the gate."""
        return PaidRecords.of(gate.ask(self.mechanism(gate.schema, n_rows)))
