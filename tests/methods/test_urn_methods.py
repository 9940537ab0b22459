"""Methods that draw records from urns: their plans, their shares, and one another's releases."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from understudy.dp.budget import Budget
from understudy.errors import MethodError
from understudy.mechanisms.urn import prior_weight
from understudy.methods.registry import METHODS, configure
from understudy.schema import Schema

URNS = ["dirichlet", "dp-prior", "smoothed-histogram"]
SICK = '[columns.sick]\nkind = "boolean"\nreviewed = true\n'
WEIGHT = """
[columns.weight]
kind = "continuous"
lower = 0
upper = 140
bins = 4
reviewed = true
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[[forbidden]]
where = { weight = { lower = 105, upper = 140 }, sex = "f" }
reviewed = true
"""


def schema(columns, n_rows=None):
    head = "" if n_rows is None else f'rows = "public"\nn_rows = {n_rows}\n'
    return Schema.loads(head + columns)


def weights(n, seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "weight": np.clip(rng.normal(70, 10, n), 0, 104).round(3),
            "sex": rng.choice(["f", "m"], n),
        }
    )


@pytest.mark.parametrize("method", URNS)
@pytest.mark.parametrize("sets", [1, 4])
def test_a_plan_says_the_prior_where_the_number_of_rows_is_public(method, sets):
    plan = us.plan(schema(SICK, 40), epsilon=2, method=method, sets=sets)
    (table,) = plan.tables
    prior = prior_weight(40, Fraction(2, sets), reinforced=method == "dirichlet")
    assert table.noise_mass == 2 * float(prior)
    assert (plan.sets_kind, plan.fits, table.form, table.n_cells) == ("split", sets, "draws", 2)
    assert (table.stddev, table.query) == (0.0, "records of sick")
    assert f"exp({Fraction(2, sets)}" in table.noise
    private = us.plan(schema(SICK), epsilon=2, method=method, sets=sets)
    assert private.tables[0].noise_mass == 0


@pytest.mark.parametrize("method", URNS)
def test_what_does_not_fit_is_refused_in_the_plan(method):
    with pytest.raises(MethodError, match="pure guarantee"):
        us.plan(schema(SICK), epsilon=1, delta="1e-6", method=method)
    with pytest.raises(MethodError, match="sets"):
        us.plan(schema(SICK), epsilon=1, method=method, options={"sets": "free"})
    column = 'kind = "integer"\nlower = 0\nupper = 99\nbins = 100\nreviewed = true\n'
    wide = "".join(f"[columns.c{j}]\n{column}" for j in range(10))
    with pytest.raises(MethodError, match="2\\^62"):
        us.plan(schema(wide), epsilon=1, method=method)


@pytest.mark.parametrize("method", URNS)
@pytest.mark.parametrize("epsilon", [1, 8])
@pytest.mark.nightly(every=3)
def test_shares_are_those_of_the_rows_and_the_prior(method, epsilon):
    """200 sets of 40 records, by day 50; 30 of 40 rows are sick. Mean share within 5 deviations."""
    rows = pl.DataFrame({"sick": [True] * 30 + [False] * 10})
    sets = 200 if NIGHT else 50
    release = us.synthesize(
        rows,
        schema(SICK, 40),
        epsilon=epsilon * sets,
        method=method,
        sets=sets,
        insecure_noise_seed=1,
    )
    reinforced = method == "dirichlet"
    prior = float(prior_weight(40, Fraction(epsilon), reinforced=reinforced))
    mass = 40 + 2 * prior
    share = (30 + prior) / mass
    variance = share * (1 - share) / 40 * ((40 + mass) / (1 + mass) if reinforced else 1)
    found = np.mean([table["sick"].mean() for table in release.tables])
    assert abs(found - share) < 5 * math.sqrt(variance / sets)
    if epsilon == 1:  # far from the share among the rows: the prior does not go away
        assert abs(found - 0.75) > 10 * math.sqrt(variance / sets)


def test_the_smoothed_histogram_has_the_lambda_of_the_paper():
    n, cells = 40, 7
    a = float(prior_weight(n, Fraction(1), reinforced=False))
    assert cells * a / (n + cells * a) == pytest.approx(0.873624, abs=1e-6)
    assert cells / (cells + n * math.expm1(1 / n)) == pytest.approx(0.873624, abs=1e-6)


@pytest.mark.parametrize("bins", [1, 7])
def test_the_smoothed_histogram_is_the_dp_prior_on_bins(bins):
    """The very records, values within bins included; edges that the rule needs are among them."""
    rows, public = weights(60), schema(WEIGHT, 60)
    smoothed = us.synthesize(
        rows,
        public,
        epsilon=40,
        method="smoothed-histogram",
        options={"bins": bins},
        sets=2,
        insecure_noise_seed=3,
    )
    binned = configure("smoothed-histogram", {"bins": bins}).bin_columns(public)
    assert binned.columns["weight"].size >= bins
    plain = us.synthesize(
        rows, binned, epsilon=40, method="dp-prior", sets=2, insecure_noise_seed=3
    )
    for one, other in zip(smoothed.tables, plain.tables, strict=True):
        assert one.equals(other)
        assert one.filter((pl.col("weight") > 105) & (pl.col("sex") == "f")).is_empty()
    found, expected = ([m.to_json() for m in one.measurements] for one in (smoothed, plain))
    assert found == expected


def test_bins_are_bought_once_for_all_sets():
    release = us.synthesize(
        weights(500),
        schema(WEIGHT, 500),
        epsilon=100,
        method="smoothed-histogram",
        options={"bins": "bought"},
        sets=3,
    )
    kinds = [one.kind for one in release.measurements]
    assert kinds[-3:] == ["draws"] * 3
    assert kinds.count("draws") == 3
    assert "scatter" in kinds
    assert release.guarantee.kind == "pure"
    # Scott's rule at a deviation of 10: 140 / (3.49 · 10 · 500^(−1/3)) = 31.8, and an edge at 105.
    assert 25 < release.schema.columns["weight"].size < 42


def test_in_paper_mode_only_bins_read_off_the_rows_are_a_leak():
    def kind(**options):
        made = us.synthesize(
            weights(50),
            schema(WEIGHT, 50),
            epsilon=1,
            method="smoothed-histogram",
            options=options,
        )
        return made.guarantee.kind

    assert kind(bins="scott", mode="paper") == "conditional"
    assert kind(bins="scott") == kind(bins=5, mode="paper") == "pure"


def test_the_table_of_methods_knows_them():
    assert set(URNS) <= set(METHODS)
    for name in URNS:
        budget = Budget.of(1)
        (step,) = METHODS[name]().plan(schema(SICK, 10), budget.amount, budget)
        assert step.share == 1
