"""The ways in which the simulated records are released: the paper's three, and others.

As published (`mode=paper`) every set has a tree or networks of its own at a quarter of ε, and a
tree of L layers spends an L-th part of that on each. STEPS keeps a tenth aside for choosing the
groups, which were then fixed after a look at the records. PrivBayes is the code that the paper
names, whose noise in counts was n times too little when the paper was written (see
`young_voters.release_lines`): a release with that noise spends (1 + n)/2 times ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

ORIGINAL = "original"
STEPS, UH, PRIVBAYES = "STEPS", "UH", "PrivBayes"
PAPERS = (STEPS, UH, PRIVBAYES)
"""The methods of the paper, under its conditions."""
STATED = "PrivBayes (stated noise)"
STRICT, UH_STRICT = "STEPS (strict)", "UH (strict)"
DOWNWARD, GROUPS = "STEPS (downward)", "STEPS (private groups)"
PRINTED = "STEPS (as printed)"

LIGHT = {way: f"{way}, ridge 1" for way in PAPERS}
"""A method, and its name where the saturated model is fitted with a lighter penalty."""

SETS = 4
CHOICE_SHARE = Fraction(1, 10)
EPSILONS = (0.5, 2.0, 5.0, 10.0)
SOME = (2.0,)
"""Budgets at which ways of our own are looked at."""
_PAPER = {"mode": "paper"}
_BOTH_GROUPS = {"order": "x1+x2+x4,x3+y", "allocation": "leaves"}
_FIRST_GROUP = {"order": "x1+x2+x4", "allocation": "leaves"}
_RANDOM_ORDER = {"form": "layers", "layers": "4", "allocation": "leaves"}
_NETWORK = {"degree": "2", "score": "mi"}


@dataclass(frozen=True)
class Line:
    """A way to make a release.

    Attributes:
        method: name in the table of methods.
        options: its options.
        share: part of ε that the release spends.
        over_counts: whether noise meant for shares is added to counts, as in the paper's code.
        epsilons: at which budgets it is looked at.
    """

    method: str
    options: Mapping[str, str] = field(default_factory=dict)
    share: Fraction = Fraction(1)
    over_counts: bool = False
    epsilons: tuple[float, ...] = EPSILONS

    def spends(self, epsilon: float, n_rows: int) -> Fraction:
        """What a release spends; it is what is charged for it.

        Args:
            epsilon: the ε of the paper.
            n_rows: number of records.
        """
        times = Fraction(1 + n_rows, 2) if self.over_counts else self.share
        return times * Fraction(epsilon)

    def options_for(self, n_rows: int) -> dict[str, str]:
        """All options, for so many records."""
        share = {"network_share": str(1 / (1 + n_rows))} if self.over_counts else {}
        return {**self.options, **share, "sets": "split"}


LINES: dict[str, Line] = {
    STEPS: Line("steps", {**_BOTH_GROUPS, **_PAPER}, 1 - CHOICE_SHARE),
    UH: Line("universal-histogram", {**_RANDOM_ORDER, **_PAPER}),
    PRIVBAYES: Line("privbayes", {**_NETWORK, **_PAPER}, over_counts=True),
    STATED: Line("privbayes", {**_NETWORK, **_PAPER, "network_share": "0.5"}),
    STRICT: Line("steps", _FIRST_GROUP, epsilons=SOME),
    UH_STRICT: Line("universal-histogram", _RANDOM_ORDER, epsilons=SOME),
    DOWNWARD: Line("steps", {**_FIRST_GROUP, "allocation": "downward"}, epsilons=SOME),
    GROUPS: Line(
        "steps",
        {"split": "groups", "choice_share": "0.1", "allocation": "leaves"},
        epsilons=SOME,
    ),
    PRINTED: Line(
        "steps",
        {**_BOTH_GROUPS, **_PAPER, "consistency": "paper_phantom"},
        1 - CHOICE_SHARE,
        epsilons=SOME,
    ),
}
"""Name → how it is made, at each ε."""
