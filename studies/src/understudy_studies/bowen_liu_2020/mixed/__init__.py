"""Study 3: mixed data."""

from understudy_studies.bowen_liu_2020.bowen_liu_paper import SOURCE
from understudy_studies.bowen_liu_2020.mixed.page import page_text
from understudy_studies.bowen_liu_2020.mixed.population import Scenario
from understudy_studies.bowen_liu_2020.mixed.simulation import cost_class, run, scenarios, summarise
from understudy_studies.framework.study import Study

BOWEN_LIU_3 = Study[Scenario](
    name="bowen-liu-3",
    title="Bowen & Liu, study 3: a mixed table",
    source=f"{SOURCE}, §4.3.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=500,
    chunk=25,
)

__all__ = ["BOWEN_LIU_3"]
