"""Questions: the kind of an estimate and the columns it is about.

Means, shares, cross-tabulations and totals have one form. Each record adds a value to one of k
quantities, and belongs to one group: a ratio is the sum of the values of a quantity over the number
of records in its group. `Estimand.scores` says this for records, be they those of a synthetic set
or points that stand for the cells of a noisy table.

**Questions about derived columns, put as questions about the columns that they are computed from.**

A derived column was not measured. What a release knows of it is what it knows of the others, so a
formula that names it is asked with its rule written out: `mean bmi` as the mean of
`weight / height ** 2`, `proportion adult` as that of `age >= 18`, and `group == "old"` as the
condition on the number or level behind it. The answer, and whether there is one, then follow from
what was measured of these. It is one about the rule: numbers are not rounded or clipped.

What has levels by a rule cannot be written out where its levels are groups of their own, to cross
or to compare; such questions are refused with what to ask instead.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from understudy._arrays import Floats, Integers
from understudy.errors import InferenceError, nearest
from understudy.inference import formulas
from understudy.inference.records import ABSENT, Records, is_binned, is_grouping, level_values
from understudy.schema import NUMERIC, Boolean, Categorical, Column, Ordinal, Schema
from understudy.schema.base import Code, LevelMap
from understudy.schema.derived import rule_text
from understudy.schema.expressions import (
    BRACED,
    NAME,
    Expression,
    join_conditions,
    level_state,
    level_test,
    names_in,
    places_as_times,
    python_tree,
    quote_name,
    read_name,
    split_outside,
    times_as_places,
    tree_text,
    with_condition,
    without_braces,
)

_PYTHON: Final = re.compile(rf"({BRACED})|([A-Za-z_][\w.]*\()|({NAME})|(.)", re.DOTALL)
_OF_EXPRESSIONS: Final = ("mean", "std", "gini", "quantile", "total", "proportion")


def derived_in(formula: str, schema: Schema) -> tuple[str, ...]:
    """Derived columns that a formula names, in the order of the release."""
    if not schema.derived:
        return ()
    words = names_in(formula)
    return tuple(name for name in schema.derived if name in words)


def rule_notes(formula: str, schema: Schema) -> tuple[str, ...]:
    """Describe the derived columns that were asked for, a sentence each."""
    said = []
    for name in derived_in(formula, schema):
        column = schema.derived[name]
        before = ", before rounding and clipping" if isinstance(column, NUMERIC) else ""
        said.append(
            f"{name} was not measured: it is computed by the rule {rule_text(column)}, and the "
            f"answer is about that rule{before}."
        )
    return tuple(said)


def written_out(kind: str, formula: str, schema: Schema) -> str:
    """The formula with derived columns replaced by their rules, and texts of times by numbers.

    Args:
        kind: of the question; those of an expression, "x ~ groups", have no braces around it.
        formula: as it was asked.
        schema: of the release.

    Raises:
        InferenceError: a derived column with levels stands where no rule can be written; or a
            column of numbers or times is compared with a text that is none.
    """
    try:
        formula = times_as_places(formula, schema.stated)
    except ValueError as error:
        raise InferenceError(f"The formula {formula!r} {error}.") from None
    if not derived_in(formula, schema):
        return formula
    if kind not in _OF_EXPRESSIONS:
        if kind == "table":
            refuse_derived(formula, schema)
        return "".join(_formula(formula, schema))
    left, *right = split_outside(formula, "~")
    refuse_derived(" ~ ".join(right), schema)
    return " ~ ".join([_python(without_braces(left), schema), *right])


def refuse_derived(formula: str, schema: Schema) -> None:
    """Refuse derived columns where columns are taken as they are: by functions, and as groups.

    Raises:
        InferenceError: the formula names one.
    """
    for name in derived_in(formula, schema):
        raise InferenceError(_refusal(name, schema))


def _formula(text: str, schema: Schema) -> Iterator[str]:
    """A formula piece by piece: what is in braces or in a call is an expression, a name a term."""
    place = 0
    while place < len(text):
        match = _PYTHON.match(text, place)
        assert match is not None
        place = match.end()
        braces, call, name, _ = match.groups()
        if braces:
            yield f"{{{_python(braces[1:-1], schema)}}}"
        elif call:
            place = _find_closing(text, place)
            yield _python(text[match.start() : place], schema)
        elif name and read_name(name) in schema.derived:
            yield f"{{{_python(name, schema)}}}"
        else:
            yield match.group()


def _find_closing(text: str, place: int) -> int:
    """The place behind the parenthesis that closes one."""
    depth = 1
    while depth and place < len(text):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


def _python(code: str, schema: Schema) -> str:
    """An expression with the rules written out; as it is where it cannot be read, or names none."""
    if not derived_in(code, schema):
        return code
    try:
        tree = python_tree(code)
    except (SyntaxError, ValueError):
        return code
    return tree_text(_WrittenOut(schema).visit(tree))


class _WrittenOut(ast.NodeTransformer):
    """Replaces derived columns by their rules."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = [self.visit(arg) for arg in node.args]
        return ast.Call(node.func, called, [self.visit(word) for word in node.keywords])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        column = self._schema.derived.get(node.id)
        if column is None:
            return node
        if isinstance(column.derived, LevelMap) or Expression.read(column.derived or "").cuts:
            raise InferenceError(_refusal(node.id, self._schema))
        return self._rule(column)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        test = level_test(node)
        column = None if test is None else self._schema.derived.get(test[0])
        if test is None or column is None:
            return self.generic_visit(node)
        try:
            condition = self._condition(test[0], column, test[1])
        except ValueError as error:
            raise InferenceError(f"The formula {error}.") from None
        if condition is None:
            return self.generic_visit(node)
        if isinstance(node.ops[0], ast.NotEq):
            return ast.Compare(condition, [ast.Eq()], [ast.Constant(value=False)])
        return condition

    def _condition(self, name: str, column: Column, value: Code) -> ast.expr | None:
        """Return the condition for a level of a derived column; None for a number."""
        rule = column.derived
        if isinstance(rule, LevelMap):
            labels = column.labels
            wanted = rule.levels.get(labels[level_state(name, column, value)], ())
            return _any([_test(rule.of, ast.Eq(), level) for level in wanted], self)
        expression = Expression.read(rule or "")
        if not expression.cuts:
            return None
        state = level_state(name, column, value)
        number = cast(ast.Call, expression.tree).args[0]
        inner = self.visit(number)
        ends = [
            ast.Compare(inner, [op], [ast.Constant(value=cut)])
            for op, cut in (
                *([(ast.GtE(), expression.cuts[state - 1])] if state > 0 else []),
                *([(ast.Lt(), expression.cuts[state])] if state < len(expression.cuts) else []),
            )
        ]
        return ends[0] if len(ends) == 1 else ast.BinOp(ends[0], ast.BitAnd(), ends[1])

    def _rule(self, column: Column) -> ast.AST:
        assert isinstance(column.derived, str)
        rule: ast.AST = self.visit(Expression.read(column.derived).tree)
        return rule


