"""The table of published methods: one file each, one row each."""

from __future__ import annotations

from understudy.families.method import Method
from understudy.methods.aim import Aim
from understudy.methods.censored_posterior import CensoredPosterior
from understudy.methods.contingency_table import ContingencyTable
from understudy.methods.dirichlet import Dirichlet
from understudy.methods.dp_prior import DPPrior
from understudy.methods.empirical_cdf import EmpiricalCdf
from understudy.methods.independent import Independent
from understudy.methods.laplace import Laplace
from understudy.methods.marginal_bootstrap import MarginalBootstrap
from understudy.methods.marginals import Marginals
from understudy.methods.modips import Modips
from understudy.methods.mst import Mst
from understudy.methods.multiple_imputation import MultipleImputation
from understudy.methods.multiple_synthesis import MultipleSynthesis
from understudy.methods.pegs import Pegs
from understudy.methods.pegs_diverse import PegsDiverse
from understudy.methods.pegs_reset import PegsReset
from understudy.methods.pegs_tables import PegsTables
from understudy.methods.perturbed_histogram import PerturbedHistogram
from understudy.methods.perturbed_imputation import PerturbedImputation
from understudy.methods.pmse import Pmse
from understudy.methods.privbayes import PrivBayes
from understudy.methods.pseudo_posterior import PseudoPosteriorMechanism
from understudy.methods.smoothed_histogram import SmoothedHistogram
from understudy.methods.steps import Steps
from understudy.methods.universal_histogram import UniversalHistogram

METHODS: dict[str, type[Method]] = {
    kind.facts.name: kind
    for kind in (
        Marginals,
        Aim,
        Mst,
        Independent,
        Laplace,
        Dirichlet,
        DPPrior,
        EmpiricalCdf,
        PerturbedHistogram,
        SmoothedHistogram,
        Steps,
        UniversalHistogram,
        PrivBayes,
        PegsTables,
        Pegs,
        PegsReset,
        PerturbedImputation,
        Pmse,
        CensoredPosterior,
        Modips,
        MultipleSynthesis,
        MultipleImputation,
        PseudoPosteriorMechanism,
        ContingencyTable,
        MarginalBootstrap,
        PegsDiverse,
    )
}
