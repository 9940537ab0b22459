"""The four mechanisms of the paper, fitted by the code that makes a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy._arrays import Floats
from understudy.dp.randomness import Randomness
from understudy.papers.column_models import NumberModel, ScaleForm, SequentialModel
from understudy.papers.mixture_gibbs import MixturePrior
from understudy.papers.mixture_nuts import Power
from understudy.papers.mixture_regression import MixtureRegression
from understudy.papers.record_weights import (
    FittedPosterior,
    LipschitzBounds,
    PseudoPosterior,
    Weighting,
    lipschitz_bounds,
)
from understudy.papers.sampling_base import Records
from understudy_studies.framework.random_streams import Streams
from understudy_studies.savitsky_williams_hu_2020.consumer_case import INCOME, Case
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    COUNT,
    COUNT_ALL,
    COUNT_FEW,
    MAIN,
    REPORTED,
    SCALAR,
    SETS,
    SETTINGS,
    UNWEIGHTED,
    VECTOR,
)

DRAWS, BURN_IN, THIN = 200, 200, 1
"""Draws of each chain, sweeps left out before them, and sweeps from one to the next."""


@dataclass(frozen=True)
class Model:
    """What income is given the predictors: a mixture of regressions on a scale.

    Attributes:
        form: of the scale, "asinh" or "identity".
        unit: dollars of a unit of asinh.
        components: K.
        power: what a record's weight is a power of: "marginal", the density of the mixture, or
            "labels", each component.
    """

    form: ScaleForm
    unit: float
    components: int = COMPONENTS
    power: Power = REPORTED


@dataclass(frozen=True, eq=False)
class Fit:
    """A mechanism, fitted.

    Attributes:
        mechanism: its name.
        setting: c and g of vector weights, or of those that set the scalar ones.
        model: of the columns, with its weights.
        posterior: what was drawn.
    """

    mechanism: str
    setting: tuple[float, float]
    model: PseudoPosterior
    posterior: FittedPosterior

    @property
    def marginal(self) -> bool:
        """Whether weights are powers of the density."""
        regression = getattr(self.model.column_model.column_models[0], "regression", None)
        return isinstance(regression, MixtureRegression) and regression.power == "marginal"


def income_law(case: Case, model: Model) -> SequentialModel:
    """Income given the predictors."""
    regression = MixtureRegression(
        prior=MixturePrior(components=model.components),
        burn_in=BURN_IN,
        thin=THIN,
        power=model.power,
    )
    column_model = NumberModel.of(
        case.schema, INCOME, case.predictors, regression, form=model.form, unit=model.unit
    )
    return SequentialModel((column_model,), case.predictors)


def fits(
    case: Case,
    model: Model,
    streams: Streams,
    *,
    settings: Sequence[tuple[float, float]] = SETTINGS,
    readings: Sequence[str] = (),
) -> Iterator[Fit]:
    """All mechanisms, each with a chain of its own.

    Weights are made from one chain of the plain posterior, as in the paper. Scalar weights are
    those that would have the vector weights' Δ_α if the posterior were to stay.

    Args:
        case: the table.
        model: of income.
        streams: of the repetition.
        settings: c and g.
        readings: further readings of count weights, of `pseudo_posterior_paper.READINGS`.
    """
    column_model, records = income_law(case, model), case.records()

    def fit(
        name: str,
        weighting: Weighting,
        setting: tuple[float, float] = MAIN,
        before: LipschitzBounds | None = None,
    ) -> Fit:
        whole = PseudoPosterior(column_model, weighting, draws=DRAWS)
        source = streams.randomness("fit", name, *setting)
        return Fit(name, setting, whole, whole.fit(records, source, before=before))

    plain = fit(UNWEIGHTED, Weighting(form="unweighted"))
    yield plain
    before = plain.posterior.after
    for setting in settings:
        scale, shift = setting
        vector = fit(VECTOR, Weighting(form="vector", scale=scale, shift=shift), setting, before)
        yield vector
        wanted = vector.posterior.after.bound
        yield fit(SCALAR, Weighting(form="scalar", bound=wanted), setting, before)
    columns = {COUNT: case.known, COUNT_FEW: case.known_few, COUNT_ALL: ()}
    for name in (COUNT, *readings):
        yield fit(name, Weighting(form="count", columns=columns[name]))


def printed_bounds(fit: Fit, records: Records) -> LipschitzBounds:
    """Bounds of α_i·|log f(y_i|θ)|, f the density of the mixture: the figure that the paper prints.

    Where components are raised to the weights, what the sampler has in their place differs a
    little, and that is what the release reports.
    """
    if fit.marginal:
        return fit.posterior.after
    column_model, posterior = fit.model.column_model, fit.posterior
    return lipschitz_bounds(
        lambda: column_model.log_likelihoods(posterior.theta, records),
        level=fit.model.weighting.level,
        weights=posterior.weights,
    )


def synthetic_sets(case: Case, fit: Fit, randomness: Randomness) -> tuple[Floats, Floats]:
    """Income of the synthetic sets, components drawn from π, and again in the paper's way.

    The paper draws each record's component given its own confidential income. All else is the same
    in both, uniform numbers too.

    Returns:
        Both of shape (sets, n).
    """
    column_model, records = fit.model.column_model, case.records()
    n = len(case.values)
    ours, theirs = np.empty((SETS, n)), np.empty((SETS, n))
    for k in range(SETS):
        theta = fit.posterior.draw(k)
        uniforms = randomness.uniforms(3 * n).reshape(1, 3, n)
        labels = column_model.labels(theta, records, randomness.uniforms(n).reshape(1, n))
        ours[k] = case.incomes_of(column_model.sample(theta, records, uniforms)[INCOME])
        theirs[k] = case.incomes_of(column_model.sample(theta, records, uniforms, labels)[INCOME])
    return ours, theirs
