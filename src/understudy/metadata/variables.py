"""A variable as a codebook describes it, whatever the format: the form that every reader fills in.

Nothing here is decided yet. What a column becomes of it is decided in one place,
so that the same facts give the same column,
whether they stand in DDI, in a label set or in a spreadsheet.

**What a column becomes of what a codebook says about it; nothing is made up.**

- Codes that the codebook labels are the levels, in its order: ordinal if it says so, else
  categorical. Numbers are levels as numbers, but a column in which one code has a leading zero
  ("01"), or that is declared as text, keeps texts.
- A number without such a list is integer or continuous. If it lacks a bound, that bound is asked
  for by name. Labelled values of a longer line ("0: none", "90: 90 and above") are spikes if the
  bins are wide, and a labelled value next to the range continues it; labelled values farther off,
  words among numbers, and labels of nothing but -9, 98, 999 and the like, are codes of absence, and
  a note says so.
- Values and bounds that may have been read from the rows (a range that a program computed, codes
  that are listed without a label) leave fingerprints, as those of a draft do.
- Identifiers are left out. So is text without a list, unless the rows give one to a draft.

Rules by which a codebook says that a variable was computed, and the derived columns they become.

Data files are often made by syntax that computes some variables from others: `COMPUTE bmi = weight
/ height ** 2.`, `RECODE age (LO THRU 17 = 1) (18 THRU HI = 2) INTO adult.`, `gen bmi = weight /
height^2`, or the `derivation` of a DDI file. What can be said as an expression, a cut or a map of
levels (`understudy.schema.derived`) is proposed so, as long as the column holds what the
rule gives. Everything else is a note for the reviewer: conditions, functions that are not in the
language, several commands that set one variable, words.

Nothing that is written is run.

**Derived columns that a codebook proposes: what it says of the column, with the rule it states.**

**The codes that a codebook lists for a variable, as values; and whether they are all of them.**
"""

from __future__ import annotations

import ast
import datetime
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal, cast

from pydantic import ValidationError

from understudy.errors import line
from understudy.schema import NUMERIC, Categorical, Column, Date, Integer
from understudy.schema.base import Code, number_of, same_value, text_of
from understudy.schema.columns import KINDS
from understudy.schema.derived import derived_faults
from understudy.schema.expressions import FUNCTIONS, Expression, faults_of, span_of
from understudy.schema.numeric import ONE_BIN_EACH
from understudy.schema.validation import describe_fault

ValueType = Literal["", "integer", "number", "text", "categories", "date", "boolean", "other"]
"""What the values are; "" where a codebook does not say, "other" for kinds that are not read.

"categories" are texts or numbers of which there is a list, though the codebook may not give it."""

Absence = Literal["", "missing", "not_applicable", "out_of_domain"]

ABSENCES: Final[Mapping[str, Absence]] = {
    "missing": "missing",
    "inapplicable": "not_applicable",
    "not applicable": "not_applicable",
    "out of domain": "out_of_domain",
}
"""Words for kinds of absence, in codebooks that tell them apart."""


@dataclass(frozen=True)
class CodedValue:
    """One value that a codebook lists.

    Attributes:
        text: the code as it is written.
        label: what it stands for, in words; "" for a code that is merely listed.
        absence: the kind of absence that it stands for; "" for a proper value.
        maybe_observed: whether it may be listed for no other reason than that a row has it.
    """

    text: str
    label: str = ""
    absence: Absence = ""
    maybe_observed: bool = False


