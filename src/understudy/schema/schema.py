"""The schema: everything that is public about a table before anyone looks at its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from understudy.arguments import path_of, require_text
from understudy.domain.domain import Domain
from understudy.errors import SchemaError
from understudy.schema import toml
from understudy.schema.coarsening import Groups, grouped_column, grouped_rules
from understudy.schema.columns import (
    NUMERIC,
    Boolean,
    Categorical,
    Column,
    Continuous,
    Date,
    Integer,
    Ordinal,
)
from understudy.schema.review import Reviewed
from understudy.schema.structural_zeros import Range, Rule
from understudy.schema.toml import FileFormat, json_schema


class Unit(BaseModel):
    """Who is protected.

    Attributes:
        rows_per_unit: most rows that one protected unit (person, household) can have. Only 1 is
            accepted: group accounting does not exist yet.
        description: the unit in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    rows_per_unit: int = Field(default=1, ge=1, json_schema_extra={"maximum": 1})
    description: str = ""

    @model_validator(mode="after")
    def _one_row(self) -> Unit:
        if self.rows_per_unit > 1:
            raise ValueError(
                "rows_per_unit above 1 is not supported yet (the guarantee would need group "
                "accounting); reduce the table to one row per protected unit and set it to 1"
            )
        return self


class Schema(BaseModel):
    """Public description of a table: columns, bounds, impossible combinations, who is protected.

    Attributes:
        format: version of the file format.
        title: name of the table, for people.
        rows: "private": the number of rows is protected, neighbouring tables differ by one record
            added or removed. "public": it is declared in `n_rows`, neighbouring tables differ by
            one record replaced.
        n_rows: the public number of rows, only with rows = "public".
        row_limit: optional public upper limit of the noisy number of rows, only with
            rows = "private".
        unit: who is protected.
        file: how the rows are written, where they come as a delimited text file.
        columns: name → column, in the order of the release.
        forbidden: combinations that cannot occur (structural zeros).

    Example:
        >>> schema = Schema.loads('''
        ... [columns.sex]
        ... kind = "categorical"
        ... levels = ["f", "m"]
        ... source = "codebook"
        ... reviewed = true
        ... ''')
        >>> schema.names, schema.domain.n_cells, schema.neighbours
        (('sex',), 2, 'add_remove')
    """

    # A fault of a draft must not print what was read from the rows.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    format: Literal[1] = 1
    title: str = ""
    rows: Literal["private", "public"] = "private"
    n_rows: int | None = Field(default=None, ge=0)
    row_limit: int | None = Field(default=None, ge=1)
    unit: Unit = Unit()
    file: FileFormat = FileFormat()
    columns: dict[str, Column] = Field(min_length=1)
    forbidden: tuple[Rule, ...] = ()

    def __repr__(self) -> str:
        """One line without levels and bounds: those of a draft were read from the rows."""
        n = len(self.columns)
        columns = f"{n:,} {'column' if n == 1 else 'columns'}"
        return f"Schema({self.title!r}, {columns}, rows {self.rows})"

    __str__ = __repr__

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if faults := (*self._faults_of_rows(), *self._faults_of_rules()):
            raise ValueError("\n".join(faults))
        return self

    def _faults_of_rows(self) -> Iterator[str]:
        if self.rows == "public" and self.n_rows is None:
            yield 'rows = "public" needs n_rows, the public number of rows'
        if self.rows == "private" and self.n_rows is not None:
            yield (
                'n_rows is for rows = "public"; with private rows the number is '
                "bought from the budget (row_limit may bound it)"
            )
        if self.rows == "public" and self.row_limit is not None:
            yield 'row_limit is for rows = "private"; rows = "public" has n_rows'

    def _faults_of_rules(self) -> Iterator[str]:
        faults = [fault for rule in self.forbidden for fault in rule.faults(self.columns)]
        yield from faults
        if faults:
            return
        try:
            if self.domain.n_allowed == 0:
                yield "the forbidden combinations leave no record possible; remove some"
        except SchemaError as error:  # too many combinations to count
            yield str(error)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, in the order of the release."""
        return tuple(self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each column, the undeclared out-of-domain state not counted."""
        return tuple(column.size for column in self.columns.values())

    @cached_property
    def domain(self) -> Domain:
        """Cells of the full cross-tabulation, with the structural zeros."""
        index = {name: j for j, name in enumerate(self.columns)}
        boxes = tuple(
            {index[name]: states for name, states in rule.states(self.columns).items()}
            for rule in self.forbidden
        )
        return Domain(self.sizes, boxes)

    def table(self, columns: Sequence[str]) -> Domain:
        """Cells of the cross-tabulation of some columns, with the rules over these alone.

        Args:
            columns: names, in the order of the axes.

        Raises:
            ValueError: an unknown name.
        """
        return self.domain.project([self.names.index(name) for name in columns])

    @property
    def neighbours(self) -> Literal["add_remove", "replace"]:
        """Which tables count as neighbours: those that differ by one record in this way."""
        return "replace" if self.rows == "public" else "add_remove"

    @property
    def vouched(self) -> tuple[tuple[str, Reviewed], ...]:
        """Everything whose entries a draft could have read from the rows, with its name."""
        fields = ((name, getattr(self, name)) for name in type(self).model_fields)
        parts = [(f"[{name}]", part) for name, part in fields if isinstance(part, Reviewed)]
        return (*parts, *self.columns.items())

    def require_reviewed(self) -> None:
        """Refuse a schema that still holds entries nobody has confirmed.

        Raises:
            SchemaError: names the entries and what to confirm.
        """
        entries = [f"column {name!r}" for name, col in self.columns.items() if not col.reviewed]
        entries += [f"rule “{rule.text}”" for rule in self.forbidden if not rule.reviewed]
        if self.file.drafted and not self.file.reviewed:
            entries.insert(0, "the table [file]")
        if entries:
            more = f" and {len(entries) - 5} more" if len(entries) > 5 else ""
            raise SchemaError(
                f"The schema is not reviewed: confirm that the entries of "
                f"{', '.join(entries[:5])}{more} come from public knowledge and not from the rows, "
                f"name their source, and set reviewed = true."
            )

    def released(self) -> Schema:
        """The schema as it leaves with a release: without the fingerprints of the draft."""
        if not any(part.drafted for _, part in self.vouched):
            return self
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        parts = {n: p.without_fingerprints() for n, p in fields.items() if isinstance(p, Reviewed)}
        columns = {name: column.without_fingerprints() for name, column in self.columns.items()}
        return self.model_copy(update={**parts, "columns": columns})

    def with_bins(self, bins: Mapping[str, int | tuple[Any, ...]]) -> Schema:
        """The same table in other bins; spikes and codes keep states of their own.

        Rules that would cut one of the new bins are left out, so that fewer cells are forbidden.

        Args:
            bins: numeric column → number of bins of equal width, or all edges; 1 stands for a
                single bin over the whole range.

        Raises:
            SchemaError: a column that is not numeric, or bins that do not fit it.
        """
        columns = dict(self.columns)
        for name, wanted in bins.items():
            columns[name] = _with_bins(name, columns.get(name), wanted)
        kept = tuple(rule for rule in self.forbidden if _fits(rule, columns))
        return self.model_copy(update={"columns": columns, "forbidden": kept})

    def with_groups(self, groups: Groups) -> Self:
        """The same table with some columns coarser; rules that would cut a group are left out.

        Args:
            groups: column → group of each of its states, those of absence included.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        coarse = {name: grouped_column(name, self.columns[name], g) for name, g in groups.items()}
        columns = {**self.columns, **coarse}
        rules = grouped_rules(self.forbidden, self.columns, columns, groups)
        return self.model_copy(update={"columns": columns, "forbidden": rules})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes, checked like any schema; what was computed once is not taken over.

        Args:
            update: entries to change.
            deep: accepted for pydantic's sake; everything inside is frozen.

        Raises:
            pydantic.ValidationError: the changed schema does not hold together.
        """
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **(update or {})})

    @classmethod
    def loads(cls, text: str) -> Schema:
        """Read a schema from TOML text.

        Raises:
            SchemaError: one sentence that names the entry, what is wrong and the fix.
        """
        require_text("A schema", text, SchemaError, "rows = 'private' …")
        return toml.loads(text, cls)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file.

        Raises:
            SchemaError: the file cannot be read, or its content is no schema.
        """
        try:
            text = path_of("The schema's file", path, SchemaError).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise SchemaError(f"The schema file {str(path)!r} cannot be read: {reason}.") from None
        return cls.loads(text)

    def dumps(self) -> str:
        """The schema as TOML text, defaults left out; `loads` gives back an equal schema."""
        content = self.model_dump(exclude_defaults=True)
        unit = {"rows_per_unit": self.unit.rows_per_unit, **content.pop("unit", {})}
        head = {"format": self.format, "rows": self.rows}
        return toml.dumps({**head, **content, "unit": unit})

    def save(self, path: str | Path) -> None:
        """Write the schema to a TOML file.

        Raises:
            SchemaError: the file cannot be written.
        """
        place = path_of("The schema's file", path, SchemaError)
        try:
            place.write_text(self.dumps(), encoding="utf-8")
        except OSError as error:
            raise SchemaError(
                f"The schema file {str(path)!r} cannot be written: {error.strerror}."
            ) from None

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """JSON Schema (2020-12) of the file format, for editors and other programs."""
        kinds = (Categorical, Ordinal, Boolean, Integer, Continuous, Date)
        return json_schema(
            cls, Unit, FileFormat, Rule, Range, *kinds, title="Understudy table schema"
        )


def _with_bins(name: str, column: Column | None, bins: int | tuple[Any, ...]) -> Column:
    if not isinstance(column, NUMERIC):
        raise SchemaError(f"There is no numeric column {name!r} that could be put into bins.")
    try:
        return type(column).model_validate({**column.model_dump(), "bins": bins})
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise SchemaError(f"These bins do not fit the column {name!r}: {message}.") from None


def _fits(rule: Rule, columns: dict[str, Column]) -> bool:
    """Whether a rule names whole bins."""
    try:
        rule.states(columns)
    except SchemaError:
        return False
    return True
