"""Bayesian posteriors under record weights, and censored ones. CONFIDENTIAL but for what is drawn.

Kernels and samplers know arrays alone; `records.Records` are the rows as a column model sees them.
The verbs that pay for a draw and let it out are in
`understudy.papers.pseudo_posterior` (pseudo posteriors, without differential privacy
at a finite number of rows) and `understudy.papers.generator_scores` (censored ones).

**The joint model of several columns, one after the other, with independent priors.**

    f(x | θ) = ∏_j f_j(x_j | parents of j, θ_j),

each column's parents being public columns or columns before it. Under record weights the posterior
is the product of the columns' own, so that they are drawn one by one, and what a record contributes
is the sum of what it contributes to each.

Fully synthetic records begin with no column given; partially synthetic ones with all columns that
are published as they stand.

**The model of a numeric column: what kind of value a record has, then which number.**

1. *Kind*: an ordinary number, one of the spikes, or one of the codes of absence, by a table given
   the states of a few parents, or by a logit given the features of many, with ordinary numbers as
   its reference (`papers.categorical_models`). Without spikes and codes there is none.
2. *Number*, where it is ordinary: z = t(y) on the public scale of `response`, by a regression on
   the features of the parents (`features.design`).

    f(x) = P(kind | parents)·[density of t(y) given the parents, if ordinary].

Both parts have parameters of their own, independent a priori, so that the posterior is the product
of theirs; a record of weight α has that weight in both. Numbers that come out are clipped to the
bounds, rounded to what the column holds and moved off its spikes (`settle_numbers`), and states
follow from them: all a function of the drawn z alone. The likelihood takes the records' own numbers
as they stand, without a correction for rounding or clipping.

**What the number of a column is to a model: a public scale on which it is of order one.**

A number y becomes t(y), and then z = (t(y) - shift)/scale, so that the public bounds of the column
are z = -3 and z = 3 and one prior fits every column. Models know z alone.

* "asinh": t = asinh(y/unit), which is nearly y/unit up to the unit and the sign of y times
  log(2|y|/unit) far beyond it. It takes numbers of any sign, and is the default. The unit is
  public; without one it is a thousandth of the bound that is farther from 0: three decades of the
  range are then on a logarithmic scale. Which unit is best depends on the table: under vector
  weights about a thousandth kept the 90th percentile of income far better than a hundredth on two
  of three tables, and worse on the third (study `pseudo-posterior`). A much smaller unit would
  spend the scale on differences between numbers near 0, a larger one leaves a long tail long.
* "log": t = log(y + offset), as the paper has it for incomes. Its incomes go down to -7,000, where
  no logarithm is; so an offset that keeps y + offset positive up to the bounds has to be given.
* "identity": t = y.

Densities are counted per unit of t(y), not of z: log f of that scale is what the paper's bounds are
made of, and `log_unit` turns one into the other. A bound of |log f| depends on the scale in which
numbers are told; with "log" and "asinh" it does not depend on the currency.

Source: Savitsky, Williams & Hu (2020), appendix, for the logarithm; Burbidge, Magee & Robb (1988),
Journal of the American Statistical Association 83, for asinh.

**Records drawn column by column, by column models at one draw, or one choice, of parameters.**

Column models know no rules. Records in impossible combinations are drawn again, and in the end
uniformly over the allowed cells (`models.model.replace_impossible`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.dp.randomness import Randomness
from understudy.errors import MethodError
from understudy.features.design import Features, list_indicated
from understudy.features.grids import Drawn, Line, line_of, settle_numbers
from understudy.models.model import REDRAWS, Sample, impossible, put, replace_impossible
from understudy.papers.categorical_models import COEFFICIENTS, LOGS, StateLogit, StateTable
from understudy.papers.generators import SequentialGenerator
from understudy.papers.mixture_regression import MixtureRegression
from understudy.papers.sampling_base import NormalLinear, Records, Theta, slices
from understudy.schema import NUMERIC, Column, Schema
from understudy.schema.domain import completions

ScaleForm = Literal["asinh", "log", "identity"]

REACH: Final = 3.0
"""Where the bounds stand on the scale of models."""
UNITS: Final = 1_000.0
"""Default units of asinh from 0 to the bound that is farther from it."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """The scale of one column; all its numbers are public.

    Attributes:
        form: which t.
        low: lower bound of y.
        high: upper bound of y.
        offset: of the logarithm.
        unit: of asinh.

    Raises:
        MethodError: t is not a finite number at one of the bounds.

    Example:
        >>> income = Response(form="asinh", low=-7e3, high=1.8e6, unit=18e3)
        >>> z = income.to(np.array([-7e3, 0.0, 5e4, 1.8e6]))
        >>> z.round(2).tolist(), income.back(z).round(6).tolist()
        ([-3.0, -2.6, -0.75, 3.0], [-7000.0, 0.0, 50000.0, 1800000.0])
    """

    form: ScaleForm
    low: float
    high: float
    offset: float = 0.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        """Check that the bounds have a place."""
        if self.form not in get_args(ScaleForm):
            raise MethodError(f"A response is one of {', '.join(get_args(ScaleForm))}.")
        if not 0 < self.unit < math.inf or not math.isfinite(self.offset):
            raise MethodError("The unit of a response is positive, and its offset a number.")
        if self.form == "log" and not self.low + self.offset > 0:
            raise MethodError("A logarithm needs a lower bound plus offset above 0.")
        if not np.isfinite(self._ends).all() or self.low > self.high:
            raise MethodError("The bounds of a response are finite numbers in order.")

    @classmethod
    def of(
        cls,
        name: str,
        column: Column,
        form: ScaleForm = "asinh",
        *,
        offset: float | None = None,
        unit: float | None = None,
    ) -> Response:
        """The scale of a numeric column.

        Args:
            name: of the column, for messages.
            column: as the schema declares it.
            form: which t.
            offset: of the logarithm; None is 0.
            unit: of asinh; None is a thousandth of the bound that is farther from 0.

        Raises:
            MethodError: a column that is not numeric, or bounds that do not fit the form.
        """
        if not isinstance(column, NUMERIC):
            raise MethodError(f"The column {name!r} has no numbers, so it has no scale.")
        low, high = column.bounds
        largest = max(abs(low), abs(high))
        unit = (largest / UNITS or 1.0) if unit is None else unit
        try:
            return cls(form=form, low=low, high=high, offset=offset or 0.0, unit=unit)
        except MethodError as error:
            raise MethodError(_advice(name, form, low, str(error))) from None

    @property
    def shift(self) -> float:
        """The value of t at z = 0."""
        low, high = self._ends
        return float(low / 2 + high / 2)

    @property
    def scale(self) -> float:
        """Units of t in one of z."""
        low, high = self._ends
        return float(high / (2 * REACH) - low / (2 * REACH)) or 1.0

    @property
    def log_unit(self) -> float:
        """Logarithm of a density per unit of t, less that per unit of z."""
        return -math.log(self.scale)

    def to(self, numbers: Floats) -> Floats:
        """Numbers on the scale of models.

        Args:
            numbers: within the bounds, shape (n,); NaN stays.
        """
        return np.asarray((self._forwards(numbers) - self.shift) / self.scale)

    def back(self, places: Floats) -> Floats:
        """Numbers at places of the scale of models, clipped to the bounds.

        Args:
            places: shape (n,); NaN stays.
        """
        at = np.clip(places, -REACH, REACH) * self.scale + self.shift
        return np.clip(self._backwards(at), self.low, self.high)

    @property
    def _ends(self) -> Floats:
        with np.errstate(over="ignore"):
            return self._forwards(np.array([self.low, self.high], dtype=np.float64))

    def _forwards(self, numbers: Floats) -> Floats:
        if self.form == "log":
            return np.asarray(np.log(numbers + self.offset))
        return np.asarray(np.arcsinh(numbers / self.unit)) if self.form == "asinh" else numbers

    def _backwards(self, at: Floats) -> Floats:
        if self.form == "log":
            return np.asarray(np.exp(at) - self.offset)
        return np.asarray(self.unit * np.sinh(at)) if self.form == "asinh" else at


def _advice(name: str, form: ScaleForm, low: float, fault: str) -> str:
    """A message that names the column and what to do; bounds are public."""
    if form == "log":
        return (
            f"The column {name!r} goes down to {low:g}, so that its logarithm needs an offset "
            f"above {0 - low:g}; give one, or transform by asinh, which takes numbers of any sign."
        )
    return f"The column {name!r} does not fit the transformation {form!r}: {fault}"


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
        form: ScaleForm = "asinh",
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
        size = 1 + len(list_indicated(declared))
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
        z = self.regression.draw_given_labels(theta, design, given, uniforms[1:])
        states, numbers = settle_numbers(self._line, self.response.back(z))
        if self.kinds is not None:
            kinds = self.kinds.draw(_of_kinds(theta), drawn, uniforms).states
            states = np.where(kinds > 0, self._states_of_kinds[kinds], states)
            numbers = np.where(kinds > 0, np.nan, numbers)
        return Drawn(states, numbers)

    @cached_property
    def _special(self) -> list[int]:
        """States that are no bins."""
        return list_indicated(self.declared)

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


AnyColumnModel = NumberModel | StateLogit | StateTable
"""Models of columns (`ColumnModel`); the list is closed, since they see rows."""

Labels = Mapping[str, Integers]
"""Column → component of each record in the model of its number."""


@dataclass(frozen=True)
class SequentialModel:
    """A joint model; arrays of θ are named "column: array".

    Attributes:
        column_models: of the columns, parents before children; at least one.
        given: names of the columns that are given.

    Raises:
        ValueError: no model, two of one column, or parents that are neither given nor before.
    """

    column_models: tuple[AnyColumnModel, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the order of the columns."""
        if not self.column_models:
            raise ValueError("a sequence of models has at least one")
        known = set(self.given)
        for column_model in self.column_models:
            if column_model.column in known or not known.issuperset(column_model.parents):
                raise ValueError("each column has one model, and parents that are known before it")
            known.add(column_model.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that have a model, in the order in which they are drawn."""
        return tuple(column_model.column for column_model in self.column_models)

    def posterior(
        self, records: Records, weights: Floats, source: Randomness, *, draws: int
    ) -> Theta:
        """Draws of all parameters under record weights. CONFIDENTIAL.

        Args:
            records: all columns and all that are given.
            weights: α, shape (n,).
            source: where the randomness comes from.
            draws: S ≥ 1.
        """
        theta: dict[str, Floats] = {}
        for column_model in self.column_models:
            arrays = column_model.posterior(records, weights, source, draws=draws)
            column = column_model.column
            theta.update({f"{column}: {name}": array for name, array in arrays.items()})
        return theta

    def log_likelihoods(self, draws: Theta, records: Records) -> Iterator[Floats]:
        """Log f(x_i | θ_s) of the columns together. CONFIDENTIAL; chunks as in `ColumnModel`."""
        return _sums(
            [
                column_model.log_likelihoods(self.part(draws, column_model), records)
                for column_model in self.column_models
            ]
        )

    def log_contributions(
        self, draws: Theta, records: Records, weights: Floats
    ) -> Iterator[Floats]:
        """Log c_i(θ_s) of the columns together. CONFIDENTIAL; chunks as in `ColumnModel`."""
        return _sums(
            [
                column_model.log_contributions(self.part(draws, column_model), records, weights)
                for column_model in self.column_models
            ]
        )

    def sample(
        self, theta: Theta, drawn: Records, uniforms: Floats, labels: Labels | None = None
    ) -> dict[str, Drawn]:
        """New values of all columns, a function of the arguments alone.

        Args:
            theta: one draw, without leading axis.
            drawn: records of the given columns, n each.
            uniforms: in (0, 1), shape (columns, 3, n), in the order of `columns`.
            labels: components of records, as `labels` gives them; CONFIDENTIAL, and so is what is
                drawn with them. None draws them from θ.

        Returns:
            The columns in their order; the given ones are not among them.
        """
        known, values = dict(drawn), dict[str, Drawn]()
        for column_model, u in zip(self.column_models, uniforms, strict=True):
            part = self.part(theta, column_model)
            if labels is not None and isinstance(column_model, NumberModel):
                new = column_model.draw_labelled(part, known, labels[column_model.column], u)
            else:
                new = column_model.draw(part, known, u)
            known[column_model.column] = values[column_model.column] = new
        return values

    def labels(self, theta: Theta, records: Records, uniforms: Floats) -> dict[str, Integers]:
        """Components of records given their own values, in the models of numbers. CONFIDENTIAL.

        Args:
            theta: one draw.
            records: all columns and all that are given.
            uniforms: in (0, 1), shape (columns, n), in the order of `columns`.
        """
        return {
            column_model.column: column_model.labels(self.part(theta, column_model), records, u)
            for column_model, u in zip(self.column_models, uniforms, strict=True)
            if isinstance(column_model, NumberModel)
        }

    def part(self, theta: Theta, column_model: AnyColumnModel) -> Theta:
        """Arrays of one column's model, under its own names."""
        split = {name.rpartition(": "): array for name, array in theta.items()}
        return {
            name: array
            for (column, _, name), array in split.items()
            if column == column_model.column
        }


def _sums(parts: list[Iterator[Floats]]) -> Iterator[Floats]:
    """Chunks added up; they are cut alike."""
    first, *others = parts
    for chunk in first:
        total = np.array(chunk)
        for other in others:
            total += next(other)
        yield total


_CHUNK = 2**16
"""Records drawn at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class PosteriorModel:
    """Column models at given parameters: a model of the whole table.

    Attributes:
        schema: columns, in whose bins states are.
        column_model: of the columns that are drawn.
        theta: its parameters, one draw; released.
        given: records of the columns that are kept; empty where all are drawn.
        labels: components of these records, where they were drawn given the records' own values;
            released as published, not in strict mode.
        redraws: how often impossible records are drawn again.

    Raises:
        ValueError: given columns that are not the model's, or a column that nothing draws.
    """

    schema: Schema
    column_model: SequentialModel
    theta: Theta
    given: Mapping[str, Drawn] = field(default_factory=dict)
    labels: Labels | None = None
    redraws: int = field(default=REDRAWS, kw_only=True)

    def __post_init__(self) -> None:
        if set(self.given) != set(self.column_model.given):
            raise ValueError("the records that are kept have the columns that the model is given")
        if {*self.given, *self.column_model.columns} != set(self.schema.names):
            raise ValueError("each column is given or drawn")

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw records.

        Raises:
            ValueError: some columns are kept, of another number of records.
        """
        if not self.given:
            drawn = self._fresh(n_rows, rng)
            return replace_impossible(
                drawn,
                self.schema.domain,
                lambda n: self._fresh(n, rng),
                rng,
                redraws=self.redraws,
            )
        if any(len(column.states) != n_rows for column in self.given.values()):
            raise ValueError("a partially synthetic set has a record for each record that is kept")
        return self._beside(n_rows, rng)

    def _fresh(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records of all columns, rules left aside."""
        sample = self._empty(n_rows)
        for start in range(0, n_rows, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n_rows))
            put(sample, rows, self._of(self._draw_columns({}, None, len(rows), rng)))
        return sample

    def _beside(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records with the given columns."""
        sample = self._empty(n_rows)
        rows = np.arange(n_rows)
        for _ in range(1 + self.redraws):
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                put(sample, part, self._complete(part, rng))
            states = [column[rows] for column in sample.states]
            rows = rows[impossible(self.schema.domain, states)]
            if not rows.size:
                return sample
        put(sample, rows, self._evenly(rows, rng))
        return sample

    def _complete(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Sample:
        """Some of the given records with the other columns drawn, rules left aside."""
        kept = {name: column.take(rows) for name, column in self.given.items()}
        labels = None
        if self.labels is not None:
            labels = {name: labels[rows] for name, labels in self.labels.items()}
        return self._of(kept | self._draw_columns(kept, labels, len(rows), rng))

    def _evenly(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Sample:
        """Some of the given records, the other columns drawn uniformly from what rules leave."""
        kept = {name: column.take(rows) for name, column in self.given.items()}
        places = [self.schema.names.index(name) for name in self.given]
        states = {name: np.zeros(len(rows), dtype=np.int64) for name in self.schema.names}
        states |= {name: column.states for name, column in kept.items()}
        open_names = [name for name in self.schema.names if name not in kept]
        domain = self.schema.domain
        for group, left in completions(domain, places, [states[name] for name in self.given]):
            drawn = left.draw(len(group), rng.random)
            for name, column in zip(open_names, drawn, strict=True):
                states[name][group] = column
        nowhere = np.full(len(rows), np.nan)
        numbers = {name: Drawn(states[name], nowhere) for name in open_names}
        return self._of(kept | numbers)

    def _draw_columns(
        self, kept: Mapping[str, Drawn], labels: Labels | None, n: int, rng: np.random.Generator
    ) -> dict[str, Drawn]:
        uniforms = rng.random((len(self.column_model.column_models), 3, n))
        return self.column_model.sample(self.theta, kept, uniforms, labels)

    def _numeric(self) -> list[str]:
        return [name for name, column in self.schema.columns.items() if isinstance(column, NUMERIC)]

    def _empty(self, n_rows: int) -> Sample:
        return Sample(
            [np.empty(n_rows, dtype=np.int64) for _ in self.schema.names],
            {name: np.empty(n_rows) for name in self._numeric()},
        )

    def _of(self, drawn: Mapping[str, Drawn]) -> Sample:
        """Records of all columns, in the order of the schema."""
        numbers = {name: drawn[name].numbers for name in self._numeric()}
        return Sample(
            [drawn[name].states for name in self.schema.names],
            {name: places for name, places in numbers.items() if places is not None},
        )


"""Records drawn at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class GeneratedModel:
    """A generator at chosen parameters: a model of the whole table.

    Attributes:
        generator: G.
        theta: shape (p,); released, or drawn from the prior.
        redraws: how often impossible records are drawn again.

    Raises:
        ValueError: a number of parameters that is not the generator's.
    """

    generator: SequentialGenerator
    theta: Floats
    redraws: int = field(default=REDRAWS, kw_only=True)

    def __post_init__(self) -> None:
        if self.theta.shape != self.generator.prior.means.shape:
            raise ValueError(f"the generator has {len(self.generator.prior.names)} parameters")

    def sample(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Draw independent records."""
        domain = self.generator.schema.domain
        sample = self._draw(n_rows, rng)
        return replace_impossible(
            sample, domain, lambda n: self._draw(n, rng), rng, redraws=self.redraws
        )

    def _draw(self, n_rows: int, rng: np.random.Generator) -> Sample:
        """Records, rules left aside."""
        schema = self.generator.schema
        numeric = [name for name, column in schema.columns.items() if isinstance(column, NUMERIC)]
        sample = Sample(
            [np.empty(n_rows, dtype=np.int64) for _ in schema.names],
            {name: np.empty(n_rows) for name in numeric},
        )
        for start in range(0, n_rows, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, n_rows))
            uniforms = rng.random((len(schema.names), 2, len(rows)))
            drawn = self.generator.records(self.theta, uniforms)
            numbers = {name: _numbers(drawn[name]) for name in numeric}
            put(sample, rows, Sample([drawn[name].states for name in schema.names], numbers))
        return sample


def _numbers(drawn: Drawn) -> Floats:
    assert drawn.numbers is not None
    return drawn.numbers
