"""Reliability of noisy counts, computed from the release alone.

Everything here describes the noise that was added, never the people: sampling error and the error
of a model stand apart from it.

**How reliable the measured numbers are: one line per measurement, a table, and sentences.**
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Z_95
from understudy.dp.released import NoiseFamily
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.report.text import noise_words, number, relative, times
from understudy.schema import Schema

MANY = 200  # a sum of this many Laplace variables has its 95 % point within 0.1 % of the normal one


@cache
def laplace_sum_95(n: int) -> float:
    """The number of standard deviations that a sum of n Laplace variables exceeds 5 % of the time.

    The sum is a difference of two Erlang(n) variables. Count the arrivals of two equal Poisson
    processes until one has n of them: the arrivals that the other still lacks, j, follow a negative
    binomial, and given j the absolute sum is Erlang(j).

    Example:
        >>> round(laplace_sum_95(1) * math.sqrt(2) - math.log(20), 9)
        0.0
        >>> 1.96 < laplace_sum_95(50) < laplace_sum_95(2) < laplace_sum_95(1)
        True
    """
    if n > MANY:
        return Z_95
    weights = [math.comb(2 * n - j - 1, n - 1) / 2.0 ** (2 * n - j - 1) for j in range(1, n + 1)]
    low, high = 0.0, 4.0 * math.sqrt(2 * n)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(weights, middle) > 0.05 else (low, middle)
    return high / math.sqrt(2 * n)


def _tail(weights: Sequence[float], x: float) -> float:
    """P(X > x) for a mixture of Erlang(1), Erlang(2), … of unit rate."""
    term, cumulative, total = math.exp(-x), 0.0, 0.0
    for j, weight in enumerate(weights, start=1):
        cumulative += term
        term *= x / j
        total += weight * cumulative
    return total


def factor_95(family: NoiseFamily, n_cells: int) -> float:
    """Half width of the central 95 % of the noise in a sum of cells, in standard deviations.

    Laplace noise has the exact quantile of its sum (2.12 for one cell, towards 1.96 for many);
    all others the normal one.
    """
    return laplace_sum_95(max(n_cells, 1)) if family.is_laplace else Z_95


def half_width_95(measurement: Measurement) -> float:
    """Half width of the central 95 % of the noise in one count, in records."""
    width = factor_95(measurement.family, 1) * measurement.stddev
    # Whole-numbered noise exceeds the quantile of its continuous twin rounded up at most as often.
    discrete = measurement.family.is_whole
    return float(math.ceil(width)) if discrete else width


def false_positive_rate(family: NoiseFamily) -> float:
    """Probability that noise alone exceeds two standard deviations upwards."""
    return math.exp(-2 * math.sqrt(2)) / 2 if family.is_laplace else math.erfc(math.sqrt(2)) / 2


def allowed_cells(measurement: Measurement, schema: Schema) -> NDArray[np.bool_]:
    """Mark the cells of a table that carry noise: all but structural zeros. Shape of the table."""
    return measurement.domain(schema).allowed_mask()


def n_measured(measurement: Measurement, schema: Schema) -> int:
    """Number of noisy counts, or of chosen parameters, that were released of a measurement."""
    if measurement.kind is Kind.PARAMETERS:
        return len(measurement.totals or ())
    if measurement.kind is not Kind.TABLE:
        return len(measurement.codes)
    return measurement.domain(schema).n_allowed


@dataclass(frozen=True)
class Marginal:
    """Noisy counts of the states (or groups of states) of one column.

    Attributes:
        counts: noisy counts, shape (n,).
        variance: variance of the noise in each, shape (n,).
        n_cells: how many noisy cells were summed into each, shape (n,).
        family: of the noise in one cell.
        n_tables: how many measured tables it rests on.
    """

    counts: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_cells: NDArray[np.int64]
    family: NoiseFamily
    n_tables: int

    def group(self, groups: Sequence[Sequence[int]]) -> Marginal:
        """Sums over groups of states, whose noises are independent."""

        def add(values: NDArray[Any]) -> NDArray[Any]:
            return np.array([values[list(group)].sum() for group in groups])

        return Marginal(
            add(self.counts),
            add(self.variance),
            add(self.n_cells),
            self.family,
            self.n_tables,
        )

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Noisy shares and the half width of the band that noise alone explains (95 %).

        A share is c / T with T the sum of all counts, so noise in the other counts enters too; to
        first order its variance is ((1−p)² v + p² (V−v)) / T², where v is the variance of c and
        V the sum of all variances.

        Returns:
            Two arrays of shape (n,); None if the noisy total does not exceed its own noise (then a
            share means nothing).
        """
        total, whole = float(self.counts.sum()), float(self.variance.sum())
        if total <= 3 * math.sqrt(whole) or total <= 0:
            return None
        share = self.counts / total
        spread = (1 - share) ** 2 * self.variance + share**2 * (whole - self.variance)
        factors = np.array([factor_95(self.family, int(n)) for n in self.n_cells])
        return share, factors * np.sqrt(np.maximum(spread, 0)) / total


