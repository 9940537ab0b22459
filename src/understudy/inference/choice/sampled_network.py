"""Ancestors in the Bayesian network that the sets of a release were drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from understudy.functions.declared_network import Edge


def ancestors(network: Sequence[Edge], columns: Iterable[str]) -> set[str]:
    """Some columns and all that they descend from.

    Args:
        network: each column with its parents, which stand before it.
        columns: names.

    Example:
        >>> sorted(ancestors((("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ())), ["c"]))
        ['a', 'b', 'c']
    """
    found = set(columns)
    for column, parents in reversed(network):
        if column in found:
            found.update(parents)
    return found
