"""Models given that some columns have certain states, as far as a model can be told so.

Evidence says for some columns which states there can be. A table keeps the cells in it, a product
the states in it, and a junction tree has its own way (`graphical.conditional_records`). Others
draw as before. So whoever takes records looks at each whether it fits, and finds that most do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical.conditional_records import ConditionalRecords
from understudy.models.graphical.merged_state_model import MarginalModel
from understudy.models.model import Model
from understudy.models.table_models import ProductModel, TableModel, unravel

Evidence = Mapping[int, NDArray[np.bool_]]
"""By place of a column, which of its states are given, shape (states,)."""

SELDOM: Final = 100
"""Of so many whole records drawn, one has to fit, or only fitting ones are drawn."""


def given(model: Model, evidence: Evidence) -> Model | None:
    """A model whose records that fit the evidence are those of another one that do.

    Args:
        model: the other one.
        evidence: what is given.

    Returns:
        A model most of whose records fit, or the model itself where it cannot be told, or where it
        has measured ranks, which records take in together, and one in `SELDOM` fits; None where no
        record of it fits. Rarer records follow the tables alone.
    """
    if not evidence:
        return model
    if isinstance(model, MarginalModel):
        found = ConditionalRecords(model, evidence)
        if model.ranks is not None and found.mass * SELDOM >= 1:
            return model
        return found if found.mass > 0 else None
    if isinstance(model, ProductModel):
        return _product(model, evidence)
    return _table(model, evidence) if isinstance(model, TableModel) else model


def _product(model: ProductModel, evidence: Evidence) -> ProductModel | None:
    """Its weights without those of other states; what has no weight counts as even, as there."""
    weights = [own if own.any() else np.ones_like(own) for own in model.factors]
    if not model.domain.has_weight(weights):
        weights = [np.ones_like(own) for own in weights]
    fitting = [own * evidence.get(j, True) for j, own in enumerate(weights)]
    if not model.domain.has_weight(fitting):
        return None
    return replace(model, weights=tuple(fitting), are_factors=True)


def _table(model: TableModel, evidence: Evidence) -> TableModel | None:
    """Its cells that fit; one without weight draws evenly, and cannot be told."""
    if not model.weights.sum() > 0:
        return model
    states = unravel(model.codes, model.domain.sizes)
    fit = np.logical_and.reduce([mask[states[j]] for j, mask in evidence.items()])
    weights = model.weights[fit]
    return TableModel(model.domain, model.codes[fit], weights) if weights.sum() > 0 else None
