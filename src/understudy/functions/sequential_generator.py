"""Generators that draw one column after the other, each given columns drawn before it.

G(θ, ω) is a record-wise function: records in impossible combinations may come out, for the models
of columns know no rules. `GeneratedModel` (`models.bayesian.column_sequence_model`) draws such
records again.

Source: Snoke & Slavković (2018), "pMSE mechanism: differentially private synthetic data with
maximal distributional similarity", for sequential normal regressions; Raghunathan, Lepkowski, Van
Hoewyk & Solenberger (2001) for sequential regressions of mixed types.

A generator is made of a network, of columns each with parents that stand before it, and of a model
of each column given its parents. A column model turns parameters θ, the parents' records and
uniform numbers ω into records. Nothing else is random: the same θ and ω give the same records, so
that what is computed from them is a function of θ alone, and how it changes with θ is no matter of
chance (common random numbers).

Every column model has

* `column`, its name, and `parents`, the names of the columns that it is drawn given;
* `prior`, of its p parameters;
* `draw(theta, drawn, uniforms)`: the column, from its parameters, shape (p,), records of the
  parents, n each, and numbers in (0, 1), shape (2, n): for the state or the kind of state, and for
  the number;
* `log_shares(points, given, states)`: log probabilities of k states at G points, shape (k, G),
  given one combination of the parents' states; a function of θ and of these states alone, to the
  last bit. Numeric parents stand at the middle of their bins (`state_shares`).

The list is closed: a mechanism asks column models about rows, so it knows them by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal

from understudy.arrays import Floats
from understudy.domain.network import Edge, require_network
from understudy.errors import MethodError
from understudy.features.design import Features
from understudy.features.number_line import Drawn
from understudy.functions.column_regressions import MultinomialLogit, NormalRegression
from understudy.functions.logistic_normal import (
    LOGISTIC_NORMAL,
    LogisticNormal,
    LogisticNormalWidths,
)
from understudy.functions.parameter_prior import LOGIT, NORMAL, LogitWidths, NormalWidths, Prior
from understudy.schema import NUMERIC, Boolean, Categorical, Column, Ordinal, Schema

ColumnGenerator = LogisticNormal | MultinomialLogit | NormalRegression
"""The model of one column given its parents."""


@dataclass(frozen=True, eq=False)
class SequentialGenerator:
    """G: parameters and uniform numbers → records.

    Attributes:
        schema: columns, in whose bins states are.
        column_models: one per column of the schema, parents before children.

    Raises:
        ValueError: column models that are no network of the schema's columns.
    """

    schema: Schema
    column_models: tuple[ColumnGenerator, ...]

    def __post_init__(self) -> None:
        require_network(
            [(column_model.column, column_model.parents) for column_model in self.column_models],
            self.schema.names,
        )

    @cached_property
    def prior(self) -> Prior:
        """Of all parameters, column by column."""
        return Prior.joined([column_model.prior for column_model in self.column_models])

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where the parameters of each column stand in θ."""
        ends = accumulate(
            (len(column_model.prior.names) for column_model in self.column_models), initial=0
        )
        return tuple(slice(start, end) for start, end in pairwise(ends))

    def records(self, theta: Floats, uniforms: Floats) -> dict[str, Drawn]:
        """Draw records.

        Args:
            theta: shape (p,).
            uniforms: in (0, 1), shape (columns, 2, n), in the order of `column_models`.

        Returns:
            For each column, in the order of `column_models`, n records.
        """
        drawn: dict[str, Drawn] = {}
        for column_model, part, numbers in zip(
            self.column_models, self.parts, uniforms, strict=True
        ):
            drawn[column_model.column] = column_model.draw(theta[part], drawn, numbers)
        return drawn


def regressions(
    schema: Schema,
    edges: Sequence[Edge],
    *,
    numbers: Literal["logistic-normal", "normal"] = "logistic-normal",
    logit: LogitWidths = LOGIT,
    logistic: LogisticNormalWidths = LOGISTIC_NORMAL,
    normal: NormalWidths = NORMAL,
) -> SequentialGenerator:
    """Regressions of mixed types: a model for each kind of column.

    Categorical and boolean columns have multinomial logits, and so have ordinal ones of one or two
    levels; other ordinal columns have logistic-normal models.

    Args:
        schema: the columns.
        edges: each column with its parents, which stand before it.
        numbers: model of the numeric columns. "normal" is for those without codes and spikes.
        logit: how wide the priors of multinomial logits are.
        logistic: the same of logistic-normal models.
        normal: the same of normal regressions.

    Raises:
        ValueError: edges that are no network.
        MethodError: `numbers="normal"` and a numeric column with codes or spikes.
    """
    require_network(edges, schema.names)

    def column_model(name: str, parents: tuple[str, ...]) -> ColumnGenerator:
        column, features = schema.columns[name], Features.of(schema, parents)
        if isinstance(column, Categorical | Boolean) or _is_short(column):
            return MultinomialLogit(name, column, features, logit)
        if isinstance(column, NUMERIC) and numbers == "normal":
            return NormalRegression(name, column, features, normal)
        return LogisticNormal(name, column, features, logistic)

    return SequentialGenerator(
        schema, tuple(column_model(name, tuple(given)) for name, given in edges)
    )


def normal_regressions(
    schema: Schema, edges: Sequence[Edge], *, widths: NormalWidths = NORMAL
) -> SequentialGenerator:
    """Normal linear regressions throughout, as in Snoke & Slavković (2018).

    Args:
        schema: numeric columns without codes and spikes.
        edges: each column with its parents, which stand before it.
        widths: how wide the priors are.

    Raises:
        ValueError: edges that are no network.
        MethodError: another kind of column.
    """
    for name, column in schema.columns.items():
        if not isinstance(column, NUMERIC):
            raise MethodError(
                f"The column {name!r} is not numeric, and normal regressions are for numeric "
                "columns only; leave it out, or use regressions of mixed types."
            )
    return regressions(schema, edges, numbers="normal", normal=widths)


def _is_short(column: Column) -> bool:
    """Whether an ordinal column has no more than an intercept could say."""
    return isinstance(column, Ordinal) and column.n_ordinary <= 2
