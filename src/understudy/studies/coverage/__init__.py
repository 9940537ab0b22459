"""Repeated sampling: does a 95 % interval from a release hold the truth 95 times in 100?"""

from understudy.studies.coverage.account import account
from understudy.studies.coverage.simulation import Scenario, cost_class, run, scenarios
from understudy.studies.coverage.summary import summarise
from understudy.studies.study import Study

COVERAGE = Study[Scenario](
    name="coverage",
    title="Measured coverage of intervals from a release",
    source=(
        "repeated sampling from a known population, as in Bowen & Liu (2020), “Comparative study "
        "of differentially private data synthesis methods”, Statistical Science 35, 280-307; "
        "reported after Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102."
    ),
    version=1,
    scenarios=scenarios,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=account,
)

__all__ = ["COVERAGE"]
