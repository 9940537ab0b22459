"""Second moments of made-up rows, with noise of a known size."""

import numpy as np
import polars as pl
import pytest

from understudy.data.table import Table
from understudy.features.scores import FeatureMap
from understudy.inference import measured_moments as measured_matrices
from understudy.inference.records import Records
from understudy.mechanisms.second_moments import ONE, stack_sums
from understudy.release.decoding import dtype_of
from understudy.release.measurement import Measurement


def frame_of(schema, columns):
    """Columns given as arrays, as the table that the schema declares."""
    return pl.DataFrame(
        [pl.Series(k, v.tolist(), dtype=dtype_of(schema.columns[k])) for k, v in columns.items()]
    )


def records_of(schema, columns):
    """Columns given as arrays, as an analysis sees them."""
    return Records.of(frame_of(schema, columns), schema, tuple(columns))


def exact_counts(schema, columns):
    """Second moments of all columns, without noise."""
    scores = FeatureMap.of(schema, schema.names)
    table = Table(frame_of(schema, columns), schema)
    return stack_sums(table.score_products(scores).expose(), scores) / ONE


def measurement_of(schema, columns, stddev=0.0, rng=None, exact=None):
    """Second moments of all columns, each number with normal noise of a standard deviation."""
    counts = exact_counts(schema, columns) if exact is None else exact
    if stddev:
        counts = counts + stddev * rng.standard_normal(len(counts))
    return Measurement(
        name="moments-1",
        kind="products",
        columns=schema.names,
        codes=np.arange(len(counts)),
        counts=counts,
        outside=0.0,
        distribution="discrete_gaussian",
        scale=str(stddev**2),
        stddev=stddev,
        entry=1,
    )


def matrix_from(schema, columns, stddev=0.0, rng=None, n_stddev=0.0, *, draws=0, exact=None):
    """The same as a matrix, with a number of rows that has noise of its own; or many, by `draws`.

    The moments of the same rows are worked out once for all draws.
    """
    if draws:
        exact = exact_counts(schema, columns)
        return [
            matrix_from(schema, columns, stddev, rng, n_stddev, exact=exact) for _ in range(draws)
        ]
    n = float(len(next(iter(columns.values()))))
    if n_stddev:
        n += n_stddev * rng.standard_normal()
    measured = measurement_of(schema, columns, stddev, rng, exact)
    return measured_matrices.moments_of([measured], schema, schema.names, (n, n_stddev))


@pytest.fixture(scope="session")
def measured_moments():
    """Makes a measurement: `measured_moments(schema, columns, stddev, rng)`."""
    return measurement_of


@pytest.fixture(scope="session")
def moments_of():
    """Makes a matrix, or a list: `moments_of(schema, columns, stddev, rng, n_stddev, draws=)`."""
    return matrix_from


@pytest.fixture(scope="session")
def as_records():
    """Makes records: `as_records(schema, columns)`."""
    return records_of
