"""Transitional: a gate with the verbs that are not mechanisms yet."""

from understudy.privacy.drawing import Drawing
from understudy.privacy.mechanisms.records.imputing import Imputing
from understudy.privacy.mechanisms.records.row_sweeping import RowSweeping
from understudy.privacy.not_dp.exact_statistics import Revealing
from understudy.privacy.not_dp.pseudo_posterior_draw import Weighing


class Gate(
    Drawing,
    Imputing,
    Revealing,
    RowSweeping,
    Weighing,
):
    """Old verbs, and the new one."""
