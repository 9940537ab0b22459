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
  (`understudy.privacy.not_dp.record_weights`, with an example). So the ledger's cost is
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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Annotated, ClassVar, Literal, final

from pydantic import Field

from understudy.errors import MethodError
from understudy.families.column_model_options import Modelling, columns_given
from understudy.families.effort import Effort, expected_rows
from understudy.families.measurement_plan import Form, PlannedTable, announced
from understudy.families.method import Facts, Names, Prepared, PreparingMethod
from understudy.models import Model
from understudy.models.bayesian.column_sequence_model import PosteriorModel
from understudy.privacy.accounting.budget import Budget
from understudy.privacy.gate import Gate
from understudy.privacy.not_dp.pseudo_posterior_draw import OpenColumns, PosteriorDraw
from understudy.privacy.not_dp.weighted_posterior import PseudoPosterior
from understudy.privacy.not_dp.weighting_spec import Weighting
from understudy.privacy.samplers.categorical_logit import StateLogit
from understudy.privacy.samplers.categorical_table import StateTable
from understudy.privacy.samplers.column_sequence import SequentialModel
from understudy.privacy.samplers.conjugate_draws import NormalLinear
from understudy.privacy.samplers.mixture_density import Power
from understudy.privacy.samplers.mixture_prior import MixturePrior
from understudy.privacy.samplers.mixture_regression import MixtureRegression, Sampler
from understudy.privacy.samplers.numeric_column import NumberModel
from understudy.schema import NUMERIC, Schema

_CHAINS = {"unweighted": 1, "count": 1, "vector": 2, "scalar": 3}


@final
@dataclass(frozen=True, kw_only=True)
class PseudoPosteriorMechanism(PreparingMethod):
    """Configuration.

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
            density (`understudy.privacy.samplers.mixture_regression`).
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
        asked = PosteriorDraw(self._mechanism(schema))
        return announced(asked, schema, spend, budget, [schema.names], form=Form.POSTERIOR)

    def plan_setup(
        self, schema: Schema, spend: Fraction, budget: Budget
    ) -> tuple[PlannedTable, ...]:
        """The columns that are published as they stand."""
        given = columns_given(schema, self.sensitive)
        if not given:
            return ()
        asked = OpenColumns(given)
        return announced(asked, schema, spend, budget, [given], form=Form.POSTERIOR)

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

        def drawn(_spend: Fraction, _n_rows: int) -> Model:
            """Another draw of parameters."""
            draw = gate.ask(PosteriorDraw(mechanism, next(numbers), self.mode)).value
            return PosteriorModel(gate.schema, column_model, draw.theta, kept, draw.labels)

        return Prepared(drawn, gate.schema)

    def modelled(self, schema: Schema) -> tuple[str, ...]:
        """The numeric columns that are drawn."""
        kept = columns_given(schema, self.sensitive)
        numeric = (name for name, column in schema.columns.items() if isinstance(column, NUMERIC))
        return tuple(name for name in numeric if name not in kept)

    def remarks(self, schema: Schema) -> tuple[str, ...]:
        """What this does not promise, and what it publishes."""
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
        column_model = self._modelling().sequence(schema, given)
        models = column_model.column_models
        if self.mode == "paper" and not any(isinstance(model, NumberModel) for model in models):
            raise MethodError("mode=paper is about the numbers of a sensitive numeric column.")
        return PseudoPosterior(column_model, weighting, self.draws)

    def _modelling(self) -> Modelling:
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
