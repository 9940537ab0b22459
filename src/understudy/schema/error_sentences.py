"""What is wrong with an entry of a schema, in words for the person who wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import ErrorDetails

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


def worded(fault: ErrorDetails) -> Iterator[str]:
    """A fault in words, with its place; several where one check found several."""
    for wording in _reworded(fault).splitlines():
        yield f"{place(fault['loc'])}{wording}"


def full_stop(text: str) -> str:
    """The text as a sentence: with a full stop, unless it already ends one."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def place(loc: Loc) -> str:
    """Where in the schema, in words, as the beginning of a sentence."""
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


def _reworded(fault: ErrorDetails) -> str:
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
    return f"must be {expected(loc)}"


def expected(loc: Loc) -> str:
    """What the entry at this place should hold."""
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
