"""Each step of a ledger is priced again as a folder is loaded, and its noise compared.

A ledger says of each step what it cost, by how much one record can change the answer, and which
noise it got; a measurement says once more which noise its numbers have. All of this can be written
anew, and intervals and the promise rest on it. So each step is priced again here, from public
facts, and its words and numbers are compared. `docs/reference/release-format.md` has the rules for
others.

**What the price of each step of a ledger buys: sensitivity and noise, in words and numbers.**

Each rule prices a step again from public facts, by the code that priced it when it was paid.

**A step of a ledger that a folder states, with all that its price was made from.**

**Whether a step of a ledger asked for what it measured: its query in words, and how many numbers.**

What was asked follows from the schema and from the measurement, but for what a mechanism was told
besides: how many candidates there were, by which score they were judged, and how deep a tree is.
That is the word of the publisher.

**What each mechanism of a ledger can have bought: kinds of measurements, laws of noise, a price.**

A step says which mechanism it was, and a measurement says what kind of numbers it has and which law
their noise follows. Either can be written anew, so that exact counts could pass for the choice of a
column, which has no noise. Hence one table: whatever does not stand in it is refused. It belongs to
the format, and stands in `docs/reference/steps.md` and in `understudy_verify` as well.

**How a release says where its number of rows comes from: declared as public, or bought.**
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Final, Literal, get_args

from understudy.dp.budget import Accounting, Budget
from understudy.dp.guarantee import PUBLIC_ROWS, bought_rows
from understudy.dp.perturbation import FLOATING
from understudy.dp.released import LOST, NO_NOISE, SMALLEST_STDDEV, Noise
from understudy.errors import UnderstudyError
from understudy.mechanisms.private_selection import SELECTION, LawOfTries, selection_words
from understudy.mechanisms.sums import holding_cells
from understudy.mechanisms.tables import RowCount, query_of
from understudy.release.consistency import stated_budget
from understudy.release.manifest import Manifest
from understudy.release.measurement import (
    among_in,
    binned_schema,
    bins_in,
    groups_in,
    limits_in,
)
from understudy.release.shape import Fault, Kind, key_of
from understudy.schema import NUMERIC, Column, Schema

_STEP: Final = re.compile(r"on the lattice of step ([0-9]+(?:/[1-9][0-9]*)?)")

Priced = tuple[str, str, Noise | None]
"""Sensitivity and noise in words, and what a measurement states of it; None if no such is known."""


@dataclass(frozen=True)
class StatedStep:
    """A step of a ledger that has a price, and what it is priced from.

    Attributes:
        entry: plain data.
        price: cost.
        budget: of the release.
        schema: of the release.
        n_rows: records of each set.
        leaks: that the guarantee names.
        measured: entry in the manifest of what it measured; None if it measured nothing.
    """

    entry: Mapping[str, Any]
    price: Fraction
    budget: Budget
    schema: Schema
    n_rows: int
    leaks: str
    measured: Mapping[str, Any] | None

    @property
    def accounting(self) -> Accounting:
        """The unit of the price."""
        return self.budget.accounting

    @property
    def noise(self) -> str:
        """The noise in words."""
        return str(self.entry["noise"])

    @property
    def is_replaced(self) -> bool:
        """True if neighbours differ by a replaced record."""
        return self.schema.neighbours == "replace"

    @property
    def lattice(self) -> Fraction:
        """Step of its lattice.

        Raises:
            ValueError: it names none.
        """
        return Fraction(found_in(_STEP, self.noise)[1])

    def priced_by(self, mechanism: Any) -> Iterator[Priced]:
        """Return what a mechanism announces, if it is what the step says that was asked.

        Args:
            mechanism: one of this package's, made from what was measured.
        """
        from understudy.dp.confidential import CodedView, PublicContext

        terms = PublicContext(
            view=CodedView(schema=self.schema), budget=self.budget, left=self.budget.amount
        )
        (charge,) = mechanism.price(terms, self.price)
        if (charge.query, charge.cells) == (self.entry["query"], self.entry["cells"]):
            yield charge.sensitivity, charge.noise, charge.recorded


def found_in(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Find where a pattern stands in a text.

    Raises:
        ValueError: nowhere.
    """
    found = pattern.search(text)
    if found is None:
        raise ValueError
    return found


