"""Analyses that are declared before a release is made, so that it measures what they need.

Written as "ols income ~ age + sex", or as a mapping with `kind`, `formula` and, for the record, who
asked (`asked_by`); a file of them is TOML with an entry `[[analyses]]` for each. They are part of
the request, so they must be chosen without a look at the rows: ε covers what is measured for them,
and not how they were picked.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import InferenceError
from understudy.schema import NUMERIC, Schema

if TYPE_CHECKING:
    from understudy.inference.estimates.estimands import Estimand

_ENTRIES = ("kind", "formula", "asked_by")
_WIDTHS = ("noise", "sampling")
_OF_NUMBERS = ("mean", "proportion", "total", "quantile")


@dataclass(frozen=True)
class DeclaredAnalysis:
    """One analysis.

    Attributes:
        kind: as `analyze` takes it.
        formula: as `analyze` takes it.
        asked_by: who asked for it; "" if that is not said.
    """

    kind: str
    formula: str
    asked_by: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.formula}"

    def estimand(self, schema: Schema) -> Estimand:
        """The question.

        Raises:
            InferenceError: it is none for this schema.
        """
        from understudy.inference.estimates import estimands  # loads the library of formulas

        return estimands.parse(self.kind, self.formula, schema)


@dataclass(frozen=True)
class Expected:
    """What is expected of one estimate of a declared analysis.

    Attributes:
        analysis: that it belongs to.
        name: of the estimate.
        noise: half-width of a 95 % interval by privacy noise alone; NaN where none is expected.
        sampling: half-width by sampling alone.
        refused: why no answer is expected; "" if one is.
    """

    analysis: str
    name: str
    noise: float
    sampling: float
    refused: str = ""

    @property
    def half_width(self) -> float:
        """By both."""
        return math.hypot(self.noise, self.sampling)

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for what is not expected."""
        parts = {"noise": self.noise, "sampling": self.sampling}
        told = {name: part if math.isfinite(part) else None for name, part in parts.items()}
        return {**vars(self), **told}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Expected:
        """Read back what `to_json` wrote."""
        told = {name: math.nan if data[name] is None else data[name] for name in _WIDTHS}
        return cls(**{**data, **told})


@dataclass(frozen=True)
class ExpectedAnswers:
    """What was expected of the declared analyses before anything was spent.

    Attributes:
        records: how many were assumed.
        like: the earlier release that they were drawn from, by its title; "" for records drawn
            evenly over the schema.
        answers: each estimate of each analysis.
    """

    records: int
    like: str
    answers: tuple[Expected, ...]

    @property
    def words(self) -> str:
        """Of which records it was expected."""
        drawn = f"like those of {self.like}" if self.like else "drawn evenly over the schema"
        return f"{self.records:,} records {drawn}"

    def of(self, kind: str, formula: str) -> tuple[Expected, ...]:
        """The estimates of one analysis, each once."""
        asked = str(DeclaredAnalysis(kind, formula))
        return tuple(dict.fromkeys(one for one in self.answers if one.analysis == asked))

    def to_json(self) -> dict[str, Any]:
        """Plain data, as a manifest keeps it."""
        return {**vars(self), "answers": [one.to_json() for one in self.answers]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ExpectedAnswers:
        """Read back what `to_json` wrote."""
        return cls(**{**data, "answers": tuple(map(Expected.from_json, data["answers"]))})


def declared_analyses(given: object, schema: Schema) -> tuple[DeclaredAnalysis, ...]:
    """Read declared analyses, and see that each can be asked of releases with this schema.

    Args:
        given: texts or mappings, or the path of a TOML file with them; None for none.
        schema: of the release.

    Raises:
        InferenceError: not an analysis; says which and why.
    """
    if given is None:
        return ()
    entries = _from_file(Path(given)) if isinstance(given, str | Path) else given
    if not isinstance(entries, Iterable):
        raise InferenceError(
            "Expected a list of analyses such as 'ols income ~ age + sex', or the path of a file."
        )
    analyses = tuple(dict.fromkeys(_read(entry) for entry in entries))
    for analysis in analyses:
        analysis.estimand(schema)
    return analyses


def columns_of(analyses: Iterable[DeclaredAnalysis], schema: Schema) -> tuple[str, ...]:
    """Columns that some analyses are about, in the order of the schema."""
    used = {name for analysis in analyses for name in analysis.estimand(schema).columns}
    return tuple(name for name in schema.names if name in used)


def on_lines(analyses: Iterable[DeclaredAnalysis], schema: Schema) -> tuple[str, ...]:
    """Numeric columns whose numbers means, shares, totals and quantiles ask for."""
    asked = (analysis.estimand(schema) for analysis in analyses if analysis.kind in _OF_NUMBERS)
    used = {name for one in asked for name in one.used}
    return tuple(
        name
        for name, column in schema.columns.items()
        if name in used and isinstance(column, NUMERIC)
    )


def by_absences(
    analyses: Iterable[DeclaredAnalysis], schema: Schema
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Columns of the analyses that rest on the same records: those with a value of each column.

    Returns:
        For each set of columns that have codes of absence, which may be empty, all columns of the
        analyses that are about these columns and others without codes.
    """
    groups: dict[tuple[str, ...], list[DeclaredAnalysis]] = {}
    for analysis in analyses:
        used = columns_of([analysis], schema)
        key = tuple(name for name in used if schema.columns[name].codes)
        groups.setdefault(key, []).append(analysis)
    return {key: columns_of(group, schema) for key, group in groups.items()}


def _read(entry: object) -> DeclaredAnalysis:
    if isinstance(entry, DeclaredAnalysis):
        return entry
    if isinstance(entry, Mapping):
        texts = all(isinstance(value, str) for value in entry.values())
        if texts and {"kind", "formula"} <= set(entry) <= set(_ENTRIES):
            return DeclaredAnalysis(**entry)
        raise InferenceError(
            "An analysis needs the texts kind and formula, and may have asked_by; got the entries "
            f"{', '.join(map(str, entry)) or 'none'}."
        )
    kind, _, formula = str(entry).strip().partition(" ")
    if not isinstance(entry, str) or not formula.strip():
        raise InferenceError(
            f"Expected an analysis such as 'ols income ~ age + sex', got {entry!r}."
        )
    return DeclaredAnalysis(kind, formula.strip())


def _from_file(path: Path) -> list[Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InferenceError(f"The analyses in {path} cannot be read: {error}.") from None
    entries = content.get("analyses")
    if not isinstance(entries, list) or set(content) != {"analyses"}:
        raise InferenceError(f"The file {path} needs entries [[analyses]], and nothing else.")
    return entries
