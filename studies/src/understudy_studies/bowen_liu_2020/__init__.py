"""The three simulation studies of Bowen & Liu's comparative study."""

from understudy_studies.bowen_liu_2020.binary import BOWEN_LIU_1
from understudy_studies.bowen_liu_2020.continuous import BOWEN_LIU_2
from understudy_studies.bowen_liu_2020.mixed import BOWEN_LIU_3

__all__ = ["BOWEN_LIU_1", "BOWEN_LIU_2", "BOWEN_LIU_3"]
