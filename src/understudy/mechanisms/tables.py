"""Noise in every cell of a contingency table that can be written out, and the number of rows.

Sensitivity and proof: `understudy.dp.calibration`. The noise vector is independent of
the rows, covers all allowed cells including empty ones, and structural zeros are public; so the
noisy table satisfies the guarantee of its noise, and everything computed from it is
post-processing. Several tables are as many steps of the ledger.

Adding or removing a record changes the number of rows by 1, as it does one cell of a table.

**Noisy counts of numeric columns over finer cells than their bins, and beyond their bounds.**

The cells of a line (`understudy.features.grids`) follow from the schema alone. Each record is
in one of them or out of domain, by its own values alone (`understudy.data.sums`), so what
is released of a column is a contingency table of one column, coded more finely:

* *added or removed*, a record changes one number by 1: L1 = L2 = 1;
* *replaced*, it changes nothing, or two numbers by 1 each: L1 = 2, L2 = √2.

Both are attained. So the noise is that of a table (`understudy.dp.calibration`), in
every cell, empty ones included, and independent of the rows. Each line is a step of the ledger.

`tests/mechanisms/counts/test_number_lines.py` enumerates the neighbours.

**Noisy counts of how numbers are rounded: by heap, in zones of the range of a column.**

The cells (`understudy.features.grids`) follow from the schema alone. Each record is in one of
them or out of domain, by its own values alone (`understudy.data.sums`), so what is
released of a column is a contingency table of one coded state:

* *added or removed*, a record changes one number by 1: L1 = L2 = 1;
* *replaced*, it changes nothing, or two numbers by 1 each: L1 = 2, L2 = √2.

Both are attained. So the noise is that of a table (`understudy.dp.calibration`), in
every cell, empty ones included, and independent of the rows. Each column is a step of the ledger.

`tests/mechanisms/counts/test_heap_counts.py` enumerates the neighbours.

**A noisy number of successes: one number is enough where the number of rows is public.**

**Sensitivity.** The column has two levels and no codes, and the second level is the success. A
record whose value fits neither level counts as no success, so a record adds 0 or 1. Replacing a
record changes the number by at most **1**, and that is attained. The failures, n less the
successes, are post-processing, since n is public. A contingency table, in which a replaced record
changes two cells, would need twice the noise (`understudy.dp.calibration`).

Noise: discrete Laplace of scale 1/ε; truncated to [0, n] with a calibrated scale
(`understudy.dp.truncated_laplace`); or, in paper mode, continuous Laplace of scale 1/ε
(Bowen & Liu 2020, §4.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import decode
from understudy.dp import perturbation
from understudy.dp.budget import divide_cost
from understudy.dp.calibration import NoiseName
from understudy.dp.confidential import CodedView, PublicContext, SecretRows
from understudy.dp.distributions import (
    ContinuousLaplace,
    DiscreteNoise,
)
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer, answers
from understudy.dp.perturbation import (
    EXACTLY,
    Bounds,
    Mode,
    NoiseDistribution,
    count_noise,
    count_sensitivity,
    describe_noise,
    perturb,
    unpaid_leak,
    words,
)
from understudy.dp.randomness import Randomness
from understudy.dp.released import (
    Bins,
    Groups,
    NoisyHeaps,
    NoisyLine,
    NoisySuccesses,
    NoisyTable,
    Released,
)
from understudy.dp.truncated_laplace import TruncatedLaplace
from understudy.errors import MethodError
from understudy.features.grids import (
    MOST_TIMES,
    HeapCells,
    LineCells,
    heaped_columns,
    line_bins,
)
from understudy.schema import NUMERIC, Domain, Schema

if TYPE_CHECKING:
    from understudy.data.base import ExactTable

L = TypeVar("L", bound=NoiseDistribution)
MAX_CELLS = 2**26
"""Cells of a table that is written out."""


@dataclass(frozen=True)
class NoisyTables(Mechanism[tuple[Released[NoisyTable], ...], NoiseDistribution]):
    """Noisy contingency tables, with noise in every allowed cell.

    Attributes:
        marginals: column names of each table.
        noise: "geometric", "laplace" or "gaussian".
        weights: how the cost is divided among the tables; evenly if None.
        bounds: "truncate" draws numbers inside [0, limit] (`perturbation.count_noise`); under
            "threshold" clipping is left to post-processing.
        mode: "paper" for continuous Laplace noise of scale 1/ε, whatever the distribution; the
            guarantee then names the unpaid leak.
        overspend: how many times its cost the noise is worth, in paper mode; that is named, too.
        beside: whether they are bought for answers alone, beside what records are drawn from.
        bins: of numeric columns, where these are counted in others than those of the view. Other
            bins are a map from record to record, so that sensitivities stay as they are.
        groups: column → group of each of its states, where these are counted together; a map from
            record to record as well.
    """

    name: ClassVar[str] = "noisy table"
    form: ClassVar[Form] = Form.DENSE

    marginals: Sequence[tuple[str, ...]]
    noise: NoiseName
    weights: Sequence[int | Fraction] | None = None
    bounds: Bounds = "threshold"
    mode: Mode = "strict"
    overspend: Fraction = EXACTLY
    beside: bool = False
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step for each table.

        Raises:
            MethodError: a table too large to write out, or noise that does not fit the accounting.
            SchemaError: bins or groups that do not fit their column.
            BudgetError: more than is left, or next to nothing.
        """
        counted = terms.view.rebin(self.bins) if self.bins else terms.view
        counted = counted.group(self.groups) if self.groups else counted
        domains = [dense_domain(counted, names) for names in self.marginals]
        shares = divide_cost(spend, self.weights, len(self.marginals))
        terms.require(spend)
        noises = [
            count_noise(
                self.noise,
                spend=share,
                accounting=terms.accounting,
                schema=terms.schema,
                bounds=self.bounds,
                mode=self.mode,
                overspend=self.overspend,
            )
            for share in shares
        ]
        return tuple(
            count_charge(
                terms,
                self.name,
                query_of(names),
                columns=names,
                distribution=distribution,
                cells=domain.n_allowed + 1,
                spend=share,
                mode=self.mode,
            )
            for names, domain, distribution, share in zip(
                self.marginals, domains, noises, shares, strict=True
            )
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyTable], ...]]:
        """Count all of them in one pass, and add noise to each."""
        rows = rows.rebin(self.bins) if self.bins else rows
        rows = rows.group(self.groups) if self.groups else rows
        view, exact = rows.view, rows.tables(self.marginals)
        tables = [
            replace(
                noisy_table(table, names, view.domain(names), charge.parameter, source),
                bins=view.bins_of(names),
                groups=view.groups_of(names),
                beside=self.beside,
            )
            for names, table, charge in zip(self.marginals, exact, charges, strict=True)
        ]
        leaks = unpaid_leak(view.neighbours, self.bounds, self.mode, self.overspend)
        return answers(tables, leaks=leaks)


