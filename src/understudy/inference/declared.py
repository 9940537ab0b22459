"""Analyses that are declared before a release is made, so that it measures what they need.

Written as "ols income ~ age + sex" or "mean income where age >= 65", or as a mapping with `kind`,
`formula`, perhaps `where` (a condition) and, for the record, who asked (`asked_by`); a file of them
is TOML with an entry `[[analyses]]` for each. They are part of the request, so they must be chosen
without a look at the rows: ε covers what is measured for them, and not how they were picked.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from understudy.errors import InferenceError, line
from understudy.schema import NUMERIC, Schema
from understudy.schema.expressions import with_condition

if TYPE_CHECKING:
    from understudy.inference.member_slots import MemberSlots
    from understudy.inference.own_tables import OwnTable
    from understudy.inference.question import Estimand
    from understudy.inference.term_moments import NeededTerms
    from understudy.schema.households import Members


_ENTRIES = ("kind", "formula", "where", "asked_by")
_WIDTHS = ("noise", "sampling")
_FAR = 4  # times as wide, so that the middle one is a factor of two off
_ENDS = ("least", "largest")
MOST_BYTES = 100_000  # of a file
_OF_NUMBERS = ("mean", "std", "proportion", "total", "quantile")
SQUARES_SHARE: Final = Fraction(1, 4)
"""Of what buys weighted moments, for those by squared weights: variances bear more noise. Beside
random groups, which tell variances of their own, half of it."""
GROUPS_SHARE: Final = Fraction(1, 2)
"""Of what buys moments by weights, for those of random groups: they tell variances alone."""


@dataclass(frozen=True)
class DeclaredAnalysis:
    """One analysis.

    Attributes:
        kind: as `analyze` takes it.
        formula: as `analyze` takes it; with "where" and a condition behind it for some records.
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
        from understudy.inference import question  # loads the library of formulas

        return question.parse(self.kind, self.formula, self.row_schema(schema))

    def row_schema(self, schema: Schema) -> Schema:
        """The schema of the rows that it is about."""
        members = self.members(schema)
        return schema if members is None else members.schema

    def members(self, schema: Schema) -> MemberSlots | None:
        """The members' table, if it is about members of units; else None."""
        if schema.members is None:
            return None
        from understudy.inference.member_slots import asked_members  # loads statistics

        return asked_members(self.formula, schema)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """Columns of the records that it is about; of members, those of every slot."""
        members, own = self.members(schema), self.estimand(schema).columns
        return own if members is None else members.wide_columns(own)

    def require_about_units(self, schema: Schema) -> None:
        """Refuse a question about members.

        Raises:
            InferenceError: it is one.
        """
        if (members := self.members(schema)) is not None:
            form = members.form
            raise InferenceError(
                f"{str(self)!r} is about rows of {form.table!r}; ask about rows of {form.of!r} "
                f"here, or declare it as the release is made."
            )


