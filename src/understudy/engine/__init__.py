"""SECRET: the rows, and exact statistics of them."""

from understudy.engine.confidential import Confidential
from understudy.engine.counts import ExactCells, ExactTable
from understudy.engine.memory import Table
from understudy.engine.protocol import Engine
from understudy.engine.sums import ExactSums

__all__ = ["Confidential", "Engine", "ExactCells", "ExactSums", "ExactTable", "Table"]
