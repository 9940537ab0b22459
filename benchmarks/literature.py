"""The same work by published methods: coverage, width and CPU seconds side by side.

    python benchmarks/literature.py [--only linear cells own] [--n 1000 5000 20000]
        [--repetitions 100] [--methods NAME …] [--twinify PYTHON] [--original 3] [--seed 1]

Rows are drawn with replacement from populations whose values are the truth; all methods get the
same rows, public bounds and budget, (1, 10⁻⁶) but in `own`. A cell of a table is over all
coefficients but the intercept: how many of the nominal 95 % intervals hold the truth, ± one Monte
Carlo standard error (between repetitions); the median width over that of the rows' own intervals
(HC1, or from the information matrix); the mean CPU seconds from rows to intervals.

* `linear`: an outcome that is skewed and whose spread grows with its mean, on one, two and four
  numbers, beside **BinAgg** (Lin, Slavković & Bhoomireddy 2026, "Differentially private linear
  regression and synthetic data generation with statistical guarantees", AISTATS, arXiv:2510.16974),
  the authors' package, where it can be imported (`pip install
  git+https://github.com/shuronglin/binagg`, or its `src` on PYTHONPATH). One record more or less.
  It gets a column of ones, and all columns moved and scaled by their public bounds to −1 … 1, which
  is better for it. Its noise takes the sums of each column alone as one query; "same guarantee"
  states the shares of its budget such that those of all columns together cost what is said.
* `own`: the setting of that paper: five uniform numbers, n = 1,000, μ = 1 in Gaussian differential
  privacy, which is (4.89, 10⁻⁶), a model without an intercept.
* `cells`: models of a few columns with levels, beside **NAPSU-MQ** (Räisä, Jälkö, Kaski & Honkela
  2023): a remake (`napsu.py`), and with `--twinify PYTHON --original K` the authors' package in the
  first K repetitions, in that interpreter (`napsu_original.py` says which versions). One record is
  replaced. Marginals are those that hold the relation; 100 sets as large as the rows are pooled.

Ours is `us.regress`, which spends all on the one model, and `declared`: an automatic release, of
which half buys the model, and half the records that answer anything else.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import understudy as us
from napsu import SETS, cells_of, fit, pooled, synthetic_counts
from natural_questions import Question
from published_work import WORK, Work
from row_answers import row_answer

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
ORIGINAL = Path(__file__).parent / "napsu_original.py"


Method = Callable[[Work, pl.DataFrame, int], Ends]


def by_regress(work: Work, rows: pl.DataFrame, seed: int) -> Ends:
    """`us.regress`."""
    schema = work.population.schema(work.rows, rows.height)
    found = us.regress(
        rows,
        schema,
        work.formula,
        kind=work.kind,
        epsilon=str(work.epsilon),
        delta="1e-6",
        seed=seed,
        insecure_noise_seed=seed,
    )
    return _ends(found.to_frame())


def by_declared(work: Work, rows: pl.DataFrame, seed: int) -> Ends:
    """An automatic release with the model declared."""
    release = us.synthesize(
        rows,
        work.population.schema(work.rows, rows.height),
        epsilon=str(work.epsilon),
        delta="1e-6",
        analyses=[f"{work.kind} {work.formula}"],
        seed=seed,
        insecure_noise_seed=seed,
    )
    return _ends(us.analyze(release, work.kind, work.formula).to_frame())


def _ends(frame) -> Ends:
    slopes = frame.drop(index="Intercept")
    return slopes["lower"].to_numpy(), slopes["upper"].to_numpy()


def by_binagg(work: Work, rows: pl.DataFrame, seed: int, *, same: bool = False) -> Ends:
    """BinAgg; `same`: its sums of all predictors together cost their share of the budget."""
    package = importlib.import_module("binagg")
    schema = work.population.schema("private", 0)
    ends = np.array([schema.columns[name].bounds for name in work.columns], float)
    middle, half = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2
    if not work.intercept:  # as in the paper: neither moved nor scaled
        middle, half = np.zeros(len(half)), np.ones(len(half))
    scaled = (rows.select(work.columns).to_numpy() - middle) / half
    bounds = [tuple(pair) for pair in ((ends - middle[:, None]) / half[:, None]).tolist()]
    x, y, x_bounds = scaled[:, :-1], scaled[:, -1], bounds[:-1]
    if work.intercept:
        x, x_bounds = np.column_stack([np.ones(len(x)), x]), [(1.0, 1.0), *x_bounds]
    mu, ratios, k = package.mu_from_eps_delta(work.epsilon, 1e-6), (1, 3, 3, 3), x.shape[1]
    if same:
        mu, ratios = mu * np.sqrt((19 + 9 / k) / 28), (1, 3, 3 / np.sqrt(k), 3)
    found = package.dp_linear_regression(
        x,
        y,
        x_bounds,
        bounds[-1],
        mu=mu,
        budget_ratios=ratios,
        preserve_sample_size=False,
        random_state=seed,
    )
    slopes = found.confidence_intervals[int(work.intercept) :] * (half[-1] / half[:-1])[:, None]
    return slopes[:, 0], slopes[:, 1]


def by_remake(work: Work, rows: pl.DataFrame, seed: int) -> Ends:
    """NAPSU-MQ as `napsu.py` has it."""
    codes, sizes = _codes(work, rows)
    counts = np.bincount(np.ravel_multi_index(tuple(codes), sizes), minlength=int(np.prod(sizes)))
    places = [[rows.columns.index(name) for name in one] for one in work.marginals]
    budget, rng = (work.epsilon, 1e-6), np.random.default_rng(seed)
    return _pooled(work, sizes, synthetic_counts(counts, sizes, places, budget, rng))


def by_original(work: Work, rows: pl.DataFrame, seed: int, *, python: str) -> Ends:
    """NAPSU-MQ of the authors, in an interpreter of its own."""
    codes, sizes = _codes(work, rows)
    asked = {
        "columns": dict(zip(rows.columns, codes.tolist(), strict=True)),
        "levels": dict(zip(rows.columns, sizes, strict=True)),
        "marginals": work.marginals,
        "epsilon": work.epsilon,
        "delta": 1e-6,
        "seed": seed,
        "sets": SETS,
    }
    done = subprocess.run(
        [python, str(ORIGINAL)], input=json.dumps(asked), check=True, capture_output=True, text=True
    )
    return _pooled(work, sizes, np.array(json.loads(done.stdout)))


def _codes(work: Work, rows: pl.DataFrame) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Codes of all columns, shape (columns, n), and numbers of levels."""
    known = [work.population.people[name].unique().sort() for name in rows.columns]
    codes = [np.searchsorted(k, rows[k.name]) for k in known]
    return np.array(codes), tuple(map(len, known))


