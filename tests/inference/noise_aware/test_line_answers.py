"""Answers from number lines: that they cover, by simulation of the statistic itself.

95 % intervals; each assertion allows 4.5 Monte Carlo standard errors below 95 %, a false alarm in
300,000 where the coverage is exactly 95 %.
"""

import datetime
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import Day, column
from understudy.data.table import Table as Rows
from understudy.errors import BudgetError
from understudy.features.grids import MOST_TIMES, LineCells, coarse_states, line_bins
from understudy.inference.bin_bias import value_ranges
from understudy.inference.contributions import cell_scores
from understudy.inference.counts import ratios, table_estimates
from understudy.inference.noisy_tables import (
    NoisyCounts,
    column_counts,
    finest_line,
    line_of,
    line_table,
)
from understudy.inference.number_line import REASON, line_answer
from understudy.inference.quantiles import counted_curve
from understudy.inference.question import parse
from understudy.release.measurement import Measurement
from understudy.release.shape import Kind
from understudy.report.answers import Answers
from understudy.schema import Schema

N, REPETITIONS, LINE_NOISE, TABLE_NOISE = 3_000, 1_500, 20.0, 14.0
LEAST = 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / REPETITIONS)
HEAD = "rows = 'public'\nn_rows = {n}\n[columns.x]\nreviewed = true\n"
COLUMNS = {
    "skewed": "kind = 'integer'\nlower = 0\nupper = 50000\nbins = [0, 5000, 20000, 50000]\n",
    "heaped": "kind = 'integer'\nlower = 0\nupper = 80\nbins = [0, 15, 45, 80]\nspikes = [0]\n",
    "real": "kind = 'continuous'\nlower = -3\nupper = 3\nbins = 5\nmissing = [-9]\n",
}


def people(name, rng, n):
    """Numbers of n people."""
    if name == "skewed":
        return np.minimum(np.exp(rng.normal(9, 1, n)), 50_000).round()
    if name == "heaped":
        heap = rng.choice([0, 20, 40], n, p=[0.2, 0.2, 0.6])
        return np.where(rng.random(n) < 0.6, heap, rng.integers(1, 81, n)).astype(float)
    return np.where(rng.random(n) < 0.1, -9.0, np.clip(rng.normal(0, 1, n), -3, 3))


def schema_of(name, n=N):
    return Schema.loads(HEAD.format(n=n) + COLUMNS[name])


def counted(numbers, schema, rng, kind, stddev, bins=None):
    """A measurement of a line, or of a table, of some numbers."""
    seen = schema if bins is None else schema.with_bins({"x": bins})
    rows = Rows(pl.DataFrame({"x": numbers}), schema.model_copy(update={"n_rows": len(numbers)}))
    if kind is Kind.LINE:
        exact = rows.line_counts({"x": LineCells.of(seen, "x")}).expose()["x"][:-1]
    else:
        exact = rows.count([(0,)]).expose()[0].inside
    counts = exact + np.rint(rng.normal(0, stddev, exact.shape))
    about = {"codes": np.arange(len(exact)), "outside": 0.0, "entry": 1, "name": "t"}
    noise = {"distribution": "discrete_gaussian", "scale": str(stddev**2), "stddev": stddev}
    own = {} if bins is None else {"bins": {"x": bins}}
    return Measurement(kind=kind, columns=("x",), counts=counts, **about, **noise, **own)


def measured(name, rng, numbers, line_noise=LINE_NOISE, table_noise=TABLE_NOISE):
    schema = schema_of(name)
    line = counted(numbers, schema, rng, Kind.LINE, line_noise, bins=line_bins(schema.columns["x"]))
    table = counted(numbers, schema, rng, Kind.TABLE, table_noise)
    fine = line.bin_schema(schema)
    return line_table(line, [table], schema), fine


