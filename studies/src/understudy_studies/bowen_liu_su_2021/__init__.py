"""Studies of Bowen, Liu & Su's paper on STEPS."""

from understudy_studies.bowen_liu_su_2021.simulation import STEPS_SIMULATION
from understudy_studies.bowen_liu_su_2021.young_voters import STEPS_VOTER, STEPS_VOTER_CPS

__all__ = ["STEPS_SIMULATION", "STEPS_VOTER", "STEPS_VOTER_CPS"]
