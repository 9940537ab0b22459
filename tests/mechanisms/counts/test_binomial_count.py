"""A number of successes: its sensitivity by enumeration, its noise, what it asks and refuses."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.distributions import DiscreteLaplace
from understudy.dp.perturbation import perturb
from understudy.dp.randomness import SecureRandomness, SeededRandomness
from understudy.errors import MethodError
from understudy.mechanisms.tables import SENSITIVITY, BinomialCount
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

COLUMN = '[columns.x]\nkind = "boolean"\nsource = "codebook"\nreviewed = true'
VALUES = ["false", "true", "stranger"]


def schema(n, column=COLUMN):
    return us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{column}')


@cache
def engine(values):
    frame = pl.DataFrame({"x": list(values)}, schema={"x": pl.String})
    return Table(frame, schema(len(values)))


def gate(values, seed=1, epsilon="1"):
    source = SecureRandomness() if seed is None else SeededRandomness(seed)
    return open_gate(engine(tuple(values)), Budget.of(epsilon), source)


def ask(values, seed=1, epsilon="1", **options):
    one = gate(values, seed, epsilon)
    return one.ask(BinomialCount("x", **options), spend=one.budget.amount), one


def exact(values):
    return round(ask(values, epsilon="1000000")[0].value.successes)


def test_replacing_a_record_changes_it_by_one_at_most():
    """All tables of three records, and all records in place of each."""
    counted = cache(exact)
    changes = {
        abs(counted(table) - counted((*table[:i], value, *table[i + 1 :])))
        for table in itertools.product(VALUES, repeat=3)
        for i in range(3)
        for value in VALUES
    }
    assert max(changes) == SENSITIVITY


def test_it_counts_the_second_level_and_nothing_else():
    assert exact(["true", "false", "stranger", "true"]) == 2
    assert exact([]) == 0


def noise(n, source=None, **options):
    """Noise in n numbers of successes of 4 rows, two of which are successes."""
    distribution, source = priced(schema(4), **options).parameter, source or SeededRandomness(1)
    return np.array([perturb(np.array([2]), distribution, source)[0] for _ in range(n)]) - 2


def priced(of, spend=Fraction(1), **options):
    """What it costs, and its noise."""
    (charge,) = BinomialCount("x", **options).price(terms_of(of, Budget.of(9)), spend)
    return charge


@pytest.mark.parametrize(("scale", "fits"), [(1, True), ("1.3", False), ("0.7", False)])
def test_the_noise_is_discrete_laplace_of_scale_one_over_epsilon(scale, fits):
    """Chi-square of 3,000 draws; a scale that is wrong by 30 % is found. False alarm 1e-4."""
    found, distribution = noise(3000), DiscreteLaplace(Fraction(scale))
    places = np.arange(-4, 5)
    observed = np.array([*((found == k).sum() for k in places), (np.abs(found) > 4).sum()])
    expected = np.append(distribution.pmf(places), 1 - distribution.pmf(places).sum()) * len(found)
    assert (stats.chisquare(observed, expected).pvalue > 1e-4) == fits


def test_one_call_of_the_gate_is_one_draw_of_the_kernel():
    released, one = ask(["true", "true", "false", "false"], seed=7)
    assert released.value.successes - 2 == noise(1, SeededRandomness(7))[0]
    assert released.value.n_rows == 4
    assert released.noise.stddev == DiscreteLaplace(Fraction(1)).stddev
    assert one.measured == (released,)
    assert one.ledger[0].query == "successes of x"


@pytest.mark.parametrize("mode", ["strict", "paper"])
def test_truncated_noise_stays_within_the_number_of_rows(mode):
    found = noise(500, bounds="truncate", mode=mode) + 2
    assert found.min() >= 0
    assert found.max() <= 4


def test_the_truncated_law_keeps_its_budget_for_every_pair_of_neighbours():
    """n = 12: largest log ratio over all pairs of neighbouring counts and all outcomes."""
    distribution = priced(schema(12), bounds="truncate").parameter
    outcomes = np.arange(13)
    log = np.array([distribution.log_pmf(outcomes, s) for s in range(13)])
    realised = np.abs(np.diff(log, axis=0)).max()
    assert 0.95 < realised <= 1


def test_paper_mode_says_what_it_leaves_in():
    def promise(**options):
        return ask(["true"], seed=None, **options)[1].guarantee()

    assert promise().leaks == ()
    plain, truncated = promise(mode="paper"), promise(mode="paper", bounds="truncate")
    assert plain.kind == truncated.kind == "conditional"
    assert len(plain.leaks) == 1
    assert len(truncated.leaks) == 2


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (COLUMN, "private"),
        (COLUMN.replace("reviewed", 'missing = [""]\nreviewed'), "public"),
        (COLUMN.replace('"boolean"', '"integer"\nlower = 0\nupper = 1'), "public"),
    ],
)
def test_other_columns_and_private_rows_are_refused_before_anything_is_spent(column, rows):
    head = "" if rows == "private" else 'rows = "public"\nn_rows = 0'
    frame = pl.DataFrame({"x": []}, schema={"x": pl.Boolean})
    table = Table(frame, us.Schema.loads(f"{head}\n{column}"))
    one = open_gate(table, Budget.of(1), SeededRandomness(1))
    with pytest.raises(MethodError):
        one.ask(BinomialCount("x"), spend=Fraction(1))
    assert one.ledger == ()


def test_gaussian_accounting_is_refused():
    frame = pl.DataFrame({"x": [True]})
    one = open_gate(Table(frame, schema(1)), Budget.of(1, "0.000001"), SeededRandomness(1))
    with pytest.raises(MethodError, match="pure"):
        one.ask(BinomialCount("x"), spend=one.budget.amount)
