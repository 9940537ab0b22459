"""Texts and tables in a terminal; one console for all of them."""

from __future__ import annotations

from rich import markup

from understudy.cli.terminal.streams import Screen
from understudy.errors import line

MOST_ROWS = 20
"""Rows of a table; the others are in the output with --json."""

out = Screen(highlight=False)


def escape(text: str) -> str:
    """A text as it is, on one line: no markup, and nothing that the terminal would obey."""
    return markup.escape(line(text))


def sets_words(number: int, kind: str) -> str:
    """How many sets there are, and of which kind."""
    return f"{number} {kind} sets" if number > 1 else "1 set"
