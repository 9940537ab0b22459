"""The type that exact values wear between the engine and a privacy mechanism.

The exact contingency tables below are always inside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class ExactTable:
    """A full contingency table.

    Attributes:
        inside: counts of the declared states, one axis per column.
        outside: records with at least one of these columns out of domain.
    """

    inside: NDArray[np.int64]
    outside: int

    @classmethod
    def fold(cls, table: NDArray[np.int64]) -> ExactTable:
        """From a table whose last index on every axis is the out-of-domain state."""
        inside = table[tuple(slice(0, size - 1) for size in table.shape)]
        return cls(np.ascontiguousarray(inside), int(table.sum() - inside.sum()))


@dataclass(frozen=True)
class ExactCells:
    """Occupied cells of a contingency table that is too large to write out.

    Attributes:
        codes: mixed-radix numbers of the occupied cells, ascending, shape (occupied,).
        counts: records in each, shape (occupied,).
        outside: records with at least one of these columns out of domain.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    outside: int
