"""Ranks that go together: which are measured, what they cost, and what records take in of them."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_matrices import SCHEMA as PEOPLE
from made_matrices import people
from schemas import Day, column
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.mechanism import Form
from understudy.dp.released import Noise, NoisyProducts, NoisyRanks, NoisyTable
from understudy.features.scores import RankScores
from understudy.graphical.rank_exchange import MOST_NOISE, RankExchange
from understudy.mechanisms.second_moments import RankProducts
from understudy.methods.noisy_marginals import CompressedDomain
from understudy.methods.ranks import (
    FEW_ROWS,
    MOST_SHARE,
    NOISE,
    planned_ranks,
    rank_exchange,
    rank_products,
    ranked_columns,
    ranked_groups,
    ranks_in,
    ranks_spend,
    resample_ranks,
)
from understudy.workflow.analyze import model_of
from understudy_verify import verify

LEVELS = ["1", "2", "3", "4", "5"]
ITEMS = [f"q{k}" for k in range(12)]
N = 5_000
LIKERT = us.Schema.loads(
    f'rows = "public"\nn_rows = {N}\n'
    + "".join(column(name, "ordinal", levels=LEVELS) for name in ITEMS)
)
PAIRS = np.triu_indices(len(ITEMS), 1)


def likert(n=N, seed=1):
    """Twelve items, of one cause, from weak to strong ones."""
    rng = np.random.default_rng(seed)
    loads = np.linspace(0.4, 0.85, len(ITEMS))
    cause, own = rng.normal(size=(n, 1)), rng.normal(size=(n, len(ITEMS)))
    states = np.digitize(loads * cause + np.sqrt(1 - loads**2) * own, [-1.2, -0.4, 0.3, 1.1])
    return pl.DataFrame({name: np.array(LEVELS)[states[:, k]] for k, name in enumerate(ITEMS)})


def rank_correlations(table):
    """Of Spearman, by pair of items."""
    each = [table[name].cast(pl.String).cast(pl.Int32).rank().to_numpy() for name in ITEMS]
    return np.corrcoef(each)[PAIRS]


def off(table, rows):
    """Mean absolute error of the rank correlations."""
    return np.abs(rank_correlations(table) - rank_correlations(rows)).mean()


def release_of(rows, schema=LIKERT, *, epsilon=1, seed=1, **more):
    asked = {"method": "marginals", "delta": "1e-6"} | more
    return us.synthesize(rows, schema, epsilon=epsilon, insecure_noise_seed=seed, **asked)


def ranks_of(release):
    return [one for one in release.measurements if one.kind == "ranks"]


def steps_of(release):
    """Lines of the ledger that bought ranks."""
    return [one for one in release.manifest.ledger if one["mechanism"] == "noisy rank products"]


@pytest.fixture(scope="module")
def rows():
    return likert()


@pytest.fixture(scope="module")
def release(rows):
    return release_of(rows)


@pytest.fixture
def exchanges(monkeypatch):
    """What each drawing of records took in, as it was drawn."""
    seen, own = [], RankExchange.exchange_values

    def noted(self, groups, rng):
        seen.append(self)
        return own(self, groups, rng)

    monkeypatch.setattr(RankExchange, "exchange_values", noted)
    return seen


def same(one, other):
    """Whether two exchanges are alike to the last number."""
    plain = [(own.columns, own.partners, own.most, own.stddev) for own in (one, other)]
    numbers = [(own.sums.tolist(), [each.tolist() for each in own.scores]) for own in (one, other)]
    return plain[0] == plain[1] and numbers[0] == numbers[1]


# --- which columns, and at what price ------------------------------------------------------------

KINDS = {
    "likert": column("likert", "ordinal", levels=["a", "b", "c"]),
    "coded": column("coded", "ordinal", levels=["a", "b", "c"], missing=["?"]),
    "whole": column("whole", "integer", lower=0, upper=9),
    "real": column("real", "continuous", lower=0, upper=1, bins=4),
    "day": column("day", "date", lower=Day("2020-01-01"), upper=Day("2020-12-31"), bins=4),
}
OTHERS = {
    "sex": column("sex", "categorical", levels=["f", "m", "d"]),
    "yes": column("yes", "boolean"),
    "two": column("two", "ordinal", levels=["no", "yes"]),
    "few": column("few", "ordinal", levels=["no", "yes"], missing=["?", "-"]),
    "pair": column("pair", "integer", lower=0, upper=1),
}
TWO = ("yes", "two", "few", "pair")


def test_ordered_columns_and_those_of_two_states_are_ranked():
    """Ordinal ones, numbers and dates, in the order of the schema; codes of absence are no states.
    Of three states without an order none is."""
    schema = us.Schema.loads("".join([*KINDS.values(), *OTHERS.values()]))
    assert ranked_columns(schema) == (*KINDS, *TWO)
    mixed = [*OTHERS.values(), *reversed(KINDS.values())]
    assert ranked_columns(us.Schema.loads("".join(mixed))) == (*TWO, *reversed(KINDS))


def test_more_columns_of_two_states_than_ordered_ones_are_left_out():
    for n in (3, 4, 5):
        names = [*KINDS][:n]
        text = "".join([*(KINDS[name] for name in names), *OTHERS.values()])
        assert ranked_columns(us.Schema.loads(text)) == (*names, *(TWO if n >= len(TWO) else ()))


@pytest.mark.parametrize("n", range(3))
def test_fewer_than_three_columns_in_order_are_not_ranked(n):
    for chosen in itertools.combinations(KINDS, n):
        text = "".join([*(KINDS[name] for name in chosen), *OTHERS.values()])
        assert ranked_columns(us.Schema.loads(text)) == ()


def test_what_ranks_cost():
    """A part of the budget of a fit, and never more than is meant; or what is asked for. Nothing
    where that would be mostly noise."""
    budget = Budget.of(1, "1e-6", "gdp")
    for spend in (budget.amount, budget.amount / 100):
        usual = ranks_spend(LIKERT, budget, spend, None)
        assert usual == 0 if spend < budget.amount else 0 < usual <= spend * MOST_SHARE
        assert ranks_spend(LIKERT, budget, spend, 0.25) == spend / 4
        assert ranks_spend(LIKERT, budget, spend, 0) == 0
    pure = Budget.of(1)
    assert ranks_spend(LIKERT, pure, pure.amount, None) == 0
    assert ranks_spend(LIKERT, pure, pure.amount, 0.25) == 0
    few = LIKERT.part(ITEMS[:2])
    assert ranks_spend(few, budget, budget.amount, None) == 0
    assert ranks_spend(few, budget, budget.amount, 0.25) == 0


def test_ranks_of_many_rows_cost_what_makes_their_noise_small():
    """A deviation of `NOISE` in a mean product at `FEW_ROWS`, whatever the budget; of more rows
    less, by the root of their number."""
    for epsilon, n in ((1, 10**5), (10, 10**5), (10, 10**6)):
        schema = LIKERT.model_copy(update={"n_rows": n})
        plan = us.plan(schema, epsilon=epsilon, delta="1e-9", method="marginals")
        (step,) = [one for one in plan.tables if one.form == Form.MOMENTS]
        assert step.share < MOST_SHARE
        assert step.stddev / n == pytest.approx(float(NOISE) * (FEW_ROWS / n) ** 0.5, rel=5e-3)


@pytest.mark.parametrize("n", [0, 1, 10, 10**4, 10**6, 10**7, 10**9])
@pytest.mark.nightly(every=2)
def test_ranks_can_be_planned_for_any_number_of_rows(n):
    """However many or few are public: no step has noise that is too wide to be drawn, or to tell
    anything of so many rows."""
    schema = LIKERT.model_copy(update={"n_rows": n})
    for epsilon in ("0.1", 1, 10):
        plan = us.plan(schema, epsilon=epsilon, delta="1e-9", method="marginals")
        found = [one for one in plan.tables if one.form == Form.MOMENTS]
        assert len(found) == (n > 10_000 or (n == 10_000 and epsilon != "0.1"))
        for step in found:
            assert 0 < step.share <= MOST_SHARE
            assert step.stddev <= MOST_NOISE * n


def test_nothing_is_planned_where_nothing_is_spent():
    assert planned_ranks(LIKERT, Fraction(0), Budget.of(1, "1e-6", "gdp"), None) == ()


@pytest.mark.parametrize(
    "asked",
    [
        {"delta": 0},
        {"options": {"ranks_share": 0}},
        {"method": "aim"},
        {"method": "mst"},
    ],
    ids=["pure", "no share", "aim", "mst"],
)
@pytest.mark.nightly(every=2)
def test_ranks_are_not_measured(asked):
    """Without δ, where they have no share, or by methods that do not ask for them."""
    schema = LIKERT.part(ITEMS[:4]).model_copy(update={"n_rows": 600})
    frame = likert(600).select(ITEMS[:4])
    made = release_of(frame, schema, **asked)
    assert ranks_of(made) == steps_of(made) == []
    given = {"method": "marginals", "delta": "1e-6"} | asked
    plan = us.plan(schema, epsilon=1, **given)
    assert all(step.form != Form.MOMENTS for step in plan.tables)


@pytest.mark.parametrize("n", [500, 1_250, 5_000, 90_000])
def test_the_fewer_rows_the_noisier_they_may_be(n):
    """And of many less so: by the root of their number, be it public or released."""
    four, budget = LIKERT.part(ITEMS[:4]), Budget.of(40, "1e-6", "gdp")
    private = four.model_copy(update={"rows": "private", "n_rows": None, "row_limit": 10**6})
    public = four.model_copy(update={"n_rows": n})
    costs = [
        ranks_spend(private, budget, budget.amount, None, n),
        ranks_spend(private, budget, budget.amount, None),
    ]
    assert float(costs[0] / costs[1]) == pytest.approx(FEW_ROWS / n, rel=5e-3)
    noise = [
        RankProducts(RankScores(dict.fromkeys(ITEMS[:4], (0,) * 5)))
        .price(terms_of(schema, budget), ranks_spend(schema, budget, budget.amount, None, n))[0]
        .recorded.stddev
        for schema in (private, public)
    ]
    wished = float(NOISE) * np.sqrt(FEW_ROWS * n)
    assert noise == pytest.approx([wished, wished], rel=5e-3)


def test_ranks_of_too_few_rows_are_not_measured():
    four, budget = LIKERT.part(ITEMS[:4]), Budget.of(1, "1e-6", "gdp")
    private = four.model_copy(update={"rows": "private", "n_rows": None, "row_limit": 10**6})
    assert ranks_spend(private, budget, budget.amount, None, 3) == 0
    assert ranks_spend(private, budget, budget.amount, None, -2) == 0
    large = Budget.of(40, "1e-6", "gdp")
    for n in (100, 300, 400):  # at a noise just below that of which anything is taken
        assert ranks_spend(private, large, large.amount, None, n) > 0


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({}, 1),
        ({"options": {"ranks_share": 0.3}}, 1),
        ({"sets": 3}, 1),
        ({"sets": 2, "options": {"sets": "split"}}, 2),
        ({"options": {"noise": "geometric"}}, 1),
    ],
    ids=["usual", "share", "posterior", "split", "other noise"],
)
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.nightly(every=3)
def test_what_is_planned_is_what_is_paid(asked, fits, public):
    """To the last digit; and the deviation that a plan shows is the one of the measurement. Private
    rows may be fewer than a plan goes by: then they cost more, unless their share is stated."""
    head = {"n_rows": 600} if public else {"rows": "private", "n_rows": None, "row_limit": 2_000}
    schema = LIKERT.part(ITEMS[:4]).model_copy(update=head)
    given = {"epsilon": 3, "delta": "1e-6", "method": "marginals"} | asked
    plan = us.plan(schema, **given)
    (planned,) = [step for step in plan.tables if step.form == Form.MOMENTS]
    made = us.synthesize(likert(600).select(ITEMS[:4]), schema, insecure_noise_seed=1, **given)
    paid, measured = steps_of(made), ranks_of(made)
    assert len(paid) == len(measured) == plan.fits == fits
    for step, one in zip(paid, measured, strict=True):
        (cost,) = [Fraction(value) for name, value in step.items() if name.endswith("_exact")]
        if planned.chosen:
            assert cost > planned.share * plan.budget.amount
            assert one.stddev < planned.stddev
        else:
            assert cost == planned.share * plan.budget.amount
            assert (step["noise"], one.stddev) == (planned.noise, planned.stddev)
        assert step["query"] == planned.query
        assert step["cells"] == planned.n_cells == len(one.counts) == 6
        assert one.columns == planned.columns == tuple(ITEMS[:4])
        assert one.entry == step["number"]
    stated = bool(asked.get("options", {}).get("ranks_share"))
    assert planned.chosen == (not public and not stated)
    told = "What ranks cost, where δ > 0, follows from the number of rows" in " ".join(plan.remarks)
    assert told == planned.chosen
    if stated:
        rest = 1 if public else 0.95  # the number of rows has its share
        assert float(planned.share * fits) == pytest.approx(0.3 * rest)


def test_all_of_the_budget_is_spent(release):
    """Ranks take the place of something else, and add nothing."""
    unit = Budget.of(1, "1e-6", "gdp").amount
    costs = [
        Fraction(value)
        for step in release.manifest.ledger
        for name, value in step.items()
        if name.endswith("_exact")
    ]
    assert unit * Fraction(99, 100) < sum(costs) <= unit


# --- what records take in ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_records_have_the_correlations_that_the_graph_loses(rows, release, seed):
    """Of 66 pairs of 12 items at ε = 1: without ranks the error is .11 to .13 on average, seen over
    seeds; with them it is about .03. Half is what has to be gained."""
    (made,) = (release if seed == 1 else release_of(rows, seed=seed)).tables
    (without,) = release_of(rows, seed=seed, options={"ranks_share": 0}).tables
    assert off(without, rows) > 0.08
    assert off(made, rows) < off(without, rows) / 2
    for name in ITEMS:
        own, drawn = (table[name].cast(pl.String) for table in (rows, made))
        shares = [[(one == level).mean() for level in LEVELS] for one in (own, drawn)]
        assert np.abs(np.subtract(*shares)).max() < 0.03


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_independent_columns_stay_independent(seed):
    """Where nothing goes together noise is not taken for a relation: correlations of records have
    a mean size of .011 by chance alone, and .05 is allowed."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({name: rng.choice(LEVELS, N) for name in ITEMS})
    (made,) = release_of(frame, seed=seed).tables
    assert np.abs(rank_correlations(made)).mean() < 0.05


