"""A check that a classic Spark data frame has the same rows in each pass, as far as its plan tells.

An error is an output, too: Spark fails at a value that it cannot convert, at an overflow, and in
its own readers of texts. So a plan is unconditional only if its columns are those of its tables,
and its conditions compare them with values of their type.

Every pass computes the data frame anew. Sums of one pass beside those of another, of other rows,
would be sums of no table at all. So a plan that draws, numbers, or cuts off rows is refused, and
where a plan cannot tell what it will give, the guarantee is conditional. Nothing of this depends on
the rows.

**The same for a data frame of Spark Connect, whose plan its client knows only as it was written.**

Views, functions and types are resolved by the server alone. So what is not known to work row by row
is refused, and a table that is named makes the guarantee conditional: it may be a view of anything.
So does every function: a comparison may convert a column, and fail at a value of it.

**Whether a Spark cluster keeps what it reads to itself, as far as its settings say so.**

Rows and exact sums pass between its machines, lie on their disks when memory is short, and Spark's
own pages and logs count the rows of every job. What is not closed is closed by the steward, who
says so (`trusted_cluster`), and the manifest repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from understudy.data.premises import NO_PREMISES, Premises
from understudy.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


ROW_WISE: Final = frozenset(
    {"Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition"}
    | {"RepartitionByExpression", "ResolvedHint", "LocalRelation", "OneRowRelation", "Range"}
    | {"WithCTE", "CTERelationDef", "CTERelationRef"}
)
"""Operators, and tables in memory, of which each row rests on one row of one table."""

FILES: Final = "HadoopFsRelation"
TYPED: Final = frozenset({"ParquetFileFormat", "OrcFileFormat"})
"""Files whose types stand in them. Readers of CSV and JSON fail at some lines, and lose parts."""

SURE: Final = frozenset(
    {"AttributeReference", "Alias", "Literal", "SortOrder", "And", "Or", "Not", "IsNull", "IsNaN"}
    | {"IsNotNull", "EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan"}
    | {"LessThanOrEqual", "In", "InSet", "If", "CaseWhen", "Coalesce", "Between", "With"}
    | {"CommonExpressionDef", "CommonExpressionRef"}
)
"""Expressions that fail at no value."""

RELATED: Final = frozenset(
    {"Union", "Join", "Generate", "Expand", "Intersect", "Except", "Distinct"}
)
"""Operators of which several rows may rest on one, or one on several; alike in each pass."""

CUT: Final = frozenset({"GlobalLimit", "LocalLimit", "Limit", "Offset", "Tail", "Sample"})
CLOCKS: Final = frozenset(
    {"CurrentTimestamp", "CurrentDate", "CurrentTime", "Now", "LocalTimestamp"}
    | {"CurrentBatchTimestamp"}
)

SKIPPING: Final = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")

REMEDY: Final = (
    "each pass over the rows could see others. Write the data frame to Parquet, and hand in what "
    "spark.read.parquet gives."
)


def premises_of_plan(frame: Any) -> Premises:
    """State what is taken for granted of the rows of a data frame.

    Args:
        frame: classic.

    Raises:
        DataError: its plan draws, numbers or cuts off rows.
    """
    if frame.isStreaming:
        raise DataError(f"The Spark data frame is a stream: {REMEDY}")
    related, unknown = set[str](), _find_skipped(frame)
    for node in _nodes(frame._jdf.queryExecution().analyzed()):
        kind = _kind(node)
        if kind in CUT:
            raise refusal_error(f"the operator {kind}")
        unknown |= _unsure_of(node, kind)
        if _subplans(node) or kind in RELATED:
            related.add(kind)
        elif kind == "LogicalRelation":
            source = _kind(node.relation())
            if source == FILES:
                source = _kind(node.relation().fileFormat())
            unknown |= {source} - TYPED
        elif kind not in ROW_WISE:
            unknown.add(kind)
    return state_premises(related, unknown)


def _unsure_of(node: Any, kind: str) -> set[str]:
    """Expressions of an operator that may fail at a value.

    Raises:
        DataError: one draws, or asks for the time.
    """
    unknown = set[str]()
    for expression in _every(node.expressions()):
        if not expression.deterministic():
            raise refusal_error(f"an expression in {kind} that is not deterministic")
        for part in _tree(expression):
            name = _kind(part)
            if name in CLOCKS:
                raise refusal_error(f"the time of day ({name})")
            if name.endswith(("UDF", "UDAF", "UDTF")) or name.startswith("Invoke"):
                unknown.add("functions of its own")
            elif name == "Cast":
                unknown |= set() if _is_sure(part) else {"a conversion of types"}
            elif name not in SURE and not _subplans(node) and kind in ROW_WISE:
                unknown.add(f"the expression {name}")
    return unknown


def _is_sure(cast: Any) -> bool:
    """Return whether a conversion fails at no value: to the same type, or of a constant number."""
    child = cast.child()
    kinds = [str(one.dataType().simpleString()) for one in (cast, child)]
    return kinds[0] == kinds[1] or (_kind(child) == "Literal" and kinds[1] != "string")


def premises_of_files(frame: Any) -> Premises:
    """The same of files that this package asked for itself.

    Args:
        frame: of the session that reads them.
    """
    return state_premises(set(), _find_skipped(frame))


def _find_skipped(frame: Any) -> set[str]:
    on = any(frame.sparkSession.conf.get(name, "false").lower() == "true" for name in SKIPPING)
    return {"files that are skipped if they cannot be read"} if on else set()


def state_premises(related: set[str], unknown: set[str]) -> Premises:
    """State what is taken for granted because of operators.

    Args:
        related: those of which several rows may rest on one.
        unknown: those that nobody can promise to give the same rows again.
    """
    return Premises.of_parts(
        related,
        unknown,
        condition="The guarantee is about rows of the Spark data frame as it was handed in. Its "
        "plan ({}) may make several of them from one row of a table behind it.",
        unproved="The Spark data frame had the same rows in each pass over it; its plan does not "
        "say so ({}).",
    )


def refusal_error(what: str) -> DataError:
    """The refusal of a plan."""
    return DataError(f"The plan of the Spark data frame holds {what}: {REMEDY}")


def _nodes(plan: Any) -> Iterator[Any]:
    """An analysed plan, and all that it is made of, subqueries included."""
    yield plan
    for child in (*_every(plan.children()), *_subplans(plan)):
        yield from _nodes(child)


def _tree(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _every(expression.children()):
        yield from _tree(child)


def _subplans(node: Any) -> list[Any]:
    return list(_every(node.subqueries()))


def _every(sequence: Any) -> Iterator[Any]:
    """Members of a sequence of Scala."""
    return (sequence.apply(k) for k in range(sequence.size()))


def _kind(thing: Any) -> str:
    """Name of a class of Scala; those of single objects end in a sign."""
    return str(thing.getClass().getSimpleName()).rstrip("$")


CONNECT_ROW_WISE: Final = frozenset(
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

CONNECT_SURE: Final = frozenset({"and", "or", "not", "!", "isnull", "isnotnull"})
"""Functions that convert nothing, and fail at no value."""

ALTERED: Final = frozenset({"fill_na", "replace", "to_schema"})
CONNECT_FILES: Final = frozenset({"parquet", "orc"})
"""Files whose types stand in them. Readers of CSV and JSON fail at some lines, and lose parts."""


def premises_of_relation(frame: Any) -> Premises:
    """State what is taken for granted of the rows of a data frame.

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
            if name not in CONNECT_ROW_WISE:
                raise refusal_error(f"{name}, which a client of Spark Connect cannot look into")
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
                if message.unresolved_function.function_name.lower() not in CONNECT_SURE:
                    unknown.add(f"the function {message.unresolved_function.function_name}")
                continue
            if name == "cast":
                unknown.add("a conversion of types")
            if name not in SIMPLE:
                words = (
                    f"the function {message.unresolved_function.function_name}" if called else name
                )
                raise refusal_error(f"{words}, which a client of Spark Connect cannot look into")
    return state_premises(related, unknown)


