"""Refusals: every piece of advice is followed, and the same question is then answered.

Over a grid of methods and questions on a small table. Seeds are fixed, so a run is the same each
time; what is advised for models is a least ε at which few misplaced records are expected, which
another seed may miss.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from plain_refusals import require_plain
from understudy.inference.refusals import EPSILONS, RefusedError

COLUMNS = {
    "sex": 'kind = "categorical"\nlevels = ["f", "m"]',
    "kids": 'kind = "integer"\nlower = 0\nupper = 4\nmissing = [-1]',
    "job": 'kind = "ordinal"\nlevels = ["a", "b", "c"]',
    "income": 'kind = "continuous"\nlower = 0\nupper = 100\nbins = 5\nspikes = [0]\ndecimals = 0',
}
LEVELS = {"income": f'kind = "ordinal"\nlevels = {list(range(101))}'}
RULE = '[[forbidden]]\nwhere = { sex = "f", job = "c" }\nreviewed = true\n'
N = 800


def schema_of(columns=tuple(COLUMNS), rule=True, levels=()):
    declared = COLUMNS | {name: LEVELS[name] for name in levels}
    entries = [f"[columns.{name}]\n{declared[name]}\nreviewed = true\n" for name in columns]
    ruled = rule and {"sex", "job"} <= set(columns)
    return us.Schema.loads("\n".join([*entries, RULE if ruled else ""]))


@cache
def rows():
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], N)
    job = np.where(sex == "f", rng.choice(["a", "b"], N), rng.choice(["a", "b", "c"], N))
    kids = np.minimum(rng.poisson(1 + (job == "b")), 4)
    income = np.where(kids == 0, 0, np.minimum(rng.gamma(2, 10, N) + 5 * kids, 100)).round()
    kids = np.where(rng.random(N) < 0.05, -1, kids)
    return pl.DataFrame({"sex": sex, "kids": kids, "job": job, "income": income})


METHODS = {
    "laplace": {},
    "laplace lazy": {"form": "lazy", "sets": "split"},
    "laplace split": {"sets": "split"},
    "independent": {},
    "mst": {},
    "marginals": {},
    "aim": {},
    "privbayes": {},
    "modips": {},
    "steps": {},
    "empirical-cdf": {"sets": "split"},
    "dirichlet": {},
    "pegs-tables": {},
    "perturbed-imputation": {},
    "universal-histogram": {},
}


@cache
def release(name, epsilon="1"):
    return us.synthesize(
        rows(),
        schema_of(),
        epsilon=epsilon,
        method=name.split()[0],
        sets=3,
        options=METHODS[name],
        insecure_noise_seed=5,
    )


def mean_income(frame):
    return {"income": frame["income"].mean()}, [frame["income"].var() / len(frame)]


QUESTIONS = [
    ("mean", "income"),
    ("mean", "income ~ job"),
    ("proportion", "kids"),
    ("proportion", "income > 20 ~ sex"),
    ("table", "sex + kids"),
    ("total", "job"),
    ("total", "income ~ sex"),
    ("quantile", "income"),
    ("quantile", "kids ~ job"),
    ("ols", "income ~ kids"),
    ("ols", "income ~ sex + kids"),
    ("correlation", "income + kids"),
    ("ratio", "income ~ sex"),
    ("standardised-difference", "income ~ sex"),
    ("proportion", "job ~ sex"),
    ("odds-ratio", "sex + {kids >= 2}"),
    ("independence", "sex + kids"),
    ("logit", "sex ~ kids"),
    ("poisson", "kids ~ sex"),
    (mean_income, "income"),
]


def refused(made, kind, formula, **more):
    """The refusal; None if the question is answered."""
    try:
        found = us.analyze(made, kind, formula, **more)
    except RefusedError as error:
        return error
    assert found.valid
    return None


FOLLOWED = {}
"""Answers by advice and question: many refusals say the same, and seeds are fixed."""


def follow(advice, kind, formula, made):
    """Do what a refusal says, and ask again."""
    if advice.kind == "rules":
        return [us.analyze(made, kind, formula)]
    if advice.kind == "declare":
        assert advice.analysis == f"{kind} {formula}"
    key = repr(replace(advice, half_width=0.0)), kind, formula
    if key not in FOLLOWED:
        FOLLOWED[key] = [us.analyze(one, kind, formula) for one in releases_by(advice)]
    if advice.half_width:
        low, high = FOLLOWED[key][0].pooled.interval()
        assert 0.3 < np.nanmedian(high - low) / 2 / advice.half_width < 3, (kind, formula)
    return FOLLOWED[key]


def releases_by(advice):
    """What an advice says to make."""
    if advice.kind == "declare":
        budget = {"epsilon": advice.epsilon, "delta": advice.delta}
        return [
            us.synthesize(
                rows(), schema_of(), analyses=[advice.analysis], insecure_noise_seed=9, **budget
            )
        ]
    narrow = schema_of(advice.columns, levels=advice.levels)
    assert f"--method {advice.method}" in advice.command
    arguments = {"method": advice.method, "sets": advice.sets, "options": advice.options}
    table = rows().select(advice.columns)
    epsilons = (advice.epsilon, *(("0.1",) if advice.sets == 1 else ()))
    return [
        us.synthesize(table, narrow, epsilon=epsilon, insecure_noise_seed=9, **arguments)
        for epsilon in epsilons
    ]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.nightly(every=16)
def test_advice_is_followed_and_then_the_question_is_answered(name):
    made = release(name)
    for kind, formula in QUESTIONS if NIGHT else QUESTIONS[1::3]:
        error = refused(made, kind, formula)
        if error is None:
            continue
        text = str(error)
        require_plain(error)
        assert error.advice is not None, (kind, formula, text)
        assert error.advice.text == text.splitlines()[2]
        for answer in follow(error.advice, kind, formula, made):
            assert answer.valid, (kind, formula)
        for other in error.instead:
            assert f'"{other}"' in text
            assert us.analyze(made, *other.split(" ", 1)).valid, other


@pytest.mark.parametrize("name", ["laplace", "independent", "modips", "dirichlet", "marginals"])
@pytest.mark.nightly(every=5)
def test_advice_of_a_bootstrap_is_followed(name):
    """What it refuses before it runs anything: columns apart, totals, quantiles, no model."""
    made = release(name)
    for kind, formula in QUESTIONS:
        early = kind in {"total", "quantile"} or name in {"independent", "modips", "dirichlet"}
        if not early:
            continue
        error = refused(made, kind, formula, uncertainty="bootstrap", repeats=39)
        if error is not None:
            require_plain(error)
            if kind in {
                "correlation",
                "standardised-difference",
                "ratio",
            }:  # of which sets have none
                assert error.code == "not-measured"
                continue
            assert error.advice is not None
            assert all(one.valid for one in follow(error.advice, kind, formula, made))


@pytest.mark.nightly
def test_nothing_is_advised_where_nothing_is_known_to_help():
    """A table of two columns of 2,000 values each is never written out, at any ε.

    Second moments have a line through their numbers, and not its logarithm.
    """
    wide = "\n".join(
        f'[columns.{name}]\nkind = "integer"\nlower = 0\nupper = 1999\nbins = 2000\nreviewed = true'
        for name in "ab"
    )
    rng = np.random.default_rng(1)
    table = pl.DataFrame({name: rng.integers(0, 2000, 500) for name in "ab"})
    made = us.synthesize(
        table, us.Schema.loads(wide), epsilon=1, method="independent", insecure_noise_seed=1
    )
    assert refused(made, "ols", "a ~ b").advice.kind == "declare"
    error = refused(made, "ols", "np.sqrt(a) ~ b")
    assert error is not None
    assert error.advice is None
    assert str(error).endswith("No request to the publisher is known to help.")


def test_no_refusal_advises_what_was_not_tried():
    """Split sets of a table with many cells were refused for misplaced records in their turn."""
    error = refused(release("laplace", "0.05"), "ols", "np.sqrt(income) ~ sex + kids")
    assert error is not None
    assert "sets=split" in str(error)
    assert EPSILONS.index(error.advice.epsilon) > EPSILONS.index("1")
    for words in ("larger epsilon", "coarser"):
        assert words not in str(error)


def test_a_mean_that_does_not_vary_is_answered_from_counts():
    """Sets of equal records have no error and say so; the advised release bounds what is unseen."""
    table = rows().with_columns(kids=pl.lit(2))
    lazy = us.synthesize(
        table,
        schema_of(),
        epsilon=400,
        method="laplace",
        sets=3,
        options={"form": "lazy", "sets": "split"},
        insecure_noise_seed=1,
    )
    error = refused(lazy, "mean", "kids")
    assert error is not None
    assert "do not vary" in str(error)
    advised = error.advice
    dense = us.synthesize(
        table.select(advised.columns),
        schema_of(advised.columns),
        epsilon=400,
        method=advised.method,
        sets=advised.sets,
        options=advised.options,
        insecure_noise_seed=1,
    )
    found = us.analyze(dense, "mean", "kids")
    low, high = found.pooled.interval()
    assert found.valid
    assert low[0] < 2 < high[0] < 2.1


@pytest.mark.parametrize(("kind", "formula"), [("proportion", "kids"), ("table", "sex + job")])
def test_no_share_has_an_interval_without_width(kind, formula):
    """A level that nobody has, and one that all have, where there is no noise to speak of."""
    table = rows().with_columns(kids=pl.lit(2), job=pl.lit("a"))
    for options in ({"form": "dense"}, {"form": "lazy", "sets": "split"}):
        made = us.synthesize(
            table, schema_of(), epsilon=400, method="laplace", sets=3, options=options,
            insecure_noise_seed=1,
        )  # fmt: skip
        found = us.analyze(made, kind, formula)
        low, high = found.pooled.interval()
        impossible = np.array([name == "sex[f]:job[c]" for name in found.pooled.names])
        assert ((high - low)[~impossible] > 3 / N).all()
        assert ((high - low)[~impossible] < 0.1).all()
