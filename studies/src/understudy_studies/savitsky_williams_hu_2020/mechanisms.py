"""The four mechanisms of the paper, fitted by the code that makes a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.arrays import Floats
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.record_weights import LipschitzBounds, lipschitz_bounds
from understudy.privacy.not_dp.weighted_posterior import FittedPosterior, PseudoPosterior
from understudy.privacy.not_dp.weighting_spec import Weighting
from understudy.privacy.samplers.column_model import Records
from understudy.privacy.samplers.column_sequence import SequentialModel
from understudy.privacy.samplers.mixture_prior import MixturePrior
from understudy.privacy.samplers.mixture_regression import MixtureRegression
from understudy.privacy.samplers.numeric_column import NumberModel
from understudy.privacy.samplers.response_scale import Form
from understudy_studies.framework.random_streams import Streams
from understudy_studies.savitsky_williams_hu_2020.consumer_case import INCOME, Case
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import (
    COMPONENTS,
    COUNT,
    MAIN,
    SCALAR,
    SETS,
    UNWEIGHTED,
    VECTOR,
)

DRAWS, BURN_IN, THIN = 250, 250, 2
"""Draws of each chain, sweeps left out before them, and sweeps from one to the next."""


@dataclass(frozen=True)
class Model:
    """What income is given the predictors: a mixture of regressions on a scale.

    Attributes:
        form: of the scale, "asinh" or "identity".
        unit: dollars of a unit of asinh.
        components: K.
    """

    form: Form
    unit: float
    components: int = COMPONENTS


@dataclass(frozen=True, eq=False)
class Fit:
    """A mechanism, fitted.

    Attributes:
        mechanism: one of `source.MECHANISMS`.
        model: of the columns, with its weights.
        posterior: what was drawn.
    """

    mechanism: str
    model: PseudoPosterior
    posterior: FittedPosterior


def income_law(case: Case, model: Model) -> SequentialModel:
    """Income given the predictors."""
    regression = MixtureRegression(
        prior=MixturePrior(components=model.components), burn_in=BURN_IN, thin=THIN
    )
    column_model = NumberModel.of(
        case.schema, INCOME, case.predictors, regression, form=model.form, unit=model.unit
    )
    return SequentialModel((column_model,), case.predictors)


def fits(
    case: Case, model: Model, setting: tuple[float, float], streams: Streams, *, alone: bool = False
) -> list[Fit]:
    """All mechanisms of a setting, each with chains of its own.

    Scalar weights are those that would have the vector weights' Δ_α if the posterior were to stay.
    The other two mechanisms have no setting, and come with the main one.

    Args:
        case: the table.
        model: of income.
        setting: c and g.
        streams: of the repetition.
        alone: whether only vector weights are wanted.
    """
    column_model, records = income_law(case, model), case.records()
    scale, shift = setting

    def fit(form: str, weighting: Weighting) -> Fit:
        whole = PseudoPosterior(column_model, weighting, draws=DRAWS)
        return Fit(form, whole, whole.fit(records, streams.randomness("fit", form)))

    vector = fit(VECTOR, Weighting(form="vector", scale=scale, shift=shift))
    if alone:
        return [vector]
    wanted = vector.posterior.after.bound
    found = [vector, fit(SCALAR, Weighting(form="scalar", bound=wanted))]
    if setting == MAIN:
        found.append(fit(UNWEIGHTED, Weighting(form="unweighted")))
        found.append(fit(COUNT, Weighting(form="count")))
    return found


def printed_bounds(fit: Fit, records: Records) -> LipschitzBounds:
    """Bounds of α_i·|log f(y_i|θ)|, f the density of the mixture: the figure that the paper prints.

    The sampler's own contributions, whose bounds a release reports, are a little larger.
    """
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
