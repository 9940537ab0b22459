"""Charts as SVG: where things stand, what is escaped, and where numbers are written."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from understudy.report.svg import Chart, Colour, nice_ticks, short

PLACE = (10.0, 20.0, 110.0, 70.0)


def drawn(draw, x=(0.0, 4.0), y=(0.0, 1.0)):
    """The SVG of one panel of 100 by 50 points."""
    chart = Chart(100, 200)
    draw(chart.panel(PLACE, x, y))
    return str(chart.svg("label"))


def test_boxes_stand_where_their_numbers_are():
    text = drawn(lambda panel: panel.fill([(0, 0, 1, 0.5), (2, 0, 4, 1)], Colour.BAR))
    outlines = "M10 70H35V45H10zM60 70H110V20H60z"
    assert text == (
        '<svg viewBox="0 0 200 100" role="img" aria-label="label">'
        f'<path d="{outlines}" style="fill:var(--bar)"/></svg>'
    )


def test_lines_and_strokes_and_shapes_stand_where_their_numbers_are():
    text = drawn(lambda panel: panel.line([(0, 0), (2, 1), (4, 0.25)], Colour.SPIKE, 1.5))
    assert (
        'd="M10 70L60 20L110 57.5" style="fill:none;stroke:var(--spike);stroke-width:1.5"' in text
    )
    text = drawn(lambda panel: panel.segments([(0, 1, 4, 1), (2, 0, 2, 1)], Colour.RULE, 1))
    assert 'd="M10 20L110 20M60 70L60 20"' in text
    text = drawn(lambda panel: panel.shape([(0, 0), (4, 0), (2, 1)], Colour.KIND_1))
    assert 'd="M10 70L110 70L60 20z" style="fill:var(--kind-1)"' in text


def test_scales_may_run_either_way():
    text = drawn(lambda panel: panel.fill([(0, 0, 1, 1)], Colour.BAR), x=(4, 0), y=(1, 0))
    assert 'd="M110 20H85V70H110z"' in text


def test_texts_have_classes_and_stand_beside_below_and_within():
    def draw(panel):
        panel.text(2, 0.5, "in", Colour.MUTED, anchor="center")
        panel.beside(-4, 1, "left", Colour.INK)
        panel.below(4, 14, "last", Colour.SPIKE, last=True)

    texts = re.findall(r'<text x="(.*?)" y="(.*?)" class="(.*?)">(.*?)</text>', drawn(draw))
    assert texts == [
        ("60", "49.3", "m middle muted", "in"),
        ("6", "24.3", "m end ink", "left"),
        ("110", "84", "s end spike", "last"),
    ]


def test_no_text_is_taken_for_markup():
    planted = "<b>\"&'</text><script>"
    chart = Chart(10)
    panel = chart.canvas()
    panel.text(0, 0, planted)
    panel.beside(0, 0, planted, Colour.INK)
    panel.below(0, 0, planted, Colour.INK)
    panel.fill([(0, 0, 1, 1)], Colour.BAR, title=planted)
    panel.shape([(0, 0), (1, 1), (1, 0)], Colour.BAR, title=planted)
    text = str(chart.svg(planted))
    assert text.count("&lt;b&gt;&#34;&amp;&#39;&lt;/text&gt;&lt;script&gt;") == 6
    assert "<b>" not in text
    assert "<script" not in text


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_has_no_place_is_left_out_and_the_rest_is_drawn(bad):
    def draw(panel):
        panel.fill([(0, 0, bad, 1), (0, 0, 1, 1)], Colour.BAR)
        panel.segments([(0, bad, 1, 1)], Colour.RULE, 1)
        panel.line([(0, 0), (1, 1), (bad, 0), (2, 0), (3, 1)], Colour.INK, 1)
        panel.shape([(0, 0), (bad, 1), (1, 0)], Colour.BAR)
        panel.text(bad, 0, "nowhere")

    text = drawn(draw)
    assert text.count("<path") == 2
    assert 'd="M10 70H35V20H10z"' in text
    assert 'd="M10 70L35 20M60 70L85 20"' in text
    assert not re.search("nan|inf|nowhere", text)


def test_an_empty_series_is_no_element():
    def draw(panel):
        panel.fill([], Colour.BAR)
        panel.segments([], Colour.RULE, 1)
        panel.line([], Colour.INK, 1)

    assert "<path" not in drawn(draw)


def test_a_coordinate_is_short_and_never_minus_nought():
    assert [short(x) for x in (2.0, 2.04, 2.06, -0.04, -0.06, 1234.56)] == [
        *("2", "2", "2.1", "0", "-0.1", "1234.6")
    ]


@pytest.mark.parametrize("most", [2, 3, 4, 6, 10])
def test_ticks_are_round_even_inside_and_neither_few_nor_many(most):
    scales = [-1000.0, -3.7, -0.02, 0.0, 1e-7, 0.013, 0.5, 0.99, 1.0, 7.0, 250.0, 3e6]
    for low, high in itertools.combinations(scales, 2):
        ticks = nice_ticks(low, high, most)
        assert most / 2 - 1 < len(ticks) <= most + 1
        assert all(low <= tick <= high * (1 + 1e-12) for tick in ticks)
        steps = {f"{b - a:.6e}" for a, b in itertools.pairwise(ticks)}
        assert len(steps) <= 1
        for step in steps:
            mantissa = float(step) / 10 ** math.floor(math.log10(float(step)) + 1e-9)
            assert mantissa == pytest.approx(round(mantissa * 2) / 2)
            assert round(mantissa * 2) / 2 in {1.0, 2.0, 2.5, 5.0}


def test_ticks_are_written_as_they_are():
    assert nice_ticks(0, 0.35, 4) == [0.0, 0.1, 0.2, 0.3]
    assert nice_ticks(-0.06, 0.06, 6) == [-0.06, -0.04, -0.02, 0.0, 0.02, 0.04, 0.06]
    assert nice_ticks(0, 1, 4) == [0.0, 0.25, 0.5, 0.75, 1.0]
