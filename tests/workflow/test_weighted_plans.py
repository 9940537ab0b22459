"""What a plan says of weighted answers: against answers of a release, and the formula by hand."""

import math

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column

COLUMNS = "\n".join(
    [
        column("w", "continuous", lower=0.0, upper=4.0),
        column("place", "categorical", levels=["town", "country"]),
        column("income", "continuous", lower=0.0, upper=100.0),
    ]
)
DEFF = 'deff = { default = 1.3, source = "quality report" }'
ASKED = ["mean income", "proportion place == 'town'", "ols income ~ place"]
BUDGET = {"epsilon": 2, "delta": 1e-6}


def schema_of(design=DEFF):
    return us.Schema.loads(f'[design]\nweight = "w"\n{design}\n{COLUMNS}')


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    town = rng.random(4_000) < 0.7
    rows = {"w": np.where(town, 1.0, 3.5), "place": np.where(town, "town", "country")}
    rows |= {"income": np.clip(rng.normal(np.where(town, 45, 30), 10), 0, 100)}
    given = {**BUDGET, "analyses": ASKED, "insecure_noise_seed": 4}
    return us.synthesize(pl.DataFrame(rows), schema_of(), **given)


def test_widths_are_those_of_the_answers(release):
    plan = us.plan(schema_of(), **BUDGET, analyses=ASKED, like=release, assume_rows=4_000)
    expected = {(one.analysis, one.name): one.half_width for one in plan.expected}
    for asked in ASKED:
        answer = us.analyze(release, *asked.split(" ", 1))
        lower, upper = answer.pooled.interval(0.95)
        for name, width in zip(answer.pooled.names, (upper - lower) / 2, strict=True):
            assert expected[asked, name] == pytest.approx(width, rel=0.1)


def test_the_sampling_part_is_the_linearised_variance_by_hand(release):
    plan = us.plan(schema_of(), **BUDGET, analyses=ASKED, like=release, assume_rows=50_000)
    table = release.tables[0]
    w, y = (table[name].to_numpy() for name in ("w", "income"))
    residuals = w * (y - (w * y).sum() / w.sum())
    error = math.sqrt(1.3 * (residuals**2).mean() / 50_000) / w.mean()
    (mean,) = (one for one in plan.expected if one.analysis == "mean income")
    assert mean.sampling == pytest.approx(1.96 * error, rel=0.03)


def test_noise_follows_the_budget_and_a_release_keeps_what_was_expected(release):
    halved, plan = (
        us.plan(schema_of(), epsilon=e, delta=1e-6, analyses=ASKED, assume_rows=4_000)
        for e in (1, 2)
    )
    for one, other in zip(halved.expected, plan.expected, strict=True):
        assert one.noise > 1.6 * other.noise
        assert one.sampling == pytest.approx(other.sampling)
    assert release.manifest.expected["answers"]
    assert any("taken to be even" in one for one in plan.remarks)


def test_a_contribution_that_only_biases_is_advised_against():
    cut = schema_of(f"contribution = 2.0\n{DEFF}")
    many, few = (us.plan(cut, **BUDGET, assume_rows=n).remarks for n in (50_000, 100))
    assert any("leave contribution out" in one for one in many)
    assert any("keep it only if" in one for one in few)
    whole = us.plan(schema_of(), **BUDGET, assume_rows=50_000).remarks
    assert not any("contribution" in one for one in whole)
    refused = us.plan(cut, **BUDGET, analyses=ASKED[2:]).expected
    assert ["contribution" in one.refused for one in refused] == [True]


def test_widths_between_random_groups_have_the_noise_that_stays_in():
    groups = 'variance = "groups"\npsu = "area"\nstrata = "regions"\n'
    area = column("area", "categorical", levels=list(range(1, 21)), random_groups=True)
    schema = us.Schema.loads(
        schema_of("").dumps().replace("[design]\n", f"[design]\n{groups}") + area
    )
    asked = {"analyses": ASKED[:1], "delta": 1e-6, "method": "independent"}
    (many,) = us.plan(schema, epsilon=8, assume_rows=400_000, **asked).expected
    plan = us.plan(schema, epsilon=0.5, assume_rows=2_000, **asked)
    (few,) = plan.expected
    alone = {
        n: us.plan(schema_of(""), epsilon=e, assume_rows=n, **asked).expected[0]
        for e, n in ((8, 400_000), (0.5, 2_000))
    }
    assert many.half_width == pytest.approx(alone[400_000].half_width, rel=0.2)
    assert few.half_width > 2 * alone[2_000].half_width
    remarks = " ".join(plan.remarks)
    assert "Strata (regions) are not counted" in remarks
    assert "no more alike than others" in remarks
