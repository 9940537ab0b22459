"""Measurements for declared analyses, and the shares of what buys them.

An analysis needs moments of its columns, moments of its terms, or a table of its own. Moments of
columns serve all analyses that rest on the same records, and moments of terms those that are joined
because that costs less.

**Parts.** The noise of a measurement that has the part s of the budget has the variance Δ²/s, Δ
being its sensitivity. The squared width of an answer, over that by sampling alone, is then
1 + gΔ²/s, where g says how much noise widens this answer. The mean of that over all answers is
least where parts are as √(Δ²·Σg), summed over the answers that a measurement serves. Without δ,
variances are (Δ/s)² and parts as the cube root. Two measurements are joined where the joint one has
less of that than both. As g rests on records that are drawn evenly, a weight is at least a third of
the middle one, and at most twice that. The middle is the geometric mean, which a single answer that
seems hopeless moves little: it does not bring the parts of all others down to the least.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final

from understudy.dp.budget import Accounting
from understudy.dp.released import Bins
from understudy.errors import MethodError
from understudy.features.scores import Limits, Weighting
from understudy.inference.declared import (
    GROUPS_SHARE,
    SQUARES_SHARE,
    DeclaredAnalysis,
    by_absences,
    by_tables,
    by_terms,
    columns_of,
    split_halves,
)
from understudy.mechanisms.second_moments import (
    SecondMoments,
    Sensitivity,
    TermMoments,
    WeightedMoments,
)
from understudy.mechanisms.tables import NoisyTables
from understudy.mechanisms.weighted_tables import WeightedTable
from understudy.methods.plan import natural_noise
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.inference.term_moments import NeededTerms

Measured = SecondMoments | TermMoments | WeightedMoments | NoisyTables | WeightedTable
_LEAST, _MOST = 1 / 3, 2.0
"""Weights, over their geometric mean."""
_STEPS: Final = 64  # of a middle weight, so that rounding errors do not decide


def declared_answers(
    analyses: Sequence[DeclaredAnalysis], schema: Schema, accounting: Accounting
) -> tuple[tuple[Measured, Fraction], ...]:
    """Return the measurements that declared analyses need, each with its part of the budget.

    Limits of numbers are not known yet, so these measurements have none.

    Args:
        analyses: declared ones, at least one.
        schema: public.
        accounting: of the budget; it decides on the noise.
    """
    from understudy.workflow.expected_answers import difficulties  # loads statistics

    pure, analyses = accounting == "pure", split_halves(analyses, schema)
    needed = [_measurements_for(one, schema, accounting) for one in analyses]
    hard = difficulties(analyses, schema, needed, pure=pure)
    return share_out(tuple(zip(needed, hard, strict=True)), schema, pure=pure)


def split_weighted(
    analyses: tuple[DeclaredAnalysis, ...], schema: Schema
) -> tuple[tuple[DeclaredAnalysis, ...], tuple[DeclaredAnalysis, ...]]:
    """Declared analyses of which records count with their weights, and the others."""
    if not (schema.design.weight and analyses):
        return (), analyses
    from understudy.inference.question import SAME_AS, WEIGHTED  # loads statistics

    kinds = {one: SAME_AS.get(one.kind, one.kind) in WEIGHTED for one in analyses}
    weighted = tuple(one for one in analyses if kinds[one])
    return weighted, tuple(one for one in analyses if not kinds[one])


def weighted_answers(
    analyses: tuple[DeclaredAnalysis, ...], schema: Schema, every: tuple[str, ...], *, pure: bool
) -> Iterator[tuple[Measured, Fraction]]:
    """What records with weights are measured for, each with its part of what buys it all.

    Everything is measured with weights and with their squares, which tell the variance; and by
    random group, where the design has these. Each analysis has an equal part: of the moments of
    columns that all others share, of those of its terms, or of a table of its own.

    Args:
        analyses: of a kind that has weighted answers; () for moments of all columns.
        schema: public, with a weight.
        every: all columns that have scores.
        pure: whether noise goes by sums of sizes.
    """
    design = schema.design
    weight, bound, groups = design.weight, design.bound(schema.columns), design.groups
    rest, tables = by_tables(analyses, schema)
    plain, needs = by_terms(rest, schema)
    used = columns_of(plain, schema) if analyses else every
    columns = tuple(name for name in used if name not in (weight, groups)) or (weight,)
    of_terms, of_tables = (Fraction(len(own), max(len(analyses), 1)) for own in (needs, tables))
    squares = SQUARES_SHARE / 2 if groups else SQUARES_SHARE
    for power, own in ((1, 1 - squares), (2, squares)):
        weighting = Weighting(weight, bound, power)
        by_group = GROUPS_SHARE if groups and power == 1 else Fraction(0)
        if plain or not (needs or tables):
            part = own * (1 - of_terms - of_tables)
            yield WeightedMoments(columns, weight, bound, power), part * (1 - by_group)
            if by_group:
                yield WeightedMoments(columns, weight, bound, power, groups), part * by_group
        among = tuple(one for one in needs if groups not in one.columns)
        part, known = own * of_terms, by_group * Fraction(len(among), max(len(needs), 1))
        for asked, share in share_out(term_moments(needs, weighting), schema, pure=pure):
            yield asked, share * part * (1 - known)
        if known:
            apart = term_moments(among, replace(weighting, by=groups))
            for asked, share in share_out(apart, schema, pure=pure):
                yield asked, share * part * known
        for table in tables:
            part = own * of_tables / len(tables)
            one = WeightedTable(table.columns, weighting, table.bins, table.groups)
            known = by_group if groups not in table.columns else Fraction(0)
            yield one, part * (1 - known)
            if known:
                cells = tuple(n for n in schema.names if n in (*table.columns, groups))
                yield replace(one, columns=cells), part * known


def term_moments(
    needs: Iterable[NeededTerms], weighting: Weighting | None = None
) -> tuple[tuple[TermMoments, float], ...]:
    """Moments of terms, of which noise is taken to widen each answer alike.

    Args:
        needs: of analyses.
        weighting: factor of all that a record adds.
    """
    return tuple(
        (TermMoments(own.terms, among=own.among, weighting=weighting), 1.0) for own in needs
    )


def cut_off(measured: Measured, limits: Limits) -> Measured:
    """The measurement of numbers cut off at those limits that are of its columns.

    A table counts numbers as they are, and so do weighted moments of columns.
    """
    if isinstance(measured, NoisyTables | WeightedTable | WeightedMoments):
        return measured
    own = {name: ends for name, ends in limits.items() if name in measured.columns}
    return replace(measured, limits=own)


def in_even_bins(measured: Measured, even: Bins) -> Measured:
    """A table that counts some numbers in bins by their lines, where it has none of its own."""
    if not isinstance(measured, NoisyTables):
        return measured
    (columns,) = measured.marginals
    own = {name: bins for name, bins in even.items() if name in columns}
    return replace(measured, bins={**own, **measured.bins})


def share_out(
    needed: Sequence[tuple[Measured, float]], schema: Schema, *, pure: bool
) -> tuple[tuple[Measured, Fraction], ...]:
    """Join measurements where that costs less, and divide what buys them.

    Args:
        needed: by an answer each, with how much noise widens that, g.
        schema: public.
        pure: whether noise goes by sums of sizes.
    """
    groups = [*needed]
    while True:
        gains = dict[tuple[int, int], float]()
        for pair in combinations(range(len(groups)), 2):
            one, other = (groups[k] for k in pair)
            with suppress(MethodError):  # too many scores
                both = _join(one, other, schema)
                if both is not None:
                    apart = _weigh(one, schema, pure=pure) + _weigh(other, schema, pure=pure)
                    gains[pair] = apart - _weigh(both, schema, pure=pure)
        best = max(gains, key=lambda pair: gains[pair], default=None)
        if best is None or gains[best] < 0:
            break
        one, other = (groups[k] for k in best)
        joint = _join(one, other, schema)
        assert joint is not None
        groups = [*(own for k, own in enumerate(groups) if k not in best), joint]
    parts = divide([_weigh(own, schema, pure=pure) for own in groups])
    return tuple((asked, part) for (asked, _), part in zip(groups, parts, strict=True))


def divide(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Parts of a whole by weights, none of them far from the middle one.

    Example:
        >>> [str(part) for part in divide([1.0, 3.0])]
        ['1/4', '3/4']
        >>> [str(part) for part in divide([0.0, 0.0, 9.0])]
        ['21/106', '21/106', '32/53']
    """
    known = [math.log(own) for own in weights if own > 0]
    middle = math.exp(sum(known) / max(len(known), 1))
    near = [min(max(own / middle, _LEAST), _MOST) for own in weights]
    steps = [Fraction(round(_STEPS * own)) for own in near]
    return tuple(own / sum(steps) for own in steps)