@dataclass(frozen=True)
class Variable:
    """The statements of a codebook about one variable.

    Attributes:
        name: as in the header of the data.
        label: one line about it.
        value_type: what its values are.
        values: the codes that the codebook lists, in its order.
        lower: smallest value as it is written, "" where none is named.
        upper: largest value likewise.
        bounds_maybe_observed: whether the bounds may be those of the rows: then a person has to
            confirm them.
        absent_ranges: lower and upper end of ranges of codes that all stand for *not known*.
        on_a_scale: the codebook says that its values are measured or counted: codes that it lists
            are single values of a longer line, not the whole list.
        in_categories: the codebook says that its values are categories: its codes are the whole
            list, labelled or not.
        ordered: the codebook says that its codes have an order.
        decimals: of its values; None where not named.
        unit: of measurement.
        names_rows: the codebook says that it is an identifier.
        rules: commands and sentences by which the codebook says that it was computed from others.
        why_not: why no column can be made of it, where the format itself says so.
    """

    name: str
    label: str = ""
    value_type: ValueType = ""
    values: tuple[CodedValue, ...] = ()
    lower: str = ""
    upper: str = ""
    bounds_maybe_observed: bool = False
    absent_ranges: tuple[tuple[str, str], ...] = ()
    on_a_scale: bool = False
    in_categories: bool = False
    ordered: bool = False
    decimals: int | None = None
    unit: str = ""
    names_rows: bool = False
    rules: tuple[str, ...] = ()
    why_not: str = ""


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
    """Describe to a reviewer a rule that is not proposed."""
    text = " ".join("; ".join(command.strip().rstrip(".;") for command in commands).split())
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"the codebook says that it is computed, in words that are not taken over: {shown}"


def derived_of(
    commands: tuple[str, ...], name: str, columns: Mapping[str, Column]
) -> str | dict[str, Any] | None:
    """Derive what `derived` would be from what a codebook says; None if it cannot be said.

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
        return _read_recode(source, columns[source], columns[name], found[2])
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


def _read_recode(
    source: str, column: Column, target: Column, text: str
) -> str | dict[str, Any] | None:
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
    """Find where the ranges of a column of numbers meet; None if they do not, or leave some out."""
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


_RESERVED: Final = re.compile(r"-\d{1,6}|9{1,11}[5-9]", re.ASCII)
_MOST_CODES = 100  # of a range of missing codes that is written out


@dataclass(frozen=True)
class ListedCodes:
    """The values that a codebook lists, as values, and which of them are codes of absence.

    Attributes:
        proper: values, in the order of the codebook.
        missing: codes of *not known*.
        not_applicable: codes of *the question does not arise*.
        out_of_domain: codes of whatever is outside the domain; a column has one at most.
        labels: text of a value → its label.
        maybe_observed: those of the proper values that may be listed since a row has them.
        are_a_list: whether the proper values are all that the column can hold.
    """

    proper: tuple[Code, ...]
    missing: tuple[Code, ...]
    not_applicable: tuple[Code, ...]
    out_of_domain: tuple[Code, ...]
    labels: dict[str, str]
    maybe_observed: tuple[Code, ...]
    are_a_list: bool

    @classmethod
    def of(cls, variable: Variable) -> ListedCodes:
        """Of a variable's values and ranges of missing codes."""
        as_numbers = _are_numbers(variable)
        values = [(_code(value.text, as_numbers), value) for value in variable.values]
        ranges = tuple(_ends(*ends) for ends in variable.absent_ranges)
        kinds = [(code, value, _absence(code, value, ranges)) for code, value in values]
        proper = [(code, value) for code, value, absence in kinds if not absence]
        missing = [code for code, _, absence in kinds if absence == "missing"]
        known = set(map(text_of, missing))
        more = [code for code in _written_out(ranges) if text_of(code) not in known]
        labels = {
            text_of(code): line(" ".join(value.label.split()))
            for code, value in values
            if value.label.strip() and value.label.strip() != value.text.strip()
        }
        return cls(
            proper=tuple(code for code, _ in proper),
            missing=(*missing, *more),
            not_applicable=tuple(code for code, _, absence in kinds if absence == "not_applicable"),
            out_of_domain=tuple(code for code, _, absence in kinds if absence == "out_of_domain"),
            labels=labels,
            maybe_observed=tuple(code for code, value in proper if value.maybe_observed),
            are_a_list=_are_a_list(variable, proper),
        )

    def entries(self, among: Iterable[Code]) -> dict[str, Any]:
        """Entries of the codes of absence, and of the labels of these and of some values."""
        absent = (*self.missing, *self.not_applicable, *self.out_of_domain)
        known = {text_of(code) for code in (*among, *absent)}
        labels = {text: label for text, label in self.labels.items() if text in known}
        return {
            "missing": self.missing,
            "not_applicable": self.not_applicable,
            "out_of_domain": next(iter(self.out_of_domain), None),
            "value_labels": labels,
        }