def _pooled(work: Work, sizes: tuple[int, ...], tables: NDArray[np.int64]) -> Ends:
    """The model of each table of counts, pooled; predictors of more levels by indicators."""
    cells = cells_of(sizes)
    parts = [np.ones((len(cells), 1))]
    parts += [cells[:, [k]] == np.arange(1, size) for k, size in enumerate(sizes[:-1])]
    design = np.hstack(parts).astype(float)
    outcome = cells[:, -1].astype(float)
    fitted = [fit(work.kind, design, outcome, table.astype(float)) for table in tables]
    lower, upper = pooled(*(np.array(one) for one in zip(*fitted, strict=True)))
    return lower[1:], upper[1:]


def measured(work: Work, n: int, method: Method, repetitions: int, seed: int) -> list[str]:
    """Repetitions, answered, coverage, width, CPU seconds, as they are shown."""
    people, rng = work.population.people, np.random.default_rng(seed)
    asked = Question(work.kind, work.formula)
    truth = row_answer(asked, people, work.population).estimate
    held, widths, spent = [], [], 0.0
    for repetition in range(repetitions):
        rows = people[rng.integers(people.height, size=n)]
        own = row_answer(asked, rows, work.population)
        start = sum(os.times()[:4])  # of this process and of those it waited for
        try:
            lower, upper = method(work, rows, repetition)
        except us.UnderstudyError:
            lower, upper = np.full((2, len(truth)), np.nan)
        spent += sum(os.times()[:4]) - start
        widths.append((upper - lower) / (own.upper - own.lower))
        held.append(np.where(np.isfinite(widths[-1]), (lower <= truth) & (truth <= upper), np.nan))
    return [
        str(repetitions),
        *_shown(np.array(held), np.array(widths)),
        f"{spent / repetitions:.2f}",
    ]


def _shown(held: Floats, widths: Floats) -> tuple[str, str, str]:
    """Answered, coverage and width; held and widths of shape (repetitions, coefficients)."""
    answered = np.isfinite(held)
    if not answered.any():
        return "0%", "–", "–"
    each = np.nanmean(held[answered.any(axis=1)], axis=1)
    error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
    cover = f"{each.mean():.1%} ± {error:.1%}"
    return f"{answered.mean():.0%}", cover, f"×{np.nanmedian(widths):.2f}"


def methods(work: Work, given: argparse.Namespace) -> dict[str, tuple[Method | None, int]]:
    """Methods by their names, with repetitions; None for a package that is not there."""
    found: dict[str, tuple[Method | None, int]] = {
        "us.regress": (by_regress, given.repetitions),
        "declared": (by_declared, given.repetitions),
    }
    if work.marginals:
        found["NAPSU-MQ, remade"] = by_remake, given.repetitions
        original = partial(by_original, python=given.twinify) if given.twinify else None
        return found | {"NAPSU-MQ, twinify 2.0.0": (original, given.original)}
    there = importlib.util.find_spec("binagg") is not None
    same = partial(by_binagg, same=True)
    return found | {
        name: (method if there else None, given.repetitions)
        for name, method in {"BinAgg": by_binagg, "BinAgg, same guarantee": same}.items()
    }


def main() -> None:
    """Measure, and print a table for each kind of work."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(WORK), default=list(WORK))
    parser.add_argument("--n", nargs="+", type=int, default=[1_000, 5_000, 20_000])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--twinify", metavar="PYTHON", help="interpreter that has twinify 2.0.0")
    parser.add_argument("--original", type=int, default=3, help="repetitions of the same")
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--seed", type=int, default=1)
    given, console = parser.parse_args(), Console(width=120)
    for name in given.only:
        shown = Table("work", "n", "method", "runs", "answered", "coverage", "width", "CPU s")
        for work in WORK[name]():
            for n in given.n:
                for said, (method, runs) in methods(work, given).items():
                    if given.methods and said not in given.methods:
                        continue
                    line = ["not installed"]
                    if method is not None:
                        line = measured(work, n, method, runs, given.seed)
                    shown.add_row(work.title, f"{n:,}", said, *line)
        console.print(shown)


if __name__ == "__main__":
    main()
