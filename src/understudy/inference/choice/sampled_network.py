"""The Bayesian network that the sets of a release were drawn from, if they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from understudy.functions.declared_network import Edge
from understudy.methods import network
from understudy.release import Release


def network_of(release: Release) -> tuple[Edge, ...] | None:
    """The network behind a release; None where its method has none.

    Args:
        release: the release; its options or its tables tell.
    """
    manifest = release.manifest
    tables = dict.fromkeys(one.columns for one in release.measurements if one.kind == "table")
    return network(manifest.method, manifest.options, release.schema, tuple(tables))


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
