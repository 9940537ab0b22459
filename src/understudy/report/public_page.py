"""The public page and the codebook page of a release, made from the release alone.

It asks nothing of the network, follows the reader's light or dark mode, and stays within one
megabyte: long lists are folded, then cut, and the page says what was left out. What the release is
and can answer comes first, what it was made from last.

**The codebook page** says what each column is, and what its values stand for. It is made from
schema and manifest alone and shows no figure of the synthetic tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from understudy.inference.analyze import POOLED_RIGHT
from understudy.inference.answered_questions import assumed_words
from understudy.release.export_values import Category, Variable, variables
from understudy.release.manifest import citation, promise_block
from understudy.release.measurement import kept_columns
from understudy.release.release import Release
from understudy.release.sets import first_parts
from understudy.release.shape import Kind
from understudy.report import accuracy, columns, sections
from understudy.report import text as templates
from understudy.report.answers import MOST_COLUMNS, Answers, pair_map, pair_rows
from understudy.report.results_page import declared_results, paid_questions
from understudy.report.text import badge, explain_promise, is_not_private
from understudy.schema import NUMERIC, Calendar
from understudy.schema.numeric import HeapAt

MAX_BYTES = 1_000_000
FEW_COLUMNS = 8  # the charts of more columns are folded below an overview
# Most bytes of the lists that grow with a release; the cards of the columns get what is left.
_ROOM = {
    "ledger_row": 180_000,
    "public_row": 90_000,
    "measurement_row": 120_000,
    "pair_row": 60_000,
    "item": 30_000,
    "spark": 60_000,
}
_SPARE = 500  # for the sentence that says what was left out


def public_page(release: Release) -> str:
    """The page for the public: guarantee, ledger, reliability, columns, fitness for use.

    Args:
        release: the release; nothing else is looked at.

    Returns:
        HTML text of at most `MAX_BYTES` bytes in UTF-8, the same for the same release.
    """
    page = templates.template("public.html.jinja")
    charted = replace(release, tables=first_parts(release.tables))
    context = {**_context(release, charted), "declared": declared_results(release)}
    frame = page.render(**context, detail=columns.DETAILS[0], cards=(Markup(""), 0))
    room = MAX_BYTES - templates.size(frame) - _SPARE
    detail, cards = _cards(charted, room)
    return page.render(**context, detail=detail, cards=cards)


def _cards(release: Release, room: int) -> tuple[columns.Detail, templates.Cut]:
    """The section on columns in the finest detail that fits; the coarsest one may be cut."""
    *finer, coarsest = columns.fitting_details(release.schema, room)
    for detail in finer:
        cards = _draw_cards(release, detail, room)
        if not cards[1]:
            return detail, cards
    return coarsest, _draw_cards(release, coarsest, room)


def _draw_cards(release: Release, detail: columns.Detail, room: int) -> templates.Cut:
    names = tuple(release.schema.stated)
    cards = (columns.card(release, k, name, detail) for k, name in enumerate(names, start=1))
    return templates.fit_pieces(
        (_macro("card")(card, detail) for card in cards), room, total=len(names)
    )


def _charted_rows(charted: Release) -> int | None:
    """Records of each set that are shown, if that is not all of them."""
    shown = charted.tables[0].height
    return shown if shown < charted.manifest.n_rows else None


def _context(release: Release, charted: Release) -> dict[str, Any]:
    """Collect what the page says of a release; charts are of the first part of sets in parts."""
    manifest, schema, guarantee = release.manifest, release.schema, release.guarantee
    ledger = sections.ledger(manifest)
    measured = [accuracy.measurement_row(table, schema) for table in release.measurements]
    relations = sections.relations(release)
    answers = Answers(release)
    charted_rows = _charted_rows(charted)
    many = len(schema.stated) > FEW_COLUMNS
    doubtful_first = sorted(guarantee.public_inputs, key=lambda entry: not entry.note)
    return {
        "manifest": manifest,
        "schema": schema,
        "guarantee": guarantee,
        "promise": promise_block(manifest),
        "title": schema.heading,
        "badge": badge(guarantee),
        "limit_only": guarantee.kind == "asymptotic",
        "by_posterior": any(table.kind is Kind.POSTERIOR for table in release.measurements),
        "kept": kept_columns(release.measurements),
        "private": not is_not_private(guarantee) and manifest.secure,
        "meaning": explain_promise(guarantee),
        "conditions": _rows("item", guarantee.conditions),
        "leaks": _rows("item", guarantee.leaks),
        "public_rows": _rows("public_row", doubtful_first),
        "n_doubtful": sum(bool(entry.note) for entry in guarantee.public_inputs),
        "ledger": ledger,
        "ledger_rows": _rows("ledger_row", ledger.rows),
        "reliability": accuracy.reliability(release),
        "measurements": measured,
        "measurement_rows": _rows("measurement_row", measured),
        "relations": relations,
        "groups": _rows("item", relations.groups),
        "sets_words": sections.sets_words(release),
        "answers": list(answers.lines()),
        "assumed": assumed_words(release.schema),
        "weighted": any(table.weighting is not None for table in release.measurements),
        "by_moments": bool(answers.moments),
        "paid": paid_questions(release),
        "warning": POOLED_RIGHT,
        "pair_map": _pair_map(answers),
        "pair_rows": _rows("pair_row", pair_rows(answers))
        if _is_mapped(answers)
        else (Markup(""), 0),
        "charted_rows": charted_rows,
        "ending": "/" if charted_rows else ".parquet",
        "sparks": _rows("spark", list(columns.overview(charted))) if many else (Markup(""), 0),
        "many_columns": many,
    }


def _pair_map(answers: Answers) -> Markup | None:
    """The map of pairs; None where one column leaves none, or where there are too many."""
    return pair_map(answers) if _is_mapped(answers) else None


def _is_mapped(answers: Answers) -> bool:
    return 1 < len(answers.names) <= MOST_COLUMNS


def _rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    """Rows of a table, as many as its room holds, and how many were left out."""
    return templates.render_items(_macro(macro), items, _ROOM[macro])


def _macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "parts.html.jinja")


_MOST_VALUES = 60  # of one column
_LINKS = 60_000  # bytes
_SPARE_OF_CODEBOOK = 500


@dataclass(frozen=True)
class Entry:
    """One column on the page.

    Attributes:
        number: position of the column, from 1.
        variable: what is public of it.
    """

    number: int
    variable: Variable

    @property
    def kind(self) -> str:
        """Kind, bounds and decimals, in words."""
        column, bounds = self.variable.column, self.variable.bounds
        parts = [str(column.kind)]
        if bounds is not None:
            text = f"{bounds[0]} to {bounds[1]}"
            parts.append(text if isinstance(column, Calendar) else text.replace("-", "−"))
        if column.kind == "continuous" and self.variable.decimals is not None:
            n = self.variable.decimals
            parts.append(f"{n} decimal{'s' if n != 1 else ''}")
        return ", ".join(parts)

    @property
    def heaps(self) -> str:
        """Declared rounding of its numbers by people, in words; "" if nothing is declared."""
        column = self.variable.column
        told = [
            f"steps of {heap.every} from {heap.at}" if isinstance(heap, HeapAt) else str(heap)
            for heap in (column.heaps if isinstance(column, NUMERIC) else ())
        ]
        return ", ".join(told)

    @property
    def listed(self) -> tuple[Category, ...]:
        """The first of its levels, where none of them has a label: they say what they stand for."""
        levels = self.variable.levels
        return () if any(level.label for level in levels) else levels[:_MOST_VALUES]

    @property
    def told(self) -> tuple[Category, ...]:
        """The first of its levels where they have labels, and of its codes of absence."""
        levels = () if self.listed else self.variable.levels[:_MOST_VALUES]
        return (*levels, *self.variable.absent[:_MOST_VALUES])

    @property
    def more(self) -> int:
        """Number of values that are not shown."""
        return len(self.variable.categories) - len(self.listed) - len(self.told)


def codebook_page(release: Release) -> str:
    """Render the page of what every column is.

    Args:
        release: the release; only its schema and its manifest are looked at.

    Returns:
        HTML text of at most one megabyte, the same for the same release.
    """
    page = templates.template("codebook.html.jinja")
    entries = [Entry(k, one) for k, one in enumerate(variables(release.schema), start=1)]
    links = templates.render_items(_codebook_macro("link"), entries, _LINKS)
    context = {**_codebook_context(release), "n_columns": len(entries), "links": links}
    frame = page.render(**context, entries=("", 0))
    room = MAX_BYTES - templates.size(frame) - _SPARE_OF_CODEBOOK
    return page.render(
        **context, entries=templates.render_items(_codebook_macro("entry"), entries, room)
    )


def _codebook_context(release: Release) -> dict[str, Any]:
    manifest, schema, guarantee = release.manifest, release.schema, release.guarantee
    return {
        "title": schema.heading,
        "manifest": manifest,
        "promise": promise_block(manifest),
        "unit": schema.unit.description,
        "badge": badge(guarantee),
        "private": not is_not_private(guarantee) and manifest.secure,
        "citation": citation(manifest, schema),
        "relations": [relation.text for relation in schema.relations],
    }


def _codebook_macro(name: str) -> Callable[..., Any]:
    return templates.macro(name, "codebook_parts.html.jinja")
