"""Matrices of second moments of made-up rows, with noise of a stated size."""

from functools import cache

import numpy as np
import polars as pl

from schemas import column
from understudy.data.table import Table
from understudy.features.scores import FeatureMap
from understudy.inference.measured_moments import moments_of
from understudy.inference.records import Records
from understudy.inference.second_moments import MomentMatrix, MomentSource
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.release.measurement import Measurement, product_codes
from understudy.release.shape import Kind
from understudy.schema import Schema

SCHEMA = Schema.loads(
    column("x", "continuous", lower=0.0, upper=10.0)
    + column("y", "continuous", lower=-20.0, upper=40.0)
    + column("sex", "categorical", levels=["f", "m"])
    + column("rare", "boolean")
    + column("region", "categorical", levels=["a", "b", "c"])
    + column("wage", "integer", lower=0, upper=100, missing=[-1])
)
SCORES = FeatureMap.of(SCHEMA, SCHEMA.names)


def people(rng, n):
    """Rows with relations, unequal variances, a rare trait and absences."""
    x = rng.uniform(0, 10, n)
    sex = rng.integers(0, 2, n)
    rare = rng.random(n) < 0.05
    region = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    y = 3 + 1.2 * x - 2 * sex + 3 * rare + rng.normal(size=n) * (0.5 + 0.4 * x)
    wage = np.rint(np.clip(20 + 2 * x + 10 * (region == 2) + rng.normal(0, 8, n), 0, 100))
    wage[rng.random(n) < 0.1 + 0.1 * sex] = -1
    return pl.DataFrame(
        {
            "x": x,
            "y": np.clip(y, -20, 40),
            "sex": np.array(["f", "m"])[sex],
            "rare": rare,
            "region": np.array(["a", "b", "c"])[region],
            "wage": wage.astype(np.int64),
        }
    )


def complete_records(rows):
    """Gives the complete records of some rows by their columns, and makes them once for each."""
    return cache(lambda columns: Records.complete_of(rows, SCHEMA, columns))


def exact_moments(rows):
    """All that is released of the scores, in records."""
    exact = Table(rows, SCHEMA).score_products(SCORES).expose()
    return stack_sums(exact, SCORES) / ONE


def matrix(rng, rows, stddev, rows_stddev=0.0, moments=None):
    """The matrix of some rows with normal noise."""
    values = exact_moments(rows) if moments is None else moments
    noisy = values + stddev * rng.normal(size=len(values))
    measured = Measurement(
        name="t",
        kind=Kind.PRODUCTS,
        columns=SCHEMA.names,
        codes=product_codes(SCORES),
        counts=noisy,
        outside=0.0,
        distribution="discrete_gaussian",
        scale=str(stddev**2),
        stddev=stddev,
        entry=1,
    )
    n = rows.height + rows_stddev * rng.normal()
    return moments_of([measured], SCHEMA, SCHEMA.names, (n, rows_stddev))


def exact_products(frame, schema, scores):
    """Sums of products of scores over the rows, in records."""
    return stack_sums(Table(frame, schema).score_products(scores).expose(), scores) / ONE


def matrix_of(
    frame, schema, columns=None, *, complete=(), pure=False, stddev=0.0, rng=None, exact=None
):
    """The matrix of rows of any schema, with normal noise if there is a source of it.

    Products without noise, `exact_products` of the same, are worked out unless they are given.
    """
    scores = FeatureMap.of(schema, columns or schema.names, complete, pure=pure)
    values = exact_products(frame, schema, scores) if exact is None else exact
    if rng is not None:
        values = values + stddev * rng.normal(size=len(values))
    source = MomentSource.from_values(scores, values, stddev, pure=pure)
    return MomentMatrix.of(scores, schema, source.numbers, source.variances, (frame.height, 0.0))


def apart(rng, rows):
    """Records in which no column has to do with another: what a bad synthesis may be."""
    return pl.DataFrame(
        {name: rows[name].to_numpy()[rng.permutation(rows.height)] for name in rows.columns}
    )
