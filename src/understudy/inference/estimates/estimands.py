"""What is asked for: the kind of an estimate and the columns it is about.

Means, shares, cross-tabulations and totals have one form. Each record adds a value to one of k
quantities, and belongs to one group: a ratio is the sum of the values of a quantity over the number
of records in its group. `Estimand.scores` says this for records, be they those of a synthetic set
or points that stand for the cells of a noisy table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from understudy.arrays import Floats, Integers
from understudy.errors import InferenceError, nearest
from understudy.inference.estimates import formulas
from understudy.inference.estimates.analysis_records import (
    ABSENT,
    Records,
    is_binned,
    is_grouping,
    level_values,
)
from understudy.inference.estimates.rule_questions import written_out
from understudy.schema import NUMERIC, Schema

SHARES: Final = ("proportion", "table")
RATIOS: Final = ("mean", *SHARES)
MODELS: Final = ("ols", "logit", "poisson")
TWO_WAY: Final = ("odds-ratio", "independence")
OF_GROUPS: Final = ("standardised-difference", "ratio")
BOUNDED: Final = (*RATIOS, "total", "quantile")
"""Kinds whose answers a few records change by a bounded amount: each adds the value of one
expression, or counts as one of a level."""
KINDS: Final = (*RATIOS, "total", "quantile", "correlation", *TWO_WAY, *OF_GROUPS, *MODELS)
MOST_QUANTITIES = 1_000
_COUNTS: Final = "a noisy table of both columns, or second moments of their levels"
_SUMS: Final = "second moments of the outcome and the levels of the group, or a table of each value"
_TWO_TERMS: Final = {
    "correlation": ("a correlation", "released second moments of both columns", "income + age"),
    "odds-ratio": ("an odds ratio", _COUNTS, "works + sex"),
    "independence": ("a test of independence", _COUNTS, "region + works"),
    "standardised-difference": ("a standardised difference", _SUMS, "income ~ sex"),
    "ratio": ("a ratio of means", _SUMS, "income ~ sex"),
}
MEASURED_ONLY: Final = {
    kind: f"{name} is answered from {what}, and this release has none of them"
    for kind, (name, what, _) in _TWO_TERMS.items()
}
"""Kinds that no rule of sets answers, and what is said where a release has no measurement."""


@dataclass(frozen=True)
class Scores:
    """What each record adds to which quantity.

    Attributes:
        names: of the k quantities.
        group_of: group of each quantity, shape (k,).
        quantity: quantity that each record adds to, `ABSENT` for a record with an absent value,
            shape (n,).
        value: what it adds, shape (n,); 0 for a record with an absent value.
    """

    names: tuple[str, ...]
    group_of: Integers
    quantity: Integers
    value: Floats


@dataclass(frozen=True)
class Estimand:
    """A question to a release.

    Attributes:
        kind: one of `KINDS`.
        formula: as it was written.
        columns: every column that it names, in the order of the schema.
        expression: number or condition whose mean, total or quantile is asked for; "" for none.
        levels: columns whose levels (bins, for numeric columns) are the quantities.
        groups: columns whose levels are the groups.
        probability: of a quantile.
    """

    kind: str
    formula: str
    columns: tuple[str, ...]
    expression: str = ""
    levels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    probability: float = 0.5

    def scores(self, records: Records) -> Scores:
        """What each record adds to which quantity.

        Args:
            records: with all `columns` of the estimand.

        Raises:
            InferenceError: the expression cannot be computed.
        """
        complete = records.complete()
        n = len(complete)
        group = _crossed(records, self.groups, n)
        level = _crossed(records, self.levels, n)
        schema = records.schema
        n_levels = _n_ordinary(schema, self.levels)
        value = np.zeros(n)
        value[complete] = self._values(records.take(complete)) if complete.any() else 0.0
        return Scores(
            names=self.names(schema),
            group_of=np.repeat(np.arange(_n_ordinary(schema, self.groups)), n_levels),
            quantity=np.where(complete, group * n_levels + level, ABSENT),
            value=value,
        )

    def names(self, schema: Schema) -> tuple[str, ...]:
        """Names of the quantities of `scores`: the levels of a group run fastest."""
        levels = _labels(schema, self.levels) if self.levels else [self._what()]
        groups = _labels(schema, self.groups) if self.groups else [""]
        return tuple(
            f"{level} | {group}" if group else level for group in groups for level in levels
        )

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the expression."""
        if not self.expression:
            return ()
        return formulas.columns_of(formulas.as_formula(self.expression), self.columns)

    def _what(self) -> str:
        if self.kind == "quantile":
            return f"{100 * self.probability:g} % quantile of {self.expression}"
        return self.expression

    def _values(self, records: Records) -> Floats:
        if not self.expression:
            return np.ones(int(records.complete().sum()))
        if self.expression in records.numbers:  # a column alone needs no formula
            values = records.numbers[self.expression]
        else:
            values = formulas.evaluate(self.expression, records.frame())
        if self.kind in SHARES and not np.isin(values, (0.0, 1.0)).all():
            raise InferenceError(
                f"A proportion needs a column or a condition that is true or false, and "
                f"{self.expression!r} has other values; write such as 'income > 0', or take the "
                "kind mean."
            )
        return values


