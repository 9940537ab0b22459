"""Transitional: a gate with the verbs that are not mechanisms yet."""

from understudy.privacy.mechanisms.choices.candidate import Drawing
from understudy.privacy.mechanisms.choices.parameters import Comparing
from understudy.privacy.mechanisms.choices.tree_split import Dividing
from understudy.privacy.mechanisms.counts.hierarchy_layer import Layering
from understudy.privacy.mechanisms.counts.old_counting import Counting
from understudy.privacy.mechanisms.counts.range_counts import Ranging
from understudy.privacy.mechanisms.records.imputing import Imputing
from understudy.privacy.mechanisms.records.row_sweeping import RowSweeping
from understudy.privacy.mechanisms.sums.regressing import Regressing
from understudy.privacy.mechanisms.sums.summing import Summing
from understudy.privacy.not_dp.exact_statistics import Revealing
from understudy.privacy.not_dp.pseudo_posterior_draw import Weighing


class Gate(
    Comparing,
    Counting,
    Summing,
    Drawing,
    Dividing,
    Layering,
    Imputing,
    Ranging,
    Regressing,
    Revealing,
    RowSweeping,
    Weighing,
):
    """Old verbs, and the new one."""
