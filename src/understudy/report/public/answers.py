"""What a release can answer: which columns were measured, alone and together, and what follows.

A question is *counted* where a released noisy table holds its columns state by state, or where the
distribution that records were drawn from is known: its error bars follow from the noise, which is
known exactly (`understudy.inference.noise_aware.count_estimates`). Columns are *kept* together
where they were measured together in another form, or a network of the method keeps them; error bars
then need sets whose differences show the noise. All other relations are lost.

A triangle of all pairs of columns shows which were measured together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby

from markupsafe import Markup

from understudy.inference.noise_aware.cell_scores import MOST_CELLS, covers
from understudy.models.bayesian_network import kept
from understudy.release import Release
from understudy.release.measurement_content import Kind
from understudy.report.number_text import shortened, times
from understudy.report.public.release_sections import without_rule
from understudy.report.svg import LARGE, LETTER, SMALL, Box, Chart, Colour

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
    """

    question: str
    answer: str
    example: str = ""


class Answers:
    """What a release can answer, worked out from its measurements alone.

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
        groups = kept(network) if network else ()
        indirect = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
        return frozenset((self._measured | indirect) - self.counted)

    @cached_property
    def n_pairs(self) -> int:
        """Number of pairs of columns."""
        return math.comb(len(self.names), 2)

    @cached_property
    def scored(self) -> tuple[str, ...]:
        """Columns whose second moments were measured."""
        products = (m.columns for m in self._release.measurements if m.kind is Kind.PRODUCTS)
        return next(products, ())

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
        tables = {table.columns for table in self._release.measurements if table.kind.is_joint}
        return frozenset(frozenset(pair) for table in tables for pair in combinations(table, 2))

    @cached_property
    def _drawn(self) -> bool:
        """Whether all sets were drawn from known urns."""
        measured = self._release.measurements
        if not any(table.kind is Kind.DRAWS for table in measured):
            return False
        from understudy.inference.noise_aware.urn_estimates import (
            are_drawn,  # loads the libraries of statistics
        )

        return are_drawn(measured, self.names, self._release.manifest, self._release.schema)

    def _counts(self, columns: tuple[str, ...]) -> bool:
        """Whether the noise-aware rule answers for some columns."""
        if self._drawn:
            return True
        n_cells = math.prod(self._release.schema.columns[name].size for name in columns)
        measured = self._release.measurements
        return n_cells <= MOST_CELLS and any(covers(table, columns) for table in measured)

    def lines(self) -> Iterator[Line]:
        """What can be asked, the surest first."""
        p = len(self.names)
        yield Line(
            "One column: shares, totals, means, quantiles",
            _many(len(self.columns), p, "column", "columns"),
            _example("proportion" if self.columns else "", self.columns[:1]),
        )
        if p > 1:
            yield Line(
                "Two columns: cross-tables, shares and means by group",
                self._pair_words(),
                _example("table" if self.counted else "", self._first(self.counted)),
            )
        if p > 2 and self.triples:
            shown = times(self._first(self.triples))
            more = f" and {len(self.triples) - 1:,} more" * (len(self.triples) > 1)
            yield Line("Three columns", f"Error bars from noisy counts for {shown}{more}.")
        if self.scored:
            many = f"all {p:,}" if len(self.scored) == p else f"{len(self.scored):,} of {p:,}"
            yield Line(
                "Linear models, correlations, means and shares by a group",
                f"Error bars from second moments of {many} columns, measured of the values "
                "themselves; refused where a group or a predictor is lost in the noise.",
                _model_example(self.scored),
            )
        yield Line("Other models and statistics of your own", self._set_words())

    def _pair_words(self) -> str:
        words = _many(len(self.counted), self.n_pairs, "pair", "pairs")
        if self.kept:
            also = "more" if self.counted else "of them"
            words += f" The sets keep {len(self.kept):,} {also} up to noise."
        lost = self.n_pairs - len(self.counted) - len(self.kept)
        if lost:
            words += f" The other {lost:,} were not measured together: take them as not preserved."
        return words

    def _set_words(self) -> str:
        manifest = self._release.manifest
        if without_rule(self._release):
            return "No error bars: no rule combines these sets."
        if manifest.sets == 1 or manifest.sets_kind == "free":
            why = "one set does" if manifest.sets == 1 else "sets of one noisy fit do"
            return f"No error bars: {why} not show how much noise moved the result."
        return (
            f"Error bars by combining the {manifest.sets} sets, where all columns of the question "
            "were measured together and the noise is small beside them; refused elsewhere."
        )

    def _first(self, groups: frozenset[frozenset[str]]) -> tuple[str, ...]:
        """The group that comes first in the order of the schema."""
        place = {name: k for k, name in enumerate(self.names)}
        ordered = [sorted(group, key=place.__getitem__) for group in groups]
        return tuple(min(ordered, key=lambda group: [place[name] for name in group], default=()))


def _many(n: int, total: int, single: str, many: str) -> str:
    """For how many of all there are error bars from counts."""
    if not n:
        return f"No {single} has error bars from noisy counts."
    which = f"all {total:,} {many}" if n == total > 1 else f"{n:,} of {total:,} {many}"
    return f"Error bars from noisy counts for {which}."


def _example(kind: str, columns: tuple[str, ...]) -> str:
    """A command that asks about columns; none where a name would need quoting of its own."""
    plain = all(name.isidentifier() for name in columns)
    return f'understudy analyze release {kind} "{" + ".join(columns)}"' if kind and plain else ""


def _model_example(columns: tuple[str, ...]) -> str:
    plain = [name for name in columns if name.isidentifier()]
    return f'understudy analyze release ols "{plain[0]} ~ {plain[1]}"' if len(plain) > 1 else ""


MOST_COLUMNS = 60
_LABEL = 24  # most letters of a name
_LEAST_WIDTH = 480.0  # so that few columns are not blown up
_HALVES = {"counted": 0.42, "kept": 0.17}  # of the height of a mark, in cells
_COLOURS = {"counted": Colour.BAR, "kept": Colour.SPIKE}


def pair_map(answers: Answers) -> Markup:
    """The lower triangle of all pairs: a high mark is counted, a low one kept, none is lost.

    A pair's row and column end at their names on the diagonal. Marks differ in height, not in
    colour alone; neighbours of one kind in a row are one mark, so that the page stays small.
    """
    names = answers.names
    n = len(names)
    side = 18.0 if n <= 20 else 13.0
    letters = max(len(shortened(name, _LABEL)) for name in names)
    chart = Chart(n * side + 4, max(n * side + 8 + LETTER * letters, _LEAST_WIDTH))
    panel = chart.canvas()
    panel.segments([(0, k * side, k * side, k * side) for k in range(1, n)], Colour.RULE, 0.7)
    panel.segments([(k * side, k * side, k * side, n * side) for k in range(n)], Colour.RULE, 0.7)
    for kind, colour in _COLOURS.items():
        panel.fill(list(_marks(answers, kind, side)), colour)
    size = LARGE if side > SMALL + 4 else SMALL
    for i, name in enumerate(names):
        panel.text(i * side + 4, (i + 0.5) * side, shortened(name, _LABEL), size=size)
    return chart.svg(_spoken(answers))


def _marks(answers: Answers, kind: str, side: float) -> Iterator[Box]:
    """Marks of one kind, row by row."""
    pairs = answers.counted if kind == "counted" else answers.kept
    names, half = answers.names, _HALVES[kind] * side
    inset = side * (0.5 - _HALVES["counted"])
    for i, name in enumerate(names):
        y = (i + 0.5) * side
        here = [frozenset((name, names[j])) in pairs for j in range(i)]
        for marked, run in groupby(range(i), here.__getitem__):
            places = list(run)
            if marked:
                left, right = places[0] * side + inset, (places[-1] + 1) * side - inset
                yield left, y - half, right, y + half


def _spoken(answers: Answers) -> str:
    """The map in words; the list of measured tables below it names the pairs."""
    lost = answers.n_pairs - len(answers.counted) - len(answers.kept)
    return (
        f"Map of the {answers.n_pairs:,} pairs of columns: {len(answers.counted):,} counted "
        f"together, {len(answers.kept):,} kept in the sets, {lost:,} not measured together."
    )
