"""Released values as plain data that JSON can hold, and back: type, shape and every bit.

What can be packed is listed here; anything else is refused, so that nothing confidential can reach
a journal by mistake (`Confidential` and exact tables are not on the list).
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel

from understudy.privacy.accounting.ledger import Entry
from understudy.privacy.mechanism import Outcome
from understudy.privacy.mechanisms.sums.linear_regression import NoisyRegression
from understudy.privacy.mechanisms.sums.normal_equations import NormalEquations
from understudy.privacy.released import Noise, Published, Records, Released

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Entry, Noise, Outcome, Records, Released),
        *(NoisyRegression, NormalEquations),
        *get_args(Published),
    )
}
_NUMBERS = "biuf"
"""Kinds of numpy's numbers: bool, signed, unsigned, floating."""


def pack(value: Any) -> Any:
    """A value as plain data.

    Args:
        value: None, bool, int, float, str, fraction, date, array of numbers; a tuple, list or
            mapping of such; a released value, what it holds, or a ledger entry.

    Raises:
        TypeError: anything else.

    Example:
        >>> pack((1, Fraction(1, 3)))
        {'tuple': [1, {'fraction': '1/3'}]}
    """
    kind = type(value)
    if kind in _KINDS.values():
        content = {field.name: pack(getattr(value, field.name)) for field in fields(kind)}
        return {"kind": kind.__name__, "content": content}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [pack(item) for item in value]}
    if isinstance(value, Mapping):
        return {"map": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _packed_array(np.asarray(value), scalar=isinstance(value, np.generic))
    return _packed_atom(value)


def _packed_atom(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if type(value) is datetime.date:
        return {"date": value.isoformat()}
    raise TypeError(f"A {type(value).__name__} cannot be written into a journal.")


def _packed_array(array: np.ndarray[Any, Any], *, scalar: bool) -> dict[str, Any]:
    if array.dtype.kind not in _NUMBERS:
        raise TypeError("Only arrays of numbers can be written into a journal.")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    name = "scalar" if scalar else "array"
    return {name: data, "dtype": array.dtype.str, "shape": list(array.shape)}


def unpack(data: Any) -> Any:
    """The value that `pack` was given.

    Raises:
        ValueError: plain data that `pack` did not make.
    """
    if not isinstance(data, dict):
        return data
    name, content = next(iter(data.items()))
    if name == "kind":
        return _KINDS[content](**{key: unpack(item) for key, item in data["content"].items()})
    if name in ("array", "scalar"):
        flat = np.frombuffer(base64.b64decode(content), dtype=np.dtype(data["dtype"]))
        array = flat.reshape(data["shape"]).copy()
        return array if name == "array" else array[()]
    if name in ("tuple", "list"):
        inner = [unpack(item) for item in content]
        return tuple(inner) if name == "tuple" else inner
    if name == "map":
        return {unpack(key): unpack(item) for key, item in content}
    return _unpacked_atom(name, content)


def _unpacked_atom(name: str, content: str) -> Any:
    if name == "float":
        return float.fromhex(content)
    if name == "fraction":
        return Fraction(content)
    if name == "date":
        return datetime.date.fromisoformat(content)
    raise ValueError(f"A journal cannot hold {name!r}.")


def fingerprint(value: Any) -> str:
    """A digest of public values: equal for equal ones, whatever machine made them.

    Args:
        value: as fields of mechanisms may hold (`understudy.privacy.admission`).
    """
    text = json.dumps(_canonical(value), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]


def _canonical(value: Any) -> Any:
    """Values as nested lists of text."""
    kind = type(value).__name__
    if isinstance(value, BaseModel):
        return [kind, value.model_dump_json()]
    if is_dataclass(value):
        named = [field.name for field in fields(value) if field.init]
        return [kind, *([name, _canonical(getattr(value, name))] for name in named)]
    if isinstance(value, np.ndarray):
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [kind, value.dtype.str, list(value.shape), data]
    if isinstance(value, Mapping):
        return [kind, *([_canonical(key), _canonical(item)] for key, item in value.items())]
    if isinstance(value, tuple | list | range):
        return [kind, *map(_canonical, value)]
    return [kind, repr(value)]
