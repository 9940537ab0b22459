"""Noise in every cell of a contingency table that can be written out (Laplace sanitizer).

Sensitivity and proof: `calibration.py`. The noise vector is independent of the rows, covers all
allowed cells including empty ones, and structural zeros are public; so the noisy table satisfies
the guarantee of its noise law, and everything computed from it is post-processing.
"""

from __future__ import annotations

import numpy as np

from understudy.engine import ExactTable
from understudy.privacy.noise.perturbation import Law, perturb
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import NoisyTable
from understudy.schema import Domain

MAX_CELLS = 2**26


def noisy_table(
    exact: ExactTable,
    columns: tuple[str, ...],
    domain: Domain,
    law: Law,
    randomness: Randomness,
) -> NoisyTable:
    """Add independent noise to each allowed cell and to the out-of-domain count.

    Args:
        exact: the exact table over `columns`.
        columns: names, one per axis.
        domain: the domain of these columns.
        law: calibrated noise.
        randomness: source of the noise.
    """
    allowed = domain.allowed_mask()
    noisy = perturb(np.append(exact.inside[allowed], exact.outside), law, randomness)
    counts = np.zeros(domain.sizes, dtype=noisy.dtype)
    # A record in a structurally impossible cell was coded out of domain, so these cells hold 0.
    counts[allowed] = noisy[:-1]
    return NoisyTable(columns, counts, outside=float(noisy[-1]))
