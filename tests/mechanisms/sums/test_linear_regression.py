"""Noise on normal equations: its laws, what it realises, and the gate that pays for it.

A correct sampler fails a fit with probability 1e-6 per case; seeds are fixed.
"""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import polars as pl
import pytest
from scipy import stats

from understudy.data.table import Table
from understudy.dp import sampling
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, InsufficientBudgetError, MethodError
from understudy.mechanisms.regression import (
    ONE,
    CubeLaplace,
    NormalEquations,
    Regression,
    on_lattice,
    plan,
    sanitise,
)
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

LEVEL = 1e-6
SCHEMA = Schema.loads("""
row_limit = 50
[columns.x]
kind = "continuous"
lower = 0.0
upper = 4.0
[columns.y]
kind = "integer"
lower = -1
upper = 1
bins = 1
spikes = [0]
[columns.w]
kind = "date"
lower = 2000-01-01
upper = 2000-12-31
[columns.missing]
kind = "continuous"
lower = 0.0
upper = 1.0
missing = [-1]
[columns.single]
kind = "integer"
lower = 1
upper = 1
[columns.word]
kind = "categorical"
levels = ["a"]
""")
ROWS = {
    "x": [0.5, 4.0, 1.0, 7.0],
    "y": [1, 0, -1, None],
    "w": ["2000-05-01"] * 4,
    "missing": [0.1, -1.0, 0.7, 0.9],
    "single": [1] * 4,
    "word": ["a"] * 4,
}
MECHANISMS = ["functional", "functional-published", "k-norm"]
RELATIONS = ["add_remove", "replace"]


def public(n_rows=4):
    return SCHEMA.model_copy(update={"rows": "public", "n_rows": n_rows, "row_limit": None})


def asked(mechanism="k-norm", response="y", predictors=("x",)):
    return Regression(response=response, predictors=predictors, mechanism=mechanism)


def priced(schema, question, spend):
    """The line of the ledger, as it is announced."""
    (charge,) = question.price(terms_of(schema, Budget.of(2)), spend)
    return charge


# --- the cube's law -----------------------------------------------------------------------------


def radius_fits(radii, scale, dimension):
    """Chi-square level of radii under P(r) ∝ (2r + 1)^m·exp(−r/scale), written out."""
    r = np.arange(int(8 * (dimension + 4) * scale))
    weights = np.exp(dimension * np.log(2 * r + 1) - r / float(scale))
    cumulated = np.cumsum(weights / weights.sum())
    cuts = np.unique(np.searchsorted(cumulated, np.arange(1, 40) / 40))
    expected = np.diff(np.concatenate(([0.0], cumulated[cuts], [1.0])))
    observed = np.bincount(np.searchsorted(cuts, radii), minlength=len(expected))
    return stats.chisquare(observed, expected * len(radii)).pvalue


@pytest.mark.parametrize(
    ("scale", "dimension"), [(F(1), 1), (F(7, 3), 2), (F(5), 4), (F(300), 4), (F(60), 13)]
)
def test_radii_have_their_law_and_a_wrong_scale_is_noticed(scale, dimension):
    radii = CubeLaplace(scale, dimension).radii(20_000, SeededRandomness(1))
    assert radius_fits(radii, scale, dimension) > LEVEL
    for wrong in (F(7, 10), F(13, 10)):
        assert radius_fits(radii, scale * wrong, dimension) < LEVEL


