"""Votes on a claim: sensitivity by enumeration, the law of what is released, and its noise."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy import stats

import understudy as us
from schemas import column
from understudy.checkpoint.journal import Journal
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.confidential import terms_of
from understudy.dp.distributions import DiscreteGaussian, DiscreteLaplace
from understudy.dp.randomness import SeededRandomness
from understudy.errors import BudgetError, MethodError
from understudy.features.design import Computed, LevelValues
from understudy.mechanisms.votes import Votes, vote_noise
from understudy.workflow.gates import open_gate

pytestmark = pytest.mark.statistical

COLUMNS = "\n".join(
    [
        column("x", "integer", lower=0, upper=9),
        column("y", "continuous", lower=-1, upper=4, spikes=[0.0]),
        column("s", "categorical", levels=["a", "b", "c"]),
    ]
)
PRIVATE = us.Schema.loads(COLUMNS)


def public(n):
    return us.Schema.loads(f'rows = "public"\nn_rows = {n}\n{COLUMNS}')


OUTCOME = Computed("x")


def claim(kind, border, *terms, above=True, outcome=OUTCOME, subsets=2):
    return Votes(
        kind=kind,
        outcome=(outcome,),
        design=terms,
        border=border,
        above=above,
        subsets=subsets,
    )


# --- what one record can change, by enumeration ------------------------------------------------

RECORDS = [(0.0, 0.0), (1.0, 1.0), (1.0, 3.0), (np.nan, np.nan)]
"""Outcome and term of a record; the last one lacks a value."""
CLAIMS = {
    "share": claim("share", 0.4),
    "mean": claim("mean", 0.5, above=False),
    "correlation": claim("correlation", 0.1, (Computed("y"),)),
    "ols": claim("ols", 0.0, (), (Computed("y"),)),
    "logit": claim("logit", 0.2, (Computed("y"),)),
}
COINS = np.array([0.3, 0.9])


@cache
def number_of_yes(asked, table, subset):
    outcome, term = np.array(table, dtype=float).reshape(-1, 2).T
    places = np.array(subset, dtype=np.int64)
    design = np.ones((len(table), len(asked.design)))
    design[:, -1:] = term[:, None][:, : len(asked.design)]
    return int(asked.votes(outcome, design, places, COINS).sum())


@pytest.mark.parametrize("kind", CLAIMS)
def test_one_record_moves_one_vote_and_no_more(kind):
    """Added, removed or replaced: all tables of three records, and all subsets of theirs."""
    asked, found = CLAIMS[kind], set()
    for table in itertools.product(RECORDS, repeat=3):
        for subset in itertools.product((0, 1), repeat=3):
            whole = number_of_yes(asked, table, subset)
            for i in range(3):
                others, places = (one[:i] + one[i + 1 :] for one in (table, subset))
                found.add(abs(whole - number_of_yes(asked, others, places)))
                for record in RECORDS:
                    swapped = (*table[:i], record, *table[i + 1 :])
                    found.add(abs(whole - number_of_yes(asked, swapped, subset)))
    assert found == {0, 1}


def test_subsets_by_place_would_move_more():
    """If a removal shifts the records behind it, as it would were subsets drawn by place."""
    asked = claim("mean", 0.6, above=False, subsets=4)
    outcome, blocks = np.array([0, 1, 1, 0, 0, 1, 1, 0.0]), np.repeat(np.arange(4), 2)
    coins, design = np.full(4, 0.5), np.empty((8, 0))
    whole = asked.votes(outcome, design, blocks, coins).sum()
    shifted = asked.votes(outcome[1:], design[1:], blocks[:-1], coins).sum()
    assert (whole, shifted) == (4, 2)


@pytest.mark.parametrize("kind", ["mean", "correlation", "ols", "logit"])
def test_votes_do_not_depend_on_the_order_of_records(kind, monkeypatch):
    """To the last bit: what is compared with the border is one number, whatever the order."""
    rng = np.random.default_rng(2)
    outcome, y = rng.normal(size=60), rng.normal(size=60)
    outcome = (outcome > 0).astype(float) if kind == "logit" else outcome
    design = np.column_stack([np.ones(60), y])[:, 2 - len(CLAIMS[kind].design) :]
    found, estimates = set(), Votes._estimates
    monkeypatch.setattr(
        Votes, "_estimates", lambda *one: found.add((two := estimates(*one)).tobytes()) or two
    )
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(60)
        places = np.arange(60)[order] % 2
        CLAIMS[kind].votes(outcome[order], design[order], places, COINS)
    assert len(found) == 1


def test_the_law_of_the_answer_keeps_the_budget():
    """Exactly, over all subsets and both coins' outcomes, for every pair of neighbouring tables of
    up to three records: the largest log ratio is ε or less, and near it."""
    asked, noise = CLAIMS["share"], DiscreteLaplace(Fraction(2))
    outcomes = np.arange(-60, 61)

    def log_law(table):
        subsets = list(itertools.product((0, 1), repeat=len(table)))
        masses = [noise.pmf(outcomes - number_of_yes(asked, table, one)) for one in subsets]
        return np.log(np.mean(masses, axis=0))

    ratios = []
    for n in range(3):
        for table in itertools.combinations_with_replacement(RECORDS, n):
            for record in RECORDS:
                more = log_law((*table, record))
                ratios.append(np.abs(more - log_law(table)).max())
                ratios += [np.abs(more - log_law((*table, one))).max() for one in RECORDS]
    assert 0.4 < max(ratios) <= 0.5 + 1e-9


# --- the noise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [PRIVATE, public(4)], ids=["add_remove", "replace"])
@pytest.mark.parametrize("unit", ["pure", "zcdp", "gdp"])
def test_the_noise_is_that_of_sensitivity_one(schema, unit):
    budget = Budget.of(1, 0 if unit == "pure" else "1e-6", "gdp" if unit == "gdp" else "zcdp")
    (charge,) = CLAIMS["ols"].price(terms_of(schema, budget), budget.amount / 2)
    if unit == "pure":
        assert charge.parameter == DiscreteLaplace(Fraction(2))
        assert charge.sensitivity == "L1 = 1"
    else:
        assert isinstance(charge.parameter, DiscreteGaussian)
        assert charge.sensitivity == "L2 = 1"
        wanted = float(1 / budget.amount)
        within = 1e-9 if unit == "zcdp" else 0.02
        assert float(charge.parameter.variance) == pytest.approx(wanted, rel=within)
        assert float(charge.parameter.variance) >= wanted * (1 - 1e-9)


ROWS = pl.DataFrame({"x": [1, 8, 9, 7], "y": [0.0, 1.0, 2.0, 4.0], "s": ["a", "b", "b", "?"]})
TABLE = Table(ROWS, PRIVATE)


def gate(seed=1, table=TABLE, journal=None):
    return open_gate(table, Budget.of(1), SeededRandomness(seed), journal)


def asked(one, mechanism):
    return one.ask(mechanism, spend=one.budget.amount)


@cache
def noise_of_answers():
    """Of 1,000 answers of one gate, at ε = 1 each, to a claim whose one vote is a sure yes."""
    one = open_gate(TABLE, Budget.of(1000), SeededRandomness(1))
    sure = claim("mean", -1.0, subsets=1)
    return np.array([one.ask(sure, spend=Fraction(1)).value for _ in range(1000)]) - 1


@pytest.mark.parametrize(("scale", "fits"), [(1, True), ("1.3", False), ("0.7", False)])
def test_the_noise_is_drawn_with_its_scale(scale, fits):
    """Chi-square; a scale that is wrong by 30 % is found. False alarm 1e-4."""
    found, distribution = noise_of_answers(), DiscreteLaplace(Fraction(scale))
    places = np.arange(-3, 4)
    observed = np.array([*((found == k).sum() for k in places), (np.abs(found) > 3).sum()])
    expected = np.append(distribution.pmf(places), 1 - distribution.pmf(places).sum()) * len(found)
    assert (stats.chisquare(observed, expected).pvalue > 1e-4) == fits


def test_subsets_are_drawn_evenly_and_for_each_record_by_itself():
    """How often the first two of four records meet in one of three subsets: 1 in 3, of 900 draws;
    and the coin of a share that lies at its border falls either way. False alarm 1e-4 each."""
    source = SeededRandomness(5)
    drawn = np.array([source.below(3, 4) for _ in range(900)])
    assert stats.binomtest(int((drawn[:, 0] == drawn[:, 1]).sum()), 900, 1 / 3).pvalue > 1e-4
    single = claim("share", 0.5, outcome=Computed("x > 4"), subsets=900)
    coins, nothing = source.uniforms(900), np.empty((900, 0))
    outcome = np.ones(900)  # one record in each: half of the ones lie above the middle
    assert single.votes(outcome, nothing, np.arange(900), coins).all()
    middle = claim("share", 0.75, outcome=Computed("x > 4"), subsets=900)
    said = int(middle.votes(outcome, nothing, np.arange(900), coins).sum())
    assert stats.binomtest(said, 900, 2 / 3).pvalue > 1e-4


def test_an_answer_knows_its_noise_and_comes_back_from_a_checkpoint(tmp_path):
    with_journal = Journal(tmp_path / "checkpoint", {}, seed=1)
    one = gate(journal=with_journal)
    released = asked(one, CLAIMS["mean"])
    with_journal.close()
    again = Journal(tmp_path / "checkpoint", {}, seed=1)
    assert asked(gate(seed=9, journal=again), CLAIMS["mean"]) == released
    again.close()
    assert released.noise.stddev == DiscreteLaplace(Fraction(1)).stddev
    assert one.measured == ()
    (entry,) = one.ledger
    assert (entry.spent, entry.cells) == (1, 1)
    assert entry.query == "votes of 2 random subsets on mean of x < 0.5"


# --- records -----------------------------------------------------------------------------------


def records(mechanism, rows=ROWS, schema=PRIVATE):
    one = gate(table=Table(rows, schema))
    outcome, design = mechanism.records(one._rows.numbers())
    return outcome.tolist(), design.tolist()


def test_numbers_are_clipped_spikes_are_numbers_and_strangers_do_not_count():
    rows = ROWS.with_columns(x=pl.Series([99, 8, -3, 7]))
    outcome, design = records(
        claim("ols", 0.0, (LevelValues("s", (0.0, 1.0, 0.0)), Computed("y + 1"))), rows
    )
    assert outcome[:3] == [9, 8, 0]
    assert design[:3] == [[0], [2], [3]]
    assert np.isnan([outcome[3], design[3][0]]).all()
    outcome, _ = records(claim("mean", 0.0, outcome=Computed("y", log=True)))
    assert np.isnan(outcome[0])
    assert outcome[1:] == pytest.approx(np.log([1, 2, 4]))


SENSELESS = {
    "an unknown column": claim("mean", 0.0, outcome=Computed("z")),
    "code": claim("mean", 0.0, outcome=Computed("__import__('os')")),
    "a constant": claim("mean", 0.0, outcome=Computed("1")),
    "levels as numbers": claim("mean", 0.0, outcome=Computed("s + 1")),
    "too few levels": claim("mean", 0.0, outcome=LevelValues("s", (0.0, 1.0))),
    "a level that is no number": claim("mean", 0.0, outcome=LevelValues("s", (0, 1, np.nan))),
    "levels of numbers": claim("mean", 0.0, outcome=LevelValues("x", (0.0,) * 10)),
    "no number": claim("mean", np.nan),
    "an infinite border": claim("ols", np.inf, (Computed("y"),)),
    "a share above one": claim("share", 1.0),
    "a correlation of one": claim("correlation", -1.0, (Computed("y"),)),
    "a correlation of three": claim("correlation", 0.0, (Computed("y"),), ()),
    "no term": claim("ols", 0.0),
    "an intercept": claim("ols", 0.0, (Computed("y"),), ()),
    "too many terms": claim("ols", 0.0, *[(Computed("y"),)] * 61),
    "no subset": claim("mean", 0.0, subsets=0),
    "too many subsets": claim("mean", 0.0, subsets=2**20 + 1),
}


@pytest.mark.parametrize("words", SENSELESS)
def test_what_makes_no_sense_is_refused_before_it_is_paid(words):
    one = gate()
    with pytest.raises(MethodError):
        asked(one, SENSELESS[words])
    assert one.ledger == ()


def test_merged_columns_and_next_to_nothing_are_refused():
    one = gate()
    with pytest.raises(MethodError, match="merged"):
        asked(one.group({"s": (0, 0, 1)}), CLAIMS["mean"])
    for unit in ("pure", "zcdp", "gdp"):
        with pytest.raises(BudgetError):
            vote_noise(Fraction(1, 10**30), unit)
    assert one.ledger == ()
