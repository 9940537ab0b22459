"""The same for a data frame of Spark Connect, whose plan its client knows only as it was written.

Views, functions and types are resolved by the server alone. So what is not known to work row by row
is refused, and a table that is named makes the guarantee conditional: it may be a view of anything.
So does every function: a comparison may convert a column, and fail at a value of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from understudy.engine.confidential import Premises
from understudy.engine.spark.plan import refused, stated

ROW_WISE: Final = frozenset(
    {"project", "filter", "subquery_alias", "to_df", "with_columns", "with_columns_renamed", "drop"}
    | {"hint", "to_schema", "repartition", "repartition_by_expression", "sort", "set_op", "range"}
    | {"fill_na", "drop_na", "replace", "local_relation", "cached_local_relation"}
    | {"chunked_cached_local_relation", "read"}
)
SIMPLE: Final = frozenset(
    {"literal", "unresolved_attribute", "unresolved_star", "unresolved_regex", "alias", "cast"}
    | {"unresolved_extract_value", "sort_order"}
)
FUNCTIONS: Final = frozenset(
    {"==", "<=>", "!=", "<", "<=", ">", ">=", "and", "or", "not", "!", "+", "-", "*", "/", "%"}
    | {"negative", "in", "isnull", "isnotnull", "isnan", "coalesce", "when", "nvl", "ifnull"}
    | {"abs", "round", "floor", "ceil", "sqrt", "exp", "ln", "log", "power", "least", "greatest"}
    | {"upper", "lower", "trim", "ltrim", "rtrim", "substr", "substring", "length", "concat"}
    | {"like", "rlike", "contains", "startswith", "endswith", "regexp_replace", "lpad", "rpad"}
    | {"year", "month", "day", "dayofmonth", "to_date", "date_trunc", "datediff"}
)
"""Functions of a row's own values that give the same whenever they are asked."""

SURE: Final = frozenset({"and", "or", "not", "!", "isnull", "isnotnull"})
"""Functions that convert nothing, and fail at no value."""

ALTERED: Final = frozenset({"fill_na", "replace", "to_schema"})
FILES: Final = frozenset({"parquet", "orc"})
"""Files whose types stand in them. Readers of CSV and JSON fail at some lines, and lose parts."""


def premises_of_relation(frame: Any) -> Premises:
    """What is taken for granted of the rows of a data frame.

    Args:
        frame: of Spark Connect.

    Raises:
        DataError: its plan has a part that is not known to work row by row, and alike each time.
    """
    related, unknown = set[str](), set[str]()
    for message in _messages(frame._plan.to_proto(frame.sparkSession.client).root):
        kind = message.DESCRIPTOR.name
        if kind == "Relation":
            name = message.WhichOneof("rel_type")
            if name not in ROW_WISE:
                raise refused(f"{name}, which a client of Spark Connect cannot look into")
            if name == "set_op":
                related.add(name)
            if name in ALTERED:  # these look for what type a column has
                unknown.add(name)
            if name == "read":
                unknown |= _unsure(message.read)
        elif kind == "Expression":
            name = message.WhichOneof("expr_type")
            called = name == "unresolved_function"
            if called and message.unresolved_function.function_name.lower() in FUNCTIONS:
                if message.unresolved_function.function_name.lower() not in SURE:
                    unknown.add(f"the function {message.unresolved_function.function_name}")
                continue
            if name == "cast":
                unknown.add("a conversion of types")
            if name not in SIMPLE:
                words = (
                    f"the function {message.unresolved_function.function_name}" if called else name
                )
                raise refused(f"{words}, which a client of Spark Connect cannot look into")
    return stated(related, unknown)


def _unsure(read: Any) -> set[str]:
    """What is read that may not be the same each time."""
    if read.is_streaming:
        raise refused("a stream")
    source = read.data_source
    files = read.HasField("data_source") and source.format.lower() in FILES
    return set() if files and not source.predicates else {"a table or source by its name"}


def _messages(message: Any) -> Iterator[Any]:
    """A message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for part in value if field.is_repeated else (value,):
                yield from _messages(part)
