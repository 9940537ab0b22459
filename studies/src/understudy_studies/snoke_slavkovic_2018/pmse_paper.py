"""The paper that these studies follow, and what is lost of its design."""

from __future__ import annotations

SOURCE = (
    "Snoke & Slavković (2018), “pMSE mechanism: differentially private synthetic data with maximal "
    "distributional similarity”, Privacy in Statistical Databases, arXiv:1805.09392"
)