def test_every_point_of_the_plane_has_the_stated_probability():
    """P(v) ∝ exp(−‖v‖∞/2) on ℤ², point by point: the privacy of the mechanism."""
    drawn = CubeLaplace(F(2), 2).sample(60_000, SeededRandomness(2))
    reach = 6
    points = list(itertools.product(range(-reach, reach + 1), repeat=2))
    norm = sum((8 * r or 1) * math.exp(-r / 2) for r in range(200))
    expected = np.array([math.exp(-max(abs(a), abs(b)) / 2) / norm for a, b in points])
    inside = np.abs(drawn).max(axis=1) <= reach
    codes = (drawn[inside, 0] + reach) * (2 * reach + 1) + drawn[inside, 1] + reach
    observed = np.append(np.bincount(codes, minlength=len(points)), (~inside).sum())
    expected = np.append(expected, 1 - expected.sum()) * len(drawn)
    assert stats.chisquare(observed, expected).pvalue > LEVEL
    # A cube that is drawn on its surface only, or a product of Laplace laws, would be noticed.
    product = DiscreteLaplace(F(2)).sample(120_000, SeededRandomness(3)).reshape(-1, 2)
    inside = np.abs(product).max(axis=1) <= reach
    codes = (product[inside, 0] + reach) * (2 * reach + 1) + product[inside, 1] + reach
    observed = np.append(np.bincount(codes, minlength=len(points)), (~inside).sum())
    assert stats.chisquare(observed, expected).pvalue < LEVEL


@pytest.mark.parametrize(("scale", "dimension"), [(F(4), 4), (F(401, 2), 1), (F(20), 9)])
def test_the_standard_deviation_is_that_of_the_law(scale, dimension):
    distribution = CubeLaplace(scale, dimension)
    r = np.arange(int(20 * (dimension + 4) * scale), dtype=float)
    weights = np.exp(dimension * np.log(2 * r + 1) - r / float(scale))
    exact = math.sqrt(float((weights * r * (r + 1)).sum() / weights.sum()) / 3)
    assert distribution.stddev == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_a_draw_cut_by_the_end_of_a_buffer_is_replayed(chunk, monkeypatch):
    whole = CubeLaplace(F(100, 19), 3).radii(200, SeededRandomness(3))
    monkeypatch.setattr(sampling, "_CHUNK_WORDS", chunk)
    assert np.array_equal(CubeLaplace(F(100, 19), 3).radii(200, SeededRandomness(3)), whole)


def test_laws_out_of_range_are_refused():
    for scale, dimension in [(F(3), 4), (F(3), 0), (F(2**41), 4), (F(2**41, 2**41 - 1), 1)]:
        with pytest.raises(ValueError, match="CubeLaplace"):
            CubeLaplace(scale, dimension)
    assert CubeLaplace(F(4), 4).sample(0, SeededRandomness(1)).shape == (0, 4)


