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

    The compiler is loaded when a module of kernels is, and not before. Where nothing can be kept,
    each process compiles anew.

    Args:
        function: the kernel.
        options: of the compiler. inline="always" for what one kernel alone calls, and small
            things: as a function of its own it would be compiled once more.
            no_cpython_wrapper=True for what kernels alone call.
    """
    from numba import njit

    if function is None:
        return lambda kernel: _compiled(njit, kernel, options)
    return _compiled(njit, function, options)


def _compiled(njit: Any, kernel: F, options: dict[str, Any]) -> F:
    # No caller takes the address of a kernel, and none divides by zero for an exception: what these
    # need would be compiled with each. Rules of arithmetic are each kernel's own: where none are
    # set, the compiler takes, and keeps, those of the kernel that happens to call it first.
    usual = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": False}
    options = usual | options
    made: F
    try:
        made = njit(cache=True, **options)(kernel)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        # No folder can be written to keep it in: neither the package's, nor one of the user's.
        made = njit(**options)(kernel)
    return made
