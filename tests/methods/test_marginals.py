"""Adaptive marginals: merged states and their zeros, numbers, records out of domain, restoring."""

import datetime

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_matrices import SCHEMA, people
from night import NIGHT
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.dp.released import Noise, NoisyTable
from understudy.methods.noisy_marginals import CompressedDomain, observations
from understudy.methods.registry import configure
from understudy.release.shape import Kind
from understudy.workflow.analyze import model_of
from understudy.workflow.gates import open_gate

HEAD = 'rows = "public"\nn_rows = {n}\n'
REVIEWED = 'reviewed = true\nsource = "codebook"\n'
WORK = (
    HEAD
    + f"""
[columns.age]
kind = "integer"
lower = 0
upper = 79
bins = 80
missing = [""]
{REVIEWED}
[columns.job]
kind = "categorical"
levels = {[f"j{k}" for k in range(20)]}
not_applicable = ["none"]
{REVIEWED}
[columns.pay]
kind = "continuous"
lower = 0
upper = 1000
bins = 50
spikes = [0]
missing = [-9]
{REVIEWED}
[[forbidden]]
where = {{{{ age = {{{{ lower = 0, upper = 15 }}}}, job = {[f"j{k}" for k in range(20)]} }}}}
{REVIEWED}
[[forbidden]]
where = {{{{ job = "none", pay = {{{{ lower = 20, upper = 1000 }}}} }}}}
{REVIEWED}
"""
)


def work(n, seed=0):
    """Children have no job, and who has none earns less than 20."""
    rng = np.random.default_rng(seed)
    age = np.minimum((rng.gamma(3, 12, n)).astype(int), 79)
    job = (20 * rng.random(n) ** 3).astype(int)
    jobs = np.where((age < 16) | (rng.random(n) < 0.2), "none", np.char.add("j", job.astype(str)))
    pay = np.clip(rng.lognormal(4, 1, n) * (1 + job / 20), 0, 1000)
    pay = np.where(jobs == "none", np.where(rng.random(n) < 0.7, 0, rng.random(n) * 19), pay)
    pay = np.where(rng.random(n) < 0.05, -9, pay)
    ages = [
        None if missing else int(a) for a, missing in zip(age, rng.random(n) < 0.03, strict=True)
    ]
    return pl.DataFrame({"age": ages, "job": jobs, "pay": pay}, schema_overrides={"age": pl.Int64})


def impossible(table):
    child = pl.col("age") <= 15
    return table.filter(
        (child & (pl.col("job") != "none")) | ((pl.col("job") == "none") & (pl.col("pay") >= 20))
    )


