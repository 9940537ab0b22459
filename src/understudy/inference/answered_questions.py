"""Which questions a release can answer and how wide, from public facts; and which it does answer.

The noise is that of the measurements and known exactly; the sampling is that of as many records as
the release has. What nobody knows before asking is how the population is spread, so a width is for
a stated one: *levels alike in size, numbers spread evenly between their bounds, columns independent
of each other*. It says what order of precision to expect; the interval itself comes from `analyze`.

With n records, noise variance v in a count and σ² in a sum of products of scores (numbers scaled to
[−1, 1], so of variance 1/3), q the weight of their sums, the variances are

    share of a level, K of them       (1 − 1/K)/K/n + v(1 − 1/K)/n²
    mean of a number                  h²(1/(3n) + σ²/(qn)²), h half its range; by bins: Σ v m²/n²,
                                      m their middles, and half the width of a bin as a bound;
                                      less where moments and counts of bins are put together
    median                            R²(1/(4n) + vK/(4n²)), R its range, and half a bin
    mean by one of K groups           that of the mean, for n/K records, with (1 − 1/K + 1/(qK)²)σ²
                                      in the place of σ²/q²
    correlation, standardised slope   1/n + 9σ²/n²
    log-odds for one sd more          4/n + 24σ²/n²

as in `inference.counts`, `moment_ratios`, `correlations` and `least_squares` at that population.
Of records that are alike the first part, by sampling, is multiplied by the public design effect.
For log-odds, X'y − ½X'1 has noise of variance σ²/2, the information is n/12, the sd 1/√3.

**Answers that a release has**, kind by kind, are found by asking: the code that answers decides.

Whether a question has an answer depends on more than public facts: on numbers beyond their bounds,
on records out of domain, on groups that noise hides. So each question about one column is put to
`analyze.analyze_release`. Of those about two columns up to `MOST_ASKED` of a kind are put, spread
over all that count by public facts (`analysis.counts`). What is listed was answered, and counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from understudy._arrays import Z_95
from understudy.features.scores import BINS, MOST_BINS, FeatureMap, contrast_length
from understudy.inference.analysis import COUNTED, answer_counts, counts
from understudy.inference.analyze import valid_answer
from understudy.inference.design_effects import effect_notes, fractions_of
from understudy.inference.noisy_tables import MOST_CELLS, covers, line_of
from understudy.inference.records import is_grouping, level_values
from understudy.inference.second_moments import FIRM, FIRM_MODEL
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.schema import NUMERIC, Boolean, Continuous, Integer, Schema
from understudy.schema.expressions import quote_name


@dataclass(frozen=True)
class Answerable:
    """Questions of one kind about single columns, or pairs of them.

    Attributes:
        widths: half-width of the 95 % interval of each that is answered, by columns.
        lost: those that second moments were measured of, but whose groups or predictors would be
            lost in the noise.
        of_rows: half-width of the interval that the records themselves would give, by columns.
    """

    widths: dict[tuple[str, ...], float]
    lost: tuple[tuple[str, ...], ...] = ()
    of_rows: dict[tuple[str, ...], float] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest known width; None if there is none."""
        known = [width for width in self.widths.values() if math.isfinite(width)]
        return (min(known), max(known)) if known else None


@dataclass(frozen=True)
class QuestionKind:
    """Questions of a kind, and how many of them a release answers.

    Attributes:
        question: in words.
        kind: as `analyze` takes it.
        between: what stands between two columns in its formula.
        what: it is about, "columns" or "pairs".
        possible: how many there are.
        found: those that are answered.
        unit: of the widths: "%", "% of the range", or words after a number.
    """

    question: str
    kind: str
    between: str
    what: str
    possible: int
    found: Answerable
    unit: str

    @property
    def width(self) -> str:
        """Least and greatest expected half-width; "" where none is known."""
        if self.found.ends is None:
            return ""
        scale = 100 if self.unit.startswith("%") else 1
        low, high = (_format_width(scale * end) for end in self.found.ends)
        return f"± {low if low == high else f'{low} to {high}'} {self.unit}".rstrip()


