"""The pseudo posterior mechanism on a skewed income, simulated and real."""

from understudy.studies.pseudo_posterior.account import account
from understudy.studies.pseudo_posterior.simulation import (
    REPETITIONS,
    Scenario,
    cost_class,
    diary,
    hornby,
    run,
    simulated,
    summarise,
)
from understudy.studies.pseudo_posterior.source import SOURCE
from understudy.studies.study import Study

PSEUDO_POSTERIOR = Study[Scenario](
    name="pseudo-posterior",
    title="Savitsky, Williams & Hu: weighted posteriors, on simulated incomes",
    source=f"{SOURCE}, §4; the rows are simulated.",
    version=1,
    scenarios=simulated,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=REPETITIONS,
    chunk=1,
)

PSEUDO_POSTERIOR_DIARY = Study[Scenario](
    name="pseudo-posterior-diary",
    title="Savitsky, Williams & Hu: weighted posteriors, on incomes of the diary survey",
    source=f"{SOURCE}, §4; another sample of the survey, which does not come with Understudy.",
    version=1,
    scenarios=diary,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=REPETITIONS,
    chunk=1,
    simulated=False,
)

PSEUDO_POSTERIOR_HORNBY = Study[Scenario](
    name="pseudo-posterior-hornby",
    title="Savitsky, Williams & Hu: weighted posteriors, on a packaged sample of the survey",
    source=f"{SOURCE}, §4; another sample of the survey, which does not come with Understudy.",
    version=1,
    scenarios=hornby,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=REPETITIONS,
    chunk=1,
    simulated=False,
)

__all__ = ["PSEUDO_POSTERIOR", "PSEUDO_POSTERIOR_DIARY", "PSEUDO_POSTERIOR_HORNBY"]
