"""Which columns make a block, which model it gets, and which options do not fit."""

import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.methods.registry import configure

HEAD = {"private": "row_limit = 100", "public": 'rows = "public"\nn_rows = 30'}
REVIEWED = 'reviewed = true\nsource = "codebook"'
KINDS = {
    "yes": 'kind = "boolean"',
    "sex": 'kind = "categorical"\nlevels = ["f", "m"]\nmissing = ["?"]',
    "job": 'kind = "ordinal"\nlevels = ["a", "b", "c", "d"]',
    "age": 'kind = "integer"\nlower = 0\nupper = 99\nbins = 10',
    "children": 'kind = "integer"\nlower = 0\nupper = 9',
    "height": 'kind = "continuous"\nlower = 0\nupper = 3',
    "income": 'kind = "continuous"\nlower = -10\nupper = 100\nspikes = [0]\nmissing = [""]',
    "born": 'kind = "date"\nlower = 1900-01-01\nupper = 1999-12-31',
}


def schema(*names, rows="private"):
    columns = [f"[columns.{name}]\n{KINDS[name]}\n{REVIEWED}" for name in names]
    return us.Schema.loads("\n".join([HEAD[rows], *columns]))


def layouts(*names, rows="private", **options):
    return configure("modips", options).layouts(schema(*names, rows=rows))


def test_numbers_are_continuous_columns_and_those_with_several_values_in_each_bin():
    method = configure("modips", {})
    assert method.numbers(schema(*KINDS)) == ("age", "height", "income", "born")
    assert configure("modips", {"normal": "born, height"}).numbers(schema(*KINDS)) == (
        "height",
        "born",
    )
    assert configure("modips", {"normal": ""}).numbers(schema(*KINDS)) == ()
    assert configure("modips", {"model": "multinomial"}).numbers(schema(*KINDS)) == ()


def test_blocks_follow_the_order_of_the_schema_and_keep_within_the_cells():
    found = layouts("yes", "sex", "job", "age", "children", "income", cells=24)
    assert [one.columns for one in found] == [
        ("yes", "sex", "job", "age"),
        ("children",),
        ("income",),
    ]
    assert [one.domain.n_cells for one in found] == [24, 10, 3]
    assert [one.columns for one in layouts("yes", "job", cells=1)] == [("yes",), ("job",)]


@pytest.mark.parametrize(
    ("names", "rows", "model"),
    [
        (("yes",), "public", "bernoulli"),
        (("yes",), "private", "multinomial"),
        (("sex",), "public", "multinomial"),
        (("yes", "job"), "public", "multinomial"),
        (("height",), "private", "normal"),
        (("height", "age"), "private", "mvn"),
        (("income",), "private", "mixture"),
        (("yes", "height"), "public", "mixture"),
    ],
)
def test_each_block_gets_the_model_that_its_columns_need(names, rows, model):
    (found,) = layouts(*names, rows=rows)
    assert found.model == model


def test_a_model_can_be_insisted_on():
    assert [one.model for one in layouts("age", "height", model="normal")] == ["normal"] * 2
    assert [one.model for one in layouts("age", "height", model="mvn")] == ["mvn"]
    assert [one.model for one in layouts("age", "job", model="multinomial")] == ["multinomial"]
    assert [one.model for one in layouts("age", "job", model="mixture")] == ["mixture"]
    assert [one.model for one in layouts("yes", rows="public", model="bernoulli")] == ["bernoulli"]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (("yes",), {"model": "bernoulli"}, "public number of rows"),
        (("yes", "age"), {"model": "normal"}, "numeric columns only"),
        (("income",), {"model": "mvn"}, "without codes or spikes"),
        (("age", "height"), {"model": "mvn", "cells": 1, "normal": "age"}, "numeric columns only"),
        (("yes",), {"model": "mixture"}, "needs a normal column"),
        (("yes", "age"), {"normal": "yes"}, "no numeric column"),
        (("yes", "age"), {"normal": "nobody"}, "no numeric column"),
        (("age",), {"model": "multinomial", "normal": "age"}, "leave normal out"),
    ],
)
def test_what_does_not_fit_is_refused(names, options, message):
    with pytest.raises(MethodError, match=message):
        layouts(*names, **options)


def test_bernoulli_needs_two_levels():
    with pytest.raises(MethodError, match="two levels"):
        layouts("yes", "sex", rows="public", model="bernoulli")


def test_a_plan_says_which_blocks_are_independent():
    given = {"epsilon": 1, "method": "modips"}
    said = {"title": "Work", "unit": {"description": "a person"}}
    known = us.Schema.model_validate(schema("yes", "job").model_dump() | said)
    one = us.plan(known, **given)
    two = us.plan(known, options={"cells": 4}, **given)
    assert one.remarks == ()
    assert "yes; job" in two.remarks[0]
    assert "independently" in two.remarks[0]
