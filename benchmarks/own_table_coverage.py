"""Do intervals of declared questions that buy a table of their own cover, kind by kind?

    python benchmarks/own_table_coverage.py [--repetitions 250] [--seed 1] [--weighted]

Of each question of `QUESTIONS` the own table is drawn again and again, without a release: n records
are drawn from the population (`populations.py`), counted in the bins of the table, and noise of a
known law is added to each cell that can have records. Then the estimators themselves answer, which
take many tables at once. The laws are those of a budget with δ and of one without, at 5,000 and at
1,000 records; of each there are as many tables.

* **intervals**: how many, and the part of all that had one. Those of one table go together.
* **covered**: which part of nominal 95 % held the truth, with the standard error between tables.
  The truth is that of the population; of counts, which are about the records, theirs.
* **lowest**: the least part of one quantity under one law.

Tables of weights are drawn of a survey in which some stand for four times as many people, and once
more of one whose sample is of clusters, with sums by random group of these. Noise is that of ε = 1
with δ = 10⁻⁶, and of all of it. **width** is that of the intervals over those of the same records
without noise, in the median.

Of independence the traits are independent, and *covered* is how often the test at 5 % says nothing.
Quantiles of numbers cover whole bins, and those of a few levels whole levels: they hold more often.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from made_population import Population, levels, number, truth_value
from populations import SIZE, population
from understudy._arrays import Z_95, Floats
from understudy.dp.budget import Budget
from understudy.dp.calibration import gaussian_variance
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import Bins
from understudy.inference.bin_bias import value_ranges
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import FEWEST, ratios
from understudy.inference.declared import GROUPS_SHARE, SQUARES_SHARE
from understudy.inference.design_effects import GroupSums
from understudy.inference.noisy_tables import NoisyCounts
from understudy.inference.own_tables import (
    bins_of_lines,
    counts_on_lines,
    own_records,
    own_table,
)
from understudy.inference.quantiles import counted_curve
from understudy.inference.question import TWO_WAY, Estimand, parse
from understudy.inference.records import Records
from understudy.inference.second_moments import LostInNoiseError
from understudy.inference.two_way import (
    NoisyCells,
    crossed_cells,
    independence,
    odds_ratio,
    traits_of,
)
from understudy.inference.weighted import WeightedCells, answer_of_cells, cell_ratios, cell_totals
from understudy.schema import Schema

_LAPLACE_KURTOSIS, _LEVEL = 3.0, 0.05
_JOBS = [f"j{k:03}" for k in (0, 1, 2, 5, 8)]
QUESTIONS = {
    "quantile": (
        ("coded", f"quantile score where job not in {_JOBS} or region == 'r01'"),
        ("skewed", "quantile income where age >= 63"),
        ("heaped", "quantile content where age >= 63"),
        ("survey", "quantile trust where works"),
    ),
    "codes": (
        ("coded", f"proportion works where job in {_JOBS} and region not in ['r01', 'r02']"),
        ("coded", f"count job in {_JOBS} or region == 'r01'"),
        ("coded", f"independence sex + job where job in {_JOBS} and works"),
        ("coded", f"odds-ratio sex + {{job in {_JOBS}}} where works or region == 'r01'"),
    ),
    "quantile by group": (
        ("default bins", "quantile food ~ size"),
        ("heaped", "quantile content ~ contract where age >= 63"),
        ("survey", "quantile trust ~ sex"),
    ),
    "odds ratio": (
        ("skewed", "odds-ratio {income > 40000} + {age >= 63}"),
        ("skewed", "odds-ratio employed + sex where income > 40000"),
        ("rare", "odds-ratio poor + {age >= 63} where disabled"),
    ),
    "share": (
        ("skewed", "proportion employed where age >= 63"),
        ("rare", "proportion poor where disabled & (age >= 63)"),
        ("rare", "proportion poor ~ origin where age >= 63"),
    ),
    "count": (
        ("skewed", "count income > 40000"),
        ("skewed", "count region where income > 40000"),
    ),
    "independence": (
        ("skewed", "independence {income > 40000} + sex"),
        ("skewed", "independence sex + region where income > 40000"),
        ("heaped", "independence sex + contract where age >= 63"),
    ),
}
"""Kind → populations, and what is declared of each. All independences hold."""


@cache
def people_of(name: str) -> Population:
    """A population; "coded" has 600 occupations and 60 regions, few of them common."""
    if name != "coded":
        return population(name)
    rng = np.random.default_rng(1)
    job = np.minimum(rng.geometric(0.02, SIZE) - 1, 599)
    score = np.clip(rng.normal(50 - 3 * (job < 10), 10, SIZE), 0, 100).round(1)
    region = np.minimum(rng.geometric(0.05, SIZE) - 1, 59)
    people = pl.DataFrame(
        {
            "job": np.array([f"j{k:03}" for k in range(600)])[job],
            "region": np.array([f"r{k:02}" for k in range(60)])[region],
            "sex": rng.choice(["f", "m"], SIZE),
            "works": rng.random(SIZE) < 0.5 + 0.2 * (job < 10),
            "score": score,
        }
    )
    columns = {
        "job": levels(*(f"j{k:03}" for k in range(600))),
        "region": levels(*(f"r{k:02}" for k in range(60))),
        "sex": levels("f", "m"),
        "works": truth_value(),
        "score": number(0, 100, *range(0, 101, 5), kind="continuous", decimals=1),
    }
    return Population(people, {"columns": columns})


@dataclass(frozen=True)
class Law:
    """How many records there are, and the noise in each cell."""

    n: int
    noise: DiscreteGaussian | DiscreteLaplace

    @property
    def heavy(self) -> bool:
        """Whether the noise has Laplace tails."""
        return isinstance(self.noise, DiscreteLaplace)


LAWS = (
    Law(5_000, DiscreteGaussian(Fraction(64))),
    Law(1_000, DiscreteGaussian(Fraction(64))),
    Law(5_000, DiscreteLaplace(Fraction(16))),
    Law(1_000, DiscreteLaplace(Fraction(6))),
)


@dataclass(frozen=True)
class Drawn:
    """Tables of one question.

    Attributes:
        asked: the question.
        schema: in the states of the tables.
        fine: as it was declared.
        bins: of numbers in the tables.
        exact: counts of the records, shape (tables, cells).
        noisy: the same with noise, shape (tables, cells).
        variances: of the noise, shape (cells,).
        heavy: whether it has Laplace tails.
    """

    asked: Estimand
    schema: Schema
    fine: Schema
    bins: Bins
    exact: Floats
    noisy: Floats
    variances: Floats
    heavy: bool

    @property
    def counts(self) -> NoisyCounts:
        """All of them, one behind another."""
        return NoisyCounts(self.noisy, self.variances)


@dataclass(frozen=True)
class Intervals:
    """What tables answer.

    Attributes:
        low: lower ends, NaN where there is no answer, shape (tables, quantities).
        high: upper ends, same shape.
        truth: same shape. Of a test it is the p-value, and the interval is all above 5 %.
    """

    low: Floats
    high: Floats
    truth: Floats

    @property
    def held(self) -> Floats:
        """Whether each holds the truth, NaN where there is none."""
        hit = (self.low <= self.truth) & (self.truth <= self.high)
        return np.where(np.isnan(self.low), np.nan, hit)


def intervals(
    whole: Population, text: str, law: Law, repetitions: int, seed: int
) -> Iterator[tuple[Drawn, Intervals]]:
    """Tables of a question, many at once where all have the same bins, and what they answer."""
    schema = whole.schema("private", law.n)
    kind, _, formula = text.partition(" ")
    asked = parse(kind, formula, schema)
    own = own_table(asked, schema)
    assert own is not None
    rng = np.random.default_rng([seed, law.n, int(law.heavy)])
    if not own.even:
        told, counts = counts_of(whole.people, schema, asked, own.bins)
        shares = counts / whole.people.height
        shares = np.append(shares, max(1 - shares.sum(), 0.0))  # who lacks a value
        exact = rng.multinomial(law.n, shares, repetitions)[:, :-1]
        tables = with_noise(asked, (told, schema, own.bins), exact, law, rng)
        yield tables, answered(tables, whole)
        return
    for _ in range(repetitions):  # bins follow the number line of the same records
        rows = whole.people[rng.integers(whole.people.height, size=law.n)]
        lines = counts_on_lines(own.even, schema, rows)
        lines = {name: line + noise(law, line.shape, rng) for name, line in lines.items()}
        bins = {**own.bins, **bins_of_lines(own.even, schema, lines)}
        told, counts = counts_of(rows, schema, asked, bins)
        tables = with_noise(asked, (told, schema, bins), counts[None], law, rng)
        yield tables, answered(tables, whole)


def noise(law: Law, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Noise of the law."""
    source = SeededRandomness(int(rng.integers(2**31)))
    return np.asarray(law.noise.sample(int(np.prod(shape)), source), dtype=np.float64).reshape(
        shape
    )


