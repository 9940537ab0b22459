"""The pseudo posterior mechanism on a skewed income, simulated and real."""

from understudy_studies.framework.study import Study
from understudy_studies.savitsky_williams_hu_2020.page import page_text
from understudy_studies.savitsky_williams_hu_2020.pseudo_posterior_paper import SOURCE
from understudy_studies.savitsky_williams_hu_2020.simulation import (
    cost_class,
    diary,
    hornby,
    repetitions,
    run,
    simulated,
    summarise,
)

PSEUDO_POSTERIOR = Study(
    name="pseudo-posterior",
    title="Savitsky, Williams & Hu: weighted posteriors, on simulated incomes",
    source=f"{SOURCE}, §4; the rows are simulated.",
    version=2,
    scenarios=simulated,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=repetitions,
    chunk=1,
)

PSEUDO_POSTERIOR_DIARY = Study(
    name="pseudo-posterior-diary",
    title="Savitsky, Williams & Hu: weighted posteriors, on incomes of the diary survey",
    source=f"{SOURCE}, §4; another sample of the survey, which does not come with Understudy.",
    version=2,
    scenarios=diary,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=repetitions,
    chunk=1,
    simulated=False,
)

PSEUDO_POSTERIOR_HORNBY = Study(
    name="pseudo-posterior-hornby",
    title="Savitsky, Williams & Hu: weighted posteriors, on a packaged sample of the survey",
    source=f"{SOURCE}, §4; another sample of the survey, which does not come with Understudy.",
    version=2,
    scenarios=hornby,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=page_text,
    repetitions=repetitions,
    chunk=1,
    simulated=False,
)

__all__ = ["PSEUDO_POSTERIOR", "PSEUDO_POSTERIOR_DIARY", "PSEUDO_POSTERIOR_HORNBY"]