@dataclass(frozen=True)
class RowCount(Mechanism[Released[int], DiscreteNoise]):
    """Number of rows: declared if the schema makes it public, else bought.

    Clipping to [0, row_limit] is post-processing.
    """

    name: ClassVar[str] = "noisy count"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step; none where the number is public."""
        if terms.schema.rows == "public":
            return ()
        distribution = terms.calibrate_noise(
            "geometric" if terms.accounting == "pure" else "gaussian", spend
        )
        return (
            count_charge(
                terms, self.name, "number of rows", distribution=distribution, cells=1, spend=spend
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[Released[int]]:
        """Count, and add noise."""
        schema = rows.view.schema
        if not charges:
            assert schema.n_rows is not None
            return answer(schema.n_rows)
        (noise,) = charges[0].parameter.sample(1, source).tolist()
        noisy = rows.total() + int(noise)
        limit = noisy if schema.row_limit is None else schema.row_limit
        return answer(max(0, min(noisy, limit)), counts_rows=True)


def noisy_table(
    exact: ExactTable,
    columns: tuple[str, ...],
    domain: Domain,
    distribution: NoiseDistribution,
    randomness: Randomness,
) -> NoisyTable:
    """Add independent noise to each allowed cell and to the out-of-domain count.

    Args:
        exact: the exact table over `columns`.
        columns: names, one per axis.
        domain: the domain of these columns.
        distribution: calibrated noise.
        randomness: source of the noise.
    """
    allowed = domain.allowed_mask()
    noisy = perturb(np.append(exact.inside[allowed], exact.outside), distribution, randomness)
    counts = np.zeros(domain.sizes, dtype=noisy.dtype)
    # A record in a structurally impossible cell was coded out of domain, so these cells hold 0.
    counts[allowed] = noisy[:-1]
    return NoisyTable(columns, counts, float(noisy[-1]), describe_noise(distribution))


def count_charge(
    terms: PublicContext,
    mechanism: str,
    query: str,
    *,
    columns: tuple[str, ...] | None = None,
    distribution: L,
    cells: int,
    spend: Fraction,
    mode: Mode = "strict",
) -> Charge[L]:
    """The line of the ledger for noise on a contingency table.

    Args:
        terms: say which tables are neighbours.
        mechanism: its name.
        query: what is asked, in words.
        columns: names of those that are counted; all of them if None.
        distribution: calibrated noise.
        cells: numbers that get it.
        spend: cost.
        mode: "paper" for the noise as published.
    """
    return Charge(
        spent=spend,
        mechanism=mechanism,
        query=query,
        sensitivity=count_sensitivity(distribution, terms.neighbours, mode),
        noise=words(distribution),
        cells=cells,
        parameter=distribution,
        recorded=describe_noise(distribution),
        columns=columns,
    )


def coded_charges(
    terms: PublicContext,
    mechanism: str,
    queries: Mapping[str, tuple[str, int]],
    *,
    spend: Fraction,
    weights: Sequence[int] | None = None,
) -> tuple[Charge[DiscreteNoise], ...]:
    """A line of the ledger for each of some columns that are coded in cells of their own.

    Gaussian noise under zCDP and GDP, geometric under pure ε.

    Args:
        terms: what is known, and left.
        mechanism: its name.
        queries: column → what is asked, in words, and number of cells; what is out of domain is
            one more.
        spend: cost of all of them.
        weights: how it is divided among them; evenly if None.
    """
    noise: NoiseName = "geometric" if terms.accounting == "pure" else "gaussian"
    return tuple(
        count_charge(
            terms,
            mechanism,
            query,
            columns=(name,),
            distribution=terms.calibrate_noise(noise, share),
            cells=cells + 1,
            spend=share,
        )
        for (name, (query, cells)), share in zip(
            queries.items(), divide_cost(spend, weights, len(queries)), strict=True
        )
    )


def query_of(columns: tuple[str, ...]) -> str:
    """A table in the words of the ledger."""
    return "counts by " + " × ".join(columns) if columns else "count"


def dense_domain(view: CodedView, names: tuple[str, ...]) -> Domain:
    """The cells of a table that is written out.

    Args:
        view: how the rows are coded.
        names: of its columns.

    Raises:
        MethodError: an unknown column, or more cells than `MAX_CELLS`.
    """
    domain = view.domain(names)
    if domain.n_cells > MAX_CELLS:
        raise MethodError(
            f"The table of {', '.join(names)} has {domain.n_cells:,} cells, too many to write out "
            f"(at most {MAX_CELLS:,}); take a filtered or lazy form, or coarser bins."
        )
    return domain


@dataclass(frozen=True)
class NumberLines(Mechanism[tuple[Released[NoisyLine], ...], DiscreteNoise]):
    """Noisy counts over number lines, all of them in one pass.

    Attributes:
        columns: names of numeric columns, each once.
        weights: how the cost is divided among them; evenly if None.
        times: how many times as many cells as usual they have, at most `MOST_TIMES`.
    """

    name: ClassVar[str] = "noisy number line"
    form: ClassVar[Form] = Form.LINE

    columns: tuple[str, ...]
    weights: tuple[int, ...] | None = None
    times: int = 1

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each line: Gaussian noise under zCDP and GDP, geometric under pure ε.

        Raises:
            MethodError: no column, an unknown one, one that is not numeric, or too many cells.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        lines = _lines(terms.schema, self.columns, self.times)
        terms.require(spend)
        queries = {
            name: (f"counts of {name} on its number line", cells.size)
            for name, (_, cells) in lines.items()
        }
        return coded_charges(terms, self.name, queries, spend=spend, weights=self.weights)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyLine], ...]]:
        """Count all of them in one pass, and add noise to each number."""
        lines = _lines(rows.view.schema, self.columns, self.times)
        exact = rows.line_counts({name: cells for name, (_, cells) in lines.items()})
        released = []
        for (name, (bins, _)), charge in zip(lines.items(), charges, strict=True):
            noisy = perturb(exact[name], charge.parameter, source)
            released.append(NoisyLine((name,), noisy[:-1], float(noisy[-1]), charge.recorded, bins))
        return answers(released)


def _lines(
    schema: Schema, columns: tuple[str, ...], times: int
) -> dict[str, tuple[Bins, LineCells]]:
    """Column → bins of its line, and cells; from public facts alone.

    Raises:
        MethodError: no column, one that is not numeric, or too many cells.
    """
    if not 1 <= times <= MOST_TIMES:
        raise MethodError(f"A fine histogram has 1 to {MOST_TIMES} times the usual cells.")
    if not columns or not all(isinstance(schema.columns[name], NUMERIC) for name in columns):
        raise MethodError("A fine histogram needs a numeric column.")
    lines: dict[str, tuple[Bins, LineCells]] = {}
    for name in columns:
        column = schema.columns[name]
        assert isinstance(column, NUMERIC)
        bins = {name: line_bins(column, times)}
        lines[name] = bins, LineCells.of(schema.with_bins(bins), name)
    return lines


@dataclass(frozen=True)
class HeapCounts(Mechanism[tuple[Released[NoisyHeaps], ...], DiscreteNoise]):
    """Noisy counts of the heaps of some columns, all of them in one pass.

    Attributes:
        columns: names of columns with heaps, each once; each has an equal part of the cost.
    """

    name: ClassVar[str] = "noisy heaps"
    form: ClassVar[Form] = Form.HEAPS

    columns: tuple[str, ...]

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step for each column: Gaussian noise under zCDP and GDP, geometric under pure ε.

        Raises:
            MethodError: no column, an unknown one, or one without heaps.
            BudgetError: more than is left, or next to nothing.
        """
        terms.view.places(self.columns)
        cells = _cells(terms.schema, self.columns)
        terms.require(spend)
        queries = {
            name: (f"counts of {name} by its heaps", own.size) for name, own in cells.items()
        }
        return coded_charges(terms, self.name, queries, spend=spend)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[tuple[Released[NoisyHeaps], ...]]:
        """Count all of them in one pass, and add noise to each number."""
        exact = rows.line_counts(_cells(rows.view.schema, self.columns))
        released = []
        for name, charge in zip(self.columns, charges, strict=True):
            noisy = perturb(exact[name], charge.parameter, source)
            released.append(NoisyHeaps((name,), noisy[:-1], float(noisy[-1])))
        return answers(released)


