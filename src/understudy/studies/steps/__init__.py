"""Studies of Bowen, Liu & Su's paper on STEPS."""

from understudy.studies.steps.simulation import STEPS_SIMULATION
from understudy.studies.steps.voter import STEPS_VOTER, STEPS_VOTER_CPS

__all__ = ["STEPS_SIMULATION", "STEPS_VOTER", "STEPS_VOTER_CPS"]
