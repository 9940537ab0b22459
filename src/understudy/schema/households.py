"""Households: a table of units and a table of their members, declared as one wide table.

A unit (a household, a patient) with its members (persons, visits) is *one record* of a wide table:
the unit's columns, the number of members, and a *slot* for each of at most `rows_per_unit` members.
Each slot holds every column of the members' table, with one more code, `NO_MEMBER`. Neighbouring
tables then differ by one record of the wide table, whatever its members are. So everything that
holds for a table of single records holds for units: sensitivities, rules, ledger, answers.

Two tables are written in one schema::

    [unit]
    table = "household"

    [tables.household]
    key = "hid"

    [tables.household.columns.region]
    …

    [tables.person]
    of = "household"
    key = "hid"
    rows_per_unit = 6
    order = ["role", "-age"]

    [tables.person.columns.age]
    …

`[unit] table = "person"` protects members by themselves. That is a flat table of members, beside
whom the columns of their unit stand: no slots, no cut, and a sensitivity of 1 (`schema.Unit`).

The wide schema that this stands for is what everything else reads: `widen_tables` makes it. Its
entry `members` says which columns are slots, so that a release gives both tables back.

**Rules across members.** Each becomes forbidden combinations of slots::

    [[tables.person.rules]]
    exactly = 1
    where = { role = "reference" }

    [[tables.person.rules]]
    between = { role = ["reference", "child"] }
    inequality = "reference.age >= child.age + 14"

Source of the coding: the design of wide tables follows the practice of nested multinomial models of
households (Hu, Reiter and Wang 2018), where a household is one observation as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from understudy.errors import SchemaError, name_fault, suggestion
from understudy.schema.base import UNCONFIRMED, Reviewed, Value, same_value, text_of
from understudy.schema.columns import NUMERIC, AnyColumn, Column, Identifier
from understudy.schema.constraints import Rule
from understudy.schema.derived import MemberCount, is_count, read_count, zeros_of_counts
from understudy.schema.numeric import Continuous, Integer
from understudy.schema.references import resolve_references
from understudy.schema.validation import all_faults, told_together

NO_MEMBER: Final = "no member"
"""Code of every column of a slot that holds nobody."""

MOST_MEMBERS: Final = 30
_MOST_RULES: Final = 2_000
"""Forbidden combinations that one rule across members may become."""

_TABLE_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")

_T = TypeVar("_T", bound=BaseModel)
_INEQUALITY = re.compile(
    r"\s*(?P<left>[^.]+)\.(?P<one>\S+)\s*(?P<sign><=|>=|<|>)"
    r"\s*(?P<right>[^.]+)\.(?P<two>\S+?)\s*(?:(?P<plus>[+-])\s*(?P<by>\d+(?:\.\d+)?)\s*)?"
)


class Among(BaseModel):
    """A step of a canonical order: the first few members are put in another order.

    Attributes:
        among: how many of those that come first so far.
        by: columns that put these in order; "-" before a name: largest first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    among: int = Field(ge=2)
    by: tuple[str, ...] = Field(min_length=1)


class KeptFirst(BaseModel):
    """Whom a cut keeps before others.

    Attributes:
        first: a column of the members.
        levels: members with these are kept first, in this order; all others by chance.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: str
    levels: tuple[Value, ...] = Field(min_length=1)


class LeastDistance(BaseModel):
    """An inequality between two members of a unit, as released records keep to it.

    Attributes:
        role: column that tells who is concerned; "" where it is always the first member.
        larger: level of `role` of the member with the larger number.
        smaller: level of `role` of the member with the smaller number.
        columns: of the larger and of the smaller number.
        distance: by which the one exceeds the other at least.
        ends: upper ends of the declared bins of the larger number, ascending.
        starts: lower ends of the declared bins of the smaller number, ascending.
        first: whether the larger number is always that of the first member.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    role: str
    larger: Value
    smaller: Value
    columns: tuple[str, str]
    distance: float
    ends: tuple[float, ...] = Field(min_length=1)
    starts: tuple[float, ...] = Field(min_length=1)
    first: bool = False


