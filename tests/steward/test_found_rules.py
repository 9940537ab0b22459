"""Rules that every row keeps to: found, marked as read from the rows, and never made by chance."""

import datetime

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.rows import Rows
from understudy.schema import Continuous, Integer, Schema
from understudy.schema.base import LevelMap
from understudy.steward import found_rules
from understudy.steward.check import check
from understudy.steward.draft import draft_schema

RNG = np.random.default_rng(23)
N = 1_500
A, B, C = (RNG.integers(0, 400, N) for _ in range(3))
X = RNG.uniform(50, 90, N).round(1)
AGE = RNG.integers(18, 95, N)
TOWN = RNG.choice(list("pqrstu"), N)
BORN = [
    datetime.date(1950, 1, 1) + datetime.timedelta(days=int(k)) for k in RNG.integers(0, 9_000, N)
]


def found(**columns):
    """The declared columns of a draft, and the draft."""
    text = draft_schema(pl.DataFrame(columns))
    return Schema.loads(text).declared, text


ARITHMETIC = {
    "a copy": ({"q1": A, "q2": A}, "q1"),
    "a constant off": ({"q1": A, "q2": A + 7}, "q1 + 7"),
    "a sum": ({"q1": A, "q2": B, "q3": A + B}, "q1 + q2"),
    "a difference": ({"q1": A, "q2": B, "q3": B - A}, "q2 - q1"),
    "a product": ({"q1": A, "q2": B, "q3": A * B}, "q1 * q2"),
    "a quotient": ({"q1": X, "q2": B + 1, "q3": (X / (B + 1)).round(3)}, "q1 / q2"),
    "a total of three": ({"q1": A, "q2": B, "q3": C, "q4": A + B + C}, "q1 + q2 + q3"),
    "a rest": ({"q1": A, "q2": B, "q3": C, "q4": A - B - C}, "q1 - q2 - q3"),
    "decimals": ({"q1": X, "q2": A, "q3": (X + A).round(1)}, "q1 + q2"),
    "names with spaces": ({"in km": A, "by car": B, "all ways": A + B}, "`in km` + `by car`"),
}


@pytest.mark.parametrize("case", ARITHMETIC)
def test_arithmetic_of_columns_further_left_is_found(case):
    columns, rule = ARITHMETIC[case]
    declared, _ = found(**columns)
    *others, last = declared.values()
    assert last.derived == rule
    assert not any(one.derived for one in others)
    assert "derived" in last.left_as_drafted
    assert not last.reviewed
    assert check(pl.DataFrame(columns), Schema(columns=declared)).ok


