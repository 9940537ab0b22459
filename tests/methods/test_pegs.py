"""Methods that draw records column by column: plans, options, releases, and what cannot be said."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import InferenceError, MethodError
from understudy.methods.registry import configure
from understudy.papers.gibbs_mechanisms import UNPAID
from understudy.schema import Schema

COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
reviewed = true
[columns.job]
kind = "categorical"
levels = ["none", "worker", "boss"]
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 4
reviewed = true
"""
PUBLIC = 'rows = "public"\nn_rows = 400\n'
METHODS = ["pegs", "pegs-reset", "pegs-diverse"]
PAID = METHODS[:2]


def schema(head=PUBLIC, more=""):
    said = 'title = "People"\n[unit]\ndescription = "one person"\n'
    return Schema.loads(head + said + COLUMNS + more)


def people(n=400):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, n)
    job = np.where(age < 20, "none", np.where(rng.random(n) < 0.2, "boss", "worker"))
    return pl.DataFrame({"sex": rng.choice(["f", "m"], n), "job": job, "age": age})


def release(method, epsilon="1", **options):
    private = method != "pegs-diverse"
    return us.synthesize(
        people(),
        schema(),
        epsilon=epsilon,
        method=method,
        options=options,
        allow_nonprivate=not private,
    )


def test_a_plan_says_what_a_budget_buys():
    """1200 steps share ε = 1: α = 1/(e^(1/1200) − 1) = 1199.5, and a row of all 400 in one of four
    states has (400 + α)/(400 + 4α) = 0.3077, 1.231 times ¼."""
    plan = us.plan(schema(), epsilon=1, method="pegs")
    (table,) = plan.tables
    assert (table.form, table.stddev, table.noise_mass) == ("sweeps", 0.0, 0.0)
    assert (table.n_cells, table.query) == (3 * 24, "records after 1 sweep of sex × job × age")
    advice, caution = plan.remarks
    assert "pegs-tables" in advice
    assert "For 400 records this budget leaves ε = 0.000833 for each step" in caution
    assert "1,200 records are added to each state" in caution
    assert "at most 1.231 times" in caution
    assert len(us.plan(schema(head=""), epsilon=1, method="pegs").remarks) == 1


def test_blocks_are_as_long_as_a_column_has_keys():
    """Keys: 12, 8 and 6 values; 400 records are 50 blocks of 8, each paying for three tables, twice
    as records are replaced."""
    plan = us.plan(schema(), epsilon=1, method="pegs-reset")
    assert plan.tables[0].query == "records in blocks of 8 with reset of sex × job × age"
    assert "each block of 8 records" in plan.remarks[0]
    assert "ε = 0.00333 for each table of a block" in plan.remarks[1]
    whole = us.plan(schema(), epsilon=1, method="pegs-reset", options={"block": 0})
    assert whole.tables[0].query == "records in one block with reset of sex × job × age"
    assert "ε = 0.167 for each table of a block" in whole.remarks[1]


def test_a_delta_makes_steps_cheaper():
    caution = us.plan(schema(), epsilon=1, delta="1e-6", method="pegs").remarks[1]
    found = float(caution.split("ε = ")[1].split()[0])
    assert found > 3 / 1200


def test_keys_are_the_foremost_of_the_order_or_as_declared():
    def keys(**options):
        return configure("pegs", options).sweep(schema()).keys

    assert keys() == (("job", "age"), ("sex", "age"), ("sex", "job"))
    assert keys(key_limit=6) == (("job",), ("sex",), ("sex", "job"))
    assert keys(order="age", key_limit=5) == (("age",), ("age",), ("sex",))
    assert keys(keys="job<-age & sex") == ((), ("age", "sex"), ())


