"""The ways in which the simulated records are released: the paper's three, and more of our own.

The paper counts the noise of trees for a record that is removed (sensitivity 1) although the number
of records is public. A release with a public number of records allows for a replaced one
(sensitivity 2), so noise as published comes from a release with twice the budget; and STEPS as
published sets a tenth aside for choosing the groups, which were then fixed after a look at the
records. PrivBayes as published has the noise for a replaced record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

ORIGINAL = "original"
STEPS, UH, PRIVBAYES = "STEPS", "UH", "PrivBayes"
PAPERS = (STEPS, UH, PRIVBAYES)
"""The methods of the paper, with its noise."""
STRICT, UH_STRICT = "STEPS (strict)", "UH (strict)"
DOWNWARD, GROUPS = "STEPS (downward)", "STEPS (private groups)"
PRINTED = "STEPS (as printed)"

SETS = 4
CHOICE_SHARE = Fraction(1, 10)
_GROUPS_FIXED = {"order": "x1+x2+x4", "allocation": "leaves"}
_RANDOM_ORDER = {"form": "layers", "layers": "4", "allocation": "leaves"}


@dataclass(frozen=True)
class Line:
    """A way to make a release.

    Attributes:
        method: name in the table of methods.
        options: its options.
        spends: budget of the release in units of ε; it is what the release really guarantees when a
            record is replaced.
    """

    method: str
    options: Mapping[str, str] = field(default_factory=dict)
    spends: Fraction = Fraction(1)


LINES: dict[str, Line] = {
    STEPS: Line("steps", _GROUPS_FIXED, 2 * (1 - CHOICE_SHARE)),
    UH: Line("universal-histogram", _RANDOM_ORDER, Fraction(2)),
    PRIVBAYES: Line("privbayes", {"degree": "2", "score": "mi", "network_share": "0.5"}),
    STRICT: Line("steps", _GROUPS_FIXED),
    UH_STRICT: Line("universal-histogram", _RANDOM_ORDER),
    DOWNWARD: Line("steps", {**_GROUPS_FIXED, "allocation": "downward"}),
    GROUPS: Line("steps", {"split": "groups", "choice_share": "0.1", "allocation": "leaves"}),
    PRINTED: Line(
        "steps", {**_GROUPS_FIXED, "consistency": "paper_phantom"}, 2 * (1 - CHOICE_SHARE)
    ),
}
"""Name → how it is made, at each ε."""