@pytest.mark.nightly
def test_more_records_have_the_same_correlations(rows, release):
    """As many as one likes, from the release alone."""
    without = off(release_of(rows, options={"ranks_share": 0}).tables[0], rows)
    for n in (2_000, 10_000):
        drawn = us.sample(release, n, seed=3, frame="polars")
        assert off(drawn, rows) < without / 2


@pytest.mark.nightly
def test_records_that_fit_a_condition_have_them_too(release):
    """Means of eleven items where another one is high: among 20,000 records that fit they differ
    from those of whole records that fit (some 3,000 of 20,000) by chance, .025 each; .1 is
    allowed. By the tables alone they differ by .2 and more."""
    whole = us.sample(release, 20_000, seed=1, frame="polars").filter(pl.col("q11") == "5")
    given = us.sample(release, 20_000, where={"q11": "5"}, seed=2, frame="polars")
    assert (given["q11"] == "5").all()
    for name in ITEMS[:-1]:
        means = [own[name].cast(pl.String).cast(pl.Int32).mean() for own in (whole, given)]
        assert abs(means[0] - means[1]) < 0.1


def test_what_was_measured_of_independent_ranks_is_what_is_stated(rows, release):
    """Scores are by released tables, so that mean products are near Spearman's correlations: the
    difference is the noise, the states that share a rank, and records that are shortened."""
    (one,) = ranks_of(release)
    assert [*one.ranks] == list(one.columns) == ITEMS
    values = np.asarray(one.counts) / N
    slope, _ = np.polyfit(rank_correlations(rows), values, 1)
    assert 0.75 < slope < 1.15
    assert np.corrcoef(rank_correlations(rows), values)[0, 1] > 0.85


