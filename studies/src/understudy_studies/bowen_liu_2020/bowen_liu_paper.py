"""The paper that these studies follow, and what its noise is."""

from __future__ import annotations

SOURCE = (
    "Bowen & Liu (2020), “Comparative study of differentially private data synthesis methods”, "
    "Statistical Science 35, 280-307, arXiv:1602.01063"
)

PAPER_MODE = (
    "Noise is that of the paper: continuous Laplace noise in double precision, with sensitivities "
    "for the removal of a record although the number of records is public. A release in strict "
    "mode has exact discrete noise, and sensitivities that fit its neighbours; its guarantee is "
    "the stated one, and the noise of a count is twice as large."
)
