"""Study 1: categorical data."""

from understudy_studies.bowen_liu_2020.binary.page import page_text
from understudy_studies.bowen_liu_2020.binary.simulation import Scenario, cost_class, run, scenarios
from understudy_studies.bowen_liu_2020.bowen_liu_paper import SOURCE
from understudy_studies.framework.interval_tally import summarise
from understudy_studies.framework.study import Study

BOWEN_LIU_1 = Study[Scenario](
    name="bowen-liu-1",
    title="Bowen & Liu, study 1: a share of a binary column",
    source=f"{SOURCE}, §4.1.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=5_000,
    chunk=500,
)

__all__ = ["BOWEN_LIU_1"]
