"""Keys of columns: declared, or the foremost of an order."""

from __future__ import annotations

import pytest

import understudy as us
from understudy.errors import MethodError
from understudy.papers.pegs_tables import declared_keys, foremost_keys, gibbs_sweep


def schema() -> us.Schema:
    columns = [
        f'[columns.{name}]\nkind = "categorical"\nlevels = {[str(k) for k in range(size)]}\n'
        'reviewed = true\nsource = "codebook"\n'
        for name, size in (("age", 5), ("sex", 2), ("job", 3), ("zip", 40))
    ]
    return us.Schema.loads("".join(columns))


def test_foremost_columns_are_taken_until_the_limit() -> None:
    found = foremost_keys(schema(), ("job", "zip"), 30)
    # Behind job comes zip, with which there would be 120 keys: it ends the key.
    assert found == {"age": ("job",), "sex": ("job",), "job": (), "zip": ("job", "age", "sex")}


def test_without_an_order_that_of_the_schema_counts() -> None:
    assert foremost_keys(schema(), (), 10)["job"] == ("age", "sex")


def test_declared_keys_are_read() -> None:
    found = declared_keys(schema(), ("job<-age & sex", "age <- job", "zip"))
    assert found == {"job": ("age", "sex"), "age": ("job",), "zip": ()}


@pytest.mark.parametrize("entries", [("job<-pay",), ("pay<-job",), ("job<-age", "job<-sex")])
def test_what_cannot_be_read_is_refused(entries: tuple[str, ...]) -> None:
    with pytest.raises(MethodError, match="The option keys"):
        declared_keys(schema(), entries)


@pytest.mark.parametrize("order", [("pay",), ("job", "job")])
def test_orders_that_are_none_are_refused(order: tuple[str, ...]) -> None:
    with pytest.raises(MethodError, match="The option order"):
        foremost_keys(schema(), order, 10)


def test_keys_and_order_exclude_each_other() -> None:
    with pytest.raises(MethodError, match="leave one of them out"):
        gibbs_sweep(schema(), ("job<-age",), ("age",), 10)
