"""Verbs of the pseudo posterior mechanism: a draw of parameters, and columns as they stand.

Neither has a price that differential privacy could name. Each asks for permission, is charged
without limit before rows are read, and the promise is `asymptotic` (nothing at this number of rows)
or, without weights, none at all. How records were weighted, and the bounds that came of it, are for
the steward: they are made from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain.domain import completions
from understudy.errors import MethodError
from understudy.features.column_draws import Drawn
from understudy.privacy.admission import verb
from understudy.privacy.door import AS_THEY_STAND, POSTERIOR, PSEUDO_POSTERIOR, Door
from understudy.privacy.internal import Internal
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.not_dp.held_posterior import HeldPosterior
from understudy.privacy.not_dp.weighted_posterior import PseudoPosterior
from understudy.privacy.released import NO_NOISE, KeptColumns, PosteriorDraws, Released
from understudy.privacy.rows_with_numbers import NumberedRows
from understudy.privacy.samplers.column_model import Theta
from understudy.privacy.samplers.column_sequence import Labels
from understudy.privacy.samplers.numeric_column import NO_LABEL
from understudy.schema import NUMERIC

_UNLIMITED = "not bounded"


@dataclass(frozen=True, eq=False)
class ParameterDraw:
    """Parameters of a law, drawn from a posterior.

    Attributes:
        theta: one draw.
        labels: as published only: components of all records given their own values, in the order of
            `open_records`; None in strict mode.
    """

    theta: Theta
    labels: Labels | None = None


class Weighing(Door):
    """Parameters by the pseudo posterior mechanism."""

    @verb
    def draw_posterior(
        self, mechanism: PseudoPosterior, *, mode: Mode = "strict"
    ) -> Released[ParameterDraw]:
        """Another draw of one fit: the same mechanism is fitted once.

        Rows that are out of domain in a column of the law, or in a combination that cannot occur,
        are left out of the fit.

        Args:
            mechanism: law, weights and number of draws, all public.
            mode: "paper" also gives out the component of each record given its own values, and
                prints the bound; the promise says what that leaves in.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: an unknown column, or as many draws were given out as there are for sure.
        """
        self._require_permission("makes no promise of differential privacy at a number of rows")
        key, law = repr(mechanism), mechanism.law
        self._places((*law.given, *law.columns))
        self._require_another(key, mechanism)
        name = POSTERIOR if mechanism.weighting.form == "unweighted" else PSEUDO_POSTERIOR
        entry = self._ledger.charge(
            None, name, posterior_query(mechanism), sensitivity=_UNLIMITED, noise="", cells=0
        )
        if key not in self._secret_posteriors:
            self._secret_posteriors[key] = self._secret_fit(mechanism)
        held = self._secret_posteriors[key]
        theta, labels = next(held.turns), None
        if mode == "paper":
            labels = self._secret_labels(held, theta)
            self._printed.append(held.fitted.after.bound)
        keys = {one.column: one.parents for one in law.laws}
        public = PosteriorDraws(keys, law.given, mechanism.weighting.form)
        self._measured.append(Released(public, NO_NOISE, name, entry))
        return Released(ParameterDraw(theta, labels), NO_NOISE, name, entry)

    @verb
    def open_records(self, columns: tuple[str, ...]) -> Released[Mapping[str, Drawn]]:
        """Some columns of all records as they stand, in the order of the rows; charged once.

        Where a record's values do not fit the schema, or no value of the other columns could go
        with them, those of another record stand in, drawn at random among all that fit; where none
        fits, cells are drawn uniformly.

        Args:
            columns: at least one.

        Raises:
            NotPrivateError: not permitted with `allow_nonprivate=True`.
            MethodError: an unknown column, or a private number of rows, which this would tell.
        """
        self._require_permission("publishes columns as they stand")
        self._places(columns)
        if self.schema.rows != "public":
            raise MethodError(
                "Columns that are published as they stand tell the number of rows; declare "
                'rows = "public" and n_rows, or have all columns drawn.'
            )
        if columns not in self._open:
            entry = self._ledger.charge(
                None, AS_THEY_STAND, open_query(columns), sensitivity=_UNLIMITED, noise="", cells=0
            )
            self._under(
                f"The columns {', '.join(columns)} are published as they stand, for every record: "
                "they are taken as public, and nothing protects them."
            )
            self._measured.append(Released(KeptColumns(columns), NO_NOISE, AS_THEY_STAND, entry))
            found = self._secret_open_rows(columns)
            self._open[columns] = Released(found, NO_NOISE, AS_THEY_STAND, entry)
        return self._open[columns]

    def _require_another(self, key: str, mechanism: PseudoPosterior) -> None:
        """Refuse more draws than are kept whatever the rows."""
        given_out = sum(one == key for one in self._drawn_from)
        if given_out >= mechanism.releasable:
            raise MethodError(
                f"Each set needs a draw of its own, and of {mechanism.draws:,} no more than "
                f"{mechanism.releasable:,} are sure to be kept; take more draws, or fewer sets."
            )
        self._drawn_from.append(key)

    def _secret_numbers(self) -> NumberedRows:
        """All rows with their numbers; read once."""
        if self._secret_numbered is None:
            self._secret_numbered = NumberedRows.read(self._secret_engine)
        return self._secret_numbered

    def _secret_fit(self, mechanism: PseudoPosterior) -> HeldPosterior:
        names = (*mechanism.law.given, *mechanism.law.columns)
        rows = np.flatnonzero(self._secret_numbers().known(names))
        records = self._secret_numbers().of(names, rows)
        fitted = mechanism.fit(records, self._secret_randomness)
        self._secret_confide(Internal(fitted))
        return HeldPosterior.of(mechanism, fitted, rows)

    def _secret_labels(self, held: HeldPosterior, theta: Theta) -> Labels:
        """Components of all rows, `NO_LABEL` for those that were left out of the fit."""
        law, rows, all_rows = held.mechanism.law, held.rows, self._secret_numbers()
        records = all_rows.of((*law.given, *law.columns), rows)
        source, shape = self._secret_randomness, (len(law.laws), len(rows))
        own = law.labels(theta, records, source.uniforms(shape[0] * shape[1]).reshape(shape))
        found = {name: np.full(all_rows.size, NO_LABEL, dtype=np.int64) for name in own}
        for name, labels in own.items():
            found[name][rows] = labels
        return found

    def _secret_open_rows(self, columns: tuple[str, ...]) -> Mapping[str, Drawn]:
        rows, source = self._secret_numbers(), self._secret_randomness
        fitting = self._secret_fitting(columns)
        if not len(fitting):
            return self._uniform(columns, rows.size)
        at = np.arange(rows.size)
        others = np.ones(rows.size, dtype=np.bool_)
        others[fitting] = False
        at[others] = fitting[source.below(len(fitting), int(others.sum()))]
        return rows.of(columns, at)

    def _secret_fitting(self, columns: tuple[str, ...]) -> NDArray[np.int64]:
        """Numbers of the rows whose columns fit the schema, and can be completed."""
        rows, places = self._secret_numbers(), self._places(columns)
        known = np.flatnonzero(rows.known(columns))
        states = [rows.drawn[name].taken(known).states for name in columns]
        groups = completions(self.schema.domain, places, states)
        found = [known[group] for group, left in groups if left.n_allowed]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _uniform(self, columns: tuple[str, ...], n: int) -> Mapping[str, Drawn]:
        """Cells without any row that fits; their numbers are left open."""
        drawn = self.schema.domain.draw(n, self._secret_randomness.uniforms)
        nowhere = np.full(n, np.nan)
        return {
            name: Drawn(
                drawn[place], nowhere if isinstance(self.schema.columns[name], NUMERIC) else None
            )
            for name, place in zip(columns, self._places(columns), strict=True)
        }


def posterior_query(mechanism: PseudoPosterior) -> str:
    """What is asked of a posterior, in the words of the ledger."""
    law, form = mechanism.law, mechanism.weighting.form
    given = f" given {', '.join(law.given)}" * bool(law.given)
    how = "without weights" if form == "unweighted" else f"under {form} weights"
    return f"parameters of {', '.join(law.columns)}{given}: one of {mechanism.draws:,} draws {how}"


def open_query(columns: tuple[str, ...]) -> str:
    """What is published as it stands, in the words of the ledger."""
    return f"{', '.join(columns)} of every record"