def _test(name: str, comparison: ast.cmpop, value: Code) -> ast.expr:
    return ast.Compare(ast.Name(name, ast.Load()), [comparison], [ast.Constant(value=value)])  # type: ignore[arg-type]


def _any(tests: Sequence[ast.expr], visitor: ast.NodeTransformer) -> ast.expr:
    whole: ast.expr = visitor.visit(tests[0])
    for test in tests[1:]:
        whole = ast.BinOp(whole, ast.BitOr(), visitor.visit(test))
    return whole


def _refusal(name: str, schema: Schema) -> str:
    column = schema.derived[name]
    example = "" if isinstance(column, Boolean) else _example(name, column)
    return (
        f"The column {name!r} is derived by the rule {rule_text(column)}, and was not measured, so "
        f"this cannot be asked of it; ask about the columns of the rule{example}."
    )


def _example(name: str, column: Column) -> str:
    shown = quote_name(name)
    if isinstance(column, NUMERIC):
        return ""
    return f", or for the share of one level, proportion of {shown} == {column.levels[0]!r}"


SHARES: Final = ("proportion", "table")
RATIOS: Final = ("mean", *SHARES)
MODELS: Final = ("ols", "logit", "poisson")
TWO_WAY: Final = ("odds-ratio", "independence")
OF_GROUPS: Final = ("standardised-difference", "ratio")
SAME_AS: Final = {"median": "quantile", "count": "total"}
"""Kinds that are another by a name of their own: of probability 0.5, and of what is 1 or 0."""
BOUNDED: Final = (*RATIOS, "total", "quantile")
"""Kinds whose answers a few records change by a bounded amount: each adds the value of one
expression, or counts as one of a level."""
KINDS: Final = (
    *RATIOS,
    "total",
    "count",
    "quantile",
    "median",
    "std",
    "gini",
    "correlation",
    *TWO_WAY,
    *OF_GROUPS,
    *MODELS,
)
WEIGHTED: Final = (*RATIOS, "total", "ols")
"""Kinds that have answers for the population, where records have weights."""
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
    for kind, (name, what, _) in {
        **_TWO_TERMS,
        "std": ("a standard deviation", "second moments of the number, or its fine histogram", ""),
        "gini": ("a Gini coefficient", "the fine histogram of a column", ""),
    }.items()
}
"""Kinds that no rule of sets answers, and what is said where a release has no measurement."""


