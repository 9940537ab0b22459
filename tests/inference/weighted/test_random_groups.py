"""Variances between random groups of clusters: against a slow formula, and over made samples."""

import numpy as np
import polars as pl
import pytest

from understudy.data.random_groups import random_groups
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError, SchemaError
from understudy.features.scores import FeatureMap, Weighting
from understudy.inference.linear import ratios_between_groups
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.second_moments import MomentSource, assumed_moments
from understudy.inference.weighted import WeightedMatrices, answer_for_population
from understudy.mechanisms.second_moments import ONE, Sensitivity, WeightedMoments, stack_sums
from understudy.release.measurement import Measurement
from understudy.schema import Schema
from understudy.workflow.gates import open_gate

GROUPS = 20
REST = f"""
[columns.w]
kind = "continuous"
lower = 0.0
upper = 4.0
reviewed = true
[columns.psu]
kind = "categorical"
levels = {list(range(1, GROUPS + 1))}
random_groups = true
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.income]
kind = "continuous"
lower = 0.0
upper = 100.0
reviewed = true
"""
QUESTIONS = (("mean", "income"), ("proportion", "sex == 'f'"))


def schema_of(more=""):
    return Schema.loads(f'[design]\nweight = "w"\npsu = "psu"\nvariance = "groups"\n{more}\n{REST}')


def sample(rng, clusters, size=15):
    """Clusters drawn one by one; incomes, sexes and weights are alike within them."""
    of = np.repeat(np.arange(clusters), rng.poisson(size, clusters) + 1)
    near, other = rng.normal(size=(2, clusters))
    w = np.clip(2 + 0.5 * near[of] + 0.4 * rng.normal(size=len(of)), 0.2, 4)
    income = np.clip(50 + 8 * near[of] + 12 * rng.normal(size=len(of)), 0, 100)
    female = rng.random(len(of)) < 1 / (1 + np.exp(-0.6 * other[of]))
    sex = np.where(female, "f", "m")
    names = [f"area {k}" for k in of]
    return pl.DataFrame({"w": w, "psu": names, "sex": sex, "income": income})


def measured(frame, schema, epsilon, seed=1):
    budget = Budget.of(epsilon, "1e-6", "gdp")
    gate = open_gate(Table(frame, schema), budget, SeededRandomness(seed))
    asked = [(("sex", "income", "psu"), 1, 3), (("sex", "income"), 2, 1)]
    released = [
        gate.ask(WeightedMoments(columns, "w", 4.0, power), spend=budget.amount * share / 4)
        for columns, power, share in asked
    ]
    return [Measurement.from_released(one, f"m{k}", schema) for k, one in enumerate(released)]


def ask(frame, schema, measurements, kind, formula):
    estimand = parse(kind, formula, schema)
    matrices = WeightedMatrices.of(measurements, schema, estimand.columns, float(len(frame)))
    drawn = frame.with_columns(psu=pl.lit("1"))
    sets = [Records.complete_of(drawn, schema, estimand.columns)]
    return answer_for_population(estimand, matrices, schema, sets).pooled


@pytest.fixture(scope="module")
def exact():
    frame, schema = sample(np.random.default_rng(1), 150), schema_of()
    return frame, schema, measured(frame, schema, 1e5)


def test_a_variance_is_that_between_the_groups_that_clusters_are_in(exact):
    frame, schema, measurements = exact
    group = random_groups(frame["psu"], GROUPS)
    w = frame["w"].to_numpy()
    for (kind, formula), y in zip(
        QUESTIONS, (frame["income"].to_numpy(), frame["sex"].to_numpy() == "f"), strict=True
    ):
        pooled = ask(frame, schema, measurements, kind, formula)
        ratio = (w * y).sum() / w.sum()
        z = np.bincount(group, w * (y - ratio), minlength=GROUPS) / w.sum()
        assert pooled.estimate[0] == pytest.approx(ratio, rel=1e-3)
        variance = GROUPS / (GROUPS - 1) * ((z - z.mean()) ** 2).sum()
        assert pooled.stderr[0] ** 2 == pytest.approx(variance, rel=0.02)
        shares = np.bincount(group, w, minlength=GROUPS) / w.sum()
        degrees = (GROUPS - 1) / GROUPS / (shares**2).sum()
        assert pooled.df[0] == pytest.approx(degrees, rel=0.02)
        assert any("between random groups of psu" in note for note in pooled.notes)


def test_answers_about_some_records_say_that_groups_do_not_tell_their_variance(exact):
    frame, schema, measurements = exact
    for formula in ("income ~ sex", "income where sex == 'f'"):
        pooled = ask(frame, schema, measurements, "mean", formula)
        assert np.isinf(pooled.df).all()
        assert any(note.startswith("Random groups tell the variance") for note in pooled.notes)


def test_groups_that_are_lost_in_noise_give_way_to_a_public_effect_or_to_a_refusal():
    frame = sample(np.random.default_rng(2), 100)
    measurements = measured(frame, schema_of(), 0.5)
    with pytest.raises(InferenceError, match=r"how the random groups of psu differ.*public deff"):
        ask(frame, schema_of(), measurements, "mean", "income")
    declared = schema_of('deff = { default = 4.0, source = "report" }')
    pooled = ask(frame, declared, measurements, "mean", "income")
    assert any("public design effect 4" in note for note in pooled.notes)


