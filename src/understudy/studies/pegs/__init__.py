"""The comparison of perturbed Gibbs samplers and imputation, on simulated and on real rows."""

from understudy.studies.pegs.account import real_account, simulated_account
from understudy.studies.pegs.simulation import (
    CHUNK,
    REPETITIONS,
    Scenario,
    cost_class,
    real,
    run,
    simulated,
    summarise,
)
from understudy.studies.pegs.source import SOURCE
from understudy.studies.study import Study

PEGS = Study[Scenario](
    name="pegs",
    title="Park & Ghosh: perturbed Gibbs samplers, on simulated hospital discharges",
    source=f"{SOURCE}, §4; the rows are simulated.",
    version=1,
    scenarios=simulated,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=simulated_account,
    repetitions=REPETITIONS,
    chunk=CHUNK,
)

PEGS_HOSPITAL = Study[Scenario](
    name="pegs-hospital",
    title="Park & Ghosh: perturbed Gibbs samplers, on public rows of diabetic inpatients",
    source=f"{SOURCE}, §4; other rows, which do not come with Understudy.",
    version=1,
    scenarios=real,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    account=real_account,
    repetitions=REPETITIONS,
    chunk=CHUNK,
    simulated=False,
)

__all__ = ["PEGS", "PEGS_HOSPITAL"]
