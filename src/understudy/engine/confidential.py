"""The type that exact values wear between the engine and a privacy mechanism."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Confidential(Generic[T]):
    """An exact value computed from the rows.

    It says nothing about itself: it refuses to be shown, compared, counted, iterated, hashed,
    copied or pickled. Only a mechanism in `understudy.privacy` (or an internal evaluation) takes
    the value out, with `expose()`. Python cannot forbid access; the type makes every access
    visible in review, and a test keeps `expose()` inside those rooms.
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def expose(self) -> T:
        """The exact value. To be called by mechanisms only, after they have paid."""
        return self.__value

    def __repr__(self) -> str:
        return "Confidential(…)"

    def _refuse(self, *_args: object) -> NoReturn:
        raise TypeError(
            "A confidential value cannot be shown, compared, counted, iterated or stored; "
            "ask the gate for a released one."
        )

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __format__ = __int__ = __float__ = __index__ = __array__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse
