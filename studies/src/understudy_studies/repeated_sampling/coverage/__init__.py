"""Repeated sampling: does a 95 % interval from a release hold the truth 95 times in 100?"""

from understudy_studies.framework.study import Study
from understudy_studies.repeated_sampling.coverage.coverage_rows import summarise
from understudy_studies.repeated_sampling.coverage.page import page_text
from understudy_studies.repeated_sampling.coverage.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
)

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
    page_text=page_text,
)

__all__ = ["COVERAGE"]
