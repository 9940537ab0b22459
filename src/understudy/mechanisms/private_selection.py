"""One of several private runs, chosen by a private criterion: how often to try, and the price.

**What is done.** A *try* draws one of the candidates uniformly, makes the whole run of it, and
scores that by a noisy criterion; all of it together is ε₀-DP. There are K independent tries,
where K follows a law that no data decide. The best of them leaves, and nothing of the others.

**Law.** K ≥ 1 is truncated negative binomial with η > −1 and 0 < γ < 1:

    P(K = k) ∝ (1 − γ)^(k−1) · Π_{l=1}^{k−1} (l + η)/(l + 1).

η = 1 is the geometric law with mean 1/γ, η = 0 the logarithmic one. For f(x) = E[x^K] this means
f'(x) = c·(1 − (1 − γ)x)^(−1−η) with a constant c > 0: the coefficient of x^(k−1) on the right is
c(1 − γ)^(k−1)·Π_{l=1}^{k−1} (l + η)/l, and on the left k·P(K = k).

**Theorem** (Papernot & Steinke 2022, Corollary 3; η = 1: Liu & Talwar 2019). What leaves is (2 +
η)ε₀-DP.

*Proof.* Let Q be the law of what one try gives out, and Q' that on a neighbouring table. Outcomes
are ordered by score; ties are broken by a tag that is drawn uniformly with each try, which is
what taking the first of equal ones comes to. The best of K tries is below y with probability
f(Q(< y)), so for an outcome y

    P(y) = f(Q(≤ y)) − f(Q(< y)) = Q(y) ∫₀¹ f'(1 − z_u) du,   z_u = Q(> y) + (1 − u)Q(y).

Now Q'(y) ≤ e^ε₀ Q(y) and z'_u ≥ e^(−ε₀) z_u, since both are probabilities of what a try gives
out, or mixtures of such. With f'(1 − z) = c(γ + (1 − γ)z)^(−1−η), γ ≥ e^(−ε₀)γ and 1 + η > 0 this
gives f'(1 − z'_u) ≤ e^((1+η)ε₀) f'(1 − z_u), so P'(y) ≤ e^((2+η)ε₀) P(y). ∎

It needs a try that is ε₀-DP as a whole, and no Gaussian step: (ε, δ) of a try would not carry
over, and the next theorem needs its divergences of all orders. A try that fails is an outcome like
any other, the worst. The price does not depend on γ, so more tries cost time alone. The bound
cannot be improved: as γ falls, an outcome just below a better one comes as close to it as one
likes (`tests/mechanisms/selection/test_private_selection.py` enumerates that).

**With δ: Rényi divergences.** Let D_λ be the divergence of order λ, and a try ρ-zCDP as a whole:
D_λ ≤ λρ between Q and Q', either way round, for all λ > 1. So a Gaussian step is admitted.

**Theorem** (Papernot & Steinke 2022, Theorem 2, for ρ-zCDP). With L = log(1/γ), what leaves has

    D_λ(P ‖ P') ≤ λρ + C + log E[K]/(λ − 1),   C = (1 + η)·min over κ ≥ 1 of (κ − 1)ρ + L/κ.

*Proof.* Give out the tag u beside y: the densities are then Q(y)f'(1 − z_u) and Q'(y)f'(1 − z'_u),
and leaving u out raises no divergence. So e^((λ−1)D_λ) is at most the sum over y and u of

    Q(y)^λ Q'(y)^(1−λ) · f'(1 − z_u) · (f'(1 − z_u)/f'(1 − z'_u))^(λ−1).

The first factor sums to e^((λ−1)λρ) at most. The second is at most f'(1) = E[K], as f' rises. For
the third let w = γ + (1 − γ)z_u, and w' likewise: the ratio is (w'/w)^(1+η). Both w are
probabilities of one event, that a coin falls or a try is better, so that no divergence of the
event exceeds that of a try: w'^κ w^(1−κ) ≤ e^((κ−1)κρ) for κ > 1. Hence, as w ≥ γ, w'/w is at
most w^(−1/κ) e^((κ−1)ρ) ≤ γ^(−1/κ) e^((κ−1)ρ). And w'/w ≤ 1/γ, which is κ = 1. ∎

This is no zCDP, since the last term grows without bound as λ falls to 1. It is turned into (ε, δ)
as it stands (Canonne, Kamath & Steinke 2020): with δ_ρ(ε) that of ρ-zCDP, an infimum over λ of
e^((λ−1)(λρ−ε)) times what does not depend on ρ and ε, the same infimum here is

    δ(ε) ≤ E[K] · δ_ρ(ε − C).

So the price of a try is the largest ρ that is (ε − C, δ/E[K])-DP. C is least at κ = √(L/ρ), or at
1 where that is below 1. Unlike the pure price it grows with the number of tries, though slowly. A
release that was selected so cannot be composed in ρ.

**Exact draw.** A coin that falls with probability γ ends the count at k. Else another one falls
with probability (k + η)/(k + 1) ≤ 1 and the count goes on; if it does not, all is begun anew. So
k comes out with a probability in proportion to γ(1 − γ)^(k−1)·Π (l + η)/(l + 1). All coins are
exact: one whole number below a denominator each.

**Not hidden.** How long the run takes grows with K. Nobody may be shown it.

**A criterion: how far the synthetic tables are from the rows, of sensitivity 1.**

Let s be the counts of all m synthetic sets together in a table, and c those of the rows, what is
out of domain included. D = ⌊‖mc − s‖₁/m⌋. A record that comes or goes moves one number of c by 1,
hence ‖mc − s‖₁/m by at most 1; replacing one moves it by at most 2. For whole Δ, |x − y| ≤ Δ
implies |⌊x⌋ − ⌊y⌋| ≤ Δ. Public numbers are subtracted, and the largest over all tables is taken;
neither raises the sensitivity. So the criterion has that of one count, and geometric noise of one
count.

Sources:
    Liu & Talwar (2019), "Private selection from private candidates"; Papernot & Steinke (2022),
    "Hyperparameter tuning with Rényi differential privacy"; Canonne, Kamath & Steinke (2020), "The
    discrete Gaussian for differential privacy". The short proofs of both forms: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from understudy.dp.budget import delta_of, rho_within
from understudy.dp.confidential import PublicContext, SecretRows
from understudy.dp.distributions import DiscreteNoise
from understudy.dp.mechanism import Charge, Form, Mechanism, Outcome, answer
from understudy.dp.randomness import Randomness
from understudy.dp.released import Released
from understudy.errors import MethodError
from understudy.mechanisms.tables import count_charge, dense_domain

LawName = Literal["geometric", "logarithmic"]
ETAS: Final[dict[LawName, int]] = {"geometric": 1, "logarithmic": 0}
"""η of each law that has a name."""

SELECTION: Final = "private selection"

_SLACK: Final = 1 + 1e-9
"""By how much floating point may err in an expected number of tries, and in δ."""


@dataclass(frozen=True)
class LawOfTries:
    """The truncated negative binomial law of the number of tries.

    Attributes:
        eta: η, above −1 and at most 1.
        gamma: γ, between 0 and 1, both excluded.

    Raises:
        MethodError: another η or γ.

    Example:
        >>> law = LawOfTries.of_name("geometric", 4)
        >>> law.gamma, law.factor, round(law.expected, 6)
        (Fraction(1, 4), Fraction(3, 1), 4.0)
    """

    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        """Refuse what the proof does not cover."""
        if not (-1 < self.eta <= 1 and 0 < self.gamma < 1):
            raise MethodError("A law of tries has -1 < η ≤ 1 and 0 < γ < 1.")

    @classmethod
    def of_name(cls, name: LawName, tries: int) -> Self:
        """The law of a name with an expected number of tries.

        Args:
            name: of the law.
            tries: expected number, at least 2; of the logarithmic law nearly.
        """
        if name not in ETAS:
            raise MethodError(f"law must be one of {', '.join(ETAS)}.")
        if name == "geometric":
            return cls(Fraction(1), Fraction(1, tries))
        low, high = 1.0, 2.0
        while (high - 1) / math.log(high) < tries:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            below = (middle - 1) / math.log(middle) < tries
            low, high = (middle, high) if below else (low, middle)
        return cls(Fraction(0), Fraction(100, round(100 * high)))

    @property
    def factor(self) -> Fraction:
        """The cost of all tries together, in units of what one may cost: 2 + η."""
        return 2 + self.eta

    @property
    def expected(self) -> float:
        """Expected number of tries."""
        g, eta = float(self.gamma), float(self.eta)
        if not self.eta:
            return (1 - g) / (-g * math.log(g))
        return float(eta * (1 - g) / (g * (1 - g**eta)))

    def generating_function(self, x: float) -> float:
        """f(x) = E[x^K] for x in [0, 1]: the chance that every try is of a kind with chance x."""
        g, eta = float(self.gamma), float(self.eta)
        if not self.eta:
            return math.log1p(-(1 - g) * x) / math.log(g)
        return float(((1 - (1 - g) * x) ** -eta - 1) / (g**-eta - 1))

    def added_divergence(self, rho: float) -> float:
        """C of the theorem: what the choice adds to a divergence of any order, of ρ-zCDP tries."""
        tail, eta = -math.log(self.gamma), float(self.eta)
        order = max(1.0, math.sqrt(tail / rho))
        return (1 + eta) * ((order - 1) * rho + tail / order)

    def delta(self, rho: float, epsilon: float) -> float:
        """δ at which the best of the tries is (ε, δ)-DP.

        Args:
            rho: ρ of a try, above 0.
            epsilon: ε.
        """
        rest = epsilon - self.added_divergence(rho)
        return min(1.0, self.expected * _SLACK * delta_of(rho, rest)) if rest > 0 else 1.0

    def rho_within(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Largest ρ of a try, rounded down, for which the best of the tries is (ε, δ)-DP.

        Example:
            >>> law = LawOfTries.of_name("logarithmic", 10)
            >>> round(float(law.rho_within(Fraction(4), Fraction(1, 10**6))), 4)
            0.1334
        """
        eps, most = float(epsilon), float(delta) / _SLACK
        low, high = 0.0, float(rho_within(epsilon, delta))
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle, eps) <= most else (low, middle)
        return Fraction(math.floor(low * 10**12), 10**12)

    def sample(self, source: Randomness) -> int:
        """Draw a number of tries, exactly."""
        k = 1
        while not _falls(self.gamma, source):
            kept = _falls((k + self.eta) / (k + 1), source)
            k = k + 1 if kept else 1
        return k


