"""Released values whose arrays cannot be written, where those of a release are shown."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TypeVar, cast

import numpy as np

T = TypeVar("T")


def read_only(value: T, *, copied: bool = False) -> T:
    """The same value, with an array that cannot be written in the place of each array of it.

    Args:
        value: plain, an array, or tuples, lists, dictionaries and frozen dataclasses of these;
            whatever else is in it stays what it is.
        copied: whether arrays have memory of their own.
    """
    return cast(T, _closed(value, copied=copied))


def _closed(value: object, *, copied: bool) -> object:
    if isinstance(value, np.ndarray):
        array = value.copy() if copied else value.view()
        array.flags.writeable = False
        return array
    if type(value) in (tuple, list):
        parts = cast("tuple[object, ...] | list[object]", value)
        return type(parts)(_closed(part, copied=copied) for part in parts)
    if type(value) is dict:
        return {key: _closed(part, copied=copied) for key, part in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    made = object.__new__(type(value))  # not made anew: its arrays were checked when it was
    for field in fields(value):
        object.__setattr__(made, field.name, _closed(getattr(value, field.name), copied=copied))
    return made
