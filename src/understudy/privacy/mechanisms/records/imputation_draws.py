r"""Perturbed imputation: records drawn column by column from perturbed regressions.

**Distribution.** To each column belongs a regression on the other columns that was fitted to the
rows. A record starts at a public, uniform allowed cell. A *step* gives one column a new state, the
other columns being as they are: among the states S that the structural zeros leave open,

    P(v) = (p̂(v) + α) / (1 + |S|·α),   v in S,

p̂ the regression's probabilities, restricted to S and made to sum to 1 there (uniform where it has
no mass in S). One sweep is a step for every column; ñ records of s sweeps over M columns are ñ·s·M
steps.

**Theorem.** With α ≥ 1/(e^ε₀ − 1) a step is ε₀-DP, whatever the regressions are, however they were
fitted, tuned, and given rows, and for **any** two tables, not only neighbours; ñ·s·M steps cost
ñ·s·M times as much. In zCDP a step costs ε₀²/2.

*Proof.* Both S and the place of the step follow from public facts and from the states drawn before.
For any two tables p̂ and p̂' are non-negative and sum to 1 over S, hence lie in [0, 1], and

    P(v) / P'(v) = (p̂(v) + α) / (p̂'(v) + α) ≤ (1 + α) / α ≤ e^ε₀,

as the denominators are equal. It is attained by p̂(v) = 1, p̂'(v) = 0, so α cannot be smaller, and
while v gains as much, another state can lose it: the log-ratio has a range of 2ε₀, so a step costs
what any ε₀-DP mechanism does (Bun & Steinke 2016, Proposition 1.4), and bounded range gains
nothing. States drawn before condition each step, so costs add up (adaptive composition); states
that a later sweep replaces are published by no one. ∎

The restriction to S needs no more noise either way: p̂ perturbed first and restricted afterwards,
(p̂(v) + α)/(p̂(S) + |S|α), lies between α/(1 + |S|α) and (1 + α)/(1 + |S|α) as well. Restricting
first keeps more of the fit.

That any two tables are as close as neighbours shows how much is wasted: a step must hide that a
*regression* changes altogether, though one record among n hardly moves it. A method that counts
pays for what one record can do.

**Exactness.** p̂ is rounded to multiples of 2⁻ᵏ that sum to exactly 1, in integers, and α is a
multiple of 2⁻ᵏ, rounded up: each step is one exactly uniform integer, and the proof holds for the
numbers that are drawn with. Where α is too large for 62 bits, the step is uniform on S, which costs
nothing.

**No fit can fail.** Rows out of domain are left out. No rows, rows of one state, a descent without
end, a number that is not finite: `understudy.privacy.mechanisms.records.elastic_net` has an answer
to each, and the proof covers it. What scikit-learn would warn of depends on the rows, so nobody
hears of it.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §§2.1, 3.5 (ε of one record, one sweep, no structural zeros). Restriction, total
cost, exact draws and the cost in zCDP: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.accounting.budget import Accounting
from understudy.privacy.admission import HowMany
from understudy.privacy.mechanism import Charge, Mechanism, Outcome, answer
from understudy.privacy.mechanisms.counts.lazy_table import below_each
from understudy.privacy.mechanisms.records.elastic_net import Floats, Integers
from understudy.privacy.mechanisms.records.imputers import (
    Imputation,
    Imputers,
    fit_imputers,
    require_imputable,
)
from understudy.privacy.mechanisms.records.urn import prior_weight, urn_epsilon
from understudy.privacy.noise.randomness import Randomness
from understudy.privacy.released import GibbsDraws, Noise, Records, Released
from understudy.privacy.secret_rows import SecretRows
from understudy.privacy.terms import Terms
from understudy.privacy.whole_rows import known_rows
from understudy.schema import Domain

_FINEST: Final = 32
_BITS: Final = 62
_CHUNK: Final = 2**21
"""Probabilities that are held at once."""


PROBABILITIES: Final = "any probabilities in place of any others"
"""What one record changes, in the words of the ledger."""


@dataclass(frozen=True, kw_only=True)
class ImputedRecords(Mechanism[Released[Records], Fraction]):
    """Synthetic records of all columns, each state drawn from a perturbed regression.

    Every step of every record has an equal share of the cost.

    Attributes:
        imputation: how regressions are fitted, and how often columns are drawn.
        n_rows: how many records; public or released.
    """

    name: ClassVar[str] = "perturbed imputation"
    needs_records: ClassVar[bool] = True

    imputation: Imputation
    n_rows: HowMany

    def price(self, terms: Terms, spend: Fraction) -> tuple[Charge[Fraction], ...]:
        """One step for all records; n stands for their number in its words.

        Raises:
            MethodError: columns with too many states.
            BudgetError: more than is left, or next to nothing for a step.
        """
        names = terms.schema.names
        require_imputable(terms.schema.domain.sizes)
        terms.require(spend)
        steps = self.imputation.sweeps * len(names)
        prior = step_prior(spend / max(1, self.n_rows * steps), terms.accounting)
        charge = Charge(
            spent=spend,
            mechanism=self.name,
            query="records imputed over " + " × ".join(names),
            sensitivity=PROBABILITIES,
            noise="draws by fitted probabilities, prior weight 1/(exp(e) - 1), e-DP at a cost of "
            f"{spend}/(n·{steps})",
            cells=steps,
            parameter=prior,
            recorded=Noise(self.name, str(prior), 0.0),
        )
        return (charge,)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[Fraction], ...], source: Randomness
    ) -> Outcome[Released[Records]]:
        """Fit and draw; the records leave, and what is public about them is published."""
        schema, prior = rows.view.schema, charges[0].parameter
        names = schema.names
        known = [column.astype(np.int64) for column in known_rows(rows.states(), schema, names)]
        imputers = fit_imputers(known, schema.domain.sizes, self.imputation, source)
        drawn = imputed_records(
            imputers,
            schema.domain,
            prior,
            self.n_rows,
            sweeps=self.imputation.sweeps,
            randomness=source,
        )
        keys = {name: tuple(other for other in names if other != name) for name in names}
        bins = rows.view.bins_of(names)
        return answer(drawn, [GibbsDraws(names, keys, self.name, prior, bins=bins)])


def step_prior(spend: Fraction, accounting: Accounting) -> Fraction:
    """α of a step, rounded up, in units of probability.

    Args:
        spend: cost of a step.
        accounting: unit of it.

    Raises:
        BudgetError: next to nothing.
    """
    return prior_weight(1, urn_epsilon(spend, accounting), reinforced=False)


def imputed_records(
    imputers: Imputers,
    domain: Domain,
    prior: Fraction | None,
    n_rows: int,
    *,
    sweeps: int,
    randomness: Randomness,
) -> Records:
    """Draw records; each step of all records at once.

    Args:
        imputers: fitted regressions.
        domain: sizes and structural zeros.
        prior: α, a dyadic number, in units of probability; None perturbs nothing: not private.
        n_rows: records to draw.
        sweeps: how often each column is drawn.
        randomness: source of every draw.
    """
    columns = domain.draw(n_rows, randomness.uniforms)
    for _ in range(sweeps):
        for j, size in enumerate(domain.sizes):
            chunk = max(1, _CHUNK // size)
            for first in range(0, n_rows, chunk):
                part = slice(first, first + chunk)
                given = [column[part] for column in columns]
                p = imputers.probabilities(j, given)
                open_states = domain.open_states(j, given)
                columns[j][part] = perturbed_states(p, open_states, prior, randomness)
    return Records(tuple(columns))


def perturbed_states(
    p: Floats,
    open_states: NDArray[np.bool_] | None,
    prior: Fraction | None,
    randomness: Randomness,
) -> Integers:
    """One step: draw states from perturbed probabilities, exactly.

    Args:
        p: fitted probabilities, shape (..., states); whatever they are.
        open_states: which states are allowed, at least one each, of the same shape; all if None.
        prior: α, dyadic; None for 0.
        randomness: source of the draws.

    Returns:
        Shape (...).
    """
    allowed = np.ones(p.shape, dtype=np.bool_) if open_states is None else open_states
    edges = np.cumsum(step_weights(p, allowed, prior), axis=-1)
    tokens = below_each(edges[..., -1].reshape(-1), randomness).reshape(p.shape[:-1])
    picked: Integers = (edges <= tokens[..., None]).sum(axis=-1)
    return picked


def step_weights(p: Floats, allowed: NDArray[np.bool_], prior: Fraction | None) -> Integers:
    """Integers in proportion to the probabilities of a step, shape (..., states).

    Of each step they sum to 2ᵏ + |S|·2ᵏα, 0 outside of S, and at least 2ᵏα in S.
    """
    whole, added = _units(prior, p.shape[-1])
    inside = np.where(allowed & (p > 0), np.minimum(p, 1.0), 0.0)  # NaN is not above 0
    mass = inside.sum(axis=-1, keepdims=True)
    shares = np.where(mass > 0, inside / np.where(mass > 0, mass, 1.0), allowed)
    shares = shares / shares.sum(axis=-1, keepdims=True)
    weights = np.floor(shares * whole).astype(np.int64)
    # What rounding left over, less than one for each state, goes to the likeliest state. It is not
    # negative: shares sum to 1 up to 8,000 rounding errors, in units of 2⁻³² far below 1.
    top = shares.argmax(axis=-1)[..., None]
    left = whole - weights.sum(axis=-1, keepdims=True)
    np.put_along_axis(weights, top, np.take_along_axis(weights, top, -1) + left, -1)
    perturbed: Integers = weights + added * allowed
    return perturbed


def _units(prior: Fraction | None, n_states: int) -> tuple[int, int]:
    """2ᵏ and 2ᵏα, such that 2ᵏ(1 + Cα) ≤ 2⁶²; 0 and 1, a uniform step, if there is no such k."""
    if prior is None:
        return 2**_FINEST, 0
    most = 1 + n_states * -(-prior.numerator // prior.denominator)
    k = min(_FINEST, _BITS - most.bit_length())
    if k < prior.denominator.bit_length() - 1:
        return 0, 1
    return 2**k, int(prior * 2**k)