# --- saved, loaded, checked and made again -------------------------------------------------------

MIXED = us.Schema.loads(
    f'rows = "public"\nn_rows = {N}\n'
    + column("age", "integer", lower=0, upper=99, bins=50, missing=[-1])
    + column("sex", "categorical", levels=["f", "m"])
    + column("income", "continuous", lower=0, upper=1000, bins=40, spikes=[0], decimals=1)
    + column("mood", "ordinal", levels=LEVELS, missing=["?"])
    + column("pain", "ordinal", levels=["none", "some", "much"])
    + """
[[forbidden]]
where = { age = { lower = 0, upper = 15 }, pain = "much" }
reviewed = true
"""
)


def mixed(n=N, seed=3):
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=n)
    age = np.clip(45 + 18 * (0.7 * cause + 0.7 * rng.normal(size=n)), 0, 99).astype(int)
    income = np.clip(np.exp(4 + 0.8 * cause + 0.5 * rng.normal(size=n)), 0, 1000).round(1)
    income[rng.random(n) < 0.2] = 0
    mood = np.digitize(cause + rng.normal(size=n), [-1.5, -0.5, 0.5, 1.5])
    pain = np.digitize(cause + rng.normal(size=n), [0, 1.2])
    pain = np.where((age <= 15) & (pain == 2), 1, pain)
    return pl.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.05, -1, age),
            "sex": rng.choice(["f", "m"], n),
            "income": income,
            "mood": np.where(rng.random(n) < 0.1, "?", np.array(LEVELS)[mood]),
            "pain": np.array(["none", "some", "much"])[pain],
        }
    )


