"""Populations for questions that are real tables, or have many columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from made_population import CODEBOOK, Population, Table, levels, number
from understudy.demo import demo_data, demo_schema

N_LEVELS, N_NUMBERS = 20, 15
_SIZES = (2, 2, 3, 2, 4, 2, 5, 2, 3, 2, 2, 4, 2, 3, 2, 5, 2, 2, 4, 3)
_EDGES = (0, 20, 40, 60, 80, 100)


def demo(_: np.random.Generator) -> Population:
    """The survey of `make demo`: its rows are the population."""
    declared = demo_schema().model_dump(exclude_none=True, exclude={"rows", "row_limit"})
    return Population(pl.from_pandas(demo_data()), declared)


def wide(rng: np.random.Generator, size: int = 200_000) -> Population:
    """Twenty columns of levels and fifteen of numbers, by four traits; absences in half of them."""
    traits, people, columns = rng.normal(size=(size, 4)), dict[str, pl.Series](), Table()
    for j, n_levels in enumerate(_SIZES):
        trait = traits[:, j % 4] * (0.3, 0.8)[j // 4 % 2] + rng.normal(size=size)
        edges = np.quantile(trait, np.linspace(0, 1, n_levels + 1)[1:-1])
        names = np.array([*(f"l{k}" for k in range(n_levels)), "?"])
        coded = j % 3 == 0
        absent = coded & (rng.random(size) < 0.05)
        states = np.where(absent, n_levels, np.searchsorted(edges, trait))
        people[f"c{j}"] = pl.Series(names[states])
        columns[f"c{j}"] = levels(*names[:-1], **({"missing": ["?"]} if coded else {}))
    for j in range(N_NUMBERS):
        trait, coded = traits[:, j % 4] * 0.7 + rng.normal(size=size), j % 2 == 0
        values = np.clip(np.rint(50 + 15 * trait if j % 3 else np.exp(2 + 0.8 * trait)), 0, 100)
        absent = coded & (rng.random(size) < 0.06)
        people[f"x{j}"] = pl.Series(np.where(absent, -9, values).astype(int))
        columns[f"x{j}"] = number(0, 100, *_EDGES, **({"missing": [-9]} if coded else {}))
    return Population(pl.DataFrame(people), {"columns": columns})


def adult(folder: Path) -> Population:
    """The Adult table with raw numbers: its rows are the population.

    Args:
        folder: that has `adult_mixed.csv.gz` and its `domain.json`, as `known_tables.py` says.
    """
    domain = json.loads((folder / "domain.json").read_text(encoding="utf-8"))
    declared = {name: _declared(column) for name, column in domain.items() if name != "fnlwgt"}
    people = pl.read_csv(folder / "adult_mixed.csv.gz", columns=list(declared))
    return Population(people, {"columns": declared})


def _declared(column: Table) -> Table:
    """A column of Adult in the words of a schema."""
    if column["type"] == "numeric":
        return number(column["lower"], column["upper"])
    absent = [level for level in column["levels"] if level == "?"]
    known = [level for level in column["levels"] if level != "?"]
    return {"kind": "categorical", "levels": known, "missing": absent} | CODEBOOK
