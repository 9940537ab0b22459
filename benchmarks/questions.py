"""The natural questions that a release answers: how many, how rightly, how widely and how soon.

    python benchmarks/questions.py [--populations NAME …] [--n 5000 …] [--rows private …]
        [--delta 1e-6 …] [--epsilon 1 …] [--answers-share S] [--repetitions 60] [--seed 1]
        [--out FILE] [--top 12]

From each population (`populations.py`), whose values are the truth, n rows are drawn with
replacement and released with default settings, and the `natural_questions.py` are asked of the
release. A cell of the grid is a population, n, kind of rows, δ and ε. By cell and kind of question:

* **answered**: the mean over questions of the part of their quantities (coefficients without
  intercepts, shares, cells) that have an interval that counts. One over ten times as wide as that
  of the rows, or that holds all that is possible whatever the rows, counts as none; where the rows'
  interval has no width, the latter decides alone.
* **coverage** of nominal 95 % where it counts, and that of the rows' own textbook intervals for the
  same quantities. It is *low* if a binomial test at 1 % says that it is below 93 %; quantities of
  one release are not independent, so their number is divided by the design effect between
  releases. Cells that no rows can have are not judged: all know them.
* **width**: the median, over that of the rows.
* **ms**: of a question, in the median, answered or not.

Single quantities have independent repetitions: those whose coverage is below 93 % by an exact
binomial test, at 1 % for the whole run (Bonferroni), are listed, and so are the reasons of
refusals. `--out` keeps all intervals as Parquet.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console

import understudy as us
from natural_questions import ASKED_AS, QUESTIONS, Question, read
from populations import POPULATIONS, Population, population
from question_scores import Cell, by_kind, faults, refusals
from row_answers import RowAnswer, row_answer

WIDEST = 10.0


def measured(
    cell: Cell, repetitions: int, seed: int, answers_share: str | None = None
) -> Iterator[dict[str, Any]]:
    """Every quantity of every question in every repetition."""
    whole = population(cell.population)
    asked_of = read(QUESTIONS[cell.population])
    truths = {asked: row_answer(asked, whole.people, whole) for asked in asked_of}
    schema, rng = whole.schema(cell.rows, cell.n), np.random.default_rng(seed)
    for repetition in range(repetitions):
        rows = whole.people[rng.integers(whole.people.height, size=cell.n)]
        release = us.synthesize(
            rows,
            schema,
            epsilon=cell.epsilon,
            delta=cell.delta,
            answers_share=answers_share,
            seed=int(rng.integers(2**31)),
            insecure_noise_seed=int(rng.integers(2**31)),
        )
        for asked, truth in truths.items():
            about = {"kind": asked.kind, "asked": _words(asked), "repetition": repetition}
            for one in judged(asked, truth, rows, release, whole):
                yield asdict(cell) | about | one


def judged(
    asked: Question, truth: RowAnswer, rows: pl.DataFrame, release: us.Release, whole: Population
) -> Iterator[dict[str, Any]]:
    """The quantities of a question, each as the release and as the rows give it."""
    start = time.perf_counter()
    intervals, refused = answer(asked, release)
    spent = 1e3 * (time.perf_counter() - start)
    try:
        own = row_answer(asked, rows, whole)
    except us.UnderstudyError:  # not even the rows have an answer
        return
    places = {name: k for k, name in enumerate(own.names)}
    for k, name in enumerate(truth.names):
        if name not in places or _certain(asked, truth, k):
            continue
        at = places[name]
        low, high = own.lower[at], own.upper[at]
        lower, upper = intervals.get(name, intervals.get("", (np.nan, np.nan)))
        yield {
            "quantity": name,
            "truth": truth.estimate[k],
            "lower": lower,
            "upper": upper,
            "row_lower": low,
            "row_upper": high,
            "counts": counts(upper - lower, high - low)
            and not (lower <= truth.low and upper >= truth.high),
            "refused": refused,
            "ms": spent,
        }


def answer(
    asked: Question, release: us.Release
) -> tuple[dict[str, tuple[float, float]], str | None]:
    """Intervals by quantity ("" for the only one), or why there are none."""
    try:
        found = us.analyze(
            release, ASKED_AS[asked.kind], asked.formula, probability=asked.probability
        )
    except us.UnderstudyError as error:
        return {}, str(error)
    lower, upper = found.pooled.interval()
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    if asked.kind in {"quantile", "correlation"}:
        return {"": ends[0]}, None
    return dict(zip(found.pooled.names, ends, strict=True)), None


def counts(width: float, row_width: float) -> bool:
    """Whether an interval tells something beside that of the rows.

    >>> counts(9.9, 1), counts(10.1, 1), counts(float("nan"), 1), counts(5, 0)
    (True, False, False, True)
    """
    return bool(np.isfinite(width) and (row_width == 0 or width <= WIDEST * row_width))


def frame(records: list[dict[str, Any]]) -> pl.DataFrame:
    """All quantities, with what is judged of each."""
    table = pl.DataFrame(records, infer_schema_length=None)
    inside = (pl.col("lower") <= pl.col("truth")) & (pl.col("truth") <= pl.col("upper"))
    by_rows = (pl.col("row_lower") <= pl.col("truth")) & (pl.col("truth") <= pl.col("row_upper"))
    width = (pl.col("upper") - pl.col("lower")) / (pl.col("row_upper") - pl.col("row_lower"))
    return table.with_columns(covers=inside, row_covers=by_rows, width=width)


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
    known = list(POPULATIONS)
    parser.add_argument("--populations", nargs="+", choices=known, default=known, metavar="NAME")
    parser.add_argument("--n", nargs="+", type=int, default=[500, 5_000, 20_000])
    parser.add_argument("--rows", nargs="+", default=["private", "public"])
    parser.add_argument("--delta", nargs="+", default=["1e-6", "0"])
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--answers-share", help="of the budget, for second moments")
    parser.add_argument("--repetitions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--top", type=int, default=12, help="lines of faults and of reasons")
    return parser.parse_args()


def main() -> None:
    """Measure, and print cell by cell."""
    given, console, found = arguments(), Console(), list[dict[str, Any]]()
    grid = product(given.populations, given.n, given.rows, given.delta, given.epsilon)
    for cell in (Cell(*one) for one in grid):
        start = time.perf_counter()
        found += measured(cell, given.repetitions, given.seed, given.answers_share)
        console.print(by_kind(frame(found), cell))
        console.print(f"{given.repetitions} releases, {time.perf_counter() - start:.0f} s")
        if given.out:
            frame(found).write_parquet(given.out)
    table = frame(found)
    console.print(faults(table, given.top))
    console.print(refusals(table, given.top))


if __name__ == "__main__":
    main()
