"""Study 2: continuous data."""

from understudy.studies.bowen_liu.continuous.account import account
from understudy.studies.bowen_liu.continuous.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
    summarise,
)
from understudy.studies.bowen_liu.source import SOURCE
from understudy.studies.study import Study

BOWEN_LIU_2 = Study[Scenario](
    name="bowen-liu-2",
    title="Bowen & Liu, study 2: mean and variance of a number",
    source=f"{SOURCE}, §4.2.",
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    repetitions=5_000,
    chunk=500,
)

__all__ = ["BOWEN_LIU_2"]
