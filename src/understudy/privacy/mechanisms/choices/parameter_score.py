"""Scores of candidate parameters: how well each of some public points suits the rows.

Larger is better. Every score has

* `schema`, in whose states rows are, and `columns`, those of the rows that it looks at;
* `points`, the candidates, shape (G, p);
* `title` and `bound`, what candidates are judged by and the sensitivity, in the ledger's words;
* `monotone` and `sensitivity(neighbours)`: whether an added row moves the scores of all candidates
  one way, and the largest change of any of them between neighbouring tables, proved where the score
  is defined;
* `leaks(neighbours)`: what it leaves in, unpaid; an error if it has no bound for these neighbours;
* `evaluate(coded)`: the score of each candidate, shape (G,), and `against(coded)`: the rows, to be
  compared with any parameters, one `score(theta)` after the other. Both CONFIDENTIAL; `coded` holds
  the states of all rows, one array per column of the schema.

The list is closed, since these see rows.
"""

from __future__ import annotations

from understudy.privacy.mechanisms.choices.censored_column_likelihood import ColumnLikelihood
from understudy.privacy.selection.tree_distinguisher_score import PropensityTrees

CandidateScore = ColumnLikelihood | PropensityTrees
"""A score of candidate parameters."""
