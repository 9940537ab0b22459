"""Labels, codes and formats of variables in files of SPSS, Stata and SAS; no rows.

In a file without rows this is public. In the confidential file itself it is as confidential as the
rows, until a person has confirmed it: a label may have been written for one record.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from understudy._validation import require_extra
from understudy.errors import DataError
from understudy.schema.base import EXACT_INTEGER

LabelCode = int | float | str
Holds = Literal["numbers", "text", "days", "moments", "times", "durations"]

STATISTICAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".sav": "sav/zsav",
        ".zsav": "sav/zsav",
        ".por": "por",
        ".dta": "dta",
        ".sas7bdat": "sas7bdat",
        ".xpt": "xport",
    }
)
"""Ending of a file's name → what pyreadstat calls its format."""

TAGGED: Final = frozenset({"dta", "sas7bdat", "xport"})
"""Formats that have numbers which are none: .a to .z in Stata, .A to .Z and ._ in SAS."""

BYTES: Final = "ISO-8859-1"
"""An encoding in which any byte is a character: texts are decoded here, and each by itself."""

_HUGE = 1e300  # SPSS writes the largest number there is for a range without an end
_FORMAT_NAME = re.compile(r"^\$?(.*?)\d*(?:\.\d*)?\.?$")
_DECIMALS = re.compile(r"^(?:[A-Z$]*|%-?0?)\d+[.,](\d+)(?:f|fc)?$")


def _formats(days: str, moments: str, times: str, durations: str = "") -> dict[str, Holds]:
    """Map names of formats to what variables of them hold."""
    named: list[tuple[str, Holds]] = [
        *((name, "days") for name in days.split()),
        *((name, "moments") for name in moments.split()),
        *((name, "times") for name in times.split()),
        *((name, "durations") for name in durations.split()),
    ]
    return dict(named)


_HOLDS: Final[Mapping[str, Mapping[str, Holds]]] = {
    "SPSS": _formats(
        days="DATE ADATE EDATE JDATE SDATE MOYR QYR WKYR",
        moments="DATETIME YMDHMS",
        times="TIME MTIME",
        durations="DTIME",
    ),
    "SAS": _formats(
        days="DATE DAY DDMMYY DDMMYYB DDMMYYC DDMMYYD DDMMYYN DDMMYYP DDMMYYS MMDDYY MMDDYYB "
        "MMDDYYC MMDDYYD MMDDYYN MMDDYYP MMDDYYS YYMMDD YYMMDDB YYMMDDC YYMMDDD YYMMDDN YYMMDDP "
        "YYMMDDS WEEKDATE WEEKDATX WORDDATE WORDDATX E8601DA B8601DA IS8601DA MONYY YYMON YYMM YYQ",
        moments="DATETIME DATEAMPM MDYAMPM DTDATE E8601DT B8601DT IS8601DT E8601DN B8601DN",
        times="TIME TIMEAMPM TOD HHMM E8601TM B8601TM IS8601TM",
    ),
}
"""Names of formats, without their widths, and what variables hold that are shown so."""