@pytest.mark.parametrize("name", COLUMNS)
def test_counts_of_a_bin_are_the_average_of_both(name):
    """Generalised least squares by its normal equations, the slow and obvious way."""
    rng = np.random.default_rng(1)
    schema, numbers = schema_of(name), people(name, rng, N)
    line = counted(numbers, schema, rng, Kind.LINE, 20.0, bins=line_bins(schema.columns["x"]))
    table = counted(numbers, schema, rng, Kind.TABLE, 14.0)
    fine = line.bin_schema(schema).columns["x"]
    cells = LineCells(fine)
    folded = line.counts[:-2].astype(float)
    variances = np.full(fine.size, 20.0**2)
    for end, beyond in zip(cells.ends, line.counts[-2:], strict=True):
        folded[end] += beyond
        variances[end] += 20.0**2
    coarse = schema.columns["x"]
    sums = np.zeros((coarse.size, fine.size))
    for k, interval in enumerate(fine.intervals):
        for j, outer in enumerate(coarse.intervals):
            inside = outer.low <= interval.low and interval.high <= outer.high
            sums[j, k] = inside and interval.spike == outer.spike
    sums[range(coarse.n_ordinary, coarse.size), range(fine.n_ordinary, fine.size)] = 1
    design = np.vstack([np.eye(fine.size), sums])
    weights = np.diag(np.concatenate([1 / variances, np.full(coarse.size, 14.0**-2)]))
    covariance = np.linalg.inv(design.T @ weights @ design)
    both = np.concatenate([folded, table.counts.astype(float)])
    found = line_table(line, [table], schema)
    assert np.allclose(found.counts, covariance @ design.T @ weights @ both)
    assert np.allclose(found.sources.spread(np.eye(fine.size)), covariance)
    assert np.allclose(found.variances, np.diag(covariance))


def test_groups_of_states_and_the_number_of_records_are_fitted_by_least_squares():
    """All of it at once, by the normal equations; where a total is exact, the sum is as well."""
    rng = np.random.default_rng(5)
    schema, numbers = schema_of("real"), people("real", rng, N)
    table = counted(numbers, schema, rng, Kind.TABLE, 14.0)
    table = replace(table, outside=9.0)
    groups = {"x": (0, 0, 1, 1, 1, 2)}  # the last is the code of what is missing
    sums = np.add.reduceat(table.counts, [0, 2, 5]) + np.array([7, -9, 4])
    grouped = replace(
        table, counts=sums, codes=np.arange(3), groups=groups, stddev=20.0, scale="400.0"
    )
    lacking = replace(grouped, outside=200.0)
    for spread in (19.0, 0.0):
        found = column_counts("x", [table, grouped, lacking], schema, (N + 3.0, spread))
        gather = np.equal.outer(np.arange(3), groups["x"]).astype(float)
        whole = np.ones((1, 6))
        design = np.vstack([np.eye(6), gather, whole])
        variances = [14.0**2] * 6 + [20.0**2] * 3 + [14.0**2 + spread**2]
        weights = np.diag(1 / np.array(variances))
        covariance = np.linalg.inv(design.T @ weights @ design)
        said = np.concatenate([table.counts, sums, [N + 3.0 - 9.0]])
        assert np.allclose(found.counts, covariance @ design.T @ weights @ said)
        assert np.allclose(found.sources.spread(np.eye(6)), covariance)
        assert np.allclose(found.variances, np.diag(covariance))
    exact = replace(table, stddev=0.0, scale="0.0", outside=0.0)
    kept = column_counts("x", [exact, grouped], schema, (float(N), 0.0))
    assert np.allclose(kept.counts, table.counts)
    assert not kept.variances.any()


