"""The table of published methods: one row each, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from understudy.methods.base import Method


class Methods(Mapping[str, type[Method]]):
    """Methods by name.

    Args:
        places: name → module of this package, and the name of the class in it.
    """

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> type[Method]:
        module, kind = self._places[name]
        found: type[Method] = getattr(import_module(module), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


METHODS: Final = Methods(
    {
        "marginals": ("understudy.methods.marginals", "Marginals"),
        "aim": ("understudy.methods.aim", "Aim"),
        "mst": ("understudy.methods.mst", "Mst"),
        "independent": ("understudy.methods.independent", "Independent"),
        "laplace": ("understudy.methods.histogram", "Laplace"),
        "dirichlet": ("understudy.papers.histograms", "Dirichlet"),
        "dp-prior": ("understudy.papers.histograms", "DPPrior"),
        "empirical-cdf": ("understudy.papers.histograms", "EmpiricalCdf"),
        "perturbed-histogram": ("understudy.papers.histograms", "PerturbedHistogram"),
        "smoothed-histogram": ("understudy.papers.histograms", "SmoothedHistogram"),
        "steps": ("understudy.papers.hierarchical", "Steps"),
        "universal-histogram": ("understudy.papers.hierarchical", "UniversalHistogram"),
        "privbayes": ("understudy.methods.privbayes", "PrivBayes"),
        "pegs-tables": ("understudy.papers.pegs", "PegsTables"),
        "pegs": ("understudy.papers.pegs", "Pegs"),
        "pegs-reset": ("understudy.papers.pegs", "PegsReset"),
        "perturbed-imputation": ("understudy.papers.imputation", "PerturbedImputation"),
        "pmse": ("understudy.papers.pmse", "Pmse"),
        "censored-posterior": ("understudy.papers.censored_posterior", "CensoredPosterior"),
        "modips": ("understudy.papers.modips", "Modips"),
        "multiple-synthesis": ("understudy.papers.modips", "MultipleSynthesis"),
        "multiple-imputation": ("understudy.papers.imputation", "MultipleImputation"),
        "pseudo-posterior": ("understudy.papers.pseudo_posterior", "PseudoPosteriorMechanism"),
        "contingency-table": ("understudy.papers.histograms", "ContingencyTable"),
        "marginal-bootstrap": ("understudy.papers.modips", "MarginalBootstrap"),
        "pegs-diverse": ("understudy.papers.pegs", "PegsDiverse"),
    }
)