def counts_of(
    rows: pl.DataFrame, schema: Schema, asked: Estimand, bins: Bins
) -> tuple[Schema, NDArray[np.int64]]:
    """The schema in the states of the table of a question, and the records in each of its cells."""
    records = own_records(asked, rows, schema, bins)
    sizes = [records.schema.columns[name].size for name in asked.columns]
    cells = np.ravel_multi_index([records.states[name] for name in asked.columns], sizes)
    return records.schema, np.bincount(cells, minlength=int(np.prod(sizes)))


def everybody_in(tables: Drawn, whole: Population) -> NDArray[np.int64]:
    """The people of the population in each cell of the tables."""
    _, counts = counts_of(whole.people, tables.fine, tables.asked, tables.bins)
    return counts


def with_noise(
    asked: Estimand,
    states: tuple[Schema, Schema, Bins],
    exact: NDArray[np.int64],
    law: Law,
    rng: np.random.Generator,
) -> Drawn:
    """The tables with noise in each cell that can have records."""
    schema = states[0]
    allowed = schema.table(asked.columns).allowed_mask().reshape(-1).astype(np.float64)
    noisy = exact + noise(law, exact.shape, rng) * allowed
    return Drawn(asked, *states, exact * 1.0, noisy, law.noise.stddev**2 * allowed, law.heavy)