def _are_numbers(variable: Variable) -> bool:
    """Return whether codes that denote numbers are meant as numbers."""
    if variable.value_type in {"integer", "number"}:
        return True
    if variable.value_type not in {"", "categories"}:
        return False
    numbers = [value.text for value in variable.values if number_of(value.text) is not None]
    return all(text_of(_code(text, as_number=True)) == text for text in numbers)


def _code(text: str, as_number: bool) -> Code:
    number = number_of(text) if as_number else None
    if number is None:
        return text
    return int(number) if number == int(number) else number


def _ends(low: str, high: str) -> tuple[float, float]:
    """A range of codes; an end that is no number is open."""
    first, last = number_of(low), number_of(high)
    return (
        float("-inf") if first is None else first,
        float("inf") if last is None else last,
    )


def _absence(code: Code, value: CodedValue, ranges: Sequence[tuple[float, float]]) -> str:
    number = number_of(code)
    within = number is not None and any(low <= number <= high for low, high in ranges)
    return value.absence or ("missing" if within else "")


def _written_out(ranges: Iterable[tuple[float, float]]) -> list[Code]:
    """Whole numbers of short ranges; of a long or open one, only the listed codes are known."""
    return [
        code
        for low, high in ranges
        if high - low < _MOST_CODES and low == int(low)
        for code in range(int(low), int(high) + 1)
    ]


def is_reserved(code: Code) -> bool:
    """Return whether surveys keep a code for absence: -9, 97 to 99, 9998 and the like.

    Example:
        >>> [code for code in (-1, 1, 9, 95, 99, 999_998) if is_reserved(code)]
        [-1, 95, 99, 999998]
    """
    return _RESERVED.fullmatch(text_of(code)) is not None


def _are_a_list(variable: Variable, proper: Sequence[tuple[Code, CodedValue]]) -> bool:
    """Return whether the listed values are all that there are, and not marks on a longer line."""
    if not proper or variable.value_type == "date":
        return False
    if variable.in_categories or variable.value_type in {"text", "categories", "boolean"}:
        return True
    if variable.on_a_scale:
        return False
    if all(is_reserved(code) for code, _ in proper):
        return False
    numbers = [number_of(code) for code, _ in proper]
    if 2 * sum(not value.label for _, value in proper) > len(proper):
        # Mostly bare numbers are a count of what was there; bare words can be nothing but a list.
        return not variable.value_type or None in numbers
    # The range of a list is that of its codes; any other range is a line.
    ends = [number_of(text) for text in (variable.lower, variable.upper) if text]
    return all(end in numbers for end in ends)


_KINDS: Final = {"number": "continuous", "text": "categorical", "categories": "categorical"}

_MOST_RANGES: Final = 100
_RANGE: Final = re.compile(
    r"(?<![^\W_])(?<![.,-])([+-]?[0-9]{1,4})(?:\s*\([^)]*\))?"
    r"\s*(?:[-_–−]|\.\.|\b(?:to|thru|bis|à|a|tot)\b)\s*([+-]?[0-9]{1,4})(?![^\W_]|[-.,]+\d)"
)
_LONGEST_SCALE: Final = 100
_IDENTIFIER: Final = "the codebook says that it is an identifier"
_FREE_TEXT: Final = (
    "it is text without a list of its values; declare its levels by hand, if they are public"
)
_OTHER: Final = (
    "its values are moments, times, places or of another kind that is not taken from codebooks; "
    "declare it by hand"
)


