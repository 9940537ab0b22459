"""Label sets of SPSS, Stata and SAS: their files, where they hold no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from understudy.errors import DataError, SchemaError
from understudy.schema.cell_values import text_of
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable
from understudy.schema.file_labels import FileLabels, VariableLabels, read_file_labels

_TYPES: Final[Mapping[str, ValueType]] = {
    "text": "text",
    "days": "date",
    "moments": "other",
    "times": "other",
    "durations": "other",
}


def labels_of(file: CodebookFile) -> FileLabels:
    """What a file of SPSS, Stata or SAS without rows says.

    Args:
        file: the codebook.

    Raises:
        SchemaError: it cannot be read, or holds rows.
        MethodError: the library for it is not installed.
    """
    try:
        labels = read_file_labels(file.path)
    except DataError as error:
        raise SchemaError(str(error)) from None
    if labels.has_rows:
        file.refuse(
            "it holds rows, so it is confidential data and no public codebook; draft from it "
            "(understudy schema draft), or save its labels without the rows"
        )
    return labels


def variables(labels: FileLabels) -> Iterator[Variable]:
    """Variables of a label set."""
    for one in labels.variables.values():
        yield _variable(one)


def _variable(one: VariableLabels) -> Variable:
    return Variable(
        name=one.name,
        label=one.label,
        value_type=_TYPES.get(one.holds, "integer" if one.decimals == 0 else "number"),
        values=(
            *(
                CodedValue(text_of(code), label, "missing" if _is_absence(one, code) else "")
                for code, label in one.value_labels.items()
            ),
            *(
                CodedValue(text_of(code), "", "missing")
                for code in one.missing_codes
                if code not in one.value_labels
            ),
        ),
        absent_ranges=tuple((_end(low), _end(high)) for low, high in one.missing_ranges),
        on_a_scale=one.measure == "scale",
        ordered=one.measure == "ordinal",
        decimals=one.decimals,
    )


def _is_absence(one: VariableLabels, code: float | str) -> bool:
    """Whether a code says that there is no answer; a tagged one (.a) among numbers always does."""
    tagged = one.holds == "numbers" and isinstance(code, str)
    return tagged or one.is_missing(code)


def _end(number: float) -> str:
    """One end of a range; "" where it is open."""
    return "" if number in {float("inf"), float("-inf")} else text_of(number)
