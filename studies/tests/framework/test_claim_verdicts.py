"""Verdicts are computed, and one that is not "agrees" has a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy_studies.framework.claim_verdicts import (
    UNEXPLAINED,
    Verdict,
    by_reading,
    comparison,
    disagreements,
    judged,
    judged_by_margins,
)
from understudy_studies.framework.verdict_causes import difference, reading

DOCS = Path(__file__).parents[3] / "docs" / "evidence"
LOST = reading("the number of cups is lost; with two it holds.")


@pytest.mark.parametrize(("holds", "word"), [(20, "agrees"), (19, "agrees"), (18, "partly"),
                                             (10, "partly"), (9, "not"), (0, "not")])  # fmt: skip
def test_a_verdict_follows_from_the_share_of_cases(holds: int, word: str) -> None:
    verdict = judged("Tea is warm.", "It is", [True] * holds + [False] * (20 - holds), why=LOST)
    assert verdict.word == word
    assert (verdict.cause is None) == (word == "agrees")


def test_without_a_case_nothing_agrees() -> None:
    assert judged("Tea is warm.", "Nothing", []).word == "not"


def test_the_cause_stands_in_table_and_findings() -> None:
    verdicts = [judged("Tea is warm.", "It is", [False], why=LOST), judged("So?", "Yes", [True])]
    assert comparison(verdicts).rows[0][-1] == LOST.sentence
    assert comparison(verdicts).rows[1][-1] == "–"
    assert LOST.sentence in next(iter(disagreements(verdicts)))


def test_a_missing_cause_is_seen() -> None:
    assert comparison([judged("Tea is warm.", "It is", [False])]).rows[0][-1] == UNEXPLAINED


def test_chance_is_the_cause_where_it_could_turn_the_verdict() -> None:
    margins = [(1.0, 0.1), (-0.1, 0.1)]
    verdict = judged_by_margins("Tea is warm.", "It is", margins, repetitions=30, why=LOST)
    assert verdict.word == "partly"
    assert verdict.cause is not None
    assert verdict.cause.kind == "repetitions"
    assert "about 120 would" in verdict.cause.words
    assert LOST.sentence in verdict.cause.words


def test_chance_is_no_cause_of_what_is_certain() -> None:
    why = difference("see the table.")
    verdict = judged_by_margins(
        "Tea is warm.", "It is", [(1.0, 0.1), (-1.0, 0.1)], repetitions=30, why=why
    )
    assert verdict.cause is why


def test_readings_stand_beside_each_other_with_their_cases() -> None:
    near = judged_by_margins("Tea is warm.", "It is", [(1.0, 0.1), (-0.1, 0.1)], repetitions=30)
    table = by_reading({"one": [near], "other": [Verdict("Tea is warm.", "Who knows", "not")]})
    assert table.headings == ("The paper says", "one", "other")
    assert table.rows == (("Tea is warm.", "partly, 1 of 2", "not, –"),)


def test_every_page_has_a_cause_for_every_point_that_does_not_hold() -> None:
    pages = [page for page in DOCS.glob("*.md") if "Why it differs" in page.read_text("utf-8")]
    assert not [page.name for page in pages if UNEXPLAINED in page.read_text("utf-8")]