class Members(BaseModel):
    """The layout of a wide table that holds units with their members.

    Attributes:
        table: name of the members' table.
        of: name of the units' table.
        key: column that says to which unit a row belongs. It is read to group rows, never released;
            released keys are numbers by chance.
        size: column of the number of members; the number beyond `rows_per_unit` stands for more.
        columns: of the members' table; member j of a unit has them with "_j" behind their names.
        rows_per_unit: most members of a unit that are used, a public number. Of larger units a
            random choice is used.
        order: canonical order of the members of a unit: columns, "-" before one for largest first,
            and steps for the first few. Ties are put in order by chance.
        cut: whom the choice from larger units keeps first; None for nobody.
        distances: inequalities between members that released records keep to.
        counts: columns of units that count their members of a kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    table: str
    of: str
    key: str
    size: str
    columns: tuple[str, ...] = Field(min_length=1)
    rows_per_unit: int = Field(ge=1, le=MOST_MEMBERS)
    order: tuple[str | Among, ...] = ()
    cut: KeptFirst | None = None
    distances: tuple[LeastDistance, ...] = ()
    counts: tuple[MemberCount, ...] = ()

    @model_validator(mode="after")
    def _has_tables(self) -> Self:
        if faults := [*_table_faults((self.of, self.table))]:
            raise ValueError("\n".join(faults))
        return self

    @property
    def slots(self) -> tuple[tuple[str, ...], ...]:
        """Columns of the wide table that hold each member; one tuple a slot."""
        return tuple(
            tuple(slot_column(name, j) for name in self.columns)
            for j in range(1, self.rows_per_unit + 1)
        )

    def slots_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Columns of the wide table that hold some columns of the members, slot by slot."""
        slots = range(1, self.rows_per_unit + 1)
        return tuple(slot_column(name, j) for j in slots for name in names)

    @property
    def told(self) -> str:
        """Who is one record, and whom it holds, in sentences."""
        most = self.rows_per_unit
        first = ""
        if self.cut is not None:
            levels = ", ".join(text_of(level) for level in self.cut.levels)
            first = f" after those with {self.cut.first} = {levels}"
        return (
            f"One record is a row of the table {self.of!r} with all its rows of the table "
            f"{self.table!r}, at most {most} of them. Of more, {most} were used, drawn by "
            f"chance{first}; {self.size} = {most + 1} says that there were more. The promise is "
            f"about everything that one row of {self.of!r} and all its rows of {self.table!r} say. "
            f"{self.key} links both tables: it is a number by chance and says nothing else."
        )

    @property
    def interlocked(self) -> str:
        """Advice where rules interlock in too many ways; "" without inequalities of members."""
        role = next((one.role for one in self.distances if not one.first), "")
        return role and (
            "An inequality between members becomes combinations that interlock in too many ways; "
            f"let `order` begin with {role!r} and say by exactly or at_most how many members have "
            "the level of the larger number and each level before it, or use wider bins."
        )

    def faults(self, declared: Mapping[str, object]) -> Iterator[str]:
        """List what does not fit the columns of the wide table, a sentence each."""
        wanted = (self.key, self.size, *itertools.chain.from_iterable(self.slots))
        lacking = [name for name in wanted if name not in declared]
        for name in lacking:
            yield f"[members] needs the column {name!r}, which the schema does not have"
        if lacking:
            return
        if not isinstance(declared[self.key], Identifier):
            yield f"[members] has the key {self.key!r}, which is no identifier; make it one"
        size, most = declared[self.size], self.rows_per_unit + 1
        if not isinstance(size, Integer) or size.upper != most:
            yield f"[members] needs whole numbers up to {most} in the column {self.size!r}"
        yield from self._faults_of_slots(declared)
        known = {*self.columns}
        named = [*(name.removeprefix("-") for name in _order_names(self.order))]
        named += [self.cut.first] if self.cut else []
        named += [name for one in self.distances for name in (one.role, *one.columns)]
        named += [name for one in self.counts for name in one.where]
        for name in dict.fromkeys(name for name in named if name not in known):
            yield f"[members] names {name!r}, which is no column of {self.table!r}"
        yield from self._faults_of_counts(declared)

    def _faults_of_counts(self, declared: Mapping[str, Any]) -> Iterator[str]:
        for one in self.counts:
            column = declared.get(one.column)
            if not isinstance(column, Integer) or column.bounds != (0, self.rows_per_unit):
                yield (
                    f"[members] counts members in {one.column!r}, which is no column of whole "
                    f"numbers from 0 to {self.rows_per_unit}"
                )

    def _faults_of_slots(self, declared: Mapping[str, Any]) -> Iterator[str]:
        """Slots hold the same column, which only one that may be empty has a code for nobody."""
        for name in self.columns:
            own = [declared[slot_column(name, j)] for j in range(1, self.rows_per_unit + 1)]
            empty = [NO_MEMBER in getattr(one, "not_applicable", ()) for one in own]
            if any(isinstance(one, Identifier) or one.derived is not None for one in own):
                yield f"[members] has the column {name!r}, which is not measured in every slot"
            elif any(_alike(one) != _alike(own[0]) for one in own):
                yield f"[members] has the column {name!r}, which differs between slots"
            elif not all(empty[1:]):
                yield f"[members] has the column {name!r}, which lacks {NO_MEMBER!r} in a slot"

    def least(self, declared: Mapping[str, Any]) -> int:
        """Fewest members of a unit: none where such units are declared, else one."""
        return int(declared[self.size].lower)

    def member_columns(self, declared: Mapping[str, Any]) -> dict[str, Column]:
        """Columns of the members' table, as each was declared before it had slots.

        Args:
            declared: columns of the wide table.
        """
        first = {name: declared[slot_column(name, 1)] for name in self.columns}
        return {name: _without_absence(column) for name, column in first.items()}

    def unit_columns(self, declared: Mapping[str, Any]) -> dict[str, AnyColumn]:
        """Columns of the units' table: those of the wide table that are no slots."""
        slots = {*itertools.chain.from_iterable(self.slots)}
        return {name: column for name, column in declared.items() if name not in slots}


def _table_faults(names: Sequence[str]) -> Iterator[str]:
    """Return what is wrong with the names of two tables, which become parts of names of files."""
    for name in names:
        if not _TABLE_NAME.fullmatch(name):
            yield (
                f"the table {name!r} has a name that is no name of a file everywhere; use up to 64 "
                "letters (a to z), digits and underscores"
            )
    if len({name.lower() for name in names}) < len(names):
        yield "both tables have one name; rename one of them"


