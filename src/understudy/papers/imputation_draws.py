"""Perturbed imputation: records drawn column by column from perturbed regressions.

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
end, a number that is not finite: there is an answer
to each, and the proof covers it. What scikit-learn would warn of depends on the rows, so nobody
hears of it.

Source: Park & Ghosh (2014), "PeGS: Perturbed Gibbs samplers that generate privacy-compliant
synthetic data", §§2.1, 3.5 (ε of one record, one sweep, no structural zeros). Restriction, total
cost, exact draws and the cost in zCDP: ours.

**Regressions of each column on all others, fitted to rows: what an imputation draws from.**

No ε rests on any of this: the mechanism perturbs
whatever probabilities come out of it.

**Elastic-net multinomial logistic regression of a column on indicators of other columns.**

Fitted by scikit-learn's `LogisticRegression`: over intercepts b_c and coefficients W_{f,c} of
indicators f and states c it minimises

    Σᵢ wᵢ · −log softmax(b + xᵢW)_{yᵢ}  +  λ · (r · ‖W‖₁ + (1 − r)/2 · ‖W‖²),   Σᵢ wᵢ = 1,

where xᵢ holds one indicator for each column that the column is regressed on (its user guide,
"Logistic regression", with C = 1/(nλ) and l1_ratio = r; Friedman, Hastie & Tibshirani 2010,
equation 21). Of two states it regresses the second alone, and penalises that one's coefficients.
The solver is SAGA (Defazio, Bach & Lacoste-Julien 2014), whose step is that of rows of weight 1
at most: weights are scaled to a largest one of 1, as heavier rows would throw it off. It begins at
the shares of the states, because its intercepts move slowly where indicators are sparse.

What a fit finds is exact statistics: CONFIDENTIAL. No guarantee rests on it.
Whatever the rows are, a fit comes to an
end and says nothing, if its caller silences warnings: visits of rows are counted, absent states get
no coefficients, and where the solver gives up, the plain shares of the states take its place.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy._validation import require_extra
from understudy.dp.admission import HowMany
from understudy.dp.budget import Accounting
from understudy.dp.confidential import PublicContext, SecretRows, known_rows
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import GibbsDraws, Noise, Records, Released
from understudy.errors import MethodError
from understudy.mechanisms.sparse_tables import below_each
from understudy.mechanisms.urn import prior_weight, urn_epsilon
from understudy.schema import Domain

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


_FINE: Final = (1e-3, 100_000)
"""When a fit ends: relative change of the coefficients in a pass, or so many visits of rows."""
_COARSE: Final = (1e-2, 20_000)
"""Enough to compare penalties."""
_LARGEST: Final = 1e9
"""Of a coefficient; even without a penalty no visit of a row moves one by more than 2."""
_LEAST_SHARE: Final = 1e-6
"""Of a state, where the loss of held-out rows is measured: one that was never seen costs 14."""


def indicators_of(places: Integers, n_indicators: int) -> Any:
    """Sparse design of rows that are given by the places of the indicators that are 1.

    Args:
        places: shape (n, columns).
        n_indicators: how many indicators there are.

    Returns:
        A `csr_array` of shape (n, n_indicators).
    """
    n, columns = places.shape
    index = scipy.sparse.get_index_dtype(
        maxval=max(places.size, n_indicators)
    )  # SAGA takes 32 bits alone
    ones, starts = np.ones(places.size), np.arange(n + 1, dtype=index) * index(columns)
    return scipy.sparse.csr_array(
        (ones, places.reshape(-1).astype(index), starts), shape=(n, n_indicators)
    )


@dataclass(frozen=True)
class Regression:
    """Coefficients of a column's states. CONFIDENTIAL.

    Attributes:
        intercepts: shape (states,); −∞ for states that no row has.
        weights: shape (indicators, states).
    """

    intercepts: Floats
    weights: Floats

    def probabilities(self, indicators: Any) -> Floats:
        """Fitted probabilities of the states.

        Args:
            indicators: design of `indicators_of`, shape (n, indicators).

        Returns:
            Shape (n, states); rows sum to 1 up to rounding.
        """
        shares: Floats = scipy.special.softmax(indicators @ self.weights + self.intercepts, axis=1)
        return shares


@dataclass(frozen=True)
class Observations:
    """Rows of a regression. CONFIDENTIAL.

    Attributes:
        indicators: design of `indicators_of`, shape (n, indicators).
        states: shape (n,).
        weights: non-negative, shape (n,).
        n_states: how many states the column has.
    """

    indicators: Any
    states: Integers
    weights: Floats
    n_states: int

    def take(self, rows: NDArray[np.bool_]) -> Observations:
        """Some of the rows."""
        return Observations(
            self.indicators[rows], self.states[rows], self.weights[rows], self.n_states
        )

    def loss(self, regression: Regression) -> float:
        """Weighted sum of −log p of the states."""
        p = regression.probabilities(self.indicators)[np.arange(len(self.states)), self.states]
        return float(-(self.weights * np.log(np.maximum(p, _LEAST_SHARE))).sum())


def fit_path(
    sample: Observations,
    penalties: Floats,
    mixing: float,
    seed: int,
    ending: tuple[float, int] = _FINE,
) -> list[Regression]:
    """Regressions at falling penalties, each fit beginning where the last one ended.

    Args:
        sample: rows; none will do, and so will rows of a single state.
        penalties: λ ≥ 0, the largest first.
        mixing: r in [0, 1]: 0 is ridge, 1 is lasso.
        seed: of the order in which rows are visited, from 0 to 2³² − 1.
        ending: relative change of the largest coefficient in a pass over the rows at which a fit
            ends, and about how many visits of rows end it at the latest.
    """
    sample = sample.take(sample.weights > 0)
    shares = np.bincount(sample.states, sample.weights, sample.n_states).astype(np.float64)
    start = _plain(shares if shares.any() else shares + 1, sample.indicators.shape[1])
    if np.count_nonzero(shares) < 2 or not sample.indicators.nnz:
        return [start] * len(penalties)
    weights = sample.weights / sample.weights.max()
    model = _begin_solver(start, mixing, seed, ending, len(weights))
    path: list[Regression] = []
    for penalty in penalties:
        try:
            model.C = 1 / float(penalty * weights.sum()) if penalty else np.inf
            model.fit(sample.indicators, sample.states, weights)
        except (ValueError, ArithmeticError):  # numbers that are not finite, penalties near ∞
            return path + [start] * (len(penalties) - len(path))
        path.append(_collect_fit(model, start))
    return path


def best_penalty(
    sample: Observations, grid: Floats, mixing: float, folds: Integers, seed: int
) -> float:
    """The penalty of a grid that predicts held-out rows best, times the number of rows fitted.

    Args:
        sample: rows.
        grid: n·λ, n the rows fitted, the largest first.
        mixing: r in [0, 1].
        folds: part of each row, shape (n,); each part is held out once.
        seed: as in `fit_path`.
    """
    losses = np.zeros(len(grid))
    for fold in np.unique(folds):
        fitted, held = sample.take(folds != fold), sample.take(folds == fold)
        penalties = grid / max(1, len(fitted.states))
        path = fit_path(fitted, penalties, mixing, seed, _COARSE)
        losses += [held.loss(regression) for regression in path]
    return float(grid[np.argmin(losses)])


def _plain(shares: Floats, n_indicators: int) -> Regression:
    """The shares of the states, whatever the indicators are."""
    intercepts = np.full(len(shares), -np.inf)
    np.log(shares / shares.sum(), where=shares > 0, out=intercepts)
    return Regression(intercepts, np.zeros((n_indicators, len(shares))))


def _begin_solver(
    start: Regression, mixing: float, seed: int, ending: tuple[float, int], n: int
) -> LogisticRegression:
    """The solver, with coefficients to begin at; two states share one row of them."""
    from sklearn.linear_model import LogisticRegression

    tolerance, visits = ending
    model = LogisticRegression(
        solver="saga",
        l1_ratio=mixing,
        tol=tolerance,
        max_iter=1 + visits // n,
        random_state=seed,
        warm_start=True,
    )
    logs = start.intercepts[np.isfinite(start.intercepts)]
    model.intercept_ = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
    model.coef_ = np.zeros((len(model.intercept_), len(start.weights)))
    return model


def _collect_fit(model: LogisticRegression, start: Regression) -> Regression:
    """Collect the fit, with the absent states; the plain shares if a number is not finite."""
    b, w = model.intercept_, model.coef_
    if not max(np.abs(b).max(), np.abs(w).max()) < _LARGEST:  # NaN is not below it
        return start
    intercepts, weights = np.full_like(start.intercepts, -np.inf), np.zeros_like(start.weights)
    intercepts[model.classes_] = 0.0
    states = model.classes_[-len(b) :]  # of two states only the second one has coefficients
    intercepts[states], weights[:, states] = b, w.T
    return Regression(intercepts, weights)


MOST_STATES: Final = 8_000
"""States of all columns together: coefficients number about the square of it."""

_FOLDS: Final = 3
_PENALTIES: Final = np.array([30.0, 10.0, 3.0, 1.0])
"""Grid of n·λ: a penalty is a prior, which loses weight as rows are added."""
_USUAL: Final = 3.0
_TUNED_ROWS: Final = range(100, 2_001)
"""Rows that penalties are compared on; fewer cannot tell them apart, and have the usual one."""


@dataclass(frozen=True, kw_only=True)
class Imputation:
    """Specification: elastic-net regressions of each column on all others, and sweeps over them.

    Attributes:
        sweeps: how often each column of a record is drawn.
        penalty: λ of the elastic net; None: the best of a public grid, by cross-validation on
            2,000 rows, or the usual one where there are fewer than 100.
        mixing: share of the absolute penalty in it, from 0 (ridge) to 1 (lasso).
        most_rows: fitted to a random choice of so many rows, if there are more.
    """

    sweeps: int = 1
    penalty: float | None = None
    mixing: float = 0.5
    most_rows: int = 10_000


@dataclass(frozen=True)
class Imputers:
    """A regression for each column. CONFIDENTIAL.

    Attributes:
        regressions: one for each column; they share one numbering of all columns' states.
        offsets: number of the first state of each column in it.
    """

    regressions: tuple[Regression, ...]
    offsets: tuple[int, ...]

    def probabilities(self, column: int, states: Sequence[Integers]) -> Floats:
        """Fitted probabilities of a column's states, given the other columns.

        Args:
            column: its place.
            states: one array per column, each of shape (n,); that of the column is not looked at.

        Returns:
            Shape (n, size).
        """
        regression = self.regressions[column]
        indicators = _indicators(states, self.offsets, column, len(regression.weights))
        return regression.probabilities(indicators)


def require_imputable(sizes: Sequence[int]) -> None:
    """Refuse columns with too many states, or a missing library; a public check.

    Raises:
        MethodError: more than `MOST_STATES`, or scikit-learn is not installed.
    """
    require_extra("evaluate", "A method that imputes")
    if sum(sizes) > MOST_STATES:
        raise MethodError(
            f"The columns have {sum(sizes):,} states together, too many to regress each column on "
            f"all others (at most {MOST_STATES:,}); take coarser bins or fewer columns."
        )


def fit_imputers(
    states: Sequence[NDArray[np.integer]],
    sizes: Sequence[int],
    imputation: Imputation,
    randomness: Randomness,
    *,
    weights: Floats | None = None,
) -> Imputers:
    """Regress each column on all others; columns side by side, on all processors.

    Args:
        states: rows, one array per column, each of shape (n,), in domain; none will do.
        sizes: number of states of each column.
        imputation: how.
        randomness: chooses rows, if there are too many, the folds of the cross-validation, and the
            order in which the solver visits rows.
        weights: of the rows, non-negative, shape (n,); equal if None.
    """
    offsets = tuple(int(sum(sizes[:j])) for j in range(len(sizes)))
    order = randomness.permutation(len(states[0]))[: imputation.most_rows]
    seeds = randomness.below(2**31, len(sizes)).tolist()
    rows = [np.asarray(column[order], dtype=np.int64) for column in states]
    used = np.ones(len(order)) if weights is None else weights[order]

    def regression(j: int) -> Regression:
        indicators = _indicators(rows, offsets, j, sum(sizes))
        sample = Observations(indicators, rows[j], used, sizes[j])
        return _regression(sample, imputation, seeds[j])

    longest_first = sorted(range(len(sizes)), key=lambda j: -sizes[j])
    # Filters of warnings belong to the process, so they are set here, before threads begin.
    with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        warnings.simplefilter("ignore")
        regressions = dict(zip(longest_first, pool.map(regression, longest_first), strict=True))
    return Imputers(tuple(regressions[j] for j in range(len(sizes))), offsets)


def _regression(sample: Observations, imputation: Imputation, seed: int) -> Regression:
    """Fit at the given penalty, or at the best one; the order of the rows is random."""
    if imputation.penalty is not None:
        penalty = imputation.penalty
    else:
        penalty = _best(sample, imputation.mixing, seed) / max(1, len(sample.states))
    return fit_path(sample, np.array([penalty]), imputation.mixing, seed)[0]


def _best(sample: Observations, mixing: float, seed: int) -> float:
    """The best n·λ of the grid."""
    if len(sample.states) < _TUNED_ROWS.start:
        return _USUAL
    few = sample.take(np.arange(len(sample.states)) < _TUNED_ROWS[-1])
    return best_penalty(few, _PENALTIES, mixing, np.arange(len(few.states)) % _FOLDS, seed)


def _indicators(
    states: Sequence[Integers], offsets: Sequence[int], column: int, n_indicators: int
) -> Any:
    """Design of the indicators of all columns but one."""
    others = [codes + offset for codes, offset in zip(states, offsets, strict=True)]
    del others[column]
    shape = (len(states[0]), len(others))
    return indicators_of(np.array(others, dtype=np.int64).reshape(shape[::-1]).T, n_indicators)


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
    form: ClassVar[Form] = Form.SWEEPS
    needs_records: ClassVar[bool] = True

    imputation: Imputation
    n_rows: HowMany

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[Fraction], ...]:
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