_COUNTS: Final = (
    *("noisy table", "noisy number line", "noisy heaps", "noisy layer", "noisy ranges"),
    *("filtered noisy table", "lazy noisy table", "lazy leaf layer", "noisy distance"),
)
_OVERSPENT = re.compile(r"the noise of ([0-9]+(?:/[1-9][0-9]*)?) times the ε")
_SHARE = re.compile(r" = \S+/\((\d+)(?: n| ceil\(n/(\d+)\))?\)")
_INSIDE = re.compile(r"inside \[(\S+), (\S+)\]")
_ONE = re.compile(r"L1 = ([0-9]+(?:/[1-9][0-9]*)?)(/n_k, as published)?")
_SCORE = re.compile(r"score: \S.*")
_LAW = re.compile(r"η = (-?[0-9]+(?:/[1-9][0-9]*)?), γ = ([0-9]+(?:/[1-9][0-9]*)?)")


def _counts(step: StatedStep) -> Iterator[Priced]:
    """Tables, layers, lines and numbers of records, strictly or as published."""
    from understudy.dp.calibration import NoiseName
    from understudy.dp.perturbation import (
        Bounds,
        Mode,
        count_noise,
        count_sensitivity,
        describe_noise,
        words,
    )

    worth = (Fraction(1), *map(Fraction, _OVERSPENT.findall(step.leaks)))
    modes: tuple[Mode, ...] = ("strict", "paper") if step.leaks else ("strict",)
    kinds: tuple[Bounds, ...] = get_args(Bounds)
    for name, bounds, mode, more in product(get_args(NoiseName), kinds, modes, worth):
        try:
            noise = count_noise(
                name,
                spend=step.price,
                accounting=step.accounting,
                schema=step.schema,
                bounds=bounds,
                mode=mode,
                overspend=more,
            )
        except UnderstudyError:
            continue
        sensitivity = count_sensitivity(noise, step.schema.neighbours, mode)
        yield sensitivity, words(noise), describe_noise(noise)


def _row_count(step: StatedStep) -> Iterator[Priced]:
    yield from step.priced_by(RowCount())


def _rows(step: StatedStep) -> Iterator[Priced]:
    """A noisy table for each column, at equal cost."""
    from understudy.dp.calibration import calibrate, describe, noise_of, sensitivity_text

    relation = step.schema.neighbours
    for name in ("geometric", "gaussian"):
        if name == "gaussian" and step.accounting == "pure":
            continue
        noise = calibrate(
            "gaussian" if name == "gaussian" else "geometric",
            spend=step.price / len(step.schema.names),
            accounting=step.accounting,
            neighbours=relation,
        )
        yield f"{sensitivity_text(noise, relation)} in each table", describe(noise), noise_of(noise)


def _successes(step: StatedStep) -> Iterator[Priced]:
    from understudy.dp.perturbation import Bounds, Mode
    from understudy.mechanisms.tables import BinomialCount

    column = (step.measured or {"columns": ("",)})["columns"][0]
    modes: tuple[Mode, ...] = ("strict", "paper") if step.leaks else ("strict",)
    bounds: tuple[Bounds, ...] = get_args(Bounds)
    for bound, mode in product(bounds, modes):
        yield from step.priced_by(BinomialCount(column, bound, mode))


def _scores(step: StatedStep) -> Iterator[Priced]:
    from understudy.mechanisms.second_moments import SecondMoments

    told = step.measured
    if told is None or told["kind"] != Kind.PRODUCTS or told["bins"] or told.get("groups"):
        return
    columns, complete = tuple(told["columns"]), tuple(told["of"])
    yield from step.priced_by(SecondMoments(columns, complete, limits_in(told)))


def _weighted_prices(step: StatedStep) -> Iterator[Priced]:
    from understudy.mechanisms.second_moments import WeightedMoments

    told = step.measured
    if told is None or told["kind"] != Kind.WEIGHTED or told["bins"] or told.get("groups"):
        return
    columns, totals = tuple(told["columns"]), told["totals"]
    about = told["of"][0], float(totals["bound"]), totals["power"], *told["of"][1:]
    yield from step.priced_by(WeightedMoments(columns, *about))


def _weighted_table_prices(step: StatedStep) -> Iterator[Priced]:
    from understudy.features.scores import Weighting
    from understudy.mechanisms.weighted_tables import WeightedTable

    told = step.measured
    if told is None or told["kind"] != Kind.WEIGHTED_TABLE:
        return
    totals, coded = told["totals"], (bins_in(told), groups_in(told))
    weighting = Weighting(told["of"][0], float(totals["bound"]), totals["power"])
    yield from step.priced_by(WeightedTable(tuple(told["columns"]), weighting, *coded))


def _terms(step: StatedStep) -> Iterator[Priced]:
    from understudy.features.scores import Weighting
    from understudy.mechanisms.second_moments import TermMoments

    told = step.measured
    if told is None or told["kind"] != Kind.TERMS or told["bins"] or told.get("groups"):
        return
    weighting = None
    if told["of"]:
        (column, *apart), totals = told["of"], told["totals"]
        weighting = Weighting(column, float(totals["bound"]), totals["power"], *apart)
    terms, about = tuple(told["terms"]), (limits_in(told), among_in(told), weighting)
    yield from step.priced_by(TermMoments(terms, *about))