def slot_column(name: str, j: int) -> str:
    """The column of the wide table that holds a column of member j, counted from 1."""
    return f"{name}_{j}"


def state_of_nobody(column: Any) -> int:
    """The state of a column of a slot that may be empty, where it holds nobody."""
    return int(column.n_ordinary + column.codes.index(NO_MEMBER))


def _without_absence(column: Column) -> Column:
    kept = tuple(code for code in column.not_applicable if code != NO_MEMBER)
    return column.model_copy(update={"not_applicable": kept})


def _alike(column: Column) -> Column:
    """Return what all slots of a column have in common: measurements may see one in other bins."""
    own = _without_absence(column)
    return own.model_copy(update={"bins": None}) if isinstance(own, NUMERIC) else own


class UnitTable(BaseModel):
    """The table of units, as it stands in a file.

    A column with `derived = "count(person where age < 16)"` counts members (`schema.derived`).

    Attributes:
        key: column that tells units apart. It is read to group rows, never released.
        size: name of the column of the number of members, which is made.
        empty: whether there are units without members.
        columns: name → column, in order.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    key: str
    size: str = "size"
    empty: bool = False
    columns: dict[str, Any] = {}


class MemberRule(BaseModel):
    """A rule across members of a unit, as it stands in a file.

    Attributes:
        exactly: so many members have the values in `where`.
        at_most: not more than so many have them.
        at_least: not fewer than so many have them.
        where: column → value, values or range.
        between: column → two of its values, whose members an inequality compares.
        inequality: of numbers of these two, such as "reference.age >= child.age + 14".
        source: where that stands.
        reviewed: somebody has confirmed that it is public knowledge.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    exactly: int | None = Field(default=None, ge=1)
    at_most: int | None = Field(default=None, ge=0)
    at_least: int | None = Field(default=None, ge=1)
    where: dict[str, Any] = {}
    between: dict[str, tuple[Value, Value]] = {}
    inequality: str = ""
    source: str = ""
    reviewed: bool = False

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        counts = [k for k in (self.exactly, self.at_most, self.at_least) if k is not None]
        counted = len(counts) == 1 and bool(self.where) and not (self.between or self.inequality)
        compared = not counts and not self.where and len(self.between) == 1 and self.inequality
        if not (counted or compared):
            raise ValueError(
                "a rule across members has one of exactly, at_most, at_least with `where`; or "
                '`between` with `inequality`, such as "reference.age >= child.age + 14"'
            )
        return self

    @property
    def text(self) -> str:
        """The rule in words, for people."""
        if self.inequality:
            return self.inequality
        told = [
            f"{words} {number}"
            for words, number in (
                ("exactly", self.exactly),
                ("at most", self.at_most),
                ("at least", self.at_least),
            )
            if number is not None
        ]
        return f"{told[0]} with {Rule.model_validate({'where': self.where}).text}"


class MemberTable(Reviewed):
    """The table of members, as it stands in a file.

    Attributes:
        of: name of the table of their units.
        key: column that says to which unit a row belongs. It is read to group rows, never released.
        rows_per_unit: most members of a unit that are used, a public number.
        order: canonical order of the members of a unit: columns, "-" before one for largest first,
            and steps for the first few.
        cut: whom the choice from larger units keeps first, all others by chance. "random": those
            whom a rule across members wants in every unit.
        columns: name → column, in order.
        forbidden: combinations that no member has; columns of units may stand in them.
        relations: inequalities and hierarchies that hold for every member.
        rules: across members of a unit.
        source: where the number of slots comes from, such as the questionnaire.
        reviewed: somebody has confirmed that `rows_per_unit` and `order` are public knowledge.
    """

    readable: ClassVar[tuple[str, ...]] = ("rows_per_unit",)

    of: str
    key: str
    rows_per_unit: int = Field(ge=1, le=MOST_MEMBERS)
    order: tuple[str | Among, ...] = ()
    cut: Annotated[KeptFirst | str, Field(union_mode="left_to_right")] = "random"
    columns: dict[str, Any] = Field(min_length=1)
    forbidden: tuple[dict[str, Any], ...] = ()
    relations: tuple[dict[str, Any], ...] = ()
    rules: tuple[MemberRule, ...] = ()


def read_tables(
    content: Mapping[str, Any],
) -> tuple[tuple[str, UnitTable], tuple[str, MemberTable]]:
    """The table of units and that of their members, each with its name, as they stand in a file.

    Args:
        content: of a schema of two tables.

    Raises:
        SchemaError: they are not two such tables.
    """
    return _two_tables(
        _with_a_slot(content["tables"], (content.get("unit") or {}).get("table", ""))
    )


