"""Repeated sampling: how often do bootstrap intervals and posterior sets hold the truth?"""

from understudy.studies.bootstrap.account import account
from understudy.studies.bootstrap.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.bootstrap.summary import summarise
from understudy.studies.study import Study

BOOTSTRAP_COVERAGE = Study[Scenario](
    name="bootstrap-coverage",
    title="Measured coverage of bootstrap intervals and of posterior sets",
    source=(
        "repeated sampling from a known population, as in the study “coverage”; bootstrap after "
        "Ferrando, Wang & Sheldon (2022), “Parametric bootstrap for differentially private "
        "confidence intervals”, AISTATS; reported after Morris, White & Crowther (2019), "
        "Statistics in Medicine 38, 2074-2102."
    ),
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
    chunk=2,
)

__all__ = ["BOOTSTRAP_COVERAGE"]
