"""Study 3: mixed data."""

from understudy.studies.bowen_liu.mixed.account import account
from understudy.studies.bowen_liu.mixed.population import Scenario
from understudy.studies.bowen_liu.mixed.simulation import cost_class, run, scenarios, summarise
from understudy.studies.bowen_liu.source import SOURCE
from understudy.studies.study import Study

BOWEN_LIU_3 = Study[Scenario](
    name="bowen-liu-3",
    title="Bowen & Liu, study 3: a mixed table",
    source=f"{SOURCE}, §4.3.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=500,
    chunk=25,
)

__all__ = ["BOWEN_LIU_3"]
