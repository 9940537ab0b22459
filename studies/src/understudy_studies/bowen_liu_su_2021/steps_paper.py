"""The paper that these studies follow."""

from __future__ import annotations

SOURCE = (
    "Bowen, Liu & Su (2021), “Differentially private data release via statistical election to "
    "partition sequentially”, METRON 79, 1-31, arXiv:1803.06763"
)
