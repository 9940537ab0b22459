"""Which generator of records a method's options declare, parents and prior included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from understudy.families.networks.network_options import declared
from understudy.functions.normal_regression import NORMAL, NormalWidths
from understudy.functions.sequential_generator import (
    SequentialGenerator,
    normal_regressions,
    regressions,
)
from understudy.schema import Schema

Kind = Literal["regressions", "normal"]


def generator(
    schema: Schema,
    kind: Kind,
    *,
    network: Sequence[str],
    parents: int,
    widths: NormalWidths = NORMAL,
) -> SequentialGenerator:
    """A generator that draws column by column.

    Args:
        schema: the columns.
        kind: regressions of mixed types, or normal ones throughout.
        network: what each column is drawn given, like "age", "job<-age".
        parents: without a network, how many columns before it in the schema each is drawn given.
        widths: the prior of normal regressions.

    Raises:
        MethodError: a network that is none, or columns that normal regressions cannot draw.
    """
    names = schema.names
    edges = (
        declared(schema, network)
        if network
        else tuple((name, names[max(0, k - parents) : k]) for k, name in enumerate(names))
    )
    if kind == "normal":
        return normal_regressions(schema, edges, widths=widths)
    return regressions(schema, edges)
