"""Claims: what can be read, as what it is put to votes, and that nothing of it is ever run."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.data.table import Table
from understudy.dp.budget import Budget
from understudy.dp.randomness import SeededRandomness
from understudy.errors import InferenceError
from understudy.features.design import Computed, LevelValues
from understudy.inference.verdict import LONGEST, read_claim
from understudy.workflow.gates import open_gate

SCHEMA = us.Schema.loads(
    "\n".join(
        [
            column("income", "continuous", lower=0, upper=9),
            column("age", "integer", lower=0, upper=99),
            column("sex", "categorical", levels=["f", "m", "x"]),
            column("grade", "ordinal", levels=[1, 2, 5]),
            column("works", "boolean"),
            '[columns."body mass"]\nkind = "continuous"\nlower = 0\nupper = 9\nreviewed = true\n',
            column("double", "continuous", lower=0, upper=18, derived="income * 2"),
            column("old", "boolean", derived="age >= 65"),
            column("band", "ordinal", levels=["a", "b"], derived="cut(age, 30)"),
        ]
    )
)
M = LevelValues("sex", (0.0, 1.0, 0.0))
X = LevelValues("sex", (0.0, 0.0, 1.0))
INCOME, AGE = Computed("`income`"), Computed("`age`")
READ = {
    "mean income > 3": ("mean", (INCOME,), (), 3, True),
    " mean  income / age<-3e-2 ": ("mean", (Computed("income / age"),), (), -0.03, False),
    "mean log(income + 1) > 1": ("mean", (Computed("income + 1", log=True),), (), 1, True),
    "mean `body mass` > 2": ("mean", (Computed("`body mass`"),), (), 2, True),
    "mean works > 0.5": ("mean", (LevelValues("works", (0.0, 1.0)),), (), 0.5, True),
    "mean grade > 2": ("mean", (LevelValues("grade", (1.0, 2.0, 5.0)),), (), 2, True),
    "mean double > 3": ("mean", (Computed("income * 2"),), (), 3, True),
    "share works > .2": ("share", (LevelValues("works", (0.0, 1.0)),), (), 0.2, True),
    "share sex = m < 0.5": ("share", (M,), (), 0.5, False),
    "share grade = 5 < 0.5": ("share", (LevelValues("grade", (0.0, 0.0, 1.0)),), (), 0.5, False),
    "proportion income > 3 > 0.2": ("share", (Computed("income > 3"),), (), 0.2, True),
    "share sex == 'm' > 0.2": ("share", (Computed("sex == 'm'"),), (), 0.2, True),
    "share old > 0.2": ("share", (Computed("age >= 65"),), (), 0.2, True),
    "median income > 3": ("share", (Computed("(`income`) <= 3.0"),), (), 0.5, False),
    "quantile 0.9 age < 60": ("share", (Computed("(`age`) <= 60.0"),), (), 0.9, True),
    "median grade < 2": ("share", (LevelValues("grade", (1.0, 1.0, 0.0)),), (), 0.5, True),
    "correlation income + age > 0.3": ("correlation", (INCOME,), ((AGE,),), 0.3, True),
    "ols income ~ age: age > 0": ("ols", (INCOME,), ((), (AGE,)), 0, True),
    "ols income ~ 0 + age + sex: sex[f] < 1": (
        "ols",
        (INCOME,),
        ((M,), (X,), (AGE,), (LevelValues("sex", (1.0, 0.0, 0.0)),)),
        1,
        False,
    ),
    "ols income ~ age + C(sex) + age:C(sex): age:C(sex)[T.m] > 0": (
        "ols",
        (INCOME,),
        ((), (M,), (X,), (AGE,), (AGE, X), (AGE, M)),
        0,
        True,
    ),
    'logit works ~ {sex == "m"} + age: sex == "m" > 0': (
        "logit",
        (LevelValues("works", (0.0, 1.0)),),
        ((), (AGE,), (Computed("sex == 'm'"),)),
        0,
        True,
    ),
    "logit {income > 3} ~ log(age + 1) + works: log(age + 1) < 0": (
        "logit",
        (Computed("income > 3"),),
        ((), (LevelValues("works", (0.0, 1.0)),), (Computed("age + 1", log=True),)),
        0,
        False,
    ),
}


@pytest.mark.parametrize("text", READ)
def test_a_claim_is_read(text):
    found = read_claim(text, SCHEMA)
    kind, outcome, design, border, above = READ[text]
    assert (found.votes, found.outcome, found.border) == (kind, outcome, pytest.approx(border))
    assert found.above == above
    assert set(found.design[:-1]) == set(design[:-1])
    assert found.design[-1:] == design[-1:]
    assert found.text == text.strip()


REFUSED = {
    "": "ends with > or <",
    "mean income": "ends with > or <",
    "mean income > lots": "ends with > or <",
    "mean income > inf": "ends with > or <",
    "mean income >= 3": "ends with > or <",
    "mean > 3": "ends with > or <",
    "total income > 3": "claims are about mean, share",
    "poisson age ~ income: income > 0": "claims are about",
    "mean incom > 3": "did you mean 'income'",
    "mean sex > 3": "has levels",
    "mean income ~ sex > 3": "not about groups",
    "mean C(sex) > 3": "something else",
    "mean band > 3": "derived",
    "share income > 0.2": "not true or false",
    "share sex > 0.2": "has levels",
    "share sex = q > 0.2": "no level 'q'",
    "share age = 3 > 0.2": "write such as 'age == 3'",
    "share works > 1.5": "between 0 and 1",
    "quantile income > 3": "probability in front",
    "median 0.3 income > 3": "probability in front",
    "median log(income) > 3": "keeps the order",
    "correlation income > 0.3": "of two",
    "correlation income + age > 2": "between -1 and 1",
    "correlation (income + age)**9 > 0": "not plain enough",
    "ols income ~ age > 0": "which coefficient",
    "ols income ~ age: ages > 0": "did you mean 'age'",
    "ols income ~ age: Intercept > 0": "An intercept",
    "ols income: age > 0": "outcome and predictors",
    "ols sex ~ age: age > 0": "has levels",
    "ols income ~ 1: Intercept > 0": "no predictor",
    "logit income ~ age: age > 0": "not true or false",
    "ols income ~ age * sex: age > 0": "not plain enough",
    "ols income ~ (age + works)**20: age > 0": "not plain enough",
    "ols income ~ age | sex: age > 0": "not plain enough",
    "ols income ~ age ~ sex: age > 0": "not plain enough",
    "ols income ~ 3:age: age > 0": "not plain enough",
    "ols income ~ poly(age, 3): poly(age, 3)[1] > 0": "holds something else",
    "ols income ~ scale(age): scale(age) > 0": "holds something else",
    "ols income ~ C(sex, contr.sum): C(sex, contr.sum)[S.f] > 0": "C() of a column",
    "ols income ~ C(age): C(age)[T.1.0] > 0": "C() of a column",
    "ols income ~ age + band: age > 0": "derived",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_claimed_is_refused_in_a_sentence(text):
    with pytest.raises(InferenceError) as refused:
        read_claim(text, SCHEMA)
    assert REFUSED[text] in str(refused.value)
    assert "\n" not in str(refused.value)


CODE = [
    "np.load('x')",
    "{np.fromfile('x')}",
    "{age.tofile('x')}",
    "{[open('x', 'w') for _ in (1,)]}",
    "{(lambda: open('x', 'w'))()}",
    "{age.__class__}",
    "log(open('x', 'w'))",
    "C(open('x', 'w'))",
    "log(log(age))",
    "{9**9**9**9**9**9 > open('x', 'w')}",
    "{" + "(" * 400 + "age" + ")" * 400 + "}",
    "`age` if open('x', 'w') else `age`",
    " + ".join(["age:income:works"] * 55) + " + open('x', 'w')",
]


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
@pytest.mark.parametrize("form", ["mean {} > 0", "ols income ~ age + {}: age > 0", "share {} > .5"])
def test_nothing_of_a_claim_is_ever_run(code, form, tmp_path, monkeypatch):
    """Claim: what stands in a claim is taken apart, and refused where it is no plain expression."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InferenceError):
        read_claim(form.format(code), SCHEMA)
    assert not list(tmp_path.iterdir())


