"""Draws by the pseudo posterior mechanism, and columns it is given. **No** promise at any size.

**A draw of parameters** promises nothing at a number of rows. It has no price that differential
privacy could name: it needs permission, is charged without limit before rows are read, and the
promise is `asymptotic` (nothing at this number of rows) or, without weights, none at all. How
records were weighted, and the bounds that came of it, are for the steward: they are made from the
rows.

The draws that a fit keeps are in a random order, and asked for by their number in it: each set has
one of its own. How many are sure to be kept, whatever the rows, is public, and no other number is
answered. A fit is made once for all of its draws.

**Columns of all records as they stand** are not protected by anything. Such columns are taken as
public: they leave in the order of the rows, for every record, and tell the number of rows, which
must therefore be public too. The step has an infinite cost and needs permission.

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
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.weighted_posterior import FittedPosterior, PseudoPosterior
from understudy.privacy.released import KeptColumns, PosteriorDraws, Released
from understudy.privacy.samplers.column_model import Theta
from understudy.privacy.samplers.column_sequence import Labels
from understudy.privacy.samplers.numeric_column import NO_LABEL
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.schema import NUMERIC


@dataclass(frozen=True, eq=False)
class ParameterDraw:
    """Parameters of a column model, drawn from a posterior.

    Attributes:
        theta: one draw.
        labels: as published only: components of all records given their own values, in the order of
            `OpenColumns`; None in strict mode.
    """

    theta: Theta
    labels: Labels | None = None


@dataclass(frozen=True, eq=False, repr=False)
class _Held:
    """A fit, and numbers of the rows that it was made of, shape (n,). CONFIDENTIAL."""

    fitted: FittedPosterior
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PosteriorDraw(Mechanism[Released[ParameterDraw], None]):
    """One draw of a fit.

    Rows that are out of domain in a column of the model, or in a combination that cannot occur, are
    left out of the fit.

    Attributes:
        posterior: column model, weights and number of draws, all public.
        number: which of the draws that are kept, from 0.
        mode: "paper" also gives out the component of each record given its own values, and prints
            the bound; the promise names that unpaid leak.
    """

    name: ClassVar[str] = "pseudo posterior"
    needs_records: ClassVar[bool] = True

    posterior: PseudoPosterior
    number: HowMany = 0
    mode: Mode = "strict"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: an unknown column, or a number beyond the draws that are sure to be kept.
        """
        column_model, most = self.posterior.column_model, self.posterior.releasable
        terms.view.places((*column_model.given, *column_model.columns))
        if self.number >= most:
            raise MethodError(
                f"Each set needs a draw of its own, and of {self.posterior.draws:,} no more than "
                f"{most:,} are sure to be kept; take more draws, or fewer sets."
            )
        plain = self.posterior.weighting.form == "unweighted"
        charge = Charge(
            spent=None,
            mechanism="posterior" if plain else self.name,
            query=_query(self.posterior),
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.POSTERIOR if plain else Unpaid.WEIGHTED_POSTERIOR,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[ParameterDraw]]:
        """Fit, if this was not done yet, and hand out the draw."""
        column_model, known = self.posterior.column_model, rows.memory(PosteriorDraw)
        key = repr(self.posterior)
        if key not in known:
            known[key] = self._secret_fit(rows, source)
        held: _Held = known[key]
        theta, labels = held.fitted.draw(self.number), None
        printed: tuple[float, ...] = ()
        if self.mode == "paper":
            labels = self._secret_labels(rows, held, theta, source)
            printed = (held.fitted.after.bound,)
        keys = {model.column: model.parents for model in column_model.column_models}
        public = PosteriorDraws(keys, column_model.given, self.posterior.weighting.form)
        return answer(ParameterDraw(theta, labels), [public], printed=printed)

    def _secret_fit(self, rows: SecretRows, source: Randomness) -> _Held:
        column_model, numbered = self.posterior.column_model, rows.numbers()
        names = (*column_model.given, *column_model.columns)
        used = np.flatnonzero(numbered.known(names))
        fitted = self.posterior.fit(numbered.of(names, used), source)
        rows.tell(fitted)
        return _Held(fitted, used)

    def _secret_labels(
        self, rows: SecretRows, held: _Held, theta: Theta, source: Randomness
    ) -> Labels:
        """Components of all rows, `NO_LABEL` for those that were left out of the fit."""
        column_model, used, numbered = self.posterior.column_model, held.rows, rows.numbers()
        records, shape = (
            numbered.of((*column_model.given, *column_model.columns), used),
            (len(column_model.column_models), len(used)),
        )
        of_used = column_model.labels(
            theta, records, source.uniforms(shape[0] * shape[1]).reshape(shape)
        )
        of_all = {name: np.full(numbered.size, NO_LABEL, dtype=np.int64) for name in of_used}
        for name, labels in of_used.items():
            of_all[name][used] = labels
        return of_all


def _query(posterior: PseudoPosterior) -> str:
    """What is asked of a posterior, in the words of the ledger."""
    column_model, form = posterior.column_model, posterior.weighting.form
    given = f" given {', '.join(column_model.given)}" * bool(column_model.given)
    how = "without weights" if form == "unweighted" else f"under {form} weights"
    names = ", ".join(column_model.columns)
    return f"parameters of {names}{given}: one of {posterior.draws:,} draws {how}"


@dataclass(frozen=True)
class OpenColumns(Mechanism[Released[Mapping[str, Drawn]], None]):
    """Some columns of all records as they stand; each question is charged.

    Attributes:
        columns: names, at least one.
    """

    name: ClassVar[str] = "as they stand"
    needs_records: ClassVar[bool] = True

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
        charge = Charge(
            spent=None,
            mechanism=self.name,
            query=f"{', '.join(self.columns)} of every record",
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.AS_THEY_STAND,
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[Mapping[str, Drawn]]]:
        """Take them, with others in place of those that do not fit."""
        said = (
            f"The columns {', '.join(self.columns)} are published as they stand, for every "
            "record: they are taken as public, and nothing protects them."
        )
        taken = self._secret_taken(rows, source)
        return answer(taken, [KeptColumns(self.columns)], conditions=(said,))

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
        fitting = [known[group] for group, left in groups if left.n_allowed]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *fitting]))

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
