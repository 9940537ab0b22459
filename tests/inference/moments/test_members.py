"""Questions about members of units: against the rows' own cluster-robust answers, and coverage."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf

import understudy as us
from understudy.inference.linear import alike_in_correlation, influence_on_correlation
from understudy.inference.member_slots import cluster_factors, correlation_within

SCHEMA_TEXT = """
[unit]
table = "household"
[tables.household]
key = "hid"
[tables.household.columns.region]
kind = "categorical"
levels = ["A", "B", "C"]
source = "made up"
reviewed = true
[tables.person]
of = "household"
key = "hid"
rows_per_unit = 4
order = ["-age"]
source = "made up"
reviewed = true
[tables.person.columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 16, 30, 45, 65, 99]
source = "made up"
reviewed = true
[tables.person.columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "made up"
reviewed = true
[tables.person.columns.wage]
kind = "continuous"
lower = 0
upper = 100
decimals = 2
source = "made up"
reviewed = true
[tables.person.columns.fit]
kind = "categorical"
levels = ["y", "n"]
missing = ["?"]
source = "made up"
reviewed = true
"""
SCHEMA = us.Schema.loads(SCHEMA_TEXT)
ENOUGH = 2_000.0
"""An ε by which noise is next to nothing, so that answers are those of the rows."""


def people(n: int, rng: np.random.Generator, largest: int = 4) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Households whose members are alike in age, wage and fitness."""
    size = 1 + rng.integers(largest, size=n)
    home = np.repeat(np.arange(n), size)
    region, alike, k = rng.integers(3, size=n), rng.normal(size=n), len(home)
    age = np.clip(np.rint(40 + 12 * rng.normal(size=n)[home] + 14 * rng.normal(size=k)), 0, 99)
    sex = rng.integers(2, size=k)
    wage = 50 + 4 * sex + 0.1 * (age - 40) + 3 * region[home] + 8 * alike[home]
    wage = np.clip(wage + 8 * rng.normal(size=k), 0, 100).round(2)
    fit = np.where(alike[home] + rng.normal(size=k) + 0.01 * (age - 40) > 0, "y", "n")
    fit[rng.random(k) < 0.05] = "?"
    households = pl.DataFrame({"hid": np.arange(n), "region": np.array(list("ABC"))[region]})
    persons = pl.DataFrame(
        {
            "hid": home,
            "age": age.astype(int),
            "sex": np.array(["f", "m"])[sex],
            "wage": wage,
            "fit": fit,
        }
    )
    return households, persons


def release_of(
    households: pl.DataFrame,
    persons: pl.DataFrame,
    epsilon: float,
    seed: int = 0,
    schema: us.Schema = SCHEMA,
) -> us.Release:
    return us.synthesize(
        {"household": households, "person": persons},
        schema,
        epsilon=epsilon,
        delta=1e-6,
        method="independent",
        budget={"answers": 0.6},
        insecure_noise_seed=seed,
    )


@pytest.fixture(scope="module")
def rows():
    households, persons = people(4_000, np.random.default_rng(11))
    return households, persons, persons.join(households, on="hid").to_pandas()


@pytest.fixture(scope="module")
def exact(rows):
    return release_of(rows[0], rows[1], ENOUGH)


def clustered(formula, frame, kind=smf.ols):
    fit = kind(formula, frame).fit(disp=0) if kind is smf.logit else kind(formula, frame).fit()
    return kind(formula, frame).fit(
        **({"disp": 0} if kind is smf.logit else {}),
        cov_type="cluster",
        cov_kwds={"groups": frame["hid"], "use_correction": False},
    ), fit


@pytest.mark.parametrize("formula", ["wage ~ sex + age", "wage ~ region + age", "age ~ region"])
@pytest.mark.nightly(every=3)
def test_a_linear_model_of_members_is_the_one_of_the_rows_with_clustered_errors(
    rows, exact, formula
):
    answer = us.analyze(exact, "ols", formula)
    robust, plain = clustered(formula, rows[2])
    assert answer.pooled.estimate == pytest.approx(robust.params.to_numpy(), rel=0.02, abs=0.05)
    # The sets of this method know nothing of likeness; the moments do. Of members alike by one
    # correlation the growth is exact; here it is within 15 %.
    assert answer.pooled.stderr == pytest.approx(robust.bse.to_numpy(), rel=0.15)
    assert (robust.bse / plain.bse).max() > 1.15  # so plain errors would fail


@pytest.mark.parametrize("formula", ["wage", "wage ~ sex", "wage ~ region"])
def test_a_mean_of_members_is_the_one_of_the_rows_with_clustered_errors(rows, exact, formula):
    answer = us.analyze(exact, "mean", formula)
    outcome, _, group = formula.partition(" ~ ")
    robust, _ = clustered(f"{outcome} ~ C({group}) - 1" if group else f"{outcome} ~ 1", rows[2])
    assert answer.pooled.estimate == pytest.approx(robust.params.to_numpy(), rel=0.002)
    assert answer.pooled.stderr == pytest.approx(robust.bse.to_numpy(), rel=0.15)


def test_a_correlation_of_members_has_the_error_of_whole_units(rows, exact):
    """Synthetic members of one unit are not alike here, so moments alone tell how much they are."""
    frame = rows[2]
    found = us.analyze(exact, "correlation", "age + wage").pooled
    assert found.estimate == pytest.approx([frame.age.corr(frame.wage)], abs=1e-3)
    influence = influence_on_correlation(frame.age.to_numpy(), frame.wage.to_numpy())
    sums = np.bincount(frame.hid, influence)
    assert (sums**2).sum() > 1.25 * (influence**2).sum()
    clustered_error = np.sqrt((sums**2).sum()) / len(frame)
    assert np.sqrt(found.covariance[0, 0]) == pytest.approx(clustered_error, rel=0.08)


@pytest.mark.parametrize(
    ("r", "x", "y", "crosswise"), [(0.5, 0.8, 0.6, 0.4), (-0.3, -0.6, -0.5, 0.2)]
)
def test_likeness_in_a_correlation_is_that_of_influences_of_normal_numbers(r, x, y, crosswise):
    covariance = [[1, r, x, crosswise], [r, 1, crosswise, y]]
    covariance += [[x, crosswise, 1, r], [crosswise, y, r, 1]]
    u, v, w, z = np.random.default_rng(3).multivariate_normal(np.zeros(4), covariance, 200_000).T
    one, other = influence_on_correlation(u, v), influence_on_correlation(w, z)
    assert alike_in_correlation(r, x, y, crosswise) == pytest.approx(
        np.corrcoef(one, other)[0, 1], abs=0.012
    )
    assert alike_in_correlation(r, 1.0, 1.0, r) == pytest.approx(1)
    assert alike_in_correlation(r, 0.0, 0.0, 0.0) == 0


def test_shares_totals_and_counts_of_members_are_those_of_the_rows(rows, exact):
    frame = rows[2]
    share = us.analyze(exact, "proportion", "fit").pooled
    known = frame[frame.fit != "?"]
    robust, _ = clustered("fit ~ 1", known.assign(fit=(known.fit == "y") * 1.0))
    assert share.estimate[0] == pytest.approx((known.fit == "y").mean(), abs=0.002)
    assert share.stderr[0] == pytest.approx(robust.bse.iloc[0], rel=0.1)
    total = us.analyze(exact, "total", "sex").pooled
    assert total.estimate == pytest.approx([(frame.sex == s).sum() for s in "fm"], abs=20)
    old = us.analyze(exact, "count", "{age >= 65}").pooled
    assert old.estimate == pytest.approx([(frame.age >= 65).sum()], abs=20)
    crossed = us.analyze(exact, "table", "sex + fit").pooled
    told = [((known.sex == s) & (known.fit == f)).mean() for s in "fm" for f in "yn"]
    assert crossed.estimate == pytest.approx(told, abs=0.003)


def test_a_logistic_model_of_members_has_clustered_errors(rows, exact):
    answer = us.analyze(exact, "logit", '{fit == "y"} ~ sex + age').pooled
    known = rows[2][rows[2].fit != "?"]
    robust, _ = clustered("fit ~ sex + age", known.assign(fit=(known.fit == "y") * 1.0), smf.logit)
    assert answer.estimate == pytest.approx(robust.params.to_numpy(), abs=0.1)
    assert (answer.stderr > 0.9 * robust.bse.to_numpy()).all()


def test_an_answer_says_of_whom_it_is_and_how_many_units_have_more():
    households, persons = people(800, np.random.default_rng(2), largest=6)
    answer = us.analyze(release_of(households, persons, ENOUGH), "mean", "age")
    said = " ".join(answer.notes)
    assert "rows of 'person'" in said
    size = persons.group_by("hid").len()["len"]
    assert f"about {(size > 4).sum():,.0f} of {households.height:,.0f} have more" in said


def test_a_question_about_units_stays_one_about_units(rows, exact):
    answer = us.analyze(exact, "proportion", "region")
    told = [(rows[0]["region"] == one).mean() for one in "ABC"]
    assert answer.pooled.estimate == pytest.approx(told, abs=0.002)
    assert "person" not in " ".join(answer.notes)


def test_what_slots_do_not_answer_is_refused(exact):
    with pytest.raises(us.UnderstudyError, match=r"\(not-measured\).*members of units") as told:
        us.analyze(exact, "std", "wage")
    assert told.value.instead == ("mean wage",)
    with pytest.raises(us.UnderstudyError, match=r"\(not-measured\)") as told:
        us.analyze(exact, "median", "wage ~ sex")  # no table has both of one slot
    assert told.value.instead == ("mean wage ~ sex",)
    with pytest.raises(us.UnderstudyError, match="wagge"):
        us.analyze(exact, "mean", "wagge + wage")


def test_a_quantile_of_members_counts_them_as_wholly_alike(rows, exact):
    """Of the share below it the variance is Σk²/Σk times that of members drawn one by one."""
    frame = rows[2]
    size = frame.groupby("hid").size().to_numpy()
    growth = (size**2).sum() / size.sum()
    for p in (0.5, 0.9):
        answer = us.analyze(exact, "quantile", "wage", probability=p)
        low, high = answer.pooled.interval()
        assert low[0] <= frame.wage.quantile(p) <= high[0]
        assert answer.pooled.estimate[0] == pytest.approx(frame.wage.quantile(p), abs=1.5)
        stderr = np.sqrt(p * (1 - p) * growth / len(frame))
        assert answer.pooled.share_stderr[0] == pytest.approx(stderr, rel=0.1)
    noisy = us.analyze(release_of(rows[0], rows[1], 0.3), "median", "wage")
    assert noisy.pooled.share_stderr[0] > 1.5 * np.sqrt(0.25 * growth / len(frame))
    assert any("count as wholly alike" in note for note in noisy.notes)


@pytest.mark.nightly
def test_intervals_of_medians_of_members_cover():
    """40 samples of 300 households whose members have nearly one wage: all but 5 at most.

    Bins of 0.5 are finer than the error of 0.9. A chance below 0.04 of failing at 95 %.
    """
    rng, covered, short = np.random.default_rng(21), 0, 0
    bins = [0.0, *np.arange(40, 60.5, 0.5).tolist(), 100.0]
    fine = SCHEMA_TEXT.replace("upper = 100\n", f"upper = 100\nbins = {bins}\n")
    for k in range(40):
        households, persons = people(300, rng)
        level = rng.normal(size=300)
        wage = (50 + 12 * level[persons["hid"]] + rng.normal(size=len(persons))).clip(0, 100)
        persons = persons.with_columns(wage=pl.Series(wage).round(2))
        release = release_of(households, persons, 50, k, us.Schema.loads(fine))
        pooled = us.analyze(release, "median", "wage").pooled
        low, high = pooled.interval()
        covered += bool(low[0] <= 50 <= high[0])
        below = (wage <= 50).mean() - 0.5
        short += bool(abs(below) <= 1.96 * np.sqrt(0.25 / len(persons)))
    assert covered >= 35
    assert short < 34  # as if members were drawn one by one


@pytest.mark.nightly
def test_slots_with_tables_of_other_sizes_are_told_apart(rows):
    """Measured tables of several columns beside each other: no table serves two slots."""
    both = {"household": rows[0].head(300), "person": rows[1]}
    both["person"] = both["person"].filter(pl.col("hid").is_in(both["household"]["hid"].implode()))
    made = us.synthesize(
        both, SCHEMA, epsilon=20, delta=1e-6, method="marginals", insecure_noise_seed=2
    )
    (low,), (high,) = us.analyze(made, "mean", "wage").pooled.interval(0.999)
    assert low < both["person"]["wage"].mean() < high


def test_growth_is_that_of_the_sums_over_units():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(500), 3)
    residual = rng.normal(size=500)[units] + rng.normal(size=1_500)
    weights = np.ones((1_500, 1))
    found = cluster_factors(residual[:, None], weights, units)
    sums = np.add.reduceat(residual, np.arange(0, 1_500, 3))
    assert found == pytest.approx([(sums**2).sum() / (residual**2).sum()])
    shown, pairs = correlation_within(residual[:, None], units)
    assert pairs == 2
    assert found == pytest.approx(1 + 2 * shown)
    # Residuals that lack their likeness get it back.
    mixed = rng.permutation(residual)
    assert cluster_factors(mixed[:, None], weights, units, shown) == pytest.approx(found)


