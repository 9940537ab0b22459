"""Columns of all records as they stand. **Not** protected by anything.

Such columns are taken as public: they leave in the order of the rows, for every record, and tell
the number of rows, which must therefore be public too. The step has an infinite cost and needs
permission.

Where a record's values do not fit the schema, or no value of the other columns could go with them,
those of another record stand in, drawn at random among all that fit; where none fits, cells are
drawn uniformly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain.domain import completions
from understudy.errors import MethodError
from understudy.features.number_line import Drawn
from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import KeptColumns, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC


@dataclass(frozen=True)
class OpenColumns(Mechanism[Released[Mapping[str, Drawn]], None]):
    """Some columns of all records as they stand; each question is charged.

    Attributes:
        columns: names, at least one.
    """

    name: ClassVar[str] = "as they stand"

    columns: tuple[str, ...]

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: no column, an unknown one, or a private number of rows, which this would
                tell.
        """
        terms.view.places(self.columns)
        if not self.columns:
            raise MethodError("Nothing is published as it stands where no column is named.")
        if terms.schema.rows != "public":
            raise MethodError(
                "Columns that are published as they stand tell the number of rows; declare "
                'rows = "public" and n_rows, or have all columns drawn.'
            )
        one = Charge(
            spent=None,
            mechanism=self.name,
            query=f"{', '.join(self.columns)} of every record",
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.AS_THEY_STAND,
        )
        return (one,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[Mapping[str, Drawn]]]:
        """Take them, with others in place of those that do not fit."""
        said = (
            f"The columns {', '.join(self.columns)} are published as they stand, for every "
            "record: they are taken as public, and nothing protects them."
        )
        found = self._secret_taken(rows, source)
        return answer(found, [KeptColumns(self.columns)], conditions=(said,))

    def _secret_taken(self, rows: SecretRows, source: Randomness) -> Mapping[str, Drawn]:
        numbered, fitting = rows.numbers(), self._secret_fitting(rows)
        if not len(fitting):
            return self._uniform(rows, source)
        at = np.arange(numbered.size)
        others = np.ones(numbered.size, dtype=np.bool_)
        others[fitting] = False
        at[others] = fitting[source.below(len(fitting), int(others.sum()))]
        return numbered.of(self.columns, at)

    def _secret_fitting(self, rows: SecretRows) -> NDArray[np.int64]:
        """Numbers of the rows whose columns fit the schema, and can be completed."""
        numbered, view = rows.numbers(), rows.view
        known = np.flatnonzero(numbered.known(self.columns))
        states = [numbered.drawn[name].taken(known).states for name in self.columns]
        groups = completions(view.schema.domain, view.places(self.columns), states)
        found = [known[group] for group, left in groups if left.n_allowed]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _uniform(self, rows: SecretRows, source: Randomness) -> Mapping[str, Drawn]:
        """Cells without any row that fits; their numbers are left open."""
        n, view = rows.numbers().size, rows.view
        drawn = view.schema.domain.draw(n, source.uniforms)
        nowhere = np.full(n, np.nan)
        return {
            name: Drawn(
                drawn[place],
                nowhere if isinstance(view.schema.columns[name], NUMERIC) else None,
            )
            for name, place in zip(self.columns, view.places(self.columns), strict=True)
        }
