"""The schema: everything that is public about a table before anyone looks at its rows.

**Who is protected: the unit whose rows a guarantee is about.**

**Whether what a schema says of the number of rows fits together.**

**Which population a table is of, whose ledger counts what its releases cost.**

**A schema as a public function is given it (itself, or the path of its file); and a safe copy.**
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy import _notebook
from understudy._validation import kind_of, require_text
from understudy.errors import SchemaError, name_fault
from understudy.schema import toml
from understudy.schema.base import Reviewed
from understudy.schema.coarsening import (
    Groups,
    column_in_bins,
    fits,
    grouped_column,
    grouped_rules,
    stand_in_column,
)
from understudy.schema.columns import (
    COLUMN_MODELS,
    AnyColumn,
    Categorical,
    Column,
    Identifier,
    Ordinal,
)
from understudy.schema.constraints import (
    Box,
    Range,
    Relation,
    Rule,
    rebin_relations,
    relation_boxes,
)
from understudy.schema.derived import MemberCount, derived_faults
from understudy.schema.design import Design, DesignEffect, SamplingFraction
from understudy.schema.domain import Domain
from understudy.schema.file_format import FileFormat
from understudy.schema.geography import ExactTotals, Geography
from understudy.schema.households import Among, KeptFirst, LeastDistance, Members

UNTITLED: Final = "Untitled synthetic data"
_UNSAID: Final = {
    "title": ("what a release is called", 'title = "…"'),
    "unit": ("whom one row stands for", '[unit] description = "one …"'),
}
"""What it is, and the entry that says it."""


class Unit(BaseModel):
    """Who is protected.

    Attributes:
        rows_per_unit: most rows of the table that one protected unit can have: 1. A unit of several
            rows, such as a household, is declared as a table with members (`schema.households`).
        table: of two tables, the one whose rows are protected: that of units, each with all its
            members, or that of members, each by itself.
        description: the unit in words.
        of: of members by themselves, the table of their units; "" in all other schemas.
        key: of members by themselves, the column that links both tables. It is never released.
        beside: of members by themselves, columns of their units, which stand beside each member.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    rows_per_unit: int = Field(default=1, ge=1, json_schema_extra={"maximum": 1})
    table: str = ""
    description: str = ""
    of: str = ""
    key: str = ""
    beside: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Who is one record, and what the promise does not cover, in sentences; "" if it is a row.

        **Why nothing is cut and nothing doubled.** Each row of members is a record, with the
        columns of its unit as they are given. These columns do not depend on who else is in the
        unit: its size and numbers of members are refused. So one member more, less or changed is
        one record more, less or changed, and every statistic has the sensitivity that it has of any
        flat table. A cut to M members would double it: a member who comes may push another one
        out (`tests/lemmas/test_units.py` enumerates both).
        """
        if not self.of:
            return ""
        return (
            f"One record is a row of the table {self.table!r}, with columns of its row of "
            f"{self.of!r} beside it. The promise is about one row of {self.table!r}, not about all "
            f"rows of one {self.of}. What {self.of!r} says stands beside each of them, so it is "
            "protected as a group of so many records is. Nobody is cut, however many rows belong "
            "together, and nothing tells which ones do."
        )

    @model_validator(mode="after")
    def _one_row(self) -> Unit:
        if self.rows_per_unit > 1:
            raise ValueError(
                "rows_per_unit above 1 belongs to a table of members: declare the units and their "
                "rows as two tables, [tables.household] and [tables.person] with of, key and "
                "rows_per_unit"
            )
        return self


def row_faults(rows: str, n_rows: int | None, row_limit: int | None) -> Iterator[str]:
    """List what is wrong with entries about the number of rows, a sentence each.

    Args:
        rows: "public" or "private".
        n_rows: the public number.
        row_limit: public upper limit of a private number.
    """
    if rows == "public" and n_rows is None:
        yield 'rows = "public" needs n_rows, the public number of rows'
    if rows == "private" and n_rows is not None:
        yield (
            'n_rows is for rows = "public"; with private rows the number is '
            "bought from the budget (row_limit may bound it)"
        )
    if rows == "public" and row_limit is not None:
        yield 'row_limit is for rows = "private"; rows = "public" has n_rows'


class LedgerBinding(BaseModel):
    """The population whose ledger governs the budget of this table.

    Attributes:
        population: its name in the ledger; "" for a table that no ledger governs. A schema that
            names one is refused wherever the ledger cannot be reached.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    population: str = Field(default="", max_length=200)


