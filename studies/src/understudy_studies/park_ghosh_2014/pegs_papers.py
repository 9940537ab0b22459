"""The paper that these studies follow, and what it fixes of its comparison."""

from __future__ import annotations

from typing import Final

SOURCE = (
    "Park & Ghosh (2014), “PeGS: Perturbed Gibbs Samplers that Generate Privacy-Compliant "
    "Synthetic Data”, Transactions on Data Privacy 7, 253-282, and the preprint of Park, Ghosh & "
    "Shankar (2013), “Perturbed Gibbs Samplers for Synthetic Data Release”, arXiv:1312.5370"
)

PEGS, RESET, PMI = "PeGS", "PeGS.rs", "PMI"
PAPERS: Final = (PEGS, RESET, PMI)
"""The three ways of the paper."""

EPSILONS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""ε for each record; seven as in the paper, whose own values are not in the text that we have."""

N_RECORDS = 1_000
"""Records of every synthetic table."""

BLOCK = 10
"""Records of a block of PeGS.rs."""

LEVELS: Final = (6, 18, 3, 4, 7, 16, 16, 13, 9, 25, 25, 3, 2)
"""Levels of the thirteen columns of the paper's table 2, in its order."""

UNCHANGED: Final = 4
"""Columns of its table 3 that one sweep leaves as they were."""
