"""The codes that a codebook lists for a variable, as values; and whether they are all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.errors import line
from understudy.schema.cell_values import Code, number_of, text_of
from understudy.schema.codebooks.variable import CodedValue, Variable

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
    """Whether codes that denote numbers are meant as numbers."""
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
    """Whether a code is of those that surveys keep for absence: -9, 97 to 99, 9998 and the like.

    Example:
        >>> [code for code in (-1, 1, 9, 95, 99, 999_998) if is_reserved(code)]
        [-1, 95, 99, 999998]
    """
    return _RESERVED.fullmatch(text_of(code)) is not None


def _are_a_list(variable: Variable, proper: Sequence[tuple[Code, CodedValue]]) -> bool:
    """Whether the listed values are all that there are, and not marks on a longer line."""
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
