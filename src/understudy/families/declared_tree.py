"""A tree of cells as its user declares it: alike in all nodes of a layer, or branch by branch.

Everything here is public: names, values and the options; nothing is spent on such a tree.

**Branches.** Entries come one after the other. Each divides all ends of the tree, as it then is, in
which the columns that it names before the colon have the values that it gives:

    a; a=x: b; a=x & b=y: c+d

divides the root by a, the node x by b, and the node x, y by c and d together. Ends that no entry
divides stay as they are: branches need not be of the same length, as in figure 1 of Bowen, Liu & Su
(2021). (The paper says of no chosen branch when it ends.) A branch that ended is counted once more
in every layer below, at no cost: a layer costs what it costs whichever of its nodes a record is in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from understudy.domain.cell_tree import FREE, Split
from understudy.errors import MethodError, suggestion
from understudy.families.measured_tree import along
from understudy.schema import Partition, Schema

MOST_NODES = 2**20
"""Nodes of the largest inner layer."""

Node = tuple[int, ...]
"""State of each column, or `FREE`."""


@dataclass(frozen=True)
class DeclaredTree:
    """The inner layers.

    Attributes:
        tree: the layers above that of all cells.
        published_layers: layers that are declared; the last of them is that of all cells, and not
            in the tree, if the declaration leaves no column open.
    """

    tree: Partition
    published_layers: int


def in_order(schema: Schema, order: Sequence[str], layers: int | None) -> DeclaredTree:
    """The tree in which all nodes of a layer are divided alike.

    Args:
        schema: the columns.
        order: an entry for each layer, a column or several with + between.
        layers: how many of the entries; all if None.

    Raises:
        MethodError: an unknown column, one that stands there twice, or too many layers or nodes.
    """
    splits = ordered_splits(schema, order, layers)
    require_nodes(math.prod(schema.sizes[j] for group in splits for j in group))
    return DeclaredTree(along(schema, splits), len(order[:layers]))


def ordered_splits(schema: Schema, order: Sequence[str], layers: int | None) -> tuple[Split, ...]:
    """The columns that divide each inner layer; arguments and errors are those of `in_order`."""
    groups = [_group(schema, entry, "order") for entry in order]
    used = [j for group in groups for j in group]
    if len(set(used)) < len(used):
        raise MethodError("The option order names a column twice.")
    if layers is not None and layers > len(groups):
        raise MethodError(f"The option order has {len(groups)} layers, fewer than layers={layers}.")
    # A group that leaves no column open is the layer of the leaves.
    whole = layers is None or layers == len(order)
    closes = whole and len(used) == len(schema.names)
    return tuple(groups[:layers][: -1 if closes else None])


def in_branches(schema: Schema, entries: Sequence[str]) -> DeclaredTree:
    """The tree of some branches.

    Args:
        schema: the columns.
        entries: as above.

    Raises:
        MethodError: an unknown column or value, an entry that fits no end of the tree, one that
            divides by a column that divides it already, or too many nodes.
    """
    splits: dict[Node, Split] = {}
    ends: list[Node] = [(FREE,) * len(schema.names)]
    for entry in entries:
        where, split = _parsed(schema, entry)
        fitting = [end for end in ends if all(end[j] == state for j, state in where.items())]
        if not fitting:
            raise MethodError(
                f"The entry {entry!r} of the option branches fits no end of the tree; entries "
                "divide what those before them have left."
            )
        if any(end[j] != FREE for end in fitting for j in split):
            raise MethodError(f"The entry {entry!r} of the option branches divides by one twice.")
        width = math.prod(schema.sizes[j] for j in split)
        require_nodes(len(ends) + len(fitting) * (width - 1))
        splits |= dict.fromkeys(fitting, split)
        kept = [end for end in ends if end not in splits]
        ends = kept + [child for end in fitting for child in _children(schema, end, split)]
    tree = _layered(schema, splits)
    closed = all(size == 1 for size in tree.layers[-1].sizes)
    return DeclaredTree(tree.above if closed else tree, tree.depth)


def require_nodes(nodes: int) -> None:
    """Refuse inner layers that are too large.

    Raises:
        MethodError: more than `MOST_NODES` nodes.
    """
    if nodes > MOST_NODES:
        raise MethodError(
            f"The inner layers may have up to {nodes:,} nodes, more than {MOST_NODES:,}; take "
            "fewer layers, declare the order of columns with few states, or coarser bins."
        )


def _layered(schema: Schema, splits: dict[Node, Split]) -> Partition:
    """Layer by layer; a node that no split is declared for stays whole."""
    tree = Partition(schema.domain)
    while True:
        below = [splits.get(tuple(row), ()) for row in tree.layers[-1].states.tolist()]
        if not any(below):
            return tree
        tree = tree.divided(below)


def _children(schema: Schema, node: Node, split: Split) -> Iterator[Node]:
    for states in product(*(range(schema.sizes[j]) for j in split)):
        child = [*node]
        for j, state in zip(split, states, strict=True):
            child[j] = state
        yield tuple(child)


def _parsed(schema: Schema, entry: str) -> tuple[dict[int, int], Split]:
    """Which ends an entry divides, and by which columns."""
    conditions, colon, columns = ("", "", entry)
    if entry not in schema.names:
        conditions, colon, columns = entry.rpartition(":")
    where = {}
    for condition in conditions.split("&") if colon else ():
        name, _, label = (part.strip() for part in condition.partition("="))
        place = _place(schema, name)
        labels = schema.columns[schema.names[place]].labels
        if label not in labels:
            raise MethodError(
                f"The option branches gives {name!r} the value {label!r}, which it does not have"
                f'{suggestion(label, labels)}; write it like "age, age=young: job".'
            )
        where[place] = labels.index(label)
    split = _group(schema, columns.strip(), "branches")
    if len(set(split)) < len(split):
        raise MethodError(f"The entry {entry!r} of the option branches names a column twice.")
    return where, split


def _group(schema: Schema, entry: str, option: str) -> Split:
    """Places of the columns in one entry."""
    names = [entry] if entry in schema.names else [part.strip() for part in entry.split("+")]
    return tuple(_place(schema, name, option) for name in names)


def _place(schema: Schema, name: str, option: str = "branches") -> int:
    if name not in schema.names:
        raise MethodError(f"The option {option} names {name!r}, which is no column of the schema.")
    return schema.names.index(name)
