"""Which columns a column is drawn given: declared one by one, or the foremost of a public order."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.errors import MethodError
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
        column, _, listed = (part.strip() for part in entry.partition("<-"))
        key = tuple(part.strip() for part in listed.split("&")) if listed else ()
        for name in (column, *key):
            if name not in schema.names:
                raise MethodError(
                    f"The option keys names {name!r}, which is no column; write it like "
                    '"job<-age & sex, income<-job".'
                )
        if column in keys:
            raise MethodError(f"The option keys has the column {column!r} twice.")
        keys[column] = key
    return keys


def foremost_keys(
    schema: Schema, order: Sequence[str], key_limit: float
) -> dict[str, tuple[str, ...]]:
    """For each column the foremost others of an order, as long as their keys stay few.

    Args:
        schema: the columns.
        order: columns, the most telling first; those it lacks follow in the order of the schema.
        key_limit: most values of a key; a column that would exceed it ends the key.

    Raises:
        MethodError: an order with an unknown or repeated column.
    """
    for name in order:
        if name not in schema.names:
            raise MethodError(f"The option order names {name!r}, which is no column.")
    if len(set(order)) < len(order):
        raise MethodError("The option order has a column twice.")
    ranked = (*order, *(name for name in schema.names if name not in order))
    return {name: _foremost(schema, name, ranked, key_limit) for name in schema.names}


def _foremost(
    schema: Schema, column: str, ranked: Sequence[str], key_limit: float
) -> tuple[str, ...]:
    key, n_keys = [], 1
    for name in ranked:
        if name == column:
            continue
        n_keys *= schema.columns[name].size
        if n_keys > key_limit:
            break
        key.append(name)
    return tuple(key)


def sweep_of(schema: Schema, keys: Sequence[str], order: Sequence[str], key_limit: float) -> Sweep:
    """The sweep of these options.

    Raises:
        MethodError: options that contradict each other, or do not fit the schema.
    """
    if keys and order:
        raise MethodError("The option keys says all that order would; leave one of them out.")
    chosen = declared_keys(schema, keys) if keys else foremost_keys(schema, order, key_limit)
    return Sweep.of(schema, chosen)
