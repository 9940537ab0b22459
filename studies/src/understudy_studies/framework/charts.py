"""Figures of a study: files in light colours, and on the page the colours of the reader's mode.

A figure is drawn with the colours below. In the SVG that stands on the page each of them becomes a
CSS variable of the page, so the figure follows the light or dark mode.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from understudy_studies.framework.study import Chart

PAPER, INK, MUTED, RULE, ACCENT = "#ffffff", "#17202b", "#55616f", "#cfd6dd", "#14507e"
ORDERED = ("#74a9d8", "#3f86c4", "#1f5c96", "#0c2c4d")
"""Four steps of an ordered quantity, the most last."""
KINDS = ("#27699e", "#a8571c", "#3d7a4a", "#7a4f9a", "#8a6d12", "#a3345a")
"""Kinds without an order."""

_VARIABLES = {
    PAPER: "--page",
    INK: "--ink",
    MUTED: "--muted",
    RULE: "--rule",
    ACCENT: "--accent",
    **{colour: f"--ordered-{k}" for k, colour in enumerate(ORDERED, start=1)},
    **{colour: f"--kind-{k}" for k, colour in enumerate(KINDS, start=1)},
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "text.parse_math": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "legend.frameon": False,
}
_DPI = 200


@dataclass(frozen=True)
class RenderedChart:
    """A figure as files, and as it stands on the page.

    Attributes:
        name: file name without ending.
        svg: the file in light colours.
        png: the same as an image.
        inline: element for the page.
        caption: what it shows.
    """

    name: str
    svg: str
    png: bytes
    inline: Markup
    caption: str


@contextmanager
def style() -> Iterator[None]:
    """What is drawn within has the looks of the page."""
    with matplotlib.rc_context(_STYLE):
        yield


def render(chart: Chart) -> RenderedChart:
    """Write a figure out; the same figure gives the same text."""
    # The salt keeps the identifiers of several figures on one page apart.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": chart.name}):
        svg = _saved(chart.figure, "svg", metadata={"Date": None}).decode()
        png = _saved(chart.figure, "png", dpi=_DPI)
    return RenderedChart(chart.name, svg, png, _inline(svg, chart.caption), chart.caption)


def _saved(figure: Figure, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **options)
    return buffer.getvalue()


def _inline(svg: str, caption: str) -> Markup:
    """The drawing without its head, its style sheet, its fonts and the names of its groups."""
    body = svg[svg.index("<svg") :]
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', body)[:2]
    body = re.sub(
        r"(?s)^<svg.*?>\s*|</svg>\s*$|<metadata>.*?</metadata>|<style.*?</style>", "", body
    )
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r" font-family: [^;\"]*;", "", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    frame = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
    return frame.format(width, height, caption, Markup(body))  # noqa: S704 - our own drawing
