"""Networks of columns: each column with its parents, parents first."""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[str, tuple[str, ...]]
"""A column and its parents."""


def require_network(edges: Sequence[Edge], names: Sequence[str]) -> None:
    """Refuse edges that are no network of these columns.

    Args:
        edges: each column with its parents.
        names: of all columns.

    Raises:
        ValueError: a column that is absent, stands twice, or stands before one of its parents.
    """
    seen: set[str] = set()
    for column, parents in edges:
        if column in seen or not set(parents) <= seen or len(set(parents)) < len(parents):
            raise ValueError("each column stands once in a network, after its parents")
        seen.add(column)
    if seen != set(names):
        raise ValueError("a network has all columns of the schema")
