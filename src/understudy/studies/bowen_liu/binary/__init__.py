"""Study 1: categorical data."""

from understudy.studies.bowen_liu.binary.account import account
from understudy.studies.bowen_liu.binary.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.bowen_liu.source import SOURCE
from understudy.studies.study import Study
from understudy.studies.totals import summarise

BOWEN_LIU_1 = Study[Scenario](
    name="bowen-liu-1",
    title="Bowen & Liu, study 1: a share of a binary column",
    source=f"{SOURCE}, §4.1.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=5_000,
    chunk=500,
)

__all__ = ["BOWEN_LIU_1"]
