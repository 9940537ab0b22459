"""RELEASED: what methods fit and share. Models hold released values only."""

from understudy.models.model import Model, Sample, States
from understudy.models.tables import ProductModel, TableModel

__all__ = ["Model", "ProductModel", "Sample", "States", "TableModel"]