def release_of(rows, n, method="marginals", seed=1, epsilon="1", **more):
    return us.synthesize(
        rows, us.Schema.loads(WORK.format(n=n)), method=method, epsilon=epsilon,
        delta="0.000001", insecure_noise_seed=seed, **more,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["marginals", "mst"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.nightly(every=8)
def test_zeros_stay_exact_and_groups_are_of_a_kind(method, seed):
    """Whatever the noise merges: no impossible record, and no group of values and codes, of a spike
    and others, or of states that a rule tells apart."""
    release = release_of(work(2_000, seed), 2_000, method, seed, ["0.1", "1", "8"][seed % 3])
    assert impossible(release.tables[0]).is_empty()
    merged = {}
    for one in release.measurements:
        if one.kind == "table":
            merged |= one.groups
    assert merged
    schema = release.schema
    for name, groups in merged.items():
        column = schema.columns[name]
        for group in set(groups):
            members = [k for k, g in enumerate(groups) if g == group]
            assert len({k < column.n_ordinary for k in members}) == 1
            labels = {column.labels[k] for k in members}
            if name == "age" and column.size == len(groups):
                ages = [column.intervals[k] for k in members if k < column.n_ordinary]
                assert len({one.low < 16 for one in ages}) <= 1
            if method == "marginals" and name != "job" and len(members) > 1:
                assert not any(column.intervals[k].spike for k in members if k < column.n_ordinary)
            assert not (len(members) > 1 and labels & {"none", "(empty)", "-9"})


def test_released_model_and_the_one_that_was_sampled_are_one(tmp_path):
    for name in ("mst", "aim", "marginals") if NIGHT else ("marginals",):
        release = release_of(work(300), 300, name, sets=1)
        gate_model = release.tables[0]
        again = us.Release.load(release.save(tmp_path / name))
        one, two = (model_of(each, 1) for each in (release, again))
        drawn = [each.sample(500, np.random.default_rng(3)) for each in (one, two)]
        for a, b in zip(drawn[0].states, drawn[1].states, strict=True):
            assert a.tolist() == b.tolist()
        for key, values in drawn[0].values.items():
            np.testing.assert_array_equal(values, drawn[1].values[key])
        assert gate_model.height == 300


@pytest.mark.parametrize("name", ["mst", "aim", "marginals"])
@pytest.mark.nightly(every=3)
def test_a_fitted_model_is_restored_from_its_tables_alone(name):
    schema = us.Schema.loads(WORK.format(n=1_000))
    budget = Budget.of("2", "0.000001", "zcdp")
    gate = open_gate(Table(work(1_000), schema), budget, SeededRandomness(1))
    method = configure(name, {})
    prepared = method.setup(gate, budget.amount)
    model = prepared.fit(budget.amount, 1_000)
    tables = [m.value for m in gate.measured if isinstance(m.value, NoisyTable)]
    again = method.rebuilt(prepared.schema, tables, 1_000)
    drawn = [one.sample(700, np.random.default_rng(5)) for one in (model, again)]
    assert [one.tolist() for one in drawn[0].states] == [one.tolist() for one in drawn[1].states]


@pytest.mark.parametrize("name", ["mst", "aim", "marginals"])
@pytest.mark.nightly(every=3)
def test_the_order_of_the_columns_does_not_matter(name):
    rows = work(600)
    one = release_of(rows, 600, name)
    two = release_of(rows.select("pay", "age", "job"), 600, name)
    assert one.tables[0].equals(two.tables[0])
    assert one.manifest == two.manifest
    for a, b in zip(one.measurements, two.measurements, strict=True):
        assert a.to_json() == b.to_json()
        assert a.counts.tolist() == b.counts.tolist()


@pytest.mark.parametrize("name", ["mst", "aim", "marginals"])
@pytest.mark.nightly(every=3)
def test_tables_are_scaled_up_to_all_records_where_some_are_out_of_domain(name):
    """A third of the jobs is not in the code book: the model has all records, in the shares of the
    others, and ages keep theirs."""
    rng = np.random.default_rng(1)
    rows = work(6_000)
    lost = rng.random(6_000) < 1 / 3
    broken = rows.with_columns(
        pl.when(pl.Series(lost)).then(pl.lit("?")).otherwise("job").alias("job")
    )
    release = release_of(broken, 6_000, name, epsilon="20")
    (table,) = release.tables
    assert table.height == 6_000
    true = (rows.filter(~pl.Series(lost))["job"] == "none").mean()
    assert (table["job"] == "none").mean() == pytest.approx(true, abs=0.03)
    assert table["age"].mean() == pytest.approx(rows["age"].mean(), abs=1.0)


def test_scaling_by_hand():
    """90 in domain and 10 clearly out of it: counts and deviations times 100/90."""
    schema = us.Schema.loads(
        'rows = "public"\nn_rows = 100\n[columns.x]\nkind = "boolean"\n' + REVIEWED
    )
    noise = Noise("laplace", "1", 1.0)
    table = NoisyTable(("x",), np.array([60.0, 30.0]), 10.0, noise)
    (one,) = observations(CompressedDomain(schema, {}), [table], 100, {})
    np.testing.assert_allclose(one.counts, [600 / 9, 300 / 9])
    np.testing.assert_allclose(one.variance, (10 / 9) ** 2)
    few = NoisyTable(("x",), np.array([60.0, 30.0]), 3.0, noise)
    (one,) = observations(CompressedDomain(schema, {}), [few], 100, {})
    np.testing.assert_allclose(one.counts, [60, 30])


def test_a_fine_table_is_summed_over_groups():
    schema = us.Schema.loads(
        'rows = "public"\nn_rows = 9\n[columns.x]\nkind = "categorical"\nlevels = ["a", "b", "c"]\n'
        + REVIEWED
    )
    table = NoisyTable(("x",), np.array([1.0, 2.0, 4.0]), 0.0, Noise("laplace", "1", 3.0))
    merged = CompressedDomain(schema, {"x": (0, 1, 0)})
    (one,) = observations(merged, [table], 7, {})
    assert one.counts.tolist() == [5, 2]
    assert one.variance.tolist() == [18, 9]


def test_runs_are_groups_of_values_in_their_order():
    """States of pay: the spike 0, then bins, then the code −9."""
    schema = us.Schema.loads(WORK.format(n=9))
    size = schema.columns["pay"].size
    groups = (3, *([1] * 20), *([0] * (size - 22)), 2)
    assert CompressedDomain(schema, {"pay": groups}).runs("pay") == [1, 0]


@pytest.mark.nightly
def test_a_larger_budget_has_finer_runs():
    """Of the same 3,000 records: as many runs as a cell of two columns has records beside noise.

    Of another seed no pair that is chosen at ε = 5 has this column."""
    rows, finest = work(3_000), []
    for epsilon in ("5", "50"):
        release = release_of(rows, 3_000, seed=2, epsilon=epsilon)
        tables = [table for table in release.measurements if len(table.columns) > 1]
        groups = [table.groups["age"] for table in tables if "age" in table.groups]
        finest.append(max(max(table) for table in groups))
    assert finest == sorted(set(finest))
    assert finest[0] <= 2 * 8 + 3  # at least 8 runs of equal mass, heavy states and codes alone


@pytest.mark.parametrize(
    ("n", "options", "wide"),
    [
        (5_000, {}, False),
        (5_000, {"degree": 3}, True),
        pytest.param(200_000, {}, True, marks=pytest.mark.nightly),
    ],
)
def test_few_records_are_measured_in_pairs(n, options, wide):
    """Six copies of one column: with tables of three among the candidates, these come first.

    They are one and a half times as heavy as pairs, and their distance is larger: which of the
    two kinds is chosen in all rounds is a matter of candidates, not of chance.
    """
    names = [f"x{j}" for j in range(6)]
    column = f'kind = "categorical"\nlevels = {[str(k) for k in range(4)]}\n{REVIEWED}'
    schema = us.Schema.loads(
        HEAD.format(n=n) + "".join(f"[columns.{name}]\n{column}" for name in names)
    )
    same = np.random.default_rng(1).integers(0, 4, n).astype(str)
    rows = Table(pl.DataFrame(dict.fromkeys(names, same)), schema)
    gate = open_gate(rows, Budget.of("1", "1e-9", "gdp"), SeededRandomness(2))
    configure("marginals", options).fit(gate, gate.budget.amount, n)
    tables = [len(one.value.columns) for one in gate.measured if isinstance(one.value, NoisyTable)]
    assert max(tables) == (3 if wide else 2)


@pytest.mark.parametrize("levels", [1, 5])
@pytest.mark.parametrize("name", ["mst", "aim", "marginals"])
def test_one_column_gets_all_of_the_budget(name, levels):
    text = HEAD.format(n=80) + '[columns.x]\nkind = "categorical"\n'
    schema = us.Schema.loads(f"{text}levels = {[str(k) for k in range(levels)]}\n{REVIEWED}")
    rows = pl.DataFrame({"x": [str(k % levels) for k in range(80)]})
    release = us.synthesize(rows, schema, method=name, epsilon="50", delta="0.000001")
    assert len(release.measurements) == 1
    counts = release.tables[0]["x"].value_counts()["count"].to_list()
    assert counts == pytest.approx([80 / levels] * levels, abs=6)


NUMBERS = (
    HEAD
    + f"""
[columns.income]
kind = "continuous"
lower = 0
upper = 1000000
spikes = [0]
decimals = 2
{REVIEWED}
[columns.hours]
kind = "integer"
lower = 0
upper = 90
{REVIEWED}
[columns.born]
kind = "date"
lower = 1920-01-01
upper = 2020-12-31
{REVIEWED}
[columns.group]
kind = "categorical"
levels = ["a", "b"]
{REVIEWED}
"""
)


def numbers(n, seed=0):
    """Incomes with many zeros and a heavy tail, hours in heaps, dates that bunch in June."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    income = np.where(
        rng.random(n) < 0.4, 0, np.minimum(rng.lognormal(10 + group / 2, 0.8, n), 1e6)
    )
    heap = rng.choice([20, 35, 40], n, p=[0.2, 0.2, 0.6])
    hours = np.where(rng.random(n) < 0.6, heap, np.clip(rng.normal(38, 12, n), 0, 90)).astype(int)
    first = datetime.date(1920, 1, 1)
    days = np.clip(rng.normal(20_000, 6_000, n), 0, 36_889).astype(int)
    return pl.DataFrame(
        {
            "income": income.round(2),
            "hours": hours,
            "born": [first + datetime.timedelta(days=int(day)) for day in days],
            "group": np.array(["a", "b"])[group],
        }
    )


def require_close(real, made, *, mean, sd, quartiles):
    """Differences of mean and quartiles in standard deviations of the real numbers, of the standard
    deviation in parts of it."""
    unit = real.std()
    assert abs(real.mean() - made.mean()) < mean * unit
    assert abs(made.std() / unit - 1) < sd
    for q in (0.25, 0.5, 0.75):
        assert abs(np.quantile(real, q) - np.quantile(made, q)) <= quartiles * unit


@pytest.mark.parametrize("name", ["marginals", pytest.param("aim", marks=pytest.mark.nightly)])
def test_numbers_end_to_end(name):
    """10,000 records at ε = 20."""
    n = 10_000
    real = numbers(n)
    schema = us.Schema.loads(NUMBERS.format(n=n))
    release = us.synthesize(
        real, schema, method=name, epsilon=20, delta="0.000001", insecure_noise_seed=1
    )
    made = release.tables[0]
    income = [one["income"].to_numpy() for one in (real, made)]
    assert abs((income[0] == 0).mean() - (income[1] == 0).mean()) < 0.005
    assert (made["income"] * 100 % 1).round(6).is_in([0.0, 1.0]).all()
    assert made["hours"].dtype == pl.Int64
    paid = [one[one > 0] for one in income]
    if name == "marginals":
        require_close(*income, mean=0.02, sd=0.1, quartiles=0.03)
        assert abs(np.log(paid[0]).std() / np.log(paid[1]).std() - 1) < 0.05
        heaps = [(one["hours"] == 40).mean() for one in (real, made)]
        assert abs(heaps[0] - heaps[1]) < 0.01
        means = [
            one.group_by("group").agg(pl.col("income").mean()).sort("group") for one in (real, made)
        ]
        assert np.allclose(means[0]["income"], means[1]["income"], rtol=0.08)
    hours = [one["hours"].to_numpy().astype(float) for one in (real, made)]
    spread = 0.2 if name == "marginals" else 0.35  # AIM keeps the 20 bins of the schema
    require_close(*hours, mean=0.05, sd=0.1, quartiles=spread)
    days = [one["born"].cast(pl.Int32).to_numpy().astype(float) for one in (real, made)]
    require_close(*days, mean=0.02, sd=0.03, quartiles=0.05)


@pytest.mark.nightly
def test_posterior_sets_vary_by_the_noise_of_a_measured_share():
    """A two-way share over sets: its variance is that of the noise in one cell, for a table that is
    measured so often that nothing else says more of it. 160 sets: ± 11 % of a deviation; noise that
    is wrong by 30 % is rejected."""
    text = HEAD.format(n=20_000) + "".join(
        f'[columns.{c}]\nkind = "boolean"\n{REVIEWED}' for c in "xy"
    )
    schema = us.Schema.loads(text)
    rng = np.random.default_rng(1)
    x = rng.random(20_000) < 0.5
    rows = pl.DataFrame({"x": x, "y": np.where(rng.random(20_000) < 0.7, x, ~x)})
    release = us.synthesize(
        rows, schema, method="mst", epsilon="0.1", delta="0.000001", sets=161,
        options={"sets": "posterior"}, insecure_noise_seed=1,
    )  # fmt: skip
    tables = [one for one in release.measurements if one.kind == "table"]
    shares = [(one["x"] & one["y"]).mean() for one in release.tables[1:]]
    expected = least_squares_deviation(tables)
    ratio = np.std(shares, ddof=1) * 20_000 / expected
    assert 0.8 < ratio < 1.2
    free = us.synthesize(
        rows, schema, method="mst", epsilon="0.1", delta="0.000001", sets=30,
        options={"sets": "free"}, insecure_noise_seed=1,
    )  # fmt: skip
    still = [(one["x"] & one["y"]).mean() for one in free.tables]
    assert np.std(shares) > 5 * np.std(still)


def least_squares_deviation(tables):
    """Of the first cell, by weighted least squares of a 2 × 2 table with a known sum."""
    rows, weights = [np.ones(4)], [1.0]
    for one in tables:
        for k in range(2 ** len(one.columns)):
            row = np.zeros((2, 2))
            if len(one.columns) == 2:
                row.flat[k] = 1
            else:
                row[(k,) if one.columns == ("x",) else (slice(None), k)] = 1
            rows.append(row.reshape(-1))
            weights.append(one.stddev**-2)
    design = np.array(rows)
    return float(np.sqrt(np.linalg.inv(design.T @ (design * np.array(weights)[:, None]))[3, 3]))


@pytest.mark.parametrize("name", ["mst", "aim", "marginals"])
@pytest.mark.nightly(every=3)
def test_two_children_of_one_parent_are_not_coupled(name):
    """Two columns that follow from a third and are independent given it: ranks within a state of
    the parent have no correlation in the release. Error of each 1/√2000; coupled draws give 1."""
    n = 8_000
    schema = us.Schema.loads(
        HEAD.format(n=n)
        + f'[columns.p]\nkind = "boolean"\n{REVIEWED}'
        + "".join(
            f'[columns.{c}]\nkind = "integer"\nlower = 0\nupper = 39\nbins = 40\n{REVIEWED}'
            for c in "ab"
        )
    )
    rng = np.random.default_rng(1)
    parent = rng.random(n) < 0.5
    a, b = (np.clip(rng.normal(14 + 12 * parent, 5), 0, 39).astype(int) for _ in range(2))
    rows = pl.DataFrame({"p": parent, "a": a, "b": b})
    options = {} if name == "mst" else {"workload": "p & a, p & b"}
    (table,) = us.synthesize(
        rows, schema, method=name, epsilon="10", delta="0.000001", options=options,
        insecure_noise_seed=1,
    ).tables  # fmt: skip
    assert abs(np.corrcoef(table["a"], table["b"])[0, 1]) > 0.3  # by way of the parent
    for state in (True, False):
        part = table.filter(pl.col("p") == state)
        assert abs(np.corrcoef(part["a"], part["b"])[0, 1]) < 5 / np.sqrt(part.height)


def test_a_label_that_is_the_parity_of_three_truth_values_is_found():
    """Tables of three columns show nothing of it. Nine in ten records keep it in the rows."""
    rng, n = np.random.default_rng(5), 8_000
    rows = pl.DataFrame({f"x{k}": rng.random(n) < 0.5 for k in range(6)})
    odd = (pl.sum_horizontal("x0", "x2", "x5") % 2).alias("odd")
    label = rows.select(odd)["odd"].cast(pl.Boolean) ^ pl.Series(rng.random(n) < 0.1)
    text = "".join(column(name, "boolean", source="law") for name in [*rows.columns, "y"])
    schema = us.Schema.loads('rows = "private"\n' + text)
    asked = {"epsilon": 2, "delta": "1e-6", "method": "marginals", "insecure_noise_seed": 1}
    (made,) = us.synthesize(rows.with_columns(y=label), schema, **asked).tables
    kept = (made.select(odd)["odd"].cast(pl.Boolean) == made["y"]).mean()
    assert kept > 0.85


def gains(n):
    """Amounts of which 3 in 100 are not 0; of those above 5,000 nearly all have a label."""
    rng = np.random.default_rng(3)
    amount = np.where(rng.random(n) < 0.97, 0, rng.integers(1, 10_000, n))
    label = rng.random(n) < np.where(amount > 5_000, 0.95, 0.2)
    schema = us.Schema.loads(
        f'rows = "public"\nn_rows = {n}\n'
        + column("amount", "integer", lower=0, upper=10_000, source="law")
        + column("label", "boolean", source="law")
        + column("sex", "categorical", levels=["f", "m"], source="law")
    )
    return pl.DataFrame(
        {"amount": amount, "label": label, "sex": rng.choice(["f", "m"], n)}
    ), schema


def test_what_few_amounts_beside_many_zeros_go_together_with_is_kept():
    """In one group, all amounts above 0 have the label alike: a share of .575 of each."""
    rows, schema = gains(60_000)
    asked = {"epsilon": 1, "delta": "1e-9", "method": "marginals", "insecure_noise_seed": 1}
    (made,) = us.synthesize(rows, schema, **asked).tables
    above = made.filter(pl.col("amount") > 6_000)["label"].mean()
    below = made.filter(pl.col("amount").is_between(1, 4_000))["label"].mean()
    assert above - below > 0.5


def test_levels_of_few_records_share_a_group_where_noise_leaves_little_room():
    """Of 60,000 records, 150 each of ten levels: far more than noise, and less than 1 in 256."""
    n, names = 60_000, ["most", *[f"few{k}" for k in range(10)]]
    rng = np.random.default_rng(2)
    level = np.append(np.repeat(names[1:], 150), np.full(n - 1_500, "most"))
    sex = np.where(rng.random(n) < np.where(level == "most", 0.3, 0.9), "f", "m")
    schema = us.Schema.loads(
        f'rows = "public"\nn_rows = {n}\n'
        + column("level", "categorical", levels=names, source="law")
        + column("sex", "categorical", levels=["f", "m"], source="law")
    )
    rows, groups = pl.DataFrame({"level": level, "sex": sex}), {}
    for epsilon in ("1", "100"):
        asked = {"epsilon": epsilon, "delta": "1e-9", "method": "marginals"}
        release = us.synthesize(rows, schema, **asked, insecure_noise_seed=1)
        tables = [one for one in release.measurements if one.kind is Kind.TABLE]
        pairs = [one for one in tables if len(one.columns) == 2]
        groups[epsilon] = [len({*one.groups.get("level", range(11))}) for one in pairs]
    assert {*groups["1"]} == {2}
    assert {*groups["100"]} == {11}


@pytest.mark.parametrize("epsilon", [2_000, 100_000])
def test_next_to_no_noise_keeps_what_goes_together(epsilon):
    """As a fit that may not stay at all from exact counts, and ends where it began, would not."""
    rows, asked = people(np.random.default_rng(5), 3_000), ["correlation x + y"]
    how = {"delta": "1e-6", "insecure_noise_seed": 3}
    release = us.synthesize(rows, SCHEMA, epsilon=epsilon, analyses=asked, **how)
    (table,) = release.tables
    kept = np.corrcoef(table["x"], table["y"])[0, 1]
    assert kept == pytest.approx(np.corrcoef(rows["x"], rows["y"])[0, 1], abs=0.05)
    assert us.analyze(release, "poisson", "wage ~ x").valid
