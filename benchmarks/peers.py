"""Distances of releases beside other libraries': ``python benchmarks/peers.py FOLDER``.

FOLDER has the tables of `known_tables.py`. At the same (ε, δ), for tables that differ in one record
more or less, and in the same codes, each table is synthesized by `marginals`, by the usual release
(which answers questions besides), and by those of these libraries whose Python is given:

    python3.12 -m venv .peers-mbi && .peers-mbi/bin/pip install mbi==2.0.0
    python3.11 -m venv .peers-dpmm && .peers-dpmm/bin/pip install dpmm==0.1.9
    python benchmarks/peers.py FOLDER --mbi .peers-mbi/bin/python --dpmm .peers-dpmm/bin/python

Shown are mean distances of all tables of two and of three columns, over fresh noise, with the
margin to the best other library: (ours − theirs) / theirs; and processor seconds. `peer_runs.py`
says what each of them runs. dpsynth is absent: it needs a version of its accounting that is not
released.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Page

import understudy as us
import yardstick
from known_tables import KnownTable, load
from understudy.evaluate.comparison import Comparison

OURS = {"understudy, marginals": {"method": "marginals"}, "understudy, usual": {}}
PEERS = {
    "mbi 2.0.0, MST": ("mbi", "mbi"),
    "dpmm 0.1.9, MST": ("dpmm", "dpmm-mst"),
    "dpmm 0.1.9, PrivBayes": ("dpmm", "dpmm-privbayes"),
}
"""Title → the option that has its Python, and its name in `peer_runs.py`."""
TABLES = ("adult_coded", "nist_acs_national2019")
RUNNER = Path(__file__).with_name("peer_runs.py")


def release(table: KnownTable, method: dict[str, str], budget: dict[str, str]) -> pl.DataFrame:
    """One synthetic table of this library, with a private number of rows."""
    released = us.synthesize(table.frame, table.schema("private"), sets=1, **budget, **method)
    return released.tables[0]


def made_by(
    python: str, peer: str, table: KnownTable, budget: dict[str, str], seed: int
) -> tuple[pl.DataFrame, float]:
    """One synthetic table of another library, in its environment; and its processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        rows, made = Path(folder) / "rows.npz", Path(folder) / "made.npz"
        np.savez(rows, codes=table.codes(table.frame), sizes=np.array(table.sizes))
        given = [peer, rows, made, *budget.values(), seed]
        subprocess.run([python, RUNNER, *map(str, given)], check=True, capture_output=True)
        found = np.load(made)
        return decoded(table, found["codes"]), float(found["seconds"])


def decoded(table: KnownTable, codes: NDArray[np.int64]) -> pl.DataFrame:
    """Codes as values, of the types of the rows."""
    columns = {
        name: pl.Series(np.array(levels, dtype=object)[codes[:, j]], dtype=pl.String)
        for j, (name, levels) in enumerate(table.levels.items())
    }
    return pl.DataFrame(columns).cast(dict(table.frame.schema))


def distances(table: KnownTable, made: pl.DataFrame) -> dict[str, float]:
    """tv1, tv2 and three_way; the last of 500 tables where there are more."""
    comparison = Comparison.of(table.schema("public"), table.frame, [made])
    return yardstick.distances(comparison, most_cells=table.design.most_cells)


def compare(table: KnownTable, title: str, options: argparse.Namespace) -> Page:
    """One table's page."""
    budget = {"epsilon": options.epsilon, "delta": options.delta}
    found: dict[str, list[list[float]]] = {}
    for seed in range(options.runs):
        for name, method in OURS.items():
            start = time.process_time()
            made = release(table, method, budget)
            seconds = time.process_time() - start
            found.setdefault(name, []).append([*scores(table, made), seconds])
        for name, (option, peer) in PEERS.items():
            if python := getattr(options, option):
                made, seconds = made_by(python, peer, table, budget, seed)
                found.setdefault(name, []).append([*scores(table, made), seconds])
    means = {name: np.mean(each, axis=0) for name, each in found.items()}
    theirs = [row for name, row in means.items() if name in PEERS]
    best = np.min(theirs, axis=0) if theirs else np.full(4, np.nan)
    page = Page(title=title, title_justify="left", box=None)
    for heading in ("", "1-way", "2-way", "3-way", "margins", "CPU s"):
        page.add_column(heading, justify="right" if heading else "left")
    for name, row in means.items():
        margins = [f"{row[k] / best[k] - 1:+.0%}" for k in (1, 2)]
        shown = " / ".join(margins) if name in OURS and np.isfinite(best[0]) else ""
        page.add_row(name, *(f"{one:.4f}" for one in row[:3]), shown, f"{row[3]:.0f}")
    return page


def scores(table: KnownTable, made: pl.DataFrame) -> list[float]:
    """Distances of tables of one, two and three columns."""
    return [distances(table, made)[key] for key in ("tv1", "tv2", "three_way")]


def main() -> None:
    """Print a page for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=0, help="so many rows of each; all by default")
    parser.add_argument("--runs", type=int, default=3, help="with fresh noise")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--mbi", help="a Python that has mbi")
    parser.add_argument("--dpmm", help="a Python that has dpmm")
    options = parser.parse_args()
    for name in options.tables:
        table = load(options.folder, name).part(options.rows)
        title = (
            f"{name}, {table.frame.height:,} rows, (ε, δ) = ({options.epsilon}, {options.delta})"
        )
        Console(width=100).print(compare(table, f"{title}, {options.runs} runs", options))


if __name__ == "__main__":
    main()