# --- the plan -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [F(1), F(1, 10**5), F(10**15)])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_planned_noise_realises_its_share_and_no_more(mechanism, epsilon, relation):
    """‖change of the rounded statistics‖ / scale over all neighbours; nearly attained."""
    counted = relation == "add_remove"
    equations = NormalEquations(2, counted)
    planned = plan(equations, relation, mechanism, epsilon)
    grid = np.array(list(itertools.product((-1, 0, 1), repeat=3))) * 2**15
    grid = np.concatenate([grid, np.random.default_rng(1).integers(-(2**15), 2**15, (30, 3))])
    base = equations.statistics(np.random.default_rng(2).integers(-(2**15), 2**15, (40, 3)))
    records = equations.statistics(grid[:, None, :]) + base
    others = base[None] if counted else records
    steps, other_steps = (
        (one + planned.coarseness // 2) // planned.coarseness for one in (records, others)
    )
    gaps = np.abs(steps[:, None] - other_steps[None])
    norm = gaps.max(axis=-1) if mechanism == "k-norm" else gaps.sum(axis=-1)
    realised = F(int(norm.max())) / planned.distribution.scale
    # With two predictors the published bound is 18, where the exact sensitivity is 9.
    needed = F(1, 2) if mechanism == "functional-published" else F(1)
    assert realised <= needed * epsilon
    if epsilon < 10**6:
        assert realised > 0.999 * float(needed * epsilon)


def test_a_plan_tells_sensitivity_noise_and_error():
    equations = NormalEquations(1, counted=False)
    one = plan(equations, "replace", "functional", F(1, 2))
    assert float(F(one.sensitivity.removeprefix("L1 = "))) == pytest.approx(5, rel=1e-5)
    assert one.stddev == pytest.approx(10 * math.sqrt(2), rel=1e-5)
    assert one.recorded.distribution == "lattice_laplace"
    cube = plan(equations, "replace", "k-norm", F(1, 2))
    assert cube.sensitivity == "L∞ = 2"
    assert cube.words.startswith("density ∝ exp(−‖v‖∞/s), s = 4, in 4 dimensions")
    assert cube.stddev == pytest.approx(4 * math.sqrt(10), rel=1e-5)
    assert F(cube.recorded.scale) == 4
    assert plan(NormalEquations(1, True), "add_remove", "k-norm", F(1)).sensitivity == "L∞ = 1"
    published = plan(equations, "replace", "functional-published", F(1, 2))
    assert float(F(published.sensitivity.removeprefix("L1 = "))) == pytest.approx(8, rel=1e-5)
    assert published.stddev == pytest.approx(16 * math.sqrt(2), rel=1e-5)


@pytest.mark.parametrize("d", [*range(1, 12), 100])
def test_the_published_bound_is_never_below_the_sensitivity(d):
    equations = NormalEquations(d, counted=True)
    assert equations.published_l1_bound == 2 * (1 + 2 * d + d * d)
    assert equations.published_l1_bound > equations.l1_sensitivity


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_budgets_too_small_for_exact_noise_are_refused(mechanism):
    with pytest.raises(BudgetError, match="too wide"):
        priced(SCHEMA, asked(mechanism), F(1, 10**11))


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        (asked(response="z"), "no column 'z'"),
        (asked(response="word"), "not numeric"),
        (asked(predictors=("single",)), "single possible value"),
        (asked(predictors=()), "a predictor"),
        (asked(predictors=("y",)), "each column once"),
        (asked(predictors=("x", "x")), "each column once"),
        (asked("knorm"), "did you mean 'k-norm'"),
    ],
)
def test_questions_that_do_not_fit_are_refused_unpaid(question, complaint):
    gate = door()
    with pytest.raises(MethodError, match=complaint):
        gate.ask(question, spend=F(1))
    assert gate.ledger == ()


def test_too_many_columns_are_refused():
    def wide(d, more=""):
        columns = (
            f'[columns.x{j}]\nkind = "continuous"\nlower = 0.0\nupper = 1.0\n{more}'
            for j in range(d + 1)
        )
        return Schema.loads("row_limit = 9\n" + "\n".join(columns))

    def question(d):
        return asked(response="x0", predictors=tuple(f"x{j}" for j in range(1, d + 1)))

    assert priced(wide(100), question(100), F(1)).cells == 5252
    with pytest.raises(MethodError, match="at most 100 predictors"):
        priced(wide(101), question(101), F(1))
    with pytest.raises(MethodError, match="too many to hold"):
        priced(wide(30, "missing = [-1]\n"), question(30), F(1))


# --- noise in place -----------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sanitised_statistics_carry_the_stated_noise(mechanism):
    planned = plan(NormalEquations(1, counted=False), "replace", mechanism, F(2))
    exact = np.broadcast_to(np.arange(4) * 17 * ONE, (40, 250, 4))
    noisy = sanitise(exact, planned, SeededRandomness(4))
    assert noisy.shape == exact.shape
    steps = (noisy - exact / ONE) / float(planned.step)
    assert np.array_equal(steps, np.rint(steps))
    drawn = steps.reshape(-1, 4).astype(np.int64)
    assert noisy.std(axis=(0, 1)) == pytest.approx([planned.stddev] * 4, rel=0.06)
    if mechanism == "k-norm":
        # ‖V‖∞/scale of the continuous law is Gamma(4); steps are a millionth of it.
        found = np.abs(drawn).max(axis=1) / float(planned.distribution.scale)
        fits = [stats.kstest(found * w, stats.gamma(4).cdf).pvalue for w in (1, 0.7, 1.3)]
    else:
        found = drawn.ravel() / float(planned.distribution.scale)
        fits = [stats.kstest(found * w, stats.laplace.cdf).pvalue for w in (1, 0.7, 1.3)]
    assert fits[0] > LEVEL > max(fits[1:])