@dataclass(frozen=True)
class Scores:
    """The contribution of each record to each quantity.

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
        kind: one of `KINDS`; of `SAME_AS` the other one.
        formula: as it was written.
        columns: every column that it names, in the order of the schema.
        expression: number or condition whose mean, total or quantile is asked for; "" for none.
        levels: columns whose levels (bins, for numeric columns) are the quantities.
        groups: columns whose levels are the groups.
        probability: of a quantile.
        called: the kind as it was asked for; "" for `kind`.
        where: condition; records that do not meet it count as absent. "" for all.
        split: condition by which records are two more groups: those that meet it, and the others.
    """

    kind: str
    formula: str
    columns: tuple[str, ...]
    expression: str = ""
    levels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    probability: float = 0.5
    called: str = ""
    where: str = ""
    split: str = ""

    @property
    def text(self) -> str:
        """Kind, probability, formula and condition, as they are asked for."""
        return f"{self.called or self.kind} {with_condition(self.stated, self.where)}"

    @property
    def stated(self) -> str:
        """The formula, with the probability of a quantile in front unless it is one half."""
        return self.formula if self.probability == 0.5 else f"{self.probability} {self.formula}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions by which a record counts, and in which group."""
        return tuple(filter(None, (self.where, self.split)))

    @property
    def halves(self) -> tuple[Estimand, ...]:
        """Of what is asked by a condition: the same of those that meet it, and the others.

        Of means, deviations, and totals of an expression.
        """
        summed = self.kind in ("mean", "std") or (self.kind == "total" and self.expression)
        if not (self.split and summed):
            return ()
        left = f"{self.expression} ~ {' + '.join(map(quote_name, self.groups))}"
        bare = replace(self, split="", formula=left if self.groups else self.expression)
        both = (f"({self.split})", f"~({self.split})")
        whole = f"({self.where}) & " if self.where else ""
        return tuple(replace(bare, where=f"{whole}{condition}") for condition in both)

    def scores(self, records: Records) -> Scores:
        """Score what each record adds to which quantity.

        Args:
            records: with all `columns` of the estimand.

        Raises:
            InferenceError: the expression cannot be computed.
        """
        asked = records.complete() & _holds(self.where, records)
        n = len(asked)
        group = _cross_columns(records, self.groups, n)
        n_groups = _n_ordinary(records.schema, self.groups)
        if self.split:
            group, n_groups = 2 * group + ~_holds(self.split, records), 2 * n_groups
        level = _cross_columns(records, self.levels, n)
        n_levels = _n_ordinary(records.schema, self.levels)
        value = np.zeros(n)
        value[asked] = self._values(records.take(asked)) if asked.any() else 0.0
        return Scores(
            names=self.names(records.schema),
            group_of=np.repeat(np.arange(n_groups), n_levels),
            quantity=np.where(asked, group * n_levels + level, ABSENT),
            value=value,
        )

    def select(self, records: Records) -> Records:
        """Those of some complete records that meet the condition."""
        return records.take(_holds(self.where, records)) if self.where else records

    def alone(self) -> Estimand:
        """The expression by itself, of the records that it can be computed of."""
        used = self.used
        own = self.where and set(_condition_columns(self.where, self.columns)) <= set(used)
        where = self.where if own else ""
        return replace(self, columns=used, levels=(), groups=(), where=where, split="")

    def names(self, schema: Schema) -> tuple[str, ...]:
        """Names of the quantities of `scores`: the levels of a group run fastest."""
        levels = _labels(schema, self.levels) if self.levels else [self._what()]
        groups = _labels(schema, self.groups)
        if self.split:
            parts = self.split, f"not {self.split}"
            groups = [f"{before}:{part}".lstrip(":") for before in groups for part in parts]
        named = (f"{level} | {group}" if group else level for group in groups for level in levels)
        return tuple(places_as_times(name, schema.columns) for name in named)

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the expression."""
        if not self.expression:
            return ()
        return formulas.columns_of(formulas.as_formula(self.expression), self.columns)

    def _what(self) -> str:
        if self.kind == "std":
            return f"standard deviation of {self.expression}"
        if self.kind == "gini":
            return f"Gini coefficient of {self.expression}"
        if self.called == "median":
            return f"median of {self.expression}"
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
        counted = self.called == "count"
        if (self.kind in SHARES or counted) and not np.isin(values, (0.0, 1.0)).all():
            raise InferenceError(
                f"A {'count' if counted else 'proportion'} needs a column or a condition that is "
                f"true or false, and {self.expression!r} has other values; write such as "
                f"'income > 0', or take the kind {'total' if counted else 'mean'}."
            )
        return values


def parse(kind: str, formula: str, schema: Schema, *, probability: float = 0.5) -> Estimand:
    """Read a question to a release.

    Args:
        kind: one of `KINDS`.
        formula: for mean, std, gini, quantile, median and total an expression, `log(income + 1)`,
            or one by groups, `income ~ sex + region`; for proportion and count a column or a
            condition, also by groups; for table the columns to cross, `sex + region`; for models a
            formula. Behind it may stand "where" and a condition: other records count as absent.
            In front of a quantile may stand its probability, `0.9 income ~ sex`.
        schema: the release's schema.
        probability: of a quantile that does not name its own, in (0, 1).

    Raises:
        InferenceError: unknown kind or name, a formula that cannot be read, or one that does not
            fit the kind.
    """
    if kind not in KINDS:
        raise InferenceError(
            f"Expected a kind among {', '.join(KINDS)}, got {kind!r}.{_suggest_kind(str(kind))}"
        )
    try:
        return _read(kind, formula, schema, probability)
    except InferenceError:
        if slip := formulas.find_slip(formula, schema):
            raise InferenceError(f"The formula {formula!r} cannot be read: {slip}") from None
        raise


def _read(kind: str, formula: str, schema: Schema, probability: float) -> Estimand:
    if kind == "quantile":
        stated, formula = split_probability(formula)
        if stated is not None and probability not in (0.5, stated):
            raise InferenceError(
                f"The formula names the probability {stated}, and {probability} is given beside "
                "it; leave one of them out."
            )
        probability = probability if stated is None else stated
    if not 0 < probability < 1:
        raise InferenceError(f"Expected a probability between 0 and 1, got {probability!r}.")
    if kind == "median" and probability != 0.5:
        raise InferenceError("A median has the probability 0.5; take the kind quantile for others.")
    read = _model if kind in MODELS else _of_two if kind in _TWO_TERMS else _linear
    bare, where = split_condition(formula, schema)
    bare, where = _joined_parts(kind, bare), join_conditions(where)
    if where and kind in OF_GROUPS:
        raise InferenceError(f"The kind {kind} is of all records; leave 'where {where}' out.")
    estimand = read(kind, written_out(SAME_AS.get(kind, kind), bare, schema), schema)
    if not estimand.columns or (estimand.expression and not estimand.used):
        raise InferenceError(f"The formula {formula!r} asks of no column of the release.")
    own = SAME_AS.get(kind, kind)
    estimand = replace(estimand, kind=own, called=kind, probability=probability)
    if not where:
        _require_few(estimand, schema)
        return estimand
    where = written_out("proportion", where, schema)
    named = _condition_columns(where, schema.names)
    if not named:
        raise InferenceError(f"The condition {where!r} names no column of the release.")
    _require_levels(formulas.as_formula(where), schema)
    columns = _order_names((*estimand.columns, *named), schema)
    estimand = replace(estimand, columns=columns, where=where)
    _require_few(estimand, schema)
    return estimand


_PROBABILITY: Final = re.compile(r"\s*(0?\.\d+)\s+(?=[\w`({])")


def split_probability(formula: str) -> tuple[float | None, str]:
    """Split the formula of a quantile into its probability, if it names one, and the rest.

    Example:
        >>> split_probability("0.9 income ~ sex"), split_probability("0.5 * income")
        ((0.9, 'income ~ sex'), (None, '0.5 * income'))
    """
    found = _PROBABILITY.match(formula)
    return (float(found[1]), formula[found.end() :]) if found else (None, formula)


def _joined_parts(kind: str, formula: str) -> str:
    """A formula with & and | for `and` and `or`, in its left side and in braces on the right.

    What is computed from columns stands in braces, where a formula would read its signs as terms.
    """
    left, *right = split_outside(formula, "~")
    if kind in MODELS:
        left = formulas.as_term(left)
    elif kind in _TWO_TERMS and kind not in OF_GROUPS and not right:
        left = " + ".join(map(formulas.as_term, split_outside(left, "+")))
        return _with_joined_braces(left)
    own = without_braces(left)
    found = join_conditions(own)
    if found != own:
        left = f"{{{found}}}" if right or own != left else found
    return " ~ ".join([left, *map(_with_joined_braces, right)])


def _with_joined_braces(terms: str) -> str:
    return re.sub(BRACED, lambda found: f"{{{join_conditions(found[0][1:-1])}}}", terms)


_CONDITION: Final = re.compile(
    r"(?P<formula>(?:`[^`]*`|'[^']*'|\"[^\"]*\"|[^`'\"])*?)\swhere\s+(?P<where>\S.*)", re.DOTALL
)


def split_condition(formula: str, schema: Schema) -> tuple[str, str]:
    """Split "formula where condition" in two; the condition is "" if there is none.

    Example:
        >>> from understudy.demo import demo_schema
        >>> split_condition("affairs ~ religious where {age >= 32}", demo_schema())
        ('affairs ~ religious', 'age >= 32')
    """
    found = _CONDITION.fullmatch(formula)
    if found is None or ("where" in schema.names and found["where"][0] in "+-*/:~)<>=!&|,"):
        return formula, ""
    return found["formula"], without_braces(found["where"])


def _condition_columns(where: str, known: Iterable[str]) -> tuple[str, ...]:
    return formulas.columns_of(formulas.as_formula(where), known)


def _holds(condition: str, records: Records) -> NDArray[np.bool_]:
    """Tell whether each record meets a condition; an incomplete one does not, shape (n,).

    Raises:
        InferenceError: it is neither true nor false.
    """
    complete = records.complete()
    if not condition or not complete.any():
        return complete
    values = formulas.evaluate(condition, records.take(complete).frame())
    if not np.isin(values, (0.0, 1.0)).all():
        raise InferenceError(f"Expected a condition that is true or false, got {condition!r}.")
    holds = np.zeros(len(complete), dtype=np.bool_)
    holds[complete] = values == 1
    return holds


_SYNONYMS: Final = {
    "quantile": "percentile percentiles quartile quartiles decile deciles",
    "mean": "average avg",
    "proportion": "share shares percentage percent fraction frequency prevalence rate",
    "table": "crosstab crosstabs tabulate tabulation contingency",
    "count": "counts frequencies number n",
    "median": "med",
    "std": "sd stdev standard-deviation",
    "gini": "gini-coefficient gini-index inequality",
    "total": "sum",
    "correlation": "cor corr pearson",
    "independence": "chisq chi2 chi-squared",
    "odds-ratio": "or oddsratio",
    "standardised-difference": "smd cohens-d cohen standardized-difference",
    "ols": "lm linear regression linear-regression",
    "logit": "logistic logistic-regression glm binomial",
}
"""Kinds, each with other words for it, whose spelling may be near another kind's."""