@pytest.mark.parametrize("fine_noise", [30.0, 12.0])
def test_a_finer_line_is_put_together_with_the_usual_one(fine_noise):
    """By the normal equations: tables, sums of the usual line, and the number of records.

    A finer line of few columns has less noise than the usual one of all.
    """
    rng = np.random.default_rng(8)
    schema, numbers = schema_of("skewed"), people("skewed", rng, N)
    column = schema.columns["x"]
    table = counted(numbers, schema, rng, Kind.TABLE, 14.0)
    usual, finer = (
        counted(numbers, schema, rng, Kind.LINE, noise, bins=line_bins(column, times))
        for noise, times in ((20.0, 1), (fine_noise, 4))
    )
    measured = [table, usual, finer]
    assert line_of(measured, "x") is usual
    assert finest_line(measured, "x", schema) is finer
    assert finest_line([table, usual], "x", schema) is usual
    assert finest_line([table], "x", schema) is None
    found = column_counts("x", measured, schema, (float(N), 0.0), finer)
    cells = LineCells.of_line(schema, "x", 4).column
    within = LineCells.of_line(schema, "x").column
    parts = [coarse_states(cells, column), coarse_states(cells, within), np.zeros(cells.size)]
    sums = [part == np.arange(part.max() + 1)[:, None] for part in parts]
    design = np.vstack([np.eye(cells.size), *sums])
    each = ((cells, fine_noise), (column, 14.0), (within, 20.0))
    noise = [np.full(own.size, spread**2) for own, spread in each]
    said = []
    for line, own, spread in ((finer, cells, noise[0]), (usual, within, noise[2])):
        said.append(line.counts[: own.size].astype(float))
        for end, beyond in zip(LineCells(own).ends, line.counts[own.size :], strict=True):
            said[-1][end] += beyond
            spread[end] *= 2
    weights = np.array([14.0, 20.0, fine_noise]) ** -2
    of_number = 1 / weights.sum()  # nobody is out of domain, up to the noise of each
    about = np.concatenate([*noise, [of_number]])
    values = np.concatenate([said[0], table.counts, said[1], [N]])
    covariance = np.linalg.inv(design.T @ (design / about[:, None]))
    assert np.allclose(found.counts, covariance @ design.T @ (values / about))
    assert np.allclose(found.sources.spread(np.eye(cells.size)), covariance)


