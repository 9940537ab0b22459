"""What every column declares: codes of absence, source, review; and its numbered states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from understudy.errors import suggestion
from understudy.schema.cell_values import EXACT_INTEGER, Code, duplicated, text_of, time_as_text
from understudy.schema.review import Reviewed


def _finite(value: Code) -> Code:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            'NaN and infinity cannot be declared; "" stands for an empty cell, NaN included'
        )
    if isinstance(value, int) and abs(value) > EXACT_INTEGER:
        raise ValueError(
            "a whole number beyond ±2^53 cannot be told from its neighbours where numbers are "
            "stored in 64 bits; declare it as text"
        )
    return value


Value = Annotated[
    Code,
    BeforeValidator(time_as_text),
    AfterValidator(_finite),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


class LevelMap(BaseModel):
    """Levels of one column by those of another.

    Attributes:
        of: the other column.
        levels: level → those of the other column that it stands for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    of: str
    levels: dict[str, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(min_length=1)


class Declaration(Reviewed):
    """What every kind of column declares.

    Attributes:
        derived: the rule by which the column is computed from others: an expression such as
            "weight / height ** 2", "income > 0" or "cut(age, 18, 65)", or a table { of = "county",
            levels = { north = ["a", "b"] } }. It is not measured, and costs nothing.
        description: one line for the reader of the release.
        unit: unit of measurement, in words.
        missing: codes that say *not known*; each is a state of its own. The empty text stands for
            an empty cell (null, NaN).
        not_applicable: codes that say *the question does not arise*; each a state of its own.
        out_of_domain: code under which values outside the domain are counted **and released**.
            Without it they are counted and never sampled.
        value_labels: what a level, a spike or a code of absence stands for, in words: the value as
            text → its label.
    """

    readable: ClassVar[tuple[str, ...]] = (
        *("missing", "not_applicable", "out_of_domain", "value_labels", "derived"),
    )

    derived: str | LevelMap | None = None
    description: str = ""
    unit: str = ""
    missing: tuple[Value, ...] = ()
    not_applicable: tuple[Value, ...] = ()
    out_of_domain: Value | None = None
    value_labels: dict[str, Annotated[str, Field(min_length=1)]] = Field(default={})

    @model_validator(mode="after")
    def _labels_stand_for_values(self) -> Self:
        single = (*getattr(self, "levels", ()), *getattr(self, "spikes", ()), *self.codes)
        known = {text_of(value) for value in single}
        unknown = [text for text in self.value_labels if text not in known]
        if unknown:
            raise ValueError(
                f"`value_labels` names {unknown[0]!r}, which is no level, spike or code of this "
                f"column{suggestion(unknown[0], sorted(known))}; declare it, or leave its label out"
            )
        return self

    @property
    def codes(self) -> tuple[Code, ...]:
        """Codes of absence, in the order of their states."""
        declared = () if self.out_of_domain is None else (self.out_of_domain,)
        return (*self.not_applicable, *self.missing, *declared)

    @property
    def n_ordinary(self) -> int:
        """Number of ordinary states (levels or intervals); the codes of absence follow them."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of states; also the code of the undeclared out-of-domain state."""
        return self.n_ordinary + len(self.codes)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with changes; what was computed once is not taken over.

        Args:
            update: entries to change; they are not checked.
            deep: whether entries are copied as well.
        """
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Text of each state, in order."""
        return (*self._ordinary_labels(), *(text_of(code) or "(empty)" for code in self.codes))

    def _ordinary_labels(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _readings(self, key: str) -> list[tuple[str, Any]]:
        if key == "derived":  # a rule as a whole: what it names is no value
            rule = self.derived
            text = rule if rule is None or isinstance(rule, str) else rule.model_dump_json()
            return [] if text is None else [(key, text)]
        if key == "value_labels":
            return [("label", f"{text}: {label}") for text, label in self.value_labels.items()]
        # One name for all: a bound that became a level, or a level that became a code of absence,
        # still is the value that was read.
        return [("value", value) for _, value in super()._readings(key)]


def refuse_repeated_code(codes: tuple[Code, ...]) -> None:
    """Check that no code stands for the same value as another.

    Raises:
        ValueError: names the code.
    """
    twice = duplicated(codes)
    if twice is not None:
        raise ValueError(f"code {text_of(twice)!r} is declared twice; keep one of them")
