"""Which questions a release can answer, and how wide the intervals will be, from public facts.

The noise is that of the measurements and known exactly; the sampling is that of as many records as
the release has. What nobody knows before asking is how the population is spread, so a width is for
a stated one: *levels alike in size, numbers spread evenly between their bounds, columns independent
of each other*. It says what order of precision to expect; the interval itself comes from `analyze`.

With n records, noise variance v in a count and σ² in a sum of products of scores (numbers scaled to
[−1, 1], so of variance 1/3), the variances are

    share of a level, K of them       (1 − 1/K)/K/n + v(1 − 1/K)/n²
    mean of a number                  h²(1/(3n) + σ²/n²), h half its range; by bins: Σ v m²/n²,
                                      m their middles, and half the width of a bin as a bound
    median                            R²(1/(4n) + vK/(4n²)), R its range, and half a bin
    mean by one of K groups           that of the mean, for n/K records
    correlation, standardised slope   1/n + 9σ²/n²
    log-odds for one sd more          4/n + 60σ²/n²

as in `count_estimates`, `moment_ratios`, `correlations` and `least_squares` at that population. For
log-odds, X'y − ½X'1 has noise of variance (5/4)σ², the information is n/12, the sd 1/√3.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from understudy.inference.moments.firmness import FIRM, FIRM_MODEL
from understudy.inference.noise_aware.full_tables import MOST_CELLS, covers
from understudy.release import Measurement, Release
from understudy.release.measurement_content import Kind
from understudy.schema import NUMERIC

ASSUMED = (
    "Half-widths are what to expect of 95 % intervals, not a promise: the noise is known exactly, "
    "and sampling is counted for the release's number of records, levels alike in size, numbers "
    "spread evenly between their bounds, and columns independent of each other. Rare levels, and "
    "numbers bunched in a part of their range, have other widths; analyze gives them."
)
_Z_95 = 1.959963984540054
_RANGE = "% of the range"


@dataclass(frozen=True)
class Answerable:
    """Questions of one kind about single columns, or pairs of them.

    Attributes:
        widths: half-width of the 95 % interval of each that is answered, by columns.
        lost: those that second moments were measured of, but whose groups or predictors would be
            lost in the noise.
    """

    widths: dict[tuple[str, ...], float]
    lost: tuple[tuple[str, ...], ...] = ()

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
        low, high = (f"{scale * end:.2g}" for end in self.found.ends)
        return f"± {low if low == high else f'{low} to {high}'} {self.unit}".rstrip()


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
        return _answered({(name,): self._mean(name, 1, (name,)) for name in self.numeric})

    def group_means(self) -> Answerable:
        """Of the mean of each number by the levels of each column; the group comes second."""
        pairs = [(number, group) for number in self.numeric for group in self._levels]
        lost = [two for two in pairs if self._is_lost(*two)]
        found = {two: self._mean(two[0], self._groups(two[1]), two) for two in pairs}
        return _answered({two: x for two, x in found.items() if two not in lost}, lost)

    def quantiles(self) -> Answerable:
        """Of the median of each number, in ranges, whole bins included."""
        found: dict[tuple[str, ...], float | None] = {}
        for name in self.numeric:
            noise = self._table_noise((name,))
            k = self._schema.columns[name].n_ordinary
            if noise is not None:
                spread = math.sqrt(0.25 / self._n + noise * k / 4 / self._n**2)
                found[name,] = _Z_95 * spread + self._bins(name)[0]
        return _answered(found)

    def correlations(self) -> Answerable:
        """Of the correlation of each pair of numbers, which is that of a standardised slope."""
        return self._of_moments(combinations(self.numeric, 2), 1.0, 9.0, FIRM)

    def linear(self) -> Answerable:
        """Of standardised slopes, by pairs of columns that a model may have."""
        return self._of_moments(combinations(self._schema.names, 2), 1.0, 9.0, FIRM)

    def logistic(self) -> Answerable:
        """Of log-odds per standard deviation, by pairs of columns that a model may have."""
        return self._of_moments(combinations(self._schema.names, 2), 4.0, 60.0, FIRM_MODEL)

    def _of_cells(self, each: Iterable[tuple[str, ...]]) -> Answerable:
        found: dict[tuple[str, ...], float | None] = {}
        for columns in each:
            noise = self._table_noise(columns)
            if noise is None and not set(columns) & set(self.numeric):
                moments = self._moment_noise(columns)
                noise = None if moments is None else moments[0]
            if noise is not None:
                cells = math.prod(self._groups(name) for name in columns)
                own = (1 - 1 / cells) * (1 / cells / self._n + noise / self._n**2)
                found[columns] = _Z_95 * math.sqrt(own)
        return _answered(found)

    def _of_moments(
        self, pairs: Iterable[tuple[str, ...]], sampling: float, noise: float, firm: float
    ) -> Answerable:
        """Of what needs a record's value of both columns; arguments are the variances' factors."""
        found: dict[tuple[str, ...], float | None] = {}
        lost = []
        for two in pairs:
            moments = self._moment_noise(two)
            if moments is None or not moments[1]:
                continue
            if self._n / 3 < firm * math.sqrt(moments[0]):
                lost.append(two)
            else:
                variance = sampling / self._n + noise * moments[0] / self._n**2
                found[two] = _Z_95 * math.sqrt(variance)
        return _answered(found, lost)

    def _mean(self, name: str, groups: int, columns: tuple[str, ...]) -> float | None:
        """Of a mean by so many groups, in ranges; None where there is no answer."""
        n, moments = self._n / groups, self._moment_noise(columns)
        if moments is not None:
            return _Z_95 / 2 * math.sqrt(1 / 3 / n + moments[0] / n**2)
        noise = self._table_noise(columns)
        if noise is None:
            return None
        bound, squares = self._bins(name)
        return _Z_95 * math.sqrt(1 / 12 / n + noise * squares / n**2) + bound

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

    def _groups(self, name: str) -> int:
        return max(self._schema.columns[name].n_ordinary, 1)

    def _is_lost(self, number: str, group: str) -> bool:
        """Whether groups are too small for means by second moments.

        The size of a group is its count, which tables help to know, less those that lack the
        number, code by code.
        """
        moments = self._moment_noise((number, group))
        if moments is None or not moments[0]:
            return False
        column = self._schema.columns[number]
        own = 1 / (1 / moments[0] + self._precision.get((group,), 0.0))
        lacking = column.size - column.n_ordinary + (column.out_of_domain is None)
        noise = own + moments[0] * lacking * (not self._complete((number, group)))
        return self._n / self._groups(group) < FIRM * math.sqrt(noise)

    def _complete(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns of which the records that count have a value, in what answers these."""
        found = self._covering(columns)
        return () if found is None else found.of

    def _moment_noise(self, columns: Sequence[str]) -> tuple[float, bool] | None:
        """Variance in a sum of products, and whether the records that count have all values."""
        found = self._covering(columns)
        if found is None:
            return None
        return found.stddev**2, {k for k in columns if self._schema.columns[k].codes} <= set(
            found.of
        )

    def _covering(self, columns: Sequence[str]) -> Measurement | None:
        """The second moments that answer questions about some columns."""
        coded = {name for name in columns if self._schema.columns[name].codes}
        fitting = [
            one
            for one in self._products
            if set(columns) <= set(one.columns) and set(one.of) in (set(), coded)
        ]
        return max(fitting, key=lambda one: len(one.of), default=None)

    @cached_property
    def _products(self) -> tuple[Measurement, ...]:
        return tuple(one for one in self._measured if one.kind is Kind.PRODUCTS)

    def _table_noise(self, columns: tuple[str, ...]) -> float | None:
        """Variance in the count of a cell of a table of one or two columns, all tables averaged."""
        place = {name: k for k, name in enumerate(self._schema.names)}
        precision = self._precision.get(tuple(sorted(columns, key=place.__getitem__)))
        return 1 / precision if precision else None

    @cached_property
    def _precision(self) -> dict[tuple[str, ...], float]:
        """Of the counts of each column and pair that a full table has."""
        found: dict[tuple[str, ...], float] = defaultdict(float)
        sizes = {name: column.size for name, column in self._schema.columns.items()}
        for table in self._measured:
            own = [name for name in self._schema.names if name in table.columns]
            if not covers(table, own) or not table.stddev:
                continue
            cells = math.prod(sizes[name] for name in own)
            for columns in [*((name,) for name in own), *combinations(own, 2)]:
                kept = math.prod(sizes[name] for name in columns)
                if kept <= MOST_CELLS:
                    found[columns] += kept / (cells * table.stddev**2)
        return dict(found)


def _answered(
    found: dict[tuple[str, ...], float | None], lost: Iterable[tuple[str, ...]] = ()
) -> Answerable:
    return Answerable({key: x for key, x in found.items() if x is not None}, tuple(lost))