@pytest.fixture(scope="module")
def mixed_release():
    return release_of(mixed(), MIXED, epsilon=2)


def test_rules_hold_in_what_is_drawn(mixed_release):
    child = pl.col("age").is_between(0, 15) & (pl.col("pain").cast(pl.String) == "much")
    for table in (
        *mixed_release.tables,
        us.sample(mixed_release, 5_000, seed=1, frame="polars"),
    ):
        assert table.filter(child).is_empty()


def test_partners_are_those_of_tables_and_rules(mixed_release):
    """Rules hold age and pain together; a table of several holds its columns."""
    exchange = model_of(mixed_release, 1).ranks
    names = MIXED.names
    assert [names[j] for j in exchange.columns] == ["age", "sex", "income", "mood", "pain"]
    held = {frozenset(("age", "pain"))}
    for one in mixed_release.measurements:
        if one.kind == "table":
            held |= set(map(frozenset, itertools.combinations(one.columns, 2)))
    for j, partners in zip(exchange.columns, exchange.partners, strict=True):
        expected = {k for k in range(5) if frozenset((names[j], names[k])) in held and k != j}
        assert set(partners) == expected


def test_the_exchange_of_measured_ranks():
    """In records, over their number; partners by rules alone, and by tables of several as well."""
    noise = Noise("discrete_gaussian", "25", 5.0)

    def table(*columns):
        counts = np.zeros([MIXED.columns[name].size for name in columns])
        return NoisyTable(columns, counts, 0.0, noise)

    merged, one_ways = CompressedDomain(MIXED, {}), [table(name) for name in MIXED.names]
    names = ("age", "mood", "pain")
    scores = {name: tuple(range(MIXED.columns[name].size)) for name in names}
    ranks = NoisyRanks(names, np.array([10.0, -20.0, 30.0]), noise, scores)
    alone = rank_exchange(merged, one_ways, ranks, 100)
    assert alone.columns == (0, 3, 4)
    assert alone.partners == ((4,), (), (0,))
    assert alone.sums.tolist() == [0.1, -0.2, 0.3]
    assert alone.stddev == 0.05
    assert alone.most == RankScores(scores).most
    assert [tuple(own.tolist()) for own in alone.scores] == [*scores.values()]
    held = rank_exchange(
        merged, [*one_ways, table("sex", "mood"), table("income", "mood", "pain")], ranks, 100
    )
    assert held.partners == ((4,), (1, 2, 4), (0, 2, 3))
    assert rank_exchange(merged, one_ways, ranks, 0).sums.tolist() == [10, -20, 30]


