"""What the public page and `show` list is answered, and what they call refused is refused.

Every listed question is put to `analyze`, on releases with and without second moments of all
columns, with declared analyses, δ of 0, numbers beyond their bounds and records against a rule.
Seeds are fixed.
"""

import html
import re
import shlex
from functools import cache

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.cli.render import answers_table
from understudy.errors import InferenceError
from understudy.inference.analysis import WIDEST, answer_counts
from understudy.inference.answered_questions import MOST_ASKED, answered_kinds
from understudy.report.public_page import public_page

pytestmark = pytest.mark.whole

COLUMNS = (
    column("sex", "categorical", levels=["f", "m"])
    + column("region", "categorical", levels=["a", "b", "c"])
    + column("works", "boolean")
    + column("pay", "integer", lower=0, upper=100, bins=[0, 10, 20, 40, 100], spikes=[0])
    + column("age", "integer", lower=18, upper=80, bins=[18, 40, 60, 80], missing=[-1])
    + column("height", "continuous", lower=100, upper=220, decimals=0, bins=6)
)
RULE = """
[[forbidden]]
where = { works = false, pay = { lower = 10, upper = 100 } }
reviewed = true
"""
REQUESTS = {
    "layer": {"delta": "1e-6"},
    "no layer": {"delta": "1e-6", "budget": {"layer": 0, "answers": 0}},
    "declared": {"delta": "1e-6", "analyses": ["ols pay ~ age + sex", "mean height ~ region"]},
    "pure": {"delta": 0},
    "beyond": {"delta": "1e-6"},
    "rule": {"delta": "1e-6"},
    "few": {"delta": "1e-6", "epsilon": "0.5"},
    "wide": {"delta": "1e-6", "epsilon": "0.3"},
}


@cache
def release(name):
    rng, n = np.random.default_rng(4), 400 if name == "few" else 5_000
    works = rng.random(n) < 0.6
    pay = np.where(works, np.clip(rng.gamma(4, 6, n), 10, 100), 0).round()
    if name == "beyond":
        pay = np.where(works & (rng.random(n) < 0.3), 180, pay)
    if name == "rule":
        pay = np.where(~works & (rng.random(n) < 0.3), 35, pay)
    rows = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["a", "b", "c"], n),
            "works": works,
            "pay": pay.astype(int),
            "age": np.where(rng.random(n) < 0.05, -1, rng.integers(18, 81, n)),
            "height": rng.normal(170, 10, n).round(),
        }
    )
    schema = us.Schema.loads(COLUMNS + RULE * (name == "rule"))
    return us.synthesize(rows, schema, **{"epsilon": 3, "insecure_noise_seed": 2} | REQUESTS[name])


each_request = pytest.mark.parametrize(
    "name",
    [
        name if name == "declared" else pytest.param(name, marks=pytest.mark.nightly)
        for name in REQUESTS
    ],
)


@cache
def asked(name):
    return answered_kinds(release(name))


@each_request
def test_what_is_listed_is_answered_and_the_rest_refused(name):
    made = release(name)
    for kind in asked(name):
        for one in kind.answered.values():
            found = us.analyze(made, one.kind, one.formula)
            assert found.valid, one
            assert answer_counts(found.pooled, expected=True), one
        for one in kind.refused.values():
            with pytest.raises(InferenceError):
                us.analyze(made, one.kind, one.formula)


def answered(name, kind, columns):
    one = next(one for one in asked(name) if one.kind.kind == kind and one.kind.between.strip())
    return {frozenset(two) for two in one.answered} & {frozenset(columns)}


@pytest.mark.nightly
def test_correlations_of_numbers_beyond_their_bounds_are_of_numbers_that_are_cut_off():
    """And promised as those of the same columns where nothing lies beyond."""
    made = release("beyond")
    for two in (("pay", "age"), ("pay", "height")):
        assert answered("layer", "correlation", two)
        assert answered("beyond", "correlation", two)
        assert "pay" in us.analyze(made, "correlation", " + ".join(two)).cut_off
    assert "pay" not in us.analyze(made, "correlation", "age + height").cut_off
    for name in ("layer", "beyond"):
        assert "Error bars for 3 pairs of columns." in public_page(release(name))


@each_request
def test_every_command_on_the_page_and_every_name_in_show_is_answered(name):
    """Of those on the page that are not listed, which the test above asks, each is asked."""
    made = release(name)
    kinds = {one.kind.question: one for one in asked(name)}
    told = [one for each in kinds.values() for one in each.answered.values()]
    known = {*(f"{one.kind} {one.formula}" for one in told), *REQUESTS[name].get("analyses", ())}
    commands = re.findall(r"understudy analyze release [^<\n]+", html.unescape(public_page(made)))
    assert commands
    for command in commands:
        *_, kind, formula = shlex.split(command)
        if f"{kind} {formula}" not in known:
            assert us.analyze(made, kind, formula).valid, command
    table = answers_table(made)
    for question, cell in zip(table.columns[0].cells, table.columns[1].cells, strict=True):
        _, _, names = str(cell).partition("\n")
        listed = {f"{one.kind} {one.formula}" for one in kinds[question].answered.values()}
        assert set(names.removesuffix(" …").replace("\\[", "[").split(", ")) - {""} <= listed


def test_what_is_valid_and_too_wide_is_listed_apart():
    """A small budget: pairs of many cells tell nothing that the rows would not by far."""
    kinds = {one.kind.question: one for one in asked("wide")}
    tables = kinds["Two-way tables"]
    assert tables.wide
    assert not set(tables.wide) & {*tables.answered, *tables.refused, *tables.kind.found.widths}
    for two in tables.wide:
        found = us.analyze(release("wide"), "table", " + ".join(two))
        lower, upper = found.pooled.interval()
        sampling = found.pooled.stderr * np.sqrt(1 - found.pooled.synthesis_share)
        assert np.median((upper - lower) / 2 / 1.96 / sampling) > WIDEST
    page = html.unescape(public_page(release("wide")))
    assert re.search(rf"{len(tables.wide)} more (has an interval|have intervals) too wide", page)
    cells = answers_table(release("wide")).columns[1].cells
    assert any(f"{len(tables.wide)} too wide to count" in str(cell) for cell in cells)


def test_of_many_pairs_only_so_many_are_asked_and_said_to_be():
    names = [f"c{k}" for k in range(8)]
    schema = us.Schema.loads("".join(column(name, "boolean") for name in names))
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({name: rng.random(2_000) < 0.5 for name in names})
    how = {"delta": "1e-6", "method": "independent", "budget": {"answers": "0.3"}}
    made = us.synthesize(rows, schema, epsilon=3, insecure_noise_seed=1, **how)
    linear = next(one for one in answered_kinds(made) if one.kind.kind == "ols")
    assert linear.asked == MOST_ASKED
    assert not linear.is_complete
    said = f"{MOST_ASKED} of {MOST_ASKED} pairs of columns that were asked about, out of 28"
    assert said in public_page(made)
