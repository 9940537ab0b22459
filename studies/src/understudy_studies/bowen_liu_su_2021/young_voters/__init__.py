"""The case study of young voters, on simulated rows and on a real stand-in."""

from understudy_studies.bowen_liu_su_2021.steps_paper import SOURCE
from understudy_studies.bowen_liu_su_2021.young_voters.page import (
    real_page_text,
    simulated_page_text,
)
from understudy_studies.bowen_liu_su_2021.young_voters.simulation import (
    Scenario,
    cost_class,
    real,
    repetitions,
    run,
    simulated,
    summarise,
)
from understudy_studies.framework.study import Study

STEPS_VOTER = Study[Scenario](
    name="steps-voter",
    title="Bowen, Liu & Su: young voters, on simulated rows",
    source=f"{SOURCE}, §4; the rows are simulated.",
    version=2,
    scenarios=simulated,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=simulated_page_text,
    repetitions=repetitions,
    chunk=5,
)

STEPS_VOTER_CPS = Study[Scenario](
    name="steps-voter-cps",
    title="Bowen, Liu & Su: voters, on a public sample of the survey",
    source=f"{SOURCE}, §4; another sample of the survey, which does not come with Understudy.",
    version=2,
    scenarios=real,
    cost_class=cost_class,
    run=run,
    summarise=summarise,
    page_text=real_page_text,
    repetitions=repetitions,
    chunk=5,
    simulated=False,
)

__all__ = ["STEPS_VOTER", "STEPS_VOTER_CPS"]