def _falls(chance: Fraction, source: Randomness) -> bool:
    """Throw a coin that falls with an exact chance in (0, 1]."""
    if chance == 1:
        return True
    return int(source.below(chance.denominator, 1)[0]) < chance.numerator


@dataclass(frozen=True)
class PrivateSelection(Mechanism[Released[tuple[int, ...]], LawOfTries]):
    """Which candidates are tried, in order: a secret, and paid for with all that the tries cost.

    It looks at no row. It is a mechanism so that the whole price is in the ledger before the first
    try, and so that a continued run tries what the first one drew.

    Attributes:
        candidates: how many there are.
        eta: η of the law of the number of tries.
        gamma: γ of it.
    """

    name: ClassVar[str] = SELECTION
    form: ClassVar[Form] = Form.CHOICE

    candidates: int
    eta: Fraction
    gamma: Fraction

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[LawOfTries], ...]:
        """One step.

        Raises:
            MethodError: no candidate, or a budget that is in neither pure ε nor ρ.
            BudgetError: more than is left.
        """
        if terms.accounting == "gdp":
            raise MethodError("A private selection is kept in pure ε or in ρ of zCDP.")
        if self.candidates < 1:
            raise MethodError("A private selection needs a candidate.")
        terms.require(spend)
        return (
            Charge(
                spent=spend,
                mechanism=self.name,
                query=selection_query(self.candidates),
                sensitivity=selection_words(self.eta, self.gamma),
                noise="",
                cells=1,
                parameter=LawOfTries(self.eta, self.gamma),
            ),
        )

    def run(
        self, rows: SecretRows, charges: tuple[Charge[LawOfTries], ...], source: Randomness
    ) -> Outcome[Released[tuple[int, ...]]]:
        """Draw the number of tries, and the candidate of each."""
        tries = charges[0].parameter.sample(source)
        return answer(tuple(source.below(self.candidates, tries).tolist()))


