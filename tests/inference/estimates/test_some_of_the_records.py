"""Questions to the records that meet a condition, and to those that do not, by every route."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.cli.app import app
from understudy.errors import InferenceError
from understudy.inference.conditions import UntoldError
from understudy.inference.counts import table_estimates
from understudy.inference.declared import declared_analyses
from understudy.inference.estimators import estimate_sets
from understudy.inference.noisy_tables import NoisyCounts
from understudy.inference.quantiles import table_quantiles
from understudy.inference.question import parse, split_condition
from understudy.inference.question_file import question_file
from understudy.schema.expressions import join_conditions

N = 3_000
SCHEMA = us.Schema.loads(
    column("sex", "categorical", levels=["f", "m"], missing=["?"])
    + column("works", "boolean")
    + column("age", "integer", lower=18, upper=80, bins=[18, 40, 65, 80])
    + column("kids", "integer", lower=0, upper=3)
    + column("rooms", "integer", lower=1, upper=4, missing=[-9])
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    age = rng.integers(18, 81, N)
    rooms = np.where(rng.random(N) < 0.1, -9, rng.integers(1, 5, N))
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m", "?"], N, p=[0.5, 0.4, 0.1]),
            "works": rng.random(N) < np.where(age < 65, 0.7, 0.2),
            "age": age,
            "kids": rng.binomial(3, np.where(age < 40, 0.2, 0.5)),
            "rooms": rooms,
        }
    )


def exact_table(rows, columns):
    """Counts of all cells, without noise."""
    codes = []
    for name in columns:
        declared, values = SCHEMA.columns[name], rows[name].to_numpy()
        if name == "age":
            codes.append(np.searchsorted([40, 65], values, side="right"))
        elif name == "sex":
            codes.append(np.array([["f", "m", "?"].index(value) for value in values]))
        elif name == "rooms":
            codes.append(np.where(values == -9, 4, values - 1))
        else:
            codes.append(values.astype(int))
        assert codes[-1].max() < declared.size
    sizes = [SCHEMA.columns[name].size for name in columns]
    counts = np.bincount(np.ravel_multi_index(codes, sizes), minlength=int(np.prod(sizes)))
    return NoisyCounts(counts.astype(float), np.zeros(len(counts)))


MEANS = [
    ("mean", "kids", "age >= 65", lambda t: [t.kids.mean()]),
    ("mean", "kids ~ works", "age >= 65", lambda t: t.groupby("works").kids.mean()),
    ("mean", "rooms", "works", lambda t: [t[t.rooms > 0].rooms.mean()]),
    ("mean", "kids", "sex == 'f'", lambda t: [t.kids.mean()]),
    ("mean", "log(kids)", "kids > 0", lambda t: [np.log(t.kids).mean()]),
    ("proportion", "works", "age >= 65", lambda t: [1 - t.works.mean(), t.works.mean()]),
    ("proportion", "kids > 1", "(age >= 40) & works", lambda t: [(t.kids > 1).mean()]),
    ("table", "works + kids", "age < 40", lambda t: t.groupby(["works", "kids"]).size() / len(t)),
    ("total", "kids", "works", lambda t: [t.kids.sum()]),
    ("count", "kids", "works", lambda t: t.kids.value_counts().sort_index()),
    ("count", "{kids >= 2}", "age >= 65", lambda t: [(t.kids >= 2).sum()]),
]


@pytest.mark.parametrize(("kind", "formula", "where", "truth"), MEANS)
def test_counts_without_noise_are_exact(rows, kind, formula, where, truth):
    estimand = parse(kind, f"{formula} where {where}", SCHEMA)
    found = table_estimates(estimand, exact_table(rows, estimand.columns), SCHEMA, 1)
    table = rows.to_pandas().query(where)
    np.testing.assert_allclose(found.pooled.estimate, np.asarray(truth(table), dtype=float))


def test_groups_by_a_condition_are_those_that_meet_it_and_the_others(rows):
    estimand = parse("mean", "kids ~ works + {age >= 65}", SCHEMA)
    found = table_estimates(estimand, exact_table(rows, estimand.columns), SCHEMA, 1)
    table = rows.to_pandas()
    wanted = [
        table[(table.works == works) & ((table.age >= 65) == old)].kids.mean()
        for works in (False, True)
        for old in (True, False)
    ]
    np.testing.assert_allclose(found.pooled.estimate, wanted)
    assert found.pooled.names[:2] == (
        "kids | works[false]:age >= 65",
        "kids | works[false]:not age >= 65",
    )
    alone = parse("mean", "kids ~ {age >= 65}", SCHEMA)
    assert alone.names(SCHEMA) == ("kids | age >= 65", "kids | not age >= 65")


@pytest.mark.parametrize("where", ["age >= 65", "works", "kids > 0"])
def test_a_quantile_among_some_is_exact(rows, where):
    estimand = parse("median", f"kids where {where}", SCHEMA)
    found = table_quantiles(estimand, exact_table(rows, estimand.columns), SCHEMA, 1, heavy=False)
    assert found.pooled.estimate[0] == rows.to_pandas().query(where).kids.median()


def test_records_left_out_are_those_without_a_value(rows):
    estimand = parse("mean", "rooms where works", SCHEMA)
    found = table_estimates(estimand, exact_table(rows, estimand.columns), SCHEMA, 1)
    assert found.dropped == (rows["rooms"] == -9).sum()


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("mean", "kids ~ works"),
        ("mean", "rooms"),
        ("proportion", "works"),
        ("table", "works + kids"),
        ("ols", "kids ~ age + works"),
        ("logit", "works ~ kids"),
    ],
)
def test_sets_answer_as_if_the_others_were_absent(rows, kind, formula):
    some = estimate_sets(parse(kind, f"{formula} where age >= 40", SCHEMA), [rows], SCHEMA)
    kept = [rows.filter(pl.col("age") >= 40)]
    alone = estimate_sets(parse(kind, formula, SCHEMA), kept, SCHEMA)
    np.testing.assert_allclose(some.estimates, alone.estimates)
    np.testing.assert_allclose(some.covariances, alone.covariances)


@pytest.mark.parametrize("where", ["age >= 66", "age == 40", "kids + age > 41"])
def test_a_bin_that_a_condition_cuts_is_no_part_of_an_answer(rows, where):
    estimand = parse("mean", f"kids where {where}", SCHEMA)
    with pytest.raises(UntoldError, match="One begins at"):
        table_estimates(estimand, exact_table(rows, estimand.columns), SCHEMA, 1)
    grouped = parse("mean", f"kids ~ {{{where}}}", SCHEMA)
    with pytest.raises(UntoldError):
        table_estimates(grouped, exact_table(rows, grouped.columns), SCHEMA, 1)


@pytest.mark.parametrize(
    ("kind", "formula", "said"),
    [
        (
            "ratio",
            "works ~ sex where age >= 65",
            "of all records; leave 'where age >= 65' out",
        ),
        ("mean", "kids where sex == 'x'", "has no level 'x'"),
        ("mean", "kids where height > 2", "no column or function 'height'"),
        ("mean", "kids ~ {works} + {age >= 65} + {kids > 1}", "at most one condition"),
        ("mean", "kids ~ {sex == 'x'}", "has no level 'x'"),
    ],
)
def test_what_cannot_be_asked_of_some_records_is_refused(kind, formula, said):
    with pytest.raises(InferenceError, match=said):
        parse(kind, formula, SCHEMA)


def test_a_number_is_no_condition(rows):
    estimand = parse("mean", "kids where age", SCHEMA)
    with pytest.raises(InferenceError, match="true or false, got 'age'"):
        estimate_sets(estimand, [rows], SCHEMA)


@pytest.mark.parametrize(
    ("formula", "parts"),
    [
        ("income where age >= 65", ("income", "age >= 65")),
        ("income ~ sex  where {age >= 65}", ("income ~ sex ", "age >= 65")),
        ("{job == 'where all'}", ("{job == 'where all'}", "")),
        ("`the where is` where works", ("`the where is`", "works")),
        ("income ~ where", ("income ~ where", "")),
        ("income", ("income", "")),
    ],
)
def test_a_condition_stands_behind_its_word(formula, parts):
    assert split_condition(formula, SCHEMA) == parts


def test_a_column_may_be_called_like_the_word():
    schema = us.Schema.loads(
        column("where", "categorical", levels=["a", "b"]) + column("works", "boolean")
    )
    assert parse("table", "works + where + works", schema).where == ""
    assert parse("proportion", "where where works", schema).where == "works"


def test_declared_texts_and_entries_say_the_same(tmp_path):
    path = tmp_path / "analyses.toml"
    entry = '[[analyses]]\nkind = "mean"\nformula = "kids ~ works"\nwhere = "age >= 65"\n'
    path.write_text(entry)
    text = declared_analyses(["mean kids ~ works where age >= 65"], SCHEMA)
    assert declared_analyses(path, SCHEMA) == text
    given = {"kind": "mean", "formula": "kids ~ works", "where": "age >= 65"}
    assert declared_analyses([given], SCHEMA) == text
    assert question_file(path).analyses == text
    assert text[0].estimand(SCHEMA).columns == ("works", "age", "kids")


@pytest.fixture(scope="module")
def release(rows):
    return us.synthesize(
        rows.drop("rooms"),
        us.Schema.loads(SCHEMA.dumps()).part(["sex", "works", "age", "kids"]),
        epsilon=50,
        method="laplace",
        options={"form": "dense"},
        insecure_noise_seed=2,
    )


def test_an_answer_says_of_whom_it_is(release, rows):
    answer = us.analyze(release, "mean", "kids", where="age >= 65")
    assert answer.quantity == "mean of kids where age >= 65"
    lower, upper = answer.pooled.interval()
    assert lower[0] < rows.to_pandas().query("age >= 65").kids.mean() < upper[0]
    again = us.analyze(release, "mean", "kids where age >= 65")
    assert again.pooled.estimate == answer.pooled.estimate


def test_a_condition_within_a_bin_names_one_that_is_told(release):
    with pytest.raises(InferenceError, match="take a condition such as age >= 65"):
        us.analyze(release, "mean", "kids", where="age >= 67")


def test_a_function_and_a_regression_take_no_condition(release):
    with pytest.raises(InferenceError, match="let it select its own"):
        us.analyze(release, len, "kids", where="works")


def test_the_command_takes_a_condition(release, tmp_path, capsys):
    release.save(tmp_path / "release")
    command = ["analyze", str(tmp_path / "release"), "mean", "kids", "--where", "age >= 65"]
    assert not app(command, standalone_mode=False)
    assert "kids where age >= 65" in capsys.readouterr().out


def test_thousands_of_alternatives_are_left_to_who_reads_them():
    words = " or ".join(["kids == 1"] * 3_000)
    assert join_conditions(words) == words


@pytest.mark.parametrize(
    ("words", "signs"),
    [
        ("kids > 0 and sex == 'f'", "(kids > 0) & (sex == 'f')"),
        ("age >= 65 or kids == 0 and works", "(age >= 65) | (kids == 0) & works"),
        ("kids in [1, 3]", "(kids == 1) | (kids == 3)"),
        ("sex not in ('f', 'm') and kids in [1]", "(sex != 'f') & (sex != 'm') & (kids == 1)"),
    ],
)
def test_words_join_conditions_as_their_signs_do(words, signs):
    for kind, before, behind in (
        ("proportion", "", ""),
        ("count", "{", "} ~ rooms"),
        ("mean", "rooms where ", ""),
        ("proportion", "works where {", "}"),
        ("mean", "rooms ~ {", "}"),
    ):
        told = parse(kind, f"{before}{words}{behind}", SCHEMA)
        assert told == parse(kind, f"{before}{signs}{behind}", SCHEMA)
        assert " and " not in told.expression + told.where + told.split
