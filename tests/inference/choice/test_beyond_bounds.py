"""Numbers beyond the bounds: counted, said, and refused where answers rest on them."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from schemas import column
from understudy.dp.calibration import noise_of
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.inference import refusals
from understudy.inference.refusals import FALSE_ALARM, RefusedError, beyond, least_certain
from understudy.release.shape import Kind

SCHEMA = us.Schema.loads(
    column("assets", "integer", lower=0, upper=20000, bins=[0, 5000, 10000, 20000])
    + column("income", "integer", lower=0, upper=50000, bins=[0, 10000, 20000, 50000])
    + column("size", "integer", lower=1, upper=5)
    + column("sex", "categorical", levels=["f", "m"])
)


@pytest.fixture(scope="module", autouse=True)
def _its_own_level():
    """Which other tests take a smaller one of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals, "FALSE_ALARM", FALSE_ALARM)
        yield


def people(seed, n):
    """A sixth of assets lies above the bound, and an eighth of sizes; a fifth of incomes on it."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "assets": np.exp(9 + 0.95 * rng.normal(size=n)).round().astype(int),
            "income": np.minimum(np.exp(10 + 0.9 * rng.normal(size=n)), 50_000).astype(int),
            "size": rng.integers(1, 6, n) + (rng.random(n) < 0.5),
            "sex": rng.choice(["f", "m"], n),
        }
    )


@pytest.fixture(scope="module")
def release():
    return us.synthesize(people(1, 6_000), SCHEMA, epsilon=3, delta="1e-6", insecure_noise_seed=1)


CUT_OFF = [
    ("mean", "assets"),
    ("mean", "assets ~ sex"),
    ("total", "assets"),
    ("mean", "log(assets + 1)"),
    ("correlation", "assets + income"),
    ("ols", "income ~ assets"),
    ("ols", "assets ~ sex"),
    ("mean", "size"),
]
RESTING = [
    ("quantile", "assets", 0.95),
    ("quantile", "-assets", 0.02),
    ("proportion", "assets > 30000", 0.5),
    ("proportion", "assets + income > 30000", 0.5),
    ("mean", "{assets > 30000} ~ sex", 0.5),
]


@pytest.mark.parametrize(("kind", "formula"), CUT_OFF)
@pytest.mark.nightly(every=2)
def test_what_rests_on_numbers_beyond_is_about_numbers_that_are_cut_off(release, kind, formula):
    """And says so wherever it is named."""
    name, high = ("size", 5.0) if formula == "size" else ("assets", 20000.0)
    answer = us.analyze(release, kind, formula)
    words = f"{name} above {high:,.0f} counted as {high:,.0f}"
    assert answer.valid
    assert answer.cut_off[name][1] == high
    assert answer.quantity.startswith(f"{kind} of {formula}, with ")
    assert words in answer.quantity
    assert words in str(answer).splitlines()[0]
    assert answer.to_json()["cut_off"][name][1] == high
    said = rf"[Aa]bout (9.\d|1\d) % of the records .*{name} above {high:.0f}"
    assert re.search(said, " ".join(answer.notes))


@pytest.mark.nightly
def test_the_answer_is_right_for_numbers_that_are_cut_off():
    """The mean of assets by sex, cut off at the bound, is covered in nearly all of 40 releases.

    Two intervals of 95 % each: 76 of 80 are expected, fewer than 68 have a probability below 1e-3.
    By day 15 releases: of 30 intervals fewer than 23 have a probability below 1e-3.
    The mean of assets as they are is twice as far off as the intervals reach, and never covered.
    """
    many, covered, plain = people(0, 10**6)["assets"], 0, 0
    cut_mean, plain_mean = many.clip(0, 20_000).mean(), many.mean()
    releases, least = (40, 68) if NIGHT else (15, 23)
    for seed in range(releases):
        rows = people(seed, 3_000)
        made = us.synthesize(rows, SCHEMA, epsilon=3, delta="1e-6", insecure_noise_seed=seed)
        answer = us.analyze(made, "mean", "assets ~ sex")
        lower, upper = answer.pooled.interval()
        assert set(answer.cut_off) == {"assets"}
        covered += int(((lower < cut_mean) & (upper > cut_mean)).sum())
        plain += int(((lower < plain_mean) & (upper > plain_mean)).sum())
    assert covered >= least
    assert plain == 0


def test_a_limit_below_and_numbers_beyond_the_bound_above_are_both_named():
    """A sixth lies above the bound, and nobody near the lower one."""
    rng, n = np.random.default_rng(3), 4_000
    heat = np.where(rng.random(n) < 1 / 6, 150, rng.integers(20, 90, n))
    schema = us.Schema.loads(
        column("heat", "integer", lower=-1000, upper=100)
        + column("sex", "categorical", levels=["f", "m"])
    )
    rows = pl.DataFrame({"heat": heat, "sex": rng.choice(["f", "m"], n)})
    made = us.synthesize(rows, schema, epsilon=3, delta="1e-6", insecure_noise_seed=2)
    answer = us.analyze(made, "mean", "heat ~ sex")
    low, high = answer.cut_off["heat"]
    assert -100 < low < 40
    assert high == 100
    assert f"heat below {low:,.0f} counted as {low:,.0f}" in answer.quantity
    assert "heat above 100 counted as 100" in answer.quantity


@pytest.mark.parametrize(("kind", "formula", "p"), RESTING)
def test_what_asks_about_numbers_beyond_is_refused_and_says_so(release, kind, formula, p):
    said = r"(?s)about (9.\d|1\d) % of the records .* assets above 20000.*wider bounds of assets"
    with pytest.raises(RefusedError, match=said):
        us.analyze(release, kind, formula, probability=p)


@pytest.mark.parametrize(
    ("kind", "formula", "p"), [RESTING[0], pytest.param(*RESTING[2], marks=pytest.mark.nightly)]
)
def test_anyway_they_are_stamped(release, kind, formula, p):
    answer = us.analyze(release, kind, formula, probability=p, anyway=True)
    assert not answer.valid
    assert "not valid" in answer.reason
    assert np.isfinite(answer.pooled.estimate).all()


@pytest.mark.parametrize(
    ("kind", "formula", "p"),
    [
        ("quantile", "assets", 0.5),
        ("quantile", "-assets", 0.5),
        ("proportion", "assets > 7000", 0.5),
        ("proportion", "(assets > 7000) & (income < 9000)", 0.5),
        ("mean", "assets > 15000", 0.5),
        ("mean", "income", 0.5),
        ("table", "sex", 0.5),
        ("proportion", "size", 0.5),
    ],
)
@pytest.mark.nightly(every=2)
def test_what_does_not_is_answered(release, kind, formula, p):
    answer = us.analyze(release, kind, formula, probability=p)
    assert answer.valid
    assert not any("assets" in note and "outside" in note for note in answer.notes)


def test_how_many_there_may_be_is_said_where_they_matter(release):
    """Incomes lie on the bound, and none beyond."""
    notes = " ".join(us.analyze(release, "mean", "income").notes)
    assert "income below 0" in notes
    assert "income above 50000" in notes
    assert "How many there are is not known" not in notes
    tail = us.analyze(release, "quantile", "income", probability=0.99)
    assert tail.valid
    assert any("income above 50000" in note for note in tail.notes)
    middle = us.analyze(release, "quantile", "income")
    assert not any("outside the declared bounds" in note for note in middle.notes)


LAWS = [
    DiscreteGaussian(Fraction(1600)),
    DiscreteGaussian(Fraction(1, 8)),
    DiscreteLaplace(Fraction(30)),
]


@pytest.fixture(scope="module")
def line(release):
    return next(one for one in release.measurements if one.kind is Kind.LINE)


def with_law(line, law):
    noise = noise_of(law)
    parts = {"distribution": noise.distribution, "scale": noise.scale, "stddev": noise.stddev}
    return replace(line, **parts)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("n_lines", [1, 14, 50])
def test_the_level_is_that_of_the_law_for_each_bound(line, law, n_lines):
    least, level = least_certain(with_law(line, law), n_lines), FALSE_ALARM / (2 * n_lines)
    at, below = 1 - law.cdf([least - 1, least - 2])
    assert at <= 1.001 * level
    assert below > level


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_bounds_that_nobody_passes_are_hardly_ever_doubted_in_a_whole_release(line, law):
    """14 lines, 2,000 times: three deviations are passed in 4, 39 and 18 % of these."""
    least, times, n_lines = least_certain(with_law(line, law), 14), 2_000, 14
    drawn = law.sample(times * 2 * n_lines, SeededRandomness(3)).reshape(times, -1)
    doubted = (drawn >= least).any(axis=1).sum()
    # At most 10 are expected; more than 27 have a probability below 1e-5.
    assert doubted <= 27
    assert (drawn > 3 * law.stddev).any(axis=1).mean() > 0.03


def test_all_lines_of_a_release_count(release, line):
    """Three lines; with more of them the same count is no longer more than noise."""
    least = least_certain(line, 3)
    own = replace(line, counts=np.array([*line.counts[:-1], least]))
    assert beyond(own, release)[1].certain
    assert not beyond(replace(own, counts=own.counts - 1), release)[1].certain
    others = [replace(own, columns=(f"other {k}",)) for k in range(11)]
    more = replace(release, measurements=(*release.measurements, *others))
    assert not beyond(own, more)[1].certain


@pytest.mark.parametrize("law", LAWS[::2], ids=str)
@pytest.mark.nightly
def test_what_lies_beyond_is_refused_or_at_most_what_is_said(release, line, law):
    """Whatever the true number, noise leaves a lower bound unrefused in one of 40 cases at most."""
    n, own = release.manifest.n_rows, with_law(line, law)
    for deviations in (0, 1, 3, 4, 6, 10):
        truth, wrong, refused = round(deviations * law.stddev), 0, 0
        for noise in law.sample(400, SeededRandomness(deviations)):
            counts = np.array([*own.counts[:-1], truth + noise])
            above = beyond(replace(own, counts=counts), release)[1]
            refused += above.certain
            wrong += not above.certain and above.most < truth / n
        # At most 10 are expected; more than 27 have a probability below 1e-5.
        assert wrong <= 27
    assert refused == 400


def few(share, seed, epsilon="0.6"):
    """A release of 500 records, a share of which have a size above the bound."""
    rng, n = np.random.default_rng(seed), 500
    size = np.where(rng.random(n) < share, 40, rng.integers(1, 6, n))
    rows = pl.DataFrame({"size": size, "sex": rng.choice(["f", "m"], n)})
    schema = us.Schema(columns={name: SCHEMA.columns[name] for name in rows.columns})
    return us.synthesize(rows, schema, epsilon=epsilon, delta="1e-6", insecure_noise_seed=seed)


def is_cut_off(release):
    """Whether the mean is that of sizes cut off at a bound."""
    answer = us.analyze(release, "mean", "size")
    assert answer.valid
    return "counted as" in answer.quantity


def refusal(release):
    """Of the 99 % quantile, which may lie beyond the bound; None if it is answered."""
    try:
        assert us.analyze(release, "quantile", "size", probability=0.99).valid
    except RefusedError as error:
        return error
    return None


@pytest.mark.nightly
def test_where_too_few_are_counted_to_tell_nothing_is_trusted():
    """If a sixth lies beyond, no release has the plain mean or quantile; if nobody does, some."""
    beyond = [few(1 / 6, seed) for seed in range(12)]
    assert all(map(is_cut_off, beyond))
    assert all(refusal(release) is not None for release in beyond)
    clean = [few(0.0, seed) for seed in range(12)]
    assert not all(map(is_cut_off, clean))
    refused = {seed: error for seed, made in enumerate(clean) if (error := refusal(made))}
    assert 0 < len(refused) < 12
    for seed, error in refused.items():
        assert "may have size" in error.reason
        assert error.advice.kind == "count"
        assert refusal(few(0.0, seed, error.advice.epsilon)) is None
