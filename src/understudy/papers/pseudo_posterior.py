"""The pseudo posterior mechanism: a Bayesian model in which risky records weigh less.

1. A model says how each sensitive column is distributed given others, with parameters θ.
2. Draws of θ from the plain posterior show how large a record's log-likelihood becomes: its
   Lipschitz bound, and its risk.
3. The likelihood of each record gets a power, its weight α_i, which falls as the bound rises; so
   what stands out says less.
4. θ is drawn from this pseudo posterior, and records from the model at θ; each set has a θ of its
   own.

* **Use.** *Partially synthetic*, as published: `sensitive` names the columns that are drawn, mostly
  one; all others are **published as they stand**, for every record, which needs `rows = "public"`.
  *Fully synthetic*: without `sensitive` all columns are drawn, in the order of the schema or of
  `network`.
* **Model.** Numbers: a mixture of regressions with more components than needed (`mixture`, default,
  as published), or one normal regression (`normal`), on a public scale (`transform`). States, and
  whether a number is one of the spikes or codes (`states`): logits on the same columns as numbers,
  so that what is mostly zero keeps its relation to all of them; where these would have more than
  200 coefficients, and with `states=table`, tables given few columns.
* **Weights.** `vector` (default): α_i = scale·(1 − risk) + shift, within [0, 1], the risk being the
  bound from 0, the smallest, to 1, the largest. `scalar`: one α for all. `count`: the share of
  records with the same predictors, or `columns` of them, of a value near. `unweighted`: a baseline.
* **Power.** The source raises the density of the mixture, f^α (`power=marginal`). The default,
  `labels`, raises each component, as a Gibbs sampler does; bounds differ (`mixture_regression`).
* **Public**: schema, options, structural zeros, and the columns that are published as they stand.
* **Guarantee**: `asymptotic`, which is **none at the number of rows that there is**; for
  `unweighted`, none. The bound is one of these rows and these draws, a record that changes moves
  the weights of others, and the published proof lets records fill the space of values
  (`understudy.papers.record_weights`, with an example). So the ledger's cost is
  infinite, and `allow_nonprivate` is needed. When it is made the steward alone is shown bounds.
* **As published** (`mode=paper`): a value's component is drawn given the confidential value of the
  same record, and the bound is printed; the release says both. In strict mode the component is
  drawn by its probability, so that records are a function of θ and of what is published anyway.
* **Records** that do not fit the schema are left out of the model. Partially synthetic sets keep
  their predictors where these fit; else those of another record stand in.
* **Costs** one to three Markov chains, once for all sets: 6,000 records with 20 features and ten
  components take some five seconds a chain, f^α up to twice that, a logit up to one second.
* **Choose it** to reproduce published results, or where disclosure is limited by other means and
  the utility of a model matters. **Do not** choose it for a promise: `censored-posterior` keeps the
  idea and has one, `independent` and `marginals` are closer to the rows at the same ε.
* **Inference**: none. Weights below 1 pull the model towards its prior by an amount that nobody
  outside knows, in all sets alike; without weights, what the model misses is alike in all sets.

Sources: Savitsky, Williams & Hu (2020), "Bayesian Pseudo Posterior Mechanism under Differential
Privacy"; Hu, Savitsky & Williams (2020), arXiv 2006.01230, for `reweight`; Hu & Savitsky (2019),
arXiv 1901.06462, for `count`.

**The models that a Bayesian synthesizer draws columns by, from options; everything is public.**

A number has a regression on the columns before it, the nearest first, as long as they have no more
than `MOST_FEATURES` features together. States, and kinds of numbers, have a logit on the same
columns, which adds up what they say; where it would have more than `MOST_COEFFICIENTS` coefficients
they have a table given a few columns: dense, and small. Where nothing else is said a table takes
the columns nearest before it, as long as it has no more than 10,000 probabilities. Where there is
no column before, a table says all there is to say, and is drawn without chains.

**Draws by the pseudo posterior mechanism, and columns it is given. **No** promise at any size.**

**A draw of parameters** promises nothing at a number of rows. It has no price that differential
privacy could name: it needs permission, is charged without limit before rows are read, and the
promise is `asymptotic` (nothing at this number of rows) or, without weights, none at all. How
records were weighted, and the bounds that came of it, are for the steward: they are made from the
rows.

The draws that a fit keeps are in a random order, and asked for by their number in it: each set has
one of its own. How many are sure to be kept, whatever the rows, is public, and no other number is
answered. A fit is made once for all of its draws.

**Columns of all records as they stand** are not protected by anything. Such columns are taken as
public: they leave in the order of the rows, for every record, and tell the number of rows, which
must therefore be public too. The step has an infinite cost and needs permission.

Where a record's values do not fit the schema, or no value of the other columns could go with them,
those of another record stand in, drawn at random among all that fit; where none fits, cells are
drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from understudy.dp.admission import HowMany
from understudy.dp.budget import Budget
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.gate import Gate
from understudy.dp.guarantee import Unpaid
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.perturbation import Mode
from understudy.dp.randomness import Randomness
from understudy.dp.released import KeptColumns, PosteriorDraws, Released
from understudy.errors import MethodError, suggestion
from understudy.features.design import Features, list_indicated
from understudy.features.grids import Drawn
from understudy.methods.base import Effort, Facts, Names, Prepared, PreparingMethod, expected_rows
from understudy.methods.plan import PlannedTable, plan_mechanism
from understudy.methods.privbayes import edge, require_order
from understudy.models.model import Edge, InferenceFacts, Model
from understudy.papers.categorical_models import LARGEST, StateLogit, StateTable
from understudy.papers.column_models import (
    NO_LABEL,
    AnyColumnModel,
    KindModel,
    Labels,
    NumberModel,
    NumberRegression,
    PosteriorModel,
    ScaleForm,
    SequentialModel,
)
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_nuts import Power
from understudy.papers.mixture_regression import MixtureRegression, Sampler
from understudy.papers.record_weights import FittedPosterior, PseudoPosterior, Weighting
from understudy.papers.sampling_base import NormalLinear, Theta
from understudy.schema import NUMERIC, Schema
from understudy.schema.domain import completions

MOST_FEATURES = 64
"""Features of a regression, where no network says its parents."""
MOST_COEFFICIENTS = 200
"""Of a logit that is taken by itself."""

States = Literal["auto", "table", "logit"]
"""How states depend on columns before."""


@dataclass(frozen=True, kw_only=True)
class Modelling:
    """The models of columns.

    Attributes:
        regression: of numbers, with its prior.
        form: of the scale on which they are modelled, as `papers.column_models` has it.
        offset: of a logarithm; None is 0.
        unit: of asinh; None is a thousandth of a column's larger bound.
        network: what each column is drawn given, like "job<-age & sex", parents first; nothing
            leaves it to the order of the schema.
        parents: then, of how many columns a table holds the states at most, beside its own.
        states: tables or logits for states and kinds; "auto" takes a logit where it is small.
    """

    regression: NumberRegression
    form: ScaleForm = "asinh"
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
        many = _choose_predictors(schema, known) if said is None else said
        numeric = isinstance(column, NUMERIC)
        size = 1 + len(list_indicated(column)) if numeric else column.size
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


def _choose_predictors(schema: Schema, known: Sequence[str]) -> tuple[str, ...]:
    """Columns that a number is regressed on, the last ones known that have few enough features."""
    chosen: list[str] = []
    left = MOST_FEATURES
    for name in reversed(known):
        features = len(Features.of(schema, (name,)).names)
        if features <= left:
            chosen, left = [name, *chosen], left - features
    return tuple(chosen)


@dataclass(frozen=True, eq=False)
class ParameterDraw:
    """Parameters of a column model, drawn from a posterior.

    Attributes:
        theta: one draw.
        labels: as published only: components of all records given their own values, in the order of
            `OpenColumns`; None in strict mode.
    """

    theta: Theta
    labels: Labels | None = None


@dataclass(frozen=True, eq=False, repr=False)
class _Held:
    """A fit, and numbers of the rows that it was made of, shape (n,). CONFIDENTIAL."""

    fitted: FittedPosterior
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PosteriorDraw(Mechanism[Released[ParameterDraw], None]):
    """One draw of a fit.

    Rows that are out of domain in a column of the model, or in a combination that cannot occur, are
    left out of the fit.

    Attributes:
        posterior: column model, weights and number of draws, all public.
        number: which of the draws that are kept, from 0.
        mode: "paper" also gives out the component of each record given its own values, and prints
            the bound; the promise names that unpaid leak.
    """

    name: ClassVar[str] = "pseudo posterior"
    form: ClassVar[Form] = Form.POSTERIOR
    needs_records: ClassVar[bool] = True

    posterior: PseudoPosterior
    number: HowMany = 0
    mode: Mode = "strict"

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: an unknown column, or a number beyond the draws that are sure to be kept.
        """
        column_model, most = self.posterior.column_model, self.posterior.releasable
        terms.view.places((*column_model.given, *column_model.columns))
        if self.number >= most:
            raise MethodError(
                f"Each set needs a draw of its own, and of {self.posterior.draws:,} no more than "
                f"{most:,} are sure to be kept; take more draws, or fewer sets."
            )
        plain = self.posterior.weighting.form == "unweighted"
        charge = Charge(
            spent=None,
            mechanism="posterior" if plain else self.name,
            query=_query(self.posterior),
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.POSTERIOR if plain else Unpaid.WEIGHTED_POSTERIOR,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[ParameterDraw]]:
        """Fit, if this was not done yet, and hand out the draw."""
        column_model, known = self.posterior.column_model, rows.memory(PosteriorDraw)
        key = repr(self.posterior)
        if key not in known:
            known[key] = self._secret_fit(rows, source)
        held: _Held = known[key]
        theta, labels = held.fitted.draw(self.number), None
        printed: tuple[float, ...] = ()
        if self.mode == "paper":
            labels = self._secret_labels(rows, held, theta, source)
            printed = (held.fitted.after.bound,)
        keys = {model.column: model.parents for model in column_model.column_models}
        public = PosteriorDraws(keys, column_model.given, self.posterior.weighting.form)
        return answer(ParameterDraw(theta, labels), [public], printed=printed)

    def _secret_fit(self, rows: SecretRows, source: Randomness) -> _Held:
        column_model, numbered = self.posterior.column_model, rows.numbers()
        names = (*column_model.given, *column_model.columns)
        used = np.flatnonzero(numbered.find_known(names))
        fitted = self.posterior.fit(numbered.of(names, used), source)
        rows.tell(fitted)
        return _Held(fitted, used)

    def _secret_labels(
        self, rows: SecretRows, held: _Held, theta: Theta, source: Randomness
    ) -> Labels:
        """Components of all rows, `NO_LABEL` for those that were left out of the fit."""
        column_model, used, numbered = self.posterior.column_model, held.rows, rows.numbers()
        records, shape = (
            numbered.of((*column_model.given, *column_model.columns), used),
            (len(column_model.column_models), len(used)),
        )
        of_used = column_model.labels(
            theta, records, source.uniforms(shape[0] * shape[1]).reshape(shape)
        )
        of_all = {name: np.full(numbered.size, NO_LABEL, dtype=np.int64) for name in of_used}
        for name, labels in of_used.items():
            of_all[name][used] = labels
        return of_all


