"""A question to synthetic sets, as it was asked: once to a release, and again to each replicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from understudy.inference.estimates import estimands, formulas
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.estimates.estimators import (
    Estimator,
    SetEstimates,
    estimate_by,
    estimate_sets,
)
from understudy.schema import Schema


@dataclass(frozen=True)
class Question:
    """An estimand, or a function of the analyst's own.

    Attributes:
        kind: "mean" and the like; "function".
        formula: as it is shown.
        columns: that are used.
        asked: what is estimated.
    """

    kind: str
    formula: str
    columns: tuple[str, ...]
    asked: Estimand | Estimator

    @classmethod
    def of(
        cls, kind: str | Estimator, formula: str, schema: Schema, *, probability: float = 0.5
    ) -> Question:
        """Read a question; arguments as in `understudy.inference.analysis.analyze_release`.

        Raises:
            InferenceError: unknown kind or name, or a formula that cannot be read.
        """
        if callable(kind):
            columns = formulas.crossed(formula, schema.names) if formula else schema.names
            name = getattr(kind, "__name__", "function")
            return cls("function", f"{name} ({', '.join(columns)})", columns, kind)
        estimand = estimands.parse(kind, formula, schema, probability=probability)
        return cls(kind, formula, estimand.columns, estimand)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose numbers matter, not only their states."""
        if isinstance(self.asked, Estimand) and self.kind in estimands.SHARES:
            return self.columns if self.asked.expression else ()
        return self.columns

    def answer(self, tables: Sequence[pl.DataFrame], schema: Schema) -> SetEstimates:
        """Estimates from each set.

        Raises:
            InferenceError: an estimate that cannot be computed.
        """
        if isinstance(self.asked, Estimand):
            return estimate_sets(self.asked, tables, schema)
        return estimate_by(self.asked, self.columns, tables, schema)
