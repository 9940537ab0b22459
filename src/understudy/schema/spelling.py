"""Words of a schema that nobody knows: each is told with the nearest known one, and put right.

They are put right so that what else is wrong can be seen, and a word that is meant is not missed as
well: `uper` is one fault, not two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from understudy.errors import nearest, suggestion
from understudy.schema.column import KINDS
from understudy.schema.error_sentences import expected
from understudy.schema.structural_zeros import Range, Rule

Loc = tuple[int | str, ...]
Tell = Callable[[Loc, str], None]
"""Takes where a fault is, and what it is."""

_ENTRIES = {name: field for kind in KINDS.values() for name, field in kind.model_fields.items()}
"""Entries that a column of some kind has."""


def spelled(content: Mapping[str, Any], model: type[BaseModel], tell: Tell) -> dict[str, Any]:
    """The content of a schema without unknown words.

    Args:
        content: as it was read; stays as it is.
        model: of the whole schema.
        tell: called with each unknown word.
    """
    fixed = _table((), content, model.model_fields, tell)
    for name, field in model.model_fields.items():
        part, kind = fixed.get(name), field.annotation
        if isinstance(part, Mapping) and isinstance(kind, type) and issubclass(kind, BaseModel):
            fixed[name] = _table((name,), part, kind.model_fields, tell)
    if isinstance(columns := fixed.get("columns"), Mapping):
        fixed["columns"] = {name: _column(name, one, tell) for name, one in columns.items()}
    if isinstance(rules := fixed.get("forbidden"), list):
        fixed["forbidden"] = [_rule(k, rule, tell) for k, rule in enumerate(rules)]
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
            tell((*loc, key), f"must be {expected((*loc, key))}{suggestion(value, words)}")
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
    said = next((key for key in fixed if key not in _ENTRIES and nearest(key, ["kind"])), None)
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
    for key in [key for key in fixed if key in _ENTRIES and key not in known]:
        told = f"a column of kind {kind} has no such entry; take it out, or correct the kind"
        tell((*loc, kind, key), told)
        del fixed[key]
    return _table((*loc, kind), fixed, known, tell)


def _rule(k: int, rule: Any, tell: Tell) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    fixed = _table(("forbidden", k), rule, Rule.model_fields, tell)
    if isinstance(where := fixed.get("where"), Mapping):

        def tell_range(loc: Loc, told: str) -> None:
            tell(loc[:3], f"{loc[3]!r}, {loc[-1]}: {told}")

        fixed["where"] = {
            name: _table(("forbidden", k, "where", name), one, Range.model_fields, tell_range)
            if isinstance(one, Mapping)
            else one
            for name, one in where.items()
        }
    return fixed
