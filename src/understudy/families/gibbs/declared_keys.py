"""Which columns a column is drawn given: declared one by one, or the foremost of a public order."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.errors import MethodError
from understudy.families.networks.network_options import edge
from understudy.schema import Schema, Sweep


def declared_keys(schema: Schema, entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Keys in words: "job<-age & sex", "age<-job"; a column without an entry has no key.

    Args:
        schema: the columns.
        entries: one for each column that has a key.

    Raises:
        MethodError: an entry that cannot be read, or names what is no column.
    """
    keys: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        column, key = edge(schema, entry, "keys", "job<-age & sex, income<-job")
        if column in keys:
            raise MethodError(f"The option keys has the column {column!r} twice.")
        keys[column] = key
    return keys


def ranked_columns(schema: Schema, order: Sequence[str]) -> tuple[str, ...]:
    """All columns in the order in which keys take them; those that an order lacks come last.

    Args:
        schema: the columns.
        order: some of them, the most telling first.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    for name in order:
        if name not in schema.names:
            raise MethodError(f"The option order names {name!r}, which is no column.")
    if len(set(order)) < len(order):
        raise MethodError("The option order has a column twice.")
    return (*order, *(name for name in schema.names if name not in order))


def foremost_key(
    schema: Schema, column: str, ranked: Sequence[str], key_limit: float
) -> tuple[str, ...]:
    """The foremost columns beside one, as long as their key has few enough values.

    Args:
        schema: the columns.
        column: the one.
        ranked: columns, the most telling first.
        key_limit: most values of the key; a column that would exceed it ends the key.
    """
    key, n_keys = [], 1
    for name in ranked:
        if name == column:
            continue
        n_keys *= schema.columns[name].size
        if n_keys > key_limit:
            break
        key.append(name)
    return tuple(key)


def foremost_keys(
    schema: Schema, order: Sequence[str], key_limit: float
) -> dict[str, tuple[str, ...]]:
    """The foremost key of each column (`ranked_columns`, `foremost_key`).

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    ranked = ranked_columns(schema, order)
    return {name: foremost_key(schema, name, ranked, key_limit) for name in schema.names}


def require_one_of(keys: Sequence[str], order: Sequence[str]) -> None:
    """Refuse keys beside an order.

    Raises:
        MethodError: both are given.
    """
    if keys and order:
        raise MethodError("The option keys says all that order would; leave one of them out.")


def sweep_of(schema: Schema, keys: Sequence[str], order: Sequence[str], key_limit: float) -> Sweep:
    """The sweep of these options.

    Raises:
        MethodError: options that contradict each other, or do not fit the schema.
    """
    require_one_of(keys, order)
    chosen = declared_keys(schema, keys) if keys else foremost_keys(schema, order, key_limit)
    return Sweep.of(schema.names, schema.domain, chosen)
