"""Parts that MST, AIM and their improvement share: one-way tables, merged states, the model.

The model is a function of the released tables alone (`rebuilt`), so that whoever has a release can
build the very model that its sets were drawn from. Where the release has second moments besides, to
answer questions from, the last fit takes what they say of the same columns.

**Second moments of columns of levels as noisy tables: of each column, and of two.**

Scores of a column of levels are contrasts, orthonormal and of mean 0 over its k states. With the
number of records, their sums s tell how many are in each state, n/k + W·s, and their products P how
many in each of two, n/(kl) + W·s·1ᵀ/l + 1·s'ᵀ·W'ᵀ/k + W·P·W'ᵀ: nobody else's share of a budget is
touched. Noise of deviation σ in each product, turned by W and W', is σ in each cell as far as cells
differ from their margins, which is all that products say. Records out of domain have scores 0 and
count as an even mix, so columns that clearly have some are left out.

A release buys these moments to answer questions. A fit may take them beside its own tables where
they say something: of a pair that a table of three columns holds, whose counts have the noise of
many cells, they often say more than the table.

Source: residual bases, Xiao, He, Zhang & Kifer (2023), "An Optimal and Scalable Matrix Mechanism
for Noisy Marginals under Convex Loss Functions".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from understudy._arrays import Floats
from understudy.dp.budget import Approximate, Budget
from understudy.dp.calibration import NoiseName
from understudy.dp.gate import Gate
from understudy.dp.released import Noise, NoisyLine, NoisyProducts, NoisyRanks, NoisyTable, Released
from understudy.features.scores import UNIT, FeatureMap, contrast_length
from understudy.graphical.compression import MarginalModel
from understudy.graphical.estimation import (
    MOST_CELLS,
    MaxEntropy,
    Observation,
    contrasts_of,
    fit_max_entropy,
    merge_observations,
)
from understudy.graphical.factors import firm_boxes
from understudy.graphical.pairs_beyond import NoisyPair, PairsBeyond
from understudy.graphical.rank_exchange import RankExchange
from understudy.mechanisms.tables import NoisyTables
from understudy.methods.base import Beside, Method, Tables
from understudy.methods.binning import bins_for, divides, fine_bins, records_per_noise
from understudy.methods.measured_sums import Sums, moved_by_sums, number_sums
from understudy.methods.noisy_marginals import (
    LEAST_FITTED,
    CompressedDomain,
    LineParts,
    Lines,
    coarse_groups,
    counts_states,
    denoised_columns,
    expansions,
    fine_tables,
    line_parts,
    number_masses,
    numbers,
    observations,
    require_columns,
    resample,
    run_places,
)
from understudy.methods.plan import PlannedTable, natural_noise, plan_mechanism
from understudy.methods.ranks import (
    RankedTables,
    rank_exchange,
    ranked_groups,
    ranks_in,
    resample_ranks,
)
from understudy.models.model import InferenceFacts, Model, PosteriorPredictive
from understudy.schema import NUMERIC, Schema, is_ordered
from understudy.schema.coarsening import sum_groups
from understudy.schema.numeric import DEFAULT_BINS

FARTHEST = 4.0
"""Variance of a table by moments, in that of what was measured, up to which it says anything."""


@dataclass(frozen=True, eq=False)
class LevelMoments:
    """Second moments of columns of levels, by orthonormal contrasts between the states of each.

    Attributes:
        schema: in which they were measured.
        noise: in each sum, as released.
        turns: column → contrasts by state, over their length; shape (states, contrasts).
        lengths: column → length of its contrasts.
        effects: column → records in each state beyond an even share, shape (states,).
        weight: of sums, beside that of products.
        products: of each two columns' scores.
    """

    schema: Schema
    noise: Noise
    turns: Mapping[str, Floats]
    lengths: Mapping[str, float]
    effects: Mapping[str, Floats]
    weight: float
    products: Mapping[tuple[str, str], Floats]

    @classmethod
    def of(cls, products: NoisyProducts, schema: Schema) -> LevelMoments:
        """Take apart second moments, as released."""
        scores = FeatureMap.of(schema, products.columns)
        _, sums, inner, _, _ = scores.order.split(products.values / scores.factors)
        matrix = np.zeros((len(scores), len(scores)))
        matrix[scores.pairs] = inner
        turns, effects, lengths = {}, {}, {}
        for name in products.columns:
            column = schema.columns[name]
            if isinstance(column, NUMERIC) or column.size < 2:
                continue
            lengths[name] = contrast_length(column.size, many=scores.many)
            turns[name] = scores.tables[name][: column.size] / UNIT / lengths[name] ** 2
            effects[name] = turns[name] @ sums[list(scores.places(name))]
        both = {
            (a, b): matrix[np.ix_(scores.places(a), scores.places(b))]
            for a, b in combinations(turns, 2)
        }
        weight = float(scores.weight)
        return cls(schema, products.noise, turns, lengths, effects, weight, both)

    def tables(self, n_rows: float, pairs: Collection[frozenset[str]]) -> Iterator[NoisyTable]:
        """Tables of each column, and of some pairs of them."""
        for name, effects in self.effects.items():
            in_sums = _noise_at(self.noise, self.weight * self.lengths[name])
            yield _marginal((name,), n_rows / len(effects) + effects, in_sums, self.schema)
        for (a, b), both in self.products.items():
            if frozenset((a, b)) not in pairs:
                continue
            k, m = len(self.turns[a]), len(self.turns[b])
            even = n_rows / (k * m) + self.effects[a][:, None] / m + self.effects[b][None, :] / k
            told = even + self.turns[a] @ both @ self.turns[b].T
            in_both = _noise_at(self.noise, self.lengths[a] * self.lengths[b])
            yield _marginal((a, b), told, in_both, self.schema)

    def pair(self, a: str, b: str, merged: CompressedDomain) -> NoisyPair:
        """Tell how two columns go together in groups of their states."""
        names, groups = self.schema.names, []
        for name in (a, b):
            own = merged.groups.get(name, range(len(self.turns[name])))
            groups.append(np.array(own))
        left, right = (
            np.eye(own.max() + 1)[own].T @ self.turns[name]
            for name, own in zip((a, b), groups, strict=True)
        )
        return NoisyPair(
            (names.index(a), names.index(b)),
            left @ self.products[a, b] @ right.T,
            (np.bincount(groups[0]), np.bincount(groups[1])),
            self.noise.stddev / (self.lengths[a] * self.lengths[b]),
        )


def level_moments(beside: Beside, schema: Schema) -> list[LevelMoments]:
    """Second moments of all records that have contrasts between levels.

    Args:
        beside: what was measured beside tables. Second moments for noise by sums of sizes have no
            contrasts, and those of some records alone tell nothing of all.
        schema: in which it was measured.
    """
    return [
        LevelMoments.of(one, schema)
        for one in beside
        if isinstance(one, NoisyProducts) and not (one.pure or one.complete)
    ]


def level_tables(
    moments: Sequence[LevelMoments], n_rows: float, fitted: Iterable[tuple[str, ...]]
) -> list[NoisyTable]:
    """Tables of one and of two columns of levels that second moments tell.

    Args:
        moments: of columns of levels.
        n_rows: number of rows.
        fitted: columns of the tables of a fit; of a pair that none of them holds there is no table.
    """
    pairs = {frozenset(pair) for columns in fitted for pair in combinations(columns, 2)}
    return [table for one in moments for table in one.tables(n_rows, pairs)]


def pairs_beyond(
    moments: Sequence[LevelMoments],
    merged: CompressedDomain,
    measured: Sequence[NoisyTable],
    fit: MaxEntropy,
    n_rows: float,
) -> PairsBeyond | None:
    """Return what second moments tell of pairs of columns that no table of a fit holds.

    A column of which records are clearly out of domain is left out: they count as an even mix.

    Args:
        moments: of columns of levels.
        merged: the columns.
        measured: the tables of the fit.
        fit: over merged states.
        n_rows: number of rows.
    """
    strays = {name for one in measured if one.strays for name in one.columns}
    names = merged.schema.names
    held = list(dict.fromkeys([*fit.potentials, *((j,) for j in range(len(fit.tree.sizes)))]))
    within = {frozenset(pair) for columns in held for pair in combinations(columns, 2)}
    best: dict[tuple[int, int], NoisyPair] = {}
    for one in moments:
        for a, b in one.products:
            if strays & {a, b} or frozenset(map(names.index, (a, b))) in within:
                continue
            pair = one.pair(a, b, merged)
            known = best.get(pair.columns)
            if known is None or pair.stddev < known.stddev:
                best[pair.columns] = pair
    if not best:
        return None
    return PairsBeyond([*best.values()], held, fit.tree.sizes, max(n_rows, 1.0))


def select_telling(
    derived: Iterable[NoisyTable], measured: Sequence[NoisyTable]
) -> list[NoisyTable]:
    """Those of which measured tables hold all columns, and do not say much more.

    In groups that a fit merges, a cell of either has its part of the noise of all its cells.

    Args:
        derived: tables by `level_tables`.
        measured: the tables of a fit.
    """
    strays = {name for one in measured if one.strays for name in one.columns}
    kept = []
    for table in derived:
        columns = set(table.columns)
        best = min(
            (one.stddev**2 * one.counts.size for one in measured if columns <= {*one.columns}),
            default=0.0,
        )
        if not columns & strays and table.stddev**2 * table.counts.size <= FARTHEST * best:
            kept.append(table)
    return kept


def _noise_at(noise: Noise, length: float) -> Noise:
    """The noise in a sum of scores of length 1, where these were of another length."""
    if length == 1:
        return noise
    spread = noise.stddev / length
    return Noise(noise.distribution, str(spread**2), spread)


def _marginal(columns: tuple[str, ...], counts: Floats, noise: Noise, schema: Schema) -> NoisyTable:
    allowed = schema.table(columns).allowed_mask().reshape(counts.shape)
    return NoisyTable(columns, np.where(allowed, counts, 0.0), 0.0, noise)


def measured_beside(measured: Iterable[Released[object]]) -> Beside:
    """Second moments, ranks and number lines among what was measured."""
    return [
        outcome.value
        for outcome in measured
        if isinstance(outcome.value, NoisyProducts | NoisyRanks | NoisyLine)
    ]


@dataclass(frozen=True)
class NoisyStatistics:
    """Released values that a model is fitted to.

    Attributes:
        tables: measured, with every cell.
        lines: what number lines say of the states of their columns.
        derived: tables that second moments tell.
        ranks: how far ranks go together.
        moments: of which the derived tables are; none where they are drawn again, as sets would
            differ by less than their noise.
        sums: of columns of numbers.
    """

    tables: Sequence[NoisyTable]
    lines: Lines
    derived: Sequence[NoisyTable]
    ranks: NoisyRanks | None
    moments: Sequence[LevelMoments] = ()
    sums: Sums = field(default_factory=dict)

    def resample(self, schema: Schema, rng: np.random.Generator) -> NoisyStatistics:
        """All of it drawn again, with fresh noise on top.

        Args:
            schema: in which tables were measured, states not merged.
            rng: randomness.
        """
        tables: list[NoisyTable] = []
        lines: dict[str, tuple[LineParts, ...]] = {}
        for table in self.tables:
            tables.append(resample(schema, table, rng))
            for name in table.columns if counts_states(table) else ():
                if name in self.lines and name not in lines:
                    lines[name] = tuple(one.resample(rng) for one in self.lines[name])
        derived = [resample(schema, table, rng) for table in self.derived]
        ranks = None if self.ranks is None else resample_ranks(self.ranks, rng)
        sums = {name: one.resample(rng) for name, one in self.sums.items()}
        return NoisyStatistics(tables, lines, derived, ranks, sums=sums)


LEAST_TIES = 3
"""Numbers in a tie, from which on it is shrunk."""
REGULARISATION = 0.1
"""λ in units of 1/(median standard deviation of the noise)."""


@dataclass(frozen=True, kw_only=True)
class MarginalMethod(Method):
    """Options of a method whose model is a junction tree of noisy marginals.

    Attributes:
        sets: "posterior": from one paid-for fit, each refitted to tables drawn again
            (`methods.noisy_marginals`), so that sets differ by as much as noise moved
            them (a single set is drawn from the fit itself); "free": all from one fit, a little
            closer to the rows, without valid error bars; "split": each from a fit of its own, at
            its share of the budget.
        noise: noise; "auto" is geometric for δ = 0 and Gaussian otherwise.
        model_mb: largest model, in megabytes of 8 bytes for each cell of the junction tree.
    """

    inference: ClassVar[InferenceFacts] = InferenceFacts(posterior_rule="mi")

    shrinks: ClassVar[bool] = False
    """Whether a single fit shrinks ties to what noise does not explain (`shrink_ties`)."""

    sets: Literal["free", "split", "posterior"] = "posterior"
    noise: Literal["auto", "geometric", "laplace", "gaussian"] = "auto"
    model_mb: Annotated[float, Field(gt=0)] = 10.0

    def rebuilt(
        self, schema: Schema, tables: Tables, n_rows: int, beside: Beside = ()
    ) -> Model | None:
        """The model that sets are drawn from, from what is released."""
        return self._model(schema, self._statistics(schema, tables, n_rows, beside), n_rows)

    def by_fit(self, schema: Schema, tables: Tables, fits: int) -> list[Tables]:
        """A fit begins with a table of each column, in the order of the schema.

        Rounds may by chance measure just that once more. All fits cost the same, so that the cost
        before each of them is known: a table's is inversely proportional to the scale of its noise.
        """
        one_ways, d = [(name,) for name in schema.names], len(schema.names)
        columns = [() if divides(schema, table) else table.columns for table in tables]
        starts = [k for k in range(len(tables)) if columns[k : k + d] == one_ways]
        if len(starts) > fits:
            costs = [0.0, *accumulate(1 / float(Fraction(table.noise.scale)) for table in tables)]
            before = [costs[-1] * k / fits for k in range(fits)]
            starts = sorted({min(starts, key=lambda k: abs(costs[k] - b)) for b in before})
        ends = [*starts[1:], len(tables)]
        return [tables[start:end] for start, end in zip(starts, ends, strict=True)]

    def redrawn(
        self, schema: Schema, tables: Tables, n_rows: int, model: Model, beside: Beside = ()
    ) -> Model:
        """The fit to tables that are drawn again for each set, if `sets` is "posterior"."""
        if self.sets != "posterior":
            return model
        assert isinstance(model, MarginalModel)
        released = self._statistics(schema, tables, n_rows, beside)
        merged = self._columns(schema, released, n_rows)

        def refit(rng: np.random.Generator) -> Model:
            again = released.resample(schema, rng)
            return self._model(schema, again, n_rows, warm=model.fit, known=merged)

        return PosteriorPredictive(refit)

    def _model(
        self,
        schema: Schema,
        released: NoisyStatistics,
        n_rows: int,
        *,
        warm: MaxEntropy | None = None,
        known: CompressedDomain | None = None,
    ) -> MarginalModel:
        """The model of what was released.

        Groups, and states that hold numbers, follow from `known`.
        """
        marginals, lines, ranks = released.tables, released.lines, released.ranks
        again: dict[str, Floats] = {}
        if known is None:
            merged = self._columns(schema, released, n_rows)
        else:
            again = number_masses(schema, marginals, n_rows, lines, known.masses)
            merged = replace(
                known, moved=moved_by_sums(schema, marginals, lines, again, released.sums)
            )
        derived = select_telling(released.derived, marginals)
        exchange = None if ranks is None else rank_exchange(merged, marginals, ranks, n_rows)
        fit = fit_of(
            merged,
            marginals,
            n_rows,
            derived,
            exchange,
            lines=lines,
            warm=warm,
            firm=known is not None or self.sets == "split",
            shrinks=self.shrinks,
            model_cells=self._cells,
        )
        masses = denoised_columns(merged, fine_tables([*marginals, *derived]), n_rows)
        masses |= {name: own + merged.moved.get(name, 0.0) for name, own in again.items()}
        return MarginalModel(
            schema.domain,
            fit,
            expansions(merged, masses),
            numbers(schema, masses),
            run_places(merged, fit),
            exchange,
            pairs_beyond(released.moments, merged, marginals, fit, n_rows),
        )

    def _columns(
        self, schema: Schema, released: NoisyStatistics, n_rows: float
    ) -> CompressedDomain:
        """The columns of the model; those with measured ranks in the groups of these."""
        masses = number_masses(schema, released.tables, n_rows, released.lines)
        merged = self._merge_columns(schema, released.tables, masses, n_rows)
        moved = moved_by_sums(schema, released.tables, released.lines, masses, released.sums)
        merged = replace(merged, moved=moved)
        return merged if released.ranks is None else ranked_groups(merged, released.ranks)

    def _fine(self, gate: Gate, spend: Fraction) -> tuple[Gate, tuple[str, ...]]:
        """Numbers in default bins seen through fine ones, and the columns that these are.

        Args:
            gate: with the number of rows.
            spend: what the one-way table of a column costs.
        """
        records = records_per_noise(gate, self._noise(gate.budget), spend)
        bins = fine_bins(gate.schema, bins_for(records))
        return gate.rebin(bins), tuple(bins)

    def _number_runs(
        self,
        schema: Schema,
        marginals: Sequence[NoisyTable],
        names: tuple[str, ...],
        n_rows: int,
    ) -> CompressedDomain:
        """Columns of numbers in about `DEFAULT_BINS` runs of their fine bins, as one-ways tell.

        Args:
            schema: in fine bins.
            marginals: a one-way table of each column.
            names: of the columns in fine bins.
            n_rows: number of rows.
        """
        found = number_masses(schema, marginals, n_rows, {})
        masses = {name: found[name] for name in names}
        ones = [one for name, one in fine_tables(marginals).items() if name in names]
        groups = coarse_groups(schema, ones, DEFAULT_BINS, masses, n_rows=n_rows)
        return CompressedDomain(schema, groups, masses)

    def _through(self, gate: Gate, marginals: Sequence[NoisyTable], n_rows: int) -> MarginalModel:
        """The model of tables that were measured through a gate, and of what else it gave out."""
        beside = measured_beside(gate.measured)
        released = self._statistics(gate.schema, marginals, n_rows, beside)
        return self._model(gate.schema, released, n_rows)

    def _statistics(
        self, schema: Schema, tables: Tables, n_rows: float, beside: Beside
    ) -> NoisyStatistics:
        """Return what a fit rests on; no second moments where sets are to differ by all noise."""
        fitted = [table for table in tables if not divides(schema, table)]
        held = [table.columns for table in fitted]
        moments = [] if self.sets == "split" else level_moments(beside, schema)
        derived = level_tables(moments, n_rows, held)
        lines = self._lines(schema, beside)
        sums = {} if self.sets == "split" else number_sums(beside, schema)
        return NoisyStatistics(fitted, lines, derived, ranks_in(beside), moments, sums)

    def _lines(self, schema: Schema, beside: Beside) -> Lines:
        """Return what number lines say; nothing where sets are to differ by all their noise."""
        return {} if self.sets == "split" else line_parts(schema, beside)

    def _merge_columns(
        self,
        schema: Schema,
        marginals: Sequence[NoisyTable],
        masses: Mapping[str, Floats],
        n_rows: float,
    ) -> CompressedDomain:
        """The columns of the model, with groups of states: those that tables were measured over."""
        return CompressedDomain.by_tables(schema, marginals, masses)

    @property
    def accounting(self) -> Approximate:
        """Gaussian noise is best kept in Gaussian DP."""
        return "gdp" if self.noise in ("auto", "gaussian") else "zcdp"

    def _noise(self, budget: Budget) -> NoiseName:
        return natural_noise(budget.accounting) if self.noise == "auto" else self.noise

    @property
    def _cells(self) -> float:
        """Most cells of the model."""
        return self.model_mb * 1e6 / 8

    def _one_ways(
        self, gate: Gate, spend: Fraction, weights: Sequence[Fraction] | None = None
    ) -> list[NoisyTable]:
        """A table of each column; costs go by weights, alike if None."""
        tables = self._tables(gate.schema, gate.budget, weights)
        return [table.value for table in gate.ask(tables, spend=spend)]

    def _planned_one_ways(
        self,
        schema: Schema,
        spend: Fraction,
        budget: Budget,
        weights: Sequence[Fraction] | None = None,
    ) -> list[PlannedTable]:
        require_columns(schema)
        tables = self._tables(schema, budget, weights)
        return list(plan_mechanism(tables, schema, spend, budget))

    def _tables(
        self, schema: Schema, budget: Budget, weights: Sequence[Fraction] | None
    ) -> NoisyTables:
        marginals = [(name,) for name in schema.names]
        return NoisyTables(marginals, noise=self._noise(budget), weights=weights)


def fit_of(
    merged: CompressedDomain,
    marginals: Sequence[NoisyTable],
    n_rows: float,
    derived: Sequence[NoisyTable] = (),
    exchange: RankExchange | None = None,
    *,
    lines: Lines | None = None,
    warm: MaxEntropy | None = None,
    firm: bool = False,
    shrinks: bool = False,
    steps: int = 500,
    model_cells: float = MOST_CELLS,
) -> MaxEntropy:
    """The model over merged states.

    Args:
        merged: the columns.
        marginals: the tables.
        n_rows: number of rows.
        derived: further tables of the same columns.
        exchange: what was measured of ranks; a single fit takes from it how far columns of a table
            go together, and fits of sets that are drawn again from their tables alone.
        lines: what number lines say.
        warm: an earlier model to begin from.
        firm: whether effects are kept more firmly than cells, which makes a fit less biased and, of
            few records, a little less close.
        shrinks: whether ties are shrunk (`shrink_ties`), unless they are kept firmly.
        steps: most steps.
        model_cells: most cells of the model, by which tables of several columns were chosen.
    """
    total = float(max(n_rows, 1))
    deviations = [max(marginal.stddev, LEAST_FITTED) for marginal in marginals]
    sizes, boxes = merged.coarse.sizes, merged.coarse.domain.boxes
    fit = partial(
        fit_max_entropy,
        sizes,
        total=total,
        regularisation=REGULARISATION / float(np.median(deviations)),
        forbidden=boxes,
        firm=firm_boxes(sizes, boxes, model_cells)[0],
        most_cells=max(model_cells, MOST_CELLS),
        steps=steps,
    )
    tables = observations(merged, [*marginals, *derived], n_rows, lines or {})
    if shrinks and not firm:
        ordered = [j for j, one in enumerate(merged.schema.columns.values()) if is_ordered(one)]
        single = shrink_columns(merged, merge_observations(sizes, tables), total)
        tables = shrink_ties(single, ordered)
    if firm:
        columns = enumerate(merged.schema.columns.items())
        contrasts = {j: contrasts_of(one, merged.groups.get(name)) for j, (name, one) in columns}
        return fit(tables, contrasts=contrasts, warm=warm)
    plain = fit(tables, warm=warm)
    ranked = RankedTables.of(merged, exchange, plain, n_rows)
    if ranked is None:
        return plain
    joined, share = [ranked.join(table) for table in tables], ranked.share(tables)
    return fit(joined, contrasts=ranked.contrasts, share=share, warm=plain)


def shrink_columns(
    merged: CompressedDomain, tables: Sequence[Observation], total: float
) -> list[Observation]:
    """Tables with those of single columns of levels shrunk towards even states.

    A column whose noise is larger than its counts is nearly even then, not the peaks of its noise.
    Take f + 1 groups of variances v, counts y that are first moved to have the known sum, and even
    ones e. Noise alone makes f of S = Σ (y − e)²/v. The part f/S of y − e is taken away, all at
    most: from f = 4 on the mean of Σ error²/v is smaller, whatever the column (James & Stein).

    Args:
        merged: the columns.
        tables: at most one of each set of columns.
        total: number of rows.
    """
    columns, found = [*merged.schema.columns.items()], []
    for one in tables:
        name, column = columns[one.columns[0]] if len(one.columns) == 1 else ("", None)
        if column is None or isinstance(column, NUMERIC):
            found.append(one)
            continue
        allowed = merged.schema.table((name,)).allowed_mask().astype(np.float64)
        states = sum_groups(allowed, merged.groups.get(name, range(allowed.size)))
        variance = np.broadcast_to(one.variance, one.counts.shape) * (states > 0)
        even = total * states / max(states.sum(), 1.0)
        moved = one.counts + (total - one.counts.sum()) * variance / max(variance.sum(), 1e-300)
        size = float(((moved - even)[states > 0] ** 2 / variance[states > 0]).sum())
        kept = max(1 - (np.count_nonzero(states) - 1) / size, 0.0) if size else 1.0
        found.append(replace(one, counts=even + kept * (moved - even)))
    return found


def shrink_ties(tables: Sequence[Observation], ordered: Collection[int] = ()) -> list[Observation]:
    """Tables of two columns with ties shrunk to what noise does not explain.

    A tie is what a table has beyond the product of its columns' shares, less its means by row and
    by column, which stay. Noise of variance v in each cell is there like k·m independent numbers, k
    and m being one less than states, and has singular values up to about √(k·v) + √(m·v). A larger
    one, s, becomes √((s² − k·v − m·v)² − 4·k·m·v²)/s, and others 0: no function of singular values
    has a smaller squared error where ties have a low rank. So they have in most tables, as a few
    traits tie two columns. What is taken away is noise if its sum of squares is about (k − r)·(m −
    r)·v, with r values left. Where it is more, the tie has further traits, and only the part that
    noise is of it is taken away (James & Stein's rule). Where by Stein's estimates of both errors
    a table is nearer as it is, as a sparse one whose tie has a high rank, it stays.

    Of two ordered columns the slope, the part along evenly spaced scores, stays: correlations rest
    on it. So do ties of fewer than `LEAST_TIES` numbers.

    Args:
        tables: at most one of each set of columns, as `merge_observations` gives them.
        ordered: places of columns whose states are in order.

    Sources: Gavish & Donoho (2017), "Optimal shrinkage of singular values", IEEE Transactions on
    Information Theory 63; James & Stein (1961); Stein (1981), "Estimation of the mean of a
    multivariate normal distribution", Annals of Statistics 9; Candès, Sing-Long & Trzasko (2013),
    "Unbiased risk estimates for singular value thresholding and spectral estimators", IEEE
    Transactions on Signal Processing 61, for the divergence.

    Example:
        >>> alone = [Observation((j,), np.full(4, 80.0), 1.0) for j in (0, 1)]
        >>> odd = np.array([1.0, -1, -1, 1])
        >>> noisy = 20 + np.outer([6.0, 2, -2, -6], [3.0, 1, -1, -3]) + 2 * np.outer(odd, odd)
        >>> (noisy[0] - 20).tolist()
        [20.0, 4.0, -8.0, -16.0]
        >>> (shrink_ties([*alone, Observation((0, 1), noisy, 16.0)])[2].counts[0] - 20).round(1)
        array([ 17.2,   5.5,  -5.8, -16.8])
    """
    alone, shrunk = {}, []
    for one in tables:
        counts = np.maximum(one.counts, 0.0)
        if len(one.columns) == 1 and counts.sum() > 0:
            alone[one.columns[0]] = counts / counts.sum()
    for one in tables:
        known = len(one.columns) == 2 and alone.keys() >= {*one.columns}
        if not known or math.prod(size - 1 for size in one.counts.shape) < LEAST_TIES:
            shrunk.append(one)
            continue
        tie = one.counts - one.counts.sum() * np.outer(*(alone[j] for j in one.columns))
        tie -= tie.mean(axis=1, keepdims=True) + tie.mean(axis=0, keepdims=True) - tie.mean()
        change = _low_rank(tie, one.counts, float(np.mean(one.variance))) - tie
        if {*one.columns} <= {*ordered}:
            slope = np.outer(*(np.arange(size) - (size - 1) / 2 for size in tie.shape))
            change -= slope * float((change * slope).sum() / (slope**2).sum())
        shrunk.append(replace(one, counts=one.counts + change))
    return shrunk


def _low_rank(tie: Floats, counts: Floats, variance: float) -> Floats:
    """A tie less what noise of a variance explains, as in `shrink_ties`, or as it is.

    Both errors are estimated as Stein has it, where the part that is taken away counts as known: in
    simulations nearly without bias. Of the tie as it is, counts below 0 are taken for 0, as a fit
    does.

    Args:
        tie: of two columns.
        counts: of its table.
        variance: of the noise in a cell.
    """
    k, m = (size - 1 for size in tie.shape)
    left, values, right = np.linalg.svd(tie, full_matrices=False)
    values = values[: min(k, m)]
    shrunk = _shrink_values(values, k, m, variance)
    rank = np.count_nonzero(shrunk)
    noise, taken = variance * (k - rank) * (m - rank), float(((values - shrunk) ** 2).sum())
    part = min(noise / max(taken, 1e-300), 1.0)
    kept = values + part * (shrunk - values)
    step = math.sqrt(variance) / 2
    ahead, behind = (_shrink_values(values + h, k, m, variance) for h in (step, -step))
    slopes = 1 - part + part * (ahead - behind) / (2 * step)
    ratio = np.divide(kept, values, out=slopes.copy(), where=values > 0)
    squares, products = values**2, values * kept
    gaps, between = (np.subtract.outer(one, one) for one in (squares, products))
    same = np.broadcast_to((slopes + ratio)[:, None] / 2, gaps.shape)  # the limit of alike values
    each = np.divide(between, gaps, out=same.copy(), where=np.abs(gaps) > 1e-9 * squares.max())
    spread = float(each.sum() - np.trace(each))
    divergence = float(slopes.sum()) + abs(k - m) * float(ratio.sum()) + spread
    error = float(((kept - values) ** 2).sum()) + variance * (2 * divergence - k * m)
    plain = float(np.where(counts > 0, variance, counts**2 - variance).sum())
    if plain < error:
        return tie
    return np.asarray((left[:, : len(kept)] * kept) @ right[: len(kept)])


def _shrink_values(values: Floats, k: int, m: int, variance: float) -> Floats:
    """Singular values of a k × m matrix of a low rank, behind those that noise made of them."""
    least, edge = variance * (k + m), 2 * variance * math.sqrt(k * m)
    clear = values**2 > least + edge
    kept = np.sqrt(np.where(clear, (values**2 - least) ** 2 - edge**2, 0.0))
    return np.divide(kept, values, out=kept, where=clear)
