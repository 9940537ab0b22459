"""Rows that are in domain in some columns: what mechanisms see that compare whole records.

Whether a row is left out depends on that row alone, so neighbouring tables stay neighbours, or
become equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Domain, Schema

Codes = NDArray[np.integer[Any]]


def known_rows(coded: Sequence[Codes], schema: Schema, columns: Sequence[str]) -> list[Codes]:
    """States of rows with a state of each of some columns, in a combination that can occur.

    Args:
        coded: states of all rows, one array of shape (n,) per column of the schema.
        schema: of the rows.
        columns: names.

    Returns:
        One array per column asked for, each of shape (rows kept,).
    """
    place = {name: j for j, name in enumerate(schema.names)}
    domain = schema.table(tuple(columns))
    states = [coded[place[name]] for name in columns]
    inside = are_known(states, domain)
    return [column[inside] for column in states]


def are_known(states: Sequence[Codes], domain: Domain) -> NDArray[np.bool_]:
    """Which rows have a state of each column, in a combination that can occur; shape (n,).

    Args:
        states: of all rows, one array of shape (n,) per column of the domain.
        domain: of these columns.
    """
    inside = ~domain.forbidden(states)
    for column, size in zip(states, domain.sizes, strict=True):
        inside &= column < size
    return inside
