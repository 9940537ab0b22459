"""The members of units, as questions see them: one flat table, slots of the wide one, and moments.

A sum over all members is a sum over slots of sums over units. So what second moments say of members
is the sum of what they say of each slot (`SlotMoments`): one matrix a slot, whose rows are named as
in the members' table, side by side in a block-diagonal matrix. All blocks are functions of the same
released numbers, so the noise of a sum over slots is exact, whatever they share.

**Members of one unit are alike**, so the sampling error of an estimate is one of units: with the
influence e of each member, the variance is Σ (Σ e)², the inner sum over the members of a unit. Its
shape is that of the synthetic units (`cluster_factors`). Where second moments plainly show members
more alike, theirs counts: with correlation ρ of residuals within units, the variance of an estimate
with weights z of the members grows by ρ Σ z z' over pairs of members, in parts of Σ z².

Source: linearised variances of clustered samples, Binder (1983), "On the variances of
asymptotically normal estimators from complex surveys", International Statistical Review 51; the
growth by ρ is Kish's (1965, Survey Sampling, section 5.4) design effect with weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.linalg import block_diag

from understudy._arrays import Floats, Integers
from understudy.inference.question import MODELS, RATIOS
from understudy.inference.records import Records
from understudy.inference.second_moments import Basis, MomentMatrix, Together
from understudy.release.households import members_of
from understudy.schema import Rule, Schema
from understudy.schema.expressions import names_in
from understudy.schema.geography import Geography
from understudy.schema.households import NO_MEMBER, Members, slot_column, state_of_nobody


@dataclass(frozen=True, eq=False)
class SlotMoments:
    """Second moments of members, a block a slot.

    Attributes:
        joint: second moments of all columns of all slots.
        parts: those of each slot, with rows named as in the members' table; all have the released
            numbers of `joint`.
        schemas: of the columns of each slot, under their names in the members' table.
        rows: of each slot in `joint`, a tuple of arrays of shape (R_j,).
        shared: columns of units, whose rows are those of every slot.
    """

    joint: MomentMatrix
    parts: tuple[MomentMatrix, ...]
    schemas: tuple[Schema, ...]
    rows: tuple[Integers, ...]
    shared: tuple[str, ...]

    @classmethod
    def of(
        cls,
        joint: MomentMatrix,
        names: Sequence[Mapping[str, str]],
        schemas: Sequence[Schema],
    ) -> SlotMoments:
        """The blocks of some slots.

        Args:
            joint: second moments of all columns of all slots.
            names: of each slot: column of `joint` → its name in the members' table.
            schemas: as above.
        """
        found = [_part(joint, own) for own in names]
        parts, rows = tuple(one for one, _ in found), tuple(rows for _, rows in found)
        shared = tuple(name for name in names[0] if all(name in own for own in names[1:]))
        return cls(joint, parts, tuple(schemas), rows, shared)

    @cached_property
    def sums(self) -> Floats:
        """The block-diagonal matrix, shape (R, R) with R = Σ R_j."""
        return np.asarray(block_diag(*(part.sums for part in self.parts)))

    @cached_property
    def constant(self) -> Floats:
        """Weights of 1 for each member, shape (R,)."""
        return np.concatenate([part.constant for part in self.parts])

    @property
    def n(self) -> float:
        """Number of members that count."""
        return sum(part.n for part in self.parts)

    @property
    def numbers(self) -> Floats:
        """As released."""
        return self.joint.numbers

    @property
    def together(self) -> Together | None:
        """Released numbers whose noise goes together."""
        return self.joint.together

    @property
    def cases(self) -> object:
        """The moments of members with a value of some columns; None for all members."""
        return next((part.cases for part in self.parts if part.cases is not None), None)

    @cached_property
    def _spans(self) -> list[slice]:
        """Where the rows of each slot stand."""
        ends = itertools.accumulate((len(rows) for rows in self.rows), initial=0)
        return list(itertools.starmap(slice, itertools.pairwise(ends)))

    def blocks(self, weights: Floats) -> list[Floats]:
        """Weights of the rows of each slot; the last axis is taken apart."""
        return [weights[..., own] for own in self._spans]

    def among(self, columns: Sequence[str], _schema: Schema) -> SlotMoments:
        """The matrix of the members that have a value of each of some columns."""
        parts = []
        for part, schema in zip(self.parts, self.schemas, strict=True):
            own = [name for name in columns if schema.columns[name].codes]
            parts.append(part.among(own, schema))
        return replace(self, parts=tuple(parts))

    def form(self, left: Floats, right: Floats) -> Floats:
        """Sums over the members of products of two affine functions of the rows."""
        return np.asarray(left @ self.sums @ right.T)

    def indicators(self, _schema: Schema, name: str) -> Floats | None:
        """As of one table (`MomentMatrix.indicators`), side by side."""
        return self.side_by_side(lambda part, schema: part.indicators(schema, name))

    def classes(self, _schema: Schema, name: str, class_of: Integers, k: int) -> Floats | None:
        """As of one table (`MomentMatrix.classes`), side by side."""
        return self.side_by_side(lambda part, schema: part.classes(schema, name, class_of, k))

    def presence(self, _schema: Schema, name: str) -> Floats:
        """As of one table (`MomentMatrix.presence`), side by side."""
        pairs = zip(self.parts, self.schemas, strict=True)
        return np.concatenate([part.presence(schema, name) for part, schema in pairs])

    def side_by_side(
        self, rows_of: Callable[[MomentMatrix, Schema], Floats | None]
    ) -> Floats | None:
        """Weights of every slot beside each other; None where one has none.

        Args:
            rows_of: weights in the rows of one slot, shape (k, R_j).
        """
        found = [rows_of(*pair) for pair in zip(self.parts, self.schemas, strict=True)]
        known = [rows for rows in found if rows is not None]
        return np.concatenate(known, axis=1) if len(known) == len(found) else None

    def gradient_of_products(self, left: Floats, right: Floats) -> Floats:
        """Derivatives of sums of products of two affine functions in the released numbers."""
        blocks = zip(self.parts, self.blocks(left), self.blocks(right), strict=True)
        return np.asarray(sum(part.gradient_of_products(a, b) for part, a, b in blocks))

    def gradient(self, derivatives: Floats) -> Floats:
        """Derivatives in the released numbers of what has these in the matrix, (q, R, R)."""
        pairs = zip(self.parts, self._spans, strict=True)
        return np.asarray(sum(part.gradient(derivatives[:, own, own]) for part, own in pairs))

    def noise_covariance(self, derivatives: Floats) -> Floats:
        """Covariance by noise of q estimates, to first order, shape (q, q)."""
        return self.noise_along(self.gradient(derivatives))

    def noise_along(self, gradient: Floats) -> Floats:
        """As of one table (`MomentMatrix.noise_along`)."""
        return self.joint.noise_along(gradient)

    def noise_between(self, one: Floats, other: Floats) -> Floats:
        """As of one table (`MomentMatrix.noise_between`)."""
        return self.joint.noise_between(one, other)

    def noise_of_pairs(self, one: Floats, other: Floats) -> Floats:
        """As of one table (`MomentMatrix.noise_of_pairs`)."""
        return self.joint.noise_of_pairs(one, other)

    def bound_hidden(self, derivatives: Floats) -> Floats:
        """Bound the error of q estimates by what was not measured, shape (q,)."""
        pairs = zip(self.parts, self._spans, strict=True)
        return np.asarray(sum(part.bound_hidden(derivatives[:, own, own]) for part, own in pairs))

    def within_cells_by(self, gradient: Floats) -> Floats:
        """As of one table (`MomentMatrix.within_cells_by`)."""
        return self.joint.within_cells_by(gradient)

    def cross_sums(self, weights: Floats, others: Floats | None = None) -> tuple[Floats, Floats]:
        """Sum over pairs of members of one unit of the products of an affine function of both.

        Args:
            weights: of the function, 0 for a slot that holds nobody, shape (k, R).
            others: of that of the second member, where it is another one, shape (k, R).

        Returns:
            The sums, and the standard deviation of the noise in them, both of shape (k,).
        """
        first, second = (
            self._spread(own) for own in (weights, weights if others is None else others)
        )
        pairs = zip(first, second, strict=True)
        derivatives = np.asarray(sum(first))[:, :, None] * np.asarray(sum(second))[:, None, :]
        derivatives -= sum(one[:, :, None] * other[:, None, :] for one, other in pairs)
        sums = np.einsum("kij,ij->k", derivatives, self.joint.whole)
        noise = np.diag(self.joint.noise_covariance(derivatives))
        return sums, np.sqrt(np.maximum(noise, 0.0))

    def _spread(self, weights: Floats) -> list[Floats]:
        """Place weights of each slot in the rows of `joint`: arrays of shape (k, rows)."""
        found: list[Floats] = []
        for rows, part in zip(self.rows, self.blocks(weights), strict=True):
            found.append(np.zeros((len(weights), len(self.joint.whole))))
            found[-1][:, rows] = part
        return found

    def of_members(self, weights: Floats, columns: Sequence[str]) -> Floats:
        """Weights that are 0 for a slot that holds nobody, shape (k, R).

        Products of three columns were not measured. So columns of units, which have values beside
        empty slots too, are left out.

        Args:
            weights: of affine functions of members with a value of each column, shape (k, R).
            columns: that they use.
        """
        found = []
        blocks = zip(self.blocks(weights), self.parts, self.schemas, strict=True)
        for own, part, schema in blocks:
            changed = own.copy()
            for name in self.shared:
                changed[:, part.basis.columns[name]] = 0
            mine = (name for name in columns if name not in self.shared)
            coded = next((name for name in mine if schema.columns[name].codes), None)
            if coded is not None:
                changed[:, 0] = 0
                changed += np.multiply.outer(own[:, 0], part.presence(schema, coded))
            found.append(changed)
        return np.concatenate(found, axis=1)

    def squares(self, weights: Floats) -> Floats:
        """Sums over the members of squares of affine functions, weights (k, R), shape (k,)."""
        return np.asarray(np.einsum("ki,ij,kj->k", weights, self.sums, weights))

    def company(self, weights: Floats) -> Floats:
        """Products of an affine function of pairs of members of one unit, over its squares, (k,).

        What is plain of it: less the standard deviation of its noise.

        Args:
            weights: of the function, 0 for a slot that holds nobody, shape (k, R).
        """
        crossed, noise = self.cross_sums(weights)
        size = self.squares(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (crossed - noise) / size
        return np.where((size > 0) & np.isfinite(found), found, 0.0)


def _part(joint: MomentMatrix, names: Mapping[str, str]) -> tuple[MomentMatrix, Integers]:
    """The rows of some columns, renamed, over the same released numbers; and which they are."""
    basis, scores = joint.basis, joint.scores
    rows = np.concatenate([[0], *(basis.columns[name] for name in names)]).astype(np.int64)
    at = {row: k for k, row in enumerate(rows.tolist())}

    def move(old: Integers) -> Integers:
        return np.array([at[row] for row in old.tolist()], dtype=np.int64)

    own = Basis(
        place={
            (names[name], state): at[row]
            for (name, state), row in basis.place.items()
            if name in names
        },
        affine=basis.affine[rows],
        source=basis.source,
        squares={at[row]: number for row, number in basis.squares.items() if row in at},
        coded={
            (at[row], at[code]): number
            for (row, code), number in basis.coded.items()
            if row in at and code in at
        },
        beside={at[row]: move(other) for row, other in basis.beside.items() if row in at},
        columns={names[name]: move(basis.columns[name]) for name in names},
    )
    renamed = replace(
        scores,
        limits={names[name]: ends for name, ends in scores.limits.items() if name in names},
        complete=tuple(names[name] for name in scores.complete if name in names),
    )
    return replace(joint, scores=renamed, basis=own, cases=None), rows


Moments = MomentMatrix | SlotMoments
"""Second moments of records, or of the members of units."""


def similarity(residuals: Sequence[Floats], units: Sequence[Integers]) -> tuple[Floats, float]:
    """The mean over sets of `correlation_within`."""
    found = [correlation_within(*pair) for pair in zip(residuals, units, strict=True)]
    shown = np.mean(np.stack([correlation for correlation, _ in found]), axis=0)
    return np.asarray(shown), float(np.mean([pairs for _, pairs in found]))


def cluster_factors(
    residual: Floats,
    weights: Floats,
    units: Integers,
    alike: Floats | float = 0.0,
    company: Floats | float = 0.0,
) -> Floats:
    """Return the growth of variances of estimates by the likeness of members of units.

    Args:
        residual: of n members, shape (n, k), or (n, 1) for one that all estimates share.
        weights: of each residual in each estimate, shape (n, k).
        units: unit of each member, shape (n,).
        alike: correlation of residuals within units that is known from elsewhere, shape (k,).
        company: products of weights of pairs of members over their squares, likewise, shape (k,).

    Returns:
        Shape (k,), at least 1: the growth in these members, or that of residuals which are alike by
        one correlation, if it is more.
    """
    _, of = np.unique(units, return_inverse=True)
    influence = np.broadcast_to(residual, weights.shape) * weights
    alone = (influence**2).sum(axis=0)
    together = _sums_by(influence, of)
    shape = (weights**2).sum(axis=0)
    pairs = (_sums_by(weights, of) ** 2).sum(axis=0) - shape
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = (together**2).sum(axis=0) / alone
        known = 1 + np.clip(alike, 0.0, 1.0) * np.maximum(pairs / shape, company)
    found = np.fmax(np.where(np.isfinite(shown), shown, 1.0), known)
    return np.asarray(np.fmax(found, 1.0))


def correlation_within(residual: Floats, units: Integers) -> tuple[Floats, float]:
    """Correlation of residuals within units, and pairs of members for each member.

    Args:
        residual: shape (n, k).
        units: unit of each member, shape (n,).

    Returns:
        Shape (k,), 0 where nobody has company; and the number of ordered pairs over n.
    """
    _, of = np.unique(units, return_inverse=True)
    size = np.bincount(of)
    pairs = float((size * (size - 1)).sum()) / max(len(units), 1)
    squares = (residual**2).sum(axis=0)
    crossed = (_sums_by(residual, of) ** 2).sum(axis=0) - squares
    with np.errstate(divide="ignore", invalid="ignore"):
        found = crossed / (squares * pairs)
    return np.where(np.isfinite(found), found, 0.0), pairs


def _sums_by(values: Floats, of: Integers) -> Floats:
    """Sums over the members of each unit, shape (units, k)."""
    k = int(of.max(initial=-1)) + 1
    return np.stack([np.bincount(of, column, k) for column in values.T], axis=1)


BY_MOMENTS: Final = (*RATIOS, "total", *MODELS, "correlation")
"""Kinds, of those in `question`, that second moments of all slots answer."""


@dataclass(frozen=True, eq=False)
class MemberSlots:
    """The members' table of a schema.

    Attributes:
        wide: the schema, whose records are units with their members in slots.
        form: how they hold them.
    """

    wide: Schema
    form: Members

    @cached_property
    def schema(self) -> Schema:
        """Columns of members, and those of their units, as one flat table."""
        declared = self.wide.declared
        return self._flat(self.form.member_columns(declared))

    @property
    def slots(self) -> range:
        """Numbers of the slots."""
        return range(1, self.form.rows_per_unit + 1)

    def in_slot(self, columns: Sequence[str], j: int) -> tuple[str, ...]:
        """Columns of the wide table that hold some columns of the members in one slot."""
        own = self.form.columns
        return tuple(slot_column(name, j) if name in own else name for name in columns)

    def wide_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The same in all slots, each once."""
        return tuple(dict.fromkeys(w for j in self.slots for w in self.in_slot(columns, j)))

    @cached_property
    def slot_schemas(self) -> tuple[Schema, ...]:
        """The schema of the members in each slot."""
        return tuple(map(self._slot_schema, self.slots))

    def _slot_schema(self, j: int) -> Schema:
        """The flat schema of the members in one slot, of whom there may be none.

        All columns of a slot are empty together, which rules say of each pair of them.
        """
        declared = self.wide.columns
        own = {name: declared[slot_column(name, j)] for name in self.form.columns}
        empty = {
            name: state_of_nobody(column)
            for name, column in own.items()
            if NO_MEMBER in column.codes
        }
        rules = [
            Rule.of_states(
                {
                    one: frozenset({state}),
                    other: frozenset(range(own[other].size)) - {empty[other]},
                }
            )
            for (one, state), other in itertools.product(empty.items(), empty)
            if one != other
        ]
        return self._flat(own, rules)

    def _flat(self, own: Mapping[str, Any], rules: Sequence[Rule] = ()) -> Schema:
        schema = self.wide
        units = self.form.unit_columns(schema.columns)
        changed: dict[str, Any] = {"members": None, "forbidden": tuple(rules), "relations": ()}
        changed |= {"geography": Geography(), "columns": {**units, **own}}
        return schema.model_copy(update=changed)

    def members_in(self, table: pl.DataFrame, columns: Sequence[str]) -> Records:
        """Members in records of the wide table, with a value of each of some columns."""
        own, units = members_of(table, self.wide, columns)
        beside = (name for name in columns if name not in self.form.columns)
        rows = pl.DataFrame([*own, *(table.get_column(name).gather(units) for name in beside)])
        whole = replace(Records.of(rows, self.schema, columns), units=units)
        return whole.take(whole.complete())

    def part(self, columns: Sequence[str], joint: MomentMatrix) -> SlotMoments:
        """Take the matrix of all slots' columns apart by slots."""
        names = [dict(zip(self.in_slot(columns, j), columns, strict=True)) for j in self.slots]
        return SlotMoments.of(joint, names, self.slot_schemas)


def asked_members(formula: str, schema: Schema) -> MemberSlots | None:
    """The members' table, if a question names one of its columns; else None.

    Args:
        formula: of the question.
        schema: of the release.
    """
    form = schema.members
    if form is None or not names_in(formula) & {*form.columns}:
        return None
    known: MemberSlots = schema.worked_out.setdefault("members", MemberSlots(schema, form))
    return known
