"""Transitional: a gate with the verbs that are not mechanisms yet."""

from understudy.privacy.mechanisms.sums.regressing import Regressing
from understudy.privacy.mechanisms.sums.summing import Summing


class Gate(
    Summing,
    Regressing,
):
    """Old verbs, and the new one."""
