"""What is public about a table, declared before anyone looks at its rows."""

from understudy.domain.cell_tree import Partition
from understudy.domain.domain import Domain
from understudy.domain.gibbs_keys import GibbsSweep
from understudy.schema.columns import (
    NUMERIC,
    Boolean,
    Categorical,
    Column,
    Continuous,
    Date,
    Integer,
    Ordinal,
)
from understudy.schema.given_schema import private_copy
from understudy.schema.relations import Relation
from understudy.schema.schema import Schema
from understudy.schema.structural_zeros import Range, Rule
from understudy.schema.unit import Unit

__all__ = [
    "NUMERIC",
    "Boolean",
    "Categorical",
    "Column",
    "Continuous",
    "Date",
    "Domain",
    "GibbsSweep",
    "Integer",
    "Ordinal",
    "Partition",
    "Range",
    "Relation",
    "Rule",
    "Schema",
    "Unit",
    "private_copy",
]
