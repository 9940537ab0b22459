"""The gate: the one door between rows and everything else.

A method holds a gate and nothing more. Each verb takes what it knows by name, and nothing else
(`understudy.privacy.admission`); it checks what is public, charges the ledger, and only then
computes; what it gives out is `Released`. A request that the budget cannot pay is refused before
anything is computed.
"""

from __future__ import annotations

from understudy.privacy.door import Measured
from understudy.privacy.mechanisms.choices.candidate import Drawing
from understudy.privacy.mechanisms.choices.parameters import Comparing
from understudy.privacy.mechanisms.choices.tree_split import Dividing
from understudy.privacy.mechanisms.counts.hierarchy_layer import Layering
from understudy.privacy.mechanisms.counts.noisy_table import Counting
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
    """Answers questions about the rows, for a price, with noise.

    Args:
        engine: the rows.
        budget: all that may be spent.
        randomness: source of the noise; one that is not secure makes the release not private.
        allow_nonprivate: permit `reveal`, which makes the release not private.
        confide: told what the steward alone may know.
    """


__all__ = ["Gate", "Measured"]
