"""A public schema, and releases made by hand, so that what they hold is known exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.dp.guarantee import Guarantee
from understudy.models.model import InferenceFacts
from understudy.release.decoding import dtype_of
from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.release import Release

SCHEMA = (
    'rows = "private"\n'
    + column("sex", "categorical", levels=["f", "m"])
    + column("age", "integer", lower=0, upper=99, bins=[0, 18, 65, 99], missing=[-9])
    + column("job", "ordinal", levels=["none", "worker", "boss"], missing=["?"])
    + column(
        "income",
        "continuous",
        lower=0,
        upper=100,
        bins=2,
        spikes=[0],
        decimals=1,
        not_applicable=[-1],
    )
    + column("smokes", "boolean", missing=[""])
    + column("edu", "ordinal", levels=[9, 12, 16])
    + """[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = ["worker", "boss"] }
"""
)


@pytest.fixture(scope="session")
def schema() -> us.Schema:
    """Columns of every kind, with codes of absence and a structural zero."""
    return us.Schema.loads(SCHEMA)


def manifest(schema: us.Schema, sets: int, sets_kind: str, n_rows: int) -> Manifest:
    promise = Guarantee("pure", Fraction(1), Fraction(0), schema.neighbours)
    return Manifest(
        method="laplace",
        options={},
        reason="",
        sets=sets,
        sets_kind=sets_kind,
        n_rows=n_rows,
        rows_obtained="bought",
        guarantee=promise,
        budget={},
        ledger=(),
        secure=True,
        sampling_seed=None,
        software={},
        inference=InferenceFacts(),
    )


def measurement(columns: tuple[str, ...], counts: Any, stddev: float, **more: Any) -> Measurement:
    flat = np.asarray(counts).reshape(-1)
    facts = {"kind": "table", "codes": np.arange(flat.size), "outside": 0.0} | more
    return Measurement(
        name="table-1",
        columns=columns,
        counts=flat,
        distribution="discrete_laplace",
        scale="1",
        stddev=stddev,
        entry=1,
        **facts,
    )


@pytest.fixture(scope="session")
def measured() -> Callable[..., Measurement]:
    """Makes a measurement: `measured(columns, counts, stddev, ...)`."""
    return measurement


@pytest.fixture(scope="session")
def released(schema: us.Schema) -> Callable[..., Release]:
    """Makes a release of tables given as dictionaries of columns, split sets by default.

    Unless measurements are given, one totals measurement covers all columns, without distortion.
    """

    def make(
        *tables: dict[str, Any],
        schema: us.Schema = schema,
        sets_kind: str = "split",
        measurements: tuple[Measurement, ...] | None = None,
    ) -> Release:
        frames = tuple(
            pl.DataFrame(
                [
                    pl.Series(name, list(values), dtype=dtype_of(schema.columns[name]))
                    for name, values in table.items()
                ]
            )
            for table in tables
        )
        n_rows = frames[0].height
        covering = measurement(
            schema.names,
            [],
            1.0,
            kind="totals",
            totals={"positive_cells": 1, "positive_mass": float(n_rows)},
        )
        return Release(
            tables=frames,
            schema=schema,
            manifest=manifest(schema, len(frames), sets_kind, n_rows),
            measurements=(covering,) if measurements is None else measurements,
        )

    return make


@pytest.fixture(scope="session")
def people() -> Callable[[int, int], dict[str, Any]]:
    """Makes rows of every column, absent values included: `people(n, seed)`."""

    def make(n: int, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        sex = rng.choice(["f", "m"], n)
        edu = rng.choice([9, 12, 16], n)
        age = rng.integers(18, 100, n)
        income = np.round(np.clip(30 + 0.2 * age + 2 * edu * rng.normal(size=n), 0, 100), 1)
        smokes = rng.random(n) < 1 / (1 + np.exp(1 - 0.02 * age + (sex == "m")))
        absent = rng.random((4, n)) < 0.05
        return {
            "sex": sex.tolist(),
            "age": np.where(absent[0], -9, age).tolist(),
            "job": np.where(absent[1], "?", rng.choice(["none", "worker", "boss"], n)).tolist(),
            "income": np.where(absent[2], -1.0, income).tolist(),
            "smokes": [
                None if gone else bool(x) for x, gone in zip(smokes, absent[3], strict=True)
            ],
            "edu": edu.tolist(),
        }

    return make
