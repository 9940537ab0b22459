"""SECRET: the rows, and exact statistics of them."""

from understudy.data.base import Confidential, Engine, ExactCells, ExactTable
from understudy.data.sums import ExactSums
from understudy.data.table import Table

__all__ = ["Confidential", "Engine", "ExactCells", "ExactSums", "ExactTable", "Table"]
