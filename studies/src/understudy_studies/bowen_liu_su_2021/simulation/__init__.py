"""Regressions on simulated records that trees of counts and a Bayesian network release."""

from understudy_studies.bowen_liu_su_2021.simulation.page import page_text
from understudy_studies.bowen_liu_su_2021.simulation.population import Scenario
from understudy_studies.bowen_liu_su_2021.simulation.simulation import (
    cost_class,
    repetitions,
    run,
    scenarios,
    summarise,
)
from understudy_studies.bowen_liu_su_2021.steps_paper import SOURCE
from understudy_studies.framework.study import Study

STEPS_SIMULATION = Study[Scenario](
    name="steps-simulation",
    title="STEPS, the universal histogram and PrivBayes: regressions on synthetic records",
    source=f"{SOURCE}, §3.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=repetitions,
    chunk=5,
)

__all__ = ["STEPS_SIMULATION"]
