"""Traits of a record: the levels of a column, or the values of an expression, as states tell them.

An expression such as `income > 25000` has one value in each state of its columns, or it is not told
by them: bins that have numbers on both sides of 25000 do not say who has more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.errors import InferenceError
from understudy.inference.estimates import formulas
from understudy.inference.estimates.analysis_records import ABSENT, Records, is_binned
from understudy.inference.estimates.bin_bounds import end_scores
from understudy.inference.estimates.estimands import Estimand
from understudy.inference.noise_aware.cell_scores import cell_scores
from understudy.schema import NUMERIC, Schema


class UntoldError(InferenceError):
    """An expression that states do not tell."""


@dataclass(frozen=True)
class Trait:
    """What divides records into k classes.

    Attributes:
        text: as it was written.
        columns: that it uses, in the order of the schema.
        labels: of the classes.
        class_of: class of each combination of states of the columns, the last column fastest;
            `ABSENT` where one has no value.
        values: numbers of the classes, shape (k,); their places where levels are no numbers.
    """

    text: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    class_of: Integers
    values: Floats

    @classmethod
    def of_levels(cls, name: str, schema: Schema) -> Trait:
        """The levels of a column; of one of numbers, its bins."""
        column = schema.columns[name]
        k = column.n_ordinary
        labels = tuple(f"{name}[{label}]" for label in column.labels[:k])
        places = np.arange(column.size)
        return cls(name, (name,), labels, np.where(places < k, places, ABSENT), np.arange(float(k)))

    @classmethod
    def of_values(cls, text: str, schema: Schema) -> Trait:
        """The values of an expression.

        Raises:
            UntoldError: states do not tell them.
            InferenceError: the expression cannot be computed.
        """
        columns = formulas.columns_of(formulas.as_formula(text), schema.names)
        asked = Estimand("mean", text, columns, expression=text)
        scores = cell_scores(asked, schema)
        if end_scores(asked, schema, scores) is not None:
            raise UntoldError(
                f"The bins of {', '.join(columns)} do not tell the values of {text!r}: some bin "
                f"has numbers with several. {_edges(text, columns, schema)}"
            )
        present = scores.quantity != ABSENT
        values, place = np.unique(scores.value[present], return_inverse=True)
        class_of = np.full(len(present), ABSENT)
        class_of[present] = place
        truth = np.isin(values, (0.0, 1.0)).all()
        shown = [("false", "true")[int(v)] if truth else f"{v:g}" for v in values]
        return cls(text, columns, tuple(f"{text}[{name}]" for name in shown), class_of, values)

    @classmethod
    def of(cls, text: str, schema: Schema) -> Trait:
        """Both levels of a column that has two, or whether a condition holds.

        Raises:
            UntoldError: states do not tell whether it holds.
            InferenceError: no condition that holds for some and not for others.
        """
        plain = text.strip("`")
        if plain in schema.columns:
            return cls.of_levels(plain, schema)
        trait = cls.of_values(text, schema)
        if tuple(trait.values) != (0.0, 1.0):
            raise InferenceError(
                f"Expected a column, or a condition that is true for some and false for others, "
                f"got {text!r}."
            )
        return trait

    def within(self, columns: Sequence[str], schema: Schema) -> Integers:
        """Class of each cell of a table over more columns, in the order of the schema."""
        sizes = [schema.columns[name].size for name in columns]
        own = np.arange(len(self.class_of)).reshape([schema.columns[n].size for n in self.columns])
        axes = tuple(j for j, name in enumerate(columns) if name not in self.columns)
        places = np.broadcast_to(np.expand_dims(own, axes), sizes).reshape(-1)
        return self.class_of[places]

    def of_records(self, records: Records) -> Integers:
        """Class of each of some complete records, shape (n,)."""
        place = np.zeros(len(records.complete()), dtype=np.int64)
        for name in self.columns:
            place = place * records.schema.columns[name].size + records.states[name]
        return self.class_of[place]


def _edges(text: str, columns: Sequence[str], schema: Schema) -> str:
    """A condition that bins do tell, near the numbers that the expression names."""
    name = next(name for name in columns if is_binned(schema.columns[name]))
    column = schema.columns[name]
    assert isinstance(column, NUMERIC)
    lows = [interval.low for interval in column.intervals if not interval.spike]
    named = formulas.constants(formulas.as_formula(text)) or (sum(column.bounds) / 2,)
    near = min(lows, key=lambda low: min(abs(low - number) for number in named))
    return (
        f"One begins at {near:.12g}: take a condition such as {name} >= {near:.12g}, or a schema "
        "whose bins begin where yours needs them."
    )
