"""The model of a numeric column: what kind of value a record has, then which number.

1. *Kind*: an ordinary number, one of the spikes, or one of the codes of absence, by a table given
   the states of a few parents (`state_table`), or by a logit given the features of many, with
   ordinary numbers as its reference (`state_logit`). Without spikes and codes there is none.
2. *Number*, where it is ordinary: z = t(y) on the public scale of `response`, by a regression on
   the features of the parents (`features.design`).

    f(x) = P(kind | parents)·[density of t(y) given the parents, if ordinary].

Both parts have parameters of their own, independent a priori, so that the posterior is the product
of theirs; a record of weight α has that weight in both. Numbers that come out are clipped to the
bounds, rounded to what the column holds and moved off its spikes (`settled`), and states follow
from them: all a function of the drawn z alone. The likelihood takes the records' own numbers as
they stand, without a correction for rounding or clipping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np

from understudy.errors import MethodError
from understudy.features.design import Features, indicated
from understudy.features.number_line import Drawn, Line, line_of, settled
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.samplers.categorical_logit import COEFFICIENTS, StateLogit
from understudy.privacy.samplers.categorical_table import LOGS, StateTable
from understudy.privacy.samplers.column_model import Floats, Integers, Records, Theta, slices
from understudy.privacy.samplers.conjugate_draws import NormalLinear
from understudy.privacy.samplers.mixture_regression import MixtureRegression
from understudy.privacy.samplers.response_scale import Form, Response
from understudy.schema import NUMERIC, Column, Schema

__all__ = ["NO_LABEL", "KindModel", "NumberModel", "NumberRegression"]

KindModel = Literal["table", "logit"]
NumberRegression = MixtureRegression | NormalLinear
"""Regressions of numbers (`Regression`); the list is closed, since they see rows."""
"""How the kind depends on its parents."""

_OF_KINDS: Final = {LOGS: "log_kinds", COEFFICIENTS: "kind_coefficients"}
"""Arrays of the kinds' θ → their names beside those of the regression."""
NO_LABEL: Final = -1
"""Stands where a record has no component."""


class _Ordinary(NamedTuple):
    """Records with ordinary numbers: which they are, z and X."""

    at: Integers
    responses: Floats
    design: Floats


