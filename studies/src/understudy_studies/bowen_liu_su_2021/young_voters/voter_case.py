"""What a table brings to be compared on: rows, schema, the columns that matter, a regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import polars as pl

from understudy.evaluate.comparison import Rows, code_table
from understudy.evaluate.robust_regression import Fit
from understudy.schema import Schema
from understudy_studies.bowen_liu_su_2021.young_voters import population, standin
from understudy_studies.measures.difference_in_differences import Model, fit_table

SIMULATED, STAND_IN = "simulated voters", "CPS sample"


@dataclass(frozen=True)
class Case:
    """A table that methods are compared on.

    Attributes:
        schema: its public schema.
        rows: gives its rows.
        order: columns that STEPS divides by, most important first.
        model: the difference in differences.
        words: what the table is, in a sentence or two.
    """

    schema: Schema
    rows: Callable[[], pl.DataFrame]
    order: tuple[str, str, str]
    model: Model
    words: str

    @property
    def n_rows(self) -> int:
        """Number of rows, which is public."""
        return self.schema.n_rows or 0

    @cached_property
    def without_zeros(self) -> Schema:
        """The same schema, as it is for somebody who does not know which cells cannot occur.

        Sets are measured by it: with structural zeros a record in one of them would count as one
        outside the domain, in all columns of the rule.
        """
        return self.schema.model_copy(update={"forbidden": ()})

    @cached_property
    def coded(self) -> Rows:
        """The rows as state numbers, one array for each column."""
        return code_table(self.without_zeros, self.rows())

    @cached_property
    def original_fit(self) -> Fit:
        """The regression on the rows themselves."""
        return fit_table(self.coded, self.without_zeros, self.model)

    @property
    def n_pairs(self) -> int:
        """Pairs of columns."""
        p = len(self.schema.names)
        return p * (p - 1) // 2


@cache
def find(name: str) -> Case:
    """The case of this name, `SIMULATED` or `STAND_IN`."""
    if name == SIMULATED:
        return Case(
            schema=population.schema(),
            rows=population.voters,
            order=("voted", "college", "preregistration"),
            model=Model("voted", "preregistration", "registered", ("age",)),
            words=population.WORDS,
        )
    return Case(
        schema=standin.schema(),
        rows=standin.rows,
        order=("voted", "college", "hispanic"),
        model=Model("voted", "hispanic", "registered", ("age",)),
        words=standin.WORDS,
    )
