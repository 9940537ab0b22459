"""The mechanisms of this package: the closed list that every gate has.

A new mechanism is listed here; its proof stands beside it. The list holds names, so that a gate
loads no mechanism that nobody asks for. A class is listed if it is the very one that stood in a
module of the list, under its name there, when a gate first looked. What a class says of itself is
never asked.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Final

from understudy.dp.mechanism import Mechanisms

Place = tuple[str, str]
"""A module of this package, and the name of a class in it."""

WITH_EPSILON: Final[tuple[Place, ...]] = (
    ("understudy.mechanisms.private_selection", "PrivateSelection"),
    ("understudy.mechanisms.private_selection", "TableDistance"),
    ("understudy.mechanisms.regression", "Regression"),
    ("understudy.mechanisms.second_moments", "RankProducts"),
    ("understudy.mechanisms.second_moments", "SecondMoments"),
    ("understudy.mechanisms.second_moments", "TermMoments"),
    ("understudy.mechanisms.second_moments", "WeightedMoments"),
    ("understudy.mechanisms.selection", "Candidate"),
    ("understudy.mechanisms.selection", "CandidateColumns"),
    ("understudy.mechanisms.selection", "RandomOrder"),
    ("understudy.mechanisms.sparse_tables", "LazyTable"),
    ("understudy.mechanisms.sparse_tables", "ThresholdTable"),
    ("understudy.mechanisms.sums", "Moments"),
    ("understudy.mechanisms.tables", "BinomialCount"),
    ("understudy.mechanisms.tables", "HeapCounts"),
    ("understudy.mechanisms.tables", "NoisyTables"),
    ("understudy.mechanisms.tables", "NumberLines"),
    ("understudy.mechanisms.tables", "RowCount"),
    ("understudy.mechanisms.urn", "Urn"),
    ("understudy.mechanisms.votes", "Votes"),
    ("understudy.mechanisms.weighted_tables", "WeightedTable"),
    ("understudy.papers.empirical_distribution", "CumulativeDistributions"),
    ("understudy.papers.generator_scores", "ListedParameters"),
    ("understudy.papers.generator_scores", "WalkedParameters"),
    ("understudy.papers.hierarchy_mechanisms", "ColumnSplits"),
    ("understudy.papers.hierarchy_mechanisms", "GroupSplit"),
    ("understudy.papers.hierarchy_mechanisms", "HierarchyLayers"),
    ("understudy.papers.hierarchy_mechanisms", "LazyLeaves"),
    ("understudy.papers.hierarchy_mechanisms", "LeafRecords"),
    ("understudy.papers.hierarchy_mechanisms", "RangeCounts"),
    ("understudy.papers.imputation_draws", "ImputedRecords"),
    ("understudy.papers.perturbed_gibbs", "LazyRows"),
    ("understudy.papers.perturbed_gibbs", "PerturbedGibbs"),
    ("understudy.papers.perturbed_gibbs", "ResetBlocks"),
)
"""All that have a finite cost."""

WITHOUT_EPSILON: Final[tuple[Place, ...]] = (
    ("understudy.papers.exact", "ExactDeviations"),
    ("understudy.papers.exact", "ExactFullTable"),
    ("understudy.papers.exact", "ExactMoments"),
    ("understudy.papers.exact", "ExactQuartileRanges"),
    ("understudy.papers.exact", "ExactTables"),
    ("understudy.papers.perturbed_gibbs", "DiverseRows"),
    ("understudy.papers.pseudo_posterior", "OpenColumns"),
    ("understudy.papers.pseudo_posterior", "PosteriorDraw"),
)
"""What leaves without a finite ε. A release whose ledger names one of these is stamped."""


def is_listed(kind: type) -> bool:
    """Return whether a class is the very one that stands in this package under a listed name.

    Modules that are not loaded have no class yet that could be asked for.

    Args:
        kind: a class; nothing of it is read or run.
    """
    listed = (*WITH_EPSILON, *WITHOUT_EPSILON)
    return any(_at(place) is kind for place in listed if place[0] in sys.modules)


def load_mechanisms(places: tuple[Place, ...] = WITH_EPSILON + WITHOUT_EPSILON) -> Mechanisms:
    """Load the classes of some places, all by default."""
    return tuple(_at(place) for place in places)


@cache
def _at(place: Place) -> type:
    """The class of a place, as it was when it was first looked for."""
    module, name = place
    found: type = getattr(import_module(module), name)
    return found