@dataclass(frozen=True)
class VariableLabels:
    """Statements of a file about one variable.

    Attributes:
        name: the variable's name.
        label: what it is, in words.
        holds: what its values are, by their type and format.
        value_labels: code → its label, in the file's order. Numbers that are whole are so; codes
            of Stata and SAS that are no numbers are ".a" and the like.
        missing_codes: codes that say that there is no answer.
        missing_ranges: bounds, both included, between which a number says so.
        measure: level of measurement; "" where the file says none.
        written: the format, as the file writes it.
        decimals: digits behind the decimal mark that the format shows; None if it does not say.
    """

    name: str
    label: str = ""
    holds: Holds = "numbers"
    value_labels: Mapping[LabelCode, str] = field(default_factory=dict)
    missing_codes: tuple[LabelCode, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    measure: Literal["", "nominal", "ordinal", "scale"] = ""
    written: str = ""
    decimals: int | None = None

    def is_missing(self, code: LabelCode) -> bool:
        """Return whether a code says that there is no answer."""
        if code in self.missing_codes:
            return True
        if isinstance(code, str):
            return False
        return any(low <= code <= high for low, high in self.missing_ranges)


@dataclass(frozen=True)
class FileLabels:
    """Statements of a file about itself.

    Attributes:
        title: its label.
        format: what pyreadstat calls its format.
        encoding: how its texts are written, as Python calls it.
        has_rows: whether it holds any row; else it is a codebook, and may be a public one.
        variables: name → what it says about the variable, in the file's order.
    """

    title: str
    format: str
    encoding: str
    has_rows: bool
    variables: Mapping[str, VariableLabels]


def is_statistical(data: object) -> bool:
    """Return whether data are the path of a file of SPSS, Stata or SAS, by its ending."""
    return isinstance(data, str | Path) and Path(data).suffix.lower() in STATISTICAL


def read_file_labels(path: str | Path, encoding: str = "") -> FileLabels:
    """Read what a file of SPSS, Stata or SAS says about its variables, without looking at its rows.

    Args:
        path: of the file.
        encoding: of its texts, where the file does not say; by default what its format takes for
            granted, or UTF-8.

    Raises:
        DataError: it cannot be read.
        MethodError: the library for it is not installed.
    """
    path = Path(path)
    kind = STATISTICAL[path.suffix.lower()]
    columns, metadata = parse_file(path, encoding=BYTES, row_limit=1)
    used = _find_encoding(path, kind, encoding)

    def decode(text: str | None) -> str:
        return (text or "").encode(BYTES).decode(used, "replace").strip()

    variables = {}
    for bare in metadata.column_names:
        name = decode(bare)
        if not name or name.encode(used, "replace") != bare.encode(BYTES) or name in variables:
            raise DataError(
                f"The file {str(path)!r} has a variable whose name stands there twice, or is no "
                f"text in {used}; rename it, or save the file anew in UTF-8."
            )
        variables[name] = _variable(name, bare, metadata, kind, decode)
    if not variables:
        raise DataError(f"The file {str(path)!r} has no variable; save it anew with its columns.")
    has_rows = any(len(values) > 0 for values in columns.values())
    return FileLabels(decode(metadata.file_label), kind, used, has_rows, variables)


def parse_file(path: Path, **options: Any) -> tuple[Mapping[str, list[Any]], Any]:
    """Columns of a file as Python values, one by one as they were written, and its metadata.

    Nothing is converted: days and moments are numbers, user-missing values are values, and a number
    of Stata or SAS that is none is the letter of its tag.

    Args:
        path: of the file.
        options: of pyreadstat.

    Raises:
        DataError: it cannot be opened, or is damaged.
        MethodError: the library for it is not installed.
    """
    require_extra("files", f"A file with the ending {path.suffix}")
    # Its functions of each format by themselves do not take all of these options.
    from pyreadstat._readstat_parser import PyreadstatError, ReadstatError, parser_entry_point

    try:
        columns, metadata = parser_entry_point(
            str(path),
            parser_format=STATISTICAL[path.suffix.lower()],
            user_missing=True,
            disable_datetime_conversion=True,
            output_format="dict",
            **options,
        )
    except (ReadstatError, PyreadstatError, OSError, ValueError, OverflowError, MemoryError):
        raise DataError(
            f"The file {str(path)!r} cannot be read: it is truncated, damaged, or not what its "
            "name says; repair it, or save it anew (nothing was spent)."
        ) from None
    return columns, metadata


def _find_encoding(path: Path, kind: str, given: str) -> str:
    """The encoding that a file states, the given one, or the one of its format.

    Raises:
        DataError: it states one that is not known.
    """
    try:
        stated = parse_file(path, metadataonly=True)[1].file_encoding
    except DataError:  # its labels are not written in the encoding that it states
        stated = None
    name = stated or given or ("windows-1252" if kind == "dta" and _is_old(path) else "utf-8")
    for one in (name, name.lower().replace("windows-", "cp")):
        try:
            return codecs.lookup(one).name
        except LookupError:
            continue
    raise DataError(
        f"The file {str(path)!r} says that its texts are written in {name!r}, which is not known; "
        "save it in UTF-8."
    )


def _is_old(path: Path) -> bool:
    """Return whether a file of Stata is older than its version 14, which brought Unicode."""
    with path.open("rb") as stream:
        head = stream.read(40)
    release = re.match(rb"<stata_dta><header><release>(\d+)", head)
    return int(release.group(1)) < 118 if release else True


def _variable(name: str, bare: str, metadata: Any, kind: str, decoded: Any) -> VariableLabels:
    written = metadata.original_variable_types.get(bare) or ""
    is_text = metadata.readstat_variable_types.get(bare) == "string"
    holds: Holds = "text" if is_text else _holds(written, kind)
    codes: list[LabelCode] = []
    ranges: list[tuple[float, float]] = []
    labels: dict[LabelCode, str] = {}
    if holds in ("numbers", "text"):
        given = metadata.variable_value_labels.get(bare) or {}
        labels = {_code(code, is_text, decoded): decoded(label) for code, label in given.items()}
        for one in metadata.missing_ranges.get(bare) or ():
            low, high = (_code(one[end], is_text, decoded) for end in ("lo", "hi"))
            if low == high or isinstance(low, str) or isinstance(high, str):
                codes.append(low)
            else:
                ranges.append((_end(low), _end(high)))
        codes += [code for code in labels if code not in codes and _is_tag(code, is_text)]
    measure = metadata.variable_measure.get(bare, "")
    decimals = _DECIMALS.match(written)
    return VariableLabels(
        name,
        decoded(metadata.column_names_to_labels.get(bare)),
        holds,
        MappingProxyType(labels),
        tuple(codes),
        tuple(ranges),
        measure if measure in ("nominal", "ordinal", "scale") else "",
        written,
        int(decimals.group(1)) if decimals and holds == "numbers" else None,
    )


def _holds(written: str, kind: str) -> Holds:
    """Return what a variable of numbers holds, by its format."""
    if kind == "dta":
        if re.match(r"%-?t?d", written):
            return "days"
        if not re.match(r"%-?t[cC]", written):
            return "numbers"
        return "times" if re.fullmatch(r"%-?t[cC]HH:MM(:SS)?", written) else "moments"
    match = _FORMAT_NAME.match(written.upper())
    bare = match.group(1) if match else ""
    return _HOLDS["SAS" if kind in TAGGED else "SPSS"].get(bare, "numbers")


def _code(value: Any, is_text: bool, decoded: Any) -> LabelCode:
    if isinstance(value, str):
        return str(decoded(value)) if is_text else f".{value}"
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) <= EXACT_INTEGER
    return int(value) if whole else float(value)


def _is_tag(code: LabelCode, is_text: bool) -> bool:
    return isinstance(code, str) and not is_text


def _end(bound: float) -> float:
    return math.copysign(math.inf, bound) if abs(bound) > _HUGE else float(bound)
