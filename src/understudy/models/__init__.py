"""RELEASED: what methods fit and share. Models hold released values only."""

from understudy.models.model import InferenceFacts, Model, Sample, States
from understudy.models.tables import ProductModel, TableModel

__all__ = ["InferenceFacts", "Model", "ProductModel", "Sample", "States", "TableModel"]