def test_ranked_columns_have_the_groups_of_their_measurement():
    """Also where other columns were merged differently, or these by other tables."""
    merged = CompressedDomain(MIXED, {"mood": (0, 0, 1, 1, 1, 2), "sex": (0, 0), "pain": (0, 0, 1)})
    scores = {"mood": (-64, 0, 64, 0), "pain": (-64, 0, 64)}
    groups = {"mood": (0, 0, 1, 1, 2, 3)}
    noise = Noise("discrete_gaussian", "25", 5.0)
    ranks = NoisyRanks(("mood", "pain"), np.zeros(1), noise, scores, {}, groups)
    found = ranked_groups(merged, ranks)
    assert found.groups == {"mood": (0, 0, 1, 1, 2, 3), "sex": (0, 0)}
    assert merged.groups["pain"] == (0, 0, 1)


def test_scores_rise_with_the_values_and_absence_has_none(mixed_release):
    """In the groups of the measurement; spikes and codes stand in groups of their own."""
    (one,) = ranks_of(mixed_release)
    for name, scores in one.ranks.items():
        fine = MIXED.with_bins(one.bins).columns[name]
        groups = one.groups.get(name, tuple(range(fine.size)))
        assert len(scores) == max(groups) + 1
        apart = {groups[k] for k in range(fine.n_ordinary, fine.size)}
        assert all(scores[g] == 0 for g in apart)
        spikes = [getattr(own, "spike", False) for own in getattr(fine, "intervals", ())]
        line = [groups[k] for k in range(fine.n_ordinary) if k >= len(spikes) or not spikes[k]]
        rising = [scores[g] for g in dict.fromkeys(line)]
        assert rising == sorted(rising)
        assert rising[0] < 0 < rising[-1]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("mixed", {}),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("likert", {}),
                ("likert", {"sets": 3}),
                ("mixed", {"sets": 2, "options": {"sets": "split"}}),
                ("mixed", {"method": "auto"}),
                ("mixed", {"options": {"noise": "geometric"}}),
            )
        ),
    ],
)
def test_a_release_is_saved_loaded_and_checked(tmp_path, kind, asked):
    """By the checker that stands by itself as well; nothing of the measurement is lost."""
    schema, frame = (LIKERT, likert()) if kind == "likert" else (MIXED, mixed())
    made = release_of(frame, schema, **asked)
    place = made.save(tmp_path / "made")
    again = us.Release.load(place)
    assert len(ranks_of(made)) == len(ranks_of(again)) == (2 if "split" in str(asked) else 1)
    for one, other in zip(ranks_of(made), ranks_of(again), strict=True):
        assert one.to_json() == other.to_json()
        assert np.array_equal(one.counts, other.counts)
        assert one.ranks == other.ranks
        assert one.groups == other.groups
    states = {rule: (state, why) for rule, state, why in verify(place)}
    assert all(state == "ok" for rule, (state, _) in states.items() if rule != "signature"), states


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("likert", {}),
        ("likert", {"method": "auto"}),
        ("mixed", {"options": {"sets": "free"}, "sets": 2}),
        ("mixed", {"method": "auto"}),
        ("mixed", {"epsilon": "0.2"}),
    ],
)
@pytest.mark.nightly
def test_the_model_made_again_has_the_exchange_that_made_the_sets(tmp_path, exchanges, kind, asked):
    """From the release in memory and from its folder."""
    schema, frame = (LIKERT, likert()) if kind == "likert" else (MIXED, mixed())
    made = release_of(frame, schema, **asked)
    assert exchanges
    drawn_by = exchanges[-1]
    assert all(one is drawn_by for one in exchanges[-asked.get("sets", 1) :])
    for each in (made, us.Release.load(made.save(tmp_path / "made"))):
        rebuilt = model_of(each, 1)
        assert same(rebuilt.ranks, drawn_by)
    altered = replace(drawn_by, sums=drawn_by.sums + 1e-12)
    assert not same(altered, drawn_by)


