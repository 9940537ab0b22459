"""Schemas: public facts about a table, declared before anyone looks at its rows."""

from understudy.schema.columns import (
    NUMERIC,
    Boolean,
    Categorical,
    Column,
    Identifier,
    Ordinal,
    is_ordered,
)
from understudy.schema.constraints import Range, Relation, Rule
from understudy.schema.domain import Domain
from understudy.schema.numeric import Continuous, Integer
from understudy.schema.partitions import GibbsSweep, Partition
from understudy.schema.schema import Schema, Unit, private_copy
from understudy.schema.temporal import Calendar, Date, Datetime, Duration, Time

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
