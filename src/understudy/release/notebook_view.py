"""What a notebook shows of a release: facts, and the first rows of its first set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from markupsafe import Markup

from understudy.schema.cell_values import text_of

_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 8
_LONGEST = 40
_REPORT = "For the report: release.save(“folder”), then open folder/report.html in a browser."


def in_notebook(title: str, facts: Mapping[str, str], tables: Sequence[pl.DataFrame]) -> str:
    """What a release is, and its first rows, as HTML for a notebook; every text escaped.

    Args:
        title: of the table.
        facts: heading → text, such as method and guarantee.
        tables: the synthetic tables; rows of the first are shown.
    """
    rows = Markup("").join(
        Markup('<tr><th scope="row">{}</th><td style="text-align:left">{}</td></tr>').format(*fact)
        for fact in facts.items()
    )
    head = Markup("<table><caption>{}</caption>{}</table>").format(title, rows)
    return head + _first_rows(tables) + Markup("<p>{}</p>").format(_REPORT)


def _first_rows(tables: Sequence[pl.DataFrame]) -> Markup:
    """The first rows of the first set, without the columns beyond the first few."""
    table = tables[0]
    names = table.columns[:_SHOWN_COLUMNS]
    more = ["…"] * (len(table.columns) > _SHOWN_COLUMNS)
    rows = table[list(names)].head(_SHOWN_ROWS).rows()
    lines = [_line("td", [*map(_short, row), *more]) for row in rows]
    caption = f"First {len(rows)} synthetic rows" + " of the first set" * (len(tables) > 1)
    return Markup("<table><caption>{}</caption>{}{}</table>").format(
        caption, _line("th", [*names, *more]), Markup("").join(lines)
    )


def _line(tag: str, texts: Sequence[str]) -> Markup:
    cell = Markup("<{0}>{1}</{0}>")
    return Markup("<tr>{}</tr>").format(Markup("").join(cell.format(tag, text) for text in texts))


def _short(value: object) -> str:
    text = "" if value is None else text_of(value) if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
