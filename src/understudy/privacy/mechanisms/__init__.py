"""TRUSTED one by one: a release rests on those its ledger names. Each file has its proof."""

from typing import Final

from understudy.privacy.mechanism import Mechanisms
from understudy.privacy.mechanisms.choices.candidate import Candidate, CandidateColumns, RandomOrder
from understudy.privacy.mechanisms.choices.empirical_distribution import CumulativeDistributions
from understudy.privacy.mechanisms.choices.parameters import ListedParameters, WalkedParameters
from understudy.privacy.mechanisms.choices.tree_split import ColumnSplits, GroupSplit
from understudy.privacy.mechanisms.counts.binomial_count import BinomialCount
from understudy.privacy.mechanisms.counts.heap_counts import HeapCounts
from understudy.privacy.mechanisms.counts.hierarchy_layer import HierarchyLayers, RangeCounts
from understudy.privacy.mechanisms.counts.lazy_leaves import LazyLeaves, LeafRecords
from understudy.privacy.mechanisms.counts.lazy_table import LazyTable
from understudy.privacy.mechanisms.counts.noisy_table import NoisyTables, RowCount
from understudy.privacy.mechanisms.counts.number_lines import NumberLines
from understudy.privacy.mechanisms.counts.threshold_table import ThresholdTable
from understudy.privacy.mechanisms.counts.votes import Votes
from understudy.privacy.mechanisms.records.imputation_draws import ImputedRecords
from understudy.privacy.mechanisms.records.lazy_gibbs import LazyRows
from understudy.privacy.mechanisms.records.perturbed_gibbs import PerturbedGibbs
from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import ResetBlocks
from understudy.privacy.mechanisms.records.urn import Urn
from understudy.privacy.mechanisms.sums.linear_regression import Regression
from understudy.privacy.mechanisms.sums.moments import Moments
from understudy.privacy.mechanisms.sums.rank_products import RankProducts
from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments

MECHANISMS: Final[Mechanisms] = (
    BinomialCount,
    Candidate,
    CandidateColumns,
    ColumnSplits,
    CumulativeDistributions,
    GroupSplit,
    HeapCounts,
    HierarchyLayers,
    ImputedRecords,
    LazyLeaves,
    LazyRows,
    LazyTable,
    LeafRecords,
    ListedParameters,
    Moments,
    NoisyTables,
    NumberLines,
    PerturbedGibbs,
    RandomOrder,
    RangeCounts,
    RankProducts,
    Regression,
    ResetBlocks,
    RowCount,
    ScoreMoments,
    ThresholdTable,
    Urn,
    Votes,
    WalkedParameters,
)
"""All that have a finite cost. The list is closed: a new one is written here, with its proof."""