def _ranks(step: StatedStep) -> Iterator[Priced]:
    """Their noise follows from how many columns there are."""
    from understudy.features.scores import RankScores
    from understudy.mechanisms.second_moments import RankProducts

    told = step.measured
    if told is None or told["kind"] != Kind.RANKS:
        return
    sizes = zip(step.schema.names, step.schema.sizes, strict=True)
    scores = {name: (0,) * size for name, size in sizes if name in told["columns"]}
    if list(scores) == list(told["columns"]):
        yield from step.priced_by(RankProducts(RankScores(scores)))


def _choice(step: StatedStep) -> Iterator[Priced]:
    """A choice adds no noise; its ε follows from the price and, under GDP, from what is left."""
    from understudy.mechanisms.selection import selection_epsilon

    said = str(step.entry["sensitivity"])
    if said == "distance: 1":
        from understudy.papers.empirical_distribution import noise_of_distance

        epsilon = selection_epsilon(step.price, step.accounting)
        noise = f"exp(−distance / {2 / epsilon}), the largest error of a cumulative count"
        yield said, noise, noise_of_distance(epsilon, step.entry["cells"])
    elif _SCORE.fullmatch(said) and not (step.is_replaced and said.endswith(", monotone")):
        yield said, "", NO_NOISE


def _selection(step: StatedStep) -> Iterator[Priced]:
    """Tries look at rows by steps of their own; `_require_selections` compares what these cost."""
    said = str(step.entry["sensitivity"])
    eta, gamma = map(Fraction, found_in(_LAW, said).groups())
    LawOfTries(eta, gamma)  # refuses what the theorem does not cover
    if said == selection_words(eta, gamma):
        yield said, "", NO_NOISE


def _moment(step: StatedStep) -> Iterator[Priced]:
    """Sums and scatters; their sensitivity is that of their columns, rounded to a lattice."""
    from understudy.dp import perturbation
    from understudy.dp.distributions import ContinuousLaplace
    from understudy.dp.truncated_laplace import TruncatedLaplace

    said = str(step.entry["sensitivity"])
    stated = _ONE.fullmatch(said)
    if stated is None or not _is_of_columns(step, size := Fraction(stated[1])):
        return
    means = step.measured is not None and step.measured["kind"] == Kind.MEANS
    if means != (stated[2] is not None):
        return
    ends = _INSIDE.search(step.noise)
    if "floating point" in step.noise:
        scale = float(size / step.price)
        inside = TruncatedLaplace(scale, *map(float, ends.groups())) if ends else None
        floating = inside or ContinuousLaplace(scale)
        divided = "; scale divided by the private n_k of a cell" if "/n_k" in said else ""
        if step.leaks:
            text = perturbation.words(floating) + divided
            yield said, text, perturbation.describe_noise(floating)
        return
    lattice = step.lattice
    steps = size / lattice
    if not ends:
        strict = perturbation.additive(steps / step.price)
        yield (
            said,
            perturbation.words(strict, lattice),
            perturbation.describe_noise(strict, lattice),
        )
        return
    low, high = (round(Fraction(end) / lattice) for end in ends.groups())
    for numbers in (1, 2):
        drawn = perturbation.calibrate_truncated(
            step.price, int(steps), (low, high), coordinates=numbers
        )
        yield said, perturbation.words(drawn, lattice), perturbation.describe_noise(drawn, lattice)


def _is_of_columns(step: StatedStep, size: Fraction) -> bool:
    """Return whether a sensitivity is that of the bounds, or up to 1/128 more for a lattice.

    How many cells can hold the numbers of a scatter is not stated; where it matters, either counts.
    """
    told = step.measured
    if told is None or told["kind"] not in (Kind.SUMS, Kind.MEANS, Kind.SCATTER):
        return False
    columns = [step.schema.columns[name] for name in told["of"]]
    if not all(isinstance(column, NUMERIC) for column in columns):
        return False
    widths = [Fraction(column.bounds[1]) - Fraction(column.bounds[0]) for column in columns]  # type: ignore[union-attr]
    if told["kind"] != Kind.SCATTER:
        most = least = (
            widths[0] if step.is_replaced or told["kind"] == Kind.MEANS else widths[0] / 2
        )
    else:
        most = least = math.prod(widths, start=Fraction(1))
        if step.is_replaced:
            least -= least / max(1, step.n_rows)
            most *= 1 if told["of"][0] == told["of"][-1] else 2
    slack = Fraction(1, 10**9)
    return least * (1 - slack) <= size <= most * (1 + Fraction(1, 100))


