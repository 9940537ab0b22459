"""Forest plots: bars end where intervals end, and nothing that is not known is drawn."""

import itertools
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import understudy as us
from understudy.inference.analysis import Analysis
from understudy.inference.combining import Pooled
from understudy.inference.linear import Inverted
from understudy.report.results_page import forest_plot, forest_rows

Z = 1.959963984540054


def analysis(kind, estimate, stderr, share, *, names=None, bias=0.0, valid=True, squared=None):
    """An analysis with normal intervals, or inverted ones of a denominator 1."""
    estimate, stderr = np.asarray(estimate, float), np.asarray(stderr, float)
    k = len(estimate)
    names = tuple(names or (f"term {j}" for j in range(k)))
    facts = (names, estimate, np.diag(stderr**2), np.full(k, np.inf), np.asarray(share, float))
    if squared is None:
        pooled = Pooled(*facts, "moments", 1, (), np.broadcast_to(np.asarray(bias, float), (k,)))
    else:
        squared = np.asarray(squared, float)
        ones, zeros = np.ones(k), np.zeros(k)
        more = {"denominator": ones, "mixed": zeros, "squared": squared}
        pooled = Inverted(*facts, "moments", 1, (), **more)
    limits = (0.0, 1.0) if kind == "proportion" else (-math.inf, math.inf)
    return Analysis(kind, "y ~ x", pooled, valid, "why", (), (0.0,), limits=limits)


def boxes(svg, height):
    """Left and right ends of the filled boxes of a height, in points, in order."""
    found = re.findall(r'd="M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H[\d.]+z"', svg)
    return [(float(a), float(c)) for a, b, c, d in found if abs(float(b) - float(d)) == height]


def test_the_three_intervals_are_sampling_noise_and_what_bins_hide():
    (row,) = forest_rows(analysis("mean", [10.0], [2.0], [0.75], bias=1.5))
    assert row.interval == pytest.approx((10 - 2 * Z - 1.5, 10 + 2 * Z + 1.5))
    assert row.with_noise == pytest.approx((10 - 2 * Z, 10 + 2 * Z))
    assert row.sampling == pytest.approx((10 - Z, 10 + Z))  # a quarter of the variance
    assert row.binned


def test_bars_stand_on_the_scale_as_the_numbers_do():
    svg = str(forest_plot(analysis("ols", [1.0, -3.0, 2.0], [0.5, 1.0, 0.25], [0.5, 0.9, 0.0])))
    assert svg.count("no answer") == 0
    outer, inner = boxes(svg, 5)[:3], boxes(svg, 11)[:3]
    scale = (outer[0][1] - outer[0][0]) / (2 * Z * 0.5)
    for (a, b), (c, d), stderr, share in zip(
        outer, inner, (0.5, 1.0, 0.25), (0.5, 0.9, 0.0), strict=True
    ):
        assert b - a == pytest.approx(2 * Z * stderr * scale, abs=0.2)
        assert d - c == pytest.approx((b - a) * math.sqrt(1 - share), abs=0.2)
        assert (a + b) / 2 == pytest.approx((c + d) / 2, abs=0.2)
    middles = [(a + b) / 2 for a, b in outer]
    assert middles[0] - middles[1] == pytest.approx(4 * scale, abs=0.2)


def test_a_share_is_cut_to_its_range_as_in_the_table():
    (row,) = forest_rows(analysis("proportion", [0.02], [0.05], [0.5]))
    assert row.interval[0] == row.with_noise[0] == row.sampling[0] == 0.0
    (row,) = forest_rows(analysis("ols", [0.02], [0.05], [0.5]))
    assert row.interval[0] < 0


def test_what_is_not_known_is_not_drawn():
    made = analysis("mean", [1.0, np.nan, 2.0], [0.1, np.nan, 0.1], [0.5, np.nan, np.nan])
    svg = str(forest_plot(made))
    assert svg.count(">no answer<") == 1
    assert len(boxes(svg, 5)) == 2 + 1  # one in the legend
    assert len(boxes(svg, 11)) == 1 + 1
    assert "NaN" not in svg
    assert "nan" not in svg


