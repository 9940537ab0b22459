"""Numbers that follow one another, with their ridges and without: ``python benchmarks/ridges.py``.

Four made tables, (1, 10⁻⁶), private rows, `ROWS` rows each: incomes and taxes, visits with their
costs, measures of bodies with rounded weights and two numbers that go with nothing, and stones
(`related_numbers.py`). Each release is drawn from twice: with places along ridges
(`graphical/ridges.py`), and with places that know runs alone. The noise is the same, so that only
this differs. Shown are mean total variation distances from the rows of all tables of two columns,
numbers cut into 32 parts at quantiles of the rows, and of three columns, cut into 12; the mean
difference of rank correlations of numbers; and CPU seconds of making the model and drawing once.
± is the standard error of the difference.

    --runs K       releases of each case, 5 if it is not said
    --table NAME   other tables
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

import related_numbers
import understudy as us
from distance_floor import model_of
from understudy.release.decoding import decode

ROWS = (20_000, 1_000)
SAID = {"source": "made", "reviewed": True}
Made = tuple[pl.DataFrame, us.Schema]


def number(lower: float, upper: float, decimals: int = 0, **more: Any) -> dict[str, Any]:
    """A column of numbers; of whole numbers without decimals."""
    kind = {"kind": "continuous", "decimals": decimals} if decimals else {"kind": "integer"}
    return {**kind, "lower": lower, "upper": upper, **SAID, **more}


def schema_of(**columns: dict[str, Any]) -> us.Schema:
    """A schema with a private number of rows."""
    return us.Schema.model_validate({"rows": "private", "columns": columns})


def levels(n: int) -> dict[str, Any]:
    """A column of levels without order."""
    return {"kind": "categorical", "levels": tuple(range(n)), **SAID}


def incomes(n: int, rng: np.random.Generator) -> Made:
    """Wages, benefits and taxes, each nothing for many; net incomes and consumption."""
    age, school = rng.integers(18, 90, n), rng.integers(0, 6, n)
    pay = np.exp(9.6 + 0.12 * school + 0.006 * (age - 40) + rng.normal(0, 0.6, n))
    works = rng.random(n) < 0.72
    wage, benefit = np.where(works, pay, 0), np.where(works, 0, rng.gamma(3, 3000, n))
    gross = (wage + benefit).round()
    owed = (gross - 12_000) * (0.2 + 0.1 * (gross > 50_000)) * np.exp(rng.normal(0, 0.06, n))
    tax = np.where(gross > 12_000, owed, 0).round()
    spent = (gross - tax) * np.exp(rng.normal(-0.25, 0.25, n))
    amounts = {"wage": wage, "benefit": benefit, "tax": tax, "net": gross - tax, "spent": spent}
    whole = {name: np.clip(one, 0, 300_000).round().astype(int) for name, one in amounts.items()}
    spikes = {"wage": {"spikes": [0]}, "benefit": {"spikes": [0]}, "tax": {"spikes": [0]}}
    declared = {name: number(0, 300_000, **spikes.get(name, {})) for name in amounts}
    schema = schema_of(age=number(18, 90), school=levels(6), **declared)
    return pl.DataFrame({"age": age, "school": school} | whole), schema


def visits(n: int, rng: np.random.Generator) -> Made:
    """First and last day, length, kind, cost, and what was paid of it."""
    start, kind = (rng.beta(2, 2.5, n) * 365).astype(int), rng.integers(0, 4, n)
    stay = np.minimum(rng.geometric(np.array([0.5, 0.2, 0.1, 0.05])[kind]) - 1, 364 - start)
    cost = (stay + 1) * np.array([300, 450, 700, 1200])[kind] * np.exp(rng.normal(0, 0.15, n))
    paid = cost * np.where(rng.random(n) < 0.8, 0.9, 0.5)
    frame = pl.DataFrame({"start": start, "end": start + stay, "stay": stay, "kind": kind})
    money = {"cost": cost, "paid": paid}
    frame = frame.with_columns(pl.Series(k, one.clip(0, 1e5).round(2)) for k, one in money.items())
    day, amount = number(0, 364), number(0, 100_000, 2)
    return frame, schema_of(start=day, end=day, stay=day, kind=levels(4), cost=amount, paid=amount)


def measures(n: int, rng: np.random.Generator) -> Made:
    """Bodies: weights and pressures are rounded by many; two numbers go with nothing."""

    def rounded(values: NDArray[np.float64], to: int, share: float) -> NDArray[np.float64]:
        return np.where(rng.random(n) < share, (values / to).round() * to, values.round())

    height = rng.normal(171, 9, n)
    weight = rounded(np.exp(rng.normal(3.25, 0.16, n)) * (height / 100) ** 2, 5, 0.5)
    waist = 45 + 0.55 * weight + rng.normal(0, 3, n)
    hip = 35 + 0.75 * waist + rng.normal(0, 2, n)
    upper = rounded(rng.normal(125, 16, n), 10, 0.6)
    lower = 5 + 0.6 * upper + rng.normal(0, 4, n)
    found = {
        "height": (height, number(120, 220)),
        "weight": (weight, number(30, 200)),
        "waist": (waist, number(40, 170, 1)),
        "hip": (hip, number(50, 170, 1)),
        "systolic": (upper, number(60, 220)),
        "diastolic": (lower, number(30, 150)),
        "iron": (rng.gamma(4, 10, n), number(0, 200, 1)),
        "score": (rng.normal(50, 10, n), number(0, 100, 1)),
    }
    frame = pl.DataFrame(
        {
            name: values.clip(own["lower"], own["upper"]).round(own.get("decimals", 0))
            for name, (values, own) in found.items()
        }
    )
    whole = [name for name, (_, own) in found.items() if own["kind"] == "integer"]
    schema = schema_of(**{name: own for name, (_, own) in found.items()}, sex=levels(2))
    return frame.with_columns(pl.col(whole).cast(int), sex=rng.integers(0, 2, n)), schema


def stones(n: int, rng: np.random.Generator) -> Made:
    """Cut stones."""
    return related_numbers.stones(n, int(rng.integers(2**31))), related_numbers.schema()


TABLES = {"incomes": incomes, "visits": visits, "measures": measures, "stones": stones}


def cuts(rows: pl.DataFrame, parts: int) -> dict[str, NDArray[np.float64]]:
    """Where numbers are cut; other columns lie between their levels."""
    inner = np.linspace(0, 1, parts + 1)[1:-1]
    found = {}
    for name in rows.columns:
        values = rows[name].to_numpy()
        few = np.unique(values)
        found[name] = few[1:] if len(few) <= parts else np.unique(np.quantile(values, inner))
    return found


def far(rows: pl.DataFrame, made: pl.DataFrame, parts: int, ways: int) -> float:
    """Mean distance of all tables of so many columns."""
    at = cuts(rows, parts)
    coded = [
        np.stack([np.searchsorted(at[k], one[k].to_numpy(), side="right") for k in at], axis=1)
        for one in (rows, made)
    ]
    return related_numbers.distance(*coded, [len(own) + 1 for own in at.values()], ways)


def apart(rows: pl.DataFrame, made: pl.DataFrame) -> float:
    """Mean difference of rank correlations of numbers."""
    names = [name for name in rows.columns if rows[name].n_unique() > 8]
    one, other = (spearmanr(frame.select(names).to_numpy()).statistic for frame in (rows, made))
    return float(np.abs(one - other)[np.triu_indices(len(names), 1)].mean())


@contextmanager
def ridges(use: bool) -> Iterator[None]:
    """Whether models look for ridges."""
    methods = importlib.import_module("understudy.methods.noisy_marginals")
    found = methods.find_ridges
    if not use:
        methods.find_ridges = lambda fit, runs: ({}, {})
    yield
    methods.find_ridges = found


def measure(rows: pl.DataFrame, schema: us.Schema, seed: int) -> NDArray[np.float64]:
    """Distances, correlations and seconds, without ridges and with them."""
    release = us.synthesize(rows, schema, epsilon=1, delta="1e-6", insecure_noise_seed=seed, sets=1)
    found = []
    for use in (False, True):
        with ridges(use):
            start = time.process_time()
            sample = model_of(release).sample(rows.height, np.random.default_rng(seed))
            seconds = time.process_time() - start
        rng = np.random.default_rng(seed)
        made = decode(sample.states, release.schema, rng, sample.values)
        found.append([far(rows, made, 32, 2), far(rows, made, 12, 3), apart(rows, made), seconds])
    return np.array(found)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--table", action="append")
    asked = parser.parse_args()
    print("| table | rows | two-way | three-way | rank correlations | CPU s |")
    print("|---|---|---|---|---|---|")
    for n in ROWS:
        for name in asked.table or TABLES:
            rows, schema = TABLES[name](n, np.random.default_rng(11))
            runs = np.stack([measure(rows, schema, seed) for seed in range(asked.runs)])
            (before, after), changes = runs.mean(axis=0), runs[:, 1] - runs[:, 0]
            errors = changes.std(axis=0, ddof=1) / np.sqrt(asked.runs)
            cells = [f"{before[k]:.4f} → {after[k]:.4f} ± {errors[k]:.4f}" for k in range(3)]
            seconds = f"{before[3]:.1f} → {after[3]:.1f}"
            print(f"| {name} | {n:,} | {' | '.join(cells)} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
