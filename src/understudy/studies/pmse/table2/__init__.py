"""How well trees tell released records from confidential ones: the paper's table 2."""

from understudy.studies.pmse.results import summarise
from understudy.studies.pmse.source import SOURCE
from understudy.studies.pmse.table2.account import account
from understudy.studies.pmse.table2.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.study import Study

PMSE_TABLE2 = Study[Scenario](
    name="pmse-table2",
    title="Snoke & Slavković, table 2: pMSE of released sets",
    source=f"{SOURCE}, §7.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=2_500,
    chunk=100,
)

__all__ = ["PMSE_TABLE2"]
