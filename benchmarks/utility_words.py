"""What stands between the tables of the utility benchmark's page."""

from __future__ import annotations

COMPARED = (
    "All that are private as they are, with their default options, on coded Adult (48,842 rows, 14 "
    "columns) at ε = 1. With δ = 0 the guarantee is pure; with public rows, neighbours differ by "
    "one record replaced, which takes up to twice the noise, with private rows by one added or "
    "removed, and a twentieth of the budget buys their number."
)
COSTS = (
    "Processor seconds of the synthesis alone, with compiled kernels in the cache: coding the rows "
    "is included, imports are not. The peak is that of the whole process, libraries and rows "
    "included. The last column is what the whole process takes more where the cache is empty, as "
    "in the first run after an installation. Public rows."
)
WITHOUT = (
    "None is private. Rows drawn again with replacement are samples of the very rows, which lie "
    "nearer to them than a second sample of their population does; their AUC and accuracy are "
    "those of a model that learned from four fifths of the real rows. “Fresh sample, expected” is "
    "that second sample: what `evaluate` gives as “fresh”, worked out and not drawn, as each table "
    "is used whole and nothing is left of its population. Shuffled columns are exact and "
    "independent."
)
LOOKED_UP = (
    "The same releases by what users look up first: numbers, correlations, small groups, and "
    "relations that every real record keeps. A dash stands where a record was made without the "
    "score, or where the table has nothing of the kind. Coded Adult has six columns of numbers, no "
    "correlation beyond ± 0.2, and no relation."
)
WHAT_WAS_DONE = """\
* On loans_coded, tables of more than 60,000 cells are left out of tv2 and tv3, as of tv3 (64).
* **AUC, accuracy**: what is predicted is income>50K (adult_coded) or the decile of income \
(nist_acs_national2019), in a fifth of the real rows, which the synthesizer has seen.
* **Schemas**: levels and bounds are those of the tables' codebooks. Ordered columns are declared \
so; codes for missing values, and for questions that do not apply, too. No structural zeros.
* loans_coded and msnbc have no column to predict, and are not scored by propensities."""
DEFINED = (
    "The scores of this page are those of `understudy evaluate`, computed by the same functions "
    "(`benchmarks/yardstick.py`) for one set and without permutations. tv2 and tv3 may leave out "
    "wide tables (“What was done”). SPECKS is that of Bowen & Liu (2020)."
)
EVALUATED = "The other scores of `understudy evaluate`."
REPLACED = (
    "Tables on this page, and in `docs/evidence/pegs-tables.md`, `docs/evidence/pmse-demo.md` and "
    "`docs/evidence/censored-demo.md`, that were measured before have scores of rules of their "
    "own. Their "
    "names are used for nothing else:"
)
WAS = {
    "tv3": "mean total variation distance of 64 triples of columns",
    "specks_lr": "SPECKS by logistic regression on main effects, columns of more than 24 codes cut "
    "into 16 groups at quantiles of the real rows, all rows",
    "specks_cart": "SPECKS, tree on the codes of the table, all rows",
    "pmse_ratio": "pMSE of SPECKS-lr over its expectation for rows drawn from the real ones with "
    "replacement; a fresh sample has 2",
    "auc": "area under the ROC curve of the same prediction with 100 rounds, from all synthetic "
    "rows, columns as codes, a missing target being a class like others",
    "accuracy": "accuracy of that prediction",
}
BESIDE = (
    "Both on one release each of `marginals` at ε = 1, δ = 10⁻⁹, private rows (fresh noise, so "
    "that another release differs in the last places; the former by the yardstick of before): on "
    "adult_coded tv3 (64) 0.0882 and tv3 0.0774, SPECKS-lr 0.0383 and SPECKS 0.0350, SPECKS-cart "
    "0.0145 and SPECKS, tree 0.0145, pMSE / resampled 10.1 and pMSE / fresh 2.4, AUC 0.898 and "
    "AUC, trained 0.887, accuracy 0.847 and 0.837; on nist_acs_national2019 0.0787 and 0.0769, "
    "0.0561 and 0.0551, 0.0234 and 0.0295, 4.1 and 1.9, 0.784 and 0.698, 0.411 and 0.290 (records "
    "without an income are no longer predicted). tv1 and tv2 are what they were. Bounds of goals "
    "were set for the former scores and have not been moved."
)