# --- the gate -----------------------------------------------------------------------------------


def door(schema=SCHEMA, epsilon=2, delta=0, seed=1, rows=ROWS):
    frame = pl.DataFrame(rows, schema_overrides={"y": pl.Int64})
    return open_gate(Table(frame, schema), Budget.of(epsilon, delta), SeededRandomness(seed))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_repetition_of_the_kernel_is_what_the_gate_releases(mechanism):
    gate = door()
    found = gate.ask(asked(mechanism), spend=F(2)).value
    bounds = [(0.0, 4.0), (-1.0, 1.0)]
    z = on_lattice([(0.5, 1.0), (4.0, 0.0), (1.0, -1.0)], bounds)  # the fourth row lacks y
    planned = plan(NormalEquations(1, counted=True), "add_remove", mechanism, F(2))
    again = sanitise(planned.equations.statistics(z[None]), planned, SeededRandomness(1))
    assert np.array_equal(again[0], found.statistics)
    assert (found.columns, found.bounds) == (("x", "y"), tuple(bounds))
    assert found.equations.counted
    assert found.n_rows is None


def test_under_replace_a_record_that_fits_no_state_stands_in_the_middle():
    found = door(public(), epsilon=10**15).ask(asked("functional"), spend=F(10**15)).value
    assert found.n_rows == 4
    assert not found.equations.counted
    # x: −¾, 1, −½; y: 1, 0, −1.
    assert found.statistics == pytest.approx([-0.25, 0, 1.8125, -0.25], abs=1e-5)
    coded = asked("functional", predictors=("x", "missing"))
    found = door(public(), epsilon=10**15).ask(coded, spend=F(10**15)).value
    assert found.n_rows is None
    assert found.statistics[0] == pytest.approx(2)  # one row lacks y, one is missing


@pytest.mark.parametrize("schema", [SCHEMA, public()], ids=RELATIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_step_of_the_ledger_is_paid_before_the_rows_are_asked(mechanism, schema, monkeypatch):
    gate = door(schema)
    paid, sums, recoded = [], Table.sums, Table.recode
    spy = lambda ask: lambda *a: (paid.append(len(gate.ledger)), ask(*a))[1]  # noqa: E731
    monkeypatch.setattr(Table, "sums", spy(sums))
    monkeypatch.setattr(Table, "recode", spy(recoded))
    question = asked(mechanism, predictors=("x", "w"))
    released = gate.ask(question, spend=F(3, 2))
    assert paid == [1, 1]
    planned = priced(schema, question, F(3, 2))
    (entry,) = gate.ledger
    assert (entry.spent, entry.query) == (F(3, 2), "normal equations of y on x, w")
    assert (entry.noise, entry.sensitivity) == (planned.noise, planned.sensitivity)
    assert entry.cells == planned.cells == 8 + (schema is SCHEMA)
    assert (released.noise, released.entry) == (planned.recorded, 1)
    assert entry.mechanism == released.mechanism
    with pytest.raises(InsufficientBudgetError):
        gate.ask(question, spend=F(1))
    assert len(paid) == 2
    assert gate.measured == ()


def test_another_accounting_than_pure_is_refused():
    gate = door(delta=F(1, 10**6))
    with pytest.raises(MethodError, match="pure"):
        gate.ask(asked(), spend=F(1, 100))
    assert gate.ledger == ()


@pytest.mark.parametrize("epsilon", [F(1, 10**5), F(10**15)])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_rows_and_extreme_budgets_work(mechanism, epsilon):
    none = {name: values[:0] for name, values in ROWS.items()}
    gate = door(epsilon=epsilon, rows=none)
    found = gate.ask(asked(mechanism, predictors=("x", "missing")), spend=epsilon)
    assert np.isfinite(found.value.statistics).all()
    assert (np.abs(found.value.statistics).max() < 1e-3) == (epsilon > 1)
