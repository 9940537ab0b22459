"""Coefficients from noisy normal equations: layout, repair, units, formulas."""

from fractions import Fraction as F

import numpy as np
import pytest

from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.inference.private_regression import (
    coefficients,
    in_units,
    matrices,
    read_formula,
    require_repair,
    solve,
)
from understudy.mechanisms.regression import ONE, NormalEquations, on_lattice, plan, sanitise


def sample(repetitions, n, d, seed=1):
    """Records within bounds far from [−1, 1], shape (repetitions, n, d + 1), and the bounds."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (repetitions, n, d)) * 50 + 1000
    y = 3 + x @ np.linspace(0.5, -0.25, d) + rng.normal(0, 20, (repetitions, n))
    bounds = [(940.0, 1070.0)] * d + [(float(y.min()) - 5, float(y.max()) + 9)]
    return np.concatenate([x, y[..., None]], axis=-1), bounds


def least_squares(records):
    """Coefficients of each repetition by another route."""
    found = []
    for rows in records:
        x = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
        found.append(np.linalg.lstsq(x, rows[:, -1], rcond=None)[0])
    return np.array(found)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_matrix_is_that_of_products_of_the_columns(d, counted):
    values = np.random.default_rng(2).integers(-(2**15), 2**15, (3, 9, d + 1))
    equations = NormalEquations(d, counted)
    gram, cross = matrices(equations.statistics(values) / ONE, equations, 9)
    scaled = values / 2**15
    x = np.concatenate([np.ones((3, 9, 1)), scaled[..., :-1]], axis=-1)
    assert gram == pytest.approx(np.swapaxes(x, 1, 2) @ x)
    assert cross == pytest.approx((np.swapaxes(x, 1, 2) @ scaled[..., -1:])[..., 0])
    assert np.array_equal(gram, np.swapaxes(gram, 1, 2))


@pytest.mark.parametrize("mechanism", ["functional", "k-norm"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("repair", ["ridge", "trim"])
@pytest.mark.nightly(diagonal=True)
def test_without_noise_to_speak_of_coefficients_are_those_of_least_squares(
    mechanism, relation, repair
):
    records, bounds = sample(4, 500, 3)
    equations = NormalEquations(3, counted=relation == "add_remove")
    exact = equations.statistics(on_lattice(records, bounds))
    errors = []
    for epsilon in (F(100), F(10**4), F(10**15)):
        planned = plan(equations, relation, mechanism, epsilon)
        found = coefficients(
            sanitise(exact, planned, SeededRandomness(1)),
            equations,
            bounds,
            stddev=planned.stddev,
            n_rows=500,
            repair=repair,
        )
        assert not found.repaired.any()
        errors.append(np.abs(found.coefficients[:, 1:] - least_squares(records)[:, 1:]).max())
    assert errors[0] > 10 * errors[1] > 20 * errors[2]  # the last is that of the lattice
    assert found.coefficients == pytest.approx(least_squares(records), rel=1e-4, abs=1e-4)


def test_each_repetition_is_solved_by_itself():
    rng = np.random.default_rng(3)
    equations = NormalEquations(2, counted=True)
    statistics = rng.normal(0, 10, (2, 5, equations.size))
    bounds = [(0.0, 4.0), (-3.0, 1.0), (0.0, 10.0)]
    for repair in ("ridge", "trim"):
        together = coefficients(statistics, equations, bounds, stddev=3.0, repair=repair)
        assert together.coefficients.shape == (2, 5, 3)
        assert together.repaired.any()
        one = coefficients(statistics[1, 2], equations, bounds, stddev=3.0, repair=repair)
        assert one.coefficients == pytest.approx(together.coefficients[1, 2])
        assert one.repaired == together.repaired[1, 2]


# --- repair -------------------------------------------------------------------------------------


def rotated(*eigenvalues):
    q, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(len(eigenvalues),) * 2))
    return q @ np.diag(eigenvalues) @ q.T, q


def test_a_positive_definite_matrix_is_left_as_it_is():
    gram, _ = rotated(5.0, 2.0, 0.1)
    b = np.array([1.0, -2.0, 3.0])
    for repair in ("ridge", "trim"):
        found = solve(gram, b, stddev=10.0, repair=repair)
        assert found.coefficients == pytest.approx(np.linalg.solve(gram, b))
        assert not found.repaired


def test_a_ridge_is_four_standard_deviations_and_what_it_does_not_mend_is_trimmed():
    b = np.array([1.0, -2.0, 3.0])
    gram, _ = rotated(5.0, 2.0, -3.0)
    found = solve(gram, b, stddev=1.0, repair="ridge")
    assert found.repaired
    assert found.coefficients == pytest.approx(np.linalg.solve(gram + 4 * np.eye(3), b))
    gram, q = rotated(5.0, 2.0, -30.0)
    found = solve(gram, b, stddev=1.0, repair="ridge")
    assert found.coefficients == pytest.approx(q[:, :2] @ (q[:, :2].T @ b / [9.0, 6.0]))


def test_trimming_minimises_over_the_directions_that_are_left():
    gram, q = rotated(5.0, 2.0, -3.0)
    b = np.array([1.0, -2.0, 3.0])
    found = solve(gram, b, stddev=1.0, repair="trim")
    assert found.repaired
    assert found.coefficients == pytest.approx(q[:, :2] @ (q[:, :2].T @ b / [5.0, 2.0]))
    for eigenvalues in [(-1.0, -2.0), (0.0, 0.0)]:
        none = solve(np.diag(eigenvalues), b[:2], stddev=1.0, repair="trim")
        assert none.repaired
        assert not none.coefficients.any()


def test_an_eigenvalue_that_is_zero_but_for_rounding_counts_as_zero():
    x = np.array([[1.0, 0.3, 0.6], [1.0, -0.7, -1.4], [1.0, 0.1, 0.2], [1.0, 0.9, 1.8]])
    found = solve(x.T @ x, x.T @ x[:, 1], stddev=1.0, repair="trim")
    assert found.repaired
    assert x @ found.coefficients == pytest.approx(x[:, 1])


def test_the_middle_of_the_bounds_is_what_no_slope_and_no_intercept_mean():
    assert in_units([0.0, 0.0], [(0.0, 4.0), (10.0, 30.0)]).tolist() == [20.0, 0.0]
    # y~ = ½ + x~ with y = 20 + 10·y~ and x = 2 + 2·x~: y = 25 + 5·(x − 2).
    assert in_units([0.5, 1.0], [(0.0, 4.0), (10.0, 30.0)]).tolist() == [15.0, 5.0]


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ("y ~ x", ("y", ("x",))),
        (" y~x1 +  x.2+z ", ("y", ("x1", "x.2", "z"))),
        ("größe ~ `a ~ b` + `1`", ("größe", ("a ~ b", "1"))),
    ],
)
def test_formulas_are_sums_of_names(formula, read):
    assert read_formula(formula) == read


@pytest.mark.parametrize(
    "formula", ["", "y", "y ~", "~ x", "y ~ 1", "y ~ x + 0", "y ~ x:z", "y ~ log(x)", "y ~ x z"]
)
def test_other_formulas_are_refused(formula):
    with pytest.raises(InferenceError, match="cannot be read"):
        read_formula(formula)


def test_an_unknown_repair_is_refused():
    require_repair("trim")
    with pytest.raises(InferenceError, match="did you mean 'ridge'"):
        require_repair("rigde")
