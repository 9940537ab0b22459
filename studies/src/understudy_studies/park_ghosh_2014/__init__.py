"""The comparison of perturbed Gibbs samplers and imputation, on simulated and on real rows."""

from understudy_studies.framework.study import Study
from understudy_studies.park_ghosh_2014.page import real_page_text, simulated_page_text
from understudy_studies.park_ghosh_2014.pegs_papers import SOURCE
from understudy_studies.park_ghosh_2014.simulation import (
    CHUNK,
    REPETITIONS,
    Scenario,
    cost_class,
    real,
    run,
    simulated,
    summarise,
)

PEGS = Study[Scenario](
    name="pegs",
    title="Park & Ghosh: perturbed Gibbs samplers, on simulated hospital discharges",
    source=f"{SOURCE}, §4; the rows are simulated.",
    version=2,
    scenarios=simulated,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=simulated_page_text,
    repetitions=REPETITIONS,
    chunk=CHUNK,
)

PEGS_HOSPITAL = Study[Scenario](
    name="pegs-hospital",
    title="Park & Ghosh: perturbed Gibbs samplers, on public rows of diabetic inpatients",
    source=f"{SOURCE}, §4; other rows, which do not come with Understudy.",
    version=2,
    scenarios=real,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=real_page_text,
    repetitions=REPETITIONS,
    chunk=CHUNK,
    simulated=False,
)

__all__ = ["PEGS", "PEGS_HOSPITAL"]
