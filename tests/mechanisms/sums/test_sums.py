"""Noisy sums and scatters: sensitivities by enumeration, noise, ledger, and both calibrations.

Sensitivities are enumerated over all tables of a few records at the corners of the bounds, through
the engine's own coding and summing. A correct sampler fails a fit with probability 1e-6 per case;
seeds are fixed.
"""

import itertools
from fractions import Fraction as F
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.base import NO_PREMISES
from understudy.data.sums import ExactSums
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.perturbation import FLOATING, HALVED, UNCALIBRATED, count_noise
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.dp.truncated_laplace import TruncatedDiscreteLaplace
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError, NotPrivateError
from understudy.mechanisms.sums import (
    BY_COUNT,
    Moments,
    admissible,
    exact_statistic,
    moment_noises,
    moments_of,
    noisy_means,
    pooled_scatter,
    rounded_sensitivity,
    sanitise,
    whole_sensitivity,
)
from understudy.mechanisms.tables import NoisyTables
from understudy.papers.exact import ExactMoments
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

LEVEL = 1e-6
PRIVATE = Schema.loads("""
row_limit = 5
[columns.cell]
kind = "categorical"
levels = ["a", "b"]
[columns.x]
kind = "continuous"
lower = 0.0
upper = 4.0
bins = 1
[columns.y]
kind = "continuous"
lower = -1.0
upper = 1.0
bins = 1
""")
CORNERS = [(x, y) for x in (0.0, 4.0) for y in (-1.0, 1.0)]
ALL_RECORDS = [(c, x, y) for c in ("a", "b") for x, y in CORNERS] + [("?", 0.0, 0.0)]
SOME_RECORDS = [*ALL_RECORDS[:4], *ALL_RECORDS[4:8:3], ALL_RECORDS[-1]]
"""All of one cell, opposite ones of the other, and one out of domain."""
BY = {"two cells": ("cell",), "one cell": ()}
RELATIONS = ["add_remove", "replace"]
R = 2**16


def public(schema, n_rows):
    return schema.model_copy(update={"rows": "public", "n_rows": n_rows, "row_limit": None})


def sums_of(rows, columns, of=(1, 2)):
    frame = pl.DataFrame(
        list(rows), schema={"cell": pl.String, "x": pl.Float64, "y": pl.Float64}, orient="row"
    )
    return Table(frame, PRIVATE).sums(columns, of).expose()


@cache
def statistics_of_all_tables(cells):
    """For every table: the exact statistics of the moments, in order."""
    moments = moments_of(PRIVATE, ("x", "y"), BY[cells])
    sizes = range(4) if cells == "two cells" else range(5)
    records = SOME_RECORDS if cells == "two cells" else [r for r in ALL_RECORDS if r[0] == "a"]
    places = tuple(PRIVATE.names.index(name) for name in moments[0].by)
    return {
        rows: [exact_statistic(m, sums) for m in moments]
        for n in sizes
        for rows in itertools.combinations_with_replacement(records, n)
        for sums in [sums_of(rows, places)]
    }


def neighbours(tables, relation):
    """Pairs of tables that differ by one record."""
    records = sorted({record for rows in tables for record in rows}, key=ALL_RECORDS.index)
    for rows in tables:
        for k in range(len(rows)):
            rest = rows[:k] + rows[k + 1 :]
            if relation == "add_remove":
                yield rows, rest
            else:
                for record in records:
                    yield rows, tuple(sorted((*rest, record), key=ALL_RECORDS.index))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cells", BY)
def test_no_neighbour_moves_a_statistic_further_than_stated(cells, relation):
    tables, moments = statistics_of_all_tables(cells), moments_of(PRIVATE, ("x", "y"), BY[cells])
    largest = {}  # by number of records and statistic
    for left, right in neighbours(tables, relation):
        for k, (a, b) in enumerate(zip(tables[left], tables[right], strict=True)):
            change = int(np.abs(a - b).sum())
            largest[len(left), k] = max(change, largest.get((len(left), k), 0))
    for (n, k), change in largest.items():
        n_rows = n if relation == "replace" else None
        stated = whole_sensitivity(moments[k], relation, n_rows)
        assert change <= stated
        if moments[k].statistic == "sum":
            assert change == stated
        elif cells == "one cell" and relation == "replace":
            assert change >= stated - 1  # attained, but for rounding
    assert len(largest) >= 15


