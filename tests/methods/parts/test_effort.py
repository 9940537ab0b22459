"""Foretold memory and time: by hand where it is simple, and growing as the work does."""

import pytest

import understudy as us
from understudy.methods.base import EFFORT_ROWS, dense_effort, expected_rows


def schema(n_rows=50_000, d=8, head=""):
    columns = "".join(
        f'[columns.x{j}]\nkind = "integer"\nlower = 0\nupper = 39\nbins = 40\n'
        'reviewed = true\nsource = "codebook"\n'
        for j in range(d)
    )
    return us.Schema.loads((head or f'rows = "public"\nn_rows = {n_rows}\n') + columns)


def planned(method, **more):
    return us.plan(schema(**more), method=method, epsilon=1, delta="0" if more == {} else "1e-9")


def test_dense_tables_by_hand():
    assert dense_effort(10**6, 40).memory_mb == 40
    assert dense_effort(10**6, 40).seconds == pytest.approx(0.05)
    one_ways = us.plan(schema(), method="independent", epsilon=1)
    assert one_ways.memory_mb == round(40 * 8 * 41 / 1e6, 1)


def test_rows_are_declared_limited_or_assumed():
    assert expected_rows(schema(123)) == 123
    assert expected_rows(schema(head='rows = "private"\nrow_limit = 77\n')) == 77
    assert expected_rows(schema(head='rows = "private"\n')) == EFFORT_ROWS


@pytest.mark.parametrize("method", ["mst", "aim", "marginals"])
def test_more_rows_and_columns_take_longer_and_more_memory(method):
    plans = [planned(method, n_rows=n, d=d) for n, d in ((10_000, 8), (10**6, 8), (10**6, 16))]
    assert plans[0].seconds < plans[1].seconds < plans[2].seconds
    assert plans[0].memory_mb < plans[1].memory_mb < plans[2].memory_mb


def test_sets_with_a_fit_each_take_longer_and_no_more_memory():
    one, three = (
        us.plan(schema(), method="aim", epsilon=1, sets=3, options={"sets": kind})
        for kind in ("free", "split")
    )
    assert 1.5 * one.seconds < three.seconds < 3.1 * one.seconds  # noisier: fewer candidates
    assert three.memory_mb <= one.memory_mb * 1.1


def test_marginals_say_what_is_certain_to_be_merged():
    def remark(options):
        return us.plan(schema(), method="marginals", epsilon=1, options=options).remarks[0]

    assert "x0 (40)" in remark({"bins": 32})
    assert "x0" not in remark({"bins": 64})
    assert "x0" not in remark({})  # up to 48 runs
