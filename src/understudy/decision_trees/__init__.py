"""Trees that tell synthetic points from original ones, as well as any tree of their class does.

Numerics on two sets of points, and nothing else: the room knows no schema, no budget and no noise.
Each class of trees gives min over its trees of Σ ab/(a + b), leaves with a synthetic and b original
points; that is 2N times the smallest Gini impurity, and pMSE by `pmse`. The theorem that bounds how
far one record moves it, and what breaks it, stand in `tree_class`.

| class | trees | cost for N points, p columns |
|---|---|---|
| `Stumps` | depth 1, real thresholds | a sort |
| `DepthTwo` | depth 2, real thresholds | O(p²N²) at worst, mostly far less |
| `GridDepthTwo` | depth 2 on a public grid | from counts, no rows; microseconds |
| `GridDepthThree` | depth 3 on a public grid | counts and depth 2 for each root that may win |
| `FixedGrid` | the cells of a public grid | O(p·N) |
| `Partitions` | the best of B public trees, any depth | O(B·depth·N) |
| `Greedy` | CART, for comparison: **the theorem does not hold** | O(p·N) per level |
"""

from understudy.decision_trees.cart import Greedy
from understudy.decision_trees.exact_trees import DepthTwo, Stumps
from understudy.decision_trees.grid_depth_three import GridDepthThree
from understudy.decision_trees.grid_depth_two import GridDepthTwo
from understudy.decision_trees.grid_splits import FixedGrid, Grid, coded
from understudy.decision_trees.leaf_impurity import pmse, sensitivity
from understudy.decision_trees.random_partitions import Partitions, random_partitions
from understudy.decision_trees.tree_class import (
    CountedTreeClass,
    Prepared,
    PreparedCounts,
    PreparedRows,
    TreeClass,
)

Trees = DepthTwo | FixedGrid | Greedy | GridDepthThree | GridDepthTwo | Partitions | Stumps
"""All classes of trees; the list is closed, since they see rows."""

__all__ = [
    "CountedTreeClass",
    "DepthTwo",
    "FixedGrid",
    "Greedy",
    "Grid",
    "GridDepthThree",
    "GridDepthTwo",
    "Partitions",
    "Prepared",
    "PreparedCounts",
    "PreparedRows",
    "Stumps",
    "TreeClass",
    "Trees",
    "coded",
    "pmse",
    "random_partitions",
    "sensitivity",
]
