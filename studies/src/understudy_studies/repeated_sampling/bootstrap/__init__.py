"""Repeated sampling: how often do bootstrap intervals and posterior sets hold the truth?"""

from understudy_studies.framework.study import Study
from understudy_studies.repeated_sampling.bootstrap.page import page_text
from understudy_studies.repeated_sampling.bootstrap.simulation import (
    Scenario,
    cost_class,
    run,
    scenarios,
    summarise,
)

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
    page_text=page_text,
    chunk=2,
)

__all__ = ["BOOTSTRAP_COVERAGE"]