def widen_tables(
    content: Mapping[str, Any], model: type[BaseModel], folder: Path | None
) -> dict[str, Any]:
    """Turn the content of a schema of two tables into that of the wide table.

    Args:
        content: as it was read from TOML, with `tables`; stays as it is.
        model: of a schema, by which the columns of each table are checked.
        folder: where files that it refers to stand; None for a text that refers to none.

    Raises:
        SchemaError: every fault that was found, by its place.
    """
    rest = {key: value for key, value in content.items() if key != "tables"}
    if "columns" in rest:
        raise _fault("columns of a schema with [tables] stand in its tables, not in [columns]")
    protected = (rest.get("unit") or {}).get("table", "")
    tables = _with_a_slot(content["tables"], protected)
    (unit_name, units), (member_name, members) = _two_tables(tables)
    if protected not in ("", unit_name, member_name):
        raise _fault(
            f"[unit] protects {protected!r}, which is no table"
            f"{suggestion(protected, [unit_name, member_name])}"
        )
    alone = protected == member_name
    if alone and (members.rules or any(map(_counts_members, units.columns.values()))):
        raise _fault(
            f"[unit] protects {member_name!r}, and rules across members and columns that count "
            f"them tell of several at once: write table = {unit_name!r}, or leave them out"
        )
    counts = _taken_counts(units, unit_name, members.rows_per_unit)
    unit_columns = _checked_columns(rest, unit_name, (units, members), model, folder)
    own_columns = _checked_columns(rest, member_name, (members, units), model, folder)
    names, columns = (unit_name, member_name), (unit_columns, own_columns)
    if alone:
        return _persons(rest, names, (units, members), columns)
    wide = _Wide(names, (units, members), columns)
    rest = {key: value for key, value in rest.items() if key not in ("lists", "defaults")}
    wide.require_names()
    rules, distances = wide.rules()
    counted = wide.counts(counts)
    rules += wide.rules_of_counts(counted)
    return {
        **rest,
        "unit": {"table": unit_name, **(rest.get("unit") or {})},
        "members": wide.members(distances, counted),
        "columns": wide.columns(),
        "forbidden": [*rest.get("forbidden", []), *wide.absences(), *wide.own_rules(), *rules],
        "relations": [*rest.get("relations", []), *wide.own_relations()],
    }


def _with_a_slot(tables: object, protected: str) -> object:
    """The tables; members who are protected by themselves need no number of slots."""
    if not isinstance(tables, Mapping) or not isinstance(tables.get(protected), Mapping):
        return tables
    own = tables[protected]
    return {**tables, protected: {"rows_per_unit": 1, **own}} if "of" in own else tables


def _counts_members(column: object) -> bool:
    return isinstance(column, Mapping) and is_count(column.get("derived"))


def _persons(
    rest: Mapping[str, Any],
    names: tuple[str, str],
    tables: tuple[UnitTable, MemberTable],
    columns: tuple[dict[str, Any], dict[str, Any]],
) -> dict[str, Any]:
    """The flat schema of members by themselves, with the columns of their units beside them."""
    (of, table), (units, members), (unit_columns, own) = names, tables, columns
    twice = next((name for name in own if name in unit_columns), None)
    if twice is not None:
        raise _fault(f"both tables have a column {twice!r}; rename one of them")
    if units.key in (*own, *unit_columns):
        raise _fault(
            f"the key {units.key!r} is declared as a column; it links rows and is never released, "
            "so leave it out"
        )
    beside = [
        name
        for name, one in unit_columns.items()
        if not one.get("derived") and one.get("kind") != "identifier"
    ]
    unit = {"of": of, "key": units.key, "beside": beside}
    return {
        **{key: value for key, value in rest.items() if key not in ("lists", "defaults")},
        "unit": {**(rest.get("unit") or {}), "table": table, **unit},
        "columns": {**unit_columns, **own},
        "forbidden": [*rest.get("forbidden", []), *members.forbidden],
        "relations": [*rest.get("relations", []), *members.relations],
    }


def _fault(text: str) -> SchemaError:
    return SchemaError(told_together([text]))


def _two_tables(tables: object) -> tuple[tuple[str, UnitTable], tuple[str, MemberTable]]:
    """The table of the units and that of their members."""
    if not isinstance(tables, Mapping) or not all(isinstance(t, Mapping) for t in tables.values()):
        raise _fault("tables must be a table of tables, such as [tables.household]")
    below = [name for name, table in tables.items() if "of" in table]
    above = [name for name in tables if name not in below]
    if len(below) != 1 or len(above) != 1:
        raise _fault(
            "[tables] needs two tables: one of units, such as [tables.household], and one of their "
            'members with of = "household"'
        )
    if faults := [*_table_faults((above[0], below[0]))]:
        raise SchemaError(told_together(faults))
    units = _read_table(UnitTable, above[0], tables[above[0]])
    members = _read_table(MemberTable, below[0], tables[below[0]])
    if members.of != above[0]:
        raise _fault(
            f"table {below[0]!r}, of: there is no table {members.of!r}"
            f"{suggestion(members.of, above)}"
        )
    return (above[0], units), (below[0], members)


def _taken_counts(units: UnitTable, name: str, most: int) -> dict[str, str]:
    """Rules of the columns that count members; each becomes a measured column of whole numbers."""
    rules, faults = dict[str, str](), list[str]()
    for column, entries in units.columns.items():
        if not _counts_members(entries):
            continue
        rules[column] = entries["derived"]
        rest = {key: value for key, value in entries.items() if key != "derived"}
        made = {"kind": "integer", "lower": 0, "upper": most, "bins": most + 1}
        if unlike := [key for key, value in made.items() if rest.get(key, value) != value]:
            faults.append(
                f"table {name!r}, column {column!r}, {unlike[0]}: a column that counts members "
                f"holds whole numbers from 0 to rows_per_unit; leave {unlike[0]} out"
            )
        told = {"description": f"number of rows that are used, {rules[column].strip()}"}
        units.columns[column] = {**told, **rest, **made}
    if faults:
        raise SchemaError(told_together(faults))
    return rules


