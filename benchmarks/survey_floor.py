"""How near records of a survey of 35 columns come: ``python benchmarks/survey_floor.py``.

5,000 rows of the population `wide` (`wider_populations.py`), (1, 1e-9), a private number of rows.
Shown are mean distances of all tables of one and two columns between the rows and

* the usual release, which answers questions too;
* a release of records alone, and such releases with more of the budget for one-way tables;
* the same, with ten times the budget, and with a hundred times: what its structure can reach;
* the rows with each column shuffled, that is independent columns with exact one-way tables;
* another sample of the population.

Means over `--runs` samples with fresh noise, each with its standard error.
"""

import argparse
from collections.abc import Callable

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Page

import understudy as us
from populations import population
from understudy.data.table import Table
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances

ROWS = 5_000
ALONE = {"answers": 0, "lines": 0}
RELEASES = {
    "the usual release": {},
    "records alone": {"budget": ALONE},
    "one-way tables .6 of it": {"budget": ALONE, "options": {"one_way_share": 0.6}},
    "one-way tables .8 of it": {"budget": ALONE, "options": {"one_way_share": 0.8}},
    "one-way tables .97 of it": {"budget": ALONE, "options": {"one_way_share": 0.97}},
    "records alone, ε = 10": {"budget": ALONE, "epsilon": 10},
    "records alone, ε = 100": {"budget": ALONE, "epsilon": 100},
}
"""What is released → how."""

Sample = Callable[[], pl.DataFrame]


def compare(runs: int) -> dict[str, list[tuple[float, float]]]:
    """Distances of tables of one and two columns, for each sample and kind of records."""
    people = population("wide")
    schema = people.schema("private", ROWS)
    found: dict[str, list[tuple[float, float]]] = {}

    def note(name: str, rows: pl.DataFrame, made: pl.DataFrame) -> None:
        coded = [Table(one, schema).code_rows().expose() for one in (rows, made)]
        comparison = Comparison(schema, coded[0], (coded[1],))
        one, two = (float(marginal_distances(comparison, k).values.mean()) for k in (1, 2))
        found.setdefault(name, []).append((one, two))

    for run in range(runs):
        rng = np.random.default_rng(100 + run)
        rows, other = (people.people[rng.integers(0, people.people.height, ROWS)] for _ in range(2))
        for name, how in RELEASES.items():
            asked = {"epsilon": 1, "delta": 1e-9, "method": "marginals"} | how
            if name == "the usual release":
                del asked["method"]
            note(name, rows, us.synthesize(rows, schema, sets=1, **asked).tables[0])
        shuffled = rows.select(column.gather(rng.permutation(ROWS)) for column in rows)
        note("columns shuffled", rows, shuffled)
        note("another sample", rows, other)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    page = Page(box=None)
    for heading in ("", "one-way", "two-way"):
        page.add_column(heading, justify="right" if heading else "left")
    for name, each in compare(runs := parser.parse_args().runs).items():
        means = np.mean(each, axis=0)
        errors = np.std(each, axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else [np.nan] * 2
        shown = (f"{mean:.4f} ± {error:.4f}" for mean, error in zip(means, errors, strict=True))
        page.add_row(name, *shown)
    Console(width=80).print(page)


if __name__ == "__main__":
    main()
