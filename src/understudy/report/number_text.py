"""What the pages share: texts and numbers as people read them, templates, lists cut to fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from understudy.errors import shown

_LONGEST = 20_000
_LABEL = 20  # most letters of a label in a chart
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DISTRIBUTIONS = {
    "discrete_laplace": "discrete Laplace (geometric)",
    "lattice_laplace": "Laplace",
    "discrete_gaussian": "discrete Gaussian",
    "laplace": "Laplace, in floating point",
    "truncated_laplace": "truncated Laplace, in floating point",
    "truncated_discrete_laplace": "truncated discrete Laplace",
    "exponential_mechanism": "exponential mechanism",
    "none": "no noise",
}


def clean(value: Any) -> Any:
    """Texts without control characters, and none so long that it fills the page."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = shown(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def percent(share: float | None, places: int = 1) -> str:
    """A share in per cent; tiny ones are not rounded to nothing.

    Example:
        >>> percent(0.1234), percent(0.0001), percent(-0.02), percent(None)
        ('12.3 %', '< 0.1 %', '−2.0 %', '–')
    """
    if share is None:
        return "–"
    smallest = 10.0**-places
    if 0 < 100 * share < smallest / 2:
        return f"< {smallest:g} %"
    return f"{100 * share:.{places}f} %".replace("-", "−")


def relative(error: float) -> str:
    """A relative error in per cent, to two digits.

    Example:
        >>> relative(0.00894), relative(0.446)
        ('0.89 %', '45 %')
    """
    shown = 100 * error
    return f"{shown:,.0f} %" if shown >= 10 else f"{shown:.2g} %"


def number(value: float | None) -> str:
    """A count or scale: whole if large, three digits if small; a dash where there is none.

    Example:
        >>> number(6379), number(13.394), number(-4)
        ('6,379', '13.4', '−4')
    """
    if value is None:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return text.replace("-", "−")


def figure(value: float | None, digits: int = 3) -> str:
    """A score to so many digits, at any size; what is not a number is a dash.

    Example:
        >>> figure(0.03124), figure(12345.6), figure(-1.5e-6), figure(float("inf")), figure(None)
        ('0.0312', '12,346', '−1.50 × 10⁻⁶', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        large = abs(value) >= 10**digits - 0.5
        text = f"{value:,.0f}" if large else f"{value:.{digits}g}"
    else:
        leading, power = f"{value:.{digits - 1}e}".split("e")
        text = f"{leading} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def distance(value: float | None, places: int = 3) -> str:
    """A distance or ratio to so many places.

    Example:
        >>> distance(0.0416), distance(float("nan"))
        ('0.042', '–')
    """
    return f"{value:.{places}f}" if value is not None and math.isfinite(value) else figure(value)


def prose(text: str) -> Markup:
    """A sentence with its powers set high and its numbers kept together with their signs."""
    kept = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", str(escape(clean(text))))
    kept = re.sub(r"([εδρμ]|μ²/2|</sup>) = ", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", kept)
    return Markup(re.sub(r"e\^(\d?ε)", r"e<sup>\1</sup>", kept))  # noqa: S704 - escaped above


def times(columns: Sequence[str]) -> str:
    """A table's name: its columns crossed."""
    return " × ".join(columns) or "number of records"


def noise_words(distribution: str) -> str:
    """Name of a distribution of noise for people."""
    return _DISTRIBUTIONS.get(distribution, distribution.replace("_", " "))


def shortened(label: str, length: int = _LABEL) -> str:
    """A label that fits its place.

    Example:
        >>> shortened("as good as new", 8)
        'as good…'
    """
    return label if len(label) <= length else label[: length - 1].rstrip() + "…"


FOLD = 60  # longer tables are folded

Cut = tuple[Markup, int]  # what was kept, and how many pieces were left out


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("understudy", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean,
    )
    environment.filters |= {
        "distance": distance,
        "figure": figure,
        "percent": percent,
        "number": number,
        "prose": prose,
        "relative": relative,
    }
    environment.globals["fold"] = FOLD
    return environment


def template(name: str) -> Template:
    """A template of this package."""
    return _environment().get_template(name)


def macro(name: str, file: str) -> Callable[..., Markup]:
    """A macro by itself, so that what it renders can be weighed."""
    function: Callable[..., Markup] = getattr(template(file).module, name)
    return function


def rendered(render: Callable[..., Markup], items: Sequence[Any], room: int) -> Cut:
    """Items rendered one by one, as many as the room holds."""
    return fitted((render(item) for item in items), room, total=len(items))


def fitted(pieces: Iterable[Markup], room: int, *, total: int) -> Cut:
    """Pieces up to a number of bytes; what does not fit is not even drawn."""
    kept: list[Markup] = []
    used = 0
    for piece in pieces:
        used += size(piece)
        if used > room:
            break
        kept.append(piece)
    return Markup("").join(kept), total - len(kept)


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text.encode())
