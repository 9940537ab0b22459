"""The natural questions that a release answers: how many, how rightly, how widely and how soon.

    python benchmarks/questions.py [--populations NAME …] [--n 5000 …] [--rows private …]
        [--delta 1e-6 …] [--epsilon 1 …] [--grid] [--answers-share S] [--repetitions 60]
        [--seed 1] [--workers 2] [--data DIR] [--out FILE] [--top 12] [--alone]

From each population (`populations.py`; with `--data` also the real tables `KNOWN` in that folder),
whose values are the truth, n rows are drawn with replacement and released with default settings,
and the `natural_questions.py` are asked of the release. A cell is a population, n, kind of rows, δ
and ε: all combinations of what is given, or with `--grid` those of `CONDITIONS`. By cell and kind:

* **answered**: the mean over questions of the part of their quantities (coefficients without
  intercepts, shares, cells) that have an interval that counts. One over ten times as wide as those
  of the rows are in the mean of 30 samples, or that holds all that is possible whatever the rows,
  counts as none; where the rows' intervals have no width, the latter decides alone.
* **coverage** of nominal 95 % where it counts, and that of the rows' own textbook intervals for the
  same quantities, in those samples. It is *low* if a binomial test at 1 % says that it is below
  93 %; quantities of one release are not independent, so their number is divided by the design
  effect between releases. Cells that no rows can have are not judged: all know them.
* **width**: the median, over the mean one of the rows; and in how many **within** 2, 5 and 10
  times it.

An answer about numbers that are cut off at limits, and says so, is compared with the truth of that
quantity, and with what the rows tell of it.
* **ms**: of a question, in the median, answered or not.
* **a set covers**: coverage of the rows' textbook intervals, made of a synthetic set as if it were
  the rows: what an analyst gets who does not know better.
* **statistics**: how many are answered, the coverage and the median width of inference from noisy
  sufficient statistics that have the whole budget (`noisy_statistics.py`).
* **alone**, with `--alone`: the median width over that of the rows, in one release for each
  question that declares it and nothing else, with nine tenths of the budget: the floor.

Single quantities have independent repetitions: those whose coverage is below 93 % by an exact
binomial test, at 1 % for the whole run (Bonferroni), are listed, and so are the reasons of
refusals. `--out` keeps all intervals as Parquet.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import understudy as us
from natural_questions import ASKED_AS, QUESTIONS, Question, read
from noisy_statistics import NoisyStatistics
from populations import POPULATIONS, Population, population
from question_scores import Cell, by_cell, by_kind, faults, refusals
from row_answers import RowAnswer, row_answer
from understudy.inference.analysis import counts
from understudy.schema import Schema
from wider_populations import KNOWN, known_table

ROW_SAMPLES = 30
CONDITIONS = (
    *((n, "private", "1e-6", "1") for n in (500, 5_000, 20_000, 50_000)),
    *((5_000, "private", "1e-6", epsilon) for epsilon in ("0.1", "10", "50")),
    (5_000, "private", "0", "1"),
    (5_000, "public", "1e-6", "1"),
)
"""n, rows, δ and ε of the grid; each but the second differs from it by one of them."""


@dataclass(frozen=True)
class OfRows:
    """What the rows' own intervals for a quantity do, over several samples.

    Attributes:
        width: their mean.
        covers: how many of them hold the truth, as a share.
    """

    width: float
    covers: float


def measured(
    cell: Cell, repetitions: int, seed: int, answers_share: str | None = None, alone: bool = False
) -> list[dict[str, Any]]:
    """Every quantity of every question in every repetition."""
    whole, found = population(cell.population), list[dict[str, Any]]()
    truths, by_rows = without_release(cell.population, cell.n, seed)
    schema, rng = whole.schema(cell.rows, cell.n), np.random.default_rng(seed)
    rows = _sample(whole, cell.n, np.random.default_rng([seed, cell.n]))
    floors = {asked: floor(asked, cell, rows, schema) if alone else {} for asked in truths}
    for repetition in range(repetitions):
        sampled = _sample(whole, cell.n, rng)
        release = us.synthesize(
            sampled,
            schema,
            epsilon=cell.epsilon,
            delta=cell.delta,
            budget=None if answers_share is None else {"answers": answers_share},
            seed=int(rng.integers(2**31)),
            insecure_noise_seed=int(rng.integers(2**31)),
        )
        statistics = None
        if cell.delta != "0":
            budget, other = (cell.epsilon, cell.delta), np.random.default_rng([seed, repetition])
            statistics = NoisyStatistics.of(sampled, schema, budget, other)
        for asked, truth in truths.items():
            about = {"kind": asked.kind, "asked": _words(asked), "repetition": repetition}
            each = judged(asked, truth, by_rows[asked], release, whole, statistics=statistics)
            for one in each:
                width = floors[asked].get(one["quantity"], floors[asked].get("", np.nan))
                alone_width = width / one["row_width"] if one["row_width"] else np.nan
                found.append(asdict(cell) | about | one | {"alone": alone_width})
    return found


def floor(asked: Question, cell: Cell, rows: pl.DataFrame, schema: Schema) -> dict[str, float]:
    """Widths by quantity ("" for the only one) of a release that declares this question alone."""
    of_line = asked.kind == "quantile"  # a fine histogram of the number is what answers best
    shares = {"lines": "0.9"} if of_line else {"answers": "0.9", "lines": "0.05", "layer": "0"}
    try:
        release = us.synthesize(
            rows,
            schema,
            epsilon=cell.epsilon,
            delta=cell.delta,
            method="independent",
            analyses=None if of_line else [f"{ASKED_AS[asked.kind]} {asked.formula}"],
            budget=shares,
            insecure_noise_seed=1,
        )
    except us.UnderstudyError:  # such as what cannot be declared
        return {}
    intervals, _, _ = answer(asked, release)
    return {name: upper - lower for name, (lower, upper) in intervals.items()}


@cache
def without_release(
    name: str, n: int, seed: int
) -> tuple[dict[Question, RowAnswer], dict[Question, dict[str, OfRows]]]:
    """Of each question to a population its truth, and what intervals from n rows do."""
    whole = population(name)
    truths = {asked: row_answer(asked, whole.people, whole) for asked in read(QUESTIONS[name])}
    return truths, {asked: of_rows(asked, truth, whole, n, seed) for asked, truth in truths.items()}


def of_rows(
    asked: Question, truth: RowAnswer, whole: Population, n: int, seed: int
) -> dict[str, OfRows]:
    """By quantity, what intervals from n rows do; those that rows cannot tell are left out."""
    rng, ends = np.random.default_rng([seed, n]), dict[str, list[tuple[float, float]]]()
    for _ in range(ROW_SAMPLES):
        try:
            own = row_answer(asked, _sample(whole, n, rng), whole)
        except us.UnderstudyError:  # not even the rows have an answer
            continue
        for name, lower, upper in zip(own.names, own.lower, own.upper, strict=True):
            ends.setdefault(name, []).append((lower, upper))
    return {
        name: OfRows(_mean_width(ends[name]), _covered(ends[name], true))
        for name, true in zip(truth.names, truth.estimate, strict=True)
        if name in ends
    }


def of_cut_off(
    asked: Question,
    cut_off: Mapping[str, tuple[float, float]],
    by_rows: dict[str, OfRows],
    whole: Population,
    n: int,
) -> tuple[RowAnswer, dict[str, OfRows]]:
    """The truth of a quantity whose numbers are cut off, and how widely n rows tell it."""
    people = whole.people
    for name, ends in cut_off.items():
        number, codes = people[name], whole.declared["columns"][name].get("missing", [])
        is_code = pl.Series(np.isin(number.to_numpy(), codes))
        people = people.with_columns(pl.when(is_code).then(number).otherwise(number.clip(*ends)))
    truth = row_answer(asked, people, whole)
    widths = (truth.upper - truth.lower) * np.sqrt(people.height / n)
    each = zip(truth.names, widths.tolist(), strict=True)
    return truth, {
        name: replace(by_rows[name], width=width) for name, width in each if name in by_rows
    }


def judged(
    asked: Question,
    truth: RowAnswer,
    by_rows: dict[str, OfRows],
    release: us.Release,
    whole: Population | None = None,
    *,
    statistics: NoisyStatistics | None = None,
) -> Iterator[dict[str, Any]]:
    """The quantities of a question, each as the release gives it."""
    start = time.perf_counter()
    intervals, cut_off, refused = answer(asked, release)
    spent = 1e3 * (time.perf_counter() - start)
    if cut_off and whole is not None:
        truth, by_rows = of_cut_off(asked, cut_off, by_rows, whole, release.manifest.n_rows)
    naive = _naive(asked, release, whole)
    by_statistics = {} if statistics is None else statistics.answer(asked)
    for k, name in enumerate(truth.names):
        if name not in by_rows or _certain(asked, truth, k):
            continue
        own = by_rows[name]
        lower, upper = intervals.get(name, intervals.get("", (np.nan, np.nan)))
        yield {
            "quantity": name,
            "truth": truth.estimate[k],
            "lower": lower,
            "upper": upper,
            "row_width": own.width,
            "row_covers": own.covers,
            "counts": counts(upper - lower, own.width)
            and not (lower <= truth.low and upper >= truth.high),
            "refused": refused,
            "ms": spent,
            "naive_covers": naive[name][0] <= truth.estimate[k] <= naive[name][1]
            if name in naive
            else None,
        } | _by_statistics(by_statistics.get(name), truth, k, own)


def _by_statistics(
    ends: tuple[float, float] | None, truth: RowAnswer, k: int, own: OfRows
) -> dict[str, Any]:
    """What an interval from noisy statistics does; none counts as one that is too wide."""
    lower, upper = ends or (np.nan, np.nan)
    useful = counts(upper - lower, own.width)
    useful = bool(useful and not (lower <= truth.low and upper >= truth.high))
    covers = bool(lower <= truth.estimate[k] <= upper) if useful else None
    width = (upper - lower) / own.width if useful and own.width else np.nan
    return {"statistics": useful, "statistics_covers": covers, "statistics_width": width}


def _naive(
    asked: Question, release: us.Release, whole: Population | None
) -> dict[str, tuple[float, float]]:
    """Textbook intervals of the first set, as if it were the rows."""
    if whole is None:
        return {}
    try:
        found = row_answer(asked, pl.DataFrame(release.sets[0]), whole)
    except us.UnderstudyError:
        return {}
    ends = zip(found.lower.tolist(), found.upper.tolist(), strict=True)
    return dict(zip(found.names, ends, strict=True))


def answer(
    asked: Question, release: us.Release
) -> tuple[dict[str, tuple[float, float]], Mapping[str, tuple[float, float]], str | None]:
    """Intervals by quantity ("" for the only one), where numbers are cut off, or why not."""
    try:
        found = us.analyze(
            release, ASKED_AS[asked.kind], asked.formula, probability=asked.probability
        )
    except us.UnderstudyError as error:
        return {}, {}, str(error)
    lower, upper = found.pooled.interval()
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    if asked.kind in {"quantile", "correlation"}:
        return {"": ends[0]}, found.cut_off, None
    return dict(zip(found.pooled.names, ends, strict=True)), found.cut_off, None


def frame(records: list[dict[str, Any]]) -> pl.DataFrame:
    """All quantities, with what is judged of each."""
    table = pl.DataFrame(records, infer_schema_length=None, schema_overrides={"refused": pl.String})
    inside = (pl.col("lower") <= pl.col("truth")) & (pl.col("truth") <= pl.col("upper"))
    width = (pl.col("upper") - pl.col("lower")) / pl.col("row_width")
    return table.with_columns(covers=inside, width=width)


def _sample(whole: Population, n: int, rng: np.random.Generator) -> pl.DataFrame:
    return whole.people[rng.integers(whole.people.height, size=n)]


def _mean_width(ends: list[tuple[float, float]]) -> float:
    """Of those that are finite; NaN if none is."""
    widths = np.subtract(*np.array(ends).T[::-1])
    finite = widths[np.isfinite(widths)]
    return float(finite.mean()) if finite.size else np.nan


def _covered(ends: list[tuple[float, float]], true: float) -> float:
    lower, upper = np.array(ends).T
    return float(np.mean((lower <= true) & (true <= upper)))


def _certain(asked: Question, truth: RowAnswer, k: int) -> bool:
    """Whether no rows of the population can tell anything but the truth."""
    known = asked.kind in {"share", "table"} and truth.estimate[k] in {0.0, 1.0}
    return known or not np.isfinite(truth.estimate[k])


def _words(asked: Question) -> str:
    return asked.formula + (f" @ {asked.probability:g}" if asked.kind == "quantile" else "")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--populations", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("--n", nargs="+", type=int, default=[500, 5_000, 20_000])
    parser.add_argument("--rows", nargs="+", default=["private", "public"])
    parser.add_argument("--delta", nargs="+", default=["1e-6", "0"])
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--grid", action="store_true", help="the cells of CONDITIONS")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", type=Path, help="folder with the folders of real tables")
    parser.add_argument("--answers-share", help="of the budget, for second moments")
    parser.add_argument("--repetitions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--alone", action="store_true", help="declare each question alone, too")
    parser.add_argument("--top", type=int, default=12, help="lines of faults and of reasons")
    return parser.parse_args()


def cells(given: argparse.Namespace) -> list[Cell]:
    """What is released."""
    if given.grid:
        grid = product(given.populations, CONDITIONS)
        return [Cell(name, *condition) for name, condition in grid]
    ways = product(given.populations, given.n, given.rows, given.delta, given.epsilon)
    return [Cell(*way) for way in ways]


def main() -> None:
    """Measure, and print cell by cell."""
    given, console, tables = arguments(), Console(), list[pl.DataFrame]()
    if given.data:
        for name in KNOWN:
            POPULATIONS[name] = lambda _, name=name: known_table(given.data, name)
    given.populations = given.populations or [*POPULATIONS]
    todo = cells(given)
    with ProcessPoolExecutor(given.workers, multiprocessing.get_context("fork")) as pool:
        more = given.repetitions, given.seed, given.answers_share, given.alone
        ways = [(cell, *more) for cell in todo]
        for cell, (records, spent) in zip(todo, pool.map(_timed, ways), strict=True):
            tables.append(frame(records))
            console.print(by_kind(tables[-1], cell))
            console.print(f"{given.repetitions} releases, {spent:.0f} s")
            if given.out:
                pl.concat(tables).write_parquet(given.out)
    table = pl.concat(tables)
    if len(todo) > 1:
        console.print(by_kind(table))
        console.print(by_cell(table, todo))
    console.print(faults(table, given.top))
    console.print(refusals(table, given.top))


def _timed(way: tuple[Cell, int, int, str | None, bool]) -> tuple[list[dict[str, Any]], float]:
    start = time.perf_counter()
    return measured(*way), time.perf_counter() - start


if __name__ == "__main__":
    main()