def test_keys_can_be_bought():
    """With an ample budget the choice falls on the column that goes with each most, age and job."""
    found = us.synthesize(
        people(),
        schema(),
        epsilon=10_000,
        method="pegs",
        sets=2,
        options={"choice_share": "0.5", "key_limit": 4},
        insecure_noise_seed=1,
    )
    entries = found.manifest.ledger
    assert [one["mechanism"] for one in entries[:3]] == ["exponential mechanism"] * 3
    assert sum(Fraction(one["epsilon_exact"]) for one in entries[:3]) == 5_000
    assert [Fraction(one["epsilon_exact"]) for one in entries[3:]] == [2_500] * 2
    chosen = [one.columns for one in found.measurements if one.kind == "choice"]
    assert chosen[1:] == [("job", "age"), ("age", "job")]


@pytest.mark.parametrize("method", PAID)
def test_bought_keys_exclude_given_ones(method):
    for given in ({"order": "age"}, {"keys": "job<-age"}):
        with pytest.raises(MethodError, match="leave out keys and order"):
            us.plan(schema(), epsilon=1, method=method, options={"choice_share": 0.2, **given})


def test_bought_keys_do_not_decide_on_the_length_of_blocks():
    plan = us.plan(
        schema(), epsilon=1, method="pegs-reset", options={"choice_share": 0.2, "key_limit": 12}
    )
    assert plan.tables[0].query == "records in blocks of 12 with reset of sex × job × age"
    assert plan.tables[0].chosen


@pytest.mark.parametrize("method", METHODS)
def test_options_that_do_not_fit_are_refused_before_anything_is_read(method):
    for options, said in [
        ({"order": "height"}, "order names 'height'"),
        ({"keys": "job<-age", "order": "age"}, "leave one of them out"),
        ({"key_limit": 0}, "key_limit"),
    ]:
        with pytest.raises(MethodError, match=said):
            us.plan(schema(), epsilon=1, method=method, options=options)


def test_diversity_beyond_the_states_of_a_column_is_refused_with_a_way_out():
    with pytest.raises(MethodError, match=r"'sex' has 2 states.*diversity=2 or less"):
        us.plan(schema(), epsilon=1, method="pegs-diverse", options={"diversity": 3})
    with pytest.raises(MethodError, match="sensitive names 'height'"):
        us.plan(schema(), epsilon=1, method="pegs-diverse", options={"sensitive": "height"})
    options = {"diversity": 3, "sensitive": "job, age"}
    said = us.plan(schema(), epsilon=1, method="pegs-diverse", options=options).remarks
    assert len(said) == 1
    assert "not differential privacy" in said[0]


def test_rules_over_sensitive_columns_are_said_to_cost_diversity():
    rule = '[[forbidden]]\nwhere = { sex = "f", job = "boss" }\nreviewed = true\n'
    said = us.plan(schema(more=rule), epsilon=1, method="pegs-diverse").remarks
    assert "sex, job" in said[1]


@pytest.mark.parametrize(("method", "options"), [("pegs", {}), ("pegs-reset", {"block": 1})])
def test_a_large_budget_keeps_how_columns_go_together(method, options):
    """Of those in the youngest of four bins four in five have no job, an even spread has one in
    three. About 100 synthetic records: five standard deviations are 0.2 and 0.24."""
    for epsilon, expected in [("1e6", 0.8), ("0.1", 1 / 3)]:
        made = release(method, epsilon, **options).tables[0]
        young = made.filter(pl.col("age") < 24)
        assert abs((young["job"] == "none").mean() - expected) < 0.24


@pytest.mark.parametrize("method", METHODS)
def test_no_error_bars_are_given(method):
    made = release(method)
    for kind, formula in [
        ("mean", "age"),
        ("proportion", "job"),
        ("total", "age"),
        ("ols", "age ~ sex"),
    ]:
        with pytest.raises(InferenceError, match="an amount that nobody outside knows"):
            us.analyze(made, kind, formula)
    shown = us.analyze(made, "mean", "age", anyway=True)
    assert not shown.valid


