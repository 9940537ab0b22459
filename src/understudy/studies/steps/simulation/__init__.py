"""Regressions on simulated records that trees of counts and a Bayesian network release."""

from understudy.studies.steps.simulation.account import account
from understudy.studies.steps.simulation.population import Scenario
from understudy.studies.steps.simulation.simulation import cost_class, run, scenarios, summarise
from understudy.studies.steps.source import SOURCE
from understudy.studies.study import Study

STEPS_SIMULATION = Study[Scenario](
    name="steps-simulation",
    title="STEPS, the universal histogram and PrivBayes: regressions on synthetic records",
    source=f"{SOURCE}, §3.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=200,
    chunk=5,
)

__all__ = ["STEPS_SIMULATION"]