def test_the_bounds_of_scatters_are_nearly_attained():
    """Cells of m records in a corner; one record leaves far from its cell's mean, and enters so."""

    def scatters(rows):
        return [exact_statistic(m, sums_of(rows, (0, 1, 2))) for m in moments][2:]

    moments = moments_of(PRIVATE, ("x", "y"), ("cell",))
    m = 100
    fixed = [("a", 0.0, -1.0)] * m + [("b", 0.0, 1.0)] * m
    absent, here, there = (scatters(fixed + more) for more in ([], LEAVES, ENTERS))
    assert absent[0][0] == absent[1][0] == absent[2][0] == 0
    assert abs(here[1][0] - there[1][0]) / R**2 == pytest.approx(2 * m / (m + 1))
    stated = [whole_sensitivity(moment, "replace", 2 * m + 1) for moment in moments[2:]]
    assert stated == [R**2, 2 * R**2, R**2]
    assert 0.98 * stated[1] < abs(here[1][0] - there[1][0]) <= stated[1]
    for k in (0, 1, 2):  # one record more, or one that leaves where it has no effect
        assert 0.99 < abs(here[k][0] - absent[k][0]) / R**2 <= 1


LEAVES, ENTERS = [("a", 4.0, 1.0)], [("b", 4.0, -1.0)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cells", BY)
@pytest.mark.parametrize("epsilon", [F(2), F(1, 10**7)])
def test_the_planned_noise_realises_its_share_and_no_more(cells, relation, epsilon):
    """Σ |change of the rounded statistic| / scale over all neighbours: what Laplace noise costs."""
    tables = {
        rows: found
        for rows, found in statistics_of_all_tables(cells).items()
        if len(rows) in (2, 3)
    }
    worst = 0.0
    for n in (2, 3) if relation == "replace" else (None,):
        schema = PRIVATE if n is None else public(PRIVATE, n)
        plan = moment_noises(schema, ("x", "y"), BY[cells], spend=epsilon)
        for left, right in neighbours(tables, relation):
            if right not in tables or n not in (None, len(left)):
                continue
            for one, a, b in zip(plan, tables[left], tables[right], strict=True):
                shifted = [(v + one.coarseness // 2) // one.coarseness for v in (a, b)]
                realised = int(np.abs(shifted[0] - shifted[1]).sum()) / one.distribution.scale
                assert realised <= one.share
                worst = max(worst, float(realised / one.share))
    assert worst > 0.99  # sums attain theirs


def test_rounding_to_a_coarser_lattice_moves_neighbours_as_far_as_stated():
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(4000):
        step, numbers = 2 ** int(rng.integers(0, 8)), int(rng.integers(1, 4))
        change = rng.integers(-60, 61, numbers)
        change[change == 0] = 1
        a = rng.integers(-500, 500, numbers)
        moved = np.abs((a + step // 2) // step - (a + change + step // 2) // step).sum()
        stated = rounded_sensitivity(int(np.abs(change).sum()), numbers, step)
        assert moved <= stated
        worst = max(worst, moved / stated)
    assert worst == 1


# --- the statistics -----------------------------------------------------------------------------


@pytest.mark.parametrize(("largest", "cells"), [(3, 7), (10**5, 7), (2**31 - 1, 1), (2**31 + 9, 1)])
def test_pooled_scatters_are_exact_at_any_size(largest, cells):
    rng = np.random.default_rng(2)
    counts = rng.integers(0, largest, (4, cells), endpoint=True)
    counts[0, 0], counts[1, 0] = 0, largest
    extreme = rng.choice([-1, 1], (2, 4, cells)) * counts * 2**15
    first, second = np.where(rng.random((2, 4, cells)) < 0.3, extreme, extreme // 7)
    products = rng.choice([-1, 1], (4, cells)) * counts * 2**30
    found = pooled_scatter(counts, first, second, products)
    for r in range(4):
        terms = (
            int(q) - F(int(s) * int(t), max(int(n), 1))
            for n, s, t, q in zip(counts[r], first[r], second[r], products[r], strict=True)
        )
        assert int(found[r]) == sum(term.numerator // term.denominator for term in terms)
    assert found.dtype == np.int64


def test_revealed_moments_are_sums_about_the_middle_and_scatters_within_cells():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "cell": rng.choice(["a", "b"], 200),
            "x": rng.uniform(0, 4, 200),
            "y": rng.uniform(-1, 1, 200),
        }
    )
    door = open_gate(Table(frame, PRIVATE), Budget.of(1), SecureRandomness(), allow_nonprivate=True)
    released = [one.value for one in door.ask(ExactMoments(["x", "y"], ["cell"]))]
    assert [(one.statistic, one.of) for one in released] == [
        ("sum", ("x",)),
        ("sum", ("y",)),
        ("scatter", ("x", "x")),
        ("scatter", ("x", "y")),
        ("scatter", ("y", "y")),
    ]
    groups = [frame.filter(pl.col("cell") == c).select("x", "y").to_numpy() for c in "ab"]
    scatter = sum(np.cov(g.T) * (len(g) - 1) for g in groups)
    # Each number is rounded to a lattice of 2⁻¹⁶ of the width, which 200 records average out.
    assert released[0].values == pytest.approx([(g[:, 0] - 2).sum() for g in groups], abs=5e-3)
    assert released[1].values == pytest.approx([g[:, 1].sum() for g in groups], abs=5e-3)
    assert [one.values[0] for one in released[2:]] == pytest.approx(
        [scatter[0, 0], scatter[0, 1], scatter[1, 1]], abs=5e-3
    )
    assert door.guarantee().kind == "none"
    assert [entry.spent for entry in door.ledger] == [None] * 5
    with pytest.raises(NotPrivateError):
        open_gate(Table(frame, PRIVATE), Budget.of(1), SecureRandomness()).ask(ExactMoments(["x"]))


def test_admissible_intervals_hold_every_statistic_and_their_ends_are_reached():
    for cells in BY:
        tables = statistics_of_all_tables(cells)
        moments = moments_of(PRIVATE, ("x", "y"), BY[cells])
        for k, moment in enumerate(moments):
            found = [s for rows in tables if len(rows) == 2 for s in tables[rows][k].tolist()]
            low, high = admissible(moment, 2)
            assert (min(found), max(found)) == (low, high)


# --- the plan -----------------------------------------------------------------------------------


def test_the_worked_example_of_split_and_nonsplit_scales():
    """x = (1, 2, 3, 4) in [0, 5]: mean and variance have sensitivities 1.25 and 6.25."""
    schema = Schema.loads("""
    rows = "public"
    n_rows = 4
    [columns.x]
    kind = "continuous"
    lower = 0.0
    upper = 5.0
    bins = 1
    """)
    for mode in ("strict", "paper"):
        for calibration, scales in [("split", (2.5, 12.5)), ("nonsplit", (7.5, 7.5))]:
            plan = moment_noises(schema, ["x"], [], spend=F(1), calibration=calibration, mode=mode)
            found = [float(F(one.recorded.scale)) / n for one, n in zip(plan, (4, 3), strict=True)]
            assert found == pytest.approx(scales, rel=1e-5)
            assert sum(one.share for one in plan) == 1


def test_nonsplit_of_private_rows_gives_sums_and_scatters_one_scale():
    plan = moment_noises(PRIVATE, ["x", "y"], ["cell"], spend=F(1, 3), calibration="nonsplit")
    # Add/remove: R/2 = 2 and 1; R₁² = 16, R₁R₂ = 8, R₂² = 4; ε = 1/3.
    assert [float(F(one.recorded.scale)) for one in plan] == pytest.approx([93] * 5, rel=1e-5)


def test_a_plan_tells_query_sensitivity_noise_and_error():
    one, *_, last = moment_noises(PRIVATE, ["x", "y"], ["cell"], spend=F(5))
    assert (one.query, last.query) == ("sum of x by cell", "scatter of y within cell")
    assert (one.n_cells, last.n_cells) == (2, 1)
    assert (one.sensitivity, last.sensitivity) == (2, 4)
    assert one.noise == "Laplace, scale 2, on the lattice of step 1/16384"
    assert one.stddev == pytest.approx(2 * 2**0.5)
    mixed = moment_noises(PRIVATE, ["x", "y"], ["cell"], spend=F(5))[3]
    assert mixed.query == "scatter of x and y within cell"
    weighted = moment_noises(PRIVATE, ["x"], [], spend=F(3), weights=[1, 2])
    assert [one.share for one in weighted] == [1, 2]
    assert weighted[0].query == "sum of x"


@pytest.mark.parametrize(
    ("of", "by", "options", "complaint"),
    [
        (["cell"], [], {}, "not numeric"),
        (["z"], [], {}, "no column 'z'"),
        ([], [], {}, "at least one"),
        (["x", "x"], [], {}, "each column once"),
        (["x"], ["cell", "cell"], {}, "each column once"),
        (["x"], [], {"weights": [1]}, "2 statistics"),
        (["x"], [], {"weights": [1, 0]}, "above 0"),
        (["x"], [], {"weights": [1, 1], "calibration": "nonsplit"}, "leave them out"),
    ],
)
def test_requests_that_do_not_fit_are_refused(of, by, options, complaint):
    with pytest.raises(MethodError, match=complaint):
        moment_noises(PRIVATE, of, by, spend=F(1), **options)


def test_bins_limits_and_budgets_that_do_not_fit_are_refused():
    with pytest.raises(MethodError, match=r"gate\.rebin\("):
        moment_noises(PRIVATE.with_bins({"x": 2}), ["x"], [], spend=F(1))
    without = PRIVATE.model_copy(update={"row_limit": None})
    with pytest.raises(MethodError, match="row_limit"):
        moment_noises(without, ["x"], [], spend=F(1), bounds="truncate")
    with pytest.raises(BudgetError, match="too wide"):
        moment_noises(PRIVATE, ["x"], [], spend=F(1, 10**11))


# --- the noise ----------------------------------------------------------------------------------


def fits(steps, distribution):
    """Chi-square level of whole numbers under a discrete law, in 40 cells."""
    edges = np.floor(np.linspace(-3, 3, 39) * distribution.stddev)
    expected = np.diff(np.concatenate(([0.0], distribution.cdf(edges), [1.0])))
    observed = np.bincount(np.searchsorted(edges, steps), minlength=40)
    return stats.chisquare(observed, expected * len(steps)).pvalue


@pytest.mark.parametrize("which", [0, 1])
def test_noise_has_the_stated_scale_and_a_wrong_one_is_noticed(which):
    one = moment_noises(PRIVATE, ["x"], [], spend=F(2))[which]
    statistic = np.full((50, 1000), 12 * one.coarseness)
    noisy = sanitise(statistic, one, SeededRandomness(4))
    assert noisy.shape == (50, 1000)
    steps = noisy.ravel() / float(one.step) - 12
    assert np.array_equal(steps, np.rint(steps))
    assert fits(steps, one.distribution) > LEVEL
    for wrong in (F(7, 10), F(13, 10)):
        assert fits(steps, DiscreteLaplace(one.distribution.scale * wrong)) < LEVEL
    assert noisy.std() == pytest.approx(one.stddev, rel=0.03)


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
@pytest.mark.parametrize("mode", ["strict", "paper"])
def test_one_repetition_of_the_kernel_is_what_the_gate_releases(bounds, mode):
    rows = [("a", 0.5, 1.0), ("b", 4.0, 0.2), ("b", 1.0, 0.0)]
    options = {"bounds": bounds, "mode": mode}
    released = door(rows).ask(Moments(["x", "y"], ["cell"], **options), spend=F(2))
    sums, source = sums_of(rows, (0, 1, 2)), SeededRandomness(1)
    plan = moment_noises(PRIVATE, ["x", "y"], ["cell"], spend=F(2), **options)
    for one, found in zip(plan, released, strict=True):
        exact = exact_statistic(one.moment, sums)
        if one.is_mean:
            assert mode == "paper"
            again = noisy_means(exact, sums.counts, one, source)[np.newaxis]
        else:
            again = sanitise(exact[np.newaxis], one, source)
        assert again.shape == (1, *found.value.values.shape)
        assert np.array_equal(again[0], found.value.values)


def test_truncated_moments_lie_in_their_intervals_and_are_calibrated_for_it():
    plan = moment_noises(PRIVATE, ["x"], ["cell"], spend=F(1, 10), bounds="truncate")
    for one in plan:
        assert isinstance(one.distribution, TruncatedDiscreteLaplace)
        low, high = (end * float(one.moment.unit) for end in admissible(one.moment, 5))
        noisy = sanitise(np.zeros((5000, 2), dtype=np.int64), one, SeededRandomness(1))
        slack = float(one.step)
        assert low - slack <= noisy.min() < 0.9 * low + 0.1 * high
        assert 0.1 * low + 0.9 * high < noisy.max() <= high + slack
        plain = moment_noises(PRIVATE, ["x"], ["cell"], spend=F(1, 10))
        assert one.distribution.scale > plain[one.moment.statistic == "scatter"].distribution.scale
    assert "redrawn until inside [-10, 10] and calibrated for that" in plan[0].noise


# --- the gate -----------------------------------------------------------------------------------


class Spy:
    """An engine that remembers what it was asked."""

    premises, has_records = NO_PREMISES, True

    def __init__(self, rows, schema=PRIVATE):
        frame = pl.DataFrame(
            list(rows), schema={"cell": pl.String, "x": pl.Float64, "y": pl.Float64}, orient="row"
        )
        self.table, self.schema, self.asked = Table(frame, schema), schema, []

    def sums(self, columns, of):
        self.asked.append((columns, of))
        return self.table.sums(columns, of)

    def count(self, marginals):
        self.asked.append(marginals)
        return self.table.count(marginals)


def door(rows, epsilon=10, schema=PRIVATE, delta=0, seed=1):
    return open_gate(Spy(rows, schema), Budget.of(epsilon, delta), SeededRandomness(seed))


def test_each_statistic_is_a_step_of_the_ledger_and_a_measurement_as_planned():
    gate = door(ALL_RECORDS)
    released = gate.ask(Moments(["x", "y"], ["cell"], weights=[1, 2, 3, 4, 5]), spend=F(2))
    plan = moment_noises(PRIVATE, ["x", "y"], ["cell"], spend=F(2), weights=[1, 2, 3, 4, 5])
    assert [one.entry for one in gate.measured] == [one.entry for one in released]
    for one, entry, found in zip(plan, gate.ledger, released, strict=True):
        assert (entry.query, entry.noise, entry.cells) == (one.query, one.noise, one.n_cells)
        assert (entry.spent, entry.sensitivity) == (one.share, f"L1 = {one.sensitivity}")
        assert (found.noise, found.entry) == (one.recorded, entry.number)
        assert found.value.columns == ("cell", "x", "y")
        assert len(found.value.values) == one.n_cells
    assert gate.remaining == 8
    assert gate._promise._leaks == []


def test_the_ledger_is_charged_before_the_engine_is_asked_and_nothing_is_asked_in_vain():
    gate = door(ALL_RECORDS)
    engine = gate._rows.engine
    ask, paid = engine.sums, []
    engine.sums = lambda *places: (paid.append(len(gate.ledger)), ask(*places))[1]
    gate.ask(Moments(["x"], ["cell"]), spend=F(1))
    assert paid == [2]
    for spend, of, error in [(F(10), ["x"], InsufficientBudgetError), (F(1), ["z"], MethodError)]:
        with pytest.raises(error):
            gate.ask(Moments(of, ["cell"]), spend=spend)
    assert len(paid) == 1
    assert len(gate.ledger) == 2
    with pytest.raises(MethodError, match="pure"):
        door(ALL_RECORDS, delta=F(1, 10**6)).ask(Moments(["x"]), spend=F(1, 100))


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
@pytest.mark.parametrize("mode", ["strict", "paper"])
@pytest.mark.parametrize("schema", [PRIVATE, public(PRIVATE, 0)], ids=RELATIONS)
@pytest.mark.parametrize("epsilon", [F(1, 10**5), F(10**12)])
def test_no_rows_and_extreme_budgets_work(bounds, mode, schema, epsilon):
    gate = door([], epsilon=10**12, schema=schema)
    found = gate.ask(Moments(["x", "y"], ["cell"], bounds=bounds, mode=mode), spend=epsilon)
    assert all(np.isfinite(one.value.values).all() for one in found)
    if epsilon > 1:
        assert all(np.abs(one.value.values).max() < 1e-3 for one in found)
    counting = door([], epsilon=10**12, schema=schema)
    (table,) = counting.ask(
        NoisyTables([("cell",)], noise="geometric", bounds=bounds, mode=mode), spend=epsilon
    )
    assert np.isfinite(table.value.counts).all()


def test_without_noise_the_moments_are_the_exact_ones():
    rows = [record for record in ALL_RECORDS if record[0] != "?"]
    exact = open_gate(Spy(rows), Budget.of(1), SeededRandomness(1), allow_nonprivate=True)
    wanted = exact.ask(ExactMoments(["x", "y"], ["cell"]))
    found = door(rows, 10**12).ask(Moments(["x", "y"], ["cell"]), spend=F(10**12))
    for a, b in zip(wanted, found, strict=True):
        assert b.value.values == pytest.approx(a.value.values, abs=1e-5)


def test_cells_that_cannot_hold_a_number_are_zero_and_get_no_noise():
    schema = Schema.loads("""
    [columns.cell]
    kind = "categorical"
    levels = ["a", "b", "c"]
    [columns.x]
    kind = "continuous"
    lower = 0.0
    upper = 4.0
    missing = [""]
    spikes = [0.0]
    [[forbidden]]
    where = {cell = "c", x = {lower = 0.0, upper = 4.0}}
    """)
    frame = pl.DataFrame({"cell": ["a", "b", "c"], "x": [1.0, None, 3.0]})
    gate = open_gate(Table(frame, schema), Budget.of(2), SeededRandomness(1)).rebin({"x": 1})
    total, _ = gate.ask(Moments(["x"], ["cell", "x"]), spend=F(1))
    values = total.value.values.reshape(3, 3)  # states of x: the spike, the bin, missing
    assert not values[:, [0, 2]].any()
    assert values[2, 1] == 0
    assert (values[:2, 1] != 0).all()
    assert gate.ledger[0].cells == 2
    assert total.value.bins == {"x": 1}


def test_paper_mode_says_what_it_leaves_in():
    schema = public(PRIVATE, len(ALL_RECORDS))
    gate = door(ALL_RECORDS, schema=schema)
    gate.ask(Moments(["x", "y"], ["cell"], mode="paper"), spend=F(5))
    assert gate._promise._leaks[0] == FLOATING
    assert "instead of 2R₁R₂" in gate._promise._leaks[1]
    assert "Laplace in floating point, scale" in gate.ledger[0].noise
    (table,) = gate.ask(
        NoisyTables([("cell",)], noise="laplace", mode="paper", bounds="truncate"),
        spend=F(2),
    )
    assert gate._promise._leaks[2:] == [BY_COUNT, HALVED, UNCALIBRATED]
    assert (gate.ledger[-1].sensitivity, table.noise.scale) == ("L1 = 1", "0.5")
    assert ((table.value.counts >= 0) & (table.value.counts <= 9)).all()
    assert table.value.counts.dtype == np.float64
    secure = open_gate(Spy(ALL_RECORDS, schema), Budget.of(1), SecureRandomness())
    secure.ask(NoisyTables([("cell",)], noise="laplace", mode="paper"), spend=F(1))
    assert secure.guarantee().kind == "conditional"
    assert secure.guarantee().leaks == (FLOATING, HALVED)


@pytest.mark.parametrize("bounds", ["threshold", "truncate"])
def test_noise_in_published_means_has_the_scale_of_their_private_counts(bounds):
    """A wrong scale, R instead of R/n_k or n_k of another cell, fails (level 1e-6 per fit)."""
    counts, totals = np.array([1, 4, 20]), np.array([0, 2 * R, -5 * R])
    one = moment_noises(PRIVATE, ["x"], ["cell"], spend=F(60), bounds=bounds, mode="paper")[0]
    assert one.is_mean
    assert one.bound == "L1 = 4/n_k, as published"
    scale = one.distribution.scale  # R / share
    assert scale == pytest.approx(4 / 30)
    source = SeededRandomness(4)
    drawn = np.stack([noisy_means(totals, counts, one, source) for _ in range(1500)])
    noise = drawn - np.array([0.0, 2.0, -1.0])
    for k, n in enumerate(counts):
        inside = noise[:, k]  # truncation at ± 2 cuts the second in half, and hardly the others
        side = inside[inside < 0] if k == 1 else inside
        law = stats.expon(scale=scale / n)
        assert stats.kstest(np.abs(side), law.cdf).pvalue > LEVEL
        for wrong in counts[counts != n]:
            other = stats.expon(scale=scale / wrong)
            assert stats.kstest(np.abs(side), other.cdf).pvalue < LEVEL
    if bounds == "truncate":
        assert np.abs(drawn).max() <= 2


def test_the_published_sensitivity_of_means_is_exceeded_by_a_record_that_changes_its_cell():
    """Σ |change of a mean| · n_k / R is what a share of ε stands for: at most 1 within cells.

    Enumerated over three records at the ends of the bounds, of which one is replaced.
    """

    summed = cache(lambda rows: sums_of(rows, (0, 1), (1,)))

    def spent(before, after):
        pairs = [summed(rows) for rows in (before, after)]
        means = [one.sums[0] / np.maximum(one.counts, 1) for one in pairs]
        return float((np.abs(means[0] - means[1]) * pairs[0].counts).sum() / R)

    ends = [(cell, x, 0.0) for cell in ("a", "b") for x in (0.0, 4.0)]
    stays, moves = [], []
    for rows in itertools.product(ends, repeat=3):
        for other in ends:
            kind = stays if other[0] == rows[0][0] else moves
            kind.append(spent(rows, (other, *rows[1:])))
    assert max(stays) == 1
    assert max(moves) > 1


def test_an_empty_cell_has_its_published_mean_in_the_middle_and_no_noise():
    rows = [("a", 0.5, 1.0), ("a", 1.0, 0.0)]
    found = door(rows).ask(Moments(["x"], ["cell"], mode="paper"), spend=F(2))[0].value
    assert found.statistic == "mean"
    assert found.values[0] != 0
    assert found.values[1] == 0


def test_counts_can_be_truncated_to_what_is_possible():
    gate = door(ALL_RECORDS[:4], epsilon=1)
    (table,) = gate.ask(
        NoisyTables([("cell",)], noise="geometric", bounds="truncate"), spend=F(1, 10)
    )
    assert ((table.value.counts >= 0) & (table.value.counts <= 5)).all()
    assert table.value.counts.dtype == np.int64
    assert table.noise.distribution == "truncated_discrete_laplace"
    assert "redrawn until inside [0, 5] and calibrated for that" in gate.ledger[0].noise
    assert gate._promise._leaks == []
    with pytest.raises(MethodError, match="geometric"):
        gate.ask(NoisyTables([("cell",)], noise="laplace", bounds="truncate"), spend=F(1, 10))
    for schema, sensitivity in [(PRIVATE, 1), (public(PRIVATE, 5), 2)]:
        options = {"spend": F(1), "accounting": "pure", "schema": schema}
        distribution = count_noise("geometric", bounds="truncate", **options)
        assert (distribution.low, distribution.high) == (0, 5)
        assert sensitivity < distribution.scale <= 2 * sensitivity


def test_sums_know_their_columns_in_any_order():
    rows = [("a", 4.0, 1.0)]
    sums = sums_of(rows, (2, 0, 1), (2, 1))
    assert isinstance(sums, ExactSums)
    assert sums.sums.tolist() == [[2**15, 0], [2**15, 0]]