@dataclass(frozen=True)
class Asked:
    """A column of which the codebook does not say enough.

    Attributes:
        entries: what it says, as entries of the column.
        needed: names of the entries that it lacks.
        in_words: why it is not written into a schema, but told in its heading; "" if it is written.
    """

    entries: dict[str, Any]
    needed: tuple[str, ...]
    in_words: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A variable of which no column is made.

    Attributes:
        why: in words, without a full stop.
    """

    why: str


Described = Column | Asked | LeftOut


def describe_column(variable: Variable, source: str) -> tuple[Described, tuple[str, ...]]:
    """The column that a codebook describes, and what a reviewer should know of it.

    Args:
        variable: what the codebook says.
        source: which codebook, as it will stand in the column's `source`.
    """
    if reason := _reason_against(variable):
        return LeftOut(reason), ()
    variable, stated = _with_stated_range(variable)
    codes = ListedCodes.of(variable)
    said = {
        "description": line(" ".join(variable.label.split())),
        "unit": line(" ".join(variable.unit.split())),
        "source": source,
    }
    try:
        if codes.are_a_list:
            return _make_with_levels(variable, codes, said), ()
        column, notes = _on_a_line(variable, codes, said)
        return column, (*stated, *notes)
    except ValidationError as error:
        fault = next(iter(describe_fault(error.errors()[0])))
        return LeftOut(f"what the codebook says of it does not hold together: {fault}"), ()


def stated_range(text: str) -> tuple[int, int] | None:
    """The ends of a scale that a question or a name says; None if it says none, or several.

    A scale begins at 1 or below and ends at 100 or below: years and sizes are none.

    Example:
        >>> stated_range("How satisfied are you (0-10)?"), stated_range("trust, -5 bis +5")
        ((0, 10), (-5, 5))
        >>> stated_range("income 2019-2020"), stated_range("1-5 or 1-7"), stated_range("q1_2b")
        (None, None, None)
    """
    found = {(int(low), int(high)) for low, high in _RANGE.findall(text)}
    low, high = found.pop() if len(found) == 1 else (0, 0)
    return (low, high) if low <= 1 and low + 1 < high <= _LONGEST_SCALE else None


def _with_stated_range(variable: Variable) -> tuple[Variable, tuple[str, ...]]:
    """The variable with bounds that its label alone says, and a note of them.

    A list of all its numbers says more.
    """
    says_more = variable.lower or variable.upper or variable.in_categories
    stated = None if says_more else stated_range(variable.label)
    if stated is None or variable.value_type not in ("", "integer", "number"):
        return variable, ()
    listed = {number_of(value.text) for value in variable.values}
    low, high = stated
    if listed.issuperset(range(low, high + 1)):
        return variable, ()
    note = f"its label says {low} to {high}, which are taken for its bounds; correct what is not so"
    return replace(variable, lower=str(low), upper=str(high), on_a_scale=True), (note,)


def _reason_against(variable: Variable) -> str:
    if variable.why_not:
        return variable.why_not
    if variable.names_rows:
        return _IDENTIFIER
    if len(variable.absent_ranges) > _MOST_RANGES:
        return f"it names more than {_MOST_RANGES} ranges of missing codes"
    return ""


def _make_with_levels(variable: Variable, codes: ListedCodes, said: dict[str, str]) -> Column:
    """A column with levels."""
    if _are_truths(codes.proper, as_numbers=variable.value_type == "boolean"):
        return _column({"kind": "boolean", **_absences(codes), **said})
    entries = {
        "kind": "ordinal" if variable.ordered else "categorical",
        "levels": codes.proper,
        **codes.entries(codes.proper),
        **said,
    }
    column = _column(entries)
    read = {"levels": fingerprints_of(codes.maybe_observed)} if codes.maybe_observed else {}
    return column.model_copy(update={"drafted": read}) if read else column


def _are_truths(values: Iterable[Code], *, as_numbers: bool) -> bool:
    texts = {text_of(value).lower() for value in values}
    return texts == {"true", "false"} or (as_numbers and texts <= {"true", "false", "0", "1"})


def _absences(codes: ListedCodes) -> dict[str, Any]:
    return codes.entries(())


def _on_a_line(
    variable: Variable, codes: ListedCodes, said: dict[str, str]
) -> tuple[Described, tuple[str, ...]]:
    """A column of numbers, dates or truth values; or what it lacks."""
    kind = _kind(variable, codes)
    if kind == "boolean":
        return _column({"kind": kind, **_absences(codes), **said}), ()
    if kind == "categorical":
        known = {"kind": kind, **_absences(codes), **said}
        told = _FREE_TEXT if variable.value_type == "text" else ""
        return Asked(known, ("levels",), told), ()
    if kind in {"", "other"}:
        told = _OTHER if kind else ""
        return Asked({**_absences(codes), **said}, ("kind",), told), ()
    bounds = {
        "lower": _parse_bound(variable.lower, kind),
        "upper": _parse_bound(variable.upper, kind),
    }
    named = {end: value for end, value in bounds.items() if value is not None}
    codes, named, notes = _with_marks(codes, named)
    decimals = {} if kind != "continuous" else {"decimals": variable.decimals}
    entries = {"kind": kind, **named, **decimals, **codes.entries(()), **said}
    if variable.bounds_maybe_observed:
        entries["drafted"] = {end: fingerprints_of((value,)) for end, value in named.items()}
    if needed := tuple(end for end in bounds if end not in named):
        return Asked(entries, needed), notes
    return _with_spikes(entries, codes), notes


def _kind(variable: Variable, codes: ListedCodes) -> str:
    if variable.value_type:
        return _KINDS.get(variable.value_type, variable.value_type)
    numbers = [number_of(text) for text in (variable.lower, variable.upper) if text]
    if not numbers:
        return ""
    whole = all(number is not None and number == int(number) for number in numbers)
    whole &= all(number_of(code) in {None, number_of(text_of(code))} for code in codes.proper)
    return "integer" if whole and not variable.decimals else "continuous"


def _parse_bound(text: str, kind: str) -> Any:
    """A bound as a value; text that is none stays, so that the check of the column tells of it."""
    if not text:
        return None
    if kind == "date":
        try:
            return datetime.date.fromisoformat(text.strip())
        except ValueError:
            return text
    number = number_of(text)
    if number is None:
        return text
    return int(number) if number == int(number) else number


def _with_marks(
    codes: ListedCodes, bounds: dict[str, Any]
) -> tuple[ListedCodes, dict[str, Any], tuple[str, ...]]:
    """Listed values of a line: those beside it continue it, those far off are codes of absence."""
    inside: list[Code] = []
    outside: list[Code] = []
    ends = dict(bounds)
    for code in codes.proper:
        number = number_of(code)
        if number is None or (not bounds and is_reserved(code)):
            outside.append(code)
        elif len(ends) < 2 or not all(isinstance(end, int | float) for end in ends.values()):
            inside.append(code)
        elif ends["lower"] - 1 <= number <= ends["upper"] + 1:
            ends = {"lower": min(ends["lower"], code), "upper": max(ends["upper"], code)}
            inside.append(code)
        else:
            outside.append(code)
    note = (
        "values that it labels and that are far from its range, are no numbers, or are kept for "
        "absence by custom (-9, 98, 999) are taken for codes of absence"
    )
    marked = replace(codes, proper=tuple(inside), missing=(*codes.missing, *outside))
    return marked, ends, (note,) if outside else ()


def _with_spikes(entries: dict[str, Any], codes: ListedCodes) -> Column:
    """The column, its labelled values spikes where bins are wide enough to hold more than them."""
    column = _column(entries)
    few = isinstance(column, Integer) and column.upper - column.lower < ONE_BIN_EACH
    spikes = tuple(code for code in codes.proper if text_of(code) in codes.labels)
    if not spikes or few or isinstance(column, Date):
        return column
    try:
        return _column({**entries, "spikes": spikes, **codes.entries(spikes)})
    except ValidationError:  # they fill a bin, or lie in none
        return column


def _column(entries: dict[str, Any]) -> Column:
    return cast(Column, KINDS[entries["kind"]].model_validate(entries))


def fingerprints_of(values: Sequence[Code]) -> str:
    """Fingerprints of values, as a draft leaves them."""
    return Categorical(kind="categorical", levels=tuple(values)).fingerprints()["levels"]


_ENDS = {"lower", "upper"}
_FAR = 10**9  # in place of bounds that are asked for


def propose_column(
    commands: tuple[str, ...],
    name: str,
    columns: Mapping[str, Column],
    asked: Mapping[str, Asked],
) -> Column | Asked | None:
    """A column with the rule that a codebook states; None where it does not fit the column.

    Bounds that the codebook does not name are those that the rule gives, where it gives some; else
    they are asked for as before. Where the rule may have no value, the column has the empty code.

    Args:
        commands: what the codebook says.
        name: of the column.
        columns: that the codebook describes fully.
        asked: the others, with what it says of them.
    """
    others: dict[str, Column] = {n: c for n, c in columns.items() if n != name}
    firm = dict(others)
    others |= {n: c for n, one in asked.items() if n != name and (c := _stand_in(one))}
    own = columns.get(name) or (_stand_in(asked[name]) if name in asked else None)
    rule = None if own is None else derived_of(commands, name, {**others, name: own})
    if own is None or rule is None:
        return None
    entries = own.model_dump() if name in columns else dict(asked[name].entries)
    entries["derived"] = rule
    if name in asked and not _with_ends(entries, rule, firm):
        trial = {**entries, **{end: getattr(own, end) for end in asked[name].needed}}
        fitting = _fit_column(trial, name, others)
        if fitting is None:
            return None
        missing = {"missing": fitting.missing} if fitting.missing else {}
        return replace(asked[name], entries={**entries, **missing})
    return _fit_column(entries, name, others)


def _fit_column(entries: dict[str, Any], name: str, others: Mapping[str, Column]) -> Column | None:
    """The column, with the empty code where its rule may have no value; None if it does not fit."""
    more: tuple[tuple[str, ...], ...] = ((),) if entries.get("missing") else ((), ("",))
    for missing in more:
        column = _make_column({**entries, "missing": (*entries.get("missing", ()), *missing)})
        if column is not None and not [*derived_faults({**others, name: column})]:
            return column
    return None


def _stand_in(asked: Asked) -> Column | None:
    """A column of numbers with far bounds in place of those that it lacks; None for others."""
    if not set(asked.needed) <= _ENDS:
        return None
    entries = {"lower": -_FAR, "upper": _FAR, **asked.entries}
    return _make_column({key: value for key, value in entries.items() if key != "drafted"})


def with_rules_that_hold(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns, without rules that do not fit them, or name a column that is not among them.

    A column whose rule falls is one like others.
    """
    found = dict(columns)
    while True:
        kept = {name: column for name, column in found.items() if not _falls(name, found)}
        if len(kept) == len(found):
            break
        found |= {
            n: c.model_copy(update={"derived": None}) for n, c in found.items() if n not in kept
        }
    if found and all(column.derived is not None for column in found.values()):
        return {n: column.model_copy(update={"derived": None}) for n, column in found.items()}
    return found


