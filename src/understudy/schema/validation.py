"""Everything that is wrong with a schema, in one go.

Checks of a whole column, and of the whole schema, come after those of single entries. So whatever
is wrong is told, put right or left out, and the rest is read again, until nothing new is found.
What hangs on a thing that is wrong is left out with it: it could only be blamed for that.

Words that nobody knows are told with the nearest known one. They are put right so that what else is
wrong can be seen, and a word that is meant is not missed as well: `uper` is one fault, not two.

**What is wrong with an entry of a schema, in words for the person who wrote it.**
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from understudy.errors import nearest, suggestion
from understudy.schema.columns import KINDS
from understudy.schema.constraints import Range, Relation, Rule

_VALUE = "text, a number, a date, true or false"
_TEXT = "text"
_EXPECTED = {
    "format": "1",
    "title": _TEXT,
    "rows": '"private" or "public"',
    "n_rows": "a whole number of rows",
    "row_limit": "a whole number of rows",
    "rows_per_unit": "1",
    "columns": "a table that maps each column's name to its entries",
    "forbidden": "a list of rules, each with an entry `where`",
    "relations": "a list of relations, each with an inequality or a hierarchy",
    "inequality": 'a text such as "start <= end"',
    "at": "a list of numbers or dates",
    "hierarchy": "a list of two columns, the finer one first",
    "within": "a table of levels, each with a list of levels of the finer column",
    "derived": "an expression in quotes, or a table { of = …, levels = { … } }",
    "description": _TEXT,
    "unit": _TEXT,
    "source": _TEXT,
    "confirmed": "a table of entries, each with the place that confirms it",
    "drafted": "a table of fingerprints, as `schema draft` writes it",
    "encoding": "one of the encodings that docs/schema.json lists, such as utf-8 or windows-1252",
    "separator": "one character, or nothing for the usual one",
    "quote": "one character, or nothing for none",
    "decimal": '"." or ","',
    "multiline": "true or false",
    "file": "a table (with encoding, separator, quote, decimal and multiline)",
    "reviewed": "true or false",
    "levels": f"a list of values (each {_VALUE})",
    "missing": f"a list of values (each {_VALUE})",
    "not_applicable": f"a list of values (each {_VALUE})",
    "out_of_domain": f"one value ({_VALUE})",
    "pattern": 'a text with {} for the number of the record, such as "P{:06}"',
    "resolution": '"second", "minute" or "hour" (of a duration also "day")',
    "timezone": "the name of a time zone, such as Europe/Zurich",
    "bins": "a whole number of bins, or the list of edges from lower to upper",
    "spikes": "a list of numbers (whole ones if the column is)",
    "typical": "a list of two numbers, such as [0, 80000]",
    "heaps": "a list of distances, coarsest first, such as [1000, { every = 1, at = 0.99 }]",
    "decimals": "a whole number of decimals",
    "where": "a table of columns, each with one value, a list of values, or "
    "{ lower = …, upper = … }",
}
_BOUND = {
    "integer": "a whole number",
    "continuous": "a number",
    "date": "a date",
    "datetime": "a date and time such as 2020-02-29T08:30:00",
    "time": "a time of day such as 08:30:00",
    "duration": 'a duration such as "PT90M", "1:30:00" or "P7D"',
}
_OF_COLUMNS = {"hierarchy": "a table { prefix = [1, 3] } or { parents = { branch = […] } }"}
_LIMITS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
_KINDS = (
    "kind must be one of categorical, ordinal, boolean, integer, continuous, date, datetime, time, "
    "duration, identifier"
)
_WORDING = {
    "extra_forbidden": "there is no such entry; check the spelling, or take it out",
    "missing": "this entry is required; add it",
    "union_tag_invalid": _KINDS,
    "union_tag_not_found": _KINDS,
    "too_short": "must not be empty",
    "finite_number": "must be a finite number",
}

Loc = tuple[int | str, ...]


def describe_fault(fault: ErrorDetails) -> Iterator[str]:
    """A fault in words, with its place; several where one check found several."""
    for wording in _reword(fault).splitlines():
        yield f"{place(fault['loc'])}{wording}"


def full_stop(text: str) -> str:
    """The text as a sentence: with a full stop, unless it already ends one."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def place(loc: Loc) -> str:
    """Describe a place in the schema, as the beginning of a sentence."""
    if not loc:
        return ""
    if loc[0] == "columns" and len(loc) > 1:
        inner = f", {loc[3]}" if len(loc) > 3 else ""
        return f"column {loc[1]!r}{inner}: "
    if loc[0] == "forbidden" and len(loc) > 1:
        inner = f", {loc[2]}" if len(loc) > 2 else ""
        return f"forbidden combination {int(loc[1]) + 1}{inner}: "
    if loc[0] == "relations" and len(loc) > 1:
        inner = f", {loc[2]}" if len(loc) > 2 else ""
        return f"relation {int(loc[1]) + 1}{inner}: "
    return f"{', '.join(str(part) for part in loc[:2])}: "