def test_a_finite_population_leaves_its_part_of_the_variance_between_groups(exact):
    frame, schema, measurements = exact
    finite = schema_of('fpc = { default = 0.75, source = "plan" }')
    for kind, formula in QUESTIONS:
        before = ask(frame, schema, measurements, kind, formula)
        after = ask(frame, finite, measurements, kind, formula)
        assert after.stderr[0] == pytest.approx(before.stderr[0] / 2, rel=1e-3)
        assert after.df[0] == pytest.approx(before.df[0], rel=1e-2)


def noisy(source, rng):
    drawn = rng.normal(size=len(source.numbers)) * np.sqrt(source.variances)
    return MomentSource(source.scores, source.numbers + drawn, source.variances)


def sources(frame, schema, stddev):
    coded = frame.with_columns(
        (pl.Series(random_groups(frame["psu"], GROUPS, bytes(32))) + 1).cast(pl.String).alias("psu")
    )
    plain = WeightedMoments(("sex", "income", "psu"), "w", 4.0, 1)
    squared = WeightedMoments(("sex", "income"), "w", 4.0, 2)
    return [
        assumed_moments(schema, coded, one, one.columns, stddev, pure=False)
        for one in (plain, squared)
    ]


def test_the_part_of_noise_is_taken_off_and_no_more():
    """Over 120 draws of noise the variance has the mean that it has without any."""
    rng, schema = np.random.default_rng(3), schema_of()
    frame = sample(rng, 150)
    plain, squared = sources(frame, schema, 25.0)
    estimand = parse("mean", "income", schema)

    def between(one):
        matrices = WeightedMatrices.of_sources(
            [one, squared], schema, estimand.columns, float(len(frame)), 0.0
        )
        w, y = frame["w"].to_numpy(), frame["income"].to_numpy()
        ratio = np.array([(w * y).sum() / w.sum()])
        return ratios_between_groups(estimand, ratio, matrices.groups, schema, "psu")

    without = between(plain)
    truth = without.variance[0] + without.noise.sum()  # no noise was drawn, and some taken off
    found = np.array([between(noisy(plain, rng)).variance[0] for _ in range(120)])
    error = found.std() / np.sqrt(len(found))
    assert abs(found.mean() - truth) < 4 * error
    assert without.noise.sum() * 0.3 > 4 * error  # so a scale that is off by 30 % is noticed


def test_intervals_cover_where_those_of_single_records_do_not():
    """60 samples of 100 clusters; 2 questions. A chance below 1e-3 of failing where 95 % hold."""
    rng, schema = np.random.default_rng(4), schema_of()
    alone = schema.model_copy(
        update={"design": schema.design.model_copy(update={"variance": "records"})}
    )
    large = sample(rng, 10_000)
    truth = {
        "mean": np.average(large["income"], weights=large["w"]),
        "proportion": np.average(large["sex"] == "f", weights=large["w"]),
    }
    covered, short = [], []
    for _ in range(60):
        frame = sample(rng, 100)
        drawn = [noisy(one, rng) for one in sources(frame, schema, 1.0)]
        for kind, formula in QUESTIONS:
            estimand = parse(kind, formula, schema)
            sets = [Records.complete_of(frame.drop("psu"), alone, estimand.columns)]
            for own, found in ((schema, covered), (alone, short)):
                matrices = WeightedMatrices.of_sources(
                    drawn, own, estimand.columns, float(len(frame)), 0.0
                )
                answer = answer_for_population(estimand, matrices, own, sets)
                low, high = answer.pooled.interval()
                found.append(low[0] <= truth[kind] <= high[0])
    assert 0.87 < np.mean(covered) < 0.9999
    assert np.mean(short) < 0.8


def test_one_record_changes_sums_by_group_no_more_than_any_column_of_levels():
    """Every record of every cluster, added or removed; and replaced by every other."""
    for rows in ("private", "public"):
        text = 'rows = "public"\nn_rows = 1\n' * (rows == "public") + REST
        schema = Schema.loads(text)
        scores = FeatureMap.of(schema, ("sex", "income", "psu"), weighting=Weighting("w", 4.0, 1))
        records = [
            {"w": w, "psu": psu, "sex": sex, "income": income}
            for w in (0.0, 1.5, 9.0)
            for psu in ("a", "b", None)
            for sex in ("f", "m", "?")
            for income in (0.0, 100.0)
        ]
        each = np.array(
            [
                stack_sums(
                    Table(pl.DataFrame([one], schema=_TYPES), schema)
                    .score_products(scores)
                    .expose(),
                    scores,
                )
                / ONE
                for one in records
            ]
        )
        gram = each @ each.T
        changed = np.diag(gram).max()
        if rows == "public":
            changed = (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram).max()
        bound = float(Sensitivity.of(schema, scores).squared_l2)
        assert 0.5 * bound < changed <= bound * 1.001


_TYPES = {"w": pl.Float64, "psu": pl.String, "sex": pl.String, "income": pl.Float64}


def test_a_design_needs_groups_to_be_between():
    with pytest.raises(SchemaError, match="psu names 'psu', which is no column with random_groups"):
        Schema.loads(schema_of().dumps().replace("random_groups = true\n", ""))
    few = schema_of().dumps().replace(str(list(range(1, GROUPS + 1))), "[1, 2, 3]")
    with pytest.raises(SchemaError, match="between the 3 random groups of psu is too uncertain"):
        Schema.loads(few)
    part = schema_of().part(("w", "income"))
    assert part.design.variance == "records"
