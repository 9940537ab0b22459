"""The leaves of a tree of cells: where each lies, from the columns that divide it alone."""

import numpy as np

from understudy.models.tables import unravel
from understudy.papers.hierarchical_tree import MeasuredTree
from understudy.schema import Domain, Partition


def test_leaves_lie_where_all_of_their_states_say():
    """Nodes of a layer divided by different columns, a group, and a structural zero."""
    domain = Domain((2, 3, 2, 4), ({0: frozenset({1}), 3: frozenset({0, 2})},))
    tree = Partition(domain).divide([(1,)]).divide([(0,), (2,), (0, 2)])
    measured = MeasuredTree(
        tree=tree, lazy=False, noise="geometric", consistency="gls", allocation="leaves"
    )
    codes, nodes = measured._leaves
    assert codes.tolist() == np.flatnonzero(domain.allowed_mask()).tolist()
    assert nodes.tolist() == tree.locate(unravel(codes, domain.sizes)).tolist()
    assert len(np.unique(nodes)) == len(tree.layers[-1])