def marginal(name: str, measurements: Sequence[Measurement], schema: Schema) -> Marginal | None:
    """The best noisy one-way counts of a column: all whole tables that contain it, pooled.

    Tables are summed over their other columns (the variance grows with the number of cells summed)
    and averaged with weights 1 / variance.

    Returns:
        None if no measured table with every cell contains the column.
    """
    marginals = [
        _sum_measurement(name, table, schema)
        for table in measurements
        if table.kind is Kind.TABLE
        and name in table.columns
        and name not in {*table.bins, *table.groups}
    ]
    if not marginals:
        return None
    exact = [table for table in marginals if not table.variance.any()]
    return exact[0] if exact else _pool_marginals(marginals)


def _sum_measurement(name: str, measurement: Measurement, schema: Schema) -> Marginal:
    mask = allowed_cells(measurement, schema)
    axis = measurement.columns.index(name)
    others = tuple(k for k in range(mask.ndim) if k != axis)
    counts = np.asarray(measurement.counts, dtype=np.float64).reshape(mask.shape).sum(axis=others)
    n_cells = mask.sum(axis=others, dtype=np.int64)
    return Marginal(counts, n_cells * measurement.stddev**2, n_cells, measurement.family, 1)


def _pool_marginals(marginals: Sequence[Marginal]) -> Marginal:
    if len(marginals) == 1:
        return marginals[0]
    variance = np.stack([table.variance for table in marginals])
    # A table whose rules make a state impossible knows its count, 0, without noise.
    certain = variance == 0
    weights = np.where(certain.any(0), certain, 1 / np.where(certain, 1, variance))
    counts = (weights * np.stack([table.counts for table in marginals])).sum(0) / weights.sum(0)
    pooled = np.where(certain.any(0), 0, 1 / weights.sum(0))
    # Averaging only brings noise closer to the normal; the fewest cells are the safe choice.
    n_cells = np.stack([table.n_cells for table in marginals]).min(0)
    families = [table.family for table in marginals]
    family = next((each for each in families if each.is_laplace), families[0])
    return Marginal(counts, pooled, n_cells, family, len(marginals))


def noisy_total(measurements: Sequence[Measurement], schema: Schema) -> float | None:
    """Number of records, from the sums of all measured tables with weights 1 / variance.

    Returns:
        None without a measured table, or if the total is not positive.
    """
    tables = [
        table for table in measurements if table.kind is Kind.TABLE and n_measured(table, schema)
    ]
    if not tables:
        return None
    variance = np.array([table.stddev**2 * n_measured(table, schema) for table in tables])
    weights = (variance == 0).astype(float) if (variance == 0).any() else 1 / variance
    sums = np.array([float(np.sum(table.counts)) for table in tables])
    total = float((weights * sums).sum() / weights.sum())
    return total if total > 0 else None


_SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


@dataclass(frozen=True)
class MeasurementRow:
    """The reliability of one released measurement.

    Attributes:
        table: its columns.
        kind: what was released of it, in words.
        cells: noisy counts that were released.
        noise: its distribution in words.
        stddev: standard deviation of the noise in one count, in records.
        total: sum of the noisy counts.
        relevant: smallest share of the records whose noise stays below a tenth of it (1 sd).
        above: released counts above two standard deviations.
    """

    table: str
    kind: str
    cells: int
    noise: str
    stddev: float | None
    total: float | None
    relevant: float | None
    above: int | None


def measurement_row(measurement: Measurement, schema: Schema) -> MeasurementRow:
    """The line of one measurement in the table of reliability."""
    totals = measurement.totals or {}
    counted = measurement.kind.has_total
    total = float(np.sum(measurement.counts)) + float(totals.get("positive_mass", 0))
    stddev = measurement.stddev
    relevant = 10 * stddev / total if total > 0 and measurement.kind is Kind.TABLE else None
    return MeasurementRow(
        table=_what(measurement),
        kind=_kind_words(measurement),
        cells=n_measured(measurement, schema),
        noise=noise_words(measurement.distribution),
        stddev=stddev if measurement.kind.has_stddev else None,
        total=total if counted else None,
        relevant=relevant if relevant is not None and relevant <= 1 else None,
        above=int(np.sum(np.asarray(measurement.counts) > 2 * stddev)) if counted else None,
    )