def selection_query(candidates: int) -> str:
    """A private selection in the words of the ledger."""
    return f"the best of a secret number of tries of {candidates} candidates"


def selection_words(eta: Fraction, gamma: Fraction) -> str:
    """The law of the number of tries in the words of the ledger."""
    return f"tries: truncated negative binomial, η = {eta}, γ = {gamma}"


@dataclass(frozen=True)
class TableDistance(Mechanism[Released[int], DiscreteNoise]):
    """By how much the worst of some synthetic tables is farther from the rows than is allowed.

    Attributes:
        marginals: names of the columns of each table.
        counts: of all synthetic sets together, by table: its cells, and last what is out of domain.
        sets: number of synthetic sets.
        allowed: most L1 distance of each table, in records.
    """

    name: ClassVar[str] = "noisy distance"
    form: ClassVar[Form] = Form.MOMENTS

    marginals: tuple[tuple[str, ...], ...]
    counts: tuple[NDArray[np.int64], ...]
    sets: int
    allowed: tuple[int, ...]

    def price(self, terms: PublicContext, spend: Fraction) -> tuple[Charge[DiscreteNoise], ...]:
        """One step, with the noise of one count.

        Raises:
            MethodError: no table, an unknown column, a table that is too large, or counts that do
                not fit.
            BudgetError: more than is left, or next to nothing.
        """
        fits = self.sets >= 1 and len(self.marginals) == len(self.counts) == len(self.allowed) > 0
        if not fits:
            raise MethodError("A distance needs tables, and counts and a limit of each.")
        for names, own in zip(self.marginals, self.counts, strict=True):
            if own.shape != (dense_domain(terms.view, names).n_cells + 1,):
                raise MethodError(f"The counts of {', '.join(names)} are not those of its cells.")
        noise = terms.calibrate_noise("geometric", spend)
        query = f"largest distance of {len(self.marginals)} tables from the synthetic ones"
        return (count_charge(terms, self.name, query, distribution=noise, cells=1, spend=spend),)

    def run(
        self, rows: SecretRows, charges: tuple[Charge[DiscreteNoise], ...], source: Randomness
    ) -> Outcome[Released[int]]:
        """Compare all of them in one pass, and add noise to the largest distance."""
        found = []
        for exact, own, most in zip(
            rows.tables(self.marginals), self.counts, self.allowed, strict=True
        ):
            counted = np.append(exact.inside.ravel(), exact.outside)
            found.append(int(np.abs(self.sets * counted - own).sum()) // self.sets - most)
        (noise,) = charges[0].parameter.sample(1, source).tolist()
        return answer(max(found) + int(noise))
