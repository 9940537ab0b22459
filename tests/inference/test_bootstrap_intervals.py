"""Bootstrap intervals: against their definition, and against what they are for."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.errors import InferenceError
from understudy.inference.bootstrap import (
    INTERVALS,
    MOST_FAILED,
    Outcome,
    Replicates,
    analysis_of,
    doubts,
    ends,
    pvalues,
    require_repeats,
    summarise_replicates,
)
from understudy.inference.estimators import Question
from understudy.inference.rules import merged_columns
from understudy.workflow.analyze import World, bootstrap, replicate, replicate_some, replicates

pytestmark = pytest.mark.statistical


@pytest.fixture
def some():
    """Replicates of two quantities, the second with an error that goes with it."""
    rng = np.random.default_rng(1)
    estimates = np.exp(rng.normal(size=(199, 2)))
    return Replicates(estimates, 0.5 * estimates, np.array([1.0, 1.2]), np.array([0.4, 0.3]))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_ends_are_those_of_order_statistics(some, level):
    """With 199 replicates the p-quantile is the 200·p-th of them."""
    estimate = np.array([0.9, 1.5])
    low, high = (round(200 * p) - 1 for p in ((1 - level) / 2, (1 + level) / 2))
    moved = np.sort(some.estimates - some.truth, axis=0)
    units = np.sort((some.estimates - some.truth) / some.stderrs, axis=0)
    expected = {
        "basic": (estimate - moved[high], estimate - moved[low]),
        "percentile": (estimate + moved[low], estimate + moved[high]),
        "studentised": (estimate - units[high] * some.stderr, estimate - units[low] * some.stderr),
    }
    for interval in INTERVALS:
        found = ends(estimate, some, interval, level)
        np.testing.assert_allclose(found, expected[interval])


@pytest.mark.parametrize("interval", INTERVALS)
def test_a_pvalue_is_the_level_at_which_0_falls_out(some, interval):
    """Just above and below the level 1 - p, for zeros all over the replicates."""
    for shift in np.linspace(-2, 3, 17):
        estimate = np.array([shift, shift])
        p = pvalues(estimate, some, interval)
        for k in range(2):
            if not 2 / 200 < p[k] < 1:
                continue
            inside, outside = (
                ends(estimate, some, interval, 1 - p[k] + step) for step in (0.01, -0.0101)
            )
            assert inside[0][k] <= 0 <= inside[1][k]
            assert not outside[0][k] < 0 < outside[1][k]


def test_kernels_take_repetitions(some):
    rng = np.random.default_rng(2)
    three = Replicates(
        rng.normal(size=(3, 99, 2)),
        rng.random((3, 99, 2)),
        rng.normal(size=(3, 2)),
        rng.random((3, 2)),
    )
    estimate = rng.normal(size=(3, 2))
    for interval in INTERVALS:
        together = ends(estimate, three, interval, 0.9)
        tails = pvalues(estimate, three, interval)
        for k in range(3):
            one = Replicates(*(part[k] for part in vars(three).values()))
            alone = ends(estimate[k], one, interval, 0.9)
            np.testing.assert_array_equal([part[k] for part in together], alone)
            np.testing.assert_array_equal(tails[k], pvalues(estimate[k], one, interval))


def test_coverage_where_the_world_is_the_real_one():
    """θ̂ - θ has the law of θ* - θ_M, with bias and skewness: 4,000 repetitions of 99 replicates.

    The exact coverage of basic and studentised is then 90 %; the percentile interval, which does
    not take the bias off, covers less. False alarm below 10⁻⁵ (4.5 standard errors).
    """
    rng = np.random.default_rng(3)
    reps, repeats = 4_000, 99

    def draw(*shape):
        return 0.6 + rng.gamma(4.0, 0.25, size=shape) - 1.0

    truth = np.zeros((reps, 1))
    own = draw(reps, 1)
    world = Replicates(
        draw(reps, repeats, 1), np.ones((reps, repeats, 1)), truth, np.ones((reps, 1))
    )
    covered = {}
    for interval in INTERVALS:
        low, high = ends(own, world, interval, 0.9)
        covered[interval] = float(((low <= 0) & (high >= 0)).mean())
    reach = 4.5 * np.sqrt(0.9 * 0.1 / reps)
    assert abs(covered["basic"] - 0.9) < reach
    assert abs(covered["studentised"] - 0.9) < reach
    assert covered["percentile"] < 0.9 - 3 * reach


def test_what_is_reported(some):
    found = summarise_replicates(("a", "b"), np.array([1.0, 2.0]), some, interval="basic", sets=1)
    np.testing.assert_allclose(found.stderr, some.estimates.std(axis=0, ddof=1))
    np.testing.assert_allclose(found.estimated_bias, some.estimates.mean(axis=0) - some.truth)
    np.testing.assert_allclose(found.covariance, np.cov(some.estimates.T))
    sampling = (some.stderrs**2).mean(axis=0) / found.stderr**2
    np.testing.assert_allclose(found.synthesis_share, np.clip(1 - sampling, 0, 1))
    term = found.to_json(0.9)["terms"][1]
    assert term["bias"] == found.estimated_bias[1]
    assert (term["lower"], term["upper"]) == tuple(end[1] for end in found.interval(0.9))


def test_too_few_replicates_for_a_level_are_refused(some):
    require_repeats(39, 0.95)
    with pytest.raises(InferenceError, match=r"at least 39 replicates, got 38"):
        require_repeats(38, 0.95)
    with pytest.raises(InferenceError, match="between 0 and 1"):
        require_repeats(100, 1.0)


def test_an_error_of_0_cannot_be_divided_by(some):
    broken = replace(some, stderrs=np.zeros_like(some.stderrs))
    with pytest.raises(InferenceError, match="take interval='basic'"):
        summarise_replicates(("a", "b"), np.ones(2), broken, interval="studentised", sets=1)


# --- of releases --------------------------------------------------------------------------------

SMALL = (
    'rows = "private"\nrow_limit = 1000\n'
    + column("sex", "categorical", levels=["f", "m"])
    + column("kids", "integer", lower=0, upper=3, bins=4)
    + column("job", "categorical", levels=["a", "b", "c"])
)
N = 400


@pytest.fixture(scope="module")
def release():
    """Makes a release: `release(method, …)`. A release is frozen, so that tests may share it."""
    made = {}

    def release(*which, **more):
        key = repr((which, sorted(more.items())))
        if key not in made:
            made[key] = make(*which, **more)
        return made[key]

    def make(method="laplace", sets=1, seed=1, **more):
        rng = np.random.default_rng(seed)
        sex = rng.choice(2, N)
        rows = pl.DataFrame(
            {
                "sex": np.array(["f", "m"])[sex],
                "kids": rng.binomial(3, 0.3 + 0.2 * sex),
                "job": rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2]),
            }
        )
        return us.synthesize(
            rows, us.Schema.loads(SMALL), method=method, sets=sets, insecure_noise_seed=seed,
            **{"epsilon": 5} | more,
        )  # fmt: skip

    return release


def ask(release, kind="mean", formula="kids", **more):
    few = {"repeats": 9, "level": 0.8}  # as few as an interval of that level needs
    return us.analyze(release, kind, formula, uncertainty="bootstrap", **few | more)


QUESTIONS = [
    ("mean", "kids"),
    ("mean", "kids ~ sex"),
    ("proportion", "job"),
    ("table", "sex + job"),
    ("ols", "kids ~ sex"),
    ("logit", "sex ~ kids"),
    ("poisson", "kids ~ sex"),
]


@pytest.mark.parametrize(("kind", "formula"), QUESTIONS)
@pytest.mark.nightly(every=7)
def test_every_kind_can_be_asked(release, kind, formula):
    one = release()
    found = ask(one, kind, formula)
    assert found.valid
    plain = us.analyze(one, kind, formula, anyway=True).pooled
    assert found.pooled.names == plain.names
    if not found.kind.startswith(("mean", "proportion", "table")):  # those come from noisy counts
        np.testing.assert_array_equal(found.pooled.estimate, plain.estimate)
    assert (found.pooled.stderr >= 0).all()
    assert str(found)


def mean_of_kids(frame):
    return {"kids": frame["kids"].mean()}, [frame["kids"].var() / len(frame)]


@pytest.mark.nightly
def test_a_function_can_be_asked(release):
    one = release()
    by_function, by_name = ask(one, mean_of_kids, "kids"), ask(one, "mean", "kids")
    np.testing.assert_allclose(by_function.pooled.stderr, by_name.pooled.stderr)


@pytest.mark.nightly
def test_the_error_holds_noise_and_sampling(release):
    """The mean of kids over fresh samples and noise has the deviation that is stated, within 40 %.

    That is 4 standard errors of a deviation from 60 releases: false alarm below 10⁻³, seed fixed.
    """
    means = [ask_mean(release(seed=k)) for k in range(60)]
    stated = ask(release(seed=99), repeats=99).pooled.stderr[0]
    assert stated == pytest.approx(np.std(means, ddof=1), rel=0.4)
    naive = us.analyze(release(seed=99), "ols", "kids ~ 1", anyway=True).pooled.stderr[0]
    assert naive < 0.75 * stated


def ask_mean(release):
    return release.tables[0].get_column("kids").mean()


@pytest.mark.parametrize(
    "how", [{"sets": 1}, {"sets": 3}, {"sets": 3, "options": {"sets": "split"}}]
)
@pytest.mark.nightly(every=4)
def test_replicates_are_made_as_the_release(release, how):
    found = ask(release("independent", **how))
    assert found.pooled.sets == how["sets"]
    assert found.valid


def test_replicates_follow_from_the_seed_and_their_number(release):
    one = release()
    question = Question.of("mean", "kids", one.schema)
    from understudy.workflow.analyze import replica_gate

    world = World.of(one, [question], replica_gate, seed=5)
    together = replicates(world, 6).replicates
    apart = [*replicate_some(world, [0, 1]), *replicate_some(world, range(2, 6))]
    for a, b in zip(together, apart, strict=True):
        np.testing.assert_array_equal(a[0].estimate, b[0].estimate)
    other = World.of(one, [question], replica_gate, seed=6)
    assert replicate(other, 0)[0].estimate != together[0][0].estimate
    assert len({float(a[0].estimate[0]) for a in together}) > 1


def test_a_lambda_is_not_sent_to_other_processes(release):
    with pytest.raises(InferenceError, match="take workers=1"):
        ask(release(), lambda frame: ([frame["kids"].mean()], [1.0]), "kids", workers=2)


# --- refusals -----------------------------------------------------------------------------------


def refused(release, *arguments, **more):
    with pytest.raises(InferenceError) as caught:
        ask(release, *arguments, **more)
    return str(caught.value)


def test_columns_measured_apart_are_refused_unless_told(release):
    one = release("independent")
    assert "never measured together" in refused(one, "ols", "kids ~ sex")
    told = []

    def note(stage, done, total):
        told.append((done, total))

    found = ask(one, "ols", "kids ~ sex", anyway=True, progress=note)
    assert not found.valid
    assert "NOT VALID" in found.title
    assert told == [(k, 9) for k in range(10)]


def test_a_method_without_a_model_is_refused_and_told_what_answers(release):
    text = refused(release("steps"), anyway=True)
    assert "this release has none" in text
    assert "--method laplace" in text or "uncertainty='rules'" in text
    lazy = release("laplace", options={"form": "lazy"})
    assert "--option form=dense" in refused(lazy)


def test_a_total_is_refused(release):
    assert "no total" in refused(release(), "total", "kids", anyway=True)


def test_rounds_that_were_ended_cannot_be_ended_again(release):
    one = release()
    ended = replace(one, manifest=replace(one.manifest, ended_early=True))
    assert "ended before the budget was spent" in refused(ended)


def test_options_that_are_none_are_refused(release):
    one = release()
    assert "an interval among basic" in refused(one, interval="bca")
    assert "workers must be" in refused(one, workers=0)
    with pytest.raises(InferenceError, match="'rules' or 'bootstrap'"):
        us.analyze(one, "mean", "kids", uncertainty="jackknife")


def outcomes(n, failed=0, bias=0.0):
    rng = np.random.default_rng(1)
    made = [Outcome(("kids",), rng.normal(bias, 1.0, 1), np.ones(1)) for _ in range(n)]
    return [None] * failed + made[failed:]


@pytest.mark.parametrize(
    ("failed", "bias", "said"),
    [
        (0, 0.0, ""),
        (9, 0.0, ""),
        (11, 0.0, "cannot be estimated"),
        (0, 1.6, "of its standard errors"),
    ],
)
def test_failures_and_bias_are_noted_and_too_much_is_refused(release, failed, bias, said):
    assert MOST_FAILED == 0.1
    one = release()
    question = Question.of("mean", "kids", one.schema)
    truth = Outcome(("kids",), np.zeros(1), np.ones(1))

    def analysed(anyway):
        answers = outcomes(100, failed, bias)
        return analysis_of(
            one, question, truth, answers, interval="basic", level=0.95, anyway=anyway
        )

    if said:
        with pytest.raises(InferenceError, match=said):
            analysed(anyway=False)
        assert not analysed(anyway=True).valid
    else:
        noisy_marginals = any("left out" in note for note in analysed(anyway=False).notes)
        assert noisy_marginals == bool(failed)


# --- merged states ------------------------------------------------------------------------------


@pytest.fixture
def merged(released, measured, schema, people):
    """Makes a release whose jobs (or ages) were merged before they were crossed with sex."""

    def make(name, groups, *, sizes):
        one = measured((name,), np.ones(schema.columns[name].size), 1.0)
        both = measured(("sex", name), np.ones((2, sizes)), 1.0, groups={name: groups})
        tables = [people(50, seed) for seed in (1, 2)]
        chosen = measured(("sex", name), [], 0.0, kind="choice")
        return released(*tables, measurements=(one, chosen, both))

    return make


@pytest.mark.parametrize(
    ("name", "groups", "kind", "formula", "refuses"),
    [
        ("job", (0, 0, 1, 2), "ols", "edu ~ job", False),
        ("job", (0, 0, 1, 2), "table", "sex + job", True),
        ("job", (0, 1, 0, 2), "ols", "{sex == 'f'} ~ job", True),
        ("age", (0, 0, 1, 2), "ols", "age ~ sex", False),
        ("age", (0, 1, 0, 2), "ols", "age ~ sex", True),
        ("age", (0, 0, 1, 2), "proportion", "age ~ sex", True),
        ("age", (0, 0, 1, 2), "mean", "age", False),
    ],
)
def test_merged_states_count_as_measured_one_by_one_only_in_runs(
    merged, name, groups, kind, formula, refuses
):
    one = merged(name, groups, sizes=max(groups) + 1)
    question = Question.of(kind, formula, one.schema)
    if len(question.columns) > 1 and "edu" not in question.columns:
        assert merged_columns(one.measurements, question.columns) == (name,)
    said = doubts(one, question)
    assert ("were merged before" in said) == refuses


@pytest.mark.nightly
def test_the_door_is_all_that_replication_needs(release):
    """The bootstrap itself names no engine: it opens the gate that it is handed."""
    from understudy.workflow.analyze import replica_gate

    opened = []

    def door(rows, schema, budget, seed):
        opened.append(rows.height)
        return replica_gate(rows, schema, budget, seed)

    one = release()
    question = Question.of("mean", "kids", one.schema)
    found = bootstrap(one, question, door, repeats=39, interval="basic", level=0.95)
    assert opened == [one.manifest.n_rows] * 39
    assert found.valid