def _unsure(read: Any) -> set[str]:
    """List what is read that may not be the same each time."""
    if read.is_streaming:
        raise refusal_error("a stream")
    source = read.data_source
    files = read.HasField("data_source") and source.format.lower() in CONNECT_FILES
    return set() if files and not source.predicates else {"a table or source by its name"}


def _messages(message: Any) -> Iterator[Any]:
    """A message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for part in value if field.is_repeated else (value,):
                yield from _messages(part)


DISK: Final = "spark.io.encryption.enabled=true"
NETWORK: Final = "spark.authenticate=true with spark.network.crypto.enabled=true"
LOGS: Final = "spark.eventLog.enabled=false"
PAGES: Final = "spark.ui.enabled=false or spark.acls.enable=true"
_ONE_MACHINE: Final = re.compile(r"local(\[[^]]*\])?")

CONNECTED: Final = (
    "The rows were read over Spark Connect, on a cluster that the steward trusts: nobody checked "
    "that what it sends and writes is encrypted, and that its pages and logs are closed to others."
)


def premises_of_cluster(frame: DataFrame, *, connected: bool, trusted: bool) -> Premises:
    """State what is taken for granted of the cluster behind a data frame.

    Args:
        frame: of that cluster.
        connected: whether it is reached over Spark Connect.
        trusted: whether the steward vouches for what is not set.

    Raises:
        DataError: names the settings that are needed, and are not vouched for.
    """
    if connected:
        if not trusted:
            raise DataError(
                "A client of Spark Connect cannot check how its cluster is closed. If everybody on "
                "the way may see the rows, say so with trusted_cluster=True (--trusted-cluster)."
            )
        return Premises(conditions=(CONNECTED,))
    lacking = lacking_settings(dict(frame.sparkSession.sparkContext.getConf().getAll()))
    if not lacking:
        return NO_PREMISES
    if not trusted:
        raise DataError(
            "The Spark session is open to others: rows and exact counts could be seen on the "
            f"network, on disks, on its pages or in its logs. Set {'; '.join(lacking)}; or, if "
            "everybody there may see the rows, say so with trusted_cluster=True "
            "(--trusted-cluster)."
        )
    return Premises(
        conditions=(
            "The rows were read on a Spark cluster that the steward trusts. Not set there: "
            f"{'; '.join(lacking)}.",
        )
    )


def lacking_settings(set_to: dict[str, str]) -> list[str]:
    """List the settings that a cluster lacks to be closed.

    A session on one machine sends nothing over a network. It spills to disk all the same.

    Args:
        set_to: all settings.
    """

    def on(name: str, default: str = "false") -> bool:
        return set_to.get(name, default).strip().lower() == "true"

    sealed = on("spark.authenticate") and on("spark.network.crypto.enabled")
    alone = _ONE_MACHINE.fullmatch(set_to.get("spark.master", ""))
    closed = {
        DISK: on("spark.io.encryption.enabled"),
        NETWORK: bool(alone) or sealed or on("spark.ssl.rpc.enabled"),
        LOGS: not on("spark.eventLog.enabled"),
        PAGES: not on("spark.ui.enabled", "true") or on("spark.acls.enable"),
    }
    return [setting for setting, is_closed in closed.items() if not is_closed]
