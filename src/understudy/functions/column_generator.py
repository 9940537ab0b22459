"""What a generator of records is made of: the law of one column given columns drawn before it.

A law turns parameters θ, the parents' records and uniform numbers ω into records. Nothing else is
random: the same θ and ω give the same records, so that what is computed from them is a function of
θ alone, and how it changes with θ is no matter of chance (common random numbers).

Every law has

* `column`, its name, and `parents`, the names of the columns that it is drawn given;
* `prior`, of its p parameters;
* `draw(theta, drawn, uniforms)`: the column, from its parameters, shape (p,), records of the
  parents, n each, and numbers in (0, 1), shape (2, n): for the state or the kind of state, and for
  the number;
* `log_shares(points, given, states)`: log probabilities of k states at G points, shape (k, G),
  given one combination of the parents' states; a function of θ and of these states alone, to the
  last bit. Numeric parents stand at the middle of their bins (`state_shares`).

The list is closed: a mechanism asks laws about rows, so it knows each by name.
"""

from __future__ import annotations

from understudy.functions.logistic_normal import LogisticNormal
from understudy.functions.multinomial_logit import MultinomialLogit
from understudy.functions.normal_regression import NormalRegression

ColumnLaw = LogisticNormal | MultinomialLogit | NormalRegression
"""The law of one column given its parents."""