@dataclass(frozen=True)
class Expected:
    """The expected precision of one estimate of a declared analysis.

    Attributes:
        analysis: that it belongs to.
        name: of the estimate.
        noise: half-width of a 95 % interval by privacy noise alone; NaN where none is expected.
        sampling: half-width by sampling alone.
        refused: why no answer is expected; "" if one is.
        least: the least half-width by both, over several ways in which numbers may be spread whose
            spread nobody declared; NaN where they were not looked at.
        largest: the largest; infinite where an interval may have no end.
    """

    analysis: str
    name: str
    noise: float
    sampling: float
    refused: str = ""
    least: float = math.nan
    largest: float = math.nan

    @property
    def half_width(self) -> float:
        """By both."""
        return math.hypot(self.noise, self.sampling)

    @property
    def ends(self) -> tuple[float, float]:
        """Between which half-widths it is; the same twice where one number says it."""
        half = self.half_width
        return (half, half) if math.isnan(self.least) else (self.least, self.largest)

    @property
    def is_sure(self) -> bool:
        """True if some one width is within a factor of two of all that it may be."""
        return are_near(*self.ends)

    def words(self, number: Callable[[float], str]) -> str:
        """Between which half-widths it is, as text: "± 10 to 200", or one where they look the same.

        Args:
            number: writes one half-width, infinite ones too; a "±" stands once.
        """
        least, largest = self.ends
        low, high = number(least), number(largest)
        if low == high:
            return low
        return f"{low} to {high.removeprefix('± ')}" if math.isfinite(largest) else f"{low} or more"

    @property
    def sampled(self) -> float:
        """Part of its variance that is by sampling, from 0 to 1: variances add up."""
        return (self.sampling / self.half_width) ** 2 if self.half_width else 1.0

    @property
    def times(self) -> float:
        """Its width as a multiple of that of the records."""
        return self.half_width / self.sampling if self.sampling else math.inf

    @property
    def counts(self) -> bool:
        """True if an answer is expected, at most ten times as wide as that of the records."""
        from understudy.inference.analysis import counts  # loads what makes estimates

        return not self.refused and counts(self.half_width, self.sampling)

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for what is not expected, and for the largest where there is no end."""
        ranged = () if math.isnan(self.least) else _ENDS
        kept = {name: value for name, value in vars(self).items() if name not in _ENDS}
        parts = {name: getattr(self, name) for name in (*_WIDTHS, *ranged)}
        told = {name: part if math.isfinite(part) else None for name, part in parts.items()}
        return {**kept, **told}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Expected:
        """Read back what `to_json` wrote."""
        told = {name: math.nan if data[name] is None else data[name] for name in _WIDTHS}
        if data.get("largest", 0.0) is None:
            told["largest"] = math.inf
        return cls(**{**data, **told})


def are_near(least: float, largest: float) -> bool:
    """Return whether one half-width between two is within a factor of two of both."""
    return largest <= _FAR * least


@dataclass(frozen=True)
class ExpectedAnswers:
    """The precision that was expected of declared analyses before anything was spent.

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
    return with_own_bins(given, schema)[0]


def with_own_bins(given: object, schema: Schema) -> tuple[tuple[DeclaredAnalysis, ...], Schema]:
    """Declared analyses, and the schema with bins that tell what they compare numbers with.

    A column gets them where its bins are the usual ones (`schema.coarsening.cuts_of`).

    Args:
        given: as above.
        schema: as it was declared.

    Raises:
        InferenceError: as above.
    """
    if given is None:
        return (), schema
    entries = _from_file(Path(given)) if isinstance(given, str | Path) else given
    if not isinstance(entries, Iterable):
        raise InferenceError(
            "Expected a list of analyses such as 'ols income ~ age + sex', or the path of a file."
        )
    analyses = tuple(dict.fromkeys(_read(entry) for entry in entries))
    if analyses:
        from understudy.inference import conditions  # loads formulas

        asked = [one.estimand(schema) for one in analyses if one.members(schema) is None]
        for estimand in asked:
            conditions.require_varying(estimand, schema)
        schema = conditions.schema_that_tells(asked, schema)
        by_terms(analyses, schema)
        for estimand in asked:
            conditions.require_computable(estimand, schema)
    return analyses, schema


def columns_of(analyses: Iterable[DeclaredAnalysis], schema: Schema) -> tuple[str, ...]:
    """Columns that some analyses are about, in the order of the schema."""
    used = {name for analysis in analyses for name in analysis.columns(schema)}
    return tuple(name for name in schema.names if name in used)


def on_lines(analyses: Iterable[DeclaredAnalysis], schema: Schema) -> tuple[str, ...]:
    """Numeric columns whose numbers means, shares, totals and quantiles ask for."""
    asked = (analysis.estimand(schema) for analysis in analyses)
    used = {name for one in asked if one.kind in _OF_NUMBERS for name in one.used}
    return tuple(
        name
        for name, column in schema.columns.items()
        if name in used and isinstance(column, NUMERIC)
    )


def by_terms(
    analyses: Iterable[DeclaredAnalysis], schema: Schema
) -> tuple[tuple[DeclaredAnalysis, ...], tuple[NeededTerms, ...]]:
    """Analyses that second moments of columns are bought for, and what the others need.

    Raises:
        InferenceError: one is none for this schema, or has a term without scores.
    """
    analyses = tuple(analyses)
    if not analyses:
        return (), ()
    from understudy.inference.question import is_of_many
    from understudy.inference.term_moments import all_needed  # loads the library of formulas

    found = [all_needed(one.estimand(schema), one.row_schema(schema)) for one in analyses]
    for one, needed in zip(analyses, found, strict=True):
        many = is_of_many(one.estimand(schema), one.row_schema(schema))
        if (needed or many) and (members := one.members(schema)) is not None:
            raise not_of_members(one, members.form)
    plain = tuple(one for one, needed in zip(analyses, found, strict=True) if not needed)
    return plain, tuple(one for needed in found for one in needed)


