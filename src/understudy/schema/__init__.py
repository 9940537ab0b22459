"""What is public about a table, declared before anyone looks at its rows."""

from understudy.domain.cell_tree import Partition
from understudy.domain.domain import Domain
from understudy.domain.gibbs_keys import GibbsSweep
from understudy.schema.calendar_columns import Calendar, Date, Datetime, Duration, Time
from understudy.schema.columns import NUMERIC, Boolean, Categorical, Column, Ordinal, is_ordered
from understudy.schema.given_schema import private_copy
from understudy.schema.identifier_column import Identifier
from understudy.schema.number_columns import Continuous, Integer
from understudy.schema.relations import Relation
from understudy.schema.schema import Schema
from understudy.schema.structural_zeros import Range, Rule
from understudy.schema.unit import Unit

__all__ = [
    "NUMERIC",
    "Boolean",
    "Calendar",
    "Categorical",
    "Column",
    "Continuous",
    "Date",
    "Datetime",
    "Domain",
    "Duration",
    "GibbsSweep",
    "Identifier",
    "Integer",
    "Ordinal",
    "Partition",
    "Range",
    "Relation",
    "Rule",
    "Schema",
    "Time",
    "Unit",
    "is_ordered",
    "private_copy",
]