def _reword(fault: ErrorDetails) -> str:
    kind, loc, context = fault["type"], fault["loc"], fault.get("ctx", {})
    if kind == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"must be {words} {context[key]}"
    # Inside `where`, pydantic tries a range first and complains of what that would need.
    if kind in _WORDING and not (kind == "missing" and "where" in loc[2:-1]):
        return _WORDING[kind]
    if kind == "literal_error" and str(loc[-1]) not in _EXPECTED:
        return f"must be {context['expected']}"
    return f"must be {describe_expected(loc)}"


def describe_expected(loc: Loc) -> str:
    """Describe what the entry at this place should hold."""
    if loc[0] == "columns" and len(loc) > 1:
        if len(loc) <= 3:
            return "a table with an entry `kind`"
        entry = str(loc[3])
        return (
            _BOUND.get(str(loc[2]), "a value")
            if entry in {"lower", "upper"}
            else {**_EXPECTED, **_OF_COLUMNS}.get(entry, "another value")
        )
    if loc[0] in ("forbidden", "relations") and len(loc) > 1:
        return _EXPECTED.get(str(loc[2]), "another value") if len(loc) > 2 else "a table"
    if loc[0] == "file" and len(loc) > 2:
        return _TEXT
    if loc == ("unit",):
        return "a table (with rows_per_unit and description)"
    return _EXPECTED.get(str(loc[-1]), "another value")


Tell = Callable[[Loc, str], None]
"""Takes where a fault is, and what it is."""

ENTRIES = {name: field for kind in KINDS.values() for name, field in kind.model_fields.items()}
"""Entries that a column of some kind has."""


def drop_unknown_words(
    content: Mapping[str, Any], model: type[BaseModel], tell: Tell
) -> dict[str, Any]:
    """The content of a schema without unknown words.

    Args:
        content: as it was read; stays as it is.
        model: of the whole schema.
        tell: called with each unknown word.
    """
    entries = {field.alias or name: field for name, field in model.model_fields.items()}
    fixed = _table((), content, entries, tell)
    for name, field in entries.items():
        part, kind = fixed.get(name), field.annotation
        if isinstance(part, Mapping) and isinstance(kind, type) and issubclass(kind, BaseModel):
            fixed[name] = _table((name,), part, kind.model_fields, tell)
    if isinstance(columns := fixed.get("columns"), Mapping):
        fixed["columns"] = {name: _column(name, column, tell) for name, column in columns.items()}
    if isinstance(rules := fixed.get("forbidden"), list):
        fixed["forbidden"] = [_rule(k, rule, tell) for k, rule in enumerate(rules)]
    if isinstance(relations := fixed.get("relations"), list):
        known = Relation.model_fields
        fixed["relations"] = [
            _table(("relations", k), one, known, tell) if isinstance(one, Mapping) else one
            for k, one in enumerate(relations)
        ]
    return fixed