def test_an_answer_without_numbers_is_a_picture_all_the_same():
    svg = str(forest_plot(analysis("mean", [np.nan] * 2, [np.nan] * 2, [np.nan] * 2)))
    assert svg.count(">no answer<") == 2


def test_an_endless_interval_ends_in_arrows_at_both_edges():
    made = analysis("ols", [0.4, 0.1], [0.1, 0.1], [0.5, 0.5], squared=[1.0, 0.0])
    endless, bounded = forest_rows(made)
    assert endless.interval == (-math.inf, math.inf)
    assert endless.words == "no information"
    assert endless.sampling == pytest.approx((0.4 - Z * 0.1 * 0.5**0.5, 0.4 + Z * 0.1 * 0.5**0.5))
    svg = str(forest_plot(made))
    heads = re.findall(r'd="M[\d.]+ [\d.]+L[\d.]+ [\d.]+L[\d.]+ [\d.]+"', svg)
    assert len(heads) == 2
    assert bounded.interval == pytest.approx((0.1 - Z * 0.1, 0.1 + Z * 0.1))


@pytest.mark.parametrize(("intercept", "heads"), [(1.0, 0), (500.0, 1)])
def test_an_intercept_in_other_units_does_not_dwarf_the_slopes(intercept, heads):
    names = ["Intercept", "a", "b"]
    made = analysis("ols", [intercept, 1.0, -1.0], [0.2] * 3, [0.5] * 3, names=names)
    svg = str(forest_plot(made))
    assert len(re.findall(r'd="M[\d.]+ [\d.]+L[\d.]+ [\d.]+L[\d.]+ [\d.]+"', svg)) == heads
    widest = max(b - a for a, b in boxes(svg, 5))
    assert widest > 40  # of 300 points


@pytest.mark.parametrize("kind", ["ols", "logit", "correlation"])
def test_models_are_read_against_zero_and_means_are_not(kind):
    far = [1000.0, 1001.0], [0.1, 0.1], [0.5, 0.5]
    assert ">0<" in str(forest_plot(analysis(kind, *far)))
    assert ">0<" not in str(forest_plot(analysis("mean", *far)))


@pytest.mark.parametrize("n", [1, 60])
def test_rows_lie_below_one_another_within_the_picture(n):
    names = [f"region = {'a very long name of a place ' * (k % 4)}{k}" for k in range(n)]
    made = analysis("mean", np.linspace(0, 1, n), [0.1] * n, [0.5] * n, names=names)
    root = ET.fromstring(us.plot(made))
    height, width = float(root.get("height")), float(root.get("width"))
    texts = root.findall("{http://www.w3.org/2000/svg}text")
    places = [float(one.get("y")) for one in texts]
    assert max(places) < height
    assert all(0 <= float(one.get("x")) <= width for one in texts)
    left = [
        float(one.get("y")) for one in texts if "start" in one.get("class") and one.get("x") == "4"
    ]
    assert all(b - a >= 13 for a, b in itertools.pairwise(left))


def test_a_file_brings_its_colours_and_asks_nothing_of_the_network():
    text = us.plot(analysis("ols", [1.0], [0.5], [0.5], names=["<b>&</b>"]))
    root = ET.fromstring(text)
    used = set(re.findall(r"var\((--[\w-]+)\)", text))
    assert used <= set(re.findall(r"(--[\w-]+):", text))
    assert "prefers-color-scheme: dark" in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert "url(" not in text
    assert "script" not in text
    assert any(one.text == "<b>&</b>" for one in root.iter())
    assert text == us.plot(analysis("ols", [1.0], [0.5], [0.5], names=["<b>&</b>"]))


def test_what_is_not_valid_is_stamped():
    assert "NOT VALID: ols of y ~ x" in us.plot(analysis("ols", [1.0], [0.5], [0.5], valid=False))
    assert "NOT VALID" not in us.plot(analysis("ols", [1.0], [0.5], [0.5]))
