"""Are counts that rest on groups of states right, though noisy counts chose the groups?

    python benchmarks/grouped_counts.py [--populations skewed heaped "default bins"]
        [--releases 60] [--rows 5000]

Of each population the same rows are released again and again, with fresh noise (ε = 1, δ = 10⁻⁶,
the default). Counted are the records from a bin on that a tenth, a half or nine tenths of them are
below, by `inference.noisy_tables`: noise alone is judged, the rows are what they are.

* **alone**: standard deviation of the noise by the line and the tables of all states, in records.
* **together**: the same with groups of states and the number of records.
* **mean**, **sd**: of the errors over their standard deviation; 0 and 1 where it is right.
* **covered**: which part of nominal 95 % intervals held the count of the rows.

The error of a mean of 60 is .13, of a standard deviation .09, of a part of 95 % three points.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from rich.console import Console
from rich.table import Table

import understudy as us
from populations import population
from understudy._arrays import Z_95, Floats
from understudy.data.table import Table as Rows
from understudy.inference.noisy_tables import (
    bin_table,
    column_counts,
    line_of,
    line_schema,
    line_table,
    select_covering,
)
from understudy.release.release import Release
from understudy.schema import NUMERIC, Schema

SHARES = (0.1, 0.5, 0.9)
Errors = dict[tuple[str, float], list[tuple[float, float, float]]]


def errors(name: str, releases: int, n: int) -> Errors:
    """Noise alone, noise together and the error, by column and part of the records below."""
    people = population(name)
    rows, schema = people.people.head(n), people.schema("private", n)
    found: Errors = defaultdict(list)
    for seed in range(releases):
        release = us.synthesize(
            rows, schema, epsilon=1, delta="1e-6", insecure_noise_seed=seed, progress=None
        )
        for column, one in release.schema.columns.items():
            line = line_of(release.measurements, column)
            if isinstance(one, NUMERIC) and line is not None:
                _add(found, release, rows, column)
    return found


def _add(found: Errors, release: Release, rows: object, column: str) -> None:
    measurements, schema = release.measurements, release.schema
    line, tables = line_of(measurements, column), select_covering(measurements, (column,))
    assert line is not None
    fine = line_schema(line, schema)
    coarse = schema.part([column])
    in_line = fine.columns[column].size >= coarse.columns[column].size or not tables
    cells = fine if in_line else coarse
    about = float(release.manifest.n_rows), release.manifest.inference.rows_stddev
    alone = line_table(line, tables, schema) if in_line else bin_table(tables, schema, column)
    together = column_counts(column, measurements, schema, about, line if in_line else None)
    exact = _exact(rows, cells, column)
    below = exact[: cells.columns[column].n_ordinary].cumsum() / exact.sum()
    for share in SHARES:
        rest = np.zeros(len(exact))
        rest[: len(below)] = below > share
        stddev = [
            float(np.sqrt(one.sources.covariance(rest, rest)))
            for one in (alone, together)
            if one.sources is not None
        ]
        found[column, share].append((*stddev, float(rest @ (together.counts - exact))))


def _exact(rows: object, cells: Schema, column: str) -> Floats:
    """Counts of the cells in the rows."""
    own = Rows(rows.select(column), cells)  # type: ignore[attr-defined]
    return np.asarray(own.count([(0,)]).expose()[0].inside, dtype=np.float64)


def main() -> None:
    """Print one table for each population."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", nargs="+", default=["skewed", "heaped", "default bins"])
    parser.add_argument("--releases", type=int, default=60)
    parser.add_argument("--rows", type=int, default=5_000)
    options = parser.parse_args()
    for name in options.populations:
        page = Table(title=name, title_justify="left", box=None)
        for heading in ("column", "below", "alone", "together", "mean", "sd", "covered"):
            page.add_column(heading, justify="left" if heading == "column" else "right")
        for (column, share), several in errors(name, options.releases, options.rows).items():
            alone, together, error = np.array(several).T
            scaled = error / together
            numbers = (
                f"{share:.0%}",
                f"{alone.mean():.0f}",
                f"{together.mean():.0f}",
                f"{scaled.mean():+.2f}",
                f"{scaled.std():.2f}",
                f"{(np.abs(scaled) < Z_95).mean():.1%}",
            )
            page.add_row(column, *numbers)
        Console().print(page)


if __name__ == "__main__":
    main()