def _table(
    loc: Loc, table: Mapping[str, Any], known: Mapping[str, FieldInfo], tell: Tell
) -> dict[str, Any]:
    """A table with known entries, and words of a fixed list, only."""
    fixed = {key: value for key, value in table.items() if key in known}
    for key in (key for key in table if key not in known):
        absent = [name for name in known if name not in fixed]
        tell((*loc, key), f"there is no such entry{suggestion(key, absent) or _NO_HINT}")
        if meant := nearest(key, absent):
            fixed[meant] = table[key]
    for key, value in fixed.items():
        words = _words(known[key])
        if isinstance(value, str) and value not in words and (meant := nearest(value, words)):
            tell((*loc, key), f"must be {describe_expected((*loc, key))}{suggestion(value, words)}")
            fixed[key] = meant
    return fixed


_NO_HINT = "; check the spelling, or take it out"


def _words(field: FieldInfo) -> Collection[str]:
    """The words that an entry can hold; none if it can hold any."""
    words = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return [word for word in words if isinstance(word, str) and len(words) > 1]


def _column(name: str, column: Any, tell: Tell) -> Any:
    if not isinstance(column, Mapping):
        return column
    loc: Loc = ("columns", name)
    fixed = dict(column)
    said = next((key for key in fixed if key not in ENTRIES and nearest(key, ["kind"])), None)
    if said and "kind" not in fixed:
        tell((*loc, "", said), f"there is no such entry{suggestion(said, ['kind'])}")
        fixed["kind"] = fixed.pop(said)
    kind = fixed.get("kind")
    if isinstance(kind, str) and kind not in KINDS and (meant := nearest(kind, KINDS)):
        tell((*loc, "", "kind"), f"there is no kind {kind!r}{suggestion(kind, KINDS)}")
        kind = fixed["kind"] = meant
    if not (isinstance(kind, str) and kind in KINDS):
        return fixed
    known = KINDS[kind].model_fields
    for key in [key for key in fixed if key in ENTRIES and key not in known]:
        sentence = f"a column of kind {kind} has no such entry; take it out, or correct the kind"
        tell((*loc, kind, key), sentence)
        del fixed[key]
    return _table((*loc, kind), fixed, known, tell)


def _rule(k: int, rule: Any, tell: Tell) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    fixed = _table(("forbidden", k), rule, Rule.model_fields, tell)
    if isinstance(where := fixed.get("where"), Mapping):

        def tell_range(loc: Loc, sentence: str) -> None:
            tell(loc[:3], f"{loc[3]!r}, {loc[-1]}: {sentence}")

        fixed["where"] = {
            name: _table(("forbidden", k, "where", name), values, Range.model_fields, tell_range)
            if isinstance(values, Mapping)
            else values
            for name, values in where.items()
        }
    return fixed


_MOST = 20
_PASSES = 5  # words, entries, columns, rows, rules: each can hide the next
_NUMBERS_OF_ROWS = ("rows", "n_rows", "row_limit")
_SOUND = {"kind": "boolean"}
"""Stands for a column that cannot be read; rules about it are left out too."""


def all_faults(content: Mapping[str, Any], model: type[BaseModel]) -> str:
    """List what is wrong with the content of a schema: a sentence, or a line for each fault.

    Args:
        content: as it was read from TOML; not a schema.
        model: of the whole schema.
    """
    faults: dict[str, Loc] = {}  # line → its place; without repetitions

    def tell(loc: Loc, sentence: str) -> None:
        faults.setdefault(f"{place(loc)}{sentence}", loc)

    rest = drop_unknown_words(content, model, tell)
    for _ in range(_PASSES):
        try:
            model.model_validate(rest)
        except ValidationError as error:
            details = error.errors(include_url=False)
        else:
            break
        for detail in _first_of_each(details):
            faults |= {line: detail["loc"] for line in describe_fault(detail) if line not in faults}
        rest = _without(rest, details)
    names = list(rest["columns"]) if isinstance(rest.get("columns"), Mapping) else []
    return told_together(sorted(faults, key=lambda line: _order(faults[line], names)))


