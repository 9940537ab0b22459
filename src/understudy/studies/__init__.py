"""Simulation studies and case studies, reproducible by name."""

from __future__ import annotations

from typing import Any

from understudy.errors import StudyError, suggestion
from understudy.studies.bootstrap import BOOTSTRAP_COVERAGE
from understudy.studies.bowen_liu import BOWEN_LIU_1, BOWEN_LIU_2, BOWEN_LIU_3
from understudy.studies.coverage import COVERAGE
from understudy.studies.frame import run_study
from understudy.studies.pegs import PEGS, PEGS_HOSPITAL
from understudy.studies.pmse.failure import PMSE_FAILURE
from understudy.studies.pmse.regression import PMSE_REGRESSION
from understudy.studies.pmse.table2 import PMSE_TABLE2
from understudy.studies.pseudo_posterior import (
    PSEUDO_POSTERIOR,
    PSEUDO_POSTERIOR_DIARY,
    PSEUDO_POSTERIOR_HORNBY,
)
from understudy.studies.steps import STEPS_SIMULATION, STEPS_VOTER, STEPS_VOTER_CPS
from understudy.studies.study import Study

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
