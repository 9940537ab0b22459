"""How far regressions on released sets are from those on the records."""

from understudy.studies.pmse.regression.account import account
from understudy.studies.pmse.regression.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.pmse.results import summarise
from understudy.studies.pmse.source import SOURCE
from understudy.studies.study import Study

PMSE_REGRESSION = Study[Scenario](
    name="pmse-regression",
    title="Snoke & Slavković: regressions on released sets",
    source=f"{SOURCE}, §6.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=1_000,
    chunk=50,
)

__all__ = ["PMSE_REGRESSION"]