def test_a_column_of_thousands_of_states_uses_groups_of_them():
    """Its tail has the noise of a few groups, and its noise is that of dense least squares."""
    rng, size, n_groups = np.random.default_rng(6), 5_000, 40
    column = {"kind": "integer", "lower": 0, "upper": size - 1, "bins": size}
    schema = Schema.model_validate({"rows": "public", "n_rows": N, "columns": {"x": column}})
    numbers = rng.integers(0, size, N)
    table = counted(numbers, schema, rng, Kind.TABLE, 14.0)
    sums = table.counts.reshape(n_groups, -1).sum(axis=1)
    about = {"codes": np.arange(n_groups), "stddev": 20.0, "scale": "400.0"}
    groups = {"x": tuple(np.repeat(np.arange(n_groups), size // n_groups).tolist())}
    grouped = replace(table, counts=sums, groups=groups, **about)
    found = column_counts("x", [table, grouped], schema, (float(N), 0.0))
    tail = (np.arange(size) >= size * 0.9).astype(float)
    noise = float(found.sources.covariance(tail, tail))
    assert noise < 4 * 20.0**2  # of four groups; of 500 cells it is 500 · 14²
    gather = np.equal.outer(np.arange(n_groups), groups["x"]).astype(float)
    design = np.vstack([gather, np.ones(size)])  # Woodbury: of the sums alone
    extra = np.diag([400.0] * n_groups + [14.0**2])
    within = np.linalg.inv(14.0**2 * design @ design.T + extra)
    told = 14.0**2 * design @ tail
    assert noise == pytest.approx(14.0**2 * tail.sum() - told @ within @ told)
    steps = np.array([0, 77, 2_499, size - 1])
    by_weights = found.sources.weights(np.tri(size)[steps] - 0.3) ** 2 @ found.sources.variances
    by_steps = found.sources.step_variances(np.arange(size), steps, 0.3)
    assert by_steps == pytest.approx(by_weights)
    ranges = value_ranges(parse("quantile", "x", schema, probability=0.5), schema)
    low, high = counted_curve(found, np.arange(size), ranges, 0.5, heavy=False).interval(0.95)
    alone = column_counts("x", [table], schema, (float(N), 0.0))
    first, last = counted_curve(alone, np.arange(size), ranges, 0.5, heavy=False).interval(0.95)
    assert high - low < (last - first) / 2


def test_lines_that_were_paid_for_twice_are_averaged():
    """Those of the same cells; the noise of the mean is that of its parts, and answers have it."""
    rng, errors = np.random.default_rng(2), []
    schema, numbers = schema_of("skewed"), people("skewed", rng, N)
    own = {"bins": line_bins(schema.columns["x"])}
    exact = counted(numbers, schema, rng, Kind.LINE, 1e-9, **own)

    def noisy(stddev):
        counts = exact.counts + np.rint(rng.normal(0, stddev, exact.counts.shape))
        return replace(exact, counts=counts, stddev=stddev, scale=str(stddev**2))

    for _ in range(200):
        first, second = noisy(20.0), noisy(30.0)
        both = line_of([first, second], "x")
        assert both.stddev == pytest.approx((20.0**-2 + 30.0**-2) ** -0.5)
        errors.append((both.counts - exact.counts) / both.stddev)
    squares, size = float((np.array(errors) ** 2).sum()), np.size(errors)
    assert abs(squares - size) < 5 * np.sqrt(2 * size)  # χ²; a false alarm in a million
    other = counted(numbers, schema, rng, Kind.LINE, 40.0, bins=11)
    assert line_of([first, second, other], "x").stddev == both.stddev
    tailed = replace(second, distribution="discrete_laplace")
    assert line_of([first, tailed], "x").family.is_laplace
    assert line_of([first], "x") is first
    assert line_of([first], "y") is None


def repeated(name, rng, population):
    """Tables of many samples with noise: counts of shape (REPETITIONS, cells)."""
    exact, fine = measured(name, rng, population, line_noise=1e-9, table_noise=1e-9)
    shares = np.maximum(exact.counts, 0) / exact.counts.sum()
    noisy, _ = measured(name, rng, population)
    sources = noisy.sources
    drawn = rng.multinomial(N, shares / shares.sum(), REPETITIONS)
    noise = rng.normal(size=(REPETITIONS, len(sources.variances))) * np.sqrt(sources.variances)
    mix = sources.weights(np.eye(len(shares))).T
    return NoisyCounts(drawn + noise @ mix, noisy.variances, sources), fine


@pytest.mark.parametrize("name", COLUMNS)
def test_quantiles_cover_and_cross_less_than_a_bin(name):
    rng = np.random.default_rng(2)
    population = people(name, rng, 100_000)
    table, fine = repeated(name, rng, population)
    known = np.sort(population[population != -9])
    widest = max(one.high - one.low for one in schema_of(name).columns["x"].intervals)
    for p in (0.25, 0.5, 0.9):
        ranges = value_ranges(parse("quantile", "x", fine, probability=p), fine)
        cells = np.flatnonzero(ranges.quantity == 0)
        low, high = counted_curve(table, cells, ranges, p, heavy=False).interval(0.95)
        truth = known[int(np.ceil(p * len(known))) - 1]
        assert ((low <= truth) & (truth <= high)).mean() >= LEAST
        assert np.median(high - low) < widest


@pytest.mark.parametrize("name", COLUMNS)
def test_shares_of_whole_cells_cover(name):
    """At an edge of a cell nothing is hidden, so that nothing but the error is in the interval."""
    rng = np.random.default_rng(3)
    population = people(name, rng, 100_000)
    table, fine = repeated(name, rng, population)
    edge = [one.low for one in fine.columns["x"].intervals if not one.spike][7]
    known = population[population != -9]
    scores = cell_scores(parse("proportion", f"x >= {edge}", fine), fine)
    sums = ratios(table, scores)
    stderr = np.sqrt((sums.noise + sums.sampling)[:, 0, 0])
    missed = np.abs(sums.estimate[:, 0] - (known >= edge).mean()) > 1.96 * stderr
    assert 1 - missed.mean() >= LEAST
    assert (sums.noise > 0).all()
    alone = ratios(
        NoisyCounts(table.counts, table.variances), scores
    )  # as if cells were independent
    assert (sums.noise < alone.noise).mean() > 0.99


@pytest.mark.nightly
def test_a_share_that_cuts_a_cell_covers():
    """What the cell hides is in the interval."""
    rng, name = np.random.default_rng(4), "skewed"
    population = people(name, rng, 100_000)
    table, fine = repeated(name, rng, population)
    asked = parse("proportion", "x > 7400", fine)
    truth, missed, times = (population > 7400).mean(), 0, 150
    for counts in table.counts[:times]:
        found = table_estimates(asked, NoisyCounts(counts, table.variances, table.sources), fine, 2)
        low, high = found.pooled.interval()
        missed += not low[0] <= truth <= high[0]
        assert found.pooled.bias[0] > 0
    # At 5 % each, more than 20 of 150 have a probability of 1 in 300,000.
    assert missed <= 20


SCHEMA = (
    column(
        "income",
        "continuous",
        lower=0,
        upper=100000,
        bins=[0, 20000, 40000, 100000],
        decimals=0,
        spikes=[0],
        missing=[""],
    )
    + column("age", "integer", lower=18, upper=90, bins=[18, 30, 60, 90])
    + column("size", "integer", lower=1, upper=5)
    + column("since", "date", lower=Day("2000-01-01"), upper=Day("2019-12-31"), bins=4)
    + column("sex", "categorical", levels=["f", "m"])
)


def workers(n):
    rng = np.random.default_rng(5)
    income = np.where(rng.random(n) < 0.3, 0, np.minimum(rng.gamma(3, 9_000, n), 99_000)).round()
    first = datetime.date(2000, 1, 1)
    since = [first + datetime.timedelta(days=int(k)) for k in rng.integers(0, 7_300, n)]
    return pl.DataFrame(
        {
            "income": pl.Series(np.where(rng.random(n) < 0.1, np.nan, income)).fill_nan(None),
            "age": rng.integers(18, 91, n),
            "size": rng.integers(1, 6, n),
            "since": since,
            "sex": rng.choice(["f", "m"], n),
        }
    )


BOUGHT = {"epsilon": 3, "delta": "1e-6", "method": "independent", "budget": {"lines": "0.1"}}


@pytest.fixture(
    scope="module", params=["private", pytest.param("public", marks=pytest.mark.nightly)]
)
def released(request, tmp_path_factory):
    """A release, read again; its rows."""
    rows = workers(6_000)
    head = f"rows = 'public'\nn_rows = {rows.height}\n" if request.param == "public" else ""
    release = us.synthesize(rows, Schema.loads(head + SCHEMA), insecure_noise_seed=4, **BOUGHT)
    folder = release.save(tmp_path_factory.mktemp("lines") / "r")
    return us.Release.load(folder), rows, release


QUESTIONS = [
    ("quantile", "income", 0.75, lambda r: r["income"].drop_nulls().quantile(0.75, "lower")),
    ("quantile", "age", 0.25, lambda r: r["age"].quantile(0.25, "lower")),
    ("quantile", "since", 0.5, lambda r: r["since"].cast(pl.Int32).quantile(0.5, "lower")),
    ("proportion", "income > 25000", 0.5, lambda r: (r["income"].drop_nulls() > 25_000).mean()),
    ("proportion", "age >= 65", 0.5, lambda r: (r["age"] >= 65).mean()),
    ("mean", "log(income + 1)", 0.5, lambda r: (r["income"].drop_nulls() + 1).log().mean()),
    ("total", "age >= 65", 0.5, lambda r: (r["age"] >= 65).sum()),
]


@pytest.mark.parametrize(("kind", "formula", "p", "exact"), QUESTIONS)
@pytest.mark.nightly(every=32)
def test_a_release_answers_from_its_lines(released, kind, formula, p, exact):
    read, rows, made = released
    answer = us.analyze(read, kind, formula, probability=p, level=0.9999)
    assert answer.valid
    assert answer.reason == REASON
    low, high = answer.pooled.interval(0.9999)
    assert low[0] <= exact(rows) <= high[0]
    own = us.analyze(made, kind, formula, probability=p, level=0.9999)
    assert str(answer) == str(own)
    assert any("beyond" in note or "outside" in note for note in answer.notes) == (
        kind in ("mean",)
    )


def test_lines_alone_answer_where_they_do_not_divide_the_bins_and_hide_less():
    """The table has counts in 80 even bins, of which a line in its own has 64 or 1,024."""
    rng, n = np.random.default_rng(9), 200_000
    text = COLUMNS["skewed"].replace("bins = [0, 5000, 20000, 50000]", "bins = 80")
    schema = Schema.loads(HEAD.format(n=n) + text)
    coarse, numbers = schema_of("skewed"), people("skewed", rng, n)
    edges = [line_bins(coarse.columns["x"], times) for times in (1, MOST_TIMES)]
    table = counted(numbers, schema, rng, Kind.TABLE, 14.0)
    usual, finer = (counted(numbers, coarse, rng, Kind.LINE, 20.0, bins=own) for own in edges)
    widths = {}
    for name, measured in (("usual", [table, usual]), ("finer", [table, usual, finer])):
        made = SimpleNamespace(
            measurements=measured,
            schema=schema,
            tables=[pl.DataFrame({"x": numbers})],
            manifest=SimpleNamespace(n_rows=n, inference=SimpleNamespace(rows_stddev=0.0)),
        )
        answer, _ = line_answer(parse("quantile", "x", schema, probability=0.5), made)
        (low,), (high,) = answer.pooled.interval()
        assert low <= np.median(numbers) <= high
        widths[name] = high - low
    assert widths["usual"] >= 625  # a bin
    assert widths["finer"] < widths["usual"] / 4


def test_a_line_is_finer_than_the_table(released):
    read, *_ = released
    lines = lines_of(read)[:4]  # finer ones come after them
    # Of a column the first one: heaps on one value are counted in further tables.
    tables = {one.columns: one for one in read.measurements[::-1] if one.kind is Kind.TABLE}
    assert [one.columns for one in lines] == [("income",), ("age",), ("size",), ("since",)]
    sizes = [len(one.codes) - len(tables[one.columns].codes) for one in lines]
    assert sizes[0] > 50
    assert sizes[1] > 50
    assert sizes[2] == 2  # each value has a bin: its cells, and what lies beyond
    assert sizes[3] > 50
    total = [one.counts.sum() + one.outside for one in lines]
    assert np.allclose(total, 6_000, atol=5 * np.sqrt(90) * max(one.stddev for one in lines))
    for line in lines_of(read)[4:]:
        usual = line_of(read.measurements, line.columns[0])
        assert finest_line(read.measurements, line.columns[0], read.schema) is line
        assert len(line.codes) > 3 * len(usual.codes)


def test_single_values_are_answered_by_their_table(released):
    read, *_ = released
    answer = us.analyze(read, "proportion", "size >= 3")
    assert answer.valid
    assert answer.reason != REASON


def share_of(release, measurement):
    entry = release.manifest.ledger[measurement.entry - 1]
    return float(entry["half_mu_squared"]) / float(release.manifest.budget["amount"])


def lines_of(release):
    return [one for one in release.measurements if one.kind is Kind.LINE]


def test_a_tenth_of_the_rest_buys_them_and_stands_in_manifest_and_plan(released):
    read, *_ = released
    known = read.schema.rows == "public"
    rest = 1.0 if known else 0.95
    shares = dict.fromkeys(("income", "age", "size", "since"), 0.0)
    for line in lines_of(read):
        shares[line.columns[0]] += share_of(read, line)
    assert sum(shares.values()) == pytest.approx(0.1 * rest)
    assert shares["income"] == pytest.approx(shares["age"])
    assert shares["income"] == pytest.approx(shares["since"])
    assert shares["income"] == pytest.approx(2 * shares["size"])
    assert read.manifest.lines_share == "1/10"
    steps = [s for s in us.plan(read.schema, **BOUGHT).setup if s.form == "line"]
    lines = lines_of(read) if known else lines_of(read)[:4]  # before it is bought, no number says
    assert [s.columns for s in steps] == [one.columns for one in lines]
    named = [line.columns for line in lines_of(read)]
    dearer = [1.0 if known or named.count(one.columns) == 1 else 1.5 for one in lines]
    assert [s.stddev**2 * times for s, times in zip(steps, dearer, strict=True)] == pytest.approx(
        [one.stddev**2 for one in lines], rel=0.0 if known else 1e-3
    )
    assert [s.n_cells for s in steps] == [len(one.codes) + 1 for one in lines]


@pytest.mark.parametrize(
    ("request_", "columns"),
    [
        ({"delta": 0}, ("income", "age", "size", "since")),
        ({"delta": "1e-6", "method": "independent"}, ()),
        ({"delta": "1e-6", "budget": {"lines": 0}}, ()),
        ({"delta": 0, "budget": {"lines": "0.2"}}, ("income", "age", "size", "since")),
        ({"delta": "1e-6", "analyses": ["ols income ~ age"]}, ("income", "age")),
        ({"delta": 0, "analyses": ["quantile income", "table sex"]}, ("income",)),
        (
            {"delta": "1e-6", "analyses": ["mean log(age) ~ sex", "ols income ~ sex"]},
            ("income", "age"),
        ),
    ],
    ids=["pure", "named", "nothing", "stated", "a model", "a quantile", "a mean"],
)
@pytest.mark.nightly(every=2)
def test_who_buys_lines(request_, columns):
    planned = us.plan(Schema.loads(SCHEMA), epsilon=2, **request_)
    steps = [step for step in planned.setup if step.form == "line"]
    assert tuple(step.columns[0] for step in steps) == columns
    if "analyses" not in request_ and "budget" not in request_ and columns:
        assert sum(float(step.share) for step in steps) == pytest.approx(0.1 * 0.95)


@pytest.mark.parametrize("more", [{"lines": "1"}, {"lines": "0.5", "answers": "0.5"}])
def test_shares_leave_something(more):
    with pytest.raises(BudgetError, match="'lines'"):
        us.plan(Schema.loads(SCHEMA), epsilon=2, delta="1e-6", budget=more)


def test_moments_keep_what_they_ask_for():
    """Where nearly all is for moments, lines take half of what they leave."""
    planned = us.plan(Schema.loads(SCHEMA), epsilon=2, delta="1e-6", budget={"answers": "0.9"})
    share = sum(step.share for step in planned.setup if step.form == "line")
    assert float(share) == pytest.approx(0.05 * 0.95)


def test_laplace_tails_are_counted():
    rows = workers(2_000)
    release = us.synthesize(
        rows, Schema.loads(SCHEMA), epsilon=4, budget={"lines": "0.3"}, insecure_noise_seed=3
    )
    assert all(line.family.is_laplace for line in lines_of(release))
    answer = us.analyze(release, "quantile", "age", level=0.9999)
    low, high = answer.pooled.interval(0.9999)
    assert answer.reason == REASON
    assert low[0] <= rows["age"].median() <= high[0]


def test_where_noise_tells_less_than_bins_the_table_answers():
    """The choice follows from public facts: noise, cells, bins and the number of records."""
    rows = workers(300)
    release = us.synthesize(
        rows, Schema.loads(SCHEMA), epsilon="0.2", delta="1e-6", insecure_noise_seed=3
    )
    assert lines_of(release)
    assert us.analyze(release, "proportion", "age >= 65").reason != REASON


@pytest.mark.nightly
def test_a_page_says_what_lies_beyond():
    rows = workers(3_000).with_columns(age=pl.col("age") * 2)
    release = us.synthesize(
        rows, Schema.loads(SCHEMA), epsilon=3, delta="1e-6", insecure_noise_seed=3
    )
    shown = " ".join(line.answer for line in Answers(release).lines())
    assert "have age above 90" in shown
    assert "income above" not in shown