@pytest.mark.nightly
def test_intervals_of_members_cover():
    """Of 60 releases × 8 quantities; each covers too little by chance in 1 of 10,000 runs."""
    rng = np.random.default_rng(5)
    households, persons = people(60_000, rng)
    frame = persons.join(households, on="hid").to_pandas()
    known = frame[frame.fit != "?"]
    truth = {
        ("mean", "wage"): [frame.wage.mean()],
        ("mean", "wage ~ sex"): [frame.wage[frame.sex == s].mean() for s in "fm"],
        ("proportion", "fit"): [(known.fit == f).mean() for f in "yn"],
        ("ols", "wage ~ region + age"): smf.ols("wage ~ region + age", frame).fit().params,
    }
    hits: dict[tuple[str, str], list[np.ndarray]] = {question: [] for question in truth}
    for seed in range(60):
        chosen = rng.choice(households.height, 5_000, replace=False)
        own = persons.filter(pl.col("hid").is_in(chosen))
        release = release_of(households[chosen], own, 4.0, seed)
        for question, right in truth.items():
            lower, upper = us.analyze(release, *question).pooled.interval()
            hits[question].append((lower <= right) & (right <= upper))
    for question, found in hits.items():
        assert np.mean(found, axis=0).min() >= 0.83, question


def test_members_out_of_domain_widen_shares_and_refuse_models(rows):
    households, persons, _ = rows
    odd = persons.with_columns(
        sex=pl.when(pl.int_range(pl.len()) % 15 == 0).then(pl.lit("?")).otherwise("sex")
    )
    release = release_of(households, odd, 4.0)
    lower, upper = us.analyze(release, "proportion", "sex").pooled.interval()
    assert (lower <= [(persons["sex"] == s).mean() for s in "fm"]).all()
    assert ((upper - lower) > 2 / 15 * 0.5).all()
    with pytest.raises(us.UnderstudyError, match=r"\(out-of-domain\)"):
        us.analyze(release, "ols", "wage ~ sex")
    # Of a group half as large the same records may be twice the share.
    few = us.analyze(release, "mean", "wage ~ sex").pooled
    every = us.analyze(release, "mean", "wage").pooled
    assert few.bias.min() > 2 / 15 * 50
    assert every.bias[0] < 1


def test_next_to_no_noise_is_told_without_warnings():
    """What counts and moments leave of a variance is a difference, and may come out below 0."""
    households, persons = people(300, np.random.default_rng(2))
    release = us.synthesize(
        {"household": households, "person": persons}, SCHEMA, epsilon=10_000, delta=1e-6,
        method="independent", analyses=["mean wage"], insecure_noise_seed=1,
    )  # fmt: skip
    found = us.analyze(release, "mean", "wage").pooled
    assert found.estimate == pytest.approx(persons["wage"].mean(), rel=0.01)
    assert (np.subtract(*found.interval()[::-1]) < 4.0).all()


def test_a_correlation_of_no_synthetic_members_is_refused_in_words():
    households, persons = people(600, np.random.default_rng(2))
    release = us.synthesize(
        {"household": households, "person": persons}, SCHEMA, epsilon=0.01, delta=1e-6,
        analyses=["mean wage"], insecure_noise_seed=1,
    )  # fmt: skip
    with pytest.raises(us.UnderstudyError, match="No synthetic record has a value of both"):
        us.analyze(release, "correlation", "wage + age")