def _first_of_each(details: Sequence[ErrorDetails]) -> Iterator[ErrorDetails]:
    """One fault an entry: whatever an entry could have been instead is a fault to pydantic."""
    seen = set()
    for detail in details:
        if (where := place(detail["loc"])) not in seen:
            yield detail
        seen.add(where)


def _order(loc: Loc, names: Sequence[str]) -> tuple[int, int]:
    """Entries of the whole first, then columns, rules, and what is about several of them."""
    if not loc:
        return 3, 0
    if loc[0] == "columns" and len(loc) > 1 and loc[1] in names:
        return 1, names.index(str(loc[1]))
    if loc[0] in ("forbidden", "relations"):
        return 2, int(loc[1]) if len(loc) > 1 else 0
    return 0, 0


def told_together(faults: Sequence[str]) -> str:
    """Faults as a sentence, or a line for each.

    Args:
        faults: without a full stop, or with one; at least one.
    """
    if len(faults) == 1:
        return full_stop(f"The schema does not hold together: {faults[0].rstrip('.')}")
    shown = [f"  {full_stop(fault.rstrip('.'))}" for fault in faults[:_MOST]]
    more = [f"  … and {len(faults) - _MOST} more."] if len(faults) > _MOST else []
    return "\n".join((f"The schema does not hold together, {len(faults)} faults:", *shown, *more))


def _without(content: dict[str, Any], details: Sequence[ErrorDetails]) -> dict[str, Any]:
    """The content without what was found wrong, and without what hangs on that."""
    rest, touched = dict(content), set[str]()
    wrong: dict[str, set[int]] = {"forbidden": set(), "relations": set()}
    if isinstance(rest.get("columns"), Mapping):
        rest["columns"] = dict(rest["columns"])
    for detail in details:
        loc = detail["loc"]
        if loc[:1] == ("columns",) and len(loc) > 1:
            touched.add(str(loc[1]))
            rest["columns"][loc[1]] = _mend_column(rest["columns"][loc[1]], detail)
        elif loc[:1] in (("forbidden",), ("relations",)) and len(loc) > 1:
            wrong[str(loc[0])].add(int(loc[1]))
        elif loc:
            for key in _NUMBERS_OF_ROWS if loc[0] in _NUMBERS_OF_ROWS else loc[:1]:
                rest.pop(str(key), None)
    for key, numbers in wrong.items():
        if isinstance(rest.get(key), list):
            rest[key] = [
                entry
                for k, entry in enumerate(rest[key])
                if k not in numbers and not _hangs_on(entry, touched)
            ]
    if touched and isinstance(rest.get("columns"), Mapping):
        rest["columns"] = {
            name: _SOUND if _is_derived(column) else column
            for name, column in rest["columns"].items()
        }
    return rest


def _hangs_on(entry: Any, touched: Collection[str]) -> bool:
    """Return whether a rule or relation may name a column that is wrong."""
    if "inequality" in entry:
        return bool(touched)
    return not set(touched).isdisjoint([*entry.get("where", ()), *entry.get("hierarchy", ())])


def _is_derived(column: Any) -> bool:
    return isinstance(column, Mapping) and "derived" in column


def _mend_column(column: Any, fault: ErrorDetails) -> Any:
    """The column without an entry that is wrong, or a sound one where it cannot be without."""
    loc = fault["loc"]
    if column is _SOUND:
        return column
    if len(loc) < 4 or not isinstance(column, Mapping) or loc[2] not in KINDS:
        return _SOUND
    entry = str(loc[3])
    field = KINDS[str(loc[2])].model_fields[entry]
    if field.is_required():
        return _SOUND
    if entry == "bins":  # the usual ones may not fit the bounds; a single bin does
        return {**column, "bins": 1}
    return {key: value for key, value in column.items() if key != entry}
