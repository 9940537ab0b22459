"""The page of every entry of a schema, from `schema.json` and from the schemas that guides show."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.schema.toml import entry_text

Examples = dict[tuple[str, str], str]
"""Part of a schema, and entry → the entry as it is written."""

FIRST = ("Categorical", "Ordinal", "Boolean", "Integer", "Continuous")
"""Kinds of columns that most tables have; others follow by name."""

BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)

WORDS = {"string": "text", "boolean": "truth value", "array": "list", "object": "table"}

HEADED = ("columns", "tables", "lists", "defaults", "forbidden", "relations", "rules", "invariants")
"""Entries that are written as tables with a heading of their own."""

ALONE: Examples = {
    ("", "format"): "format = 1",
    ("", "n_rows"): "n_rows = 6366",
    ("", "row_limit"): "row_limit = 20000",
    ("", "members"): "[members]",
    ("Among", "among"): "among = 2",
    ("Among", "by"): 'by = ["-age"]',
    ("Continuous", "confirmed"): 'confirmed = { upper = "codebook, page 12" }',
    ("Continuous", "drafted"): 'drafted = { upper = "6c203d10" }',
    ("Continuous", "not_applicable"): "not_applicable = [-8]",
    ("Categorical", "out_of_domain"): 'out_of_domain = "other"',
    ("Continuous", "value_labels"): 'value_labels = { 0 = "none" }',
    ("Continuous", "typical"): "typical = [0, 80000]",
    ("Continuous", "out_of_domain"): "out_of_domain = -9",
    ("Integer", "spikes"): "spikes = [0]",
    ("DesignEffect", "replacement"): "replacement = false",
    ("Date", "bins"): "bins = [1900-01-01, 1950-01-01, 2020-12-31]",
    ("Date", "heaps"): 'heaps = [{ every = "P7D", at = 2024-01-01 }]',
    ("Date", "format"): 'format = "%d.%m.%Y"',
    ("Datetime", "format"): 'format = "%m/%d/%Y %I:%M %p"',
    ("Datetime", "bins"): "bins = 12",
    ("Datetime", "heaps"): 'heaps = ["PT1H", "PT15M"]',
    ("Duration", "heaps"): 'heaps = ["P7D", "P1D"]',
    ("Duration", "bins"): 'bins = ["PT0S", "P1D", "P30D"]',
    ("Time", "lower"): "lower = 06:00:00",
    ("Time", "upper"): "upper = 22:00:00",
    ("Time", "bins"): "bins = 4",
    ("Design", "contribution"): "contribution = 50",
    ("Design", "strata"): 'strata = "regions by size of town"',
    ("Design", "fixed"): 'fixed = "adjusted"',
    ("FileFormat", "quote"): 'quote = "\'"',
    ("FileFormat", "multiline"): "multiline = true",
    ("FileFormat", "sheet"): 'sheet = "2024"',
    ("FileFormat", "confirmed"): 'confirmed = { separator = "manual, page 3" }',
    ("FileFormat", "drafted"): 'drafted = { separator = "57b2e1a8" }',
    ("Geography", "spine"): 'spine = ["county", "area"]',
    ("Geography", "by"): 'by = ["sex"]',
    ("Geography", "shares"): "shares = [1, 2]",
    ("KeptFirst", "first"): 'first = "role"',
    ("KeptFirst", "levels"): 'levels = ["reference"]',
    ("LeastDistance", "role"): 'role = "role"',
    ("LeastDistance", "larger"): 'larger = "reference"',
    ("LeastDistance", "smaller"): 'smaller = "child"',
    ("LeastDistance", "columns"): 'columns = ["age", "age"]',
    ("LeastDistance", "distance"): "distance = 14",
    ("LeastDistance", "ends"): "ends = [15, 24, 44, 64, 89]",
    ("LeastDistance", "starts"): "starts = [0, 16, 25, 45, 65]",
    ("LeastDistance", "first"): "first = true",
    ("MemberCount", "column"): 'column = "children"',
    ("MemberCount", "where"): "where = { age = { lower = 0, upper = 15 } }",
    ("Members", "columns"): 'columns = ["role", "age", "works"]',
    ("Members", "cut"): "[members.cut]",
    ("Members", "distances"): "[[members.distances]]",
    ("Members", "counts"): "[[members.counts]]",
    ("Members", "of"): 'of = "household"',
    ("Members", "table"): 'table = "person"',
    ("Unit", "of"): 'of = "household"',
    ("Unit", "rows_per_unit"): "rows_per_unit = 1",
    ("Unit", "beside"): 'beside = ["region"]',
    ("UnitTable", "size"): 'size = "size"',
    ("MemberRule", "at_least"): "at_least = 1",
    ("MemberTable", "cut"): 'cut = { first = "role", levels = ["reference"] }',
    ("MemberTable", "relations"): "[[relations]]",
    ("Relation", "at"): "at = [0, 10, 20]",
}
"""Examples of entries that no guide shows. A test holds all examples against the types."""


def schema_page(root: Path) -> Iterator[str]:
    """Markdown of all entries: type, default, meaning and an example of each."""
    schema = json.loads((root / "docs/schema.json").read_text("utf-8"))
    parts: dict[str, Any] = schema["$defs"]
    examples = every_example(root, schema)
    kinds = {name: one for name, one in parts.items() if "kind" in one.get("required", ())}
    plain = [set(one["properties"]) for name, one in kinds.items() if name != "Identifier"]
    shared = set.intersection(*plain) - {"kind"}
    yield "# Schema\n"
    yield (
        "For whoever writes a schema by hand. At the end you know the type, the default and the "
        "meaning of an entry, with an example. It takes a minute to look one up.\n"
    )
    yield (
        "A schema is a TOML file. [A schema in minutes](../how-to/schema.md) teaches how to write "
        "one, and [`schema.json`](../schema.json) lets editors check it.\n"
    )
    yield "## The file\n"
    yield from _entries("", schema, examples)
    yield "## Every column\n"
    yield "What stands under `[columns.NAME]`, whatever its `kind`, but for identifiers.\n"
    yield from _entries("Continuous", kinds["Continuous"], examples, only=shared)
    for name in (*FIRST, *sorted(set(kinds) - set(FIRST))):
        yield f"## {name}\n"
        yield f'{kinds[name]["description"]} These are columns of `kind = "{name.lower()}"`.\n'
        yield from _entries(
            name, kinds[name], examples, leave=() if name == "Identifier" else shared
        )
    for name in sorted(set(parts) - set(kinds) - {"Entries"}):
        yield f"## {name}\n"
        yield f"{parts[name]['description']}\n"
        yield from _entries(name, parts[name], examples)


def _entries(
    name: str,
    part: Mapping[str, Any],
    examples: Examples,
    *,
    only: Collection[str] | None = None,
    leave: Collection[str] = (),
) -> Iterator[str]:
    """The table of the entries of one part."""
    yield "| entry | type | default | meaning | example |\n|---|---|---|---|---|"
    for key, entry in part["properties"].items():
        if key in leave or (only is not None and key not in only):
            continue
        default = "needed" if key in part.get("required", ()) else _default(entry)
        meaning = entry.get("description", "what kind of column it is.")
        cells = (f"`{key}`", type_words(entry), default, meaning, f"`{examples[name, key]}`")
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
    yield ""


def _default(entry: Mapping[str, Any]) -> str:
    """What holds where nothing is said; a dash for nothing."""
    default = entry.get("default")
    if default in (None, "", [], {}) or isinstance(default, Mapping):
        return "–"
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def type_words(entry: Mapping[str, Any]) -> str:
    """The type of an entry in words, with links to the parts that it names.

    Example:
        >>> type_words({"type": "array", "items": {"type": "integer", "minimum": 1}})
        'list of whole number from 1'
    """
    match entry:
        case {"$ref": str(name)}:
            name = name.rpartition("/")[2]
            words = "a column" if name == "Entries" else f"[{name}](#{name.lower()})"
        case {"const": value}:
            words = f"`{json.dumps(value)}`"
        case {"enum": values}:
            between = " or " if len(values) < 6 else ", "
            words = between.join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": choices}:
            words = " or ".join(dict.fromkeys(map(type_words, choices)))
        case {"type": "array", "items": items}:
            words = f"list of {type_words(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            words = f"table of names and {type_words(values)}"
        case {"type": "integer" | "number" as kind}:
            signs = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"))
            limits = [f"{sign} {entry[key]}" for key, sign in signs if key in entry]
            words = " ".join(["whole number" if kind == "integer" else "number", *limits])
        case {"type": str(kind)}:
            words = WORDS[kind]
        case _:
            words = "text, number or truth value"
    return words


def every_example(root: Path, schema: Mapping[str, Any]) -> Examples:
    """An example of each entry: its own, or that of an entry of the same name elsewhere."""
    found = shown_examples(root, schema) | ALONE
    by_name = {key: text for (name, key), text in reversed(found.items()) if name}
    parts = {"": schema, **schema["$defs"]}
    return {
        (name, key): found.get((name, key)) or by_name.get(key, "")
        for name, part in parts.items()
        if name != "Entries"
        for key in part["properties"]
    }


def shown_examples(root: Path, schema: Mapping[str, Any]) -> Examples:
    """Entries of the schemas that the pages show: the shortest of each."""
    found: Examples = {}

    def note(name: str, part: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        for key, value in content.items():
            if key not in (entries := part.get("properties", {})):
                continue
            text = _written(key, value, entries[key])
            if (name, key) not in found or len(text) < len(found[name, key]):
                found[name, key] = text
            for inner in _named(entries[key]):
                for one in _tables(value, entries[key]):
                    which = str(one.get("kind", "")).title() if inner == "Entries" else inner
                    if which in schema["$defs"]:
                        note(which, schema["$defs"][which], one)

    for page in sorted((root / "docs").glob("*/*.md")):
        for block in BLOCK.findall(page.read_text("utf-8")):
            note("", schema, tomllib.loads(block))
    return found


def _named(entry: Mapping[str, Any]) -> Iterator[str]:
    """The parts that the type of an entry names, however deep."""
    if "$ref" in entry:
        yield str(entry["$ref"]).rpartition("/")[2]
    inner = [entry.get("items"), entry.get("additionalProperties"), *entry.get("anyOf", ())]
    for one in inner:
        if isinstance(one, Mapping):
            yield from _named(one)


def _tables(value: Any, entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The tables that a value is, or holds."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, Mapping))
    elif isinstance(value, Mapping) and "additionalProperties" in entry:
        yield from (one for one in value.values() if isinstance(one, Mapping))
    elif isinstance(value, Mapping):
        yield value


def _written(key: str, value: Any, entry: Mapping[str, Any]) -> str:
    """An entry as it is written; of tables that have names, or are parts, their heading."""
    inner = entry.get("additionalProperties")
    if isinstance(inner, Mapping) and (inner.get("type") == "object" or [*_named(inner)]):
        return f"[{key}.{next(iter(value))}]" if key in HEADED else _line(key, value)
    if "$ref" in entry:
        return f"[{key}]"
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        return f"[[{key}]]" if key in HEADED else _line(key, value)
    return _line(key, value)


def _line(key: str, value: Any) -> str:
    return f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value in one line of TOML.

    Example:
        >>> toml_value([1, {"every": 1, "at": 0.99}])
        '[1, { every = 1, at = 0.99 }]'
    """
    match value:
        case Mapping():
            return f"{{ {', '.join(_line(key, one) for key, one in value.items())} }}"
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
    return entry_text("x", value).partition(" = ")[2].strip()
