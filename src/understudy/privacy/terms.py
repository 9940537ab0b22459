"""What is public when a mechanism is asked: how the rows are coded, the accounting, what is left.

The schema in here is a copy of the one that a method holds, and nobody outside of this room ever
gets it. So whatever was planted on a method's schema, its columns or its domain is never asked
about exact values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from understudy.domain.cell_tree import Partition
from understudy.domain.domain import Domain
from understudy.errors import MethodError
from understudy.privacy.accounting.budget import Accounting, Budget, Neighbours
from understudy.privacy.accounting.ledger import require_payable
from understudy.privacy.noise.calibration import NoiseName, calibrate
from understudy.privacy.noise.distributions import DiscreteNoise
from understudy.privacy.released import Bins, Groups, Released
from understudy.schema import Schema


@dataclass(frozen=True, kw_only=True)
class View:
    """How the rows are coded.

    Attributes:
        schema: the public schema, in these bins and groups; nobody else has this copy.
        bins: bins of numeric columns, where they are not those that were declared.
        groups: how states are merged, where they are.
    """

    schema: Schema
    bins: Bins = field(default_factory=dict)
    groups: Groups = field(default_factory=dict)

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""
        return self.schema.neighbours

    def places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """Numbers of some columns.

        Raises:
            MethodError: an unknown column, or one that is named twice.
        """
        index = self._index
        unknown = [name for name in names if name not in index]
        if unknown:
            raise MethodError(f"There is no column {unknown[0]!r} in the schema.")
        if len(set(names)) < len(names):
            raise MethodError("A table names each of its columns once.")
        return tuple(index[name] for name in names)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.schema.names)}

    def domain(self, columns: tuple[str, ...]) -> Domain:
        """The cells of a table over some columns."""
        return self.schema.domain.project(self.places(columns))

    def sparse_domain(self, columns: tuple[str, ...]) -> Domain:
        """The cells of a table that is not written out.

        Raises:
            MethodError: no column, or more than 2⁶² cells.
        """
        if not columns:
            raise MethodError("A table that is not written out needs a column.")
        domain = self.domain(columns)
        if domain.n_cells > 2**62:
            raise MethodError(
                f"The full table has about 10^{math.log10(domain.n_cells):.0f} cells, more than "
                "2^62, which 64-bit codes cannot number; take the method independent, or coarser "
                "bins and fewer columns."
            )
        return domain

    def tree_domain(self, partition: Partition) -> Domain:
        """The domain of a tree, which must be that of the schema and small enough to number.

        Its layers are made here, before anything is paid: each record then has its node.

        Raises:
            MethodError: a tree of another schema, or splits of no tree.
        """
        if partition.domain != self.schema.domain:
            raise MethodError("The tree divides the cells of another schema.")
        try:
            _ = partition.layers
        except ValueError as error:
            raise MethodError(f"The splits are those of no tree: {error}.") from None
        return self.sparse_domain(self.schema.names)

    def bins_of(self, columns: tuple[str, ...]) -> Bins:
        """The bins of some columns, where they are not those that were declared."""
        return {name: bins for name, bins in self.bins.items() if name in columns}

    def groups_of(self, columns: tuple[str, ...]) -> Groups:
        """How states of some columns are merged, where they are."""
        return {name: groups for name, groups in self.groups.items() if name in columns}

    def rebinned(self, bins: Bins) -> View:
        """In other bins.

        Raises:
            SchemaError: bins that do not fit their column.
        """
        schema = self.schema.with_bins(bins)
        return View(schema=schema, bins={**self.bins, **bins}, groups=self.groups)

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> View:
        """With some columns coarser.

        Raises:
            SchemaError: groups that do not fit their column.
        """
        schema = self.schema.with_groups(groups)
        return View(schema=schema, bins=self.bins, groups={**self.groups, **groups})


@dataclass(frozen=True, kw_only=True)
class Terms:
    """All that the price of a mechanism may depend on.

    Attributes:
        view: how the rows are coded.
        budget: all that may be spent on the release.
        left: what is left of it.
        n_rows: number of rows, as declared or as bought; None if it is private and not bought yet.
    """

    view: View
    budget: Budget
    left: Fraction
    n_rows: Released[int] | None = None

    @property
    def schema(self) -> Schema:
        """The public schema; a copy that nobody else has."""
        return self.view.schema

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""
        return self.schema.neighbours

    @property
    def accounting(self) -> Accounting:
        """The unit of all costs."""
        return self.budget.accounting

    def require(self, spend: Fraction) -> None:
        """Refuse a cost that cannot be paid.

        Raises:
            MethodError: not positive.
            InsufficientBudgetError: more than is left.
        """
        require_payable(spend, self.left, self.budget)

    def calibrated(self, distribution: NoiseName, spend: Fraction) -> DiscreteNoise:
        """The noise for one contingency table.

        Raises:
            MethodError: noise that does not fit the accounting, or a cost that is not positive.
            BudgetError: more than is left, or next to nothing.
        """
        self.require(spend)
        return calibrate(
            distribution, spend=spend, accounting=self.accounting, neighbours=self.neighbours
        )


def terms_of(schema: Schema, budget: Budget) -> Terms:
    """The terms under which a release begins, for plans: nothing is spent, and no rows are near."""
    return Terms(view=View(schema=schema), budget=budget, left=budget.amount)