@pytest.mark.nightly
def test_each_split_fit_has_ranks_of_its_own(exchanges, rows):
    """Measured anew at its share of the budget; and each set takes in those of its fit."""
    made = release_of(rows, sets=2, options={"sets": "split"})
    first, second = ranks_of(made)
    assert not np.array_equal(first.counts, second.counts)
    assert first.entry < second.entry
    drawn = [*exchanges]
    assert len(drawn) == 2
    for one, by in zip((first, second), drawn, strict=True):
        assert np.array_equal(by.sums, np.asarray(one.counts) / N)
        assert by.stddev == one.stddev / N
        assert [tuple(own.tolist()) for own in by.scores] == [*map(tuple, one.ranks.values())]
    pooled = model_of(made, 2)
    rebuilt = [model.ranks for model in pooled.models]
    assert all(same(one, other) for one, other in zip(rebuilt, drawn, strict=True))
    assert not same(*rebuilt)
    without = release_of(rows, sets=2, options={"sets": "split", "ranks_share": 0})
    for one, other in zip(made.tables, without.tables, strict=True):
        assert off(one, rows) < off(other, rows) / 1.5
    drawn = us.sample(made, 4_000, seed=1, frame="polars")
    assert off(drawn, rows) < off(without.tables[0], rows) / 1.5


