"""Where numbers lie within their bins: as lines count them, and as moments average them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.methods.registry import METHODS
from understudy.models.model import InferenceFacts
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy.workflow.numbers import Places, placings_of

ROWS = 20_000.0, 0.0
SCHEMA = Schema.loads(
    """
    [columns.pay]
    kind = "continuous"
    lower = 0
    upper = 100
    bins = [0, 20, 100]
    decimals = 1
    spikes = [0]
    missing = [-1]
    reviewed = true
    [columns.sex]
    kind = "categorical"
    levels = ["f", "m"]
    reviewed = true
    """
)


class Modelling:
    """A method that draws the numbers of pay itself."""

    def inference_facts(self, schema):
        return InferenceFacts(modelled=("pay",))


def rows(n, seed):
    rng = np.random.default_rng(seed)
    pay = np.clip(rng.gamma(2.0, 6.0, n), 0.1, 100).round(1)
    pay = np.where(rng.random(n) < 0.2, 0.0, np.where(rng.random(n) < 0.05, -1.0, pay))
    return pl.DataFrame({"pay": pay, "sex": rng.choice(["f", "m"], n)})


def numbers(table):
    return table.filter(pl.col("pay") >= 0)["pay"].to_numpy()


@pytest.fixture(scope="module")
def release():
    return us.synthesize(rows(20_000, 1), SCHEMA, epsilon=8, delta="1e-6", insecure_noise_seed=1)


def test_records_have_the_mean_and_the_quantiles_of_the_rows(release):
    """Even numbers between 20 and 100 would have a mean of 60 there; the rows have one of 26."""
    mine, theirs = numbers(release.tables[0]), numbers(rows(20_000, 1))
    assert mine.mean() == pytest.approx(theirs.mean(), rel=0.03)
    for p in (0.25, 0.5, 0.75, 0.9, 0.98):
        assert np.quantile(mine, p) == pytest.approx(np.quantile(theirs, p), abs=1.5)
    assert mine[mine > 20].mean() == pytest.approx(theirs[theirs > 20].mean(), rel=0.1)


def test_the_mean_of_the_records_lies_within_its_measured_error(release):
    answer = us.analyze(release, "mean", "pay").to_frame().iloc[0]
    assert abs(numbers(release.tables[0]).mean() - answer["estimate"]) < 2 * answer["stderr"]


def test_states_and_absences_stay_as_they_were_drawn(release):
    places = placings_of(release.measurements, SCHEMA, ROWS, METHODS["marginals"]())["pay"]
    states = np.array([0, 1, 2, 3, 3, 2, 1] * 50)  # the spike, both bins, absent
    placed = places.numbers(states, np.random.default_rng(1))
    order = [one.low for one in SCHEMA.columns["pay"].intervals]
    assert order == [0.0, 0.0, 20.0]
    spike = [one.spike for one in SCHEMA.columns["pay"].intervals].index(True)
    low = 1 - spike
    assert (placed[states == spike] == 0).all()
    assert ((placed[states == low] > 0) & (placed[states == low] < 20)).all()
    assert ((placed[states == 2] >= 20) & (placed[states == 2] <= 100)).all()
    assert np.isnan(placed[states == 3]).all()


def test_numbers_that_a_model_draws_are_its_own(release):
    assert placings_of(release.measurements, SCHEMA, ROWS, Modelling()) == {}


def test_noise_alone_makes_no_shape():
    """At ε = 0.02 no count of a cell says anything: weights are nearly even."""
    release = us.synthesize(
        rows(300, 2), SCHEMA, epsilon="0.02", delta="1e-6", insecure_noise_seed=3
    )
    places = placings_of(release.measurements, SCHEMA, ROWS, METHODS["marginals"]())["pay"]
    wide = [k for k, one in enumerate(places.fine.intervals) if not one.spike]
    for state in np.unique(places.bins[wide]):
        own = places.weights[(places.bins == state)]
        assert own.std() < own.mean()


@pytest.mark.parametrize("wanted", [5.0, 21.0, 30.0, 60.0])
def test_a_measured_mean_is_met_as_far_as_bins_allow(release, wanted):
    found = placings_of(release.measurements, SCHEMA, ROWS, METHODS["marginals"]())["pay"]
    places = Places(found.fine, found.bins, found.weights, (wanted, 0.5))
    states = np.random.default_rng(1).choice(3, 20_000, p=[0.1, 0.45, 0.45])
    mean = places.numbers(states, np.random.default_rng(2)).mean()
    least, largest = 0.45 * 20, 0.45 * 20 + 0.45 * 100
    target = np.clip(wanted, least + 1, largest - 1)
    # The sd of a mean of 20,000 numbers is below 0.3.
    assert abs(mean - target) < 2.5


def test_whole_numbers_where_hardly_anybody_is():
    """Weights are no whole numbers: a bin with less than one record a cell has places too."""
    schema = Schema.loads(
        """
        [columns.wealth]
        kind = "integer"
        lower = 0
        upper = 1_000_000
        bins = [0, 1_000, 10_000, 100_000, 1_000_000]
        reviewed = true
        """
    )
    table = pl.DataFrame({"wealth": np.arange(2_000) % 3_000})
    release = us.synthesize(table, schema, epsilon=1, delta="1e-6", insecure_noise_seed=1)
    (line,) = (one for one in release.measurements if one.kind is Kind.LINE)
    few = np.where(np.arange(len(line.counts)) < 48, line.counts, 0)
    few[48] = 4  # of the 16 cells of the last bin, in all
    places = placings_of([replace(line, counts=few)], schema, ROWS, METHODS["marginals"]())
    assert places["wealth"].weights[places["wealth"].bins == 3] == pytest.approx(0.25, rel=1e-4)
    assert not np.isnan(places["wealth"].numbers(np.arange(4), np.random.default_rng(1))).any()