def parse(kind: str, formula: str, schema: Schema, *, probability: float = 0.5) -> Estimand:
    """Read a question to a release.

    Args:
        kind: one of `KINDS`.
        formula: for mean, quantile and total an expression, `log(income + 1)`, or one by groups,
            `income ~ sex + region`; for proportion a column or a condition, also by groups; for
            table the columns to cross, `sex + region`; for models a formula.
        schema: the release's schema.
        probability: of a quantile, in (0, 1).

    Raises:
        InferenceError: unknown kind or name, a formula that cannot be read, or one that does not
            fit the kind.
    """
    if kind not in KINDS:
        raise InferenceError(
            f"Expected a kind among {', '.join(KINDS)}, got {kind!r}.{_meant(str(kind))}"
        )
    if not 0 < probability < 1:
        raise InferenceError(f"Expected a probability between 0 and 1, got {probability!r}.")
    read = _model if kind in MODELS else _of_two if kind in MEASURED_ONLY else _linear
    estimand = read(kind, written_out(kind, formula, schema), schema)
    if not estimand.columns:
        raise InferenceError(f"The formula {formula!r} names no column of the release.")
    return Estimand(**{**vars(estimand), "probability": probability})


_SYNONYMS: Final = {
    "quantile": "percentile percentiles quartile quartiles decile deciles",
    "mean": "average avg",
    "proportion": "share shares percentage percent fraction frequency prevalence rate",
    "table": "crosstab crosstabs tabulate tabulation counts count contingency",
    "total": "sum",
    "correlation": "cor corr pearson",
    "independence": "chisq chi2 chi-squared",
    "odds-ratio": "or oddsratio",
    "standardised-difference": "smd cohens-d cohen standardized-difference",
    "ols": "lm linear regression linear-regression",
    "logit": "logistic logistic-regression glm binomial",
}
"""Kinds, each with other words for it, whose spelling may be near another kind's."""


def _meant(kind: str) -> str:
    """What somebody has meant who asked for a kind that there is not, as a sentence; or ""."""
    word = kind.strip().casefold().replace("_", "-").replace(" ", "-")
    if word.startswith("median"):
        return " Take 'quantile': its probability is 0.5 by default, which is the median."
    close = next((one for one, words in _SYNONYMS.items() if word in words.split()), None)
    close = close or nearest(kind, KINDS)
    return f" Did you mean {close!r}?" if close else ""


def _model(kind: str, formula: str, schema: Schema) -> Estimand:
    left, tilde, right = formula.partition("~")
    if not (left.strip() and tilde and right.strip()):
        raise InferenceError(
            f"The kind {kind} needs an outcome and predictors, such as 'income ~ age + C(region)'; "
            f"got {formula!r}."
        )
    columns = formulas.columns_of(formula, schema.names)
    _require_levels(formula, schema)
    outcome = left.strip().strip("`")
    if outcome in schema.columns:
        _require_outcome(kind, outcome, schema)
        if formulas.has_predictor(formula, outcome):
            raise InferenceError(
                f"The outcome {outcome!r} is among its own predictors, and would be predicted "
                "perfectly; leave it out there."
            )
    return Estimand(kind, formula, columns)


def _of_two(kind: str, formula: str, schema: Schema) -> Estimand:
    """Of "x + y", or "y ~ group"; a number is no group, and one with levels no number."""
    groups, numbers = terms_of(kind, formula)
    columns = formulas.columns_of(formula, schema.names)
    _require_levels(formula, schema)
    for term in numbers:
        if term.strip("`") in schema.columns and is_grouping(schema.columns[term.strip("`")]):
            raise InferenceError(formulas.no_number(term))
    for term in groups:
        column = schema.columns.get(term.strip("`"))
        many = column is not None and (is_binned(column) or column.n_ordinary != 2)
        if many and kind != "independence":
            raise InferenceError(formulas.not_two(term))
    named = [set(formulas.columns_of(formulas.as_formula(t), columns)) for t in (*groups, *numbers)]
    if kind != "correlation" and named[0] & named[1]:
        raise InferenceError(f"Both sides of {formula!r} are about {min(named[0] & named[1])!r}.")
    return Estimand(kind, formula, columns)


