"""The page of a map: its stamp, its figures, and that nothing in it is taken for markup."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from understudy.evaluate.tradeoff import LEAK, PUBLIC, Interval, budget_axis, linear_axis, loss_axis
from understudy.evaluate.tradeoff_page import Drawing, colour_of, outline, page, place_labels


def test_a_page_of_confidential_rows_is_stamped_and_warns(made):
    text = page(made())
    assert '<p class="stamp" role="note"><strong>Internal</strong>' in text
    assert "internal: compares with confidential data, not for release</title>" in text
    assert text.count("leak outside ε") == 2
    assert PUBLIC not in text
    assert "last year" in LEAK


def test_a_page_of_public_rows_says_so_and_is_not_stamped(made):
    text = page(made(public=True))
    assert text.count(PUBLIC) == 2
    assert 'class="stamp"' not in text
    assert "leak outside" not in text


@pytest.mark.parametrize("risk", ["epsilon", "attribute"])
def test_one_figure_for_each_loss_and_every_number_in_the_table(risk, made):
    found = made(risk)
    text = page(found)
    assert text.count("<figure>") == 2
    body = text[text.index('id="figures"') : text.index('id="methods"')]
    assert len(re.findall(r"<tr[ >]", body)) == 1 + len(found.points)
    assert body.count("0.15 ± 0.01") == 2
    assert ("0.03 ± 0.005" in body) == (risk == "attribute")


def test_a_refusal_stands_in_the_table(made):
    text = page(made(refused="The table has <many> cells."))
    assert "refused: The table has &lt;many&gt; cells." in text


def test_nothing_is_taken_for_markup_and_nothing_is_asked_of_the_network(made):
    text = page(made())
    for planted in ("<b>", "<i>", "<u>"):
        assert planted not in text
        assert planted.replace("<", "&lt;").replace(">", "&gt;") in text
    assert not re.search(r"(?:src|href)=\"(?!#)|url\(|<script", text)


def test_the_same_map_gives_the_same_page(made):
    assert page(made("membership")) == page(made("membership"))


def test_every_point_has_a_marker_that_names_it(made):
    drawn = str(Drawing(made("attribute"), "two-way").svg("label"))
    titles = re.findall(r"<title>(.*?)</title>", drawn)
    assert len(titles) == 7
    assert titles[0] == "first, ε = 0.1: loss 0.3 ± 0.01; risk 0 ± 0.005"
    assert re.search(r">no ε</text>", drawn)


def test_without_a_budget_a_method_is_a_level_across_the_budgets(made):
    drawn = str(Drawing(made(), "two-way").svg("label"))
    assert len(re.findall("<title>", drawn)) == 6
    assert "bare: no guarantee" in drawn


def test_what_is_not_defined_is_not_drawn(made):
    found = made()
    unknown = [replace(one, utility={"one-way": Interval(math.nan)}) for one in found.points]
    text = page(replace(found, points=tuple(unknown), utility=("one-way",)))
    assert "–</td>" in text
    assert "nan" not in text.lower()


def test_more_methods_than_colours_are_told_apart_by_their_markers():
    seen = {(colour_of(k), tuple(outline(k, 0, 0))) for k in range(30)}
    assert len(seen) == 30


@pytest.mark.parametrize(
    "axis",
    [
        budget_axis([0.1, 1.0, 10.0], 0, 100),
        budget_axis([1.0], 0, 100),
        linear_axis([-0.5, 0.2], 0, 100),
        linear_axis([0.5, 0.5], 0, 100),
        linear_axis([], 0, 100),
        loss_axis([0.1, 0.2], [0.05, 0.25], 0, 100),
        loss_axis([0.001, 0.5], [-0.1, 0.6], 0, 100),
        loss_axis([0.0, 0.0], [0.0], 0, 100),
        loss_axis([], [], 0, 100),
    ],
)
def test_an_axis_keeps_the_order_and_stays_inside(axis):
    places = [axis.place(tick) for tick in axis.ticks]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert len(places) >= 1
    assert axis.place(axis.low) == pytest.approx(0)
    assert axis.place(axis.high) == pytest.approx(100)
    assert axis.place(axis.high * 3 + 1) == pytest.approx(100)


def test_equal_ratios_are_equally_long_on_a_logarithmic_axis():
    axis = loss_axis([0.001, 0.5], [0.0005, 0.6], 0, 100)
    assert axis.logarithmic
    lengths = [axis.place(10 * x) - axis.place(x) for x in (0.002, 0.03)]
    assert lengths[0] == pytest.approx(lengths[1])
    assert not loss_axis([0.05, 0.5], [], 0, 100).logarithmic
    assert not loss_axis([0.0, 0.5], [], 0, 100).logarithmic


def test_labels_of_near_points_do_not_lie_on_each_other():
    points = [(100.0, 100.0), (103.0, 101.0), (300.0, 50.0)]
    found = list(place_labels(points, ["0.1", "1", "10"], []))
    assert found[2] == (308.0, 41.0, "left")
    assert [one[2] for one in found[:2]] == ["right", "left"]


@pytest.mark.parametrize("risk", ["epsilon", "attribute"])
def test_maps_scale_to_a_phone_and_numbers_keep_their_headings(risk, made):
    """Nothing is cut at the right: maps have no least width, rows of tables become blocks."""
    text = page(made(risk))
    assert not re.search(r"svg[^{}]*\{[^}]*min-width", text)
    assert len(re.findall(r"</p>\s*<svg viewBox", text)) == text.count("<figure>")
    tables = re.findall(r'<table class="stack">(.*?)</table>', text, flags=re.DOTALL)
    assert len(tables) == text.count("<table")
    for table in tables:
        headings = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL):
            labels = re.findall(r'<td data-label="([^"]*)"', row)
            assert set(labels) <= set(headings)
            assert len(labels) + row.count("<td colspan") == row.count("<td")
