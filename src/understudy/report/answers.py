"""Answers that a release can give: columns measured, alone and together, and what follows.

A question is *counted* where a released noisy table holds its columns state by state, or where the
distribution that records were drawn from is known: its error bars follow from the noise, which is
known exactly (`understudy.inference.counts`). Columns are *kept* together
where they were measured together in another form, or a network of the method keeps them; error bars
then need sets whose differences show the noise. All other relations are lost.

Second moments answer models, correlations and groups. How wide intervals will be follows from
public facts, and whether there are any is asked of the release itself: what is listed was answered
(`understudy.inference.answered_questions`).

**A triangle of all pairs of columns that shows which were measured together.**
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from typing import TYPE_CHECKING

from markupsafe import Markup

from understudy.inference.noisy_tables import MOST_CELLS, covers
from understudy.models.bayesian_network import find_kept_columns
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.report import text as words
from understudy.report.sections import without_rule
from understudy.report.svg import LARGE, LETTER, SMALL, Box, Chart, Colour
from understudy.report.text import relative, shorten_label, times
from understudy.schema import NUMERIC

if TYPE_CHECKING:
    from understudy.inference.answered_questions import Answerable, Answered


Pair = frozenset[str]
_WIDEST = 12
"""Tables of more columns than this are not taken apart into triples."""


@dataclass(frozen=True)
class Line:
    """One kind of question.

    Attributes:
        question: what is asked.
        answer: how much of it the release answers, and how.
        example: a command that asks it; "" where there is none to give.
        width: expected half-widths of 95 % intervals, in words; "" where none is known.
    """

    question: str
    answer: str
    example: str = ""
    width: str = ""


class Answers:
    """The questions that a release can answer, worked out from its measurements alone.

    Args:
        release: the release.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self.names = release.schema.names

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns that are counted alone."""
        return tuple(name for name in self.names if self._counts((name,)))

    @cached_property
    def counted(self) -> frozenset[Pair]:
        """Pairs of columns that are counted together."""
        if self._drawn:
            return frozenset(map(frozenset, combinations(self.names, 2)))
        return frozenset(pair for pair in self._measured if self._counts(tuple(pair)))

    @cached_property
    def kept(self) -> frozenset[Pair]:
        """Further pairs that the sets keep up to noise."""
        network = self._release.manifest.inference.network
        groups = find_kept_columns(network) if network else ()
        indirect = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
        behind = self._find_pairs(self._release.behind_sets)
        return frozenset((behind | indirect) - self.counted - self.moments)

    @cached_property
    def moments(self) -> frozenset[Pair]:
        """Further pairs of which second moments were measured."""
        products = [m.columns for m in self._release.measurements if m.kind is Kind.PRODUCTS]
        pairs = {frozenset(two) for columns in products for two in combinations(columns, 2)}
        return frozenset(pairs - self.counted)

    @cached_property
    def n_pairs(self) -> int:
        """Number of pairs of columns."""
        return math.comb(len(self.names), 2)

    @cached_property
    def scored(self) -> tuple[str, ...]:
        """Columns whose second moments were measured."""
        products = (m.columns for m in self._release.measurements if m.kind is Kind.PRODUCTS)
        return max(products, key=len, default=())

    @cached_property
    def lined(self) -> tuple[str, ...]:
        """Numeric columns that were counted on a number line."""
        measured = self._release.measurements
        lines = (m.columns[0] for m in measured if m.kind is Kind.LINE)
        return tuple(dict.fromkeys(lines))

    def _beyond(self) -> Iterator[str]:
        """Describe how many records lie beyond which bounds, if answers are refused for it."""
        from understudy.inference.refusals import MOST_BEYOND, beyond_line

        for name in self.lined:
            for one in beyond_line(self._release, name):
                if one.certain:
                    some = f" About {relative(one.share)} of the records have"
                elif one.most > MOST_BEYOND:
                    some = f" Up to {relative(one.most)} of the records may have"
                else:
                    continue
                yield (
                    f"{some} {one.column} {one.side} {one.bound}, its declared bound, so answers "
                    "that rest on these are refused."
                )

    @cached_property
    def triples(self) -> frozenset[frozenset[str]]:
        """Triples of columns that are counted together, of tables that are not too wide."""
        wide = {
            table.columns
            for table in self._release.measurements
            if 2 < len(table.columns) <= _WIDEST
        }
        triples = {frozenset(three) for columns in wide for three in combinations(columns, 3)}
        return frozenset(three for three in triples if self._counts(tuple(three)))

    @cached_property
    def _measured(self) -> frozenset[Pair]:
        """Pairs that some measurement covers; which columns were chosen measures nothing."""
        return self._find_pairs(self._release.measurements)

    @staticmethod
    def _find_pairs(measured: Sequence[Measurement]) -> frozenset[Pair]:
        tables = {table.columns for table in measured if table.kind.is_joint}
        return frozenset(frozenset(pair) for table in tables for pair in combinations(table, 2))

    @cached_property
    def _drawn(self) -> bool:
        """True if all sets were drawn from known urns."""
        measured = self._release.measurements
        if not any(table.kind is Kind.DRAWS for table in measured):
            return False
        from understudy.inference.rules import are_drawn

        return are_drawn(measured, self.names, self._release.manifest, self._release.schema)

    def _counts(self, columns: tuple[str, ...]) -> bool:
        """Return whether the noise-aware rule answers for some columns."""
        if self._drawn:
            return True
        n_cells = math.prod(self._release.schema.columns[name].size for name in columns)
        measured = self._release.measurements
        return n_cells <= MOST_CELLS and any(covers(table, columns) for table in measured)

    def lines(self) -> Iterator[Line]:
        """List what can be asked, the surest first."""
        yield from self._single_lines()
        if len(self.names) > 1:
            yield from self._pair_lines()
        if self.scored:
            yield from self._model_lines()
        yield Line("Other models and statistics of your own", self._set_words())

    @cached_property
    def asked(self) -> dict[str, Answered]:
        """Result of asking each kind of question, by its words."""
        from understudy.inference.answered_questions import answered_kinds

        return {one.kind.question: one for one in answered_kinds(self._release)}

    def _single_lines(self) -> Iterator[Line]:
        """About one column."""
        numeric = tuple(
            k for k in self.names if isinstance(self._release.schema.columns[k], NUMERIC)
        )
        for question in ("Shares of a column", "Means of a number", "Quantiles of a number"):
            if asked := self.asked.get(question):
                possible = self.names if asked.kind.kind == "proportion" else numeric
                known = {name for (name,) in asked.kind.found.widths}
                ordered = tuple(name for name in possible if name in known)
                said = words.name_columns(ordered, possible) + _describe_wide(asked)
                said += "".join(self._beyond()) * (asked.kind.kind == "quantile")
                yield Line(question, said, self._example(asked), asked.kind.width)

    def _pair_lines(self) -> Iterator[Line]:
        """About two columns and more."""
        tables = self.asked["Two-way tables"]
        known = self.counted | {frozenset(two) for two in tables.kind.found.widths}
        known -= {frozenset(two) for two in (*tables.refused, *tables.wide)}
        yield Line(
            "Two-way tables, shares by a group, odds ratios, χ² tests",
            self._pair_words(known, tables),
            self._example(tables),
            tables.kind.width,
        )
        means = self.asked.get("Means by group")
        if means and (means.asked or means.kind.found.lost):
            yield self._line(means, "a number and a group")
        if self.triples:
            shown = times(self._first(self.triples))
            more = f" and {len(self.triples) - 1:,} more" if len(self.triples) > 1 else ""
            yield Line("Three columns", f"Error bars from noisy counts for {shown}{more}.")

    def _model_lines(self) -> Iterator[Line]:
        """About what second moments alone answer."""
        for question in ("Linear models", "Logistic and Poisson models", "Correlations"):
            asked = self.asked.get(question)
            if asked and (asked.asked or asked.kind.found.lost):
                yield self._line(asked, "columns")

    def _line(self, asked: Answered, what: str) -> Line:
        said = _describe_pairs(asked, what) + _describe_wide(asked)
        said += _describe_lost(asked.kind.found)
        return Line(asked.kind.question, said, self._example(asked), asked.kind.width)

    def _example(self, asked: Answered) -> str:
        """A command that was tried and is answered, if a name needs no quoting of its own."""
        plain = (
            (one.kind, one.formula)
            for one in asked.answered.values()
            if not set("'`\"") & set(one.formula)
        )
        return next((f'understudy analyze release {kind} "{text}"' for kind, text in plain), "")

    def _pair_words(self, known: Set[Pair], tables: Answered) -> str:
        said = words.many(len(known), self.n_pairs, "pair", "pairs") + _describe_wide(tables)
        told = known | {frozenset(two) for two in tables.wide}
        kept, moments = self.kept - told, self.moments - told
        if moments:
            said += f" {len(moments):,} more have second moments, which answer what stands below."
        if kept:
            also = "more" if known else "of them"
            said += f" The sets keep {len(kept):,} {also} up to noise."
        lost = self.n_pairs - len(told | kept | moments)
        if lost:
            said += f" The other {lost:,} were not measured together: take them as not preserved."
        return said

    def _set_words(self) -> str:
        manifest = self._release.manifest
        if without_rule(self._release):
            return "No error bars: no rule combines these sets."
        if manifest.sets == 1 or manifest.sets_kind == "free":
            why = "one set does" if manifest.sets == 1 else "sets of one noisy fit do"
            return f"No error bars: {why} not show how much noise moved the result."
        # Models of effects that redrawn fits keep firmly are answered whatever the noise.
        firm = manifest.inference.posterior_rule == "mi"
        small = ", unless it is a model of columns as they are," if firm else ""
        return (
            f"Error bars by combining the {manifest.sets} sets, where all columns of the question "
            f"were measured together and{small} the noise is small beside them; refused elsewhere."
        )

    def _first(self, groups: frozenset[frozenset[str]]) -> tuple[str, ...]:
        """The group that comes first in the order of the schema."""
        place = {name: k for k, name in enumerate(self.names)}
        ordered = [sorted(group, key=place.__getitem__) for group in groups]
        return tuple(min(ordered, key=lambda group: [place[name] for name in group], default=()))


MOST_COLUMNS = 60
_MOST_NAMED = 12  # others in one cell of the list; of more, those that lack are named


@dataclass(frozen=True)
class PairRow:
    """A column in the list of pairs, and in words with which others it was measured.

    Attributes:
        name: of the column.
        counted: with which others its joint counts were measured.
        moments: with which further ones second moments were.
        kept: with which further ones sets keep it, up to noise.
    """

    name: str
    counted: str
    moments: str
    kept: str


def pair_rows(answers: Answers) -> list[PairRow]:
    """The map of pairs as a list, those first that were counted with most others."""
    kinds = (answers.counted, answers.moments, answers.kept)
    return [
        PairRow(name, *(_others(answers.names, name, pairs) for pairs in kinds))
        for name in _most_counted_first(answers)
    ]


def _others(names: Sequence[str], name: str, pairs: frozenset[Pair]) -> str:
    others = [other for other in names if other != name]
    found = [other for other in others if frozenset((name, other)) in pairs]
    lacking = [other for other in others if other not in found]
    if len(found) <= _MOST_NAMED:
        return ", ".join(found)
    if len(lacking) <= _MOST_NAMED:
        return f"all others but {', '.join(lacking)}" if lacking else "all others"
    return f"{', '.join(found[:_MOST_NAMED])} and {len(found) - _MOST_NAMED} more"


def _most_counted_first(answers: Answers) -> list[str]:
    """Names by how many others they were counted with, so that marks stand close together."""
    of = Counter(name for pair in answers.counted for name in pair)
    kept = Counter(name for pair in answers.kept for name in pair)
    return sorted(answers.names, key=lambda name: (-of[name], -kept[name]))


_LABEL = 24  # most letters of a name
_LEAST_WIDTH = 480.0  # so that few columns are not blown up
_HALVES = {"counted": 0.42, "moments": 0.29, "kept": 0.14}  # of the height of a mark, in cells
_COLOURS = {"counted": Colour.BAR, "moments": Colour.ABSENT, "kept": Colour.SPIKE}


def pair_map(answers: Answers) -> Markup:
    """The lower triangle of all pairs: a high mark is counted, a low one kept, none is lost.

    A mark of middle height has second moments.

    Columns that were counted with most others come first. A pair's row and column end at their
    names on the diagonal. Marks differ in height, not in colour alone; neighbours of one kind in
    a row are one mark, so that the page stays small.
    """
    names = _most_counted_first(answers)
    n = len(names)
    side = 18.0 if n <= 20 else 13.0
    letters = max(len(shorten_label(name, _LABEL)) for name in names)
    chart = Chart(n * side + 4, max(n * side + 8 + LETTER * letters, _LEAST_WIDTH))
    panel = chart.canvas()
    panel.segments([(0, k * side, k * side, k * side) for k in range(1, n)], Colour.RULE, 0.7)
    panel.segments([(k * side, k * side, k * side, n * side) for k in range(n)], Colour.RULE, 0.7)
    for kind, colour in _COLOURS.items():
        panel.fill(list(_marks(answers, names, kind, side)), colour)
    size = LARGE if side > SMALL + 4 else SMALL
    for i, name in enumerate(names):
        panel.text(i * side + 4, (i + 0.5) * side, shorten_label(name, _LABEL), size=size)
    return chart.svg(_describe_map(answers), legible=True)


def _marks(answers: Answers, names: Sequence[str], kind: str, side: float) -> Iterator[Box]:
    """Marks of one kind, row by row."""
    pairs = {"counted": answers.counted, "moments": answers.moments, "kept": answers.kept}[kind]
    half = _HALVES[kind] * side
    inset = side * (0.5 - _HALVES["counted"])
    for i, name in enumerate(names):
        y = (i + 0.5) * side
        here = [frozenset((name, names[j])) in pairs for j in range(i)]
        for marked, run in groupby(range(i), here.__getitem__):
            places = list(run)
            if marked:
                left, right = places[0] * side + inset, (places[-1] + 1) * side - inset
                yield left, y - half, right, y + half


def _describe_map(answers: Answers) -> str:
    """The map in words; the list of measured tables below it names the pairs."""
    by_moments, kept = len(answers.moments), len(answers.kept)
    lost = answers.n_pairs - len(answers.counted) - by_moments - kept
    also = f"{by_moments:,} by second moments, " if by_moments else ""
    return (
        f"Map of the {answers.n_pairs:,} pairs of columns: {len(answers.counted):,} counted "
        f"together, {also}{kept:,} kept in the sets, {lost:,} not measured together."
    )


def _describe_pairs(asked: Answered, what: str) -> str:
    """Say how many pairs of something have error bars, of those that were asked about.

    Args:
        asked: what came of it.
        what: they are pairs of, "columns".
    """
    n, refused = len(asked.answered), len(asked.refused)
    if asked.is_complete:
        said = f"Error bars for {n:,} {'pair' if n == 1 else 'pairs'} of {what}."
        return said + (
            f" {refused:,} more {'is' if refused == 1 else 'are'} refused." if refused else ""
        )
    possible = len(asked.kind.found.widths) - n + asked.asked
    return (
        f"Error bars for {n:,} of {asked.asked:,} pairs of {what} that were asked about, out of "
        f"{possible:,} whose noise allows them."
    )


def _describe_lost(found: Answerable) -> str:
    """Say how many are lost in the noise."""
    n = len(found.lost)
    return f" {n:,} {'pair' if n == 1 else 'pairs'} would be lost in the noise." if n else ""


def _describe_wide(asked: Answered) -> str:
    """Say how many have intervals that are too wide to count."""
    n = len(asked.wide)
    return f" {n:,} more {'has an interval' if n == 1 else 'have intervals'} too wide." if n else ""