def terms_of(kind: str, formula: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups, and the numbers, that a kind of `MEASURED_ONLY` is about.

    Raises:
        InferenceError: the formula has not two terms.
    """
    left, right = formulas.split_groups(formula) if kind in OF_GROUPS else ("", formula)
    terms = formulas.split_terms(right) if right and "~" not in right else ()
    if len(terms) != 2 - bool(left):
        name, _, example = _TWO_TERMS[kind]
        raise InferenceError(
            f"{name.capitalize()} needs two columns, such as '{example}'; got {formula!r}."
        )
    if left:
        return terms, (left,)
    return ((), terms) if kind == "correlation" else (terms, ())


def _require_outcome(kind: str, name: str, schema: Schema) -> None:
    """Refuse a column that no release could make an outcome, before a better release is advised."""
    column = schema.columns[name]
    two = kind == "logit" and column.n_ordinary <= 2
    if is_grouping(column) and not two:
        raise InferenceError(formulas.not_an_outcome(kind))


def _require_levels(formula: str, schema: Schema) -> None:
    """Refuse a comparison with a level that a column does not have: it is false for everybody."""
    for name, value in formulas.comparisons(formula):
        column = schema.columns.get(name)
        if column is None or isinstance(column, NUMERIC):
            continue
        levels = level_values(column)
        if value not in levels:
            shown = ", ".join(map(repr, levels[:12])) + (", …" if len(levels) > 12 else "")
            raise InferenceError(
                f"The column {name!r} has no level {value!r}; its levels are {shown}."
            )


def _linear(kind: str, formula: str, schema: Schema) -> Estimand:
    if kind == "table":
        levels = formulas.crossed(formula, schema.names)
        estimand = Estimand(kind, formula, _ordered(levels, schema), levels=levels)
    else:
        estimand = _by_groups(kind, formula, schema)
    if _n_ordinary(schema, (*estimand.groups, *estimand.levels)) > MOST_QUANTITIES:
        raise InferenceError(
            f"The formula {formula!r} asks for more than {MOST_QUANTITIES:,} numbers; cross fewer "
            "columns."
        )
    return estimand


def _by_groups(kind: str, formula: str, schema: Schema) -> Estimand:
    expression, right = formulas.split_groups(formula)
    groups = formulas.crossed(right, schema.names) if right else ()
    plain = expression.strip("`")
    if plain in schema.columns and _shown_by_level(kind, plain, schema):
        columns = _ordered((plain, *groups), schema)
        return Estimand(kind, formula, columns, levels=(plain,), groups=groups)
    if plain in schema.columns and is_grouping(schema.columns[plain]):
        raise InferenceError(formulas.no_number(plain))
    named = formulas.columns_of(formulas.as_formula(expression), schema.names)
    _require_levels(formulas.as_formula(expression), schema)
    columns = _ordered((*named, *groups), schema)
    return Estimand(kind, formula, columns, expression=expression, groups=groups)


def _shown_by_level(kind: str, name: str, schema: Schema) -> bool:
    """Shares of every column, and totals of one with levels, are given level by level."""
    return kind == "proportion" or (
        kind == "total" and not isinstance(schema.columns[name], NUMERIC)
    )


def _ordered(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    return tuple(name for name in schema.names if name in names)


def _n_ordinary(schema: Schema, columns: tuple[str, ...]) -> int:
    n = 1
    for name in columns:
        n *= schema.columns[name].n_ordinary
    return n


def _labels(schema: Schema, columns: tuple[str, ...]) -> list[str]:
    labels = [""]
    for name in columns:
        column = schema.columns[name]
        parts = [f"{name}[{label}]" for label in column.labels[: column.n_ordinary]]
        labels = [f"{before}:{part}" if before else part for before in labels for part in parts]
    return labels


def _crossed(records: Records, columns: tuple[str, ...], n: int) -> Integers:
    """Cell of each record in the crossing of some columns; meaningless if a state is absent."""
    cells = np.zeros(n, dtype=np.int64)
    for name in columns:
        cells = cells * records.schema.columns[name].n_ordinary + records.states[name]
    return cells