def _query(posterior: PseudoPosterior) -> str:
    """Describe what is asked of a posterior, in the words of the ledger."""
    column_model, form = posterior.column_model, posterior.weighting.form
    given = f" given {', '.join(column_model.given)}" if column_model.given else ""
    how = "without weights" if form == "unweighted" else f"under {form} weights"
    names = ", ".join(column_model.columns)
    return f"parameters of {names}{given}: one of {posterior.draws:,} draws {how}"


@dataclass(frozen=True)
class OpenColumns(Mechanism[Released[Mapping[str, Drawn]], None]):
    """Some columns of all records as they stand; each question is charged.

    Attributes:
        columns: names, at least one.
    """

    name: ClassVar[str] = "as they stand"
    form: ClassVar[Form] = Form.POSTERIOR
    needs_records: ClassVar[bool] = True

    columns: tuple[str, ...]

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: no column, an unknown one, or a private number of rows, which this would
                tell.
        """
        terms.view.places(self.columns)
        if not self.columns:
            raise MethodError("Nothing is published as it stands where no column is named.")
        if terms.schema.rows != "public":
            raise MethodError(
                "Columns that are published as they stand tell the number of rows; declare "
                'rows = "public" and n_rows, or have all columns drawn.'
            )
        charge = Charge(
            spent=None,
            mechanism=self.name,
            query=f"{', '.join(self.columns)} of every record",
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.AS_THEY_STAND,
            columns=self.columns,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[Mapping[str, Drawn]]]:
        """Take them, with others in place of those that do not fit."""
        said = (
            f"The columns {', '.join(self.columns)} are published as they stand, for every "
            "record: they are taken as public, and nothing protects them."
        )
        taken = self._secret_taken(rows, source)
        return answer(taken, [KeptColumns(self.columns)], conditions=(said,))

    def _secret_taken(self, rows: SecretRows, source: Randomness) -> Mapping[str, Drawn]:
        numbered, fitting = rows.numbers(), self._secret_fitting(rows)
        if not len(fitting):
            return self._uniform(rows, source)
        at = np.arange(numbered.size)
        others = np.ones(numbered.size, dtype=np.bool_)
        others[fitting] = False
        at[others] = fitting[source.below(len(fitting), int(others.sum()))]
        return numbered.of(self.columns, at)

    def _secret_fitting(self, rows: SecretRows) -> NDArray[np.int64]:
        """Numbers of the rows whose columns fit the schema, and can be completed."""
        numbered, view = rows.numbers(), rows.view
        known = np.flatnonzero(numbered.find_known(self.columns))
        states = [numbered.drawn[name].take(known).states for name in self.columns]
        groups = completions(view.schema.domain, view.places(self.columns), states)
        fitting = [known[group] for group, left in groups if left.n_allowed]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *fitting]))

    def _uniform(self, rows: SecretRows, source: Randomness) -> Mapping[str, Drawn]:
        """Cells without any row that fits; their numbers are left open."""
        n, view = rows.numbers().size, rows.view
        drawn = view.schema.domain.draw(n, source.uniforms)
        nowhere = np.full(n, np.nan)
        return {
            name: Drawn(
                drawn[place],
                nowhere if isinstance(view.schema.columns[name], NUMERIC) else None,
            )
            for name, place in zip(self.columns, view.places(self.columns), strict=True)
        }


_CHAINS = {"unweighted": 1, "count": 1, "vector": 2, "scalar": 3}


@final
@dataclass(frozen=True, kw_only=True)
class PseudoPosteriorMechanism(PreparingMethod):
    """The pseudo posterior mechanism, as configured.

    Attributes:
        sets: always "split": each set is drawn from parameters of its own.
        sensitive: columns that are drawn, without any all; others are published as they stand.
        weights: of records: "vector", "scalar", "count", or "unweighted", the plain posterior.
        scale: c of vector weights.
        shift: g of vector weights.
        quantile: of the largest log-likelihood of a draw; draws above it are dropped.
        bound: of scalar weights, the wanted Lipschitz bound; None: that of like vector weights.
        radius: of count weights: how far a near value lies, as a part of the record's own.
        columns: of count weights: predictors that an intruder is supposed to know; none are all.
        reweight: k: raise weights once, to k of what the largest bound allows; None does not.
        model: of numbers, "mixture" or "normal".
        components: K of the mixture.
        burn_in: sweeps of a chain that are left out.
        thin: sweeps from one draw to the next.
        draws: of each chain.
        sampler: of the mixture, "gibbs", the library's own, or, with the extra numpyro, "nuts".
        power: of what α is the power: "labels", of each component, or "marginal", of the mixture's
            density (`understudy.papers.mixture_regression`).
        transform: scale of numbers: "asinh", "log" or "identity".
        offset: added before a logarithm.
        unit: of asinh, in units of the column; None: a thousandth of its larger bound.
        network: what each column is drawn given, like "job, income<-job & age"; by default tables
            are given `parents` columns before them, numbers and logits all that 64 features say.
        states: of states, spikes and codes of numbers: "table", "logit", or "auto" for a logit
            where a column is given others and has at most 200 coefficients, else a table.
        parents: most parents of a table, without a network; and always of a table that says
            whether a number is a spike or a code: the last ones of the column's.
        mode: "strict", or "paper" for components given the confidential values.
    """

    needs_records = True
    facts: ClassVar[Facts] = Facts(
        name="pseudo-posterior",
        title="a Bayesian model in which risky records weigh less; not private at any row count",
        paper="Savitsky, Williams & Hu (2020)",
        guarantee="asymptotic: none at a finite number of rows",
        data="a sensitive number given public columns, or few columns in all",
        cost="draws × rows × components × features",
        cost_class="mcmc",
    )
    private: ClassVar[bool] = False
    picked: ClassVar[bool] = True
    unprotected: ClassVar[str] = (
        "promises no differential privacy at the number of rows that there is"
    )

    sets: Literal["split"] = "split"
    sensitive: Names = ()
    weights: Literal["vector", "scalar", "count", "unweighted"] = "vector"
    scale: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    shift: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    quantile: Annotated[float, Field(gt=0, le=1)] = 0.95
    bound: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    radius: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.2
    columns: Names = ()
    reweight: Annotated[float, Field(gt=0, le=1)] | None = None
    model: Literal["mixture", "normal"] = "mixture"
    components: Annotated[int, Field(ge=1, le=100)] = 10
    burn_in: Annotated[int, Field(ge=0)] = 500
    thin: Annotated[int, Field(ge=1)] = 2
    sampler: Sampler = "gibbs"
    power: Power = "labels"
    draws: Annotated[int, Field(ge=1)] = 500
    transform: Literal["asinh", "log", "identity"] = "asinh"
    offset: Annotated[float, Field(allow_inf_nan=False)] | None = None
    unit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    network: Names = ()
    states: Literal["auto", "table", "logit"] = "auto"
    parents: Annotated[int, Field(ge=0)] = 2
    mode: Literal["strict", "paper"] = "strict"

    def plan(self, schema: Schema, spend: Fraction, budget: Budget) -> tuple[PlannedTable, ...]:
        """One draw of parameters."""
        return plan_mechanism(PosteriorDraw(self._mechanism(schema)), schema, spend, budget)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """The columns that are published as they stand."""
        given = columns_given(schema, self.sensitive)
        return plan_mechanism(OpenColumns(given), schema, spend, budget) if given else ()

    def setup(self, gate: Gate, spend: Fraction, *, fits: int = 1) -> Prepared:
        """Publish these columns, once for all sets.

        Raises:
            MethodError: more sets than there are draws for.
        """
        mechanism = self._mechanism(gate.schema)
        if fits > mechanism.releasable:
            raise MethodError(
                f"Each of {fits:,} sets needs a draw of its own, and of {self.draws:,} no more "
                f"than {mechanism.releasable:,} are sure to be kept; take more draws."
            )
        column_model = mechanism.column_model
        given = column_model.given
        kept = gate.ask(OpenColumns(given)).value if given else {}
        numbers = count()

        def draw_again(_spend: Fraction, _n_rows: int) -> Model:
            """Another draw of parameters."""
            draw = gate.ask(PosteriorDraw(mechanism, next(numbers), self.mode)).value
            return PosteriorModel(gate.schema, column_model, draw.theta, kept, draw.labels)

        return Prepared(draw_again, gate.schema)

    def inference_facts(self, schema: Schema) -> InferenceFacts:
        """The model draws all numbers that are not kept."""
        kept, columns = columns_given(schema, self.sensitive), schema.columns.items()
        numbers = [name for name, column in columns if isinstance(column, NUMERIC)]
        return InferenceFacts(modelled=tuple(name for name in numbers if name not in kept))

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """Remark what this does not promise, and what it publishes."""
        column_model = self._mechanism(schema).column_model
        kept = (
            f"The columns {', '.join(column_model.given)} are published as they stand, for every "
            "record; nothing protects them.",
        )
        kinds = (
            f"Whether {model.column} is a spike, a code or another number is drawn given "
            f"{', '.join(model.kinds.parents) or 'nothing'} alone (options states, parents, "
            "network)."
            for model in column_model.column_models
            if isinstance(model, NumberModel) and isinstance(model.kinds, StateTable)
        )
        return (
            "This is not differentially private at any number of rows: its proof is for the limit "
            "of ever more rows, and budget spent on it protects nothing.",
            *kept * bool(column_model.given),
            *kinds,
        )

    def effort(self, schema: Schema, tables: Sequence[PlannedTable], budget: Budget) -> Effort:
        """Chains once for all sets, then records.

        A sweep takes a millisecond, and 2 ns for each record, component and feature; for f^α about
        twice that. A log-likelihood takes 20 ns a component, and is read twice.
        """
        column_model, n = self._mechanism(schema).column_model, expected_rows(schema)
        components, sweeps = 1, 1
        if self.model == "mixture":
            components, sweeps = self.components, self.burn_in + self.thin * self.draws
        models = column_model.column_models
        numbers = [model for model in models if isinstance(model, NumberModel)]
        features = sum(1 + len(model.features.names) for model in numbers)
        each = 4e-9 if self.power == "marginal" else 2e-9
        chain = sweeps * (1e-3 * len(numbers) + each * n * components * features)
        chain += sum(_of_logit(logit, n, self.draws) for logit in _logits(column_model))
        chain += 4e-8 * self.draws * n * (components * len(numbers) + len(models))
        chains = _CHAINS[self.weights] + (self.reweight is not None)
        memory = 8 * n * (2 * features + 4 * len(schema.names)) + 2**26
        return Effort(memory / 1e6, 1e-7 * n * len(schema.names), chains * chain)

    def _mechanism(self, schema: Schema) -> PseudoPosterior:
        """Column model, weights and draws; whatever cannot be is refused here."""
        given = columns_given(schema, self.sensitive)
        self._require(schema, given)
        weighting = Weighting(
            form=self.weights,
            scale=self.scale,
            shift=self.shift,
            level=self.quantile,
            bound=self.bound,
            radius=self.radius,
            columns=self.columns,
            reweight=self.reweight,
        )
        column_model = self._build_models().sequence(schema, given)
        models = column_model.column_models
        if self.mode == "paper" and not any(isinstance(model, NumberModel) for model in models):
            raise MethodError("mode=paper is about the numbers of a sensitive numeric column.")
        return PseudoPosterior(column_model, weighting, self.draws)

    def _build_models(self) -> Modelling:
        mixture = MixtureRegression(
            prior=MixturePrior(components=self.components),
            burn_in=self.burn_in,
            thin=self.thin,
            sampler=self.sampler,
            power=self.power,
        )
        return Modelling(
            regression=NormalLinear() if self.model == "normal" else mixture,
            form=self.transform,
            offset=self.offset,
            unit=self.unit,
            network=self.network,
            parents=self.parents,
            states=self.states,
        )

    def _require(self, schema: Schema, given: tuple[str, ...]) -> None:
        """Refuse what cannot be done, from public facts alone."""
        if given and schema.rows != "public":
            raise MethodError(
                "Partially synthetic sets keep a row for each record, which tells their number; "
                'declare rows = "public" and n_rows, or leave the option sensitive out.'
            )
        if self.mode == "paper" and (not given or self.model != "mixture"):
            raise MethodError(
                "mode=paper draws components of a mixture given the confidential values; it is for "
                "model=mixture, and for some sensitive columns beside others that are kept."
            )
        for option, of, needs in (
            (self.bound, "bound", self.weights == "scalar"),
            (self.offset, "offset", self.transform == "log"),
            (self.unit, "unit", self.transform == "asinh"),
        ):
            if option is not None and not needs:
                where = {"bound": "weights=scalar", "offset": "transform=log"}
                raise MethodError(
                    f"The option {of} is for {where.get(of, 'transform=asinh')}; leave it out."
                )


def _logits(column_model: SequentialModel) -> list[StateLogit]:
    """Logits of states and of kinds."""
    models = column_model.column_models
    states = (model.kinds if isinstance(model, NumberModel) else model for model in models)
    return [model for model in states if isinstance(model, StateLogit)]


def _of_logit(column_model: StateLogit, n: float, draws: int) -> float:
    """Seconds of a chain: 10 ns an evaluation of a record, 8 a state, 0.15 a coefficient."""
    each = 1e-8 + 8e-9 * (column_model.size - 1) + 1.5e-10 * column_model.coefficients
    return column_model.chains.evaluations(draws) * n * each
