"""Where the paper's tables and figures have their place on a page."""

from __future__ import annotations

from understudy_studies.framework.study import TextTable

_PLACES = (
    ("Table 1, synthesizers", "table “The ways”"),
    ("Table 2, variables", "table “Columns”"),
    ("Table 3, sampling steps", "table “From a seed to a record” of the study `pegs`"),
    (
        "Figures 1, 2, 3: the process, the synthesis, the reset",
        "drawings without data; in words under “What was done”",
    ),
    ("Figure 4, histograms of charge and age", "figure “histograms”; point “long block”"),
    ("Figure 5, marginal distances", "figures “distances” and “totals”; table “Utility”"),
    ("Figure 6, distances given age and zip code", "the same, second and third panel"),
    ("Figure 7, distances of coefficients", "figure “coefficients”; table “Utility”"),
    ("Figure 8, coefficients at two ε", "figure “deviations”; table “Coefficients at ε = 1”"),
    ("Figure 9, intruder and uniqueness", "figure “intruder”; table “Intruder”"),
    ("§3.3 A, weights for ε", "all lines with an ε for each record"),
    ("§3.3, weights by marginals", "lines “weights by marginals”; no result in the paper"),
    (
        "§3.3 B, ℓ-diversity",
        "lines “diverse rows”; its results are in another paper, so there is no point to judge",
    ),
    ("§3.4, blocks with reset", "lines PeGS.rs"),
    ("§3.5, perturbed imputation", "lines PMI"),
)


def places() -> TextTable:
    """Each table, figure and method of the paper, and where it is on the page."""
    return TextTable(
        caption="Where the paper’s tables, figures and methods are",
        headings=("in the paper", "here"),
        rows=_PLACES,
        words=2,
        fold=True,
    )
