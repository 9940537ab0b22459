"""The inner layers of a tree of cells, as far as the schema and the options tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.domain.cell_tree import Split
from understudy.schema import Partition, Schema


@dataclass(frozen=True)
class PlannedLayer:
    """An inner layer, as far as the schema and the options tell.

    Attributes:
        columns: names of the columns that divide it and the layers above; () if not known.
        nodes: how many it has; the largest possible number if the columns are not known.
    """

    columns: tuple[str, ...]
    nodes: int

    @property
    def known(self) -> bool:
        """Whether its columns are known beforehand."""
        return bool(self.columns)


def known_layers(schema: Schema, splits: tuple[Split, ...]) -> tuple[PlannedLayer, ...]:
    """The layers of a tree in which all nodes of a layer are divided alike.

    Args:
        schema: the public schema.
        splits: places of the columns that divide each layer.
    """
    tree = along(schema, splits)
    names = [schema.names[j] for group in splits for j in group]
    widths = np.cumsum([len(group) for group in splits]).tolist()
    return tuple(
        PlannedLayer(tuple(names[:width]), len(layer))
        for width, layer in zip(widths, tree.layers[1:], strict=True)
    )


def along(schema: Schema, splits: tuple[Split, ...]) -> Partition:
    """The tree in which all nodes of a layer are divided alike.

    Args:
        schema: the public schema.
        splits: places of the columns that divide each layer.
    """
    tree = Partition(schema.domain)
    for group in splits:
        tree = tree.divided([group] * len(tree.layers[-1]))
    return tree