def _regression(step: StatedStep) -> Iterator[Priced]:
    """Normal equations, which no release holds; d predictors have (d + 1)(d + 4)/2 of them."""
    from understudy.mechanisms.regression import (
        MECHANISMS,
        NormalEquations,
        RegressionNoise,
        functional_noise,
        k_norm_noise,
    )

    for d, counted in product(range(1, 101), (True, False)):
        equations = NormalEquations(d, counted)
        if equations.size != step.entry["cells"]:
            continue
        for name, called in MECHANISMS.items():
            if called == step.entry["mechanism"]:
                made = (
                    k_norm_noise(equations, step.schema.neighbours, step.price)
                    if name == "k-norm"
                    else functional_noise(equations, step.price, published="published" in name)
                )
                noise = RegressionNoise(equations, step.price, *made)
                yield noise.sensitivity, noise.words, noise.recorded


def _draws(step: StatedStep) -> Iterator[Priced]:
    """Records from rows and a prior, whose weight follows from the price of all of them."""
    from understudy.papers.gibbs_mechanisms import WEIGHT_WORDS, cost_words, state_weight
    from understudy.papers.imputation_draws import PROBABILITIES, step_prior
    from understudy.papers.perturbed_gibbs import CHANGED, SEEN, row_epsilon, step_epsilon

    name, d, n = str(step.entry["mechanism"]), len(step.schema.names), step.n_rows
    relation = step.accounting, step.schema.neighbours
    if name == "perturbed imputation":
        steps = step.entry["cells"]
        prior = step_prior(step.price / max(1, n * steps), step.accounting)
        words = f"prior weight 1/(exp(e) - 1), e-DP at a cost of {step.price}/(n·{steps})"
        yield PROBABILITIES, f"draws by fitted probabilities, {words}", Noise(name, str(prior), 0.0)
        return
    many, block = found_in(_SHARE, step.noise).groups()
    if name == "perturbed sweeps":
        sensitivity, cost, ends = SEEN[relation[1]], cost_words(*relation), f"({many} n)"
        prior = state_weight(step_epsilon(step.price, int(many) * n, *relation))
        if int(many) % d:
            return
    else:
        sensitivity, twice = CHANGED[relation[1]], relation == ("pure", "replace")
        cost = "2 e" if twice else cost_words(*relation)
        blocks = -(-n // (min(int(block), n) or 1)) if block else -(-n // (n or 1))
        prior = state_weight(row_epsilon(step.price, d * blocks, *relation))
        ends = f"({d} ceil(n/{block}))" if block else f"({d})"
        ends += "; rows uniform once drawn from"
    for form, weight in WEIGHT_WORDS.items():
        if form != "paper" or step.leaks:
            words = f"perturbed draws of n records, {weight}, where {cost} = {step.price}/{ends}"
            yield sensitivity, words, Noise(name, str(prior), 0.0)


def _urn(step: StatedStep) -> Iterator[Priced]:
    from understudy.mechanisms.urn import Urn

    columns = tuple((step.measured or {"columns": ()})["columns"])
    binned = (step.measured or {}).get("bins", {})
    bins = {name: b if isinstance(b, int) else tuple(b) for name, b in binned.items()}
    seen = StatedStep(**{**vars(step), "schema": step.schema.with_bins(bins)}) if bins else step
    for reinforced in (True, False):
        urn = Urn(columns=columns, reinforced=reinforced, n_rows=step.n_rows)
        yield from seen.priced_by(urn)


RULES: Final[Mapping[str, Callable[[StatedStep], Iterator[Priced]]]] = {
    **dict.fromkeys(_COUNTS, _counts),
    "noisy count": _row_count,
    "noisy rows": _rows,
    "noisy successes": _successes,
    "noisy score moments": _scores,
    "noisy weighted moments": _weighted_prices,
    "noisy weighted table": _weighted_table_prices,
    "noisy term moments": _terms,
    "noisy rank products": _ranks,
    "noisy moment": _moment,
    "exponential mechanism": _choice,
    SELECTION: _selection,
    **dict.fromkeys(("functional mechanism", "functional mechanism, published bound"), _regression),
    "K-norm mechanism": _regression,
    "urn draws": _urn,
    **dict.fromkeys(("perturbed sweeps", "blocks with reset", "perturbed imputation"), _draws),
}
"""How each mechanism of a finite price is priced again, by its name in a ledger."""


_NUMBER = "[1-9][0-9,]*"
_SCORE_QUERY = "(AIC|BIC)"
_SWEPT: Final[Mapping[str, str]] = {
    "noisy rows": "records of {} from a noisy table for each column",
    "perturbed sweeps": f"records after (1 sweep|{_NUMBER} sweeps) of {{}}",
    "blocks with reset": f"records in (one block|blocks of {_NUMBER}) with reset of {{}}",
    "perturbed imputation": "records imputed over {}",
}

Asked = tuple[str, Collection[int]]
"""A pattern of the query, and how many numbers it may be of."""


@dataclass(frozen=True)
class Told:
    """A step with its measurement.

    Attributes:
        entry: of the ledger.
        data: of the measurement, in the manifest.
        schema: of the release.
    """

    entry: Mapping[str, Any]
    data: Mapping[str, Any]
    schema: Schema

    @property
    def kind(self) -> Kind:
        """Of the measurement."""
        return Kind(self.data["kind"])

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the measurement."""
        return tuple(self.data["columns"])

    @property
    def joined(self) -> str:
        """Its columns as they stand in a query, for a pattern."""
        return re.escape(" × ".join(self.columns))

    @cached_property
    def binned(self) -> Schema:
        """The schema in its bins and groups."""
        return binned_schema(self.data, self.schema)

    @property
    def allowed(self) -> int:
        """Cells of its table that can occur."""
        return self.binned.table(self.columns).n_allowed


def is_asked(entry: Mapping[str, Any], data: Mapping[str, Any] | None, schema: Schema) -> bool:
    """Return whether query and number of cells of a step are those of its measurement.

    Args:
        entry: step of the ledger, with a finite price.
        data: entry of its measurement in the manifest, of a kind that the step can have; None
            where nothing was measured.
        schema: of the release.
    """
    rule = None if data is None else _RULES.get(Kind(data["kind"]))
    if data is None or rule is None:  # priced again by the mechanism itself, which compares both
        return True
    query, cells = rule(Told(entry, data, schema))
    return entry["cells"] in cells and re.fullmatch(query, str(entry["query"])) is not None


def _table(told: Told) -> Asked:
    """Counts of all cells that can occur, and of what is out of domain."""
    if told.entry["mechanism"] == "noisy ranges":
        return _ranges(told)
    return re.escape(query_of(told.columns)), (told.allowed + 1,)


def _leaf_sums(told: Told) -> Asked:
    return re.escape(query_of(told.schema.names)), (told.binned.domain.n_allowed + 1,)


def _ranges(told: Told) -> Asked:
    """Ranges beyond the last state are counted, too, and are in no file."""
    from understudy.papers.hierarchy_mechanisms import range_query

    query = re.escape(range_query(told.columns[0], max(0, told.entry["cells"] - 1)))
    return query, range(told.data["cells"] + 1, 2**63)


def _nodes(told: Told) -> Asked:
    return f"counts of the nodes of layer {_NUMBER}", (told.data["cells"] + 1,)


def _line(told: Told) -> Asked:
    return f"counts of {told.joined} on its number line", (told.data["cells"] + 1,)


def _heaps(told: Told) -> Asked:
    return f"counts of {told.joined} by its heaps", (told.data["cells"] + 1,)


def _moment_query(told: Told) -> Asked:
    """Sums by cell, or a scatter within cells.

    A column of a single bin among those of the table may be summed by another step; it then
    stands in no query.
    """
    summed = tuple(dict.fromkeys(told.data["of"]))
    others = [name for name in told.columns if name not in summed]
    optional = {name for name in others if _has_one_bin(told.binned.columns[name])}
    word, link = _MOMENTS[told.kind]
    query, of = str(told.entry["query"]), f"{word} of {' and '.join(summed)}"
    rest = "".join(
        f"({re.escape(f'{name} × ')}){'?' if name in optional else ''}" for name in others
    )
    by = query.removeprefix(of + link) + " × " if query.startswith(of + link) else ""
    query = re.escape(query if re.fullmatch(rest, by) and (by or query == of) else of + link)
    if told.kind is Kind.SCATTER:
        return query, (1,)
    return query, (int(holding_cells(told.binned, told.columns, summed[0]).sum()),)


def _has_one_bin(column: Column) -> bool:
    bins = [one for one in getattr(column, "intervals", ()) if not one.spike]
    return isinstance(column, NUMERIC) and len(bins) == 1


def _choice_query(told: Told) -> Asked:
    single = rf"one of {_NUMBER} candidates by \S.*"
    if re.fullmatch(single, told.entry["query"]):
        return single, (1,)
    layer = "(a column that divides each node of|the columns that divide) layer [0-9]+"
    return f"({layer}|two groups of columns), by {_SCORE_QUERY}", range(1, 2**63)


def _parameters(told: Told) -> Asked:
    how = rf"(one of {_NUMBER}|a walk of {_NUMBER} steps) by \S.*"
    return f"parameters over {told.joined}: {how}", (1,)


def _distribution(told: Told) -> Asked:
    return f"distribution of {told.joined}", (told.allowed,)


def _sweeps(told: Told) -> Asked:
    """Records drawn column by column, by a table of each column and its key."""
    sizes = dict(zip(told.schema.names, told.binned.sizes, strict=True))
    query = _SWEPT[told.entry["mechanism"]].format(told.joined)
    tables = [key_of(text, told.schema.names) or ("",) for text in told.data["of"]]
    if told.columns != told.schema.names or [table[0] for table in tables] != [*sizes]:
        return query, ()
    if told.entry["mechanism"] == "perturbed imputation":  # a draw of each column in each sweep
        return query, range(len(sizes), 2**63, len(sizes))
    return query, (sum(math.prod(sizes[name] for name in table) for table in tables),)


_MOMENTS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.SUMS: ("sum", " by "),
    Kind.MEANS: ("mean", " by "),
    Kind.SCATTER: ("scatter", " within "),
}
_RULES: Final[Mapping[Kind, Callable[[Told], Asked]]] = {
    **dict.fromkeys((Kind.TABLE, Kind.CELLS, Kind.TOTALS), _table),
    **dict.fromkeys(_MOMENTS, _moment_query),
    Kind.LEAF_SUMS: _leaf_sums,
    Kind.NODES: _nodes,
    Kind.RANGES: _ranges,
    Kind.LINE: _line,
    Kind.HEAPS: _heaps,
    Kind.CHOICE: _choice_query,
    Kind.PARAMETERS: _parameters,
    Kind.DISTRIBUTION: _distribution,
    Kind.SWEEPS: _sweeps,
}


Price = Literal["paid", "as published", "free", "none"]
"""What a step cost: a finite price; a finite price with noise as published, of which the guarantee
names what that leaves in; nothing, which it names too; or no finite price, so that nothing is
promised."""


@dataclass(frozen=True)
class Purchase:
    """Measurements that a mechanism can have bought.

    Attributes:
        mechanism: by its name in a ledger.
        price: what such a step cost.
        kinds: of the measurement, by their words; none where it has no measurement.
        laws: of the noise in its numbers, by their names in a manifest.
    """

    mechanism: str
    price: Price
    kinds: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()


STATED_ELSEWHERE: Final = "stated elsewhere"
"""A step of another system, with the guarantee that its publisher states; never part of ours."""

_LAPLACE = ("discrete_laplace", "lattice_laplace")
_DISCRETE = ("discrete_laplace", "discrete_gaussian")
_ADDED = (*_LAPLACE, "discrete_gaussian")
_TRUNCATED = "truncated_discrete_laplace"
_PUBLISHED = ("laplace", "truncated_laplace")
_SWEPT_RECORDS = ("perturbed sweeps", "blocks with reset", "perturbed imputation")
_ELSEWHERE = (
    *("table", "cells", "totals", "successes", "sums", "means", "scatter", "products", "ranks"),
    *("weighted", "terms", "distribution", "nodes", "leaf-sums", "ranges", "line", "heaps"),
)

PURCHASES: Final = (
    Purchase("noisy count", "paid"),
    Purchase("noisy table", "paid", ("table",), (*_ADDED, _TRUNCATED)),
    Purchase("noisy table", "as published", ("table",), _PUBLISHED),
    Purchase("noisy number line", "paid", ("line",), _DISCRETE),
    Purchase("noisy heaps", "paid", ("heaps",), _DISCRETE),
    Purchase("noisy layer", "paid", ("table", "nodes"), _ADDED),
    Purchase("noisy layer", "as published", ("table", "nodes"), ("laplace",)),
    Purchase("noisy ranges", "paid", ("table", "ranges"), _ADDED),
    Purchase("filtered noisy table", "paid", ("cells",), _LAPLACE),
    Purchase("lazy noisy table", "paid", ("totals",), _LAPLACE),
    Purchase("lazy leaf layer", "paid", ("leaf-sums",), _LAPLACE),
    Purchase("noisy rows", "paid", ("sweeps",), _DISCRETE),
    Purchase("noisy successes", "paid", ("successes",), ("discrete_laplace", _TRUNCATED)),
    Purchase("noisy successes", "as published", ("successes",), _PUBLISHED),
    Purchase("noisy moment", "paid", ("sums", "scatter"), (*_LAPLACE, _TRUNCATED)),
    Purchase("noisy moment", "as published", ("sums", "means", "scatter"), _PUBLISHED),
    Purchase("noisy score moments", "paid", ("products",), _ADDED),
    Purchase("noisy weighted moments", "paid", ("weighted",), _ADDED),
    Purchase("noisy weighted table", "paid", ("weighted-table",), _ADDED),
    Purchase("noisy term moments", "paid", ("terms",), _ADDED),
    Purchase("noisy rank products", "paid", ("ranks",), ("lattice_laplace", "discrete_gaussian")),
    Purchase("exponential mechanism", "paid", ("choice", "parameters"), ("none",)),
    Purchase("exponential mechanism", "paid", ("distribution",), ("exponential_mechanism",)),
    Purchase("urn draws", "paid", ("draws",), ("Dirichlet–multinomial", "fixed prior")),
    *(Purchase(name, "paid", ("sweeps",), (name,)) for name in _SWEPT_RECORDS),
    Purchase("private selection", "paid"),
    Purchase("noisy distance", "paid"),
    Purchase("functional mechanism", "paid"),
    Purchase("functional mechanism, published bound", "paid"),
    Purchase("K-norm mechanism", "paid"),
    Purchase("exact deviation", "free"),
    Purchase("exact interquartile range", "free"),
    Purchase("exact table", "none", ("exact",), ("none",)),
    Purchase("exact moment", "none", ("exact",), ("none",)),
    Purchase("diverse rows", "none", ("exact",), ("diverse rows",)),
    Purchase("posterior", "none", ("posterior",), ("none",)),
    Purchase("pseudo posterior", "none", ("posterior",), ("none",)),
    Purchase("as they stand", "none", ("kept",), ("none",)),
    Purchase(STATED_ELSEWHERE, "none", _ELSEWHERE, (*_ADDED, _TRUNCATED, *_PUBLISHED)),
)
"""What the steps of a release can have bought. Another row needs another format of the manifest,
or a checker of this one refuses its releases."""


def purchase_of(mechanism: str, price: Price, measured: tuple[str, str] | None) -> Purchase | None:
    """The row of the table that a step has; None if there is none.

    Args:
        mechanism: by its name in the ledger.
        price: what it cost; "paid" stands for a finite price of either kind.
        measured: kind and law of what it measured; None where nothing was.

    Example:
        >>> purchase_of("noisy table", "paid", ("table", "discrete_laplace")).price
        'paid'
        >>> purchase_of("exponential mechanism", "paid", ("table", "none")) is None
        True
    """
    prices = ("paid", "as published") if price == "paid" else (price,)
    for one in PURCHASES:
        if one.mechanism == mechanism and one.price in prices:
            if measured is None and not one.kinds:
                return one
            if measured is not None and measured[0] in one.kinds and measured[1] in one.laws:
                return one
    return None


def require_noise(
    manifest: Manifest,
    measurements: Sequence[Mapping[str, Any]],
    schema: Schema,
) -> None:
    """Refuse steps and measurements that are not what was paid for.

    Args:
        manifest: of the right shape; its ledger adds up.
        measurements: their entries in the manifest, of columns of the schema.
        schema: of the release.

    Raises:
        Fault: names the step.
    """
    paid = {one["ledger_entry"]: one for one in measurements}
    if len(paid) < len(measurements):
        raise Fault("two measurements were paid by one step of its ledger")
    budget, leaks = stated_budget(manifest.budget), " ".join(manifest.guarantee.leaks)
    _require_rows(manifest, budget, schema)
    _require_selections(manifest, budget)
    for entry in manifest.ledger:
        exact, told = entry[f"{budget.unit_name}_exact"], paid.get(entry["number"])
        if entry["noise"] == LOST:  # charged by a run that ended before it had a result
            _require_lost(entry, exact, told)
            continue
        purchase = _purchase(entry, exact, told, leaks)
        if purchase.mechanism == STATED_ELSEWHERE and manifest.guarantee.kind != "none":
            raise Fault("it promises something, and another system measured some of it")
        if purchase.price == "none":
            continue  # what has no finite price promises nothing
        if purchase.price == "free":
            fits = entry["noise"] == "none: unpaid"
        else:
            price = Fraction(exact)
            step = StatedStep(entry, price, budget, schema, manifest.n_rows, leaks, told)
            if not is_asked(entry, told, schema):
                raise Fault(f"step {entry['number']} of its ledger asks for other numbers")
            fits = any(_is_stated(step, one) for one in _price_step(step))
        if not fits:
            raise Fault(f"the noise of step {entry['number']} is not what its price pays for")


def _purchase(
    entry: Mapping[str, Any],
    exact: str | None,
    told: Mapping[str, Any] | None,
    leaks: str,
) -> Purchase:
    """The row of the table that a step has.

    Raises:
        Fault: there is none.
    """
    price: Price = "none" if exact is None else "paid" if Fraction(exact) else "free"
    measured = None if told is None else (str(told["kind"]), str(told["law"]))
    purchase = purchase_of(entry["mechanism"], price, measured)
    named = {"as published": FLOATING in leaks, "free": leaks != ""}
    if purchase is None or not named.get(purchase.price, True):
        raise Fault(f"step {entry['number']} of its ledger cannot have paid for what it is said to")
    return purchase


def _require_lost(
    entry: Mapping[str, Any], exact: str | None, told: Mapping[str, Any] | None
) -> None:
    """Refuse a step without a result of which there is one, or of a mechanism that there is not."""
    known = any(
        (one.mechanism, one.price == "none") == (entry["mechanism"], exact is None)
        for one in PURCHASES
    )
    if told is not None or not known or (exact is not None and not Fraction(exact)):
        raise Fault(f"step {entry['number']} of its ledger ended without a result, and has one")


def _require_selections(manifest: Manifest, budget: Budget) -> None:
    """Refuse a private selection that the budget does not pay for, with the try before it.

    In pure ε it costs 1 + η of the try; with δ the try has at most the ρ that law, ε and δ allow.

    Raises:
        Fault: says so, or that the budget is none that a selection can be paid from.
    """
    before, unit = Fraction(0), f"{budget.unit_name}_exact"
    for entry in manifest.ledger:
        price = Fraction(entry[unit] or 0)
        if entry["mechanism"] != SELECTION:
            before += price
            continue
        found = _LAW.search(str(entry["sensitivity"]))
        if budget.accounting == "gdp" or found is None or manifest.choice is None:
            raise Fault("it was selected in another way than its ledger can pay for")
        law = LawOfTries(Fraction(found[1]), Fraction(found[2]))
        least = (1 + law.eta) * before
        if budget.delta:
            allowed = law.rho_within(budget.epsilon, budget.delta)
            least = budget.amount - allowed if before <= allowed else budget.amount
        if price < least:
            raise Fault("its private selection cost less than the tries that it stands for")
    if (manifest.choice is None) != all(one["mechanism"] != SELECTION for one in manifest.ledger):
        raise Fault("it was selected in another way than its ledger says")


def _require_rows(manifest: Manifest, budget: Budget, schema: Schema) -> None:
    """Refuse a private number of rows that no step bought, or that is said to cost something else.

    Raises:
        Fault: says what does not fit.
    """
    bought = [
        entry
        for entry in manifest.ledger
        if entry["mechanism"] == RowCount.name and entry["noise"] != LOST
    ]
    rows_stddev = manifest.inference.rows_stddev  # 0 in a release that does not say
    if schema.rows == "public":
        if bought or rows_stddev or manifest.rows_obtained != PUBLIC_ROWS:
            raise Fault("its number of rows is public, and is said to have been measured")
        return
    if len(bought) != 1:
        raise Fault("its number of rows is private, and no single step of its ledger paid for it")
    if schema.row_limit is not None and manifest.n_rows > schema.row_limit:
        raise Fault("it has more rows than its schema allows")
    (entry,) = bought
    price = Fraction(entry[f"{budget.unit_name}_exact"] or 0)
    step = StatedStep(entry, price, budget, schema, manifest.n_rows, "", None)
    for _, noise, recorded in _price_step(step):
        assert recorded is not None
        spread = max(rows_stddev, SMALLEST_STDDEV) if rows_stddev else recorded.stddev
        words = bought_rows(budget.unit, price, noise)
        if manifest.rows_obtained == words and math.isclose(spread, recorded.stddev, rel_tol=1e-9):
            return
    raise Fault("its number of rows was obtained in another way than its ledger says")


def _is_stated(step: StatedStep, priced: Priced) -> bool:
    """Return whether ledger and measurement state what a price buys."""
    sensitivity, noise, recorded = priced
    if (step.entry["sensitivity"], step.noise) != (sensitivity, noise):
        return False
    if step.measured is None or recorded is None:
        return True
    told = step.measured
    same = (told["law"], told["scale"]) == (recorded.distribution, recorded.scale)
    return same and math.isclose(told["stddev"], recorded.stddev, rel_tol=1e-9)


def _price_step(step: StatedStep) -> Iterator[Priced]:
    """Compute what the price of a step can buy."""
    rule = RULES.get(step.entry["mechanism"])
    if rule is None:
        return
    try:
        yield from rule(step)
    except (UnderstudyError, ValueError, ArithmeticError, LookupError):
        return