def not_of_members(analysis: DeclaredAnalysis, form: Members) -> InferenceError:
    """The refusal of a declaration about members that second moments of slots do not answer."""
    return InferenceError(
        f"{str(analysis)!r} is about rows of {form.table!r}, and a declaration of these takes "
        "means, shares, totals, models and correlations of two columns at a time, without "
        "conditions on numbers; leave it out, and ask the release."
    )


def split_halves(
    analyses: Iterable[DeclaredAnalysis], schema: Schema
) -> tuple[DeclaredAnalysis, ...]:
    """Analyses, with both halves of each that needs terms of the records of both."""
    found: list[DeclaredAnalysis] = []
    for analysis in analyses:
        halves = analysis.estimand(schema).halves
        apart = halves and by_terms([analysis], schema)[1]
        texts = [with_condition(half.formula, half.where) for half in halves if apart]
        found += [replace(analysis, formula=text) for text in texts] or [analysis]
    return tuple(found)


def by_tables(
    analyses: Iterable[DeclaredAnalysis], schema: Schema
) -> tuple[tuple[DeclaredAnalysis, ...], tuple[OwnTable, ...]]:
    """Analyses that need no table of their own, and the tables of the others, one for each.

    Raises:
        InferenceError: no bins tell the conditions of one, or its table has too many cells.
    """
    analyses = tuple(analyses)
    if not analyses:
        return (), ()
    from understudy.inference.own_tables import own_table  # loads the library of formulas

    found = [
        None if one.members(schema) else own_table(one.estimand(schema), schema) for one in analyses
    ]
    rest = tuple(one for one, own in zip(analyses, found, strict=True) if own is None)
    return rest, tuple(own for own in found if own is not None)


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
        whole = analysis.members(schema) is not None  # units count, whoever of them is there
        key = tuple(name for name in used if schema.columns[name].codes and not whole)
        groups.setdefault(key, []).append(analysis)
    return {key: columns_of(group, schema) for key, group in groups.items()}


def _read(entry: object) -> DeclaredAnalysis:
    if isinstance(entry, DeclaredAnalysis):
        return entry
    if isinstance(entry, Mapping):
        texts = all(isinstance(value, str) for value in entry.values())
        if texts and {"kind", "formula"} <= set(entry) <= set(_ENTRIES):
            told = dict(entry)
            where = told.pop("where", "")
            return DeclaredAnalysis(**{**told, "formula": with_condition(told["formula"], where)})
        raise InferenceError(
            "An analysis needs the texts kind and formula, and may have where and asked_by; got "
            "the entries "
            f"{', '.join(map(str, entry)) or 'none'}."
        )
    kind, _, formula = str(entry).strip().partition(" ")
    if not isinstance(entry, str) or not formula.strip():
        raise InferenceError(
            f"Expected an analysis such as 'ols income ~ age + sex', got {entry!r}."
        )
    return DeclaredAnalysis(kind, formula.strip())


def _from_file(path: Path) -> list[Any]:
    content = read_toml(path, "The file")
    entries = content.get("analyses")
    if not isinstance(entries, list) or set(content) != {"analyses"}:
        raise InferenceError(f"The file {path} needs entries [[analyses]], and nothing else.")
    return entries


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a small file of TOML.

    Args:
        path: of the file.
        what: it is, in the words of an error.

    Raises:
        InferenceError: it cannot be read, or is too long.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise InferenceError(f"{what} {path} is longer than {MOST_BYTES:,} bytes.")
        return tomllib.loads(text.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InferenceError(f"{what} {path} cannot be read: {line(str(error))}.") from None


def public_delta(rows: int) -> str:
    """Return the largest δ of one digit that is at most 1/(100 n), for n rows.

    Each of n records may be published as it is with chance δ, so that at δ = 1/n one would be
    expected to be. The number must be public, as a limit of rows is.

    Example:
        >>> public_delta(20_000), public_delta(6_366)
        ('5e-7', '1e-6')
    """
    exponent = len(str(100 * rows - 1))
    digit = 10**exponent // (100 * rows)
    return f"{digit}e-{exponent}" if digit < 10 else f"1e-{exponent - 1}"
