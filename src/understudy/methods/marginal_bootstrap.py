"""Marginal Bayesian bootstrap: columns drawn independently from their exact tables, not private.

For each set, and each column by itself, draw shares of its states from Dirichlet(counts), which is
the Bayesian bootstrap; then draw records, columns independently, given that no impossible
combination occurs. The other extreme of the comparison of synthesizers: no relation is kept.

* **Measures** exactly: the one-way table of each column. They are not published as such.
* **Public**: the schema with its structural zeros.
* **Guarantee**: none, though it looks harmless: a state that nobody has never occurs, so one that
  occurs was somebody's. Needs `allow_nonprivate`, and the release is stamped not private. With a
  prior, Dirichlet(counts + α), ñ records of one column would be ε/M-DP for α ≥ ñ/(e^(ε/M) − 1), and
  M columns together ε-DP (`understudy.privacy.mechanisms.records.urn`), were there no structural
  zeros to condition on. `independent` is the private method to take.
* **Costs** rows × columns.
* **Combining.** Each set has shares of its own, drawn around those of the rows: T = ū + b/m is
  valid for shares and moments of single columns. Relations between columns are lost in all sets.
* **Choose it** only as a yardstick. **Do not** publish from it.

Sources: Rubin (1981), "The Bayesian bootstrap"; Park & Ghosh (2014), §2 and Table 1; McClure &
Reiter (2012) for the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from understudy.families.measurement_plan import PlannedTable, announced
from understudy.families.method import Facts, Method
from understudy.models import Model, ProductModel
from understudy.models.model import PosteriorPredictive
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.not_dp.exact_statistics import ExactTables
from understudy.schema import Domain, Schema


@final
@dataclass(frozen=True, kw_only=True)
class MarginalBootstrap(Method):
    """Configuration.

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
    independent: ClassVar[bool] = True

    sets: Literal["posterior"] = "posterior"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """The exact table of each column."""
        tables = _tables(schema)
        return announced(tables, schema, spend, budget, tables.marginals)

    def fit(self, gate: Gate, spend: Fraction, n_rows: int) -> Model:
        """Take the exact table of each column."""
        tables = gate.ask(_tables(gate.schema))
        counts = [table.value.counts for table in tables]
        return PosteriorPredictive(lambda rng: _drawn(gate.schema.domain, counts, rng))


def _tables(schema: Schema) -> ExactTables:
    return ExactTables([(name,) for name in schema.names])


def _drawn(
    domain: Domain, counts: Sequence[NDArray[np.int64]], rng: np.random.Generator
) -> ProductModel:
    """Independent columns with shares from Dirichlet(counts): gamma numbers, up to their sum."""
    return ProductModel(domain, tuple(rng.standard_gamma(alpha) for alpha in counts))
