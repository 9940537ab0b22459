"""The public page: one self-contained HTML file about a release, made from the release alone.

It asks nothing of the network, follows the reader's light or dark mode, and stays within one
megabyte: long lists are folded, then cut, and the page says what was left out. What the release is
and can answer comes first, what it was made from last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from understudy.inference.amended_answers import POOLED_RIGHT
from understudy.inference.choice.expected_widths import ASSUMED
from understudy.release import Release
from understudy.release.measurement import kept_columns
from understudy.release.measurement_kind import Kind
from understudy.release.promise_block import promise_block
from understudy.release.synthetic_sets import first_parts
from understudy.report import guarantee_text
from understudy.report import number_text as templates
from understudy.report.public import column_cards, measurement_reliability, release_sections
from understudy.report.public.answers import Answers
from understudy.report.public.paid_answers import paid_questions
from understudy.report.public.pair_map import MOST_COLUMNS, pair_map
from understudy.report.public.results_page import declared_results

MAX_BYTES = 1_000_000
FEW_COLUMNS = 8  # the charts of more columns are folded below an overview
# Most bytes of the lists that grow with a release; the cards of the columns get what is left.
_ROOM = {
    "ledger_row": 180_000,
    "public_row": 90_000,
    "measurement_row": 120_000,
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
    context = _context(release, charted)
    frame = page.render(**context, detail=column_cards.DETAILS[0], cards=(Markup(""), 0))
    room = MAX_BYTES - templates.size(frame) - _SPARE
    detail, cards = _cards(charted, room)
    return page.render(**context, detail=detail, cards=cards)


def _cards(release: Release, room: int) -> tuple[column_cards.Detail, templates.Cut]:
    """The section on columns in the finest detail that fits; the coarsest one may be cut."""
    *finer, coarsest = column_cards.fitting_details(release.schema, room)
    for detail in finer:
        cards = _drawn(release, detail, room)
        if not cards[1]:
            return detail, cards
    return coarsest, _drawn(release, coarsest, room)


def _drawn(release: Release, detail: column_cards.Detail, room: int) -> templates.Cut:
    names = tuple(release.schema.stated)
    cards = (column_cards.card(release, k, name, detail) for k, name in enumerate(names, start=1))
    return templates.fitted(
        (_macro("card")(card, detail) for card in cards), room, total=len(names)
    )


def _charted_rows(charted: Release) -> int | None:
    """Records of each set that are shown, if that is not all of them."""
    shown = charted.tables[0].height
    return shown if shown < charted.manifest.n_rows else None


def _context(release: Release, charted: Release) -> dict[str, Any]:
    """What the page says of a release; charts are of the first part of sets in parts."""
    manifest, schema, guarantee = release.manifest, release.schema, release.guarantee
    ledger = release_sections.ledger(manifest)
    measured = [
        measurement_reliability.measurement_row(table, schema) for table in release.measurements
    ]
    relations = release_sections.relations(release)
    answers = Answers(release)
    charted_rows = _charted_rows(charted)
    many = len(schema.stated) > FEW_COLUMNS
    doubtful_first = sorted(guarantee.public_inputs, key=lambda entry: not entry.note)
    return {
        "manifest": manifest,
        "schema": schema,
        "guarantee": guarantee,
        "promise": promise_block(manifest),
        "title": schema.title or "Synthetic data release",
        "badge": guarantee_text.badge(guarantee),
        "limit_only": guarantee.kind == "asymptotic",
        "by_posterior": any(table.kind is Kind.POSTERIOR for table in release.measurements),
        "kept": kept_columns(release.measurements),
        "private": not guarantee_text.is_not_private(guarantee) and manifest.secure,
        "meaning": guarantee_text.meaning(guarantee),
        "conditions": _rows("item", guarantee.conditions),
        "leaks": _rows("item", guarantee.leaks),
        "public_rows": _rows("public_row", doubtful_first),
        "n_doubtful": sum(bool(entry.note) for entry in guarantee.public_inputs),
        "ledger": ledger,
        "ledger_rows": _rows("ledger_row", ledger.rows),
        "reliability": measurement_reliability.reliability(release),
        "measurements": measured,
        "measurement_rows": _rows("measurement_row", measured),
        "relations": relations,
        "groups": _rows("item", relations.groups),
        "sets_words": release_sections.sets_words(release),
        "answers": list(answers.lines()),
        "assumed": ASSUMED,
        "by_moments": bool(answers.moments),
        "declared": declared_results(release),
        "paid": paid_questions(release),
        "warning": POOLED_RIGHT,
        "pair_map": _pair_map(answers),
        "charted_rows": charted_rows,
        "ending": "/" if charted_rows else ".parquet",
        "sparks": _rows("spark", list(column_cards.overview(charted))) if many else (Markup(""), 0),
        "many_columns": many,
    }


def _pair_map(answers: Answers) -> Markup | None:
    """The map of pairs; None where one column leaves none, or where there are too many."""
    return pair_map(answers) if 1 < len(answers.names) <= MOST_COLUMNS else None


def _rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    """Rows of a table, as many as its room holds, and how many were left out."""
    return templates.rendered(_macro(macro), items, _ROOM[macro])


def _macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "parts.html.jinja")
