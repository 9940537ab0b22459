"""A draw of parameters by the pseudo posterior mechanism. **No** promise at a number of rows.

It has no price that differential privacy could name: it needs permission, is charged without limit
before rows are read, and the promise is `asymptotic` (nothing at this number of rows) or, without
weights, none at all. How records were weighted, and the bounds that came of it, are for the
steward: they are made from the rows.

The draws that a fit keeps are in a random order, and asked for by their number in it: each set has
one of its own. How many are sure to be kept, whatever the rows, is public, and no other number is
answered. A fit is made once for all of its draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MethodError
from understudy.privacy.accounting.promise import Unpaid
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.noise.perturbation import Mode
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.not_dp.weighted_posterior import FittedPosterior, PseudoPosterior
from understudy.privacy.released import PosteriorDraws, Released
from understudy.privacy.samplers.column_model import Theta
from understudy.privacy.samplers.column_sequence import Labels
from understudy.privacy.samplers.numeric_column import NO_LABEL
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms


@dataclass(frozen=True, eq=False)
class ParameterDraw:
    """Parameters of a law, drawn from a posterior.

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

    Rows that are out of domain in a column of the law, or in a combination that cannot occur, are
    left out of the fit.

    Attributes:
        posterior: law, weights and number of draws, all public.
        number: which of the draws that are kept, from 0.
        mode: "paper" also gives out the component of each record given its own values, and prints
            the bound; the promise says what that leaves in.
    """

    name: ClassVar[str] = "pseudo posterior"

    posterior: PseudoPosterior
    number: HowMany = 0
    mode: Mode = "strict"

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[None], ...]:
        """One step of infinite cost.

        Raises:
            MethodError: an unknown column, or a number beyond the draws that are sure to be kept.
        """
        law, most = self.posterior.law, self.posterior.releasable
        terms.view.places((*law.given, *law.columns))
        if self.number >= most:
            raise MethodError(
                f"Each set needs a draw of its own, and of {self.posterior.draws:,} no more than "
                f"{most:,} are sure to be kept; take more draws, or fewer sets."
            )
        plain = self.posterior.weighting.form == "unweighted"
        one = Charge(
            spent=None,
            mechanism="posterior" if plain else self.name,
            query=_query(self.posterior),
            sensitivity="not bounded",
            noise="",
            cells=0,
            parameter=None,
            unpaid=Unpaid.POSTERIOR if plain else Unpaid.WEIGHTED_POSTERIOR,
        )
        return (one,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[None], ...], source: Randomness
    ) -> Outcome[Released[ParameterDraw]]:
        """Fit, if this was not done yet, and hand out the draw."""
        law, known = self.posterior.law, rows.memory(PosteriorDraw)
        key = repr(self.posterior)
        if key not in known:
            known[key] = self._secret_fit(rows, source)
        held: _Held = known[key]
        theta, labels = held.fitted.draw(self.number), None
        printed: tuple[float, ...] = ()
        if self.mode == "paper":
            labels = self._secret_labels(rows, held, theta, source)
            printed = (held.fitted.after.bound,)
        keys = {one.column: one.parents for one in law.laws}
        public = PosteriorDraws(keys, law.given, self.posterior.weighting.form)
        return answer(ParameterDraw(theta, labels), [public], printed=printed)

    def _secret_fit(self, rows: SecretRows, source: Randomness) -> _Held:
        law, numbered = self.posterior.law, rows.numbers()
        names = (*law.given, *law.columns)
        used = np.flatnonzero(numbered.known(names))
        fitted = self.posterior.fit(numbered.of(names, used), source)
        rows.tell(fitted)
        return _Held(fitted, used)

    def _secret_labels(
        self, rows: SecretRows, held: _Held, theta: Theta, source: Randomness
    ) -> Labels:
        """Components of all rows, `NO_LABEL` for those that were left out of the fit."""
        law, used, numbered = self.posterior.law, held.rows, rows.numbers()
        records, shape = numbered.of((*law.given, *law.columns), used), (len(law.laws), len(used))
        own = law.labels(theta, records, source.uniforms(shape[0] * shape[1]).reshape(shape))
        found = {name: np.full(numbered.size, NO_LABEL, dtype=np.int64) for name in own}
        for name, labels in own.items():
            found[name][used] = labels
        return found


def _query(posterior: PseudoPosterior) -> str:
    """What is asked of a posterior, in the words of the ledger."""
    law, form = posterior.law, posterior.weighting.form
    given = f" given {', '.join(law.given)}" * bool(law.given)
    how = "without weights" if form == "unweighted" else f"under {form} weights"
    return f"parameters of {', '.join(law.columns)}{given}: one of {posterior.draws:,} draws {how}"
