"""What the pages share: templates, and lists that are cut to the room they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from understudy.report.number_text import clean, distance, figure, number, percent, prose, relative

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
    found: Callable[..., Markup] = getattr(template(file).module, name)
    return found


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
