"""The ways in which the table is released: the paper's six methods, other readings, and our own.

As published, with `mode=paper`: every set has a tree or a network of its own at a fifth of ε, a
tree of L layers spends a fifth of ε/L on each, and noise allows for a record that is removed
although the number of rows is public. Counts of the leaves are released as they are, negative ones
set to 0 (line 18 of algorithm 1).

PrivBayes is that of the code which the paper names, as it stood when the paper was written. The
code has the noise of the published method for *shares*, of scale 2(d − k)/(nε), and adds it to
*counts*, n times too little; it was corrected on 31 March 2021 ("Fix an error in Laplace noise
parameter"). So only its networks are noisy. A release with that noise really spends
(1 + n)/2 times ε, and says so. The code is not told which cells cannot occur.

Source: Bowen, Liu & Su (2021), section 4.2; DataSynthesizer, github.com/DataResponsibly, file
DataSynthesizer/lib/PrivBayes.py of 14 March 2019, which is the state of 14 March 2020, when the
paper read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from understudy.schema import Schema
from understudy_studies.bowen_liu_su_2021.young_voters import voter_case
from understudy_studies.bowen_liu_su_2021.young_voters.printed_comparison import (
    LAPLACE,
    LOG_EPSILONS,
    PAPERS,
    PRIVBAYES,
    STEPS2,
    STEPS3,
    UH2,
    UH3,
)

REPETITIONS, FEWER = 30, 6
"""Of what is judged, and of other readings."""
SOME = (2,)
"""Budgets (log ε) of the lines that show what one setting does."""

STATED = "PrivBayes, stated noise"
DOWNWARD = {name: f"{name}, downward" for name in (UH2, UH3, STEPS2, STEPS3)}
"""A tree as published, and the same with shares handed down from the root."""
REPLACED = "STEPS-2, Δ = 2"
MORE_LAYERS = "STEPS-2, L + 1 layers"
TOLD = "PrivBayes, stated noise, told the zero"
ONE_NETWORK = "PrivBayes, stated noise, one network"
STRICT = {name: f"{name} (strict)" for name in (LAPLACE, PRIVBAYES, UH2, STEPS2)}
"""The paper's methods as the library makes them by default: noise that holds the stated ε."""


@dataclass(frozen=True)
class Line:
    """A way to make a release.

    Attributes:
        method: name in the table of methods.
        options: its options.
        ordered: how many of the case's important columns are declared as the order of the tree.
        spends: what the release spends, in units of ε.
        over_counts: whether noise meant for shares is added to counts, as in the paper's code.
        told: whether it knows which cells cannot occur.
        log_epsilons: at which budgets it is looked at.
        repetitions: how many releases, at each of them.
    """

    method: str
    options: Mapping[str, str] = field(default_factory=dict)
    ordered: int = 0
    spends: Fraction = Fraction(1)
    over_counts: bool = False
    told: bool = True
    log_epsilons: tuple[int, ...] = LOG_EPSILONS
    repetitions: int = REPETITIONS

    def schema_for(self, table: voter_case.Case) -> Schema:
        """What is declared of the table."""
        return table.schema if self.told else table.without_zeros

    def options_for(self, table: voter_case.Case) -> dict[str, str]:
        """All options, on one table."""
        order = {"order": ",".join(table.order[: self.ordered])} if self.ordered else {}
        share = {"network_share": str(1 / (1 + table.n_rows))} if self.over_counts else {}
        return {**self.options, **order, **share, "sets": "split"}

    def spends_on(self, table: voter_case.Case) -> Fraction:
        """What the release of one table spends, in units of ε.

        Noise of scale 2(d − k)/(nε/2) in counts is that of a budget of nε/2 for the tables; ε/2
        buys the networks.
        """
        return Fraction(1 + table.n_rows, 2) if self.over_counts else self.spends


_PAPER = {"mode": "paper"}
_TREES = {
    UH2: Line("universal-histogram", {"layers": "2"}),
    UH3: Line("universal-histogram", {"layers": "3"}),
    STEPS2: Line("steps", {"layers": "2"}, ordered=2),
    STEPS3: Line("steps", {"layers": "3"}, ordered=3),
}
_FLAT = Line("laplace", {"form": "dense"})
_NETWORKS = Line("privbayes", {"degree": "2", "score": "mi"})


def _with(line: Line, *options: Mapping[str, str]) -> Line:
    merged = dict(line.options)
    for more in options:
        merged |= more
    return replace(line, options=merged)


_LEAVES, _DOWN, _HALF = (
    {"allocation": "leaves"},
    {"allocation": "downward"},
    {"network_share": "0.5"},
)
_STATED = replace(_with(_NETWORKS, _HALF, _PAPER), told=False)
_STEPS = _with(_TREES[STEPS2], _LEAVES, _PAPER)

PUBLISHED: dict[str, Line] = {
    LAPLACE: _with(_FLAT, _PAPER),
    PRIVBAYES: replace(_with(_NETWORKS, _PAPER), told=False, over_counts=True),
    **{name: _with(line, _LEAVES, _PAPER) for name, line in _TREES.items()},
}
"""The paper's six methods, under its conditions."""
assert tuple(PUBLISHED) == PAPERS

READINGS: dict[str, Line] = {
    STATED: replace(_STATED, repetitions=FEWER),
    **{
        DOWNWARD[name]: replace(_with(line, _DOWN, _PAPER), repetitions=FEWER)
        for name, line in _TREES.items()
    },
}
"""Other readings of what is lost, at all budgets."""

SETTINGS: dict[str, Line] = {
    name: replace(line, log_epsilons=SOME, repetitions=FEWER)
    for name, line in {
        REPLACED: replace(_STEPS, spends=Fraction(1, 2)),
        MORE_LAYERS: replace(_STEPS, spends=Fraction(2, 3)),
        TOLD: replace(_STATED, told=True),
        ONE_NETWORK: replace(_with(_NETWORKS, _HALF), told=False),
        STRICT[LAPLACE]: _FLAT,
        STRICT[PRIVBAYES]: _with(_NETWORKS, _HALF),
        STRICT[UH2]: _with(_TREES[UH2], _LEAVES),
        STRICT[STEPS2]: _with(_TREES[STEPS2], _LEAVES),
    }.items()
}
"""What one setting does, and our own forms, at some budgets."""

LINES: dict[str, Line] = {**PUBLISHED, **READINGS, **SETTINGS}
"""Name → how it is made."""
