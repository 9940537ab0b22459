"""Texts that others wrote, made safe to be shown: in a terminal, on a page, in a file of text."""

from __future__ import annotations

import re

# Controls (a terminal obeys them), marks that turn the direction of text around or end a line, and
# halves of surrogate pairs, which no file can hold.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\t\n]+")


def shown(text: str) -> str:
    r"""The text with a sign in the place of what would act instead of being seen.

    Example:
        >>> shown("red\x1b[31m, \u202eback")
        'red�[31m, �back'
    """
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def line(text: str) -> str:
    r"""The same on one line, so that no text can look like two.

    Example:
        >>> line("private\nguarantee: none")
        'private guarantee: none'
    """
    return _BREAKS.sub(" ", shown(text))
