"""RELEASED: what methods fit and share. Models hold released values only."""

from understudy.models.full_table import TableModel
from understudy.models.independent_columns import ProductModel
from understudy.models.model import Model, Sample, States

__all__ = ["Model", "ProductModel", "Sample", "States", "TableModel"]
