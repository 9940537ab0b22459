"""One small tree of exceptions, and what makes a sentence of theirs safe to read.

Every message is one sentence or two that say what was expected, what came and what to do.
No message holds a value read from confidential rows: an error is an output too.

Texts that others wrote, made safe to be shown: in a terminal, on a page, in a file of text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The nearest known word, whatever its case; None if none is near.

    Example:
        >>> nearest("uper", ["lower", "upper"]), nearest("AGE", ["age"]), nearest("x", ["age"])
        ('upper', 'age', None)
    """
    by_case = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(str(word).casefold(), by_case, n=1)
    return by_case[close[0]] if close else None


def suggestion(word: object, known: Iterable[str]) -> str:
    """The nearest known word, as it stands behind one that is not known; "" if none is near.

    Example:
        >>> suggestion("laplase", ["laplace", "mst"]), suggestion("x", ["laplace", "mst"])
        (" (did you mean 'laplace'?)", '')
    """
    close = nearest(word, known)
    return "" if close is None else f" (did you mean {close!r}?)"


class UnderstudyError(Exception):
    """Base of everything that Understudy raises on purpose; the command line exits with code 2.

    It stands alone. Python keeps with an error whichever one was being handled as it was raised,
    and what a library says of a cell that it cannot read holds that cell; programs that report
    errors print both. So an error of this package never has another one behind it.

    An error about a value that somebody gave is a `ValueError` too, and one of a disk that does not
    take a release is an `OSError`. So code that catches what a library raises holds nothing else in
    its `try`: it would hide the sentences of this package.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """As it stands, whatever its class is made from, so that it passes between processes."""
        return _rebuild, (type(self), self.args, self.__dict__)

    @property
    def __context__(self) -> BaseException | None:
        """None; whatever Python put there is dropped."""
        _CONTEXT.__set__(self, None)
        return None

    @__context__.setter
    def __context__(self, error: BaseException | None) -> None:
        _CONTEXT.__set__(self, None)


_CONTEXT = BaseException.__dict__["__context__"]


def _rebuild(
    kind: type[UnderstudyError], words: tuple[object, ...], attributes: dict[str, object]
) -> UnderstudyError:
    error = kind.__new__(kind)
    error.args = words
    error.__dict__.update(attributes)
    return error


class UnderstudyWarning(UserWarning):
    """A fact that somebody should know before a budget is spent; nothing is wrong."""


class SchemaError(UnderstudyError, ValueError):
    """The schema is malformed, contradicts itself, or is not reviewed."""


class DataError(UnderstudyError, ValueError):
    """The input has a structural fault: it cannot be read, or a column is absent or unreadable."""


class BudgetError(UnderstudyError, ValueError):
    """A privacy budget is not a budget (ε ≤ 0, δ outside [0, 1), not a number)."""


class InsufficientBudgetError(BudgetError):
    """A request would cost more than what is left; nothing was computed.

    Attributes:
        requested: what the request costs, in the unit of the gate (ε, ρ or μ²/2), as text.
        remaining: what is left, in the same unit, as text.
    """

    def __init__(self, requested: str, remaining: str, unit: str) -> None:
        super().__init__(
            f"This step costs {unit} = {requested} but only {unit} = {remaining} is left; "
            f"nothing was computed. Ask for less, or give the release a larger budget."
        )
        self.requested = requested
        self.remaining = remaining


class NotPrivateError(UnderstudyError):
    """Exact values were asked for without the explicit permission `allow_nonprivate=True`."""


class MethodError(UnderstudyError, ValueError):
    """Unknown method, unknown or invalid option, or a method that does not fit this schema."""


class ReleaseError(UnderstudyError):
    """A release folder cannot be written or read, or fails its own checks."""


class UnsavedError(ReleaseError, OSError):
    """A release that is made cannot be written; nothing of it was left behind on the disk.

    Attributes:
        what: what cannot be written and why, without an end.
    """

    def __init__(self, place: object, why: str) -> None:
        self.what = (
            f"The release cannot be written to {str(place)!r}: {why}; nothing was left behind there"
        )
        super().__init__(
            f"{self.what}, and its budget is spent. As an object it is unharmed: save it elsewhere."
        )


class CheckpointError(UnderstudyError):
    """A checkpoint cannot be made, read or continued."""


class InferenceError(UnderstudyError, ValueError):
    """An estimate for which no rule is valid, or input that does not fit one."""


class TooFewError(InferenceError):
    """An estimate that the records at hand do not have: too few of them, or none that differ."""


class LedgerError(UnderstudyError):
    """A population ledger cannot be read or written, or refuses what it was asked to enter."""


class SignatureError(UnderstudyError):
    """A key cannot be made or read, or a signature is none of what it stands under."""


class DeskError(UnderstudyError):
    """A step that the steward's desk does not take, or a project's folder that is none."""


class StudyError(UnderstudyError):
    """Unknown study, or one that cannot be run as asked or written where asked."""


# Controls (a terminal obeys them), marks that turn the direction of text around or end a line, and
# halves of surrogate pairs, which no file can hold.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\t\n]+")


def escape_controls(text: str) -> str:
    r"""The text with a sign in the place of what would act instead of being seen.

    Example:
        >>> escape_controls("red\x1b[31m, \u202eback")
        'red�[31m, �back'
    """
    if text.isprintable():  # which none of these is; most texts are, and there may be many
        return text
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def name_fault(name: str) -> str:
    r"""Return what is wrong with the name of a column, as the end of a sentence; "" for nothing.

    Example:
        >>> name_fault("income\n(monthly)"), name_fault("")
        ('', 'has no name')
        >>> name_fault("a\x00b")
        'has a name with the character U+0000, which is not seen but acts'
    """
    if not name:
        return "has no name"
    hidden = _HIDDEN.search(name)
    if hidden is None:
        return ""
    return f"has a name with the character U+{ord(hidden[0]):04X}, which is not seen but acts"


def line(text: str) -> str:
    r"""The same on one line, so that no text can look like two.

    Example:
        >>> line("private\nguarantee: none")
        'private guarantee: none'
    """
    return text if text.isprintable() else _BREAKS.sub(" ", escape_controls(text))
