"""What a run needs after it has paid, tried before: a lack of it must be found while ε is whole.

Pages, their templates and the writer of Parquet are used when a release is saved, models when its
declared analyses are answered, and libraries that take long to load wait for that. One that is
damaged or lacking would end the run when all is paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from understudy.errors import MethodError
from understudy.extras import require_extra
from understudy.privacy.accounting.budget import decimal_up
from understudy.privacy.gate import Gate
from understudy.privacy.noise.randomness import Randomness, SecureRandomness

_PERHAPS: Final = ("formulaic", "pandas", "pyarrow", "scipy")
"""Used by some runs alone, and slow to load: they must be there."""


def require_late_needs(randomness: Randomness, kinds: Iterable[str] = ()) -> None:
    """Refuse to begin what could not be ended; to be called before anything is paid.

    Args:
        randomness: of the noise; a word of it is drawn and dropped, unless it comes from a seed.
        kinds: of the declared analyses that the release will answer.

    Raises:
        MethodError: a library is lacking, or cannot be loaded.
    """
    try:
        from understudy.inference import answering  # noqa: F401
        from understudy.inference.estimates.estimands import MODELS
        from understudy.release import readme  # noqa: F401
        from understudy.report import public_page, results_page  # noqa: F401

        lacking = [name for name in _PERHAPS if find_spec(name) is None]
    except ImportError as error:
        raise _lacking(f"cannot be loaded: {error.msg}") from None
    if lacking:
        raise _lacking(f"is not installed: {lacking[0]}")
    for kind in kinds:
        if kind in MODELS:
            require_extra("models", f"A declared analysis of the kind {kind}")
    if isinstance(randomness, SecureRandomness):
        randomness.words(1)


def _lacking(what: str) -> MethodError:
    return MethodError(
        f"What a release needs when it is written {what}; mend the installation. Nothing was spent."
    )


@contextmanager
def telling_what_was_spent(gate: Gate) -> Iterator[None]:
    """Say with whatever error ends the run what was spent by then, as a note of the error."""
    try:
        yield
    except BaseException as error:
        if gate.ledger:
            unit, of = gate.budget.unit, decimal_up(gate.budget.amount)
            error.add_note(
                f"By then {unit} = {decimal_up(gate.spent)} of {of} was spent, which counts."
            )
        raise
