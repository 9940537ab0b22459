"""Answers that a release has, kind by kind, found by asking: the code that answers is what decides.

Which questions may have an answer follows from public facts (`inference.expected_widths`). Whether
one has depends on more: on numbers beyond their bounds, on records out of domain, on groups that
noise hides. So each question about one column is put to `analyze.analyze_release`. Of those about
two columns up to `MOST_ASKED` of a kind are put, spread over all that count by public facts
(`inference.usefulness`). What is listed was answered, and counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from understudy.inference.analyze import valid_answer
from understudy.inference.expected_widths import ExpectedWidths
from understudy.inference.question import QuestionKind
from understudy.inference.records import is_grouping, level_values
from understudy.inference.usefulness import answer_counts, counts
from understudy.release.release import Release
from understudy.schema import NUMERIC, Boolean, Continuous, Integer, Schema
from understudy.schema.expressions import quote_name

MOST_ASKED = 8
"""Questions of a kind about two columns that are asked."""
MOST_SINGLE = 60
"""Questions of a kind about one column that are asked."""


@dataclass(frozen=True)
class Question:
    """A question as `analyze` takes it.

    Attributes:
        kind: of the question.
        formula: of what.
    """

    kind: str
    formula: str


@dataclass(frozen=True)
class Answered:
    """Questions of a kind, and what came of asking them.

    Attributes:
        kind: the questions, of which `found` has those that may be answered, without those that
            do not count or were refused.
        answered: those that were asked and have valid error bars that count, by their columns.
        wide: those whose error bars do not count, or would not.
        refused: those that were asked and have none.
        asked: number of questions that were asked.
    """

    kind: QuestionKind
    answered: dict[tuple[str, ...], Question]
    wide: tuple[tuple[str, ...], ...]
    refused: dict[tuple[str, ...], Question]
    asked: int

    @property
    def is_complete(self) -> bool:
        """True if all that may count were asked."""
        return len(self.answered) == len(self.kind.found.widths)


def answered_kinds(release: Release) -> tuple[Answered, ...]:
    """All kinds of questions about one column or two, and what the release answers of each.

    Args:
        release: that is asked.
    """
    return tuple(_ask_kind(release, kind) for kind in ExpectedWidths(release).kinds())


def _ask_kind(release: Release, kind: QuestionKind) -> Answered:
    schema, widths, single = release.schema, kind.found.widths, _is_single(kind)
    named = {columns: question_of(kind, columns, schema) for columns in _possible(kind, schema)}
    questions = {columns: one for columns, one in named.items() if one is not None}
    narrow = {
        columns
        for columns in questions
        if columns not in widths or counts(widths[columns], kind.found.of_rows[columns])
    }
    worth = [columns for columns in questions if single or columns in narrow]
    answered: dict[tuple[str, ...], Question] = {}
    refused: dict[tuple[str, ...], Question] = {}
    wide = [] if single else [columns for columns in questions if columns not in narrow]
    asked = list(_spread(worth, MOST_SINGLE if single else MOST_ASKED))
    for columns in asked:
        one = questions[columns]
        pooled = valid_answer(release, one.kind, one.formula)
        if pooled is None:
            if columns in widths:
                refused[columns] = one
        elif answer_counts(pooled, expected=columns in narrow):
            answered[columns] = one
        else:
            wide.append(columns)
    kept = {
        columns: widths.get(columns, math.inf)
        for columns in worth
        if columns not in refused
        and columns not in wide
        and (columns in widths or columns in answered)
    }
    found = replace(kind.found, widths=kept)
    return Answered(replace(kind, found=found), answered, tuple(wide), refused, len(asked))


def _is_single(kind: QuestionKind) -> bool:
    return kind.what == "columns"


def _possible(kind: QuestionKind, schema: Schema) -> list[tuple[str, ...]]:
    """List what may be answered: what has a width, or without any all columns or pairs.

    Drawn records answer without a noise from which a width would follow.
    """
    if not _is_single(kind):
        if kind.found.widths or kind.kind != "table":
            return list(kind.found.widths)
        return list(combinations(schema.names, 2))
    names = schema.names
    if kind.kind != "proportion":
        names = tuple(name for name in names if isinstance(schema.columns[name], NUMERIC))
    return [(name,) for name in names]


def _spread(each: Sequence[tuple[str, ...]], most: int) -> Iterator[tuple[str, ...]]:
    """At most so many, evenly over all."""
    if len(each) <= most:
        yield from each
    else:
        yield from (each[k * len(each) // most] for k in range(most))


def question_of(kind: QuestionKind, columns: tuple[str, ...], schema: Schema) -> Question | None:
    """Return the question about some columns; None where `analyze` has no such question.

    A model has as outcome the column that is a number, or true or false, or else whether a record
    has the first level.

    Args:
        kind: of the question.
        columns: one or two.
        schema: of the release.
    """
    if kind.kind not in ("ols", "logit"):
        return Question(kind.kind, kind.between.join(map(quote_name, columns)))
    plain = [name for name in columns if not is_grouping(schema.columns[name])]
    if kind.kind == "logit":
        plain = [name for name in plain if isinstance(schema.columns[name], Boolean)]
    grouping = [name for name in columns if is_grouping(schema.columns[name])]
    outcome = next(iter((*plain, *grouping)), None)
    if outcome is None:
        return _of_counts(columns, schema)
    (other,) = (name for name in columns if name != outcome)
    left = quote_name(outcome)
    if outcome not in plain:
        column = schema.columns[outcome]
        assert not isinstance(column, NUMERIC)
        left = f"{{{left} == {level_values(column)[0]!r}}}"
    return Question(kind.kind, f"{left} ~ {quote_name(other)}")


def _of_counts(columns: tuple[str, ...], schema: Schema) -> Question | None:
    """A model of a number that is never below 0."""
    for outcome, other in (columns, columns[::-1]):
        column = schema.columns[outcome]
        if isinstance(column, Integer | Continuous) and column.bounds[0] >= 0:
            return Question("poisson", f"{quote_name(outcome)} ~ {quote_name(other)}")
    return None