def _read_table(model: type[_T], name: str, table: Mapping[str, Any]) -> _T:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise SchemaError(
            told_together(
                [
                    f"table {name!r}, {'.'.join(str(part) for part in fault['loc'])}: "
                    f"{fault['msg'].removeprefix('Value error, ')}"
                    for fault in error.errors(include_url=False, include_input=False)
                ]
            )
        ) from None


def _checked_columns(
    content: Mapping[str, Any],
    name: str,
    tables: tuple[UnitTable | MemberTable, UnitTable | MemberTable],
    model: type[BaseModel],
    folder: Path | None,
) -> dict[str, Any]:
    """The columns of the first table with all that they refer to written out, and checked."""
    own, other = tables
    if not own.columns:
        return {}
    shared = {key: content[key] for key in ("lists", "defaults") if key in content}
    try:
        whole = {**shared, "columns": own.columns}
        resolved: dict[str, Any] = resolve_references(whole, folder, [*other.columns])
        model.model_validate({"columns": resolved["columns"]})
    except ValidationError:
        text = all_faults({"columns": resolved["columns"]}, model)
        raise SchemaError(f"In the table {name!r}: {text}") from None
    except SchemaError as error:
        raise SchemaError(f"In the table {name!r}: {error}") from None
    return dict(resolved["columns"])


TABLES: Final = (UnitTable, MemberTable)


