"""The paper that these studies follow, and what it prints."""

from __future__ import annotations

from typing import Final

SOURCE = (
    "Savitsky, Williams & Hu (2020), “Bayesian Pseudo Posterior Mechanism under Differential "
    "Privacy”, arXiv:1909.11796"
)

UNWEIGHTED, VECTOR, SCALAR, COUNT = "unweighted", "vector", "scalar", "count"
MECHANISMS: Final = (UNWEIGHTED, VECTOR, SCALAR, COUNT)
"""The four synthesizers of the paper's figures 2 to 4, by the form of their weights."""
COUNT_FEW, COUNT_ALL = "count, few columns", "count, all columns"
READINGS: Final = (COUNT_FEW, COUNT_ALL)
"""Count weights under other readings of what an intruder knows."""
DATA = "data"
"""The confidential records, beside the mechanisms."""

PUBLISHED: Final = {
    UNWEIGHTED: "Unweighted",
    VECTOR: "DPweighted",
    SCALAR: "EMweighted",
    COUNT: "Countweighted",
}
"""What the paper calls them."""

SETTINGS: Final = ((0.7, 0.0), (0.6, 0.0), (0.6, -0.1), (0.5, 0.0), (0.5, -0.1))
"""Scale c and shift g of vector weights, in the order of the paper's table 2."""
TABLE_2: Final = (10.10, 8.16, 7.30, 6.09, 5.71)
"""Bounds Δ_α that the paper prints for them."""
MAIN: Final = SETTINGS[0]
"""The setting at which all four synthesizers are compared; the paper's is lost in the text that we
have."""

REPORTED: Final = "marginal"
"""What the paper's eq. 2 raises to a record's weight: the density of the mixture."""

SETS = 20
"""m, synthetic sets of each mechanism."""
COMPONENTS, MORE_COMPONENTS = 5, 10
"""K, components of the mixture; and twice as many, to see whether they matter."""