def answered(tables: Drawn, whole: Population) -> Intervals:
    """The intervals of all tables, and what is true."""
    if tables.asked.kind == "quantile":
        return _quantiles(tables, whole)
    return _two_way(tables, whole) if tables.asked.kind in TWO_WAY else _ratios(tables, whole)


def _quantiles(tables: Drawn, whole: Population) -> Intervals:
    asked, schema = tables.asked, tables.schema
    ranges = value_ranges(asked, schema)
    scores = asked.scores(Records.complete_of(whole.people, tables.fine, asked.columns))
    found = []
    for k in range(len(ranges.names)):
        cells = np.flatnonzero(ranges.quantity == k)
        curve = counted_curve(tables.counts, cells, ranges, asked.probability, heavy=tables.heavy)
        told = tables.noisy[:, cells].sum(axis=1) >= FEWEST
        low, high = (np.where(told, end, np.nan) for end in curve.interval(0.95))
        values = np.sort(scores.value[scores.quantity == k])
        truth = values[int(np.ceil(len(values) * asked.probability)) - 1]
        found.append((low, high, np.full(len(low), truth)))
    return Intervals(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))


def _two_way(tables: Drawn, whole: Population) -> Intervals:
    asked, schema = tables.asked, tables.schema
    traits, n_cells = traits_of(asked, schema), tables.noisy.shape[1]

    def crossed(counts: Floats) -> NoisyCells:
        fourth = _LAPLACE_KURTOSIS * tables.variances**2 * tables.heavy
        table = NoisyCounts(counts, tables.variances)
        return crossed_cells(traits, table, schema, asked.where, fourth=fourth)

    mix = np.stack([crossed(one).counts for one in np.eye(n_cells)])
    cells, found = crossed(np.zeros(n_cells)), []
    everybody = np.tensordot(everybody_in(tables, whole), mix, axes=1)
    ratio = everybody[1, 1] * everybody[0, 0] / (everybody[1, 0] * everybody[0, 1])
    for counts in np.tensordot(tables.noisy, mix, axes=1):
        own = replace(cells, counts=counts)
        try:
            if asked.kind == "independence":
                found.append((_LEVEL, 1.0, independence(own, traits).pvalue[0]))
            else:
                low, high = odds_ratio(own, traits).interval()
                found.append((low[0], high[0], ratio))
        except LostInNoiseError:
            found.append((np.nan, np.nan, np.nan))
    return Intervals(*np.array(found).T[:, :, None])


def _ratios(tables: Drawn, whole: Population) -> Intervals:
    asked, schema = tables.asked, tables.schema
    scores = cell_scores(asked, schema)
    sums = ratios(tables.counts, scores)
    if asked.kind == "total":
        truth = ratios(NoisyCounts(tables.exact, tables.variances), scores).totals
        half = Z_95 * np.sqrt(sums.total_noise)
        return Intervals(sums.totals - half, sums.totals + half, truth)
    everybody = NoisyCounts(everybody_in(tables, whole) * 1.0, tables.variances)
    truth = np.broadcast_to(ratios(everybody, scores).estimate, sums.estimate.shape)
    half = Z_95 * np.sqrt(np.diagonal(sums.noise + sums.sampling, axis1=-2, axis2=-1))
    half = np.where(sums.sizes >= FEWEST, half, np.nan)
    return Intervals(sums.estimate - half, sums.estimate + half, truth)


