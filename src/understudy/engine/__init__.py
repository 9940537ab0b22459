"""SECRET: the rows, and exact statistics of them."""

from understudy.engine.bounded_sums import ExactSums
from understudy.engine.confidential import Confidential, Engine, ExactCells, ExactTable
from understudy.engine.table import Table

__all__ = ["Confidential", "Engine", "ExactCells", "ExactSums", "ExactTable", "Table"]