class Schema(BaseModel):
    """Public description of a table: columns, bounds, impossible combinations, who is protected.

    Attributes:
        format: version of the file format.
        title: of the table.
        rows: "private": the number of rows is protected, neighbouring tables differ by one record
            added or removed. "public": it is declared in `n_rows`, neighbouring tables differ by
            one replaced.
        n_rows: the public number of rows, only with rows = "public".
        row_limit: public upper limit of the noisy number of rows, for private rows only.
        unit: who.
        ledger: the population of the rows.
        design: how records were drawn: weights, and what is known of strata and clusters.
        geography: levels of places whose tables are measured, and totals that are public.
        file: how the rows are written, where they come as a delimited text file.
        members: which columns are slots of members of a household; None for a flat table.
        columns: name → column, in order. In Python, `columns` are those that are measured,
            `declared` are all.
        forbidden: combinations that cannot occur (structural zeros).
        relations: inequalities and hierarchies that hold for everybody.

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
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, serialize_by_alias=True
    )

    format: Literal[1] = 1
    title: str = ""
    rows: Literal["private", "public"] = "private"
    n_rows: int | None = Field(default=None, ge=0)
    row_limit: int | None = Field(default=None, ge=1)
    unit: Unit = Unit()
    ledger: LedgerBinding = LedgerBinding()
    design: Design = Design()
    geography: Geography = Geography()
    file: FileFormat = FileFormat()
    members: Members | None = None
    declared: dict[str, AnyColumn] = Field(alias="columns", min_length=1)
    forbidden: tuple[Rule, ...] = ()
    relations: tuple[Relation, ...] = ()

    def __repr__(self) -> str:
        """One line without levels and bounds: those of a draft were read from the rows."""
        columns = f"{len(self.declared):,} column{'s' if len(self.declared) != 1 else ''}"
        return f"Schema({self.title!r}, {columns}, rows {self.rows})"

    __str__ = __repr__

    @property
    def heading(self) -> str:
        """The title as pages and files bear it; they say so where nobody gave one."""
        return self.title or UNTITLED

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Fields that no rows tell and the schema does not state either: "title", "unit"."""
        unit = self.unit.description or self.unit.told or self.members
        return tuple(name for name, said in (("title", self.title), ("unit", unit)) if not said)

    @property
    def unsaid_words(self) -> str:
        """A sentence on what releases will not say unless it is set; "" for nothing."""
        words = [_UNSAID[name] for name in self.unsaid]
        if not words:
            return ""
        what, entries = zip(*words, strict=True)
        return (
            f"The schema does not say {' or '.join(what)}; set {' and '.join(entries)} there "
            "before a release is made."
        )

    def _repr_html_(self) -> str:
        columns = [
            (name, column.kind, "yes" if column.reviewed else "no", column.source)
            for name, column in self.declared.items()
        ]
        return _notebook.grid(repr(self), ["column", "kind", "reviewed", "source"], columns)

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        rows = row_faults(self.rows, self.n_rows, self.row_limit)
        if faults := (*rows, *self._faults_of_names(), *self._faults_of_rules()):
            raise ValueError("\n".join(faults))
        return self

    def _faults_of_names(self) -> Iterator[str]:
        for place, name in enumerate(self.declared, start=1):
            if fault := name_fault(name):
                yield f"column {place} {fault}; give it another name, in the table as well"

    def _faults_of_rules(self) -> Iterator[str]:
        if faults := [*derived_faults(self.stated)] if self.derived else []:
            yield from faults
            return
        if not self.columns:
            yield "every column is an identifier, so that nothing is measured; declare others"
        if self.members is not None:
            yield from self.members.faults(self.declared)
        faults = [fault for rule in self.forbidden for fault in rule.faults(self.columns)]
        faults += [fault for one in self.relations for fault in one.faults(self.columns)]
        faults += self.design.faults(self.columns)
        places = self.geography.faults(self.columns, self.relations)
        faults += [f"[geography] {fault}" for fault in places]
        yield from faults
        if faults:
            return
        try:
            if self.domain.n_allowed == 0:
                yield "the forbidden combinations leave no record possible; remove some"
        except (SchemaError, ValueError) as error:  # too many combinations to count; a circle
            several = isinstance(error, SchemaError) and self.members is not None
            yield (self.members.interlocked if several and self.members else "") or str(error)
            return
        for names in self.geography.tables:
            if self.table(names).boxes:
                yield (
                    f"a rule forbids cells of {' × '.join(names)}, and tables of places need all "
                    "of theirs; leave a column out of [geography] by"
                )
                return

    @property
    def linked(self) -> Members | Unit | None:
        """The links between two tables; None for one flat table."""
        return self.members or (self.unit if self.unit.of else None)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Columns that are measured: those without a rule by which they are computed."""
        return {name: column for name, column in self.stated.items() if column.derived is None}

    @cached_property
    def derived(self) -> dict[str, Column]:
        """Columns that are computed from others, name → column, in the order of the release."""
        return {name: one for name, one in self.stated.items() if one.derived is not None}

    @cached_property
    def stated(self) -> dict[str, Column]:
        """Columns with states, measured or derived, in the order of the release."""
        return {n: one for n, one in self.declared.items() if not isinstance(one, Identifier)}

    @cached_property
    def identifiers(self) -> dict[str, Identifier]:
        """Columns that each synthetic set has anew, in the order of the release."""
        return {n: one for n, one in self.declared.items() if isinstance(one, Identifier)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the measured columns, in the order of the release."""
        return tuple(self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each column, the undeclared out-of-domain state not counted."""
        return tuple(column.size for column in self.columns.values())

    @cached_property
    def domain(self) -> Domain:
        """Cells of the full cross-tabulation, with the structural zeros."""
        index = {name: j for j, name in enumerate(self.columns)}
        boxes = ({index[name]: states for name, states in box.items()} for _, box in self.boxes)
        return Domain(self.sizes, tuple(boxes))

    @cached_property
    def boxes(self) -> tuple[tuple[str, Box], ...]:
        """Boxes that rules and relations forbid, in this order: the text, and states by column."""
        rules = tuple((rule.text, rule.states(self.columns)) for rule in self.forbidden)
        return (*rules, *self._related)

    @cached_property
    def _related(self) -> tuple[tuple[str, Box], ...]:
        """Boxes that relations alone forbid; asked for again with every grouping."""
        return relation_boxes(self.relations, self.columns)

    def table(self, columns: Sequence[str]) -> Domain:
        """Cells of the cross-tabulation of some columns, with the rules over these alone.

        Args:
            columns: names, in the order of the axes.

        Raises:
            ValueError: an unknown name.
        """
        return self.domain.project([self.names.index(name) for name in columns])

    @property
    def most_rows(self) -> int | None:
        """Public number of rows, or their public limit; None where neither is declared."""
        return self.n_rows if self.rows == "public" else self.row_limit

    @property
    def neighbours(self) -> Literal["add_remove", "replace"]:
        """Kind of neighbours: tables that differ by one record in this way."""
        return "replace" if self.rows == "public" else "add_remove"

    @property
    def vouched(self) -> tuple[tuple[str, Reviewed], ...]:
        """Everything whose entries a draft could have read from the rows, with its name."""
        fields = ((name, getattr(self, name)) for name in type(self).model_fields)
        parts = [(f"[{name}]", part) for name, part in fields if isinstance(part, Reviewed)]
        return (*parts, *self.declared.items())

    def require_reviewed(self) -> None:
        """Refuse a schema that still holds entries nobody has confirmed.

        Raises:
            SchemaError: names the entries and what to confirm.
        """
        entries = [f"column {name!r}" for name, col in self.declared.items() if not col.reviewed]
        entries += [f"rule “{rule.text}”" for rule in self.forbidden if not rule.reviewed]
        entries += [f"relation “{one.text}”" for one in self.relations if not one.reviewed]
        if self.file.drafted and not self.file.reviewed:
            entries.insert(0, "the table [file]")
        if entries:
            more = f" and {len(entries) - 5} more" if len(entries) > 5 else ""
            raise SchemaError(
                f"The schema is not reviewed: confirm that the entries of {', '.join(entries[:5])}"
                f"{more} come from public knowledge and not from the rows, name their source, and "
                "set reviewed = true; `understudy schema review` asks for each."
            )

    def strip_fingerprints(self) -> Schema:
        """The schema as it leaves with a release: without the fingerprints of the draft.

        It also does not say which entries were confirmed though they stand as drafted.
        """
        if not any(part.drafted or part.confirmed for _, part in self.vouched):
            return self
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        parts = {n: p.without_fingerprints() for n, p in fields.items() if isinstance(p, Reviewed)}
        columns = {name: column.without_fingerprints() for name, column in self.declared.items()}
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
        key = repr(sorted(bins.items()))
        if key not in self._in_bins:
            columns = dict(self.columns)
            for name, wanted in bins.items():
                columns[name] = column_in_bins(name, columns.get(name), wanted)
            kept = tuple(rule for rule in self.forbidden if fits(rule, columns))
            relations = rebin_relations(self.relations, self.columns, columns)
            declared = {**self.declared, **columns}
            changed = {"columns": declared, "forbidden": kept, "relations": relations}
            self._in_bins[key] = self.model_copy(update=changed)
        return self._in_bins[key]

    @cached_property
    def _in_bins(self) -> dict[str, Schema]:
        """Schemas that `with_bins` gave: checking hundreds of rules is as slow as a round's fit."""
        return {}

    @cached_property
    def worked_out(self) -> dict[str, Any]:
        """Consequences that are asked for again and again, kept by other rooms."""
        return {}

    def part(self, names: Collection[str]) -> Self:
        """The same table without its other columns, and without all that names one of these.

        Args:
            names: of columns that are measured.
        """
        return self.model_copy(
            update={
                "members": None,
                "columns": {name: self.columns[name] for name in self.columns if name in names},
                "forbidden": tuple(r for r in self.forbidden if set(r.where) <= set(names)),
                "relations": tuple(r for r in self.relations if set(r.columns) <= set(names)),
                "design": self.design.part(names),
                "geography": self.geography.part(names),
            }
        )

    def with_groups(self, groups: Groups) -> Self:
        """The same table with some columns coarser; rules that would cut a group are left out.

        So are derived columns and slots of members; relations become rules.

        Args:
            groups: column → group of each of its states, those of absence included.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        coarse = {name: grouped_column(name, self.columns[name], g) for name, g in groups.items()}
        return self._with_coarse(coarse, groups)

    def with_stand_ins(self, groups: Groups, absent: Mapping[str, Collection[int]]) -> Self:
        """The same as `with_groups`, but each group has the name of one of its levels.

        So a condition can be asked of it that holds for all of a group, or for none.

        Args:
            groups: column of levels → group of each of its states, those of absence included.
            absent: column → groups that count as absence, which have the last numbers.

        Raises:
            SchemaError: no levels can stand for the groups.
        """
        coarse: dict[str, Column] = {}
        for name, own in groups.items():
            column = self.columns[name]
            assert isinstance(column, Categorical | Ordinal)
            coarse[name] = stand_in_column(column, own, absent[name])
        return self._with_coarse(coarse, groups)

    def _with_coarse(self, coarse: Mapping[str, Column], groups: Groups) -> Self:
        columns = {**self.columns, **coarse}
        all_rules = (*self.forbidden, *(Rule.of_states(box) for _, box in self._related))
        rules = grouped_rules(all_rules, self.columns, columns, groups)
        design = self.design.part([name for name in self.names if name not in groups])
        left_out = {"relations": (), "members": None, "design": design, "geography": Geography()}
        return self.model_copy(update={"columns": columns, "forbidden": rules, **left_out})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes, checked like any schema; what was computed once is not taken over.

        Args:
            update: entries to change.
            deep: accepted for pydantic's sake; everything inside is frozen.

        Raises:
            pydantic.ValidationError: the changed schema does not hold together.
        """
        known = type(self).model_fields.items()
        fields = {field.alias or name: getattr(self, name) for name, field in known}
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
        return toml.loads(toml.file_text(path), cls, Path(path).absolute())

    def dumps(self) -> str:
        """The schema as TOML text, defaults left out; `loads` gives back an equal schema."""
        content = self.model_dump(exclude_defaults=True, by_alias=True)
        unit = {"rows_per_unit": self.unit.rows_per_unit, **content.pop("unit", {})}
        return toml.dumps({"format": self.format, "rows": self.rows, **content, "unit": unit})

    def save(self, path: str | Path) -> None:
        """Write the schema to a TOML file.

        Raises:
            SchemaError: the file cannot be written.
        """
        toml.write_text(path, self.dumps())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """JSON Schema (2020-12) of the file format."""
        inner: list[type[BaseModel]] = [Unit, LedgerBinding, Design, DesignEffect, SamplingFraction]
        inner += [Geography, ExactTotals, FileFormat]
        inner += [Rule, Range, Relation, Among, KeptFirst, LeastDistance, MemberCount, Members]
        inner += COLUMN_MODELS
        return toml.json_schema(cls, *inner, title="Understudy table schema")


def given_schema(schema: object) -> Schema:
    """The schema, read from its file if a path is given.

    Raises:
        SchemaError: neither a schema nor a path, or the file cannot be read or is no schema.
    """
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | Path):
        return Schema.load(schema)
    raise SchemaError(
        "The schema must be a Schema, or the path of its TOML file, not "
        f"{kind_of(schema)}; the data come first, then the schema."
    )


def private_copy(schema: Schema) -> Schema:
    """An equal schema of which nothing is shared, made of the entries alone.

    What was put beside the entries (a function in the place of a method, a value in the place of
    one that is computed once) is left behind.
    """
    return Schema.model_validate(Schema.__pydantic_serializer__.to_python(schema, by_alias=True))
