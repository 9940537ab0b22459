"""Rules by which a codebook says that a variable was computed, and the derived columns they become.

Data files are often made by syntax that computes some variables from others: `COMPUTE bmi = weight
/ height ** 2.`, `RECODE age (LO THRU 17 = 1) (18 THRU HI = 2) INTO adult.`, `gen bmi = weight /
height^2`, or the `derivation` of a DDI file. What can be said as an expression, a cut or a map of
levels (`understudy.schema.derived_columns`) is proposed so, as long as the column holds what the
rule gives. Everything else is a note for the reviewer: conditions, functions that are not in the
language, several commands that set one variable, words.

Nothing that is written is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from understudy.schema.cell_values import number_of, same_value, text_of
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.expressions import FUNCTIONS, Expression
from understudy.schema.number_columns import Integer

_LONGEST: Final = 2_000
_SHOWN: Final = 120
_STRINGS: Final = re.compile(r"""("[^"\n]*"|'[^'\n]*')""")
_WORDS: Final = {
    "eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=",
    "and": " and ", "or": " or ",
}  # fmt: skip
_SET: Final = re.compile(
    r"(?:compute|gen(?:erate)?|g)?\s*(?:(?:byte|int|long|float|double)\s+)?"
    r"([^\W\d][\w.@#$]*)\s*=(?!=)\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_RECODE: Final = re.compile(
    r"recode\s+([^\W\d][\w.@#$]*)\s*((?:\([^()]*\)\s*)+)into\s+([^\W\d][\w.@#$]*)",
    re.IGNORECASE | re.DOTALL,
)
_PIECE: Final = re.compile(r"\(([^()=]*)=([^()=]*)\)")
_TOKEN: Final = re.compile(r"""'[^']*'|"[^"]*"|[^\s,]+""")
_LOW, _HIGH = frozenset({"lo", "low", "lowest"}), frozenset({"hi", "high", "highest"})


@dataclass(frozen=True)
class _Piece:
    """Values, or one range of them, that become one value; None is no end."""

    to: str
    values: tuple[str, ...] = ()
    ends: tuple[float | None, float | None] | None = None


def target_of(command: str) -> str:
    """The variable that a command sets; "" if it sets none that is known."""
    bare = command.strip().rstrip(".;").strip()
    if found := _RECODE.fullmatch(bare):
        return found[3]
    found = _SET.fullmatch(bare)
    return found[1] if found else ""