@pytest.mark.parametrize("method", PAID)
def test_a_release_says_how_it_was_drawn(method, tmp_path):
    made = release(method)
    (one,) = made.measurements
    assert one.kind == "sweeps"
    assert one.of[1] == "job<-sex & age"
    assert Fraction(one.scale) == pytest.approx(one.totals["prior"])
    assert ("block" in one.totals) == (method == "pegs-reset")
    made.save(tmp_path / "made")
    again = us.Release.load(tmp_path / "made").measurements[0]
    assert (again.of, again.totals, again.distribution) == (one.of, one.totals, one.distribution)
    text = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "drawn column by column" in text
    assert "no estimate can be corrected" in text


def test_a_diverse_release_is_stamped_not_private(tmp_path):
    made = release("pegs-diverse")
    assert made.guarantee.kind == "none"
    assert {one.distribution for one in made.measurements} == {"diverse rows"}
    assert all("not differential privacy" in one["noise"] for one in made.manifest.ledger)
    made.save(tmp_path / "made")
    text = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "without any privacy noise" in text


@pytest.mark.parametrize("method", PAID)
def test_weights_by_marginals_are_bought_and_paid_for(method):
    """A tenth of the budget for a count by each column, the rest for the records."""
    plan = us.plan(schema(), epsilon=1, method=method, options={"weights": "marginals"})
    assert [table.columns for table in plan.setup] == [("sex",), ("job",), ("age",)]
    assert sum(table.share for table in plan.setup) == Fraction(1, 10)
    assert [table.share for table in plan.tables] == [Fraction(9, 10)]
    assert "each state of a row, or more, by their shares in all rows." in plan.remarks[1]
    found = release(method, weights="marginals", weights_share="0.25")
    entries = found.manifest.ledger
    assert [Fraction(one["epsilon_exact"]) for one in entries] == [Fraction(1, 12)] * 3 + [
        Fraction(3, 4)
    ]
    assert "or more, by released marginals" in entries[3]["noise"]
    assert (found.guarantee.kind, found.guarantee.leaks) == ("pure", ())


def test_weights_by_marginals_share_the_budget_with_bought_keys():
    found = release(
        "pegs", epsilon=100, weights="marginals", choice_share="0.3", weights_share="0.2"
    )
    costs = [Fraction(one["epsilon_exact"]) for one in found.manifest.ledger]
    assert costs == [10] * 3 + [Fraction(20, 3)] * 3 + [50]


@pytest.mark.parametrize("mode", ["strict", "paper"])
@pytest.mark.parametrize("method", PAID)
def test_weights_by_marginals_keep_marginals_where_even_ones_keep_nothing(method, mode):
    """At ε = 60, of which 6 or none buy counts, 400 records of pegs have α = 20 to 22 or more. The
    share of bosses is 0.16 in the rows and 1/3 in an even spread; the standard error of 400
    records is 0.02, so a half-way bound is four of them away from either."""
    epsilon = "60"
    by_marginals = release(method, epsilon, weights="marginals", mode=mode).tables[0]
    even = release(method, "1").tables[0]
    assert (people()["job"] == "boss").mean() < 0.2
    assert (by_marginals["job"] == "boss").mean() < 0.25 < (even["job"] == "boss").mean()


@pytest.mark.parametrize("method", PAID)
def test_marginals_read_off_the_rows_are_stamped(method, tmp_path):
    found = release(method, weights="marginals", mode="paper")
    assert (found.guarantee.kind, found.guarantee.leaks) == ("conditional", (UNPAID,))
    assert [Fraction(one["epsilon_exact"]) for one in found.manifest.ledger] == [1]
    again = us.Release.load(found.save(tmp_path / "release"))
    assert again.guarantee == found.guarantee
    page = (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    assert "which were not paid for; states rarer than an even spread" in page
    assert release(method).guarantee.kind == "pure"


@pytest.mark.parametrize("method", PAID)
def test_options_of_weights_that_contradict_each_other_are_refused(method):
    for options, said in [
        ({"mode": "paper"}, "set both or neither"),
        ({"weights": "marginals", "weights_share": 0.5, "choice_share": 0.5}, "leave nothing"),
        ({"weights": "marginals", "weights_share": 0}, "weights_share"),
    ]:
        with pytest.raises(MethodError, match=said):
            us.plan(schema(), epsilon=1, method=method, options=options)
