"""How often greedy trees break the bound of the pMSE mechanism, and exact ones do not."""

from understudy_studies.framework.study import Study
from understudy_studies.snoke_slavkovic_2018.bound_violations.page import page_text
from understudy_studies.snoke_slavkovic_2018.bound_violations.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations.tally import summarise
from understudy_studies.snoke_slavkovic_2018.pmse_paper import SOURCE

PMSE_FAILURE = Study[Scenario](
    name="pmse-failure",
    title="Snoke & Slavković: how often greedy trees break the bound",
    source=f"{SOURCE}, §5.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=10_000,
    chunk=1_000,
)

__all__ = ["PMSE_FAILURE"]
