"""`pseudo-posterior`: 20 sets under each form of weights, from rows to release.

    python benchmarks/pseudo_posterior.py [--sets 20] [--unit 1000]

The table is the simulated one of the study `pseudo-posterior`: 6,208 consumer units, income drawn
given ten predictors that are kept, by a mixture of ten regressions with the method's own defaults.
Seconds and CPU seconds are of this process, after a small release that loads what is compiled.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

import understudy as us
from understudy.dp.confidential import Diagnostic, Internal
from understudy.papers.record_weights import FittedPosterior
from understudy_studies.savitsky_williams_hu_2020 import consumer_case

FORMS = ("unweighted", "vector", "scalar", "count")


def rows(table: consumer_case.Case) -> pl.DataFrame:
    """The records as a data frame, labels of the schema for the predictors."""
    columns = table.columns()
    found = {
        name: pl.Series([table.schema.columns[name].labels[k] for k in columns[name]])
        for name in table.predictors
    }
    return pl.DataFrame({**found, consumer_case.INCOME: table.values})


def release(
    frame: pl.DataFrame, schema: us.Schema, form: str, sets: int, **options: Any
) -> FittedPosterior:
    """A release, of which only what the steward is told is kept."""
    told: list[Internal[Diagnostic]] = []
    us.synthesize(
        frame,
        schema,
        epsilon=1,
        method="pseudo-posterior",
        sets=sets,
        options={"sensitive": consumer_case.INCOME, "weights": form, **options},
        allow_nonprivate=True,
        confide=told.append,
        confide_misfits=False,
    )
    fitted = told[0].value
    assert isinstance(fitted, FittedPosterior)
    return fitted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--unit", type=float, default=1_000)
    asked = parser.parse_args()
    table = consumer_case.find(consumer_case.SIMULATED)
    frame, schema = rows(table), table.schema
    release(frame, schema, "vector", 1, draws=2, burn_in=1)
    shown = Table("weights", "s", "CPU s", "mean weight", "bound")
    shown.title = f"{asked.sets} sets of {len(frame):,} records each"
    whole = time.perf_counter()
    for form in FORMS:
        wall, cpu = time.perf_counter(), time.process_time()
        fitted = release(frame, schema, form, asked.sets, unit=asked.unit)
        shown.add_row(
            form,
            f"{time.perf_counter() - wall:.1f}",
            f"{time.process_time() - cpu:.1f}",
            f"{fitted.weights.mean():.2f}",
            f"{fitted.after.bound:.2f}",
        )
    console = Console()
    console.print(shown)
    console.print(f"All together: {time.perf_counter() - whole:.0f} s")


if __name__ == "__main__":
    main()
