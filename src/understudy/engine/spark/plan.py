"""Whether a classic Spark data frame has the same rows in each pass, as far as its plan tells.

An error is an output, too: Spark fails at a value that it cannot convert, at an overflow, and in
its own readers of texts. So a plan is unconditional only if its columns are those of its tables,
and its conditions compare them with values of their type.

Every pass computes the data frame anew. Sums of one pass beside those of another, of other rows,
would be sums of no table at all. So a plan that draws, numbers, or cuts off rows is refused, and
where a plan cannot tell what it will give, the guarantee is conditional. Nothing of this depends on
the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from understudy.engine.confidential import Premises
from understudy.errors import DataError

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
    """What is taken for granted of the rows of a data frame.

    Args:
        frame: classic.

    Raises:
        DataError: its plan draws, numbers or cuts off rows.
    """
    if frame.isStreaming:
        raise DataError(f"The Spark data frame is a stream: {REMEDY}")
    related, unknown = set[str](), _skipped(frame)
    for node in _nodes(frame._jdf.queryExecution().analyzed()):
        kind = _kind(node)
        if kind in CUT:
            raise refused(f"the operator {kind}")
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
    return stated(related, unknown)


def _unsure_of(node: Any, kind: str) -> set[str]:
    """Expressions of an operator that may fail at a value.

    Raises:
        DataError: one draws, or asks for the time.
    """
    unknown = set[str]()
    for expression in _every(node.expressions()):
        if not expression.deterministic():
            raise refused(f"an expression in {kind} that is not deterministic")
        for part in _tree(expression):
            name = _kind(part)
            if name in CLOCKS:
                raise refused(f"the time of day ({name})")
            if name.endswith(("UDF", "UDAF", "UDTF")) or name.startswith("Invoke"):
                unknown.add("functions of its own")
            elif name == "Cast":
                unknown |= set() if _is_sure(part) else {"a conversion of types"}
            elif name not in SURE and not _subplans(node) and kind in ROW_WISE:
                unknown.add(f"the expression {name}")
    return unknown


def _is_sure(cast: Any) -> bool:
    """Whether a conversion fails at no value: into the same type, or of a constant number."""
    child = cast.child()
    kinds = [str(one.dataType().simpleString()) for one in (cast, child)]
    return kinds[0] == kinds[1] or (_kind(child) == "Literal" and kinds[1] != "string")


def premises_of_files(frame: Any) -> Premises:
    """The same of files that this package asked for itself.

    Args:
        frame: of the session that reads them.
    """
    return stated(set(), _skipped(frame))


def _skipped(frame: Any) -> set[str]:
    on = any(frame.sparkSession.conf.get(name, "false").lower() == "true" for name in SKIPPING)
    return {"files that are skipped if they cannot be read"} if on else set()


def stated(related: set[str], unknown: set[str]) -> Premises:
    """What is said of operators.

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


def refused(what: str) -> DataError:
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
