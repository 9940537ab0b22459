"""Multiple imputation: not private and stamped so; proper sets, relations kept."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy.errors import InferenceError, MethodError, NotPrivateError
from understudy.papers.imputation import ImputedModel
from understudy.papers.imputation_draws import Imputation
from understudy.schema import Domain, Schema

pytestmark = pytest.mark.statistical

COLUMNS = "".join(
    f'[columns.{name}]\nkind = "categorical"\nlevels = ["0", "1", "2"]\nreviewed = true\n'
    for name in "ab"
)
GIVEN = {"method": "multiple-imputation", "epsilon": 1, "frame": "polars"}
DOMAIN = Domain((2, 3))
LAW = np.array([0.2, 0.1, 0.1, 0.1, 0.15, 0.35])
FAST = Imputation(sweeps=4, penalty=0.001)


def schema(n):
    return Schema.loads(f'rows = "public"\nn_rows = {n}\n{COLUMNS}')


def frame(n, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 2, n))
    return pl.DataFrame({"a": a.astype(str), "b": b.astype(str)})


def model(n, rng, imputation=FAST):
    counts = rng.multinomial(n, LAW)
    return ImputedModel(DOMAIN, np.flatnonzero(counts), counts[counts > 0], imputation)


def test_it_is_refused_without_permission_and_before_the_rows_are_read():
    with pytest.raises(NotPrivateError, match="allow_nonprivate"):
        us.synthesize(object(), schema(10), **GIVEN)


def test_sets_are_stamped_proper_and_pooled_as_such():
    release = us.synthesize(frame(120), schema(120), sets=3, allow_nonprivate=True, **GIVEN)
    assert release.guarantee.kind == "none"
    assert release.manifest.sets_kind == "posterior"
    assert {one.kind for one in release.measurements} == {"exact"}
    assert not any(one.counts.size or one.totals for one in release.measurements)
    assert us.analyze(release, "proportion", "a").pooled.rule == "partial"
    with pytest.raises(InferenceError, match="regressions with a penalty"):
        us.analyze(release, "proportion", "a ~ b")
    same = [float((table["a"] == table["b"]).mean()) for table in release.tables]
    assert min(same) > 0.6  # of independent columns a third


def test_too_many_cells_are_refused_in_the_plan():
    column = 'kind = "integer"\nlower = 0\nupper = 99\nbins = 100\nreviewed = true\n'
    wide = Schema.loads("".join(f"[columns.c{j}]\n{column}" for j in range(10)))
    with pytest.raises(MethodError, match="2\\^62"):
        us.plan(wide, **{k: v for k, v in GIVEN.items() if k != "frame"})


def test_a_saturated_regression_gives_the_table_back():
    """Two columns and next to no penalty: every cell is as likely as among the rows (χ² 10⁻⁶)."""
    counts = np.array([300, 150, 150, 150, 225, 525])
    one = ImputedModel(DOMAIN, np.arange(6), counts, Imputation(sweeps=6, penalty=1e-6))
    rng, found, n = np.random.default_rng(1), np.zeros(6), 1500
    for _ in range(20):
        a, b = one.sample(n, rng).states
        found += np.bincount(3 * a + b, minlength=6)
    # Parameters of a set vary as much as a sample does, so its counts have twice the variance.
    assert stats.chi2.sf(((found - 20 * counts) ** 2 / (2 * 20 * counts)).sum(), 5) > 1e-6


@pytest.mark.nightly
def test_parameters_differ_between_sets_by_their_posterior():
    """Variance of a share between sets: that of the draws, and about as much of the parameters.

    150 sets: a ratio of 2 leaves (1.3, 2.9) with a probability of 0.06 %, one of 1 is there with
    0.8 %.
    """
    rng = np.random.default_rng(2)
    one = model(400, rng)
    shares = [one.sample(400, rng).states[0].mean() for _ in range(150)]
    share = np.mean(shares)
    assert 1.3 < np.var(shares, ddof=1) / (share * (1 - share) / 400) < 2.9


@pytest.mark.nightly
def test_intervals_of_pooled_shares_cover():
    """60 tables, three sets each: fewer than 50 covered has a probability of 3·10⁻⁴ at 95 %."""
    rng, truth, covered = np.random.default_rng(3), LAW[2] + LAW[5], 0
    for _ in range(60):
        one = model(250, rng)
        q = np.array([(one.sample(250, rng).states[1] == 2).mean() for _ in range(3)])
        within, between = np.mean(q * (1 - q)) / 249, q.var(ddof=1)
        total = within + between / 3
        degrees = 2 * (total / (between / 3 + 1e-12)) ** 2
        covered += abs(q.mean() - truth) <= stats.t.ppf(0.975, degrees) * np.sqrt(total)
    assert covered >= 50


def test_no_rows_give_uniform_records():
    none = np.zeros(0, dtype=np.int64)
    a, b = ImputedModel(DOMAIN, none, none, FAST).sample(600, np.random.default_rng(4)).states
    assert np.bincount(3 * a + b, minlength=6) == pytest.approx(np.full(6, 100), abs=50)
