"""README.md of a release, for the statistician who receives it and has never heard of the tool."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from understudy.release.measurement import Measurement
from understudy.release.release import Release

_MOST_COLUMNS = 25  # longer lists are in schema.toml and manifest.json
_MOST_MEASUREMENTS = 15
_LONGEST_TEXT = 2_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LAWS = {
    "discrete_laplace": "discrete Laplace (geometric) noise; scale b, P(x) ∝ exp(−|x|/b)",
    "lattice_laplace": "Laplace noise; scale b, density ∝ exp(−|x|/b)",
    "discrete_gaussian": "discrete Gaussian noise; scale σ², P(x) ∝ exp(−x²/2σ²)",
    "none": "no noise",
}


def readme(release: Release, *, csv: bool) -> str:
    """The README of a release folder, in Markdown.

    Args:
        release: the release; nothing else is looked at.
        csv: whether the synthetic tables are also written as CSV.
    """
    measurements = release.measurements
    text = (
        _environment()
        .get_template("recipient.md.jinja")
        .render(
            release=release,
            manifest=release.manifest,
            schema=release.schema,
            guarantee=release.guarantee,
            csv=csv,
            private=release.guarantee.kind != "none" and release.manifest.secure,
            has_page=release.pages is not None,
            stored=[one for one in measurements if one.name],
            kinds={one.kind for one in measurements},
            laws=sorted({_LAWS.get(one.law, one.law.replace("_", " ")) for one in measurements}),
            covered=_covered(measurements),
            most_columns=_MOST_COLUMNS,
            most_measurements=_MOST_MEASUREMENTS,
        )
    )
    return text.strip() + "\n"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("understudy", "release"),
        autoescape=False,  # noqa: S701 - Markdown; `finalize` escapes what Markdown knows
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_markdown,
    )
    environment.globals["number"] = _number
    return environment


def _markdown(value: Any) -> Any:  # noqa: ANN401 - whatever a template prints
    """Text that Markdown shows as it is: one line, no markup, no table separators."""
    if not isinstance(value, str):
        return value
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", value).split())
    text = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
    return _SPECIAL.sub(r"\\\1", text)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def _covered(measurements: tuple[Measurement, ...]) -> bool:
    """Whether some measurement covers two columns together."""
    return any(len(one.columns) > 1 for one in measurements)
