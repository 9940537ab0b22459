"""The perturbed histogram: the Laplace sanitizer in chosen bins, strict and as published."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.distributions import ContinuousLaplace
from understudy.dp.perturbation import FLOATING, HALVED
from understudy.dp.randomness import SeededRandomness
from understudy.errors import MethodError
from understudy.methods.registry import configure
from understudy.papers.histograms import scott_bins
from understudy.workflow.gates import open_gate

N = 1000
COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
[columns.x]
kind = "continuous"
lower = -3
upper = 4
missing = [""]
source = "codebook"
reviewed = true
[[forbidden]]
where = { sex = "m", x = { lower = 0.5, upper = 4 } }
source = "logic"
reviewed = true
"""
FALSE_ALARM = 1e-4


def schema(rows="public"):
    head = {"private": "row_limit = 3000", "public": f'rows = "public"\nn_rows = {N}'}[rows]
    return us.Schema.loads(f"{head}\n{COLUMNS}")


def frame():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], N)
    x = np.clip(rng.normal(size=N), -3, 4)
    x = np.where(sex == "m", -np.abs(x), x)
    return pl.DataFrame({"sex": sex, "x": x})


def release(epsilon=1, sets=1, rows="public", **options):
    return us.synthesize(
        frame(),
        schema(rows),
        epsilon=epsilon,
        method="perturbed-histogram",
        sets=sets,
        options=options,
    )


def plan(epsilon=1, delta=0, **options):
    return us.plan(
        schema(), epsilon=epsilon, delta=delta, method="perturbed-histogram", options=options
    )


# --- strict -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "filtered", "lazy"])
def test_forms_are_those_of_laplace_in_other_bins(form):
    """Eight bins, one of them for the rule, and the missing code; the rule takes four for men."""
    (table,) = plan(form=form, bins=7).tables
    (plain,) = us.plan(
        schema().with_bins({"x": 7}), epsilon=1, method="laplace", options={"form": form}
    ).tables
    assert (table.form, table.noise, table.share) == (plain.form, plain.noise, 1)
    assert table.n_cells == 2 * 9 - 4 + 1
    found = release(form=form, bins=7)
    assert found.schema.columns["x"].size == 9
    assert len(found.schema.forbidden) == 1
    assert found.guarantee.kind == "pure"
    assert found.manifest.ledger[-1]["cells"] == table.n_cells
    drawn = found.tables[0]
    assert drawn.filter((pl.col("sex") == "m") & (pl.col("x") >= 0.5)).height == 0


def test_without_noise_the_density_is_the_histogram_of_the_rows():
    """Values are uniform within bins, in the bins' own shares (two-sample tests)."""
    found = release(epsilon=10**6, bins=14)
    (measured,) = found.measurements
    exact = Table(frame(), found.schema).count([(0, 1)]).expose()[0].inside
    assert measured.counts.tolist() == exact.reshape(-1).tolist()
    edges = np.linspace(-3, 4, 15)
    drawn = found.tables[0]
    for sex in ("f", "m"):
        counts, _ = np.histogram(frame().filter(pl.col("sex") == sex)["x"].to_numpy(), edges)
        rng = np.random.default_rng(1)
        bins = rng.choice(14, size=5000, p=counts / counts.sum())
        expected = edges[bins] + (edges[1] - edges[0]) * rng.random(5000)
        values = drawn.filter(pl.col("sex") == sex)["x"].to_numpy()
        assert stats.ks_2samp(values, expected).pvalue > FALSE_ALARM


def test_measurements_are_in_the_bins_of_the_released_schema():
    found = release(bins=3)
    (measured,) = found.measurements
    labels = measured.frame(found.schema)["x"].unique().to_list()
    assert len(labels) == found.schema.columns["x"].size == 5
    assert measured.bins == {}


@pytest.mark.parametrize(("kind", "fits"), [("free", 1), ("split", 3)])
def test_sets_share_the_noise_or_have_their_own(kind, fits):
    found = us.synthesize(
        frame(),
        schema("private"),
        epsilon=1,
        method="perturbed-histogram",
        sets=3,
        options={"bins": "scott", "expected_rows": N, "sets": kind},
    )
    assert len(found.measurements) == fits
    scale = Fraction(1) / (Fraction(19, 20) / fits)
    assert {one.scale for one in found.measurements} == {str(scale)}


def test_a_table_too_large_to_write_out_is_refused_beforehand():
    wide = us.Schema.loads(
        "row_limit = 100"
        + "".join(
            f"""
            [columns.x{k}]
            kind = "continuous"
            lower = 0
            upper = 1
            source = "codebook"
            reviewed = true
            """
            for k in range(4)
        )
    )
    for options in ({"bins": 100, "form": "dense"}, {"bins": 100, "mode": "paper"}):
        with pytest.raises(MethodError, match="too many to write out"):
            us.plan(wide, epsilon=1, method="perturbed-histogram", options=options)
    with pytest.raises(MethodError, match=r"perturbed-histogram needs the full table.*2\^62"):
        us.plan(wide, epsilon=1, method="perturbed-histogram", options={"bins": 47_000})
    (table,) = us.plan(wide, epsilon=1, method="perturbed-histogram", options={"bins": 100}).tables
    assert table.form == "filtered"


# --- as published -----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["public", "private"])
def test_paper_mode_has_continuous_noise_of_scale_one_over_epsilon_and_says_so(rows):
    found = release(epsilon=2, rows=rows, mode="paper", bins=7)
    spent = Fraction(2) if rows == "public" else Fraction(19, 10)
    (measured,) = found.measurements
    assert measured.stddev == pytest.approx(2**0.5 / float(spent))
    assert found.manifest.ledger[-1]["sensitivity"] == "L1 = 1"
    assert found.guarantee.kind == "conditional"
    assert FLOATING in found.guarantee.leaks
    assert (HALVED in found.guarantee.leaks) == (rows == "public")
    (table,) = plan(epsilon=2, mode="paper", bins=7).tables
    if rows == "public":
        assert table.noise == found.manifest.ledger[-1]["noise"]
        assert table.noise_mass == (table.n_cells - 1) / 4


def test_paper_mode_is_dense_and_pure():
    for options in ({"form": "lazy"}, {"form": "filtered"}, {"threshold": 3}):
        with pytest.raises(MethodError, match=r"form"):
            plan(mode="paper", **options)
    with pytest.raises(MethodError, match="leave delta at 0"):
        plan(delta="0.001", mode="paper")


def test_one_repetition_in_paper_mode_is_what_the_gate_gives():
    one = us.Schema.loads(
        f"""
        rows = "public"
        n_rows = {N}
        [columns.x]
        kind = "continuous"
        lower = -3
        upper = 4
        source = "codebook"
        reviewed = true
        """
    )
    gate = open_gate(Table(frame(), one), Budget.of(1), SeededRandomness(3))
    method = configure("perturbed-histogram", {"mode": "paper", "bins": "scott"})
    model = method.setup(gate, Fraction(0)).fit(Fraction(1, 10), N)
    x = frame()["x"].to_numpy()
    n_bins = int(scott_bins(7, x.std(ddof=1), N))
    exact = np.append(np.histogram(x, np.linspace(-3, 4, n_bins + 1))[0], 0)
    noisy = exact + ContinuousLaplace(10.0).sample(n_bins + 1, SeededRandomness(3))
    weights = np.maximum(noisy[:-1], 0)
    assert model.shares.tolist() == (weights / weights.sum()).tolist()
