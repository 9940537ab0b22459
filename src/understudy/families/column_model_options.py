"""The models that a Bayesian synthesizer draws columns by, from options; everything is public.

A number has a regression on the columns before it, the nearest first, as long as they have no more
than `MOST_FEATURES` features together. States, and kinds of numbers, have a logit on the same
columns, which adds up what they say; where it would have more than `MOST_COEFFICIENTS` coefficients
they have a table given a few columns: dense, and small. Where nothing else is said a table takes
the columns nearest before it, as long as it has no more than 10,000 probabilities. Where there is
no column before, a table says all there is to say, and is drawn without chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from understudy.domain.network import Edge
from understudy.errors import MethodError, suggestion
from understudy.families.network_options import edge, require_order
from understudy.features.design import Features, indicated
from understudy.privacy.samplers.categorical_logit import StateLogit
from understudy.privacy.samplers.categorical_table import LARGEST, StateTable
from understudy.privacy.samplers.column_sequence import AnyColumnModel, SequentialModel
from understudy.privacy.samplers.numeric_column import KindModel, NumberModel, NumberRegression
from understudy.privacy.samplers.response_scale import Form
from understudy.schema import NUMERIC, Schema

MOST_FEATURES = 64
"""Features of a regression, where no network says its parents."""
MOST_COEFFICIENTS = 200
"""Of a logit that is taken by itself."""

States = Literal["auto", "table", "logit"]
"""How states depend on columns before."""


@dataclass(frozen=True, kw_only=True)
class Modelling:
    """How columns are modelled.

    Attributes:
        regression: of numbers, with its prior.
        form: of the scale on which they are modelled, as `privacy.samplers.response_scale` has it.
        offset: of a logarithm; None is 0.
        unit: of asinh; None is a thousandth of a column's larger bound.
        network: what each column is drawn given, like "job<-age & sex", parents first; nothing
            leaves it to the order of the schema.
        parents: then, of how many columns a table holds the states at most, beside its own.
        states: tables or logits for states and kinds; "auto" takes a logit where it is small.
    """

    regression: NumberRegression
    form: Form = "asinh"
    offset: float | None = None
    unit: float | None = None
    network: tuple[str, ...] = ()
    parents: int = 2
    states: States = "auto"

    def sequence(self, schema: Schema, given: tuple[str, ...] = ()) -> SequentialModel:
        """Models of all columns but those that are given.

        Raises:
            MethodError: a network that is none of these columns, a table or logit too large, or a
                scale that does not fit a column.
        """
        said = dict(declared_edges(schema, given, self.network)) if self.network else {}
        column_models: list[AnyColumnModel] = []
        known = list(given)
        for name in said or [name for name in schema.names if name not in given]:
            column_models.append(self._column_model(schema, name, tuple(known), said.get(name)))
            known.append(name)
        return SequentialModel(tuple(column_models), given)

    def _column_model(
        self, schema: Schema, name: str, known: tuple[str, ...], said: tuple[str, ...] | None
    ) -> AnyColumnModel:
        """The model of one column, given what is said, or what suits of the columns before it."""
        column, foremost = schema.columns[name], known if said is None else said
        many = _described(schema, known) if said is None else said
        numeric = isinstance(column, NUMERIC)
        size = 1 + len(indicated(column)) if numeric else column.size
        how = self._how(size, Features.of(schema, many))
        if not numeric and how == "logit":
            return StateLogit.of(schema, name, many)
        few = _nearest(schema, size, foremost, self.parents) if numeric or said is None else said
        if not numeric:
            return StateTable.of(schema, name, few)
        return NumberModel.of(
            schema,
            name,
            many,
            self.regression,
            form=self.form,
            offset=self.offset,
            unit=self.unit,
            kind_parents=many if how == "logit" else few,
            kind_model=how,
        )

    def _how(self, size: int, features: Features) -> KindModel:
        """A table or a logit, for so many states or kinds."""
        if self.states != "auto":
            return self.states
        small = (size - 1) * (1 + len(features.names)) <= MOST_COEFFICIENTS
        return "logit" if small and features.parents else "table"


def columns_given(schema: Schema, sensitive: Sequence[str]) -> tuple[str, ...]:
    """The columns that are kept as they stand, where some are named as sensitive.

    Args:
        schema: the columns.
        sensitive: names of those that are drawn; none stands for all.

    Raises:
        MethodError: an unknown or repeated column, or an inequality that could move a kept number.
    """
    for name in sensitive:
        if name not in schema.names:
            raise MethodError(
                f"The option sensitive names {name!r}, which is no column"
                f"{suggestion(name, schema.names)}."
            )
    if len(set(sensitive)) < len(sensitive):
        raise MethodError("The option sensitive has a column twice.")
    given = tuple(name for name in schema.names if name not in sensitive) if sensitive else ()
    for relation in schema.relations:
        for name in given:
            numeric = isinstance(schema.columns[name], NUMERIC)
            if relation.inequality and numeric and name in relation.columns:
                raise MethodError(
                    f"The column {name!r} is to be kept as it stands, and the relation "
                    f"{relation.text} may put its numbers in another order; add it to the option "
                    "sensitive, or take the relation out of the schema."
                )
    return given


def declared_edges(
    schema: Schema, given: tuple[str, ...], network: Sequence[str]
) -> tuple[Edge, ...]:
    """A network over the columns that are drawn.

    Raises:
        MethodError: a column that is kept, twice there or absent, or a parent that is not before.
    """
    edges = tuple(edge(schema, entry, "network", "job<-age & sex") for entry in network)
    for name, _ in edges:
        if name in given:
            raise MethodError(
                f"The option network has a line for {name!r}, which is kept as it stands; name it "
                "among the sensitive columns, or leave the line out."
            )
    require_order(schema, edges, given)
    return edges


def _nearest(schema: Schema, size: int, known: Sequence[str], most: int) -> tuple[str, ...]:
    """Columns beside one of so many states in a table, the last ones known that it has room for."""
    chosen: list[str] = []
    for name in reversed(known):
        wider = size * schema.columns[name].size
        if len(chosen) < most and wider <= LARGEST:
            chosen, size = [name, *chosen], wider
    return tuple(chosen)


def _described(schema: Schema, known: Sequence[str]) -> tuple[str, ...]:
    """Columns that a number is regressed on, the last ones known that have few enough features."""
    chosen: list[str] = []
    left = MOST_FEATURES
    for name in reversed(known):
        features = len(Features.of(schema, (name,)).names)
        if features <= left:
            chosen, left = [name, *chosen], left - features
    return tuple(chosen)
