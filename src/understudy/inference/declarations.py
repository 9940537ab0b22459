"""Which declaration would have bought an answer that is refused, and what can be asked instead.

A declared analysis gets second moments of its columns alone, for half of the budget. Whether these
would answer follows from the noise that they would have, which is exact, and from the records, for
which the synthetic ones stand: the same estimate is made of their moments, with half as much noise
again, since the records of another release differ. So what is advised is expected, not promised.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from understudy.dp.budget import UNITS, Approximate, Budget
from understudy.dp.confidential import terms_of
from understudy.errors import BudgetError, InferenceError, MethodError
from understudy.inference import formulas
from understudy.inference.estimators import Question
from understudy.inference.measured_answers import matrix_answer
from understudy.inference.question import MEASURED_ONLY, MODELS, RATIOS, Estimand
from understudy.inference.records import Records
from understudy.inference.refusals import EPSILONS, Advice, RefusedError
from understudy.inference.second_moments import LostInNoiseError, assumed_moments, joined_matrix
from understudy.mechanisms.second_moments import SecondMoments
from understudy.release.release import Release

_BY_MOMENTS = (*RATIOS, *MODELS, *MEASURED_ONLY)
_SHARE = Fraction(1, 2)  # of the rest of the budget buys what is declared
_MARGIN = 1.5  # times the noise
_MOST_TRIED, _MOST_INSTEAD = 4, 2


def add_advice(
    error: RefusedError, release: Release, question: Question, answer: Callable[[Question], object]
) -> RefusedError:
    """A refusal that names the declaration, if one would help, and what can be asked instead.

    Args:
        error: the refusal.
        release: that refuses.
        question: that it was asked.
        answer: asks another one of the same release.
    """
    if not isinstance(question.asked, Estimand):
        return error
    declared = declaration(release, question.asked)
    old = error.advice
    if old is not None and old.kind in ("bounds", "count", "domain"):  # no declaration helps
        return error
    if declared is None or (old is not None and _is_easier(old, declared, release)):
        declared = old
    instead = _instead(release, question.asked, answer)
    return RefusedError(error.reason, declared, anyway=error.anyway, instead=instead)


def declaration(release: Release, estimand: Estimand) -> Advice | None:
    """The declaration that is expected to buy an answer, at the least ε; None if none does.

    Args:
        release: whose δ, schema and records count; ε is its own at least.
        estimand: the question.
    """
    stated = release.manifest.budget
    if estimand.kind not in _BY_MOMENTS or "epsilon" not in stated:
        return None
    own = stated["epsilon"]
    epsilons = [own, *(epsilon for epsilon in EPSILONS if Fraction(epsilon) > Fraction(own))]
    try:
        least = bisect_left(
            epsilons, True, key=lambda epsilon: _answers(release, estimand, epsilon)
        )
    except (InferenceError, MethodError, BudgetError):
        return None
    if least == len(epsilons):
        return None
    return Advice(
        "declare",
        estimand.columns,
        epsilon=epsilons[least],
        analysis=f"{estimand.kind} {estimand.formula}",
        delta=stated.get("delta", "0"),
    )


def _answers(release: Release, estimand: Estimand, epsilon: str) -> bool:
    """Return whether second moments at so much ε answer; they do at more, if they do at some.

    Raises:
        InferenceError: they would not without noise either.
    """
    schema, columns = release.schema, estimand.columns
    coded = tuple(name for name in columns if schema.columns[name].codes)
    stated = release.manifest.budget
    unit: Approximate = "gdp" if stated.get("unit") == UNITS["gdp"] else "zcdp"
    budget = Budget.of(epsilon, stated.get("delta", "0"), unit)
    rows = Fraction(release.manifest.rows_share or 0) if schema.rows == "private" else Fraction(0)
    spend = budget.amount * (1 - rows) * _SHARE
    asked = SecondMoments(columns, coded)
    (charge,) = asked.price(terms_of(schema, budget), spend)
    stddev = _MARGIN * charge.recorded.stddev
    table = release.tables[0]
    known = [Records.complete_of(table, schema, columns)]
    if any(table[name].n_unique() < 2 for name in columns):
        raise InferenceError("Records that do not vary say nothing of what moments would.")
    pure = charge.parameter.pure
    source = assumed_moments(schema, table, asked, columns, stddev, pure=pure)
    matrix = joined_matrix([source], schema, columns, (float(table.height), 0.0))
    try:
        found = None if matrix is None else matrix_answer(estimand, matrix, schema, known)
    except LostInNoiseError:
        return False
    if found is None:
        raise InferenceError("Second moments have no answer.")
    return not np.isnan(found.pooled.estimate).any()  # a group may be lost


def _is_easier(old: Advice, declared: Advice, release: Release) -> bool:
    """Return whether what is advised already needs less than the declaration."""
    if old.kind == "rules":
        return True
    own = Fraction(release.manifest.budget["epsilon"])
    least = Fraction(old.epsilon) if old.epsilon else own
    return least < Fraction(declared.epsilon)


def _instead(
    release: Release, estimand: Estimand, answer: Callable[[Question], object]
) -> tuple[str, ...]:
    """Nearby questions with fewer columns that the release answers."""
    found: list[str] = []
    for tried, (kind, formula) in enumerate(_nearby(estimand)):
        if tried == _MOST_TRIED or len(found) == _MOST_INSTEAD:
            break
        try:
            asked = Question.of(kind, formula, release.schema, probability=estimand.probability)
            answer(asked)
        except InferenceError:
            continue
        found.append(f"{kind} {formula}")
    return tuple(found)


def _nearby(estimand: Estimand) -> Iterator[tuple[str, str]]:
    """The same question of fewer columns, the most alike first."""
    if estimand.kind in MODELS:
        outcome, _, right = estimand.formula.partition("~")
        terms = formulas.split_terms(right)
        if len(terms) > 1:
            for left_out in reversed(range(len(terms))):
                kept = [term for k, term in enumerate(terms) if k != left_out]
                yield estimand.kind, f"{outcome.strip()} ~ {' + '.join(kept)}"
    elif estimand.kind != "correlation" and estimand.groups:
        left = estimand.formula.partition("~")[0].strip()
        for group in estimand.groups if len(estimand.groups) > 1 else ():
            yield estimand.kind, f"{left} ~ {formulas.quote_name(group)}"
        yield estimand.kind, left
    elif len(estimand.levels) > 1:
        for name in estimand.levels:
            yield "proportion", formulas.quote_name(name)