class _Wide:
    """The wide table of two tables; everything as content of a file."""

    def __init__(
        self,
        names: tuple[str, str],
        tables: tuple[UnitTable, MemberTable],
        columns: tuple[dict[str, Any], dict[str, Any]],
    ) -> None:
        self._names = names
        self._units, self._table = tables
        self._unit_columns, self._member_columns = columns
        read = TypeAdapter(dict[str, AnyColumn]).validate_python(columns[1])
        self._read: dict[str, Any] = read
        self._slots = range(1, self._table.rows_per_unit + 1)

    def require_names(self) -> None:
        """Check that names of the two tables do not meet, and that members can have slots."""
        member_name, faults = self._names[1], list[str]()
        for name, column in self._read.items():
            if isinstance(column, Identifier):
                faults.append(
                    f"table {member_name!r}, column {name!r} is an identifier; leave it out, each "
                    "member is known by its unit and its place in it"
                )
            elif column.derived is not None:
                faults.append(
                    f"table {member_name!r}, column {name!r} is derived; derive it from the "
                    "released table, which costs nothing"
                )
            elif any(same_value(NO_MEMBER, code) for code in _single_values(column)):
                faults.append(
                    f"table {member_name!r}, column {name!r} has the value {NO_MEMBER!r}, which "
                    "stands for an empty slot; give it another name"
                )
        taken = [self._units.key, *self._unit_columns, self._units.size]
        taken += [slot_column(name, j) for j in self._slots for name in self._member_columns]
        twice = next((name for k, name in enumerate(taken) if name in taken[:k]), None)
        if twice is not None:
            faults.append(
                f"two columns of the wide table are called {twice!r}: the key, the size (set by "
                f"`size` of the table {self._names[0]!r}), columns of units, and those of members "
                "with their place, such as age_1; rename one"
            )
        faults += [
            f"table {name!r}, key {fault}"
            for name, key in zip(self._names, (self._units.key, self._table.key), strict=True)
            if (fault := name_fault(key))
        ]
        if self._table.key in self._member_columns:
            faults.append(
                f"table {member_name!r} declares its key {self._table.key!r} as a column; it is "
                "read to group rows and never released, so leave it out"
            )
        faults += self._order_faults()
        if faults:
            raise SchemaError(told_together(faults))

    def _order_faults(self) -> Iterator[str]:
        place = f"table {self._names[1]!r}, "
        named = [("order", name.removeprefix("-")) for name in _order_names(self._table.order)]
        if isinstance(self._table.cut, KeptFirst):
            named.append(("cut", self._table.cut.first))
        elif self._table.cut != "random":
            yield f'{place}cut must be "random" or a table {{ first = "…", levels = […] }}'
        for entry, name in named:
            if name not in self._read:
                hint = suggestion(name, self._read)
                yield f"{place}{entry} names {name!r}, which is no column of it{hint}"
            elif entry == "cut" and isinstance(self._table.cut, KeptFirst):
                known = _single_values(self._read[name])
                for level in self._table.cut.levels:
                    if not any(same_value(level, value) for value in known):
                        told = f"{text_of(level)!r}, which is no level of {name!r}"
                        yield f"{place}cut names {told}"

    def counts(self, rules: Mapping[str, str]) -> tuple[MemberCount, ...]:
        """Columns of units that count members.

        Args:
            rules: name of the column → its rule.
        """
        found, faults = list[MemberCount](), list[str]()
        for name, rule in rules.items():
            place = f"table {self._names[0]!r}, column {name!r}, derived: the rule {rule.strip()!r}"
            try:
                one = read_count(name, rule, self._names[1], self._read)
            except ValueError as error:
                faults.append(f"{place} {error}")
                continue
            if unfit := [*one.faults(self._read)]:
                faults += unfit
            found.append(one)
        if faults:
            raise SchemaError(told_together(faults))
        return tuple(found)

    def rules_of_counts(self, counts: Sequence[MemberCount]) -> list[dict[str, Any]]:
        """Forbidden combinations that follow since columns count members."""
        told = {"source": "a column that counts members", "reviewed": True}
        zeros = zeros_of_counts(
            counts,
            self._read,
            slots=self._table.rows_per_unit,
            size=(self._units.size, 0 if self._units.empty else 1),
            order=self._table.order or self._usual_order(),
        )
        return [{"where": where, **told} for where in zeros]

    def members(
        self, distances: Sequence[LeastDistance], counts: Sequence[MemberCount]
    ) -> dict[str, Any]:
        """The entry that says how the wide table holds both."""
        cut = self._table.cut
        found = Members(
            table=self._names[1],
            of=self._names[0],
            key=self._units.key,
            size=self._units.size,
            columns=tuple(self._member_columns),
            rows_per_unit=self._table.rows_per_unit,
            order=self._table.order or self._usual_order(),
            cut=cut if isinstance(cut, KeptFirst) else self._kept_first(),
            distances=tuple(distances),
            counts=tuple(counts),
        )
        return found.model_dump(exclude_defaults=True)

    def _kept_first(self) -> KeptFirst | None:
        """Whom a rule across members wants in every unit: a cut by chance alone would break it."""
        for rule in self._table.rules:
            if (rule.exactly or rule.at_least) and len(rule.where) == 1:
                ((name, values),) = rule.where.items()
                levels = [one for one in _single_values(self._read[name]) if _is_among(one, values)]
                return KeptFirst(first=name, levels=tuple(levels)) if levels else None
        return None

    def _usual_order(self) -> tuple[str, ...]:
        """Oldest first: by the first column on the number line; none if there is no such column."""
        numbers = (name for name, one in self._read.items() if isinstance(one, NUMERIC))
        return tuple(f"-{name}" for name in itertools.islice(numbers, 1))

    def columns(self) -> dict[str, Any]:
        """The key, the units' columns, the size, and the slots."""
        most, vouched = self._table.rows_per_unit, self._wide_premises()
        more = f"{most + 1}: more than {most}, of whom {most} are used"
        size = {
            "kind": "integer",
            "lower": 0 if self._units.empty else 1,
            "upper": most + 1,
            "bins": most + 2 if self._units.empty else most + 1,
            "description": f"number of rows of {self._names[1]!r}; {more}",
            **vouched,
            **({"drafted": {"upper": UNCONFIRMED}} if self._table.left_as_drafted else {}),
        }
        links = f"links {self._names[0]!r} and {self._names[1]!r}; a number by chance"
        key = {"kind": "identifier", "description": links, **vouched}
        slots = {
            slot_column(name, j): self._slot(column, j)
            for j in self._slots
            for name, column in self._member_columns.items()
        }
        return {self._units.key: key, **self._unit_columns, self._units.size: size, **slots}

    def _slot(self, column: dict[str, Any], j: int) -> dict[str, Any]:
        if not self._may_be_empty(j):
            return column
        return {**column, "not_applicable": [*column.get("not_applicable", ()), NO_MEMBER]}

    def _may_be_empty(self, j: int) -> bool:
        return j > 1 or self._units.empty

    def _wide_premises(self) -> dict[str, Any]:
        return {"source": self._table.sources, "reviewed": self._table.reviewed}

    def absences(self) -> Iterator[dict[str, Any]]:
        """Rules by which a slot is empty if and only if the unit has fewer members."""
        size, most = self._units.size, self._table.rows_per_unit
        least = 0 if self._units.empty else 1
        told = {"source": "a slot holds a member or nobody", "reviewed": True}
        for j in filter(self._may_be_empty, self._slots):
            larger, smaller = {"lower": j, "upper": most + 1}, {"lower": least, "upper": j - 1}
            for name, column in self._read.items():
                slot = slot_column(name, j)
                yield {"where": {size: larger, slot: [NO_MEMBER]}, **told}
                for values in _all_values(column):
                    yield {"where": {size: smaller, slot: values}, **told}

    def own_rules(self) -> Iterator[dict[str, Any]]:
        """Forbidden combinations of one member, in every slot; columns of units as they are."""
        for rule in self._table.forbidden:
            where = rule.get("where")
            if not isinstance(where, Mapping):
                raise _fault(f"table {self._names[1]!r}: a forbidden combination needs `where`")
            for j in self._slots:
                yield {**rule, "where": {self._wide_name(n, j): v for n, v in where.items()}}

    def own_relations(self) -> Iterator[dict[str, Any]]:
        """Inequalities and hierarchies of one member, in every slot."""
        for relation in self._table.relations:
            for j in self._slots:
                changed = dict(relation)
                if isinstance(text := relation.get("inequality"), str):
                    words = re.split(r"(\s*<=?\s*)", text)
                    changed["inequality"] = "".join(self._wide_name(word, j) for word in words)
                if isinstance(names := relation.get("hierarchy"), list):
                    changed["hierarchy"] = [self._wide_name(name, j) for name in names]
                yield changed

    def _wide_name(self, name: str, j: int) -> str:
        known = name.strip() in self._member_columns
        return slot_column(name.strip(), j) if known else name

    def rules(self) -> tuple[list[dict[str, Any]], list[LeastDistance]]:
        """Rules across members as forbidden combinations, and what bins cannot tell of them."""
        boxes, distances = list[dict[str, Any]](), list[LeastDistance]()
        first = [rule for rule in self._table.rules if rule.where]
        for rule in (*first, *(rule for rule in self._table.rules if rule.between)):
            told = {"source": rule.source, "reviewed": rule.reviewed}
            made: Iterator[dict[str, Any]]
            if rule.where:
                made = self._count_rules(rule)
            else:
                distance = self._distance(rule)
                distances.append(distance)
                made = self._apart(distance)
                if not distance.first and self._leads_by(distance.role):
                    made = itertools.chain(made, self._in_order(distance.role))
            found = list(itertools.islice(made, _MOST_RULES + 1))
            if len(found) > _MOST_RULES:
                raise _fault(
                    f"table {self._names[1]!r}: a rule across members becomes more than "
                    f"{_MOST_RULES:,} forbidden combinations; use fewer slots or wider bins"
                )
            boxes += [{"where": where, **told} for where in found]
        return boxes, distances

    def _count_rules(self, rule: MemberRule) -> Iterator[dict[str, Any]]:
        """At most so many, or at least, members with some values.

        Where the canonical order begins with these values, such members stand in the first slots.
        Then single slots are ruled out; else every group of slots that would be too many.
        """
        most = rule.exactly if rule.exactly is not None else rule.at_most
        least = rule.exactly if rule.exactly is not None else rule.at_least
        leading = self._leads(rule.where)
        if most is not None and leading:
            for j in self._slots[most:]:
                yield self._in_slot(rule.where, j)
        elif most is not None:
            for group in itertools.combinations(self._slots, most + 1):
                yield {
                    key: value for j in group for key, value in self._in_slot(rule.where, j).items()
                }
        if least is None:
            return
        if not leading:
            (name, *_) = rule.where
            raise _fault(
                f"table {self._names[1]!r}: a rule that wants at least {least} with certain values "
                f"of {name!r} needs an order that begins with {name!r}, lowest level first, and "
                "these values as its first levels"
            )
        ((name, values),) = rule.where.items()
        others = [v for v in _single_values(self._read[name]) if not _is_among(v, values)]
        for j in self._slots[:least]:
            if others:
                yield {slot_column(name, j): others}
            if self._may_be_empty(j):
                yield {slot_column(name, j): [NO_MEMBER]}

    def _in_slot(self, where: Mapping[str, Any], j: int) -> dict[str, Any]:
        unknown = next((name for name in where if name not in self._read), None)
        if unknown is not None:
            raise _fault(
                f"table {self._names[1]!r}: a rule across members names {unknown!r}, which is no "
                f"column of it{suggestion(unknown, self._read)}"
            )
        return {slot_column(name, j): values for name, values in where.items()}

    def _leads(self, where: Mapping[str, Any]) -> bool:
        """Return whether members with these values come first in the canonical order."""
        order = self._table.order
        if len(where) != 1 or not order or any(isinstance(step, Among) for step in order):
            return False
        ((name, values),) = where.items()
        levels = getattr(self._read.get(name), "levels", ())
        if order[0] != name or not levels:
            return False
        among = [_is_among(level, values) for level in levels]
        return among == sorted(among, reverse=True) and any(among)

    def _distance(self, rule: MemberRule) -> LeastDistance:
        """Read an inequality between members."""
        place = f"table {self._names[1]!r}: the inequality {rule.inequality!r} "
        ((role, levels),) = rule.between.items()
        match = _INEQUALITY.fullmatch(rule.inequality)
        names = {text_of(level): level for level in levels}
        if match is None or {match["left"].strip(), match["right"].strip()} != set(names):
            raise _fault(
                f"{place}must compare a column of the two levels in `between`, such as "
                '"reference.age >= child.age + 14"'
            )
        column = self._read.get(role)
        for level in levels:
            if column is None or not any(same_value(level, v) for v in _single_values(column)):
                raise _fault(f"{place}names {text_of(level)!r}, which is no level of {role!r}")
        by = float(match["by"] or 0) * (-1 if match["plus"] == "-" else 1)
        left, right = (match["left"].strip(), match["one"]), (match["right"].strip(), match["two"])
        if match["sign"].startswith(">"):
            larger, smaller, distance = left, right, by
        else:
            larger, smaller, distance = right, left, -by
        whole = True
        for _, name in (larger, smaller):
            if not isinstance(self._read.get(name), Integer | Continuous):
                raise _fault(f"{place}names {name!r}, which is no column of numbers of it")
            whole = whole and isinstance(self._read[name], Integer)
        if match["sign"] in ("<", ">"):
            if not whole:
                raise _fault(f"{place}is strict, which only whole numbers can be; write <= or >=")
            distance += 1
        only_first = any(
            one.exactly == 1 and self._leads(one.where) and _is_among(names[larger[0]], one.where)
            for one in self._table.rules
            if [*one.where] == [role]
        )
        return LeastDistance(
            role=role,
            larger=names[larger[0]],
            smaller=names[smaller[0]],
            columns=(larger[1], smaller[1]),
            distance=distance,
            ends=tuple(sorted({one.high for one in self._read[larger[1]].intervals})),
            starts=tuple(sorted({one.low for one in self._read[smaller[1]].intervals})),
            first=only_first,
        )

    def _apart(self, rule: LeastDistance) -> Iterator[dict[str, Any]]:
        """Forbid what bins can tell: the larger number below what the smaller one needs at least.

        For each lower end m of a bin of the smaller number: numbers from m on, beside larger
        numbers all of whose bin lies below m plus the distance.
        """
        larger, smaller = (self._read[name] for name in rule.columns)
        thresholds: dict[float, float] = {}  # upper end of the bins that are too low → least m
        for interval in sorted(smaller.intervals, key=lambda one: one.low):
            low = [one.high for one in larger.intervals if one.high < interval.low + rule.distance]
            if low:
                thresholds.setdefault(max(low), interval.low)
        for i, j in self._pairs_of_slots(rule):
            for end, m in thresholds.items():
                where: dict[str, Any] = {
                    slot_column(rule.role, j): rule.smaller,
                    slot_column(rule.columns[0], i): {"lower": larger.lower, "upper": end},
                    slot_column(rule.columns[1], j): {"lower": m, "upper": smaller.upper},
                }
                if not rule.first:
                    where[slot_column(rule.role, i)] = rule.larger
                yield _with_whole_ends(where)

    def _in_order(self, role: str) -> Iterator[dict[str, Any]]:
        """Forbid what no unit has in canonical order: a level in front of a lower one."""
        column = self._read[role]
        values = [*column.levels, *column.codes]
        for j in self._slots[:-1]:
            for k in range(1, len(values)):
                lower = values[: min(k, len(column.levels))]
                yield {slot_column(role, j): values[k:], slot_column(role, j + 1): lower}

    def _pairs_of_slots(self, rule: LeastDistance) -> Iterator[tuple[int, int]]:
        """Slots that the larger and the smaller number can stand in.

        Where the canonical order begins with the role, lower levels stand in front, and rules about
        the numbers of members bound how far.
        """
        large, small = (
            self._slots_of_level(rule.role, level) for level in (rule.larger, rule.smaller)
        )
        before = self._rank(rule.role, rule.larger) - self._rank(rule.role, rule.smaller)
        for i, j in itertools.product(large, small):
            if i != j and (not self._leads_by(rule.role) or not before or (i < j) == (before < 0)):
                yield i, j

    def _slots_of_level(self, role: str, level: Value) -> range:
        if not self._leads_by(role):
            return self._slots
        rank, few, many = self._rank(role, level), 0, len(self._slots)
        counted = [
            ({self._rank(role, v) for v in self._levels_in(role, one.where)}, one)
            for one in self._table.rules
            if [*one.where] == [role]
        ]
        for ranks, one in counted:
            least = one.exactly if one.exactly is not None else one.at_least
            if least is not None and max(ranks, default=rank) < rank:
                few = max(few, least)
        for descending in (False, True):
            left, most = {*range(rank + 1)}, 0
            for ranks, one in sorted(counted, key=lambda two: len(two[0]), reverse=descending):
                limit = one.exactly if one.exactly is not None else one.at_most
                if limit is not None and left & ranks:
                    left, most = left - ranks, most + limit
            if not left:
                many = min(many, most)
        return self._slots[few:many]

    def _leads_by(self, role: str) -> bool:
        """Return whether the canonical order begins with the levels of a column."""
        order = self._table.order
        plain = all(isinstance(step, str) for step in order)
        return bool(order) and plain and order[0] == role and hasattr(self._read[role], "levels")

    def _levels_in(self, role: str, where: Mapping[str, Any]) -> list[Value]:
        return [one for one in self._read[role].levels if _is_among(one, where[role])]

    def _rank(self, role: str, level: Value) -> int:
        levels = _single_values(self._read[role])
        return next(k for k, one in enumerate(levels) if same_value(one, level))


