"""Names for types of arrays, and how kernels are compiled: once for the whole house."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
"""Numbers of states, in whatever width they are held."""
Flags = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F, /) -> F: ...


@overload
def compiled(**options: Any) -> Callable[[F], F]: ...


def compiled(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a kernel: kept on disk, and without the interpreter's lock while it runs.

    The compiler is loaded when a module of kernels is, and not before.

    Args:
        function: the kernel.
        options: of the compiler, such as error_model="numpy".
    """
    from numba import njit

    if function is None:
        return lambda kernel: _compiled(njit, kernel, options)
    return _compiled(njit, function, options)


def _compiled(njit: Any, kernel: F, options: dict[str, Any]) -> F:
    made: F = njit(cache=True, nogil=True, **options)(kernel)
    return made
