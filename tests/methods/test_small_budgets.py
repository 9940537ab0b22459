"""Adaptive marginals of few records: tables bought once more, and pairs that relations tie."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import NoisyTable
from understudy.evaluate.comparison import Comparison
from understudy.evaluate.marginals import marginal_distances
from understudy.graphical.estimation import Observation
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.binning import records_per_noise
from understudy.methods.marginal_based import shrink_columns, shrink_ties
from understudy.methods.marginals import LEAST_ONE_WAY, MOST_ONE_WAY
from understudy.methods.noisy_marginals import CompressedDomain
from understudy.methods.registry import configure
from understudy.release.shape import Kind
from understudy.workflow.gates import open_gate

LEVELS = {"a": 2, "b": 3, "c": 6, "d": 6}
NUMBERS = column("age", "integer", lower=0, upper=79) + column("late", "integer", lower=0, upper=79)
TIE = '\n[[relations]]\ninequality = "age <= late"\nsource = "law"\nreviewed = true\n'
NAMES = [*LEVELS, "age", "late"]


def schema(n, rules=""):
    levels = "".join(
        column(name, "categorical", levels=[str(k) for k in range(size)])
        for name, size in LEVELS.items()
    )
    return us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{levels}{NUMBERS}{rules}')


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=n)
    cut = {
        name: np.floor(size / (1 + np.exp(-trait - rng.normal(size=n)))).astype(int).astype(str)
        for name, size in LEVELS.items()
    }
    age = np.clip(40 + 15 * trait + 5 * rng.normal(size=n), 0, 79).astype(int)
    return pl.DataFrame(cut | {"age": age, "late": np.minimum(age + rng.integers(0, 20, n), 79)})


def measured(n, *, rules="", epsilon="1", **options):
    """The ledger, and columns and kind of each measurement, of one fit."""
    declared, budget = schema(n, rules), Budget.of(epsilon, "0.000001", "gdp")
    gate = open_gate(Table(rows(n), declared), budget, SeededRandomness(1))
    method = configure("marginals", options)
    method.setup(gate, budget.amount).fit(budget.amount, n)
    assert gate.remaining == 0
    costs = [entry.spent / budget.amount for entry in gate.ledger]
    return costs, [(one.value.columns, isinstance(one.value, NoisyTable)) for one in gate.measured]


SINGLE = [((name,), True) for name in NAMES]
NAMES_ALONE = [(name,) for name in NAMES]


def test_bins_are_coarser_where_noise_is_larger_and_cost_the_same():
    """Costs are those of the finest bins, of which the plan speaks; of public numbers of rows both
    are known, and bins follow what is released of private ones alike."""
    wide = column("sum", "continuous", lower=0, upper=1e6)
    found = []
    for n in (60, 60_000):
        declared = us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{wide}{NUMBERS}')
        drawn = rows(n).select("age", "late", sum=pl.Series(np.arange(n, dtype=float)))
        asked = {"epsilon": "1", "delta": "1e-6", "options": {"ranks_share": 0}}
        made = us.synthesize(drawn, declared, method="marginals", insecure_noise_seed=1, **asked)
        plan = us.plan(declared, method="marginals", **asked)
        unit = next(key for key in made.manifest.ledger[0] if key.endswith("_exact"))
        costs = [step[unit] for step in made.manifest.ledger[:3]]
        sizes = np.array([made.schema.columns[name].size for name in ("sum", "age", "late")])
        assert all(one.chosen for one in plan.tables[:3])
        assert (sizes <= [one.n_cells for one in plan.tables[:3]]).all()
        found.append((costs, sizes))
    assert found[0][0] == found[1][0]
    assert (found[0][1] < found[1][1]).all()
    assert found[1][1].tolist() == [one.n_cells - 1 for one in plan.tables[:3]]


def test_a_target_of_few_levels_leaves_budget_for_pairs_where_others_would_drown():
    """Of 120 records no pair is worth its noise, but one with a column of two levels is."""
    _, usual = measured(120, ranks_share=0)
    _, aimed = measured(120, ranks_share=0, target="a")
    pairs = [[columns for columns, table in found if len(columns) > 1] for found in (usual, aimed)]
    assert not pairs[0]
    assert pairs[1]
    assert all("a" in columns for columns in pairs[1])


@pytest.mark.parametrize("spend", [Fraction(1, 100), Fraction(1, 2)])
def test_records_in_noise_are_counted_in_deviations(spend):
    gate = open_gate(
        Table(rows(100), schema(100)), Budget.of(1, "0.000001", "gdp"), SeededRandomness(1)
    )
    table = gate.ask(NoisyTables([("a",)], noise="gaussian"), spend=spend * gate.budget.amount)[0]
    found = records_per_noise(gate, "gaussian", spend * gate.budget.amount)
    assert found == pytest.approx(100 / table.noise.stddev)
    assert records_per_noise(gate, "gaussian", Fraction(0)) == 0


def test_what_pairs_have_no_room_for_buys_one_way_tables_once_more():
    """All of it with next to no records, some with few, nothing with many or a stated share.

    A stated degree asks for rounds.
    """
    costs, found = measured(40, epsilon="0.5")
    assert found == SINGLE * 2 + [(("age",), True), (("late",), True)]
    assert sum(costs[6:12]) == 1 - LEAST_ONE_WAY
    shares = []
    for n in (400, 1_500):
        costs, found = measured(n, degree=2)
        assert found[:12] == SINGLE * 2
        assert not all(table for _, table in found)
        shares.append(sum(costs[6:12]))
    assert 1 - LEAST_ONE_WAY > shares[0] > shares[1] > 0
    for n, options in ((3_000, {}), (600, {"one_way_share": 0.5})):
        _, found = measured(n, **options)
        assert found[:6] == SINGLE
        assert found[6:12] != SINGLE


def test_where_rounds_have_no_room_a_forest_ties_all_columns():
    """Pairs are chosen one by one and measured together; then pairs or columns once more."""
    _, found = measured(600)
    columns = [columns for columns, _ in found]
    start = next(k for k, (_, table) in enumerate(found) if not table)
    assert all(len(one) == 1 for one in columns[:start])
    chosen, pairs = columns[start : start + 5], columns[start + 5 : start + 10]
    assert chosen == pairs
    component = {name: {name} for name in NAMES}
    for a, b in pairs:
        assert component[a] is not component[b]
        both = component[a] | component[b]
        component |= dict.fromkeys(both, both)
    again = columns[start + 10 :]
    assert again in (pairs, NAMES_ALONE, pairs + NAMES_ALONE)


def test_shrunk_ties_are_nearer_than_measured_ones():
    """400 tables of 4 × 5 cells with no tie, a weak and a strong one, and one of full rank."""
    rng = np.random.default_rng(3)
    alone = [Observation((j,), np.full(size, 400.0 / size), 1e-6) for j, size in ((0, 4), (1, 5))]
    shape = np.outer([1.0, -1, 1, -1], [1.0, 0, -1, 1, -1])
    slope = np.outer(np.arange(4) - 1.5, np.arange(5) - 2)
    ratios = []
    for strength, other in ((0.0, 0.0), (5.0, 0.0), (50.0, 0.0), (50.0, 50.0)):
        errors = []
        for _ in range(400):
            free = other * rng.normal(size=(4, 5))
            true = 20 + strength * shape + free - free.mean(axis=0) - free.mean(axis=1)[:, None]
            noisy = true + rng.normal(0, 10, true.shape)
            tables = [*alone, Observation((0, 1), noisy, 100.0)]
            for ordered in ((), (0,), (0, 1)):
                shrunk = shrink_ties(tables, ordered)[2].counts
                for axis in (0, 1):
                    assert shrunk.sum(axis=axis) == pytest.approx(noisy.sum(axis=axis))
            assert (shrunk * slope).sum() == pytest.approx((noisy * slope).sum())
            errors.append([((one - true) ** 2).sum() for one in (shrunk, noisy)])
        shrunk, noisy = np.mean(errors, axis=0)
        ratios.append(shrunk / noisy)
    assert ratios[0] < 0.55 < ratios[1] < 0.8
    assert ratios[2] < 0.85
    assert ratios[3] < 1.02


def test_a_sparse_table_of_high_rank_is_not_shrunk_to_few_traits():
    """Of 25 × 25 cells five in a row hold anybody. Low ranks alone would be 14 % farther."""
    rng = np.random.default_rng(4)
    alone = [Observation((j,), np.full(25, 1_000.0), 1e-6) for j in (0, 1)]
    true, far = 200.0 * (rng.permuted(np.tile(np.arange(25), (25, 1)), axis=1) < 5), []
    for _ in range(30):
        noisy = true + rng.normal(0, 60, true.shape)
        shrunk = shrink_ties([*alone, Observation((0, 1), noisy, 3600.0)])[2].counts
        kept = (np.maximum(counts, 0) for counts in (shrunk, noisy))
        far.append([np.abs(one / one.sum() - true / true.sum()).sum() for one in kept])
    shrunk, noisy = np.mean(far, axis=0)
    assert shrunk < 1.05 * noisy


@pytest.mark.parametrize(
    "counts",
    [np.zeros((4, 4)), np.full((4, 4), 20.0), 15 + 20 * np.eye(4)],
    ids=["nobody", "even", "alike in each direction"],
)
def test_singular_values_may_be_alike(counts):
    alone = [Observation((j,), np.full(4, 80.0), 1.0) for j in (0, 1)]
    shrunk = shrink_ties([*alone, Observation((0, 1), counts, 16.0)])[2].counts
    assert np.ptp(np.diagonal(shrunk)) == pytest.approx(0, abs=1e-9)
    for axis in (0, 1):
        assert shrunk.sum(axis=axis) == pytest.approx(counts.sum(axis=axis))


def test_ties_of_tables_that_tell_little_of_noise_stay():
    """Of three columns, and of two states each; tables of which a column is not known alone too."""
    rng = np.random.default_rng(1)
    alone = [Observation((j,), np.full(2, 50.0), 1.0) for j in (0, 1)]
    others = [
        Observation((0, 1), rng.normal(25, 5, (2, 2)), 25.0),
        Observation((0, 1, 2), rng.normal(5, 5, (2, 2, 5)), 25.0),
        Observation((1, 3), rng.normal(5, 5, (2, 9)), 25.0),
    ]
    assert shrink_ties([*alone, *others])[2:] == others


def test_a_forest_has_as_many_pairs_as_noise_leaves_two_groups_of_a_column():
    """Without δ too; with next to no records there is none."""
    found = []
    for n in (60, 250, 400, 1_200):
        release = us.synthesize(
            rows(n), schema(n), epsilon="1", method="marginals", insecure_noise_seed=1
        )
        tables = [one for one in release.measurements if one.kind is Kind.TABLE]
        found.append(sum(len(one.columns) == 2 for one in tables))
    assert found[0] == 0 < found[1] < found[2] <= found[3]


@pytest.mark.parametrize("noise", [5.0, 60.0, 400.0])
def test_shrunk_columns_are_nearer_than_measured_ones(noise):
    """400 tables of six levels, even or not, of which 600 records are known."""
    rng = np.random.default_rng(4)
    text = column("x", "categorical", levels=[*"abcdef"])
    merged = CompressedDomain(us.Schema.loads(f'rows = "public"\nn_rows = 600\n{text}'), {})
    for true in (np.full(6, 100.0), np.array([250.0, 150, 100, 50, 40, 10])):
        errors = []
        for _ in range(400):
            noisy = true + rng.normal(0, noise, 6)
            told = noisy + (600 - noisy.sum()) / 6
            (one,) = shrink_columns(merged, [Observation((0,), noisy, noise**2)], 600.0)
            assert one.counts.sum() == pytest.approx(600)
            errors.append([((counts - true) ** 2).sum() for counts in (one.counts, told)])
        shrunk, plain = np.mean(errors, axis=0)
        assert shrunk < plain


def test_a_value_of_nearly_all_records_stays_where_a_hundred_noisy_counts_add_up_to_anything():
    """How many records there are is known far better than by the sum of counts of a column."""
    text = column("loss", "ordinal", levels=[*range(100)]) + column("sex", "boolean")
    declared = us.Schema.loads(f'rows = "public"\nn_rows = 500\n{text}')
    drawn = pl.DataFrame({"loss": [0] * 480 + [*range(1, 21)], "sex": [True, False] * 250})
    kept = [
        (us.synthesize(
            drawn, declared, epsilon="0.3", delta="1e-9", method="marginals",
            insecure_noise_seed=seed,
        ).tables[0]["loss"] == 0).mean()
        for seed in range(4)
    ]  # fmt: skip
    assert min(kept) > 0.8


@pytest.mark.parametrize("kind", ["private", "public"])
def test_without_delta_single_columns_get_their_budget_in_one_step(kind):
    """All of it with next to no records, and of a public number of rows as planned."""
    head = "row_limit = 10000" if kind == "private" else "n_rows = {n}"
    for n in (20, 400):
        text = "".join(column(one, "categorical", levels=[*"abcdef"]) for one in "xyzw")
        declared = us.Schema.loads(f'rows = "{kind}"\n{head.format(n=n)}\n{text}')
        drawn = pl.DataFrame({one: [*"abcdef"] * (n // 6) + ["a"] * (n % 6) for one in "xyzw"})
        asked = {"epsilon": "1", "method": "marginals"}
        release = us.synthesize(drawn, declared, insecure_noise_seed=1, **asked)
        steps = [step for step in release.manifest.ledger if "counts by" in step["query"]]
        costs = [Fraction(step["epsilon_exact"]) for step in steps]
        singles = us.plan(declared, **asked).tables[:4]
        assert [step["query"] for step in steps[:4]] == [f"counts by {one}" for one in "xyzw"]
        assert all(one.chosen is (kind == "private") for one in singles)
        if kind == "public":
            assert costs[:4] == [one.share for one in singles]
        assert (len(steps) == 4) is (n == 20)
        assert sum(costs[:4]) > 2 * MOST_ONE_WAY * Fraction(19, 20) * (n == 20)


def test_columns_of_no_pair_have_rare_states_merged_in_every_set():
    """By their averaged tables; sets that are drawn again keep the groups of the released ones."""
    release = us.synthesize(
        rows(40), schema(40), epsilon="0.5", delta="0.000001", method="marginals", sets=3,
        insecure_noise_seed=1,
    )  # fmt: skip
    assert not any(len(one.columns) > 1 for one in release.measurements)
    tables = [one.noisy(release.schema) for one in release.measurements]
    method = configure("marginals", {})
    model = method.rebuilt(release.schema, tables, 40)
    assert {NAMES.index(name) for name in ("c", "d")} <= set(model.expansions)
    again = method.redrawn(release.schema, tables, 40, model).refit(np.random.default_rng(1))
    for place, expansion in model.expansions.items():
        assert again.expansions[place].groups.tolist() == expansion.groups.tolist()
    assert [table.height for table in release.tables] == [40] * 3


@pytest.mark.nightly
def test_few_records_are_closer_than_with_a_stated_share():
    """Mean two-way distance over six releases of 800 records: .19, where a stated share has .23."""
    original, distance = rows(800), []
    for options in ({}, {"one_way_share": 0.4}):
        found = []
        for seed in range(6):
            release = us.synthesize(
                original, schema(800), epsilon="1", delta="0.000001", method="marginals",
                insecure_noise_seed=seed, options=options,
            )  # fmt: skip
            comparison = Comparison.of(schema(800), original, [release.tables[0]])
            found.append(marginal_distances(comparison, 2).values.mean())
        distance.append(np.mean(found))
    assert distance[0] < 0.9 * distance[1]