def _format_width(width: float) -> str:
    """To two digits, and never as a power of ten where it is large."""
    return f"{width:.2g}" if width < 99.5 else f"{width:,.0f}"


def answerable(
    found: Mapping[tuple[str, ...], tuple[float, float] | None],
    lost: Iterable[tuple[str, ...]] = (),
) -> Answerable:
    """Questions with their widths, and those that are lost.

    Args:
        found: half-width of the answer, and of what the rows would give; None for no answer.
        lost: see `Answerable`.
    """
    known = {key: both for key, both in found.items() if both is not None}
    widths, of_rows = ({key: both[k] for key, both in known.items()} for k in (0, 1))
    return Answerable(widths, tuple(lost), of_rows)


_ASSUMED = (
    f"{COUNTED} Half-widths are what to expect of 95 % intervals, not a promise: noise is known "
    "exactly, and sampling is counted for the release's number of records, levels alike in size, "
    "numbers spread evenly between their bounds, and columns independent of each other. Rare "
    "levels, and numbers bunched in a part of their range, have other widths; analyze gives them."
)
_RANGE = "% of the range"

Widths = tuple[float, float]
"""Half-width of an answer, and of the interval that the records themselves would give."""


def assumed_words(schema: Schema) -> str:
    """Say of what population half-widths are expected, and what they count."""
    notes = effect_notes(schema.design, fractions_of(None, schema, 1))
    return " ".join((_ASSUMED, *notes))


