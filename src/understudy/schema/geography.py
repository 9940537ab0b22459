"""Places: levels of a public tree whose tables a release measures, and totals that are public.

A level is a column with a level for each place. Each lies within the one before it by a `hierarchy`
of `[[relations]]`. A record stands in one place of each level, so that one table of a level changes
by one count as any table does, and the tables of several levels cost what they cost together.

Exact totals come from a public file, never from the rows: what they say of a record is outside of
any promise, and the guarantee names them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from understudy.errors import suggestion
from understudy.schema.base import text_of
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.constraints import Relation

WHOLE: Final = "all"
"""Name and code of the root, which holds all places."""


class ExactTotals(BaseModel):
    """Numbers of records in the places of one level, public and exact.

    Attributes:
        level: one of the spine, or "all" for the whole.
        totals: code of each place → its number; or { file = "counties.csv", place = "county",
            value = "persons" }, a public text file beside the schema's.
        source: who published them, and where; the rows are no source.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    level: str
    totals: dict[str, int]
    source: str = ""


class Geography(BaseModel):
    """The tree of places, and what a release measures of it.

    Attributes:
        spine: columns of the levels, from the coarsest.
        by: columns of the cells that are counted in each place; its total alone if there are none.
        shares: how what buys these tables is divided among the levels, in proportion; evenly if
            there are none.
        invariants: exact totals.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    spine: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    invariants: tuple[ExactTotals, ...] = ()

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Columns of the table of each level."""
        return tuple((level, *self.by) for level in self.spine)

    def part(self, names: Collection[str]) -> Geography:
        """The same for some columns of a table: nothing, where one that it names is not there."""
        return self if {*self.spine, *self.by} <= {*names} else Geography()

    def faults(self, columns: Mapping[str, Column], relations: Sequence[Relation]) -> Iterator[str]:
        """List what does not fit a schema, a sentence each.

        Args:
            columns: name → column, of those that are measured.
            relations: of the schema.
        """
        if not self.spine:
            if self != Geography():
                yield "spine is needed, the columns of the levels from the coarsest"
            return
        names = (*self.spine, *self.by)
        if faults := [*self._faults_of_names(names, columns)]:
            yield from faults
            return
        if self.shares and (len(self.shares) != len(self.spine) or min(self.shares) <= 0):
            yield "shares needs a number above 0 for each level of spine"
        for coarse, fine in zip(self.spine, self.spine[1:], strict=False):
            if _hierarchy(fine, coarse, relations) is None:
                yield (
                    f"no hierarchy says in which place of {coarse!r} each of {fine!r} lies; add it "
                    "to [[relations]]"
                )
                return
        yield from self._faults_of_totals(columns, relations)

    def parents(
        self, columns: Mapping[str, Column], relations: Sequence[Relation]
    ) -> tuple[NDArray[np.int64], ...]:
        """In which place of the level above each place lies, the root's own entry first.

        Args:
            columns: that have no `faults`, and so have the relations.
            relations: of the schema.

        Returns:
            For each level an array of shape (places,).
        """
        found = [np.zeros(1, np.int64)]
        for k, name in enumerate(self.spine):
            inside = np.zeros(columns[name].size, np.int64)
            relation = _hierarchy(name, self.spine[k - 1], relations) if k else None
            if relation is not None:
                above = {code: j for j, code in enumerate(columns[self.spine[k - 1]].labels)}
                places = {code: j for j, code in enumerate(columns[name].labels)}
                for parent, values in relation.within.items():
                    for value in values:
                        inside[places[text_of(value)]] = above[parent]
            found.append(inside)
        return tuple(found)

    def totals(self, one: ExactTotals, columns: Mapping[str, Column]) -> NDArray[np.int64]:
        """Exact totals in the order of the places, shape (places of the level,).

        Args:
            one: of the invariants.
            columns: of the schema.
        """
        codes = (WHOLE,) if one.level == WHOLE else columns[one.level].labels
        return np.array([one.totals[code] for code in codes], dtype=np.int64)

    def _faults_of_names(
        self, names: Sequence[str], columns: Mapping[str, Column]
    ) -> Iterator[str]:
        for name in dict.fromkeys(names):
            if name not in columns:
                hint = suggestion(name, columns)
                yield f"{name!r} is no measured column{hint}; correct it"
            elif names.count(name) > 1:
                yield f"{name!r} is named twice; once is enough"
            elif name in self.spine and (
                isinstance(columns[name], NUMERIC) or columns[name].codes or name == WHOLE
            ):
                yield (
                    f"the places of {name!r} need to be levels, none of them absent; declare each "
                    f"as a level of a column that is not named {WHOLE!r}"
                )

    def _faults_of_totals(
        self, columns: Mapping[str, Column], relations: Sequence[Relation]
    ) -> Iterator[str]:
        levels = (WHOLE, *self.spine)
        for one in self.invariants:
            place = f"invariants of {one.level!r}: "
            if one.level not in levels:
                yield f"{place}there is no such level{suggestion(one.level, levels)}"
                return
            codes = (WHOLE,) if one.level == WHOLE else columns[one.level].labels
            if not one.source.strip():
                yield f"{place}needs source, who published these totals and where"
                return
            if {*one.totals} != {*codes} or min(one.totals.values()) < 0:
                yield f"{place}totals needs a number of 0 or more for each place, and no other"
                return
        if len({one.level for one in self.invariants}) < len(self.invariants):
            yield "invariants name a level twice; keep one of them"
            return
        parents, known = self.parents(columns, relations), dict[int, NDArray[np.int64]]()
        for one in self.invariants:
            depth, sums = levels.index(one.level), self.totals(one, columns)
            while depth:
                inside, depth = parents[depth], depth - 1
                width = len(parents[depth])
                sums = np.bincount(inside, weights=sums, minlength=width).astype(np.int64)
                known.setdefault(depth, sums)
        for one in self.invariants:
            sums = known.get(levels.index(one.level), self.totals(one, columns))
            if (sums != self.totals(one, columns)).any():
                yield (
                    f"invariants of {one.level!r} are not the sums of those of a finer level; "
                    "correct them by their source"
                )


def _hierarchy(fine: str, coarse: str, relations: Sequence[Relation]) -> Relation | None:
    return next((one for one in relations if one.hierarchy == (fine, coarse)), None)