@dataclass(frozen=True)
class NumberModel:
    """The model of a numeric column; θ is the regression's, and that of kinds where there are some.

    The latter is "log_kinds", shape (S, cells, kinds), of a table, or "kind_coefficients", shape
    (S, kinds - 1, 1 + features), of a logit.

    Attributes:
        column: its name.
        declared: as the schema declares it.
        features: of the parents of its numbers.
        response: the scale of its numbers.
        regression: of the numbers on that scale.
        kinds: the model of kinds: 0 is an ordinary number, then spikes, then codes.

    Raises:
        MethodError: a column that is not numeric, or kinds that are not those of the column.
    """

    column: str
    declared: Column
    features: Features
    response: Response
    regression: NumberRegression
    kinds: StateLogit | StateTable | None = None

    def __post_init__(self) -> None:
        """Check what is public."""
        if not isinstance(self.declared, NUMERIC):
            raise MethodError(f"The column {self.column!r} has no numbers; use a table of states.")
        there = 1 if self.kinds is None else self.kinds.size
        if there != 1 + len(self._special) or (self.kinds is not None and there == 1):
            raise MethodError(
                f"The column {self.column!r} has {len(self._special)} spikes and codes; its model "
                "needs one kind more, and no model of kinds where it has none."
            )

    @classmethod
    def of(
        cls,
        schema: Schema,
        column: str,
        parents: tuple[str, ...],
        regression: NumberRegression,
        *,
        form: Form = "asinh",
        offset: float | None = None,
        unit: float | None = None,
        kind_parents: tuple[str, ...] = (),
        kind_model: KindModel = "table",
        concentration: float = 0.5,
    ) -> NumberModel:
        """The model of a column of a schema.

        Args:
            schema: all columns.
            column: a numeric one.
            parents: of the number.
            regression: of the number.
            form: the scale of the number.
            offset: of that scale.
            unit: of that scale.
            kind_parents: of the kind.
            kind_model: of the kind: a table of their states, or a logit on their features.
            concentration: of the table's prior.

        Raises:
            MethodError: a column that is not numeric, bounds that the scale does not take, or too
                large a table or logit of kinds.
        """
        declared = schema.columns[column]
        response = Response.of(column, declared, form, offset=offset, unit=unit)
        size = 1 + len(indicated(declared))
        kinds: StateLogit | StateTable | None = None
        if size > 1 and kind_model == "logit":
            kinds = StateLogit(column, size, Features.of(schema, kind_parents))
        elif size > 1:
            sizes = {name: schema.columns[name].size for name in kind_parents}
            kinds = StateTable(column, size, sizes, concentration)
        features = Features.of(schema, parents)
        return cls(column, declared, features, response, regression, kinds)

    @property
    def parents(self) -> tuple[str, ...]:
        """Names of the parents, those of the number first."""
        kinds = () if self.kinds is None else self.kinds.parents
        return tuple(dict.fromkeys((*self.features.parents, *kinds)))

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of both parts; see `ColumnModel`."""
        theta: dict[str, Floats] = {}
        if self.kinds is not None:
            kinds = self.kinds.posterior(self._kinds(records), weights, source, draws=draws)
            theta.update({_OF_KINDS[name]: array for name, array in kinds.items()})
        at, z, design = self._ordinary(records)
        theta.update(self.regression.draws(z, design, weights[at], source, draws=draws))
        return theta

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i), numbers per unit of t(y); see `ColumnModel`."""
        return self.log_contributions(draws, records, np.ones(len(records[self.column].states)))

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """The kind's and the number's together; see `ColumnModel`."""
        ordinary, n = self._ordinary(records), len(weights)
        kinds = self._kinds(records) if self.kinds is not None else {}
        n_draws = len(next(iter(draws.values())))
        for part in slices(n_draws, n):
            these = {name: array[part] for name, array in draws.items()}
            yield self._contributions(these, kinds, ordinary, weights)

    def _contributions(
        self, draws: Theta, kinds: Records, ordinary: _Ordinary, weights: Floats
    ) -> Floats:
        """Of a chunk of draws, shape (draws in it, n)."""
        at, z, design = ordinary
        logs = self.regression.log_contributions(draws, z, design, weights[at])
        logs += weights[at] * self.response.log_unit
        if self.kinds is None:
            return logs
        (whole,) = self.kinds.log_contributions(_of_kinds(draws), kinds, weights)
        whole[:, at] += logs
        return whole

    def draw(self, theta: Theta, drawn: Records, uniforms: Floats) -> Drawn:
        """Kinds by the first row of uniform numbers, numbers by the others; see `ColumnModel`."""
        return self.draw_labelled(theta, drawn, None, uniforms)

    def labels(self, theta: Theta, records: Records, uniforms: Floats) -> Integers:
        """Components of records given their own numbers. CONFIDENTIAL.

        Args:
            theta: one draw.
            records: the column and its parents.
            uniforms: in (0, 1), shape (n,).

        Returns:
            Shape (n,); `NO_LABEL` where the number is not ordinary.
        """
        at, z, design = self._ordinary(records)
        components = np.full(len(uniforms), NO_LABEL, dtype=np.int64)
        components[at] = self.regression.labels(theta, z, design, uniforms[at])
        return components

    def draw_labelled(
        self, theta: Theta, drawn: Records, labels: Integers | None, uniforms: Floats
    ) -> Drawn:
        """New values whose numbers come from given components.

        Kinds are drawn again, from θ: whether a record had a number stays no input. Where one gets
        a number and has no label, its component is drawn by its probability.

        Args:
            theta: one draw.
            drawn: records of the parents at least.
            labels: shape (n,), `NO_LABEL` where there is none; None is none at all.
            uniforms: as in `draw`.
        """
        n = uniforms.shape[1]
        design = self.features.matrix(drawn, n)
        free = np.full(n, NO_LABEL, dtype=np.int64)
        given = free if labels is None else labels
        z = self.regression.labelled(theta, design, given, uniforms[1:])
        states, numbers = settled(self._line, self.response.back(z))
        if self.kinds is not None:
            kinds = self.kinds.draw(_of_kinds(theta), drawn, uniforms).states
            states = np.where(kinds > 0, self._states_of_kinds[kinds], states)
            numbers = np.where(kinds > 0, np.nan, numbers)
        return Drawn(states, numbers)

    @cached_property
    def _special(self) -> list[int]:
        """States that are no bins."""
        return indicated(self.declared)

    @cached_property
    def _states_of_kinds(self) -> Integers:
        return np.array([-1, *self._special], dtype=np.int64)

    @cached_property
    def _kinds_of_states(self) -> Integers:
        kinds = np.zeros(self.declared.size, dtype=np.int64)
        kinds[self._special] = np.arange(1, 1 + len(self._special))
        return kinds

    @cached_property
    def _line(self) -> Line:
        assert isinstance(self.declared, NUMERIC)
        return line_of(self.declared)

    def _kinds(self, records: Records) -> Records:
        """Records with kinds in the place of the column's states."""
        states = records[self.column].states
        return {**records, self.column: Drawn(self._kinds_of_states[states])}

    def _ordinary(self, records: Records) -> _Ordinary:
        drawn = records[self.column]
        assert drawn.numbers is not None
        at = np.flatnonzero(self._kinds_of_states[drawn.states] == 0)
        design = self.features.matrix(records, len(drawn.states))
        return _Ordinary(at, self.response.to(drawn.numbers[at]), design[at])


def _of_kinds(theta: Theta) -> Theta:
    """Arrays of the kinds' model, under its own names."""
    return {name: theta[here] for name, here in _OF_KINDS.items() if here in theta}