def _falls(name: str, columns: Mapping[str, Column]) -> bool:
    """Return whether the rule of a column does not hold together with the others as they stand."""
    column = columns[name]
    if column.derived is None:
        return False
    plain = {n: c.model_copy(update={"derived": None}) for n, c in columns.items()}
    return bool([*derived_faults({**plain, name: column})])


def _with_ends(entries: dict[str, Any], rule: object, columns: Mapping[str, Column]) -> bool:
    """Put in the bounds that the rule gives; whether it gives some."""
    try:
        expression = Expression.read(str(rule)) if isinstance(rule, str) else None
    except ValueError:
        return False
    if expression is None or expression.cuts or [*faults_of(expression, columns)]:
        return False
    span = span_of(expression, columns)
    if not (math.isfinite(span.low) and math.isfinite(span.high)):
        return False
    whole = entries.get("kind") == "integer"
    ends = (math.floor(span.low), math.ceil(span.high)) if whole else (span.low, span.high)
    for key, end in zip(("lower", "upper"), ends, strict=True):
        entries.setdefault(key, end)
    return True


def _make_column(entries: dict[str, Any]) -> Column | None:
    try:
        return cast(Column, KINDS[str(entries.get("kind"))].model_validate(entries))
    except (ValidationError, KeyError):
        return None