# --- ranks drawn again ---------------------------------------------------------------------------


@pytest.mark.nightly
def test_posterior_sets_take_in_ranks_that_are_drawn_again(exchanges, rows):
    """Each its own, around what was released, by the noise in it: 5 sets of 66 numbers, so that the
    mean of z² has the deviation .08; half as much again is rejected."""
    made = release_of(rows, sets=5)
    (one,) = ranks_of(made)
    fit, *sets = exchanges  # the fit that refits begin from draws records for itself
    assert len(sets) == 5
    assert fit.sums.tolist() == (np.asarray(one.counts) / N).tolist()
    released, stddev = np.asarray(one.counts) / N, one.stddev / N
    z = np.array([(by.sums - released) / stddev for by in sets])
    assert abs(np.mean(z**2) - 1) < 0.35
    assert abs(np.mean(z**2) / 1.5 - 1) > 0.2
    assert np.abs(np.corrcoef(z)[np.triu_indices(5, 1)]).max() < 0.6
    found = [rank_correlations(table) for table in made.tables]
    assert all(np.abs(a - b).max() > 0.01 for a, b in itertools.combinations(found, 2))
    assert all(off(table, rows) < 0.07 for table in made.tables)


def test_fresh_noise_is_as_wide_as_what_was_added():
    """40,000 numbers: the mean of z² has the deviation .007, and the mean .005."""
    noise = Noise("discrete_gaussian", "9", 3.0)
    scores = {"a": (0,), "b": (1,), "c": (2,)}
    value = NoisyRanks(("a", "b", "c"), np.arange(3.0), noise, scores)
    rng = np.random.default_rng(1)
    z = []
    for _ in range(13_334):
        again = resample_ranks(value, rng)
        z.append((again.values - value.values) / 3.0)
    assert vars(again) | {"values": 0} == vars(value) | {"values": 0}
    assert value.values.tolist() == [0, 1, 2]
    assert abs(np.mean(np.square(z)) - 1) < 0.035
    assert abs(np.mean(z)) < 0.025
    assert abs(np.mean(np.square(z)) / 1.1 - 1) > 0.035


def test_the_last_ranks_that_were_measured_are_those_of_a_fit():
    """Among moments of another kind; none where there are none."""
    noise = Noise("discrete_gaussian", "9", 3.0)
    products = NoisyProducts(("a",), np.zeros(1), noise)
    scores = {"a": (0,), "b": (0,)}
    one, two = (NoisyRanks(("a", "b"), np.full(1, k), noise, scores) for k in (1.0, 2.0))
    assert ranks_in([]) is None
    assert ranks_in([products]) is None
    assert ranks_in([one, two, products]) is two


def test_sets_without_a_record_have_none_to_exchange():
    """Zero rows, public or by noise: empty tables, and no number divided by none."""
    schema = LIKERT.part(ITEMS[:4]).model_copy(update={"n_rows": 0})
    empty = likert(5).select(ITEMS[:4])[:0]
    (made,) = release_of(empty, schema).tables
    assert made.height == 0


