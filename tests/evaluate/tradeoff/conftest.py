"""A small table whose columns hang together, and maps made by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from understudy.evaluate.tradeoff import Interval, Tradeoff, TradeoffPoint
from understudy.schema import Schema

COLUMNS = """
[columns.a]
kind = "categorical"
levels = ["x", "y", "z"]
source = "codebook"
reviewed = true
[columns.b]
kind = "ordinal"
levels = [1, 2, 3]
source = "codebook"
reviewed = true
[columns.c]
kind = "boolean"
source = "codebook"
reviewed = true
"""
N = 600


def small_schema(head='title = "Members <b>"'):
    return Schema.loads(f"{head}\n{COLUMNS}")


def small_rows(n=N):
    rng = np.random.default_rng(7)
    first = rng.integers(0, 3, n)
    second = np.where(rng.random(n) < 0.8, first, rng.integers(0, 3, n))
    return pl.DataFrame(
        {"a": np.array(["x", "y", "z"])[first], "b": second + 1, "c": (first == 2).tolist()}
    )


@pytest.fixture(scope="session")
def make_schema():
    """A schema; another head may be given."""
    return small_schema


@pytest.fixture(scope="session")
def make_rows():
    """So many rows."""
    return small_rows


@pytest.fixture
def schema():
    return small_schema()


@pytest.fixture
def rows():
    return small_rows()


@pytest.fixture
def made():
    """Makes a map by hand."""
    return by_hand


def by_hand(risk="epsilon", *, public=False, losses=("one-way", "two-way"), refused=""):
    """A map of two methods at three budgets, and one without a guarantee."""
    points = []
    for k, method in enumerate(("first", "second <i>")):
        for place, epsilon in enumerate(("0.1", "1", "10")):
            measured = None if risk == "epsilon" else Interval(0.01 * place + 0.02 * k, 0.005)
            loss = Interval(0.3 / (1 + place) + 0.01 * k, 0.01)
            points.append(TradeoffPoint(method, epsilon, measured, dict.fromkeys(losses, loss)))
    if refused:
        points[4] = TradeoffPoint("second <i>", "1", None, {}, refused)
    measured = None if risk == "epsilon" else Interval(0.2, 0.01)
    points.append(TradeoffPoint("bare", "", measured, dict.fromkeys(losses, Interval(0.02))))
    return Tradeoff(
        title="Members <b>",
        public=public,
        n_rows=480,
        n_control=0 if risk == "epsilon" else 120,
        methods=("first", "second <i>", "bare"),
        options={"first": {"form": "<u>"}},
        delta="0",
        repetitions=3,
        risk=risk,
        utility=losses,
        keys=(),
        secrets=(),
        seed=0,
        points=tuple(points),
    )
