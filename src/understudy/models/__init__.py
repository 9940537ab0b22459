"""RELEASED: what methods fit and share. Models hold released values only."""

from understudy.models.model import Model, Sample, States
from understudy.models.product import ProductModel
from understudy.models.table import TableModel

__all__ = ["Model", "ProductModel", "Sample", "States", "TableModel"]