@pytest.mark.parametrize("every", [3, 20])
@pytest.mark.nightly(every=2)
def test_columns_with_records_out_of_domain(every):
    """They score 0: where a third is, products say too little; where a twentieth is, they are those
    of the others, which is 1/.95 as much."""
    gone = pl.int_range(N) % every == 0
    frame = likert().with_columns(
        pl.when(gone).then(pl.lit("?")).otherwise(pl.col("q11")).alias("q11")
    )
    made = release_of(frame)
    model = model_of(made, 1)
    first, second = PAIRS
    concerned, (one,) = (first == 11) | (second == 11), ranks_of(made)
    found = model.ranks.sums * N / np.asarray(one.counts)
    assert found[~concerned] == pytest.approx(1)
    if every == 3:
        assert np.isnan(found[concerned]).all()
    else:
        assert found[concerned] == pytest.approx(1 / 0.95, rel=0.02)
    drawn = model.sample(N, np.random.default_rng(1))
    assert len(drawn.states[0]) == N


# --- columns that do not vary --------------------------------------------------------------------


def test_columns_whose_values_nearly_all_agree_are_not_asked_for():
    """They would add to the noise of all others; if too few are left, all are asked for."""
    names = ITEMS[:5]
    schema = LIKERT.part(names)
    counts = {name: np.array([900.0, 1_100, 1_300, 900, 800]) for name in names}
    counts["q3"] = np.array([4_990.0, 20, -15, 10, -5])
    noise = Noise("discrete Gaussian", "400", 20.0)
    known = [NoisyTable((name,), counts[name], 0.0, noise) for name in names]
    asked = rank_products(CompressedDomain(schema, {}), known)
    assert asked.scores.columns == ("q0", "q1", "q2", "q4")
    every = RankScores(dict.fromkeys(names, (0,) * 5))
    assert asked.scores.most < every.most
    few = [replace(one, counts=counts["q3"]) for one in known[:3]]
    assert len(rank_products(CompressedDomain(schema, {}), few + known[3:]).scores.columns) == 5


@pytest.mark.nightly
def test_a_column_of_two_states_keeps_what_it_goes_together_with(rows):
    """A label that follows six of the twelve items, of 5,000 records at ε = .3, in the mean of six
    releases: of its correlations with them .82 is left, without ranks .46."""
    rng = np.random.default_rng(5)
    codes = rows.with_columns(pl.all().cast(pl.Int32)).to_numpy()
    label = codes[:, :6].sum(axis=1) + 3 * rng.normal(size=N) > 18
    both = rows.with_columns(label=label)
    text = LIKERT.model_dump(exclude_none=True)
    text["columns"]["label"] = {"kind": "boolean", "source": "made", "reviewed": True}
    schema = us.Schema.model_validate(text)

    def correlations(table):
        own = table["label"].cast(pl.Float64).to_numpy()
        items = (table[name].cast(pl.String).cast(pl.Float64).to_numpy() for name in ITEMS[:6])
        return np.array([np.corrcoef(own, item)[0, 1] for item in items])

    real, kept = correlations(both), []
    for options in ({}, {"ranks_share": 0}):
        made = [
            release_of(both, schema, epsilon=0.3, seed=seed, options=options).tables[0]
            for seed in range(1, 7)
        ]
        kept.append(np.mean([correlations(one) @ real / (real @ real) for one in made]))
    assert kept[0] > 0.7 > 0.55 > kept[1]


@pytest.mark.nightly
def test_a_strong_relation_of_few_private_rows_is_kept():
    """Of 700, among six columns: a correlation of .78 at ε = 1, in the mean of four releases (.68
    in twelve). What ranks of 5,000 rows cost would leave nothing of it."""
    rows = people(np.random.default_rng(5), 700)
    schema = us.Schema.model_validate(
        PEOPLE.model_dump(exclude_none=True) | {"rows": "private", "row_limit": 10**6}
    )
    found = []
    for seed in range(4):
        made = us.synthesize(rows, schema, epsilon=1, delta="1e-6", insecure_noise_seed=seed)
        (measured,) = ranks_of(made)  # of runs of 100 states, whose counts alone are mostly noise
        assert {"x", "y"} <= {*measured.columns}
        found.append(np.corrcoef(made.tables[0]["x"].rank(), made.tables[0]["y"].rank())[0, 1])
    assert np.mean(found) > 0.5
