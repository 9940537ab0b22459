"""Study 2: continuous data."""

from understudy_studies.bowen_liu_2020.bowen_liu_paper import SOURCE
from understudy_studies.bowen_liu_2020.continuous.page import page_text
from understudy_studies.bowen_liu_2020.continuous.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
    summarise,
)
from understudy_studies.framework.study import Study

BOWEN_LIU_2 = Study[Scenario](
    name="bowen-liu-2",
    title="Bowen & Liu, study 2: mean and variance of a number",
    source=f"{SOURCE}, §4.2.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=5_000,
    chunk=500,
)

__all__ = ["BOWEN_LIU_2"]
