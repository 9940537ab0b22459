"""A population whose values are the truth, and the words of its schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from understudy.schema import Schema

Table = dict[str, Any]

CODEBOOK: Table = {"source": "codebook", "reviewed": True}
"""Where levels and bounds come from."""


@dataclass(frozen=True)
class Population:
    """People, and what is public about them.

    Attributes:
        people: all of them.
        declared: the schema without the number of rows.
        beyond: columns with numbers above their upper bound.
    """

    people: pl.DataFrame
    declared: Table
    beyond: tuple[str, ...] = ()

    def schema(self, rows: str, n: int) -> Schema:
        """The schema, with a "private" or "public" number of rows."""
        head = {"rows": rows} | ({"n_rows": n} if rows == "public" else {})
        return Schema.model_validate(self.declared | head)


def number(
    lower: float, upper: float, *bins: float, kind: str = "integer", **more: object
) -> Table:
    """A column of numbers; without bins it has the default ones."""
    said = {"bins": bins} if bins else {}
    return {"kind": kind, "lower": lower, "upper": upper, **said, **more, **CODEBOOK}


def levels(*names: object, kind: str = "categorical", **more: object) -> Table:
    """A column of levels."""
    return {"kind": kind, "levels": names, **more, **CODEBOOK}


def truth_value() -> Table:
    """A column of truth values."""
    return {"kind": "boolean", **CODEBOOK}


def absent(values: np.ndarray, where: np.ndarray) -> pl.Series:
    """Numbers, some of them absent."""
    return pl.Series(np.where(where, np.nan, values)).fill_nan(None)
