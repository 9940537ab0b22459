"""Extras: libraries that some work alone needs, and that an installation may lack.

Whatever needs one asks for it here before it begins, so that the lack of it costs no budget.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from understudy.errors import MethodError

_LIBRARIES: Final = {
    "database": ("sqlglot", "sqlglot"),
    "evaluate": ("scikit-learn", "sklearn"),
    "files": ("pyreadstat", "pyreadstat"),
    "ledger": ("SQLAlchemy", "sqlalchemy"),
    "models": ("statsmodels", "statsmodels"),
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
