"""Why points of the voter study do not hold: causes, each with the table that shows it."""

from __future__ import annotations

from typing import Final

from understudy_studies.bowen_liu_su_2021.young_voters.voter_case import SIMULATED, STAND_IN
from understudy_studies.framework.verdict_causes import Cause, contradiction, difference, reading

_SPECKS_OF_TREES = (
    "by equation (3) and line 18 the leaves stay as they were counted, with L times the noise of "
    "the flat sanitizer, so that trees cannot be nearer to the original. In its own table 3 the "
    "SPECKS of UH-L and STEPS-L differ by .002 at most, whatever columns divide them, and at "
    "ε = e STEPS-2 has .944, above the .930 of the flat sanitizer."
)
_DOWNWARD = (
    " Shares that are handed down the tree, which line 18 does not do, give “trees downward” in "
    "the table of readings."
)

_SIMULATED: Final[dict[str, Cause]] = {
    "trees below flat": contradiction(_SPECKS_OF_TREES + _DOWNWARD),
    "flat decides best": reading(
        "the rows are lost and ours are simulated. The exceptions are at ε = 1, where no method "
        "finds more than a pair or two, and networks of PrivBayes happen to find one more (table "
        "of our results)."
    ),
    "PrivBayes decides worst": reading(
        "the rows are lost; how ours hang together is made up. The table of our results has the "
        "cases: up to ε = 1 PrivBayes is worst in most of them, or less than a hundredth from it; "
        "beyond, its networks find pairs that are still noise in the leaves of the trees. The "
        "paper’s own table 3 has one exception, too (1 % at ε = e)."
    ),
    "STEPS above UH": contradiction(
        "by equation (3) the leaves stay as they were counted, so that trees of as many layers "
        "have the same law whatever columns divide them, and what is left is chance and the "
        "corrections of few upper nodes." + _DOWNWARD
    ),
    "rises": difference(
        "where every pair but one is decided as independent, the share of agreement does not move "
        "with ε; the table of our results has the cases."
    ),
    "smallest overlaps": reading(
        "the rows are lost. It holds for the coefficient of registration, not for the mean over "
        "all: the intervals of PrivBayes are wide, since the networks of its sets differ (“median "
        "width ratio”, table beside the paper’s measures), and wide intervals overlap. The paper’s "
        "means of .04 to .13 over 32 coefficients, three of them with .4 to .9, leave next to "
        "nothing for the others, by any method. With the noise that ε stands for see “PrivBayes "
        "with its stated noise” in the table of readings."
    ),
    "rank sums": contradiction(
        "where equation (3) leaves the leaves as counted, the flat sanitizer and the trees have "
        "the same scores to the third digit at small ε, and ranks of ties decide the sums (table "
        "of our results)." + _DOWNWARD
    ),
}

_ROWS = (
    "the rows are lost; these are others, with 5,497 records in place of 44,821, other columns and "
    "the same noise, so that less stands out of it. The table of our results has the cases."
)
_STAND_IN: Final[dict[str, Cause]] = {
    "best SPECKS": reading(_ROWS),
    "trees below flat": contradiction(f"{_SPECKS_OF_TREES} `steps-voter` has another reading."),
    "flat decides best": reading(_ROWS),
    "PrivBayes decides worst": reading(_ROWS),
    "STEPS above UH": contradiction(
        "by equation (3) the leaves stay as they were counted, so that trees of as many layers "
        "have the same law whatever columns divide them. `steps-voter` has another reading."
    ),
    "rises": reading(
        f"{_ROWS} Where all pairs but a few are decided as independent nothing moves with ε."
    ),
    "smallest overlaps": reading(
        f"{_ROWS} It holds for the paper’s three coefficients; of the others its tables, which "
        "have hardly any noise, keep more than the trees do (“overlap, determined ones”, table "
        "beside the paper’s measures)."
    ),
    "rank sums": contradiction(
        "where equation (3) leaves the leaves as counted, the flat sanitizer and the trees have "
        "the same scores to the third digit, and ranks of ties decide the sums (table of our "
        "results)."
    ),
}

CAUSES: Final[dict[str, dict[str, Cause]]] = {SIMULATED: _SIMULATED, STAND_IN: _STAND_IN}
"""Name of the case → short name of a point (`claims.POINTS`) → why it does not hold there."""
