"""The inner layers of a tree of cells, as far as the schema and the options tell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.methods.base import PlannedTable
from understudy.privacy.budget import Budget
from understudy.privacy.calibration import LawName, calibrate, mean_positive
from understudy.privacy.noise import words
from understudy.schema import Partition, Schema
from understudy.schema.partition import Split


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


def planned_layer(
    schema: Schema,
    columns: tuple[str, ...],
    nodes: int,
    *,
    query: str,
    form: str = "nodes",
    share: Fraction,
    budget: Budget,
    law: LawName,
) -> PlannedTable:
    """A planned layer of a tree.

    Args:
        schema: the public schema.
        columns: columns that divide it; () if they are not known.
        nodes: how many it has, or may have.
        query: what is asked, in the words of the ledger.
        form: "nodes" or "ranges".
        share: its cost.
        budget: the whole budget.
        law: noise.
    """
    noise = calibrate(law, spend=share, accounting=budget.accounting, neighbours=schema.neighbours)
    return PlannedTable(
        columns=columns,
        n_cells=nodes + 1,
        share=share / budget.amount,
        noise=words(noise),
        stddev=noise.stddev,
        noise_mass=nodes * mean_positive(noise),
        form=form,
        query=query,
        chosen=not columns,
    )


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
