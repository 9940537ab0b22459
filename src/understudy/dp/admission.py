"""Admission to verbs of the gate: only values of the very types declared, to the last field.

A verb lets its arguments near rows, or asks them about draws that nobody paid for. An object whose
code stands outside of this package could keep what it sees there. So nothing with foreign code gets
past a verb: what arrives is compared with the annotation of the parameter by `type(x) is`, never by
`isinstance`, and never by what it can do.

* Numbers, text, tuples, lists and dictionaries are of the exact built-in types: a subclass may lie
  about its size, order or hash. Arrays are `np.ndarray` itself and hold numbers, not objects.
* A frozen dataclass is one that the annotation names, field by field, each by its own annotation. A
  union is a closed list; there is no protocol, and no callable.
* A schema, its columns and its domain are the gate's own; a private copy takes their place, so that
  what was planted on those that a method holds is never asked about rows.

What the verb then works with is a copy made by the class's constructor from the fields alone: so
everything that the class checks is checked again, and nothing that was put beside the fields (a
cached value, a method of one instance) comes along. Fractions are made again, since their two
numbers can be overwritten, and arrays are copied, so that what another thread writes into those of
a method after this check has no effect.

All of this is public, and done before anything is paid for.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache, wraps
from itertools import chain
from typing import (
    Annotated,
    Any,
    Concatenate,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from pydantic import BaseModel

from understudy.errors import MethodError, suggestion
from understudy.schema import Schema

P = ParamSpec("P")
T = TypeVar("T")

PLAIN: Final = (int, float, bool, str, type(None), Fraction, Decimal, date)
"""Types that hold nothing but themselves. (A time of day may hold a time zone of anybody's.)"""


HowMany = Annotated[int, range(2**40)]
"""A number of things that an array shall hold."""


SafeCopies = tuple[tuple[object, object], ...]
"""Public objects, each with the private copy that takes its place."""


def twins(given: Schema, own: Schema) -> SafeCopies:
    """List what arguments may hold of a schema: itself, its domain, and its columns.

    Args:
        given: the schema that a method holds.
        own: the private copy.
    """
    columns = ((given.declared[name], column) for name, column in own.columns.items())
    return ((given, own), (given.domain, own.domain), *columns)


class Asked(Protocol):
    """Who has verbs."""

    @property
    def _own(self) -> SafeCopies:
        """Public objects of the gate itself, which arguments may hold, and its private copies."""
        ...


D = TypeVar("D", bound=Asked)


def verb(ask: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """A verb of the gate, whose arguments are admitted before anything else is done."""
    signature = inspect.signature(ask)

    @wraps(ask)
    def check_and_ask(self: D, /, *args: P.args, **named: P.kwargs) -> T:
        given = signature.bind(self, *args, **named).arguments
        _, *names = given
        for name in names:
            given[name] = admit(given[name], _read_annotations(ask)[name], self._own, name)
        bound = inspect.BoundArguments(signature, given)
        return ask(*bound.args, **bound.kwargs)

    return check_and_ask


def admit(value: object, declared: Any, own: SafeCopies = (), name: str = "value") -> Any:
    """A value as it is declared, made of nothing else.

    Args:
        value: as it was handed in.
        declared: the annotation: a type, or a closed union of types.
        own: objects that may be handed in, and what takes their place.
        name: of the parameter or field, for the message.

    Returns:
        The value; a dataclass or container is made again.

    Raises:
        MethodError: it is of another type.
    """
    made = next(_ways(value, declared, own, name), _NOTHING)
    if made is _NOTHING:
        raise MethodError(
            f"The gate takes no {type(value).__name__} as {name}: it lets near the rows what it "
            "knows by name, and nothing else."
        )
    return made


_NOTHING: Final = object()


def _ways(value: object, declared: Any, own: SafeCopies, name: str) -> Iterator[object]:
    """The value as it is declared; nothing if it is of another type."""
    origin, inner = get_origin(declared), get_args(declared)
    if hasattr(origin, "__value__"):  # a name for a type, as NDArray is from NumPy 2.5 on
        yield from _ways(value, origin.__value__[inner], own, name)
    elif origin in (Union, types.UnionType):
        for alternative in inner:
            yield from _ways(value, alternative, own, name)
    elif origin is Annotated:
        yield from _within(_ways(value, inner[0], own, name), inner[1:], name)
    elif origin is Literal:
        yield from _word(value, inner, name)
    elif declared is Any or isinstance(declared, TypeVar):
        yield from _plain(value)
    elif origin is np.ndarray:
        yield from _array(value, inner[1])
    elif origin is not None and not is_dataclass(origin):
        yield from _container(value, origin, inner, own, name)
    elif is_dataclass(origin or declared):
        yield from _made_again(value, declared, own)
    elif issubclass(declared, BaseModel):
        yield from _own(value, declared, own)
    else:
        yield from _number(value, declared)


def _word(value: object, words: tuple[Any, ...], name: str) -> Iterator[object]:
    """One of some words; of another word it is said which are meant."""
    yield from (word for word in words if type(value) is type(word) and value == word)
    if type(value) is str and value not in words:
        raise MethodError(f"There is no {name} {value!r}{suggestion(value, words)}.")


def _within(values: Iterator[object], limits: Sequence[object], name: str) -> Iterator[object]:
    """Values within the range that goes with their type, if one does."""
    for value in values:
        for limit in limits:
            if type(limit) is range and value not in limit:
                raise MethodError(f"{name} must be {limit[0]} to {limit[-1]}.")
        yield value


def _own(value: object, declared: type, own: SafeCopies) -> Iterator[object]:
    """The gate's schema, or a column of it."""
    yield from (twin for given, twin in own if given is value)
    if type(value) is declared and all(given is not value for given, _ in own):
        raise MethodError("An argument relies on what another schema makes public.")


def _number(value: object, declared: type) -> Iterator[object]:
    """Plain values; NumPy's own scalars as the numbers that they are."""
    wide = (float, int) if declared is float else (declared,)
    if isinstance(value, np.integer | np.floating) and type(value).__module__ == "numpy":
        value = value.item()
    if type(value) is Fraction and Fraction in wide:
        yield from _fraction(value)
    elif type(value) in wide and declared in PLAIN:
        yield value


def _fraction(value: Fraction) -> Iterator[Fraction]:
    """The same fraction again: whoever handed it in could alter its two numbers once it is paid."""
    parts = value.numerator, value.denominator
    if {*map(type, parts)} == {int} and parts[1] > 0:
        yield Fraction(*parts)


def _array(value: object, dtype: Any) -> Iterator[object]:
    """Arrays of the numbers that are declared."""
    if type(value) is np.ndarray and value.dtype.kind in _kinds(get_args(dtype)[0]):
        yield value.copy()


def _kinds(scalar: Any) -> str:
    """Kinds of numbers: whole ones will do where real ones are declared, but not the reverse."""
    if scalar is Any:
        return "biuf"
    kind = get_origin(scalar) or scalar
    return "b" if kind is np.bool_ else "iu" if issubclass(kind, np.integer) else "iuf"


def _container(
    value: Any, origin: Any, inner: tuple[Any, ...], own: SafeCopies, name: str
) -> Iterator[object]:
    """Containers of the exact built-in types, with what is in them."""
    kind = type(value)
    if origin in (dict, Mapping) and kind is dict:
        key, item = inner
        yield {admit(k, key, own, name): admit(v, item, own, name) for k, v in value.items()}
    elif origin is tuple and kind is tuple and inner[1:] != (Ellipsis,):
        if len(value) == len(inner):
            pairs = zip(value, inner, strict=True)
            yield tuple(admit(part, its, own, name) for part, its in pairs)
    elif kind in _KINDS.get(origin, ()):
        made = kind if kind in (list, frozenset) else tuple
        if _holds(value, inner[0]):
            yield made(value)
        else:
            yield made(admit(part, inner[0], own, name) for part in value)


def _holds(values: Sequence[Any], declared: Any) -> bool:
    """Return whether values are text, whole numbers, or tuples of them; fast for long lists."""
    if declared in (int, str):
        return set(map(type, values)) <= {declared}
    if get_origin(declared) is tuple and get_args(declared)[1:] == (Ellipsis,):
        inside = list(chain.from_iterable(values)) if set(map(type, values)) <= {tuple} else None
        return inside is not None and _holds(inside, get_args(declared)[0])
    return False


_KINDS: Final[dict[Any, tuple[type, ...]]] = {
    tuple: (tuple,),
    list: (list,),
    frozenset: (frozenset,),
    Sequence: (tuple, list, range, str),
}


def _plain(value: object) -> Iterator[object]:
    """Values without a declared type: plain ones, and tuples of them."""
    if type(value) is tuple:
        yield tuple(admit(part, Any) for part in value)
    else:
        for kind in PLAIN:
            yield from _number(value, kind)


def _made_again(value: Any, declared: Any, own: SafeCopies) -> Iterator[object]:
    """A dataclass from its fields; or the gate's own."""
    kind: Any = get_origin(declared) or declared
    of = dict(zip(getattr(kind, "__parameters__", ()), get_args(declared), strict=False))
    hints = {name: of.get(hint, hint) for name, hint in _read_annotations(kind).items()}
    if type(value) is not kind:
        return
    twins = [twin for given, twin in own if given is value]
    if twins:
        yield twins[0]
    else:
        named = [field.name for field in fields(kind) if field.init]
        yield kind(**{name: admit(getattr(value, name), hints[name], own, name) for name in named})


@cache
def _read_annotations(whose: Any) -> dict[str, Any]:
    """Annotations of a dataclass's fields, or of a function's parameters."""
    return get_type_hints(whose, include_extras=True)
