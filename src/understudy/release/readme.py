"""README.md of a release, for the statistician who receives it and has never heard of the tool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from understudy.errors import line
from understudy.release.manifest import Manifest, citation, promise_block
from understudy.release.measurement import Measurement, kept_columns
from understudy.release.shape import Kind
from understudy.release.tables import RAW_CSV, has_labels
from understudy.schema import Schema
from understudy.schema.derived import rule_text

_MOST_COLUMNS = 25  # longer lists are in schema.toml and manifest.json
_MOST_MEASUREMENTS = 15
_LONGEST_TEXT = 2_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_DISTRIBUTIONS = {
    "discrete_laplace": "discrete Laplace (geometric) noise; scale b, P(x) ∝ exp(−|x|/b)",
    "lattice_laplace": "Laplace noise; scale b, density ∝ exp(−|x|/b)",
    "discrete_gaussian": "discrete Gaussian noise; scale σ², P(x) ∝ exp(−x²/2σ²)",
    "laplace": "Laplace noise in floating point; scale b, density ∝ exp(−|x|/b)",
    "truncated_laplace": "Laplace noise in floating point, redrawn until within limits; scale b",
    "truncated_discrete_laplace": (
        "discrete Laplace noise, redrawn until within limits and calibrated for that; scale b; not "
        "centred near the limits"
    ),
    "Dirichlet–multinomial": (
        "no noise is added: records are drawn from a Dirichlet–multinomial distribution; scale is "
        "the prior weight of a cell, in records"
    ),
    "fixed prior": (
        "no noise is added: records are drawn independently from rows and a prior; scale is the "
        "prior weight of a cell, in records"
    ),
    "exponential_mechanism": (
        "no noise is added: counts were chosen by the exponential mechanism, with probability "
        "∝ exp(−d/scale) at a largest error d of a cumulative count; stddev is about that of one "
        "cumulative count"
    ),
    "none": "no noise",
}


def readme(
    manifest: Manifest,
    schema: Schema,
    measurements: tuple[Measurement, ...],
    *,
    formats: Sequence[str] = (),
    pages: Sequence[str] = (),
    guarded: bool = False,
    parted: bool = False,
) -> str:
    """The README of a release folder, in Markdown.

    Args:
        manifest: how the release was made.
        schema: what is public.
        measurements: the noisy tables that are released.
        formats: in which the synthetic tables are written beside Parquet (`release.tables`).
        pages: names of the pages in the folder.
        guarded: whether texts in the CSV got an apostrophe (`formulas`).
        parted: whether the synthetic tables come in parts.
    """
    guarantee = manifest.guarantee
    text = (
        _environment()
        .get_template("recipient.md.jinja")
        .render(
            manifest=manifest,
            schema=schema,
            guarantee=guarantee,
            csv="csv" in formats or RAW_CSV in formats,
            formats=formats,
            labels=has_labels(schema),
            guarded=guarded,
            parted=parted,
            ending="/" if parted else ".parquet",
            private=guarantee.epsilon is not None and manifest.secure,
            kept=kept_columns(measurements),
            rules={name: rule_text(column) for name, column in schema.derived.items()},
            has_page="report.html" in pages,
            has_codebook="codebook.html" in pages,
            promise=promise_block(manifest),
            citation=citation(manifest, schema),
            stored=[measurement for measurement in measurements if measurement.name],
            kinds={measurement.kind for measurement in measurements},
            facts=manifest.inference,
            distributions=_noises(measurements),
            covered=_has_joint_measurement(measurements),
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
    environment.filters["verbatim"] = Verbatim
    return environment


class Verbatim:
    """A text that is written as it is, on a line of a block that Markdown does not read.

    Args:
        text: on one line.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def _markdown(value: Any) -> Any:
    """Text that Markdown shows as it is: one line, no markup, no table separators."""
    if not isinstance(value, str):
        return value
    text = " ".join(line(value).split())
    text = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
    return _SPECIAL.sub(r"\\\1", text)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def _noises(measurements: tuple[Measurement, ...]) -> list[str]:
    """The distributions of the noise, in words; choices hold no number."""
    distributions = {
        measurement.distribution for measurement in measurements if measurement.kind.has_noise
    }
    return sorted(
        _DISTRIBUTIONS.get(distribution, distribution.replace("_", " "))
        for distribution in distributions
    )


def _has_joint_measurement(measurements: tuple[Measurement, ...]) -> bool:
    """Return whether some measurement covers two columns together."""
    return any(
        len(measurement.columns) > 1
        and measurement.kind
        not in (Kind.PRODUCTS, Kind.WEIGHTED, Kind.WEIGHTED_TABLE, Kind.TERMS, Kind.RANKS)
        for measurement in measurements
    )
