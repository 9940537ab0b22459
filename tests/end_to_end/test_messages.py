"""Sentences for people who made a mistake that many make: each says what to write instead."""

import sys

import pytest
import typer

import understudy as us
from understudy.cli.app import app
from understudy.errors import InferenceError, MethodError
from understudy.inference.formulas import unknown
from understudy.inference.question import KINDS, parse
from understudy.schema import Schema

SCHEMA = Schema.loads("""
[[defaults]]
columns = ["*"]
source = "law"
reviewed = true
[columns.income]
kind = "integer"
lower = 0
upper = 9
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
""")


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("Medians", "Did you mean 'median'?"),
        ("average", "Did you mean 'mean'?"),
        ("sum", "Did you mean 'total'?"),
        ("percentage", "Did you mean 'proportion'?"),
        ("logistic regression", "Did you mean 'logit'?"),
        ("meen", "Did you mean 'mean'?"),
        ("xyz", ""),
    ],
)
def test_a_kind_of_another_name_is_said_by_ours(kind, meant):
    with pytest.raises(InferenceError) as caught:
        parse(kind, "income", SCHEMA)
    said = str(caught.value)
    assert meant in said
    assert meant or said.endswith(f"got {kind!r}.")
    assert not any(f"Did you mean {one!r}" in said for one in KINDS if one not in meant)


@pytest.mark.parametrize("name", ["n", "p", "nb", "Cq"])
def test_no_short_name_is_taken_for_a_function_or_a_library(name):
    assert "did you mean" not in unknown(name, ["income", "sex"])


def test_a_column_is_meant_sooner_than_a_function():
    assert "did you mean 'scale_1'" in unknown("scale1", ["scale_1", "sex"])
    assert "did you mean 'poly'" in unknown("polyy", ["income", "sex"])


@pytest.mark.parametrize("epsilon", [1000, 21, 0.0001, "0.009"])
def test_a_budget_that_is_rather_mistyped_is_planned_with_a_remark(epsilon):
    said = [one for one in us.plan(SCHEMA, epsilon=epsilon).remarks if one.startswith("ε = ")]
    assert len(said) == 1
    assert "is meant" in said[0]


@pytest.mark.parametrize("epsilon", [20, 1, "0.01"])
def test_usual_budgets_are_planned_without_one(epsilon):
    assert not any(one.startswith("ε = ") for one in us.plan(SCHEMA, epsilon=epsilon).remarks)


def test_a_workbook_asks_for_the_library_of_workbooks(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(MethodError, match=r"A workbook needs fastexcel, which is not .*'files'"):
        us.check(tmp_path / "a.xlsx", SCHEMA)


def described(command):
    """Every text of the help of a command and of those below it."""
    yield command.help or ""
    for one in command.params:
        yield getattr(one, "help", None) or ""
    for below in getattr(command, "commands", {}).values():
        yield from described(below)


def test_no_help_has_brackets_that_the_terminal_takes_for_markup():
    """Claim: what stands in brackets would vanish, as [[analyses]] did."""
    texts = list(described(typer.main.get_command(app)))
    assert len(texts) > 100
    assert not [text for text in texts if "[" in text]
