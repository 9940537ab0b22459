"""Which models redrawn fits answer whatever the noise: those of effects that are kept firmly."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.inference.estimators import Question
from understudy.inference.rules import FEWEST_RUNS, facts_of, select_rule

ENTRY = '[columns.{}]\nkind = "{}"\nlevels = {}\nreviewed = true\nsource = "made"\n'
SCHEMA = us.Schema.loads(
    ENTRY.format("few", "categorical", ["p", "q", "r"])
    + ENTRY.format("also", "categorical", ["k", "l", "m"])
    + ENTRY.format("many", "categorical", list("abcdefgh"))
    + ENTRY.format("item", "ordinal", [0, 1, 2, 3, 4])
    + ENTRY.format("other", "ordinal", [0, 1, 2, 3, 4])
    + ENTRY.format("words", "ordinal", ["low", "fair", "high"])
)


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    table = {
        name: np.array(column.levels)[rng.integers(0, len(column.levels), 1_000)]
        for name, column in SCHEMA.columns.items()
    }
    return us.synthesize(
        pl.DataFrame(table), SCHEMA, epsilon=1, delta="1e-6", method="marginals", sets=3,
        budget={"answers": 0}, insecure_noise_seed=1, seed=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "firm"),
    [
        (("item", "other"), True),
        (("item", "few"), True),
        (("item", "other", "few"), True),
        (("few", "also"), False),  # all of their cells together, nothing of which goes first
        (("item", "many"), False),
        (("item", "words"), False),  # two contrasts for a model, one evenly spaced score
    ],
)
def test_models_of_effects_are_firm(release, columns, firm):
    assert facts_of(release, "ols", columns, additive=True).firm is firm
    assert not facts_of(release, "ols", columns).firm


def test_other_methods_have_no_firm_effects(release):
    apart = us.synthesize(
        release.tables[0], SCHEMA, epsilon=1, method="independent", seed=1, insecure_noise_seed=1
    )
    assert not facts_of(apart, "ols", ("item", "other"), additive=True).firm


@pytest.mark.parametrize(
    ("formula", "additive"),
    [
        ("item ~ other", True),
        ("item ~ other + few", True),
        ("item~few", True),
        ("item ~ other * few", False),
        ("item ~ other + other:few", False),
        ("item ~ I(other ** 2)", False),
        ("item ~ other + few - 1", False),
        ("{item > 2} ~ other", False),
    ],
)
def test_a_model_of_columns_as_they_are(formula, additive):
    assert Question.of("ols", formula, SCHEMA).additive is additive


def test_a_mean_is_no_model():
    assert not Question.of("mean", "item ~ few", SCHEMA).additive
    assert not Question.of(lambda frame: ([0.0], [1.0]), "item + few", SCHEMA).additive


@pytest.mark.nightly
def test_chance_does_not_decide_whether_a_firm_model_is_answered(release):
    """Neither how many counts fell below 0 nor how far sets happen to differ: the same rule."""
    for seed in range(3):
        again = us.synthesize(
            release.tables[0], SCHEMA, epsilon="0.5", delta="1e-6", method="marginals", sets=3,
            budget={"answers": 0}, insecure_noise_seed=seed, seed=seed,
        )  # fmt: skip
        together = [set(one.columns) for one in again.measurements if one.kind.is_joint]
        facts = facts_of(again, "ols", ("item", "other"), additive=True)
        assert facts.together == any({"item", "other"} <= held for held in together)
        assert select_rule(facts).valid is facts.together


def test_few_runs_tell_nothing_of_how_a_relation_goes_on_within_them():
    """A count that is 0 for most, in two groups: hours of those who have any are one of them."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 5, 3_000)
    z = np.where(rng.random(3_000) < 0.98 - 0.1 * y, 0, rng.poisson(2 + y)).clip(0, 40)
    schema = us.Schema.loads(
        ENTRY.format("y", "ordinal", [0, 1, 2, 3, 4])
        + '[columns.z]\nkind = "integer"\nlower = 0\nupper = 40\nreviewed = true\nsource = "made"\n'
    )
    made = us.synthesize(
        pl.DataFrame({"y": y, "z": z}), schema, epsilon="0.5", delta="1e-6", method="marginals",
        sets=3, budget={"answers": 0}, insecure_noise_seed=1, seed=1,
    )  # fmt: skip
    joint = [one for one in made.measurements if one.kind.is_joint]
    together = [one for one in joint if {"y", "z"} == {*one.columns}]
    assert together
    assert all(len({*one.groups["z"]}) < FEWEST_RUNS for one in together)
    assert facts_of(made, "ols", ("y", "z"), additive=True).merged == ("z",)
    with pytest.raises(us.UnderstudyError, match="states of z were merged"):
        us.analyze(made, "ols", "z ~ y")