def _suggest_kind(kind: str) -> str:
    """Suggest in a sentence what was meant by a kind that there is not; "" if nothing is close."""
    word = kind.strip().casefold().replace("_", "-").replace(" ", "-")
    close = next((one for one, words in _SYNONYMS.items() if word in words.split()), None)
    close = close or nearest(kind, KINDS)
    return f" Did you mean {close!r}?" if close else ""


def _model(kind: str, formula: str, schema: Schema) -> Estimand:
    left, *right = split_outside(formula, "~")
    if not left or len(right) != 1 or not right[0]:
        raise InferenceError(
            f"The kind {kind} needs an outcome and predictors, such as 'income ~ age + C(region)'; "
            f"got {formula!r}."
        )
    columns = formulas.columns_of(formula, schema.names)
    _require_levels(formula, schema)
    outcome = read_name(left)
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
    groups, numbers = group_terms(kind, formula)
    columns = formulas.columns_of(formula, schema.names)
    _require_levels(formula, schema)
    for term in numbers:
        column = schema.columns.get(read_name(term))
        if column is not None and is_grouping(column):
            raise InferenceError(formulas.no_number(term))
    for term in groups:
        column = schema.columns.get(read_name(term))
        many = column is not None and (is_binned(column) or column.n_ordinary != 2)
        if many and kind != "independence":
            raise InferenceError(formulas.not_two(term))
    named = [set(formulas.columns_of(formulas.as_formula(t), columns)) for t in (*groups, *numbers)]
    if kind != "correlation" and named[0] & named[1]:
        raise InferenceError(_same_on_both_sides(formula, named[0] & named[1]))
    return Estimand(kind, formula, columns)


