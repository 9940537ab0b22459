"""How far regressions on released sets are from those on the records."""

from understudy_studies.framework.study import Study
from understudy_studies.snoke_slavkovic_2018.pmse_paper import SOURCE
from understudy_studies.snoke_slavkovic_2018.regressions.page import page_text
from understudy_studies.snoke_slavkovic_2018.regressions.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
)
from understudy_studies.snoke_slavkovic_2018.repetition_values import summarise

PMSE_REGRESSION = Study[Scenario](
    name="pmse-regression",
    title="Snoke & Slavković: regressions on released sets",
    source=f"{SOURCE}, §6.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=500,
    chunk=250,
)

__all__ = ["PMSE_REGRESSION"]
