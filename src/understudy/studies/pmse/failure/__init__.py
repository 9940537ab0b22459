"""How often greedy trees break the bound of the pMSE mechanism, and exact ones do not."""

from understudy.studies.pmse.failure.account import account
from understudy.studies.pmse.failure.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.pmse.failure.tally import summarise
from understudy.studies.pmse.source import SOURCE
from understudy.studies.study import Study

PMSE_FAILURE = Study[Scenario](
    name="pmse-failure",
    title="Snoke & Slavković: how often greedy trees break the bound",
    source=f"{SOURCE}, §5.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=10_000,
    chunk=1_000,
)

__all__ = ["PMSE_FAILURE"]
