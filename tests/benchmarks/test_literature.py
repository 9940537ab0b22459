"""What published methods are given, and what is read off their answers."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import literature
import napsu
import published_work

pytestmark = pytest.mark.whole


@pytest.fixture
def asked(monkeypatch):
    """What a package in place of BinAgg was asked; it answers least squares, without width."""
    asked = {}

    def dp_linear_regression(x, y, x_bounds, y_bounds, **options):
        asked.update(x=x, y=y, x_bounds=x_bounds, y_bounds=y_bounds, **options)
        slopes = np.linalg.lstsq(x, y, rcond=None)[0]
        return SimpleNamespace(confidence_intervals=np.column_stack([slopes, slopes]))

    package = SimpleNamespace(
        dp_linear_regression=dp_linear_regression, mu_from_eps_delta=lambda *_: 0.25
    )
    monkeypatch.setitem(sys.modules, "binagg", package)
    return asked


@pytest.mark.parametrize("name", ["linear", "own"])
def test_slopes_come_back_in_the_units_of_the_rows(asked, name):
    *_, work = published_work.WORK[name]()
    rows = work.population.people[:2_000]
    lower, upper = literature.by_binagg(work, rows, 1)
    x = rows.select(work.columns[:-1]).to_numpy().astype(float)
    if work.intercept:
        x = np.column_stack([x, np.ones(len(x))])
    expected = np.linalg.lstsq(x, rows[work.columns[-1]].to_numpy(), rcond=None)[0]
    assert lower == pytest.approx(expected[: len(lower)])
    assert (upper == lower).all()
    low, high = np.array(asked["x_bounds"]).T
    assert (asked["x"] >= low - 1e-9).all()
    assert (asked["x"] <= high + 1e-9).all()


def test_the_same_guarantee_counts_the_sums_of_all_columns(asked):
    *_, work = published_work.WORK["linear"]()
    literature.by_binagg(work, work.population.people[:500], 1, same=True)
    squares = np.array(asked["budget_ratios"], float) ** 2
    squares *= asked["mu"] ** 2 / squares.sum()  # as the package divides them
    assert squares @ [1, 1, asked["x"].shape[1], 1] == pytest.approx(0.25**2)


def test_tables_of_counts_are_analysed_like_rows():
    *_, work = published_work.WORK["cells"]()
    rows = work.population.people[:3_000]
    codes, sizes = literature._codes(work, rows)
    assert sizes == (3, 2, 2, 5)
    table = np.bincount(np.ravel_multi_index(tuple(codes), sizes), minlength=60)
    again = np.stack([table, table])
    fitted = napsu.fit("ols", *_design(codes, sizes))
    lower, upper = literature._pooled(work, sizes, again + np.eye(2, 60, dtype=int))
    assert (lower + upper) / 2 == pytest.approx(fitted[0][1:], abs=0.01)


def _design(codes, sizes):
    """Of single rows, by hand."""
    parts = [np.ones(codes.shape[1])]
    parts += [codes[k] == level for k, size in enumerate(sizes[:-1]) for level in range(1, size)]
    return np.column_stack(parts).astype(float), codes[-1].astype(float), np.ones(codes.shape[1])


def test_coverage_and_width_are_over_what_is_answered():
    held = np.array([[1.0, 0.0], [np.nan, np.nan], [1.0, 1.0]])
    widths = np.array([[1.0, 3.0], [np.nan, np.nan], [2.0, 5.0]])
    assert literature._shown(held, widths) == ("67%", "75.0% ± 25.0%", "×2.50")
    assert literature._shown(held[1:2], widths[1:2]) == ("0%", "–", "–")
