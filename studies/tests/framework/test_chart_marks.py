"""What figures share, and the checks that every figure of a study passes: titles and names."""

import numpy as np
from matplotlib.figure import Figure

from understudy_studies.framework import chart_marks


def grid(down=2, across=2):
    figure = Figure(figsize=(8, 4))
    panels = figure.subplots(down, across, sharex=True, sharey="row", squeeze=False)
    for axes in panels.flat:
        axes.plot([1, 2, 3], [1, 2, 3])
    return figure, panels


def title(panels):
    """Titles on the outer axes of a grid whose rows and columns share their scales."""
    for row in panels:
        row[0].set_ylabel("error")
    for axes in panels[-1]:
        axes.set_xlabel("ε")


def test_titles_on_the_outside_hold_for_the_panels_within(untitled):
    figure, panels = grid()
    assert len(untitled(figure)) == 8
    title(panels)
    assert untitled(figure) == []


def test_a_title_holds_for_no_other_scale(untitled):
    figure, panels = grid()
    title(panels)
    alone = figure.add_axes((0.9, 0.6, 0.08, 0.2))
    alone.set_title("alone", loc="left")
    assert untitled(figure) == ["x of 'alone'", "y of 'alone'"]


def test_many_colours_need_names_beside_the_lines(crowded):
    figure = Figure()
    axes = figure.subplots()
    for k in range(chart_marks.MOST_LINES + 1):
        axes.plot([1, 2, 3], [1, 2, k], color=f"C{k}", label=f"way {k}")
    assert len(crowded(figure)) == 1
    chart_marks.name_lines(axes)
    assert crowded(figure) == []
    assert [text.get_text() for text in axes.texts] == [f"way {k}" for k in range(6)]


def test_names_lie_apart_in_the_order_of_the_ends():
    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    for k in range(8):
        axes.plot([1, 2, 3], [0, 0, 1 + k / 1000], label=str(k))
    axes.plot([1, 2, 3], [0, 0, 5], label="far")
    axes.plot([1, 2, 3], [np.nan] * 3, label="unknown")
    axes.plot([1, 2, 3], [0, 0, 2])
    chart_marks.name_lines(axes)
    heights = [text.get_position()[1] for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == [*map(str, range(8)), "far"]
    assert min(np.diff(heights)) > 0.02
    assert heights == sorted(heights)


def test_intervals_are_drawn_where_errors_are_known():
    axes = Figure().subplots()
    chart_marks.intervals(axes, [1, 2, 3], [10.0, 20.0, 30.0], [1.0, np.nan, 2.0], "C0")
    (drawn,) = axes.collections
    ends = [segment[:, 1].tolist() for segment in drawn.get_segments()]
    assert np.allclose(ends, [[10 - 1.96, 10 + 1.96], [30 - 3.92, 30 + 3.92]])