def _cells(schema: Schema, columns: tuple[str, ...]) -> dict[str, HeapCells]:
    """Column → its cells; from public facts alone.

    Raises:
        MethodError: no column, or one without heaps that its bins leave open.
    """
    if not columns or not set(columns) <= set(heaped_columns(schema)):
        raise MethodError("Heaps are counted of columns that declare some, and have wider bins.")
    return {name: HeapCells.of(schema, name) for name in columns}


SENSITIVITY = 1


@dataclass(frozen=True)
class BinomialCount(Mechanism[Released[NoisySuccesses], NoiseDistribution]):
    """Noisy number of records with the second level of a column of two levels.

    Attributes:
        column: its name.
        bounds: "truncate" draws a number inside [0, n], calibrated for that.
        mode: "paper" for continuous Laplace noise, truncated without calibration if at all; the
            guarantee then names the unpaid leak.
    """

    name: ClassVar[str] = "noisy successes"
    form: ClassVar[Form] = Form.MOMENTS

    column: str
    bounds: Bounds = "threshold"
    mode: Mode = "strict"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[NoiseDistribution], ...]:
        """One step, in ε.

        Raises:
            MethodError: another kind of column, a private number of rows, or a budget with δ.
            BudgetError: more than is left, or so little that noise could not be drawn exactly.
        """
        perturbation.require_pure(terms.accounting)
        terms.require(spend)
        distribution = self._noise(_public_rows(terms.schema, self.column), spend)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query=f"successes of {self.column}",
            sensitivity=f"L1 = {SENSITIVITY}",
            noise=perturbation.words(distribution),
            cells=1,
            parameter=distribution,
            recorded=perturbation.describe_noise(distribution),
            columns=(self.column,),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[NoiseDistribution], ...], source: Randomness
    ) -> Outcome[Released[NoisySuccesses]]:
        """Count, and add noise to the number of the second level."""
        (table,) = rows.tables([(self.column,)])
        noisy = float(perturbation.perturb(table.inside[1:2], charges[0].parameter, source)[0])
        value = NoisySuccesses((self.column,), noisy, _public_rows(rows.view.schema, self.column))
        return answer(value, None, leaks=self._leaks)

    def _noise(self, n_rows: int, spend: Fraction) -> NoiseDistribution:
        if self.mode == "paper":
            scale = float(SENSITIVITY / spend)
            if self.bounds == "truncate":
                return TruncatedLaplace(scale, 0.0, float(n_rows))
            return ContinuousLaplace(scale)
        if self.bounds == "truncate":
            return perturbation.calibrate_truncated(spend, SENSITIVITY, (0, n_rows), coordinates=1)
        return perturbation.additive(SENSITIVITY / spend)

    @property
    def _leaks(self) -> tuple[str, ...]:
        """The unpaid leak of the noise; its sensitivity is right in paper mode too."""
        if self.mode == "strict":
            return ()
        truncated = (perturbation.UNCALIBRATED,) if self.bounds == "truncate" else ()
        return (perturbation.FLOATING, *truncated)


def _public_rows(schema: Schema, column: str) -> int:
    """The public number of rows, of which some are successes.

    Raises:
        MethodError: another kind of column, or a private number of rows.
    """
    declared = schema.columns.get(column)
    if declared is None or isinstance(declared, NUMERIC) or declared.size != 2 or declared.codes:
        raise MethodError(f"Successes need a column of two levels without codes, not {column!r}.")
    if schema.n_rows is None:
        raise MethodError('Successes need a public number of rows; declare rows = "public".')
    return schema.n_rows


def columns_of(codes: NDArray[np.int64], domain: Domain) -> tuple[NDArray[np.int64], ...]:
    """States per column of cells given by their codes."""
    return tuple(column.astype(np.int64) for column in decode(codes, domain.sizes))
