"""Simulation studies and case studies, reproducible by name."""

from __future__ import annotations

from typing import Any

from understudy.errors import StudyError, suggestion
from understudy_studies.bowen_liu_2020 import BOWEN_LIU_1, BOWEN_LIU_2, BOWEN_LIU_3
from understudy_studies.bowen_liu_su_2021 import STEPS_SIMULATION, STEPS_VOTER, STEPS_VOTER_CPS
from understudy_studies.framework.runner import run_study
from understudy_studies.framework.study import Study
from understudy_studies.park_ghosh_2014 import PEGS, PEGS_HOSPITAL
from understudy_studies.repeated_sampling.bootstrap import BOOTSTRAP_COVERAGE
from understudy_studies.repeated_sampling.coverage import COVERAGE
from understudy_studies.savitsky_williams_hu_2020 import (
    PSEUDO_POSTERIOR,
    PSEUDO_POSTERIOR_DIARY,
    PSEUDO_POSTERIOR_HORNBY,
)
from understudy_studies.snoke_slavkovic_2018.bound_violations import PMSE_FAILURE
from understudy_studies.snoke_slavkovic_2018.regressions import PMSE_REGRESSION
from understudy_studies.snoke_slavkovic_2018.table_2 import PMSE_TABLE2

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        COVERAGE,
        BOOTSTRAP_COVERAGE,
        BOWEN_LIU_1,
        BOWEN_LIU_2,
        BOWEN_LIU_3,
        STEPS_SIMULATION,
        STEPS_VOTER,
        STEPS_VOTER_CPS,
        PEGS,
        PEGS_HOSPITAL,
        PMSE_FAILURE,
        PMSE_REGRESSION,
        PMSE_TABLE2,
        PSEUDO_POSTERIOR,
        PSEUDO_POSTERIOR_DIARY,
        PSEUDO_POSTERIOR_HORNBY,
    )
}


def find(name: str) -> Study[Any]:
    """The study of this name.

    Raises:
        StudyError: there is none; the message suggests the nearest.
    """
    if not name:
        raise StudyError(
            f"Name a study, or list them with --list; available: {', '.join(STUDIES)}."
        )
    if name not in STUDIES:
        meant = suggestion(name, STUDIES)
        raise StudyError(f"There is no study {name!r}{meant}; available: {', '.join(STUDIES)}.")
    return STUDIES[name]


__all__ = ["STUDIES", "Study", "find", "run_study"]
