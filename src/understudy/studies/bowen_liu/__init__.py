"""The three simulation studies of Bowen & Liu's comparative study."""

from understudy.studies.bowen_liu.binary import BOWEN_LIU_1
from understudy.studies.bowen_liu.continuous import BOWEN_LIU_2
from understudy.studies.bowen_liu.mixed import BOWEN_LIU_3

__all__ = ["BOWEN_LIU_1", "BOWEN_LIU_2", "BOWEN_LIU_3"]
