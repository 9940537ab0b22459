"""Tables and facts that a notebook shows of an object; all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

MOST_ROWS = 40
"""Rows that a table shows; a notebook keeps what it shows in its file."""


def facts(title: str, entries: Mapping[str, str]) -> Markup:
    """A table of headings with a text each.

    Args:
        title: above the table.
        entries: heading → text.
    """
    rows = (
        Markup('<tr><th scope="row">{}</th><td style="text-align:left">{}</td></tr>').format(*one)
        for one in entries.items()
    )
    return _table(title, rows)


def grid(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table with headings above; rows beyond the first `MOST_ROWS` are counted.

    Args:
        title: above the table.
        headings: of the columns.
        rows: a text for each column.
    """
    kept = list(rows)
    more = [f"… {len(kept) - MOST_ROWS:,} more"] if len(kept) > MOST_ROWS else []
    lines = [_line("th", headings), *(_line("td", row) for row in kept[:MOST_ROWS])]
    return _table(title, [*lines, *(_line("td", [text]) for text in more)])


def paragraphs(texts: Iterable[str]) -> Markup:
    """A paragraph for each text."""
    return Markup("").join(Markup("<p>{}</p>").format(text) for text in texts)


def _table(title: str, rows: Iterable[Markup]) -> Markup:
    return Markup("<table><caption>{}</caption>{}</table>").format(title, Markup("").join(rows))


def _line(tag: str, texts: Sequence[str]) -> Markup:
    cell = Markup("<{0}>{1}</{0}>")
    return Markup("<tr>{}</tr>").format(Markup("").join(cell.format(tag, text) for text in texts))
