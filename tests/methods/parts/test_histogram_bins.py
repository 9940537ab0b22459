"""Bins of histogram methods: how many, at which edges, and what they may know of the rows."""

import datetime
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InsufficientBudgetError, MethodError
from understudy.methods.binning import bins_with_rules, numeric_columns
from understudy.methods.registry import configure
from understudy.papers.exact import UNPAID, UNPAID_QUARTILES, ExactDeviations, ExactQuartileRanges
from understudy.papers.histograms import bins_by_width, scott_bins, sturges_bins
from understudy.workflow.gates import open_gate

HEAD = {"private": "row_limit = 5000", "public": 'rows = "public"\nn_rows = 1000'}
COLUMNS = """
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "codebook"
reviewed = true
[columns.x]
kind = "continuous"
lower = -3
upper = 4
bins = 5
missing = [""]
source = "codebook"
reviewed = true
"""


def schema(rows="public", columns=COLUMNS):
    return us.Schema.loads(f"{HEAD[rows]}\n{columns}")


def method(**options):
    return configure("perturbed-histogram", options)


def frame(n=1000, sd=1.0):
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(scale=sd, size=n), -3, 4).tolist()
    return pl.DataFrame({"sex": ["f", "m"] * (n // 2), "x": [None, *x[1:]]})


def door(one, epsilon=1, seed=1):
    return open_gate(Table(frame(), one), Budget.of(epsilon), SeededRandomness(seed))


def bins_of(one):
    return one.columns["x"].bins


# --- how many ---------------------------------------------------------------------------------


def test_scotts_rule_gives_the_published_numbers_of_bins():
    """Medians of Bowen & Liu's second study: bounds seven deviations apart."""
    assert scott_bins(7.0, 1.0, [40, 100, 1000]).tolist() == [7, 10, 21]
    assert scott_bins(14.0, np.full((2, 3), 2.0), 1000).tolist() == [[21] * 3] * 2
    assert scott_bins(7.0, 1.0, 1000, n_numeric=2).tolist() == int(np.ceil(7 * 1000**0.25 / 3.49))
    assert scott_bins(7.0, [0.0, 1e9, 1.0], [5, 5, 0]).tolist() == [1, 1, 3]


def test_the_default_is_the_schema():
    one = schema()
    assert method().bin_columns(one) == one
    gate = door(one)
    assert method().setup(gate, Fraction(1)).schema is gate.schema


def test_a_number_goes_to_every_numeric_column():
    assert bins_of(method(bins=7).bin_columns(schema())) == 7
    assert bins_of(method(bins="7").bin_columns(schema())) == 7
    assert bins_of(method(bins=7).setup(door(schema()), Fraction(1)).schema) == 7


def test_scotts_rule_takes_public_numbers_only():
    """A sixth of the width 7, or the deviation that is given; declared rows, or a guess."""
    by_default = int(scott_bins(7, 7 / 6, 1000))
    assert bins_of(method(bins="scott").bin_columns(schema())) == by_default
    assert bins_of(method(bins="scott", deviations={"x": 1}).bin_columns(schema())) == 21
    guessed = method(bins="scott", expected_rows=100).bin_columns(schema("private"))
    assert bins_of(guessed) == int(scott_bins(7, 7 / 6, 100))
    assert bins_of(method(bins="scott", expected_rows=5).bin_columns(schema())) == by_default
    gate = door(schema())
    assert bins_of(method(bins="scott").setup(gate, Fraction(1)).schema) == by_default
    assert gate.ledger == ()
    assert UNPAID not in gate.guarantee().leaks


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000])
def test_sturges_rule_counts_doublings(n):
    """K − 1 is the least number of doublings of one record that makes n."""
    doublings = next(k for k in range(64) if 2**k >= n)
    assert sturges_bins(n) == 1 + doublings


def test_the_rule_of_freedman_and_diaconis_is_two_quartile_ranges_over_a_cube_root():
    for n, spread in ((8, 1.0), (1000, 0.5), (27, 2.0)):
        wide = 2 * spread / round(n ** (1 / 3))
        assert bins_by_width("fd", 7.0, spread, n) == int(np.ceil(round(7 / wide, 9)))
    assert bins_by_width("fd", 7.0, [0.0, 1.0], [9, 0]).tolist() == [1, 4]


def test_other_rules_take_public_numbers_only():
    """Sturges' rule takes rows alone, that of Freedman & Diaconis 1.349 public deviations."""
    assert bins_of(method(bins="sturges").bin_columns(schema())) == 11
    guess = method(bins="sturges", expected_rows=100).bin_columns(schema("private"))
    assert bins_of(guess) == 8
    expected = int(bins_by_width("fd", 7, 1.349 * 7 / 6, 1000))
    assert bins_of(method(bins="fd").bin_columns(schema())) == expected
    given = method(bins="fd", deviations={"x": 1}).bin_columns(schema())
    assert bins_of(given) == int(bins_by_width("fd", 7, 1.349, 1000)) == 26
    for rule in ("sturges", "fd"):
        gate = door(schema())
        binned = method(bins=rule).setup(gate, Fraction(1)).schema
        assert binned == method(bins=rule).bin_columns(schema())
        assert gate.ledger == ()
        assert not {UNPAID, UNPAID_QUARTILES} & set(gate.guarantee().leaks)


def test_columns_share_scotts_rule():
    """Two numeric columns take the exponent 1/4; one with a single value is none of them."""
    more = COLUMNS
    for name, upper in (("y", 9), ("constant", 0)):
        more += f"""
            [columns.{name}]
            kind = "integer"
            lower = 0
            upper = {upper}
            bins = 1
            source = "codebook"
            reviewed = true
            """
    binned = method(bins="scott").bin_columns(schema(columns=more))
    assert numeric_columns(binned) == ("x", "y")
    assert binned.columns["x"].bins == int(scott_bins(7, 7 / 6, 1000, 2))
    assert binned.columns["y"].bins == min(10, int(scott_bins(9, 1.5, 1000, 2)))
    assert binned.columns["constant"].bins == 1


@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        ({"bins": "scott"}, "private", "expected_rows"),
        ({"bins": "bought"}, "private", "expected_rows"),
        ({"bins": "scott", "mode": "paper"}, "private", "expected_rows"),
        ({"bins": "scott", "deviations": {"sex": 1.0}}, "public", "no numeric column"),
        ({"bins": "bought", "deviations": {"x": 1.0}}, "public", "belongs to bins=scott"),
        ({"bins": "sturges", "deviations": {"x": 1.0}}, "public", "belongs to bins=scott"),
        ({"bins": "fd", "mode": "paper", "deviations": {"x": 1.0}}, "public", "mode=strict"),
        ({"bins": "sturges"}, "private", "expected_rows"),
        ({"bins": "fd"}, "private", "expected_rows"),
        ({"bins": 0}, "public", "between 1 and 1,048,576"),
        ({"bins": "many"}, "public", "'fd' or 'bought'"),
        ({"bins": "scott", "deviations": {"x": 0}}, "public", "greater than 0"),
        ({"bins": "bought", "bins_share": 1}, "public", "less than 1"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_rows_are_read(options, rows, message):
    with pytest.raises(MethodError, match=message):
        us.plan(schema(rows), epsilon=1, method="perturbed-histogram", options=options)


def test_bins_cannot_be_bought_without_numbers():
    columns = COLUMNS.split("[columns.x]")[0]
    with pytest.raises(MethodError, match="no numeric column to choose bins for"):
        us.plan(
            schema(columns=columns),
            epsilon=1,
            method="perturbed-histogram",
            options={"bins": "bought"},
        )
    assert method(bins=7).bin_columns(schema(columns=columns)) == schema(columns=columns)


# --- bought, and read off the rows ------------------------------------------------------------


@pytest.mark.parametrize("rows", ["public", "private"])
def test_bought_deviations_are_announced_and_paid_for(rows):
    options = {"bins": "bought", "expected_rows": 1000, "bins_share": 0.3}
    arguments = {"epsilon": 2, "method": "perturbed-histogram", "options": options, "sets": 3}
    plan = us.plan(schema(rows), **arguments)
    release = us.synthesize(frame(), schema(rows), **arguments)
    left = Fraction(2) if rows == "public" else Fraction(19, 10)
    spent = [Fraction(step["epsilon_exact"]) for step in release.manifest.ledger]
    bought = release.manifest.ledger[len(spent) - 4 : -1]
    assert [step["query"] for step in bought] == [table.query for table in plan.setup]
    assert [step["noise"] for step in bought] == [table.noise for table in plan.setup]
    assert [step["cells"] for step in bought] == [table.n_cells for table in plan.setup]
    assert spent[-4:] == [left * Fraction(k, 100) for k in (3, 3, 24, 70)]
    assert [table.share * 2 for table in plan.setup] == spent[-4:-1]
    assert sum(spent) == 2
    assert [m.stddev for m in release.measurements[:3]] == [t.stddev for t in plan.setup]
    assert release.guarantee.kind == "pure"


def test_with_next_to_no_noise_the_bought_deviation_is_that_of_the_rows():
    """Missing values are not among the numbers: 999 of them have a deviation."""
    gate = door(schema(), epsilon=10**6)
    binned = method(bins="bought").setup(gate, Fraction(10**5)).schema
    sd = frame()["x"].std()
    assert bins_of(binned) == int(scott_bins(7, sd, 1000)) == 21
    assert binned.columns["x"].size == 22


@pytest.mark.parametrize("seed", range(6))
def test_with_nothing_but_noise_bins_stay_within_public_limits(seed):
    gate = door(schema(), epsilon=1, seed=seed)
    binned = method(bins="bought").setup(gate, Fraction(1, 1000)).schema
    fewest, most = int(scott_bins(7, 3.5, 1000)), int(scott_bins(7, 7 / 50, 1000))
    assert fewest <= bins_of(binned) <= most
    assert bins_of(method(bins="bought").bin_columns(schema())) == most


def test_bins_are_not_bought_beyond_the_budget():
    gate = door(schema())
    with pytest.raises(InsufficientBudgetError):
        method(bins="bought").setup(gate, Fraction(2))
    assert gate.ledger == ()


def test_in_paper_mode_the_bins_follow_the_rows_and_the_guarantee_says_so():
    release = us.synthesize(
        frame(),
        schema(),
        epsilon=1,
        method="perturbed-histogram",
        options={"bins": "scott", "mode": "paper"},
    )
    assert bins_of(release.schema) == 21
    assert release.guarantee.kind == "conditional"
    assert UNPAID in release.guarantee.leaks
    narrow = us.synthesize(
        frame(sd=0.5),
        schema(),
        epsilon=1,
        method="perturbed-histogram",
        options={"bins": "scott", "mode": "paper"},
    )
    assert bins_of(narrow.schema) == int(scott_bins(7, frame(sd=0.5)["x"].std(), 1000)) == 42


@pytest.mark.parametrize("sd", [0.5, 1.0])
@pytest.mark.parametrize("name", ["perturbed-histogram", "smoothed-histogram"])
def test_quartiles_are_read_in_paper_mode_and_the_guarantee_says_so(name, sd):
    options = {"bins": "fd", "mode": "paper"}
    release = us.synthesize(frame(sd=sd), schema(), epsilon=1, method=name, options=options)
    values = frame(sd=sd)["x"].drop_nulls().to_numpy()
    exact = np.subtract(*np.quantile(values, [0.75, 0.25]))
    assert bins_of(release.schema) == int(bins_by_width("fd", 7, exact, 1000))
    assert release.guarantee.kind == "conditional"
    assert UNPAID_QUARTILES in release.guarantee.leaks
    assert UNPAID not in release.guarantee.leaks
    step = release.manifest.ledger[0]
    assert (step["query"], step["noise"]) == ("interquartile range of x", "none: unpaid")


def test_sturges_rule_reads_nothing_in_paper_mode_either():
    options = {"bins": "sturges", "mode": "paper"}
    release = us.synthesize(
        frame(), schema(), epsilon=1, method="smoothed-histogram", options=options
    )
    assert bins_of(release.schema) == 11
    assert release.guarantee.kind == "pure"


def test_exact_quartile_ranges_are_those_of_the_numbers():
    (released,) = door(schema()).ask(ExactQuartileRanges(("x",)))
    values = frame()["x"].drop_nulls().to_numpy()
    exact = np.subtract(*np.quantile(values, [0.75, 0.25]))
    assert released.value == pytest.approx(exact)
    empty = open_gate(Table(frame().clear(), schema("private")), Budget.of(1), SeededRandomness(1))
    (nothing,) = empty.ask(ExactQuartileRanges(("x",)))
    assert nothing.value == 0


def test_exact_deviations_are_those_of_the_numbers():
    (released,) = door(schema()).ask(ExactDeviations(("x",)))
    assert released.value == pytest.approx(frame()["x"].std(), rel=1e-4)
    empty = open_gate(Table(frame().clear(), schema("private")), Budget.of(1), SeededRandomness(1))
    (nothing,) = empty.ask(ExactDeviations(("x",)))
    assert nothing.value == 0


# --- edges ------------------------------------------------------------------------------------

RULES = """
row_limit = 100
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = [0, 18, 65, 99]
missing = [""]
source = "codebook"
reviewed = true
[columns.job]
kind = "ordinal"
levels = ["none", "worker", "boss"]
source = "codebook"
reviewed = true
[columns.income]
kind = "continuous"
lower = 0
upper = 100
bins = 4
spikes = [0, 30]
decimals = 1
source = "codebook"
reviewed = true
[columns.moved]
kind = "date"
lower = 2000-01-01
upper = 2009-12-31
bins = [2000-01-01, 2005-03-01, 2009-12-31]
source = "codebook"
reviewed = true
[columns.children]
kind = "integer"
lower = 0
upper = 9
source = "codebook"
reviewed = true
[[forbidden]]
where = { age = { lower = 0, upper = 17 }, job = ["worker", "boss"] }
source = "law"
reviewed = true
[[forbidden]]
where = { job = "none", income = { lower = 50, upper = 100 } }
source = "law"
reviewed = true
[[forbidden]]
where = { job = "boss", income = 0 }
source = "law"
reviewed = true
[[forbidden]]
where = { job = "boss", moved = { lower = 2000-01-01, upper = 2005-02-28 } }
source = "law"
reviewed = true
[[forbidden]]
where = { job = "none", children = [3, 4] }
source = "law"
reviewed = true
"""


def forbidden(record):
    """The rules, by hand."""
    age, job, income, moved, children = record
    return (
        (age is not None and age < 18 and job != "none")
        or (job == "none" and income >= 50)
        or (job == "boss" and (income == 0 or moved < datetime.date(2005, 3, 1)))
        or (job == "none" and children in {3, 4})
    )


@pytest.mark.parametrize("number", [1, 2, 3, 7, 40, 100, 1000])
def test_other_bins_forbid_exactly_the_same_values(number):
    """What is forbidden is coded out of domain, and so is nothing else."""
    one = us.Schema.loads(RULES)
    bins = bins_with_rules(one, dict.fromkeys(numeric_columns(one), number))
    binned = one.with_bins(bins)
    assert len(binned.forbidden) == 5
    records = list(
        product(
            [0, 17, 18, 64, 99, None],
            ["none", "worker", "boss"],
            [0.0, 0.1, 29.9, 30.0, 49.9, 50.0, 100.0],
            [datetime.date(2000, 1, 1), datetime.date(2005, 2, 28), datetime.date(2005, 3, 1)],
            [2, 3, 4, 5],
        )
    )
    rows = pl.DataFrame(records, schema=one.names, orient="row")
    states = Table(rows, binned).code_rows().expose()
    sizes = [column.size for column in binned.columns.values()]
    outside = np.any([s >= size for s, size in zip(states, sizes, strict=True)], axis=0)
    assert outside.tolist() == [forbidden(record) for record in records]


@pytest.mark.parametrize("number", [1, 3, 1000])
def test_values_drawn_in_other_bins_keep_to_the_schema(number):
    one = us.Schema.loads(RULES)
    rows = pl.DataFrame({name: [] for name in one.names})
    release = us.synthesize(
        rows,
        one.model_copy(update={"rows": "public", "n_rows": 0, "row_limit": None}),
        epsilon=1,
        method="perturbed-histogram",
        options={"bins": number, "form": "filtered"},
    )
    assert release.tables[0].height == 0
    states = release.schema.domain.draw(2000, np.random.default_rng(1).random)
    from understudy.release.decoding import decode

    drawn = decode(states, release.schema, np.random.default_rng(2))
    assert not any(forbidden(record) for record in drawn.rows())
    assert all(round(10 * value, 6).is_integer() for value in drawn["income"])


def test_edges_are_added_only_where_rules_need_them():
    one = us.Schema.loads(RULES)
    assert bins_with_rules(one, {"age": 2, "income": 4, "children": 2}) == {
        "age": (0, 18, 50, 99),
        "income": 4,
        "children": (0, 3, 4, 5, 9),
    }
    assert bins_with_rules(one, {"moved": 1}) == {
        "moved": (
            datetime.date(2000, 1, 1),
            datetime.date(2005, 3, 1),
            datetime.date(2009, 12, 31),
        )
    }
    assert bins_with_rules(one, {"children": 50, "age": 1000}) == {"children": 10, "age": 100}


def test_a_rule_on_the_largest_whole_number_leaves_each_value_a_bin():
    text = RULES.replace("children = [3, 4]", "children = 9")
    one = us.Schema.loads(text)
    assert bins_with_rules(one, {"children": 2}) == {"children": 10}


def test_bins_that_only_spikes_could_fill_go_to_a_neighbour():
    one = us.Schema.loads("""
        [columns.n]
        kind = "integer"
        lower = 0
        upper = 9
        bins = 2
        spikes = [0, 5, 9]
        source = "codebook"
        reviewed = true
        """)
    (bins,) = bins_with_rules(one, {"n": 10}).values()
    assert bins == (0, 2, 3, 4, 6, 7, 8, 9)
    assert one.with_bins({"n": bins}).columns["n"].size == 7 + 3


def test_bins_narrower_than_numbers_can_tell_apart_are_refused():
    tiny = COLUMNS.replace("lower = -3", "lower = 4e15").replace(
        "upper = 4\n", "upper = 4000000000000100.0\n"
    )
    with pytest.raises(MethodError, match="narrower"):
        method(bins=1000).bin_columns(schema(columns=tiny))