def _same_on_both_sides(formula: str, names: Collection[str]) -> str:
    return (
        f"Both sides of {formula!r} are about {min(names)!r}; take another column on one of them."
    )


def group_terms(kind: str, formula: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups, and the numbers, that a kind of `MEASURED_ONLY` is about.

    Raises:
        InferenceError: the formula has not two terms.
    """
    left, right = formulas.split_groups(formula) if kind in OF_GROUPS else ("", formula)
    terms = formulas.split_terms(right) if right and len(split_outside(right, "~")) == 1 else ()
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
        levels = formulas.read_crossing(formula, schema.names)
        estimand = Estimand(kind, formula, _order_names(levels, schema), levels=levels)
    else:
        estimand = _by_groups(kind, formula, schema)
    return estimand


def _require_few(estimand: Estimand, schema: Schema) -> None:
    """Refuse more numbers than fit, counted after the condition.

    Raises:
        InferenceError: there are more.
    """
    sizes = _asked_sizes(estimand, schema)
    numbers = math.prod(sizes.values()) * (2 if estimand.split else 1)
    if numbers > MOST_QUANTITIES:
        largest = max(sizes, key=lambda name: sizes[name])
        fits = MOST_QUANTITIES * sizes[largest] // numbers
        raise InferenceError(
            f"The formula {estimand.formula!r} asks for more than {MOST_QUANTITIES:,} numbers; "
            f"cross fewer columns, or merge levels or bins of {largest}: it has "
            f"{sizes[largest]:,}, and {fits:,} at most would fit."
        )


def _asked_sizes(estimand: Estimand, schema: Schema) -> dict[str, int]:
    """Count the states of each crossed column that a record of the condition may have."""
    crossed = (*estimand.levels, *estimand.groups)
    sizes = {name: schema.columns[name].n_ordinary for name in crossed}
    counted = estimand.kind in (*SHARES, "quantile") or estimand.called == "count"
    if not (counted and is_of_many(estimand, schema)):  # others have no table of their own
        return sizes
    required = [*formulas.required_conditions(estimand.where, schema.names)]
    for name in crossed:
        column = schema.columns[name]
        if isinstance(column, Categorical | Ordinal):
            part = schema.part([name])
            records = Records(part, {name: np.arange(column.n_ordinary)}, {})
            met = [_holds(text, records) for own, text in required if own == name]
            sizes[name] = max(int(np.logical_and.reduce(met).sum()), 1) if met else sizes[name]
    return sizes


OF_MANY: Final = (
    "without its condition it asks for more numbers than are answered at once, so only a table of "
    "its own has the answer"
)


def is_of_many(estimand: Estimand, schema: Schema) -> bool:
    """Return whether only a table of its own, of what its condition leaves, has few numbers.

    Args:
        estimand: a question.
        schema: of its columns.
    """
    crossed = (*estimand.levels, *estimand.groups)
    return _n_ordinary(schema, crossed) * (2 if estimand.split else 1) > MOST_QUANTITIES


def _by_groups(kind: str, formula: str, schema: Schema) -> Estimand:
    expression, right = formulas.split_groups(formula)
    groups, split = _read_groups(right, schema)
    by = (*groups, *(_condition_columns(split, schema.names) if split else ()))
    plain = read_name(expression)
    if plain in schema.columns and _shown_by_level(kind, plain, schema):
        if plain in groups:
            raise InferenceError(_same_on_both_sides(formula, {plain}))
        columns = _order_names((plain, *by), schema)
        return Estimand(kind, formula, columns, levels=(plain,), groups=groups, split=split)
    if plain in schema.columns and is_grouping(schema.columns[plain]):
        raise InferenceError(formulas.no_number(plain))
    named = formulas.columns_of(formulas.as_formula(expression), schema.names)
    _require_levels(formulas.as_formula(expression), schema)
    if {*named} & {*groups}:
        raise InferenceError(_same_on_both_sides(formula, {*named} & {*groups}))
    columns = _order_names((*named, *by), schema)
    return Estimand(kind, formula, columns, expression=expression, groups=groups, split=split)


def _read_groups(text: str, schema: Schema) -> tuple[tuple[str, ...], str]:
    """Columns of "a + b", and the one condition that may stand in braces among them."""
    if "{" not in text:
        return (formulas.read_crossing(text, schema.names) if text else ()), ""
    terms = formulas.split_terms(text)
    conditions = [term for term in terms if read_name(term) not in schema.names]
    if len(conditions) > 1:
        raise InferenceError(
            f"Groups are columns and at most one condition, got {text!r}; cross them in one "
            "condition, such as {(age >= 65) & works}."
        )
    formulas.columns_of(text, schema.names)
    _require_levels(text, schema)
    split = conditions[0] if conditions else ""
    return tuple(read_name(term) for term in terms if term not in conditions), split


def _shown_by_level(kind: str, name: str, schema: Schema) -> bool:
    """Shares and counts of every column, and totals of one with levels, are given by level."""
    return kind in ("proportion", "count") or (
        kind == "total" and not isinstance(schema.columns[name], NUMERIC)
    )


def _order_names(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
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


def _cross_columns(records: Records, columns: tuple[str, ...], n: int) -> Integers:
    """Cell of each record in the crossing of some columns; meaningless if a state is absent."""
    cells = np.zeros(n, dtype=np.int64)
    for name in columns:
        cells = cells * records.schema.columns[name].n_ordinary + records.states[name]
    return cells
