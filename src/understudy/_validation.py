"""Arguments of public functions: one of another type is refused with a sentence, at once.

A sentence says what the argument must be and names the type that came, never its content: it may
hold rows.

**Extras: libraries that some work alone needs, and that an installation may lack.**

Whatever needs one asks for it here before it begins, so that the lack of it costs no budget.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, Final

from understudy.errors import MethodError, UnderstudyError

Refusal = type[UnderstudyError]


def kind_of(value: object) -> str:
    """Describe the kind of a value, in a sentence.

    Example:
        >>> kind_of(None), kind_of([1]), kind_of("secret")
        ('None', 'list', 'text')
    """
    if value is None:
        return "None"
    return "text" if isinstance(value, str) else type(value).__name__


def require(fits: bool, name: str, wanted: str, value: object, refusal: Refusal) -> None:
    """Refuse an argument that does not fit.

    Args:
        fits: whether it does.
        name: of the argument.
        wanted: what it must be, after "must be".
        value: what came; only its type is told.
        refusal: the kind of error.
    """
    if not fits:
        raise refusal(f"{name} must be {wanted}, not {kind_of(value)}.")


def require_text(name: str, value: object, refusal: Refusal, example: str) -> None:
    """Refuse what is no text."""
    require(isinstance(value, str), name, f"text such as {example!r}", value, refusal)


def require_whole(name: str, value: object, refusal: Refusal, *, least: int) -> None:
    """Refuse what is no whole number, or too small a one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refusal(f"{name} must be a whole number, at least {least}.")


def require_number(name: str, value: object, refusal: Refusal, example: float) -> None:
    """Refuse what is no number."""
    fits = isinstance(value, Real) and not isinstance(value, bool)
    require(fits, name, f"a number such as {example:g}", value, refusal)


def require_list(name: str, value: object, refusal: Refusal, example: str) -> None:
    """Refuse what is no list, above all a text: its letters would be taken for the entries."""
    fits = isinstance(value, Iterable) and not isinstance(value, str)
    require(fits, name, f"a list such as {example}", value, refusal)


def require_mapping(name: str, value: object, refusal: Refusal, example: str) -> None:
    """Refuse what does not map names to something."""
    fits = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    require(fits, name, f"a mapping such as {example}", value, refusal)


def require_function(name: str, value: Callable[..., Any] | None, refusal: Refusal) -> None:
    """Refuse what is neither a function nor None."""
    require(value is None or callable(value), name, "a function", value, refusal)


def path_of(name: str, value: object, refusal: Refusal) -> Path:
    """A path that was given as text or as a path; text of several lines is content, not a path."""
    require(isinstance(value, str | Path), name, "a path", value, refusal)
    assert isinstance(value, str | Path)
    if "\n" in str(value):
        raise refusal(f"{name} must be a path, not text of several lines.")
    return Path(value)


_SECTION: Final = re.compile(r"^Attributes:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY: Final = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", re.MULTILINE | re.DOTALL)


def explain_attributes(kind: type) -> dict[str, str]:
    """Return what a class, or the nearest above it, writes of each attribute in its docstring."""
    explained: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = _SECTION.search(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
        entries = _ENTRY.findall(section[1]) if section else []
        explained |= {name: " ".join(text.split()) for name, text in entries}
    return explained


_LIBRARIES: Final = {
    "database": ("sqlglot", "sqlglot"),
    "demo": ("statsmodels", "statsmodels"),
    "desk": ("Starlette", "starlette"),
    "evaluate": ("scikit-learn", "sklearn"),
    "files": ("pyreadstat", "pyreadstat"),
    "ledger": ("SQLAlchemy", "sqlalchemy"),
    "numpyro": ("NumPyro", "numpyro"),
}
"""Name of each extra of `pyproject.toml` that is asked for: its library, and that one's module."""


def require_extra(extra: str, what: str, instead: str = "", *, library: str = "") -> None:
    """Refuse what needs a library that is not installed; nothing is loaded.

    Args:
        extra: name of the extra.
        what: needs it, as a sentence begins.
        instead: what else one may do, as the sentence ends.
        library: another one of the extra, whose module has its name.

    Raises:
        MethodError: it is not installed; says how to install it.
    """
    wanted, module = (library, library) if library else _LIBRARIES[extra]
    if find_spec(module) is None:
        raise MethodError(
            f"{what} needs {wanted}, which is not installed; install Understudy with its extra "
            f"{extra!r} (pip install -c constraints.txt '.[{extra}]'){instead}."
        )
