"""χ² tests of independence on noisy counts, and how far each cell is from what it asks for.

With margins p̂, q̂ of the counts Ŷ, D = Ŷ − n̂p̂q̂' = (I − p̂1')Ŷ(I − q̂1')' is what each cell has
beyond independence. If the traits are independent, D is the same linear map J of the errors of the
counts, to first order, and those have the covariance diag(λ) + V: by sampling, λ = n̂p̂q̂' (the part
of a fixed n falls out, as Jλ = 0), and by noise. So

    X² = D'(J(diag(λ) + V)J')⁺D is χ² with as many degrees of freedom as the rank, (r−1)(c−1).

Without noise it is Pearson's statistic. The rank is less where a level has neither records nor
noise. λ rests on margins alone, which have many records where cells have few. Noise with the tails
of a Laplace law makes X² vary more: by Σ A²κ, A the diagonal of J'(…)⁺J and κ the fourth cumulants.
Then X²/a is compared with χ² on df/a, which has the same mean and variance (Satterthwaite's way).

The excess shares D/n̂ have intervals too, with the covariance of the counts as they are, since they
are of interest where independence fails; a cell counts as one of 3.84 records at least, as for
shares (`understudy.inference.noise_aware.cell_scores.edge_variance`). A measure such as Cramér's V
is left out: at 0 it lies on the edge of what is possible, and no interval of it is known to hold
under noise.

Sources: Pearson (1900); Rao & Scott (1981), "The Analysis of Categorical Data From Complex Sample
Surveys", JASA 76, 221-230, for quadratic forms in counts whose covariance is not multinomial;
Satterthwaite (1946), Biometrics 2, 110-114;
Gaboardi, Lim, Rogers & Vadhan (2016), "Differentially Private Chi-Squared Hypothesis Testing",
ICML, and Kifer & Rogers (2017), "A New Class of Private Chi-Square Hypothesis Tests", AISTATS, for
noise in that covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, chdtri

from understudy.arrays import Floats
from understudy.inference.moments.firmness import LostInNoiseError
from understudy.inference.set_estimates import Pooled
from understudy.inference.two_way.noisy_cells import NoisyCells
from understudy.inference.two_way.traits import Trait

_LEAST_CELL = chdtri(1, 0.05)  # records
_RANK = 1e-10
NAME = "χ² of independence"
TEST_NOTE = (
    "The first row is the test: its statistic, its degrees of freedom and its p-value. The others "
    "are shares of cells less the product of the shares of their levels, 0 if independent."
)


@dataclass(frozen=True)
class IndependenceTest:
    """A test of independence.

    Attributes:
        statistic: X².
        df: degrees of freedom.
        pvalue: probability of a larger one under independence.
    """

    statistic: float
    df: int
    pvalue: float


@dataclass(frozen=True)
class Independence(Pooled):
    """A test, which has neither error nor interval, and the excess of each cell.

    Attributes:
        test_pvalue: of the test.
    """

    test_pvalue: float = np.nan

    @property
    def pvalue(self) -> Floats:
        """Of the test, and of each excess being 0."""
        each = super().pvalue
        each[0] = self.test_pvalue
        return each


def chi_square(counts: Floats, noise: Floats, fourth: Floats) -> IndependenceTest:
    """Test the independence of rows and columns.

    Args:
        counts: shape (r, c).
        noise: covariance of the noise in them, shape (r·c, r·c).
        fourth: fourth cumulants of the noise, shape (r, c); 0 for normal noise.

    Raises:
        LostInNoiseError: there are no records by the counts, or a trait does not vary.
    """
    r, c = counts.shape
    n = _size(counts)
    p, q = counts.sum(axis=1) / n, counts.sum(axis=0) / n
    linear = _excess_map(p, q)
    expected = n * np.outer(np.maximum(p, 0), np.maximum(q, 0)).reshape(-1)
    kept = np.arange(r * c).reshape(r, c)[:-1, :-1].reshape(-1)  # the others follow from these
    free = linear[kept]
    lengths, axes = np.linalg.eigh(free @ (np.diag(expected) + noise) @ free.T)
    used = lengths > _RANK * max(lengths.max(initial=0.0), np.finfo(np.float64).tiny)
    roots = (axes[:, used] / np.sqrt(lengths[used])).T @ free
    df = int(used.sum())
    if not df:
        raise LostInNoiseError("By the counts a trait does not vary, so there is nothing to test.")
    statistic = float(((roots @ counts.reshape(-1)) ** 2).sum())
    heavier = float((roots**2).sum(axis=0) ** 2 @ fourth.reshape(-1))
    stretch = 1 + heavier / (2 * df)
    pvalue = float(chdtrc(df / stretch, statistic / stretch))
    return IndependenceTest(statistic, df, pvalue)


def independence(cells: NoisyCells, traits: Sequence[Trait]) -> Independence:
    """The test, and the excess shares of all cells.

    Args:
        cells: of shape (r, c).
        traits: with r and c classes.

    Raises:
        LostInNoiseError: there are no records by the counts, or a trait does not vary.
    """
    test = chi_square(cells.counts, cells.noise, cells.fourth)
    n, y = _size(cells.counts), cells.counts
    p, q = y.sum(axis=1) / n, y.sum(axis=0) / n
    shares = (y / n).reshape(-1)
    excess = shares - np.outer(p, q).reshape(-1)
    # D/n, free of n: what a change of all counts by one factor would do is nothing.
    slopes = (_excess_map(p, q) - np.outer(excess, np.ones(y.size))) / n
    sampling = np.diag(np.maximum(y.reshape(-1), _LEAST_CELL))
    noise, drawn = slopes @ cells.noise @ slopes.T, slopes @ sampling @ slopes.T
    k = y.size + 1
    covariance = np.full((k, k), np.nan)
    covariance[1:, 1:] = noise + drawn
    share = np.full(k, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        share[1:] = np.diag(noise) / np.diag(noise + drawn)
    names = [f"{row}:{column}" for row in traits[0].labels for column in traits[1].labels]
    return Independence(
        names=(NAME, *names),
        estimate=np.append(test.statistic, excess),
        covariance=covariance,
        df=np.append(float(test.df), np.full(k - 1, np.inf)),
        synthesis_share=share,
        rule=cells.rule,
        sets=cells.sources,
        notes=(TEST_NOTE,),
        test_pvalue=test.pvalue,
    )


def _excess_map(p: Floats, q: Floats) -> Floats:
    """J = (I − p1') ⊗ (I − q1'), shape (r·c, r·c)."""
    rows = np.eye(len(p)) - np.outer(p, np.ones(len(p)))
    columns = np.eye(len(q)) - np.outer(q, np.ones(len(q)))
    return np.asarray(np.kron(rows, columns), dtype=np.float64)


def _size(counts: Floats) -> float:
    n = float(counts.sum())
    if n <= 0:
        raise LostInNoiseError("By the noisy counts there are no records with both traits.")
    return n
