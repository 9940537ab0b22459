"""A release as a notebook shows it: one small table, every text escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from understudy.schema.values import text_of

if TYPE_CHECKING:
    from understudy.release.release import Release

_ROWS = 5
_COLUMNS = 8
_LONGEST = 40

_PAGE = Markup(
    "<table><caption>{title}</caption>"
    '<tr><th scope="row">Method</th><td>{method}</td></tr>'
    '<tr><th scope="row">Guarantee</th><td>{guarantee}</td></tr>'
    '<tr><th scope="row">Size</th><td>{size}</td></tr></table>'
    "{rows}<p>{report}</p>"
)
_REPORT = "For the report: release.save(“folder”), then open folder/report.html in a browser."


def html(release: Release) -> str:
    """Method, guarantee, size and the first synthetic rows as HTML."""
    guarantee = release.guarantee.statement
    if not release.manifest.secure:
        guarantee = f"NOT private: its noise was drawn from a seed. {guarantee}"
    return _PAGE.format(
        title=release.schema.title or "Synthetic data release",
        method=release.manifest.method,
        guarantee=guarantee,
        size=release.size_words,
        rows=_first_rows(release),
        report=_REPORT,
    )


def _first_rows(release: Release) -> Markup:
    """The first rows of the first set, and how much there is beside them."""
    table = release.tables[0]
    names = table.columns[:_COLUMNS]
    lines = [[_short(value) for value in row] for row in table.select(names).head(_ROWS).rows()]
    more = ["…"] if len(table.columns) > _COLUMNS else []
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in names + more)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(cell) for cell in line + more)
        )
        for line in lines
    )
    caption = f"First {len(lines)} synthetic rows" + " of the first set" * (len(release.tables) > 1)
    return Markup("<table><caption>{}</caption><tr>{}</tr>{}</table>").format(caption, head, body)


def _short(value: object) -> str:
    text = "" if value is None else text_of(value) if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