class ExpectedWidths:
    """Half-widths of the answers of a release, in fractions of a number's range where it is one.

    Attributes:
        numeric: columns of numbers and dates.

    Args:
        release: the release; only its schema, number of rows and noise are looked at.
    """

    def __init__(self, release: Release) -> None:
        self._schema, self._measured = release.schema, release.measurements
        self._n = max(release.manifest.n_rows, 1)
        self._effect = release.schema.design.effect(release.schema.columns)
        names = release.schema.names
        self.numeric = tuple(k for k in names if isinstance(release.schema.columns[k], NUMERIC))
        self._levels = tuple(name for name in names if name not in self.numeric)

    def kinds(self) -> tuple[QuestionKind, ...]:
        """All kinds of questions about one column or two, in the order in which one asks them."""
        p, b = len(self._schema.names), len(self.numeric)
        pairs, numbers = math.comb(p, 2), math.comb(b, 2)
        groups = b * len(self._levels)
        sd = "for each standard deviation of the predictor"
        slope, odds = f"standard deviations {sd}", f"log-odds {sd}"
        each = (
            ("Shares of a column", "proportion", "", "columns", p, self.shares(), "%"),
            ("Means of a number", "mean", "", "columns", b, self.means(), _RANGE),
            ("Quantiles of a number", "quantile", "", "columns", b, self.quantiles(), _RANGE),
            ("Two-way tables", "table", " + ", "pairs", pairs, self.tables(), "%"),
            ("Means by group", "mean", " ~ ", "pairs", groups, self.group_means(), _RANGE),
            ("Correlations", "correlation", " + ", "pairs", numbers, self.correlations(), ""),
            ("Linear models", "ols", " ~ ", "pairs", pairs, self.linear(), slope),
            ("Logistic and Poisson models", "logit", " ~ ", "pairs", pairs, self.logistic(), odds),
        )
        return tuple(QuestionKind(*one) for one in each if one[4])

    def shares(self) -> Answerable:
        """Of the states of each column: by tables, or second moments of levels."""
        return self._of_cells((name,) for name in self._schema.names)

    def tables(self) -> Answerable:
        """Of the cells of each pair of columns."""
        return self._of_cells(combinations(self._schema.names, 2))

    def means(self) -> Answerable:
        """Of the mean of each number, in ranges."""
        return answerable({(name,): self._mean(name, 1, (name,)) for name in self.numeric})

    def group_means(self) -> Answerable:
        """Of the mean of each number by the levels of each column; the group comes second."""
        pairs = [(number, group) for number in self.numeric for group in self._levels]
        lost = [two for two in pairs if self._is_lost(*two)]
        found = {two: self._mean(two[0], self._groups(two[1]), two) for two in pairs}
        return answerable({two: x for two, x in found.items() if two not in lost}, lost)

    def quantiles(self) -> Answerable:
        """Of the median of each number, in ranges, whole bins included."""
        found: dict[tuple[str, ...], Widths | None] = {}
        lines = {name: line_of(self._measured, name) for name in self.numeric}
        for name in self.numeric:
            noise = self._table_noise((name,))
            column = self._schema.columns[name]
            k, bins = column.n_ordinary, self._bins(name)[0]
            line = lines.get(name)
            if line is not None and len(line.counts) > column.size + 2:  # finer than the bins
                noise, k = line.stddev**2, len(line.counts)
                bins = 0.5 / k
            if noise is not None:
                found[name,] = self._widths(0.25 / self._n, noise * k / 4 / self._n**2, bins)
        return answerable(found)

    def correlations(self) -> Answerable:
        """Of the correlation of each pair of numbers, which is that of a standardised slope."""
        return self._of_moments(combinations(self.numeric, 2), 1.0, 9.0, FIRM)

    def linear(self) -> Answerable:
        """Of standardised slopes, by pairs of columns that a model may have."""
        return self._of_moments(combinations(self._schema.names, 2), 1.0, 9.0, FIRM)

    def logistic(self) -> Answerable:
        """Of log-odds per standard deviation, by pairs of columns that a model may have."""
        return self._of_moments(combinations(self._schema.names, 2), 4.0, 24.0, FIRM_MODEL)

    def _of_cells(self, each: Iterable[tuple[str, ...]]) -> Answerable:
        found: dict[tuple[str, ...], Widths | None] = {}
        for columns in each:
            cells = math.prod(self._groups(name) for name in columns)
            tables, moments = self._table_noise(columns), self._cell_noise(columns)
            if tables and moments:  # moments are put together with the tables of their columns
                moments = 1 / (1 / tables + 1 / moments)
            of_rows = (1 - 1 / cells) / cells / self._n
            by_tables, by_moments = (
                None if noise is None else self._widths(of_rows, noise / self._n**2)
                for noise in (tables, moments)
            )
            found[columns] = by_tables
            if by_tables is None or (by_moments and by_moments[0] < by_tables[0]):
                found[columns] = by_moments
        return answerable(found)

    def _of_moments(
        self, pairs: Iterable[tuple[str, ...]], sampling: float, noise: float, firm: float
    ) -> Answerable:
        """Of what needs a record's value of both columns; arguments are the variances' factors."""
        found: dict[tuple[str, ...], Widths | None] = {}
        lost = []
        for two in pairs:
            moments = self._moment_noise(two)
            if moments is None:
                continue
            if self._n / 3 < firm * math.sqrt(moments):
                lost.append(two)
            else:
                found[two] = self._widths(sampling / self._n, noise * moments / self._n**2)
        return answerable(found, lost)

    def _mean(self, name: str, groups: int, columns: tuple[str, ...]) -> Widths | None:
        """Of a mean by so many groups, in ranges; None where there is no answer."""
        n, moments = self._n / groups, self._moment_noise(columns)
        if moments is not None:
            own = moments * (1 - 1 / groups + 1 / (groups * self._weight(columns)) ** 2)
            return self._widths(1 / 12 / n, own / 4 / n**2)
        noise = self._table_noise(columns)
        if noise is None:
            return None
        bound, squares = self._bins(name)
        return self._widths(1 / 12 / n, noise * squares / n**2, bound)

    def _bins(self, name: str) -> tuple[float, float]:
        """Mean half-width of the bins of a number, and the sum of squares of their middles.

        Both in ranges, middles from that of the range; records spread evenly over it.
        """
        column = self._schema.columns[name]
        assert isinstance(column, NUMERIC)
        low, high = column.bounds
        span = (high - low) or 1.0
        ends = [((b.low - low) / span, (b.high - low) / span) for b in column.intervals]
        widths = [max(b - a, 0.0) for a, b in ends]
        total = sum(widths) or 1.0
        return sum(w * w for w in widths) / total / 2, sum(
            ((a + b) / 2 - 0.5) ** 2 for a, b in ends
        )

    def _widths(self, sampling: float, noise: float, bound: float = 0.0) -> Widths:
        """Half-widths by variances, and a bound on what bins hide."""
        sampling *= self._effect
        return Z_95 * math.sqrt(sampling + noise) + bound, Z_95 * math.sqrt(sampling)

    def _groups(self, name: str) -> int:
        return max(self._schema.columns[name].n_ordinary, 1)

    def _is_lost(self, number: str, group: str) -> bool:
        """Return whether groups are too small for means by second moments.

        The size of a group is its count, which tables help to know, less those that lack the
        number, code by code.
        """
        moments = self._moment_noise((number, group))
        if not moments:
            return False
        column = self._schema.columns[number]
        k, weight = self._groups(group), self._weight((number, group))
        spread = moments * (1 - 1 / k)  # 0 where one group has everybody
        own = spread / (weight**2 + spread * self._precision.get((group,), 0.0))
        lacking = column.size - column.n_ordinary + (column.out_of_domain is None)
        noise = own + moments * lacking * (not self._complete((number, group)))
        return self._n / self._groups(group) < FIRM * math.sqrt(noise)

    def _complete(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns of which the records that count have a value, in what answers these."""
        return max((one.of for one in self._matrices_of(columns)), key=len, default=())

    def _moment_noise(self, columns: Sequence[str]) -> float | None:
        """Variance in a sum of products of scores at full length, all measurements averaged."""
        found = self._matrices_of(columns)
        if not all(one.stddev for one in found):
            return 0.0
        precision = sum((self._length(columns, one) / one.stddev) ** 2 for one in found)
        return 1 / precision if found else None

    def _length(self, columns: Sequence[str], measured: Measurement) -> float:
        """Length of the product of the contrasts of some columns in second moments."""
        many = self._scores[measured.name].many
        sizes = (self._schema.columns[k].size for k in columns if k not in self.numeric)
        return math.prod(contrast_length(size, many=many) for size in sizes)

    def _cell_noise(self, columns: tuple[str, ...]) -> float | None:
        """Variance in the count of a cell by second moments, which have contrasts of the states."""
        moments = self._moment_noise(columns)
        k = [self._groups(name) for name in columns]
        binned = [name in self.numeric for name in columns]
        few = all(size <= MOST_BINS for size, own in zip(k, binned, strict=True) if own)
        if moments is None or not few:
            return None
        told = [
            (1 - 1 / size) / (BINS if bins else 1) for size, bins in zip(k, binned, strict=True)
        ]
        sums = moments / self._weight(columns) ** 2
        if len(columns) == 1:
            return sums * told[0]
        both = told[0] / k[1] ** 2 + told[1] / k[0] ** 2
        return moments * told[0] * told[1] + sums * both

    def _weight(self, columns: Sequence[str]) -> float:
        """Of the sums against the products, in what answers questions about some columns.

        Sums are averaged over the measurements of the same records alone.
        """
        found, complete = self._matrices_of(columns), set(self._complete(columns))
        if not all(one.stddev for one in found) or not found:
            return 1.0 if not found else float(self._scores[found[0].name].weight)
        same = [one for one in found if set(one.of) == complete]
        sums = sum((float(self._scores[one.name].weight) / one.stddev) ** 2 for one in same)
        return math.sqrt(sums / sum(one.stddev**-2 for one in found))

    @cached_property
    def _scores(self) -> dict[str, FeatureMap]:
        """Scores of each measurement of second moments, which take long to lay out."""
        return {one.name: one.scores(self._schema) for one in self._products}

    def _matrices_of(self, columns: Sequence[str]) -> tuple[Measurement, ...]:
        """The second moments that have a product of some columns, those of few of them joined.

        Of all records, or of those with a value of each; then products among any that have a value
        of some of the columns are the same (`understudy.inference.second_moments`).
        """
        coded = {name for name in columns if self._schema.columns[name].codes}
        own = set(columns)
        fitting = [one for one in self._products if own <= set(one.columns) and set(one.of) <= own]
        known = any(set(one.of) in (set(), coded) for one in fitting)
        return tuple(fitting) if known else ()

    @cached_property
    def _products(self) -> tuple[Measurement, ...]:
        return tuple(one for one in self._measured if one.kind is Kind.PRODUCTS)

    def _table_noise(self, columns: tuple[str, ...]) -> float | None:
        """Variance in the count of a cell of one or two columns, by all tables that have it.

        Of two columns, other tables may have each alone: the means over the other's states are told
        by all of them, the rest by tables of both.
        """
        precision = self._precision.get(tuple(sorted(columns, key=self._place.__getitem__)))
        if not precision:
            return None
        if len(columns) == 1:
            return (1 - 1 / self._groups(columns[0])) / precision
        cells = math.prod(self._groups(name) for name in columns)
        shares = [1 - 1 / self._groups(name) for name in columns]
        alone = [
            share / self._precision[name,] * self._groups(name) ** 2 / cells**2
            for name, share in zip(columns, shares, strict=True)
        ]
        return math.fsum([*alone, math.prod(shares) / precision])

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self._schema.names)}

    @cached_property
    def _precision(self) -> dict[tuple[str, ...], float]:
        """Of the counts of each column and pair that a full table has."""
        found: dict[tuple[str, ...], float] = defaultdict(float)
        sizes = {name: column.size for name, column in self._schema.columns.items()}
        for table in self._measured:
            whole = [name for name in self._schema.names if name in table.columns]
            own = [name for name in whole if name not in table.bins and name not in table.groups]
            if not own or not covers(table, own) or not table.stddev:
                continue
            merged = sizes
            if len(own) < len(whole):  # others have bins or groups of their own
                binned = table.bin_schema(self._schema).columns
                merged = {name: binned[name].size for name in whole}
            cells = math.prod(merged[name] for name in whole)
            for columns in [*((name,) for name in own), *combinations(own, 2)]:
                kept = math.prod(sizes[name] for name in columns)
                if kept <= MOST_CELLS:
                    found[columns] += kept / (cells * table.stddev**2)
        return dict(found)


MOST_ASKED = 8
"""Questions of a kind about two columns that are asked."""
MOST_SINGLE = 60
"""Questions of a kind about one column that are asked."""


@dataclass(frozen=True)
class AskedQuestion:
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
    answered: dict[tuple[str, ...], AskedQuestion]
    wide: tuple[tuple[str, ...], ...]
    refused: dict[tuple[str, ...], AskedQuestion]
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
    answered: dict[tuple[str, ...], AskedQuestion] = {}
    refused: dict[tuple[str, ...], AskedQuestion] = {}
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


def question_of(
    kind: QuestionKind, columns: tuple[str, ...], schema: Schema
) -> AskedQuestion | None:
    """Return the question about some columns; None where `analyze` has no such question.

    A model has as outcome the column that is a number, or true or false, or else whether a record
    has the first level.

    Args:
        kind: of the question.
        columns: one or two.
        schema: of the release.
    """
    if kind.kind not in ("ols", "logit"):
        return AskedQuestion(kind.kind, kind.between.join(map(quote_name, columns)))
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
    return AskedQuestion(kind.kind, f"{left} ~ {quote_name(other)}")


def _of_counts(columns: tuple[str, ...], schema: Schema) -> AskedQuestion | None:
    """A model of a number that is never below 0."""
    for outcome, other in (columns, columns[::-1]):
        column = schema.columns[outcome]
        if isinstance(column, Integer | Continuous) and column.bounds[0] >= 0:
            return AskedQuestion("poisson", f"{quote_name(outcome)} ~ {quote_name(other)}")
    return None