def _with_whole_ends(where: dict[str, Any]) -> dict[str, Any]:
    """Ends of ranges as whole numbers where they are whole."""

    def end(value: float) -> float:
        return int(value) if float(value).is_integer() else value

    return {
        name: {key: end(value) for key, value in entry.items()}
        if isinstance(entry, dict)
        else entry
        for name, entry in where.items()
    }


def _order_names(order: Sequence[str | Among]) -> Iterator[str]:
    for step in order:
        yield from step.by if isinstance(step, Among) else (step,)


def _is_among(value: Value, values: Any) -> bool:
    """Return whether a value is the one, or one of several; of a rule's `where` any entry's."""
    if isinstance(values, Mapping):
        return any(_is_among(value, each) for each in values.values())
    several = values if isinstance(values, list | tuple) else [values]
    return any(same_value(value, each) for each in several)


def _single_values(column: Any) -> tuple[Value, ...]:
    """Levels, spikes and codes of a column."""
    levels = () if isinstance(column, NUMERIC) else column.levels
    return (*levels, *getattr(column, "spikes", ()), *column.codes)


def _all_values(column: Any) -> Iterator[Any]:
    """All that a column can hold, as entries of `where`."""
    if not isinstance(column, NUMERIC):
        yield [*column.levels, *column.codes]
        return
    raw = column.model_dump()
    yield {"lower": raw["lower"], "upper": raw["upper"]}
    if column.codes:
        yield [*column.codes]