def coverage(kind: str, repetitions: int, seed: int) -> Iterator[Floats]:
    """Whether intervals of a kind hold, by question and law; shape (tables, quantities) each."""
    for name, text in QUESTIONS[kind]:
        for law in LAWS:
            each = intervals(people_of(name), text, law, repetitions, seed)
            yield np.concatenate([found.held for _, found in each])


WEIGHTED = (
    "proportion works where age >= 65",
    "proportion works ~ region where age >= 65",
    "count works == 'yes' where (age >= 65) & (region in ['r1', 'r2'])",
)
"""What is declared of a survey with weights."""
_CLUSTERS, _EACH, _GROUPS = 2_000, 25, 20


@dataclass(frozen=True)
class Survey:
    """A population, whom each of a sample stands for, and the clusters that people live in.

    Attributes:
        people: everybody, cluster by cluster.
        schema: of a sample.
        cluster: of each person.
    """

    people: pl.DataFrame
    schema: Schema
    cluster: NDArray[np.int64]

    @classmethod
    def made(cls, *, clustered: bool) -> Survey:
        """One in which people of a cluster are alike, and those with large weights too."""
        rng = np.random.default_rng(7)
        cluster = np.repeat(np.arange(_CLUSTERS), _EACH)
        size = len(cluster)
        heavy = (rng.random(_CLUSTERS) < 0.3)[cluster]
        age = rng.integers(18, 95, size)
        alike = rng.normal(0, 0.12, _CLUSTERS)[cluster]
        works = rng.random(size) < np.clip(0.35 + 0.2 * heavy + alike, 0.02, 0.98)
        people = pl.DataFrame(
            {
                "w": np.where(heavy, 4.0, 1.0),
                "age": age,
                "works": np.where(works, "yes", "no"),
                "region": np.array(["r1", "r2", "r3", "r4"])[rng.integers(0, 4, size)],
                "group": np.full(size, "1"),
            }
        )
        columns = {
            "w": number(0, 4, 0, 1, 2, 3, 4, kind="continuous"),
            "age": number(18, 95, 18, 40, 60, 80, 95),
            "works": levels("yes", "no"),
            "region": levels("r1", "r2", "r3", "r4"),
            "group": {**levels(*map(str, range(1, _GROUPS + 1))), "random_groups": True},
        }
        design = {"weight": "w"}
        if clustered:
            design |= {"psu": "group", "variance": "groups"}
        schema = Schema.model_validate({"design": design, "columns": columns})
        return cls(people, schema, cluster)

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Numbers of those who are drawn, with chances that go as one over their weights."""
        chance = 1 / self.people["w"].to_numpy()
        if not self.schema.design.groups:
            return rng.choice(len(chance), n, p=chance / chance.sum())
        first = chance[::_EACH]
        drawn = rng.choice(_CLUSTERS, n // _EACH, p=first / first.sum())
        return np.asarray((drawn[:, None] * _EACH + np.arange(_EACH)).reshape(-1))


def weighted_intervals(
    text: str, n: int, stddevs: dict[tuple[int, bool], float], repetitions: int, seed: int
) -> tuple[Intervals, Floats]:
    """Intervals of a question to surveys with weights, and half-widths without noise.

    Args:
        text: the question.
        n: records.
        stddevs: power, and whether by random group → standard deviation of the noise in a cell.
        repetitions: surveys.
        seed: of all of them.
    """
    survey = Survey.made(clustered=(1, True) in stddevs)
    schema, rng = survey.schema, np.random.default_rng([seed, n])
    kind, _, formula = text.partition(" ")
    asked = parse(kind, formula, schema)
    own = own_table(asked, schema)
    assert own is not None
    records = own_records(asked, survey.people, schema, own.bins)
    told = records.schema
    sizes = [told.columns[name].size for name in own.columns]
    place = np.ravel_multi_index([records.states[name] for name in own.columns], sizes)
    t, many = survey.people["w"].to_numpy() / 4, int(np.prod(sizes))
    everybody = NoisyCounts(np.bincount(place, minlength=many) * 1.0, np.zeros(many))
    whole = WeightedCells(told, everybody, everybody)
    if asked.kind == "total":
        truth = cell_totals(asked, whole).estimate * n / (1 / (4 * t)).sum()
    else:
        truth = cell_ratios(asked, whole).estimate
    found, plain = [], []
    for _ in range(repetitions):
        drawn = survey.sample(n, rng)
        at, own_t = place[drawn], t[drawn]
        exact = {(power, False): np.bincount(at, own_t**power, many) for power in (1, 2)}
        if schema.design.groups:
            group = rng.integers(0, _GROUPS, _CLUSTERS)[survey.cluster[drawn]]
            sums = np.bincount(at + many * group, own_t, many * _GROUPS)
            exact[1, True] = sums.reshape(_GROUPS, many)
        for out, scale in ((found, 1.0), (plain, 1e-6)):
            noisy = {
                key: sums + scale * stddevs[key] * rng.normal(size=sums.shape)
                for key, sums in exact.items()
            }
            variances = {key: np.full(many, (scale * stddevs[key]) ** 2) for key in exact}
            groups = None
            if (1, True) in exact:
                groups = GroupSums("group", noisy[1, True], variances[1, True])
            tables = (NoisyCounts(noisy[power, False], variances[power, False]) for power in (1, 2))
            cells = WeightedCells(told, *tables, groups)
            out.append(answer_of_cells(asked, cells, schema, (float(n), 0.0)).pooled.interval())
    low, high = (np.stack(ends) for ends in zip(*found, strict=True))
    exact_low, exact_high = (np.stack(ends) for ends in zip(*plain, strict=True))
    low, high = np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)
    return Intervals(low, high, np.broadcast_to(truth, low.shape)), (exact_high - exact_low) / 2


def weighted_coverage(repetitions: int, seed: int) -> Iterator[tuple[str, str, Intervals, Floats]]:
    """Each design and question, its intervals, and half-widths without noise."""
    for design in ("weights", "weights and clusters"):
        for n in (5_000, 20_000):
            for text in WEIGHTED:
                stddevs = noise_of_weights(grouped=design != "weights")
                own = weighted_intervals(text, n, stddevs, repetitions, seed)
                yield f"{design}, {n:,}", text, *own


def noise_of_weights(*, grouped: bool) -> dict[tuple[int, bool], float]:
    """Standard deviation of the noise in tables that ε = 1 and δ = 10⁻⁶ buy for one question."""
    amount = Budget.of(1, "1e-6", "gdp").amount
    squares = SQUARES_SHARE / 2 if grouped else SQUARES_SHARE
    apart = (1 - squares) * GROUPS_SHARE if grouped else Fraction(0)
    parts = {(1, False): 1 - squares - apart, (2, False): squares, (1, True): apart}
    return {
        key: float(gaussian_variance(part * amount, accounting="gdp", squared=1)) ** 0.5
        for key, part in parts.items()
        if part
    }


def summary(found: Sequence[Floats]) -> tuple[int, float, float, float, float]:
    """Intervals, the part of all that had one, the part that held, its error, and the least."""
    told = sum(int(np.isfinite(one).sum()) for one in found)
    held_in = sum(float(np.nansum(one)) for one in found)
    share = held_in / told
    off = np.concatenate([np.nansum(one - share, axis=1) for one in found])
    error = float(np.sqrt((off**2).sum())) / told
    least = min(float(np.nanmean(one, axis=0).min()) for one in found)
    return told, told / sum(one.size for one in found), share, error, least


def main() -> None:
    """Measure, and print kind by kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weighted", action="store_true", help="tables of weights alone")
    given = parser.parse_args()
    if not given.weighted:
        show_counted(given.repetitions, given.seed)
    show_weighted(given.repetitions, given.seed)


def show_counted(repetitions: int, seed: int) -> None:
    """Print kind by kind what tables of counts cover."""
    table = Table("kind", "intervals", "answered", "covered", "lowest")
    for kind in QUESTIONS:
        found = list(coverage(kind, repetitions, seed))
        told, part, share, error, least = summary(found)
        covered = f"{share:.3f} ± {error:.3f}"
        table.add_row(kind, f"{told:,}", f"{part:.0%}", covered, f"{least:.3f}")
    Console().print(table)


def show_weighted(repetitions: int, seed: int) -> None:
    """Print question by question what tables of weights cover, and how wide their intervals are."""
    table = Table("survey, records", "question", "answered", "covered", "lowest", "width")
    for name, text, found, alone in weighted_coverage(repetitions, seed):
        _, part, share, error, least = summary([found.held])
        width = np.nanmedian((found.high - found.low) / 2 / alone)
        covered = f"{share:.3f} ± {error:.3f}"
        table.add_row(name, text, f"{part:.0%}", covered, f"{least:.3f}", f"{width:.2f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