def note_of(commands: Iterable[str]) -> str:
    """What a reviewer is told of a rule that is not proposed."""
    text = " ".join("; ".join(command.strip().rstrip(".;") for command in commands).split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"the codebook says that it is computed, in words that are not taken over: {shown}"


def derived_of(
    commands: tuple[str, ...], name: str, columns: Mapping[str, Column]
) -> str | dict[str, Any] | None:
    """What `derived` would be, by what a codebook says; None if it cannot be said.

    Args:
        commands: all that set the variable.
        name: of it.
        columns: those that the codebook describes.
    """
    if len(commands) != 1 or len(commands[0]) > _LONGEST:
        return None
    bare = commands[0].strip().rstrip(".;").strip()
    names = _Names(columns)
    if found := _RECODE.fullmatch(bare):
        source, target = names.of(found[1]), names.of(found[3])
        if target != name or source is None:
            return None
        return _recoded(source, columns[source], columns[name], found[2])
    found = _SET.fullmatch(bare)
    if found and names.of(found[1]) != name:
        return None
    return _expression(found[2] if found else bare, name, names)


class _Names:
    """Columns by the names that a command has for them; their case matters where it must."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._exact = {name: name for name in columns}
        self._any: dict[str, list[str]] = {}
        for name in columns:
            self._any.setdefault(name.casefold(), []).append(name)

    def of(self, word: str) -> str | None:
        """The column that is meant; None if there is none, or more than one."""
        alike = self._any.get(word.casefold(), [])
        return self._exact.get(word) or (alike[0] if len(alike) == 1 else None)


def _expression(text: str, name: str, names: _Names) -> str | None:
    """A formula of SPSS, Stata or plain arithmetic in our language."""
    pieces = _STRINGS.split(text)
    pieces[::2] = [_in_python(piece) for piece in pieces[::2]]
    try:
        tree = ast.parse("".join(pieces).strip(), mode="eval").body
        named = _Renamed(names).visit(tree)
        found = ast.unparse(named)
        Expression.read(found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    computes = any(isinstance(node, ast.BinOp | ast.Compare | ast.Call) for node in ast.walk(named))
    own = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(named))
    return found if computes and not own else None


def _in_python(text: str) -> str:
    found = text.replace("^", "**").replace("<>", "!=").replace("~=", "!=")
    found = re.sub(r"(?<![<>=!])=(?!=)", "==", found)
    return re.sub(
        rf"\b(?:{'|'.join(_WORDS)})\b", lambda m: _WORDS[m[0].lower()], found, flags=re.IGNORECASE
    )


class _Renamed(ast.NodeTransformer):
    """Puts columns and functions of ours in the place of names."""

    def __init__(self, names: _Names) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        called = node.func.id.lower() if isinstance(node.func, ast.Name) else ""
        if called not in FUNCTIONS or node.keywords:
            raise ValueError("no function that is known")
        return ast.Call(ast.Name(called, ast.Load()), [self.visit(one) for one in node.args], [])

    def visit_Name(self, node: ast.Name) -> ast.Name:
        found = self._names.of(node.id)
        if found is None or not found.isidentifier():
            raise ValueError("no column that is known")
        return ast.Name(found, ast.Load())


def _recoded(source: str, column: Column, target: Column, text: str) -> str | dict[str, Any] | None:
    """A cut of a column of numbers, or a map of levels."""
    pieces = [_piece(left, right) for left, right in _PIECE.findall(text)]
    if not pieces or any(piece is None for piece in pieces):
        return None
    known = [piece for piece in pieces if piece is not None]
    levels = getattr(target, "levels", ())
    if isinstance(column, NUMERIC):
        order = [level for level in levels for piece in known if same_value(level, piece.to)]
        fits = len(order) == len(known) == len(levels)
        fits = fits and all(same_value(a, p.to) for a, p in zip(levels, known, strict=True))
        cuts = _cuts(known, column) if fits else None
        usable = cuts is not None and source.isidentifier()
        return f"cut({source}, {', '.join(cuts or ())})" if usable else None
    found: dict[str, list[Any]] = {}
    for piece in known:
        to = next((text_of(one) for one in levels if same_value(one, piece.to)), None)
        if to is None:
            return None
        found.setdefault(to, []).extend(_levels_in(piece, column))
    taken = [level for values in found.values() for level in values]
    if len(set(map(text_of, taken))) < len(taken) or not all(found.values()):
        return None
    return {"of": source, "levels": found}


def _piece(left: str, right: str) -> _Piece | None:
    """One bracket; None where it says something else than values or a range."""
    words, to = _TOKEN.findall(left), right.strip().strip("'\"")
    lower = [word.lower() for word in words]
    if (
        not words
        or not to
        or {"else", "missing", "sysmis", "convert", "copy"} & {*lower, to.lower()}
    ):
        return None
    if "thru" not in lower:
        return _Piece(to, tuple(word.strip("'\"") for word in words))
    if len(words) != 3 or lower[1] != "thru":
        return None
    low = None if lower[0] in _LOW else number_of(words[0])
    high = None if lower[2] in _HIGH else number_of(words[2])
    if (low is None and lower[0] not in _LOW) or (high is None and lower[2] not in _HIGH):
        return None
    return _Piece(to, ends=(low, high))


def _cuts(pieces: list[_Piece], column: Column) -> list[str] | None:
    """Where the ranges of a column of numbers meet; None if they do not, or leave numbers out."""
    assert isinstance(column, NUMERIC)
    ranges = [_range(piece) for piece in pieces]
    if any(one is None for one in ranges):
        return None
    ends = [one for one in ranges if one is not None]
    (low, high), scale = column.bounds, column.roundings.scale
    first, last = ends[0][0], ends[-1][1]
    whole = (first is None or first <= low) and (last is None or last >= high)
    cuts = []
    for (_, before), (after, _) in pairwise(ends):
        if before is None or after is None or not scale:
            return None
        step = 1 / scale
        # A number that two brackets share is in the first one.
        if not before <= after <= before + step * (1 + 1e-9):
            return None
        cut = before + step if after == before else after
        cuts.append(text_of(round(cut * scale) / scale if not isinstance(column, Integer) else cut))
    return cuts if whole and cuts else None


def _range(piece: _Piece) -> tuple[float | None, float | None] | None:
    if piece.ends is not None:
        return piece.ends
    number = number_of(piece.values[0]) if len(piece.values) == 1 else None
    return None if number is None else (number, number)


def _levels_in(piece: _Piece, column: Column) -> Iterator[Any]:
    """Levels of a column that a bracket names."""
    for level in getattr(column, "levels", ()):
        if piece.ends is None:
            if any(same_value(level, value) for value in piece.values):
                yield level
            continue
        number, (low, high) = number_of(level), piece.ends
        if (
            number is not None
            and (low is None or number >= low)
            and (high is None or number <= high)
        ):
            yield level