def test_a_long_claim_and_other_things_than_text_are_refused():
    with pytest.raises(InferenceError, match="1,000 characters"):
        read_claim("mean income + " + "1 + " * LONGEST + "1 > 3", SCHEMA)
    for thing in (None, 3, b"mean income > 3", ["mean income > 3"]):
        with pytest.raises(InferenceError, match="claim must be text"):
            read_claim(thing, SCHEMA)


class Lies(str):
    def __len__(self):
        return 1

    def strip(self, *_):
        return "mean age > 9"


def test_a_text_that_lies_is_read_as_what_it_is():
    found = read_claim(Lies("mean income > 3"), SCHEMA)
    assert (found.text, type(found.text)) == ("mean income > 3", str)
    with pytest.raises(InferenceError, match="1,000"):
        read_claim(Lies("mean income > 3" + " " * LONGEST), SCHEMA)


def test_terms_are_what_formulas_make_of_records():
    """An interaction, on rows, beside a design that was laid out by hand."""
    rows = pl.DataFrame(
        {
            "income": [1.0, 2.0, 99.0, None],
            "age": [10, 20, 30, 40],
            "sex": ["f", "m", "x", "m"],
            "grade": [1, 2, 5, 1],
            "works": [True, False, True, True],
            "body mass": [1.0, 2.0, 3.0, 4.0],
        }
    )
    claim = read_claim("ols double ~ `body mass` + sex + grade:sex + old: grade:sex[m] > 0", SCHEMA)
    schema = SCHEMA.part(claim.columns)
    gate = open_gate(Table(rows, schema), Budget.of(1), SeededRandomness(1))
    outcome, design = claim.put_to(3).records(gate._rows.numbers())
    assert outcome[:3].tolist() == [2, 4, 18]
    assert np.isnan(outcome[3])
    beside = {(1, 1, 1), (1, 2, 3), (0, 1, 0), (0, 0, 1), (0, 0, 0)}
    by_hand = beside | {(1, 0, 0), (0, 2, 0), (0, 0, 5)}
    assert {tuple(own) for own in design[:3].T.tolist()} == by_hand
    assert design[:3, -1].tolist() == [0, 2, 0]
    assert claim.notes
