"""Types of arrays, the quantile of 95 % intervals, and how kernels are compiled: once for all."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
"""Numbers of states, in whatever width they are held."""
Flags = NDArray[np.bool_]

Z_95 = 1.959963984540054
"""Half of a two-sided 95 % interval of a normal estimate, in standard errors."""

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F, /) -> F: ...


@overload
def compiled(**options: Any) -> Callable[[F], F]: ...


def compiled(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Compile a kernel: kept on disk, and without the interpreter's lock while it runs.

    The compiler is loaded when the first kernel is called, and not before. Where nothing can be
    kept, each process compiles anew.

    Args:
        function: the kernel; it names the kernels that it calls as globals of its module.
        options: of the compiler. inline="always" for what one kernel alone calls, and small
            things: as a function of its own it would be compiled once more.
            no_cpython_wrapper=True for what kernels alone call.
    """
    if function is None:
        return lambda kernel: cast(F, _Kernel(kernel, options))
    return cast(F, _Kernel(function, options))


class _Kernel:
    """A kernel that is handed to the compiler when it is first called."""

    _lock = RLock()

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._dispatcher or self.make())(*arguments)

    def make(self) -> Any:
        """Return the functions that the compiler calls: its own, or those in their place."""
        with self._lock:
            if self._dispatcher is None:
                names = self._function.__globals__
                for name in self._function.__code__.co_names:
                    if isinstance(callee := names.get(name), _Kernel):
                        names[name] = callee.make()
                self._dispatcher = _compile(self._function, self._options)
            return self._dispatcher


def _compile(kernel: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit

    # No caller takes the address of a kernel, and none divides by zero for an exception: what these
    # need would be compiled with each. Rules of arithmetic are each kernel's own: where none are
    # set, the compiler takes, and keeps, those of the kernel that happens to call it first.
    usual = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": False}
    options = usual | options
    try:
        return njit(cache=True, **options)(kernel)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        # No folder can be written to keep it in: neither the package's, nor one of the user's.
        return njit(**options)(kernel)
