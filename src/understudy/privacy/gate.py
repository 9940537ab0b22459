"""The gate: the one door between rows and everything else.

A method holds a gate and nothing more. Each verb takes what it knows by name, and nothing else
(`understudy.privacy.admission`); it checks what is public, charges the ledger, and only then
computes; what it gives out is `Released`. A request that the budget cannot pay is refused before
anything is computed.
"""

from __future__ import annotations

from understudy.privacy.comparing import Comparing
from understudy.privacy.counting import Counting
from understudy.privacy.dividing import Dividing
from understudy.privacy.door import Measured
from understudy.privacy.drawing import Drawing
from understudy.privacy.imputing import Imputing
from understudy.privacy.layering import Layering
from understudy.privacy.ranges import Ranging
from understudy.privacy.regressing import Regressing
from understudy.privacy.revealing import Revealing
from understudy.privacy.row_sweeping import RowSweeping
from understudy.privacy.summing import Summing
from understudy.privacy.weighing import Weighing


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