def _what(measurement: Measurement) -> str:
    """Describe what was measured: the table, or what was summed over its cells."""
    if measurement.kind in (Kind.SUMS, Kind.MEANS):
        word = "sum" if measurement.kind is Kind.SUMS else "mean"
        by = [name for name in measurement.columns if name not in measurement.bins]
        return f"{word} of {measurement.of[0]}" + (f" by {times(by)}" if by else "")
    if measurement.kind is Kind.SUCCESSES:
        return f"successes of {measurement.columns[0]}"
    if measurement.kind is Kind.SCATTER:
        return f"scatter of {' and '.join(dict.fromkeys(measurement.of))}"
    return times(measurement.columns)


def _kind_words(measurement: Measurement) -> str:
    if measurement.kind is Kind.CELLS:
        return f"cells of at least {measurement.threshold or 0:,.6g}"
    merged = ", states merged" if measurement.groups else ""
    return _KIND_WORDS[measurement.kind] + merged


_KIND_WORDS = {
    Kind.TABLE: "every cell",
    Kind.LINE: "every cell of a fine histogram, finer than the bins",
    Kind.HEAPS: "every way in which its numbers are rounded",
    Kind.TOTALS: "totals only",
    Kind.SUCCESSES: "one number",
    Kind.SUMS: "sum in every cell",
    Kind.MEANS: "mean in every cell",
    Kind.SCATTER: "one number, pooled within cells",
    Kind.PRODUCTS: "sums of scores and of their products",
    Kind.WEIGHTED: "weighted sums of scores and of their products",
    Kind.WEIGHTED_TABLE: "sum of weights in every cell",
    Kind.TERMS: "sums of terms and of their products",
    Kind.RANKS: "how far ranks of two columns go together",
    Kind.EXACT: "exact statistics, not published",
    Kind.DRAWS: "records drawn from rows and a prior",
    Kind.SWEEPS: "records drawn column by column",
    Kind.DISTRIBUTION: "counts that the exponential mechanism chose",
    Kind.NODES: "every node of a layer",
    Kind.LEAF_SUMS: "sums of noisy cells below nodes",
    Kind.RANGES: "every range of states",
    Kind.CHOICE: "columns chosen, no number",
    Kind.PARAMETERS: "parameters of a generator, chosen",
    Kind.POSTERIOR: "records drawn from a posterior of the rows",
    Kind.KEPT: "published as it stands",
}


@dataclass(frozen=True)
class Reliability:
    """The effect of noise alone on counts of different sizes.

    Attributes:
        rows: for each share of the records: the share, the count, and the relative half width
            (95 %) at each level of noise.
        levels: standard deviations of the levels of noise.
        total: noisy number of records; None if it is not positive.
        sentences: the same for readers in a hurry.
    """

    rows: tuple[tuple[float, float, tuple[float, ...]], ...]
    levels: tuple[float, ...]
    total: float | None
    sentences: tuple[str, ...]


def reliability(release: Release) -> Reliability:
    """Describe how large a count must be to say something."""
    tables = [table for table in release.measurements if table.kind is Kind.TABLE]
    total = noisy_total(tables, release.schema)
    counts = (
        table for table in release.measurements if table.kind.is_noisy_count and table.stddev > 0
    )
    noisy = sorted(counts, key=lambda table: table.stddev)
    ends = noisy[:1] + [table for table in noisy[-1:] if table.stddev > 1.01 * noisy[0].stddev]
    levels = tuple(table.stddev for table in ends)
    widths = [factor_95(table.family, 1) * table.stddev for table in ends]
    rows = tuple(
        (share, share * total, tuple(width / (share * total) for width in widths))
        for share in _SHARES
        if total is not None and share * total >= 1 and levels
    )
    return Reliability(rows, levels, total, tuple(_sentences(release, noisy, total)))


def _sentences(release: Release, noisy: Sequence[Measurement], total: float | None) -> list[str]:
    if not release.measurements:
        return ["The release comes without noisy measurements, so the noise cannot be shown here."]
    sentences = []
    if noisy:
        sentences += [_distinguishable(noisy, release.schema), _unreliable(noisy, total)]
    for table in release.measurements:
        if table.kind in (Kind.TOTALS, Kind.LEAF_SUMS) and table.totals:
            sentences.append(_noise_mass(table, release.manifest.n_rows))
        if table.kind is Kind.CELLS:
            sentences.append(_describe_filter(table, release))
    urns = [urn for urn in release.measurements if urn.kind is Kind.DRAWS]
    sentences += [_from_prior(urn, release) for urn in urns[:1]]
    drawn = [
        measurement for measurement in release.measurements if measurement.kind is Kind.PARAMETERS
    ]
    sentences += [_from_parameters(drawn)] if drawn else []
    sentences += (
        [_FROM_POSTERIOR]
        if any(measurement.kind is Kind.POSTERIOR for measurement in release.measurements)
        else []
    )
    sentences += [
        _from_gibbs(measurement)
        for measurement in release.measurements
        if measurement.kind is Kind.SWEEPS
    ][:1]
    return sentences