def test_groups_of_a_number_are_cut_at_round_places():
    group = np.where(AGE < 30, "young", np.where(AGE < 65, "middle", "old"))
    declared, _ = found(q1=AGE, q2=group, q3=AGE >= 65, q4=AGE // 10)
    assert declared["q2"].derived == "cut(q1, 30, 65)"
    assert declared["q2"].levels == ("young", "middle", "old")
    assert declared["q4"].derived.startswith("cut(q1, 20, 30")
    assert (declared["q4"].kind, declared["q4"].levels) == ("ordinal", tuple(range(1, 10)))


def test_groups_and_other_names_of_levels_are_found():
    region = np.where(np.isin(TOWN, ["p", "q"]), "north", "south")
    names = {one: f"town {one}" for one in "pqrstu"}
    declared, _ = found(q1=TOWN, q2=region, q3=[names[one] for one in TOWN], q4=TOWN == "r")
    assert declared["q2"].derived == LevelMap(
        of="q1", levels={"north": ("p", "q"), "south": ("r", "s", "t", "u")}
    )
    assert declared["q3"].derived.levels["town p"] == ("p",)
    assert declared["q4"].derived.levels == {"false": ("p", "q", "s", "t", "u"), "true": ("r",)}
    assert declared["q1"].derived is None


def test_years_of_days_are_found():
    declared, _ = found(q1=BORN, q2=[day.year for day in BORN])
    assert declared["q2"].derived.startswith("cut(q1, ")
    assert declared["q2"].levels == tuple(range(1950, 1975))


def test_absent_values_follow_their_rule():
    gone = RNG.random(N) < 0.1
    columns = {
        "q1": pl.Series(A).set(pl.Series(gone), None),
        "q2": B,
        "q3": pl.Series(A + B).set(pl.Series(gone), None),
    }
    declared, _ = found(**columns)
    assert declared["q3"].derived == "q1 + q2"
    odd = columns["q3"].set(pl.Series(A[0] == A), None)
    assert found(**{**columns, "q3": odd})[0]["q3"].derived is None, "absent where it need not be"


def test_one_row_that_differs_is_no_rule():
    """Claim: a rule holds in every row, also in those that no proposal has looked at."""
    total = A + B
    total[-1] += 1
    assert found(q1=A, q2=B, q3=total)[0]["q3"].derived is None
    region = np.where(np.isin(TOWN, ["p", "q"]), "north", "south")
    region[-1] = {"north": "south", "south": "north"}[region[-1]]
    assert found(q1=TOWN, q2=region)[0]["q2"].derived is None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.nightly(every=4)
def test_columns_that_have_nothing_to_do_with_each_other_get_no_rule(seed):
    """False-alarm rate: 2^-40 a draft by the rule; 12 tables of 20 columns show none here."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([60, 400, 3_000]))
    columns = {f"n{k}": rng.integers(0, rng.integers(2, 400), n) for k in range(8)}
    columns |= {f"x{k}": rng.normal(50, 10, n).round(int(rng.integers(0, 3))) for k in range(4)}
    columns |= {
        f"z{k}": np.where(rng.random(n) < 0.97, 0, rng.integers(1, 90, n)) for k in range(4)
    }
    columns |= {f"l{k}": rng.choice(list("abcdefgh")[: k + 2], n) for k in range(4)}
    declared, _ = found(**columns)
    assert not [name for name, one in declared.items() if one.derived is not None]


def test_near_rules_of_few_rows_get_no_rule():
    """One row in fifty breaks the rule; here 200 rows happen to keep it."""
    kept = np.where(TOWN[:200] == "p", "yes", "no")
    assert found(q1=TOWN[:200], q2=kept)[0]["q2"].derived is None


def test_a_found_rule_that_no_source_confirms_makes_the_guarantee_conditional(tmp_path):
    rows = pl.DataFrame({"q1": A, "q2": TOWN, "q3": np.where(A < 200, "low", "high")})
    text = draft_schema(rows).replace("reviewed = false", "reviewed = true")
    schema = Schema.loads(text.replace('source = ""', 'source = "codebook"'))
    columns = {
        name: one.model_copy(
            update={"confirmed": {k: "codebook" for k in one.left_as_drafted if k != "derived"}}
        )
        for name, one in schema.declared.items()
    }
    kept = schema.model_copy(update={"columns": columns})
    made = us.synthesize(rows, kept, epsilon=1, method="independent")
    assert made.guarantee.kind == "conditional"
    assert "q3 (derived)" in made.guarantee.statement + "".join(made.guarantee.leaks)
    made.save(tmp_path / "release")
    loaded = us.Release.load(tmp_path / "release")
    assert loaded.schema.declared["q3"].derived == "cut(q1, 200)"
    known = columns["q3"].model_copy(update={"confirmed": {"derived": "law", "levels": "law"}})
    sure = kept.model_copy(update={"columns": {**columns, "q3": known}})
    assert us.synthesize(rows, sure, epsilon=1, method="independent").guarantee.kind == "pure"


def test_what_may_be_a_sum_is_told_from_what_is_none():
    """Sums with rounding, of columns of very different sizes, stay; independent columns go."""
    parts = {f"x{k}": RNG.normal(0, 10.0**k, N).round(2) for k in range(6)}
    rounded = Integer(kind="integer", lower=-(10**7), upper=10**7)
    total = sum(parts.values())
    numbers = {**parts, "total": np.rint(total), "far": np.rint(total) + RNG.integers(-9, 9, N)}
    kinds = {
        name: Continuous(kind="continuous", lower=-1e7, upper=1e7, decimals=2) for name in parts
    }
    kinds |= dict.fromkeys(("total", "far"), rounded)
    seen = [found_rules._Seen.of(name, kinds[name], numbers[name]) for name in numbers]
    assert found_rules._may_be_sums(seen) == {"total"}
    few = [found_rules._Seen.of(one.name, one.column, one.numbers[:5]) for one in seen]
    assert found_rules._may_be_sums(few) == {*numbers}


@pytest.mark.nightly
def test_wide_tables_are_asked_about_few_columns_at_a_time(monkeypatch):
    """A plan of all questions about all columns takes the square of them to make.

    Nine questions of each of sixteen.
    """
    widths, ask = [], Rows.ask

    def counted(rows, query):
        widths.append(len(query.collect_schema()))
        return ask(rows, query)

    monkeypatch.setattr(Rows, "ask", counted)
    words = {f"w{k}": RNG.choice(["Aa", "Bb", "Cc"], 60) for k in range(40)}
    declared, _ = found(**words)
    assert [one.kind for one in declared.values()] == ["categorical"] * 40
    assert max(widths) <= 16 * 9
