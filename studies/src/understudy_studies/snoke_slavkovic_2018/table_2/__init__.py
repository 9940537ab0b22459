"""How well trees tell released records from confidential ones: the paper's table 2."""

from understudy_studies.framework.study import Study
from understudy_studies.snoke_slavkovic_2018.pmse_paper import SOURCE
from understudy_studies.snoke_slavkovic_2018.repetition_values import summarise
from understudy_studies.snoke_slavkovic_2018.table_2.page import page_text
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
)

PMSE_TABLE2 = Study[Scenario](
    name="pmse-table2",
    title="Snoke & Slavković, table 2: pMSE of released sets",
    source=f"{SOURCE}, §7.",
    version=2,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=500,
    chunk=250,
)

__all__ = ["PMSE_TABLE2"]