def _measurements_for(
    analysis: DeclaredAnalysis, schema: Schema, accounting: Accounting
) -> Measured:
    """Return the measurements that answer one analysis."""
    _, tables = by_tables([analysis], schema)
    for own in tables:
        noise = natural_noise(accounting)
        return NoisyTables((own.columns,), noise, beside=True, bins=own.bins, groups=own.groups)
    _, needs = by_terms([analysis], schema)
    if needs:
        return term_moments(needs)[0][0]
    ((coded, columns),) = by_absences([analysis], schema).items()
    return SecondMoments(columns, coded)


def _join(
    one: tuple[Measured, float], other: tuple[Measured, float], schema: Schema
) -> tuple[Measured, float] | None:
    """One measurement in place of two; None where there is none, as they are of other records."""
    (left, g), (right, h) = one, other
    if isinstance(left, TermMoments) and isinstance(right, TermMoments):
        from understudy.inference.term_moments import NeededTerms  # loads the library of formulas

        needs, others = (NeededTerms(own.terms, own.columns, own.among) for own in (left, right))
        if left.weighting == right.weighting and needs.is_of_same_records(others, schema):
            return replace(left, terms=needs.join(others).terms), g + h
    elif isinstance(left, SecondMoments) and isinstance(right, SecondMoments):
        used = {*left.columns, *right.columns}
        if left.complete == right.complete:
            columns = tuple(name for name in schema.names if name in used)
            return SecondMoments(columns, left.complete), g + h
    return (left, g + h) if left == right else None


def _weigh(asked: tuple[Measured, float], schema: Schema, *, pure: bool) -> float:
    """Return the weight of a measurement in the budget, over what others have."""
    measured, g = asked
    if isinstance(measured, NoisyTables | WeightedTable):
        added = schema.neighbours == "add_remove"
        squared = float(1 if added else 4 if pure else 2)
    else:
        assert not isinstance(measured, WeightedMoments)  # these are bought for all at once
        own = Sensitivity.of(schema, measured.scores(schema, pure=pure))
        squared = float(own.l1**2 if pure else own.squared_l2)
    return float((squared * g) ** (1 / 3 if pure else 1 / 2))