def _from_parameters(measurements: Sequence[Measurement]) -> str:
    n = sum(len(measurement.totals or ()) for measurement in measurements)
    return (
        f"No count was released. The {n:,} parameters of the generator were chosen, not measured: "
        "how far they are from those that fit the confidential rows best cannot be told from here."
    )


_FROM_POSTERIOR = (
    "No count was released, and no noise was added. Records were drawn from a model at parameters "
    "of a posterior of the exact rows; how far its prior, its form and the weights of records move "
    "them cannot be told from here."
)


def _from_prior(measurement: Measurement, release: Release) -> str:
    urn, n_rows = measurement.totals or {}, release.manifest.n_rows
    mass = urn["prior"] * urn["cells"]
    share = mass / (mass + n_rows)
    return (
        f"Each of {urn['cells']:,} cells has a prior weight of {number(urn['prior'])} records, so "
        f"about {100 * share:.{0 if share < 0.99 else 2}f} % of the records of a set were drawn "
        "evenly over all cells, and the others from the rows. Shares are pulled towards an even "
        "spread by that much, however many rows there are."
    )


def _from_gibbs(measurement: Measurement) -> str:
    said = "Records were drawn column by column, each given some others"
    totals = measurement.totals or {}
    if "prior" not in totals:
        return f"{said}. How far noise moves them is not known outside."
    if "block" in totals:
        said += f", in blocks of {totals['block']:,.0f} that draw from each row of a table once"
    unit = "" if measurement.distribution == "perturbed imputation" else " records"
    return (
        f"{said}. To each state {number(totals['prior'])}{unit} were added, which pulls every "
        "share towards an even spread, by an amount that nobody outside knows: it depends on how "
        "many real records stand behind each draw."
    )


def _distinguishable(noisy: Sequence[Measurement], schema: Schema) -> str:
    sizes = [n_measured(table, schema) for table in noisy]
    above = sum(int(np.sum(np.asarray(table.counts) > 2 * table.stddev)) for table in noisy)
    chance = sum(
        n * false_positive_rate(table.family) for n, table in zip(sizes, noisy, strict=True)
    )
    return (
        f"{sum(sizes):,} counts were measured with noise. {above:,} of them lie more than two "
        f"standard deviations above zero and can be told from an empty cell; were all cells empty, "
        f"noise alone would lift about {chance:,.2g} that high."
    )


def _unreliable(noisy: Sequence[Measurement], total: float | None) -> str:
    low, high = 3 * noisy[0].stddev, 3 * noisy[-1].stddev
    size = (
        f"{high:,.3g}"
        if high < 1.01 * low
        else f"{low:,.3g} to {high:,.3g}, depending on the table"
    )
    part = f" (up to {relative(high / total)} of all records)" if total else ""
    return (
        f"Counts below three standard deviations of their noise, here {size} records{part}, are "
        "unreliable: do not publish, rank or compare them."
    )


def _noise_mass(measurement: Measurement, n_rows: int) -> str:
    totals = measurement.totals or {}
    mass, cells = totals.get("positive_mass", 0), totals.get("positive_cells", 0)
    sentence = (
        f"The noisy table {times(measurement.columns)} was not written out: "
        f"{cells:,.6g} of its cells have a positive noisy count, {mass:,.6g} in sum."
    )
    if mass > n_rows:
        noise = 1 - n_rows / mass
        within = " below a node of the hierarchy" if measurement.kind is Kind.LEAF_SUMS else ""
        sentence += (
            f" As there are about {n_rows:,} records, roughly {_format_share(noise)} % of what the "
            f"synthetic rows were drawn from{within} is noise."
        )
    return sentence


def _format_share(share: float) -> str:
    """A percentage that is not rounded up to 100."""
    return f"{math.floor(1000 * share) / 10:.1f}"


def _describe_filter(measurement: Measurement, release: Release) -> str:
    schema = release.schema
    threshold = measurement.threshold or 0
    sentence = (
        f"Of the table {times(measurement.columns)} only the {len(measurement.codes):,} cells "
        f"whose noisy count reached the public threshold {threshold:,.6g} were released; smaller "
        "groups are gone, and some of the cells kept are empty cells lifted by noise"
    )
    if measurement.family.is_laplace and measurement.stddev > 0:
        tail = math.exp(-threshold * math.sqrt(2) / measurement.stddev) / 2
        lifted = schema.table(measurement.columns).n_allowed * tail
        sentence += f" (up to about {lifted:,.2g} on average)"
    kept, n_rows = float(np.sum(measurement.counts)), release.manifest.n_rows
    if kept < n_rows:
        # Rounded to two digits from a noisy sum: a plain warning, not an estimate.
        sentence += (
            f". What was kept sums to {kept:,.0f} of about {n_rows:,} records "
            f"({100 * kept / n_rows:.2g} %): the synthetic rows stand for these cells alone"
        )
    return f"{sentence}."
