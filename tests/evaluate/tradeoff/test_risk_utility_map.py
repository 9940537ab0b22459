"""A small map from end to end."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.dp.confidential import Internal
from understudy.errors import DataError
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import total_variation
from understudy.evaluate.tradeoff import (
    RISKS,
    Design,
    Interval,
    Tradeoff,
    Trial,
    _seed,
    scene_of,
    tradeoff,
)
from understudy.schema import Schema

N = 600
SMALL = {"methods": ["marginals", "independent"], "epsilons": [0.05, 20], "repetitions": 3}
PUBLIC_ROWS = f'rows = "public"\nn_rows = {N}'


@pytest.fixture(scope="module")
def found(make_rows, make_schema):
    return tradeoff(make_rows(), make_schema(), **SMALL, utility=["two-way", "specks"])


def test_the_package_offers_it():
    assert us.tradeoff is tradeoff


def test_a_map_is_internal_unless_the_rows_are_public(found, make_rows, make_schema):
    assert isinstance(found, Internal)
    assert not found.value.public
    few = {**SMALL, "methods": ["independent"], "epsilons": [20]}
    again = tradeoff(make_rows(), make_schema(), **few, utility=["two-way", "specks"], public=True)
    assert isinstance(again, Tradeoff)
    assert again.public
    assert again.points == found.value.of("independent")[1:]
    assert again.to_json().keys() >= {"public"}
    assert "internal" not in again.to_json()
    stamped = found.value.to_json()
    assert stamped["internal"] == "compares with confidential data, not for release"
    assert "leak outside ε" in stamped["warning"]
    assert "public" not in stamped


def test_loss_falls_with_the_budget(found):
    for method in SMALL["methods"]:
        little, much = found.value.of(method)
        assert little.utility["two-way"].mean > much.utility["two-way"].mean + 0.02
    # What independent columns lose of the pairs, no budget gives back.
    last = {one.method: one.utility for one in found.value.points if one.epsilon == "20"}
    for loss in ("two-way", "specks"):
        assert last["independent"][loss].ends[0] > last["marginals"][loss].ends[1] + 0.1


@pytest.mark.nightly
def test_other_processes_and_other_points_change_nothing(found, make_rows, make_schema):
    again = tradeoff(
        make_rows(),
        make_schema(),
        **{**SMALL, "methods": ["independent"]},
        utility=["two-way", "specks"],
        workers=2,
    )
    assert again.value.points == found.value.of("independent")


@pytest.mark.nightly
def test_the_seed_matters(found, make_rows, make_schema):
    again = tradeoff(make_rows(), make_schema(), **SMALL, utility=["two-way", "specks"], seed=1)
    assert again.value.points != found.value.points


def test_a_point_is_what_the_pipeline_gives(schema, rows):
    design = Design.of(schema, methods=["independent"], epsilons=[1], utility=["one-way"])
    outcome = Trial(design, rows).run(design.settings[0], 0)
    release = us.synthesize(
        rows,
        schema,
        method="independent",
        epsilon=1,
        insecure_noise_seed=_seed(0, "release", "independent 1 0"),
    )
    made = Comparison.of(schema, rows, release.tables)
    tables = made.tables([(0,), (1,), (2,)])
    distances = [total_variation(one, other[0]) for _, one, other in tables]
    assert outcome.losses["one-way"] == pytest.approx(np.mean(distances), abs=1e-12)


def test_no_two_repetitions_share_their_noise(schema, rows):
    design = Design.of(schema, methods=["independent"], epsilons=[0.1], utility=["one-way"])
    trial = Trial(design, rows)
    values = {trial.run(design.settings[0], k).losses["one-way"] for k in range(4)}
    assert len(values) == 4


def test_a_refusal_is_listed_with_its_reason_and_stops_nothing(make_rows, make_schema):
    found = tradeoff(
        make_rows(),
        make_schema(),
        methods=["laplace", "independent"],
        epsilons=[1],
        delta=1e-6,
        repetitions=1,
        utility=["one-way"],
    ).value
    assert [one.method for one in found.refused] == ["laplace"]
    assert "leave delta at 0" in found.refused[0].refused
    assert len(found.of("independent")) == 1
    assert found.to_json()["points"][0]["refused"] == found.refused[0].refused


def test_a_refusal_in_the_middle_is_listed_too(schema, rows):
    design = Design.of(schema, methods=["laplace"], epsilons=[1], delta=1e-6, utility=["one-way"])
    outcome = Trial(design, rows).run(design.settings[0], 0)
    assert outcome.losses == {}
    assert "leave delta at 0" in outcome.refused


def test_a_method_without_guarantee_has_no_budget(make_rows, make_schema):
    found = tradeoff(
        make_rows(),
        make_schema(),
        methods=["multiple-synthesis"],
        epsilons=[1, 2],
        repetitions=2,
        utility=["one-way"],
    ).value
    assert [one.epsilon for one in found.points] == [""]
    assert found.points[0].utility["one-way"].mean < 0.1


@pytest.mark.parametrize("head", ['rows = "private"', PUBLIC_ROWS])
def test_a_measured_risk_holds_rows_out(head, make_rows, make_schema):
    found = tradeoff(
        make_rows(),
        make_schema(head),
        methods=["independent"],
        epsilons=[1],
        repetitions=2,
        risk="attribute",
        secrets=["b"],
        utility=["one-way"],
        holdout=0.25,
    ).value
    assert (found.n_rows, found.n_control, found.keys) == (450, 150, ("a", "c"))
    assert found.points[0].risk.ends[0] < 0 < found.points[0].risk.ends[1] + 0.2


def test_members_and_control_are_the_same_for_every_method_of_a_repetition(schema, rows):
    design = Design.of(schema, methods=["independent"], epsilons=[1], risk="membership")
    trial = Trial(design, rows.with_row_index("number"))
    first, again, other = trial.parts(0), trial.parts(0), trial.parts(1)
    assert first.members.equals(again.members)
    assert not first.members.equals(other.members)
    both = pl.concat([first.members, first.control])["number"]
    assert sorted(both) == list(range(N))


WIDE = Schema.loads(
    "\n".join(
        f'[columns.k{j}]\nkind = "integer"\nlower = 0\nupper = 9\nbins = 10\n'
        'source = "law"\nreviewed = true'
        for j in range(6)
    )
)


def wide(n, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"k{j}": rng.integers(0, 10, n) for j in range(6)})


def risk_of(name, members, control, released):
    keys, secrets = tuple(f"k{j}" for j in range(5)), ("k5",)
    comparison = Comparison.of(WIDE, members, (released,))
    scene = scene_of(comparison, control, keys=keys, secrets=secrets, seed=1)
    return RISKS[name].of(scene)


@pytest.mark.parametrize("name", ["attribute", "membership"])
def test_a_copy_of_the_rows_is_a_risk_and_a_fresh_sample_is_none(name):
    """Columns are independent, so nothing of the population helps. Standard errors below 0.025."""
    members, control = wide(800, 1), wide(400, 2)
    harmless = RISKS[name].harmless
    assert risk_of(name, members, control, members) > harmless + 0.45
    assert risk_of(name, members, control, wide(800, 3)) == pytest.approx(harmless, abs=0.08)


@pytest.mark.parametrize("name", ["attribute", "membership"])
def test_a_release_without_rows_tells_nothing(name):
    members, control = wide(80, 1), wide(40, 2)
    assert risk_of(name, members, control, members.clear()) == RISKS[name].harmless


def test_a_budget_is_not_measured():
    with pytest.raises(TypeError, match="not measured"):
        RISKS["epsilon"].of(None)


@pytest.mark.parametrize("epsilon", [1e-5, pytest.param(1e6, marks=pytest.mark.nightly)])
def test_any_budget_and_few_rows(epsilon, make_rows, make_schema):
    found = tradeoff(
        make_rows(3),
        make_schema(),
        methods=["independent"],
        epsilons=[epsilon],
        repetitions=2,
        utility=["one-way", "two-way", "conditional", "specks", "intervals"],
    ).value
    assert all(0 <= one.mean <= 2 for one in found.points[0].utility.values())


def test_a_single_column_has_no_pairs(make_rows, make_schema):
    schema = Schema.loads(make_schema().dumps().split("[columns.b]")[0])
    found = tradeoff(
        make_rows(50),
        schema,
        methods=["independent"],
        epsilons=[1],
        repetitions=2,
        utility=["two-way", "conditional", "specks", "intervals"],
    ).value
    assert all(math.isnan(found.points[0].utility[name].mean) for name in found.utility[:2])
    assert found.to_json()["points"][0]["utility"]["two-way"]["mean"] is None


def test_no_rows_and_too_few_to_hold_out_are_told(schema, make_rows):
    with pytest.raises(DataError, match="no rows"):
        tradeoff(make_rows(0), schema, methods=["independent"], epsilons=[1])
    with pytest.raises(DataError, match="too few rows"):
        tradeoff(make_rows(1), schema, methods=["independent"], epsilons=[1], risk="membership")


def test_an_interval_is_student_t():
    found = Interval.over([1.0, 2.0, 6.0])
    assert found.mean == 3.0
    assert found.half == pytest.approx(4.302652729911275 * math.sqrt(7.0) / math.sqrt(3.0))
    assert Interval.over([2.0]) == Interval(2.0, None)
    assert Interval.over([2.0]).to_json() == {"mean": 2.0, "low": None, "high": None}


def test_progress_is_told(schema, rows):
    told = []
    tradeoff(
        rows,
        schema,
        methods=["independent"],
        epsilons=[1],
        repetitions=2,
        utility=["one-way"],
        progress=lambda *one: told.append(one),
    )
    assert [one[1:] for one in told if one[0].startswith("Making")] == [(0, 2), (1, 2), (2, 2)]
