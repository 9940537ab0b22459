"""A variable as a codebook describes it, whatever the format: the form that every reader fills in.

Nothing here is decided yet. What a column becomes of it is decided in one place
(`understudy.schema.codebooks.described_column`), so that the same facts give the same column,
whether they stand in DDI, in a label set or in a spreadsheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

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
    """What a codebook says about one variable.

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
