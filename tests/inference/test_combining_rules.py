"""Combining rules: worked examples, hand formulas, properties, refusals, coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from night import NIGHT
from understudy.errors import InferenceError
from understudy.inference.combining import (
    covariance_between,
    full_variance,
    partial_variance,
    pool,
    single_variance,
)

MANY = settings(max_examples=40 if NIGHT else 12, deadline=None, derandomize=True)
NUMBER = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 6))
POSITIVE = st.floats(1e-3, 1e3)
RULES = ["partial", "full", "single"]


@st.composite
def sets(draw, k=None):
    """Estimates (m, k) and covariances (m, k, k) of m sets, m = 2 … 50."""
    m, k = draw(st.integers(2, 50)), k or draw(st.integers(1, 4))
    q = draw(arrays(float, (m, k), elements=NUMBER))
    factor = draw(arrays(float, (k, k), elements=st.floats(-3, 3).map(lambda x: round(x, 3))))
    spread = draw(arrays(float, (m,), elements=st.floats(0.5, 2)))
    return q, spread[:, None, None] * (factor @ factor.T + np.eye(k))


def combine(rule, q, u, noise=0.25, **options):
    """`pool` with the noise that only one rule wants: the same in each quantity, independent."""
    known = noise * np.eye(1 if np.ndim(q) == 1 else np.shape(q)[1])
    return pool(q, u, rule=rule, noise_variance=known if rule == "single" else None, **options)


# --- worked examples and hand formulas ----------------------------------------------------------


def test_worked_example_of_reiter():
    pooled = pool([1, 2, 3], [0.5, 0.5, 0.5])
    assert pooled.estimate == pytest.approx([2])
    assert round(pooled.covariance[0, 0], 5) == 0.83333
    assert pooled.df == pytest.approx([12.5])
    assert pooled.synthesis_share == pytest.approx([0.4])
    assert (pooled.rule, pooled.sets, pooled.names, pooled.notes) == ("partial", 3, ("q1",), ())


def test_worked_example_of_raghunathan():
    pooled = pool([1, 2, 3], [0.5, 0.5, 0.5], rule="full")
    assert round(pooled.covariance[0, 0], 5) == 0.83333
    assert pooled.df == pytest.approx([0.78125])
    assert np.isnan(pooled.synthesis_share[0])
    sized = pool([1, 2, 3], [0.5] * 3, rule="full", n_synthetic=50, n_original=100)
    assert sized.covariance == pytest.approx(pooled.covariance)
    assert sized.synthesis_share == pytest.approx([1 - 0.25 / (5 / 6)])


def test_single_adds_the_noise_and_the_draw():
    pooled = pool([1, 2, 3], [0.5] * 3, rule="single", noise_variance=1.5)
    assert pooled.covariance[0, 0] == pytest.approx(0.5 + 1.5 + 1 / 3)
    assert pooled.df == pytest.approx([2 * (1 + 3 * 2.0) ** 2])
    assert pooled.synthesis_share == pytest.approx([(1.5 + 1 / 3) / (2 + 1 / 3)])
    one = pool([[1.0, 5.0]], [[0.5, 2.0]], rule="single", noise_variance=[0.25, 0])
    assert np.diag(one.covariance) == pytest.approx([0.75, 2.0])
    assert np.isinf(one.df).all()
    assert one.sets == 1
    assert one.interval(0.95)[1] == pytest.approx([1, 5] + 1.959964 * np.sqrt([0.75, 2]), rel=1e-6)


def test_full_replaces_a_variance_that_is_not_positive():
    pooled = pool([1, 1.1, 1.2], [0.5] * 3, rule="full", names=["mean"])
    assert pooled.covariance[0, 0] == pytest.approx(0.5)
    assert np.isinf(pooled.df[0])
    assert "mean" in pooled.notes[0]
    assert "taken as equal" in pooled.notes[0]
    assert pooled.to_json()["notes"] == list(pooled.notes)
    sized = pool([1, 1.1, 1.2], [0.5] * 3, rule="full", n_synthetic=200, n_original=1000)
    assert sized.covariance[0, 0] == pytest.approx(0.1)
    assert "0.2" in sized.notes[0]


def test_sets_of_another_size_have_another_sampling_variance():
    sizes = {"n_synthetic": 300, "n_original": 100}
    assert pool([1, 2, 3], [0.5] * 3, **sizes).covariance[0, 0] == pytest.approx(1.5 + 1 / 3)
    single = pool([1], [0.5], rule="single", noise_variance=1, **sizes)
    assert single.covariance[0, 0] == pytest.approx(2.5)


def test_interval_and_pvalue_against_the_t_table():
    pooled = pool([1, 2, 3], [0.5] * 3)
    lower, upper = pooled.interval(0.9)
    reach = stats.t.ppf(0.95, 12.5) * np.sqrt(5 / 6)
    assert (lower[0], upper[0]) == pytest.approx((2 - reach, 2 + reach))
    assert pooled.pvalue[0] == pytest.approx(2 * stats.t.sf(2 / np.sqrt(5 / 6), 12.5))
    with pytest.raises(InferenceError, match="between 0 and 1"):
        pooled.interval(95)


@pytest.mark.parametrize("m", range(2, 51))
def test_equal_estimates_give_the_normal(m):
    pooled = pool(np.full(m, 0.1), np.full(m, 0.3))
    assert np.isinf(pooled.df[0])
    assert pooled.covariance[0, 0] == pytest.approx(0.3)
    assert pooled.synthesis_share[0] == 0
    assert pooled.estimate[0] == 0.1
    certain = pool(np.full(m, 0.1), np.zeros(m))
    assert certain.covariance[0, 0] == 0
    assert certain.interval()[0] == certain.interval()[1] == 0.1


def test_no_sampling_variance_leaves_m_minus_1_degrees_of_freedom():
    pooled = pool([1, 2, 3], [0, 0, 0])
    assert pooled.df == pytest.approx([2])
    assert pooled.synthesis_share == pytest.approx([1])


@MANY
@given(sets())
def test_hand_formulas(both):
    q, u = both
    m, k = q.shape
    mean = sum(q) / m
    b = sum(np.outer(row - mean, row - mean) for row in q) / (m - 1)
    assert covariance_between(q) == pytest.approx(b, abs=1e-6)
    pooled = pool(q, u)
    assert pooled.estimate == pytest.approx(mean, abs=1e-9)
    assert pooled.covariance == pytest.approx(sum(u) / m + b / m, rel=1e-6, abs=1e-6)
    for j in range(k):
        within, spread = sum(u[:, j, j]) / m, b[j, j]
        if spread > 1e-6:
            df = (m - 1) * (1 + m * within / spread) ** 2
            assert pooled.df[j] == pytest.approx(df, rel=1e-6)


# --- properties ---------------------------------------------------------------------------------


@MANY
@given(sets(), st.sampled_from(RULES), st.randoms(use_true_random=False))
def test_order_of_sets_does_not_matter(both, rule, random):
    q, u = both
    order = random.sample(range(len(q)), len(q))
    same, other = combine(rule, q, u), combine(rule, q[order], u[order])
    size = 1 + np.abs(q).max()
    assert other.estimate == pytest.approx(same.estimate, abs=1e-12 * size)
    if not same.notes and not other.notes:
        assert np.diag(other.covariance) == pytest.approx(
            np.diag(same.covariance), rel=1e-9, abs=1e-9 * size**2
        )


@MANY
@given(sets(), st.sampled_from(RULES), st.integers(-8, 8), NUMBER)
@pytest.mark.nightly
def test_units_and_origin_do_not_matter(both, rule, power, shift):
    q, u = both
    c = 2.0**power  # exact in floating point, so that no verdict on the sign of T can flip
    same = combine(rule, q, u)
    scaled = combine(rule, c * q, c**2 * u, noise=0.25 * c**2)
    assert scaled.estimate == pytest.approx(c * same.estimate)
    assert scaled.covariance == pytest.approx(c**2 * same.covariance)
    assert scaled.df == pytest.approx(same.df)
    assert scaled.pvalue == pytest.approx(same.pvalue)
    moved = combine(rule, q + shift, u)
    assert moved.estimate == pytest.approx(same.estimate + shift, abs=1e-9)


@MANY
@given(sets(k=1), st.sampled_from(RULES))
def test_scalar_is_a_vector_of_one(both, rule):
    q, u = both
    shapes = [
        combine(rule, q[:, 0], u[:, 0, 0]),
        combine(rule, q, u[:, :, 0]),
        combine(rule, q, u),
    ]
    for other in shapes[1:]:
        assert other.to_json() == shapes[0].to_json()
        assert (other.covariance == shapes[0].covariance).all()


@MANY
@given(sets(), st.sampled_from(RULES))
def test_each_quantity_is_pooled_as_if_alone(both, rule):
    q, u = both
    joint = combine(rule, q, u)
    for j in range(q.shape[1]):
        alone = combine(rule, q[:, j], u[:, j, j])
        assert alone.estimate[0] == pytest.approx(joint.estimate[j])
        assert alone.covariance[0, 0] == pytest.approx(joint.covariance[j, j])
        assert alone.df[0] == pytest.approx(joint.df[j])


@MANY
@given(sets(), st.sampled_from(RULES))
def test_totals_are_covariances(both, rule):
    q, u = both
    total = combine(rule, q, u).covariance
    assert total == pytest.approx(total.T)
    assert np.linalg.eigvalsh(total)[0] >= -1e-9 * np.abs(total).max()


@MANY
@given(sets(k=3), st.sampled_from([None, 0.5, 2.0]))
def test_one_repetition_of_the_kernels_equals_pool(both, ratio):
    q, u = both
    variances = np.diagonal(u, axis1=1, axis2=2)
    many_q, many_u = (
        np.stack([q[::-1], q, q + 1]),
        np.stack([variances[::-1], variances, variances]),
    )
    sizes = {} if ratio is None else {"n_synthetic": ratio, "n_original": 1}
    kernels = {
        "partial": partial_variance(many_q, many_u, size_ratio=ratio),
        "full": full_variance(many_q, many_u, size_ratio=ratio),
        "single": single_variance(many_q, many_u, 0.25, size_ratio=ratio),
    }
    for rule, totals in kernels.items():
        pooled = combine(rule, q, u, **sizes)
        assert (totals.estimate[1] == pooled.estimate).all()
        assert totals.variance[1] == pytest.approx(np.diag(pooled.covariance), rel=1e-12)
        assert totals.df[1] == pytest.approx(pooled.df, rel=1e-12)
        assert totals.share[1] == pytest.approx(pooled.synthesis_share, nan_ok=True)


def test_covariances_are_not_invented_where_only_variances_are_given():
    pooled = pool([[1, 2], [2, 4], [4, 4]], [[1, 1], [1, 1], [1, 1]])
    assert np.isfinite(np.diag(pooled.covariance)).all()
    assert np.isnan(pooled.covariance[0, 1])
    fixed = pool([[1, 2], [2, 2], [4, 2]], [[1, 0], [1, 0], [1, 0]])
    assert fixed.covariance[0, 1] == 0


# --- refusals -----------------------------------------------------------------------------------

REFUSED = [
    (([1], [1]), {}, "at least 2 sets"),
    (([1], [1]), {"rule": "full"}, "at least 2 sets"),
    (([1], [1]), {"rule": "single"}, "noise_variance"),
    (([1, 2], [1, 1]), {"rule": "single"}, "noise_variance"),
    (([1, 2], [1, 1]), {"noise_variance": 1}, "twice"),
    (([1, 2], [1, 1]), {"rule": "partail"}, "Did you mean 'partial'"),
    (([1, 2], [1, 1]), {"rule": "zzz"}, "partial, full, mi, single"),
    (([1, 2], [1, -1]), {}, "negative"),
    (([1, 2], [1, 1, 1]), {}, "shape"),
    (([[1, 2], [3, 4]], [1, 1]), {}, "shape"),
    (([[1, 2], [3]], [1, 1]), {}, "array of numbers"),
    ((["a", "b"], [1, 1]), {}, "array of numbers"),
    (([1, np.nan], [1, 1]), {}, "NaN"),
    (([1, 2], [1, np.inf]), {}, "infinity"),
    (([], []), {}, "shape"),
    ((3.0, 1.0), {}, "shape"),
    (([[1, 2]] * 2, [[[1, 0], [1, 1]]] * 2), {}, "symmetric"),
    (([[1, 2]] * 2, [[[1, 2], [2, 1]]] * 2), {}, "linear combination"),
    (([[1, 2]] * 2, [[[-1, 0], [0, 1]]] * 2), {}, "negative"),
    (([1, 2], [1, 1]), {"names": ["a", "b"]}, "1 names"),
    (([1, 2], [1, 1]), {"n_synthetic": 5}, "both"),
    (([1, 2], [1, 1]), {"n_synthetic": 5, "n_original": 0}, "positive"),
    (([1], [1]), {"rule": "single", "noise_variance": -1}, "negative"),
    (([1], [1]), {"rule": "single", "noise_variance": [1, 1]}, "noise_variance"),
    (([1], [1]), {"rule": "single", "noise_variance": np.nan}, "NaN"),
]


@pytest.mark.parametrize(("both", "options", "message"), REFUSED)
def test_refusals(both, options, message):
    with pytest.raises(InferenceError, match=message):
        pool(*both, **options)
