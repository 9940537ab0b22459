"""What is public about a table, declared before anyone looks at its rows."""

from understudy.schema.column import NUMERIC, Column
from understudy.schema.domain import Domain
from understudy.schema.levels import Boolean, Categorical, Ordinal
from understudy.schema.numeric import Continuous, Date, Integer
from understudy.schema.partition import Partition
from understudy.schema.rule import Range, Rule
from understudy.schema.schema import Schema, Unit
from understudy.schema.sweep import Sweep

__all__ = [
    "NUMERIC",
    "Boolean",
    "Categorical",
    "Column",
    "Continuous",
    "Date",
    "Domain",
    "Integer",
    "Ordinal",
    "Partition",
    "Range",
    "Rule",
    "Schema",
    "Sweep",
    "Unit",
]
