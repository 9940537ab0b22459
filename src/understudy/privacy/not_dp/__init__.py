"""What leaves without a finite ε. A release whose ledger names one of these is stamped."""

from typing import Final

from understudy.privacy.mechanism import Mechanisms
from understudy.privacy.not_dp.exact_quartiles import ExactQuartileRanges
from understudy.privacy.not_dp.exact_statistics import (
    ExactDeviations,
    ExactFullTable,
    ExactMoments,
    ExactTables,
)
from understudy.privacy.not_dp.l_diverse_gibbs import DiverseRows
from understudy.privacy.not_dp.pseudo_posterior_draw import OpenColumns, PosteriorDraw

WITHOUT_EPSILON: Final[Mechanisms] = (
    DiverseRows,
    ExactDeviations,
    ExactFullTable,
    ExactMoments,
    ExactQuartileRanges,
    ExactTables,
    OpenColumns,
    PosteriorDraw,
)
"""All of them. The list is closed."""
