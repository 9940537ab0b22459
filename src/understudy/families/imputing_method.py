"""Methods that impute: each column from an elastic-net regression on the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from understudy.families.effort import Effort, expected_rows
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Method
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.mechanisms.records.imputers import Imputation
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ImputingMethod(Method):
    """A method that imputes.

    Attributes:
        sweeps: how often each column of a record is drawn.
        penalty: λ of the elastic net, of the mean loss of a row; found by cross-validation if None,
            or 3/n of fewer than 100 rows.
        mixing: share of the absolute penalty, from 0 (ridge) to 1 (lasso).
        most_rows: fitted to a random choice of so many rows, if there are more.
    """

    sweeps: Annotated[int, Field(ge=1)] = 1
    penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    mixing: Annotated[float, Field(ge=0, le=1)] = 0.5
    most_rows: Annotated[int, Field(ge=1)] = 10_000

    @property
    def imputation(self) -> Imputation:
        """How columns are imputed."""
        return Imputation(
            sweeps=self.sweeps,
            penalty=self.penalty,
            mixing=self.mixing,
            most_rows=self.most_rows,
        )

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Time on two busy cores, with coefficients, a chunk of probabilities and coded rows."""
        states, d, n = sum(schema.sizes), len(schema.names), expected_rows(schema)
        fitted = min(n, self.most_rows)
        fits = 1 if self.penalty is not None else 3
        seconds = 1e-7 * fits * fitted * states * d + 6e-9 * n * self.sweeps * states * d
        return Effort((8 * states**2 + 8 * n * d + 10**8) / 1e6, seconds)
