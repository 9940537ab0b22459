"""What a table brings to be compared on: rows, schema, the columns that matter, a regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import polars as pl

from understudy.schema import Schema
from understudy_studies.bowen_liu_su_2021.young_voters import population, standin
from understudy_studies.measures.difference_in_differences import Model

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
