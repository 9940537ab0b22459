"""Histograms with leading axes: one repetition is what a release does, many are many of them."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NO_NOISE, NoisyTable
from understudy.mechanisms.tables import NoisyTables
from understudy.models.tables import TableModel
from understudy.release.decoding import decode
from understudy.schema import Domain, Schema
from understudy.workflow.gates import open_gate
from understudy_studies.measures.grouped_histograms import bin_counts, bin_shares, draw_values

EDGES = np.linspace(-3, 4, 8)
FALSE_ALARM = 1e-4


def schema(n_rows):
    return Schema.loads(f"""
        rows = "public"
        n_rows = {n_rows}
        [columns.x]
        kind = "continuous"
        lower = -3
        upper = 4
        bins = 7
        source = "codebook"
        reviewed = true
        """)


def test_counts_are_those_of_the_engine_at_edges_too():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=(4, 60)), np.tile(EDGES, (4, 1)), [[-9.0, 9]] * 4], 1)
    for row, counts in zip(values, bin_counts(values, EDGES), strict=True):
        table = Table(pl.DataFrame({"x": row}), schema(len(row)))
        assert counts.tolist() == table.count([(0,)]).expose()[0].inside.tolist()


def test_any_leading_axes_and_no_records():
    values = np.random.default_rng(1).normal(size=(2, 3, 20))
    counts = bin_counts(values, EDGES)
    assert counts.shape == (2, 3, 7)
    assert (counts[1, 2] == bin_counts(values[1, 2], EDGES)).all()
    assert bin_counts(np.zeros((2, 0)), EDGES).tolist() == [[0] * 7] * 2
    drawn = draw_values(bin_shares(counts), EDGES, 5, np.random.default_rng(2))
    assert drawn.shape == (2, 3, 5)


def test_one_repetition_has_the_noise_and_the_shares_of_the_gate():
    values = np.random.default_rng(3).normal(size=40)
    rows = Table(pl.DataFrame({"x": values}), schema(40))
    gate = open_gate(rows, Budget.of(1), SeededRandomness(5))
    (released,) = gate.ask(NoisyTables([("x",)], noise="geometric"), spend=Fraction(1))
    # The gate's last number is the noise of the out-of-domain count.
    exact = np.append(bin_counts(values, EDGES), 0)
    noisy = perturb(exact[None], DiscreteLaplace(Fraction(2)), SeededRandomness(5))[:, :-1]
    assert noisy[0].tolist() == released.value.counts.tolist()
    model = TableModel.dense(released.value, rows.schema.domain)
    assert bin_shares(noisy)[0].tolist() == model.shares.tolist()


@pytest.mark.parametrize("counts", [[3.5, -1.0, 0.0, 7.25, 0.0, 1.0, -2.0], [-1.0] * 7])
def test_values_have_the_law_of_a_release(counts):
    """Bins, and places within them, against the rows that a model gives (two-sample tests)."""
    n, table = 6000, NoisyTable(("x",), np.array(counts), 0.0, NO_NOISE)
    rng = np.random.default_rng(6)
    sample = TableModel.dense(table, Domain((7,))).sample(n, rng)
    released = decode(sample.states, schema(n), rng).get_column("x").to_numpy()
    drawn = draw_values(bin_shares(np.array(counts)), EDGES, n, rng)
    assert (drawn >= -3).all()
    assert (drawn <= 4).all()
    assert stats.ks_2samp(drawn, released).pvalue > FALSE_ALARM
    found = bin_counts(drawn, EDGES)
    shares = bin_shares(np.array(counts))
    assert (found[shares == 0] == 0).all()
    held = shares > 0
    assert stats.chisquare(found[held], n * shares[held]).pvalue > FALSE_ALARM
    wrong = shares[held] + 0.1 * np.arange(held.sum())
    assert stats.chisquare(found[held], n * wrong / wrong.sum()).pvalue < 1e-9


def test_places_within_a_bin_are_uniform_also_in_bins_of_unequal_width():
    edges = np.array([0.0, 1.0, 11.0])
    drawn = draw_values(np.array([0.7, 0.3]), edges, 8000, np.random.default_rng(8))
    for low, high in ((0, 1), (1, 11)):
        inside = drawn[(drawn >= low) & (drawn < high)]
        assert stats.kstest((inside - low) / (high - low), "uniform").pvalue > FALSE_ALARM


def test_many_repetitions_are_as_many_single_ones():
    shares = bin_shares(np.random.default_rng(9).integers(-2, 9, (30, 7)))
    together = draw_values(shares, EDGES, 50, np.random.default_rng(10))
    rng = np.random.default_rng(10)
    apart = [draw_values(row, EDGES, 50, rng) for row in shares]
    assert together.tolist() == np.array(apart).tolist()
