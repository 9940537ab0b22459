"""Can a model tell synthetic rows from original ones? Scores by three models.

The same scores are computed within groups of records, too: a good average can hide a group that
fares badly.

**Models that try to tell synthetic rows from original ones, and what their propensities say.**

Logistic regression on main effects, the same with products of pairs of columns, and a
classification tree. Each is fitted to every set, and to permuted labels for its null.

**pMSE and SPECKS.** Original (n) and synthetic rows (ñ) are stacked, N = n + ñ, c = ñ/N; p̂ is an
estimated probability that a row is synthetic.

* pMSE = (1/N) Σ (p̂ - c)²: 0 if nothing tells them apart, c(1 - c) if everything does.
* SPECKS: Kolmogorov-Smirnov distance of the p̂ of the original and of the synthetic rows.

**Which null.** A flexible model tells any two samples apart to some degree. The null used here is
that original and synthetic rows are *two independent samples of one population*, for three reasons:
it answers what a reader asks (is this as good as a fresh sample?), permuted labels follow it
exactly, so that all models share it, and sets made through noise are not draws from the original
rows. With k parameters, the intercept included, and large samples:

* two independent samples: mean (k - 1)c(1 - c)/N, sd √(2(k - 1))·c(1 - c)/N;
* sets drawn from a correct model that was fitted to the original without noise (Snoke et al. 2018,
  section 3; the default of synthpop): 1 - c times as much. A bootstrap copy of the original has it.

The mean over m sets varies less than one set, but the sets share the original. Distances of p̂ in
two sets are correlated by c, their squares by c²: the sd of the mean is √((1 + (m - 1)c²)/m) times
that of one set. For large samples this is exact in logistic pMSE, and Kolmogorov-Smirnov distances
follow it within a few per cent (`tests/evaluate/utility/test_pmse_specks.py` simulates both).

Sources:
    Woo, Reiter, Oganian & Karr (2009), J. Privacy and Confidentiality 1(1); Snoke, Raab, Nowok,
    Dibben & Slavković (2018), J. Royal Statistical Society A 181, 663-688. SPECKS: Bowen, Liu & Su
    (2021), METRON 79, 1-31.

**Designs of comparisons: sparse indicators of groups of states, and which regressions are run.**

Each column has few groups of states. Groups depend on the pooled rows of original and synthetic
tables alone, never on which row is which. So under the hypothesis that both come from one
distribution, permuting the labels leaves the design as it is, and a permutation null is exact.

The regressions that are compared are those that the user wrote, or default ones. By default up to
three columns are each regressed on the main effects of the others: numbers by least squares,
columns of two states by logistic regression. In these models a column with levels keeps its five
most frequent ones of at least 1 % (in the original); the others are pooled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from understudy._arrays import Floats
from understudy._parallel import each
from understudy.data.coding import StateCodes
from understudy.errors import InferenceError, MethodError
from understudy.evaluate.comparison import Comparison, Rows, has_order
from understudy.evaluate.marginals import Distances, marginal_distances
from understudy.evaluate.robust_regression import Logistic
from understudy.evaluate.scores import DEFINITIONS, Definition, Metric, Subgroup
from understudy.inference import formulas as reading
from understudy.inference.records import Records
from understudy.schema import NUMERIC, Column, Schema
from understudy.schema.expressions import split_outside

Groups = NDArray[np.int64]

MAIN_GROUPS = 24
MAIN_PARAMETERS = 400
PAIR_PARAMETERS = 600
FEWEST_ROWS = 10
"""Pooled rows that a parameter must have: fewer would break the large-sample null."""

_MOST_PAIR_GROUPS = 6


def group_states(counts: NDArray[np.int64], column: Column, most: int) -> Groups:
    """Group of each state; group 0 is the largest.

    Neighbouring ordered states are joined until they hold about 1/most of the rows, a state that
    holds so many alone stays alone. Of unordered states and codes of absence the most frequent keep
    a group each, the others share one.

    Args:
        counts: pooled rows in each state, the one outside the domain included.
        column: declaration of the column.
        most: groups of ordinary states, and of the others.

    Returns:
        Shape of `counts`; numbers 0, 1, 2, …
    """
    n_ordinary = column.n_ordinary if has_order(column) else 0
    ordered = _join_neighbours(counts[:n_ordinary], most)
    others = _keep_frequent(counts[n_ordinary:], most)
    raw = np.concatenate([ordered, others + (ordered.max() + 1 if n_ordinary else 0)])
    return _by_size(raw, counts)


def _join_neighbours(counts: NDArray[np.int64], most: int) -> Groups:
    if not len(counts):
        return np.zeros(0, dtype=np.int64)
    target = max(counts.sum() / most, 1.0)
    while True:
        groups = _greedy(counts.tolist(), target)
        if groups.max() < most:
            return groups
        target *= 1.2


def _greedy(counts: list[int], target: float) -> Groups:
    groups, group, held = [], 0, 0
    for count in counts:
        if held and (held + count > 1.5 * target or held >= target):
            group, held = group + 1, 0
        groups.append(group)
        held += count
    return np.array(groups, dtype=np.int64)


def _keep_frequent(counts: NDArray[np.int64], most: int) -> Groups:
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    kept = (rank < most - 1) & (counts >= FEWEST_ROWS)
    return np.where(kept, rank, most - 1)


def _by_size(raw: Groups, counts: NDArray[np.int64]) -> Groups:
    """Numbered by size; what holds too few rows joins the largest."""
    held = np.bincount(raw, weights=counts)
    number = np.zeros(len(held), dtype=np.int64)
    large = [g for g in np.argsort(-held, kind="stable") if held[g] >= FEWEST_ROWS]
    number[large] = np.arange(len(large))
    return number[raw]


def group_columns(
    rows: Sequence[StateCodes], columns: Sequence[Column], limit: int, most: int
) -> list[Groups]:
    """Group of every row in every column, with at most `limit` indicators in all.

    Args:
        rows: pooled rows, one array of states per column, shape (n,).
        columns: declarations.
        limit: most indicators: groups less one, summed over columns.
        most: groups of a column to begin with; fewer if the limit demands it, but two.
    """
    counts = [
        np.bincount(codes, minlength=column.size + 1)
        for codes, column in zip(rows, columns, strict=True)
    ]
    while True:
        groups = [group_states(n, column, most) for n, column in zip(counts, columns, strict=True)]
        if most <= 2 or sum(int(group.max()) for group in groups) <= limit:
            return [group[codes] for group, codes in zip(groups, rows, strict=True)]
        most = max(2, int(most * 0.8))


def main_design(rows: Sequence[StateCodes], columns: Sequence[Column]) -> sp.csr_matrix:
    """Intercept and an indicator of each group but the largest, shape (n, parameters)."""
    grouped = group_columns(rows, columns, MAIN_PARAMETERS, MAIN_GROUPS)
    return _stack([np.zeros(len(rows[0]), dtype=np.int64), *(g - 1 for g in grouped)])


def pair_design(
    rows: Sequence[StateCodes], columns: Sequence[Column], rng: np.random.Generator
) -> tuple[sp.csr_matrix, int, int]:
    """The main design, and products of indicators of every pair of columns.

    For the products, states are in fewer groups, as many as `PAIR_PARAMETERS` allow. If pairs of
    two groups are still too many, a random choice of pairs is used.

    Args:
        rows: pooled rows, one array of states per column, shape (n,).
        columns: declarations.
        rng: chooses the pairs.

    Returns:
        The design; pairs used; pairs in all.
    """
    main = main_design(rows, columns)
    room = max(PAIR_PARAMETERS - main.shape[1], PAIR_PARAMETERS // 3)
    pairs = list(itertools.combinations(range(len(columns)), 2))
    for most in range(_MOST_PAIR_GROUPS, 1, -1):
        grouped = group_columns(rows, columns, MAIN_PARAMETERS, most)
        free = [int(group.max()) for group in grouped]
        if sum(free[i] * free[j] for i, j in pairs) <= room:
            break
    order = rng.permutation(len(pairs))
    taken: list[tuple[int, int]] = []
    for k in order:
        i, j = pairs[k]
        room -= free[i] * free[j]
        if room >= 0:
            taken.append((i, j))
    products = [_product(grouped[i], grouped[j], free[j]) for i, j in sorted(taken)]
    design = sp.hstack([main, _stack(products)], format="csr") if products else main
    return design, len(taken), len(pairs)


def _product(first: Groups, second: Groups, free: int) -> Groups:
    """Number of the pair of groups, -1 where either is the largest; rare pairs are -1 as well."""
    number = np.where((first > 0) & (second > 0), (first - 1) * free + second - 1, -1)
    counts = np.bincount(number[number >= 0])
    frequent = np.flatnonzero(counts >= FEWEST_ROWS)
    place = np.full(len(counts) + 1, -1, dtype=np.int64)  # the last one is for -1
    place[frequent] = np.arange(len(frequent))
    return place[number]


def _stack(numbers: Sequence[Groups]) -> sp.csr_matrix:
    """Indicators of each number from 0 on, several factors side by side; -1 has none."""
    n, start = len(numbers[0]), 0
    rows, columns = [], []
    for number in numbers:
        present = np.flatnonzero(number >= 0)
        rows.append(present)
        columns.append(number[present] + start)
        start += int(number.max()) + 1
    where = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_matrix((np.ones(len(where[0])), where), shape=(n, start))


MOST_COEFFICIENTS = 60
MOST_LEVELS = 6
MOST_MODELS = 3
_MOST_ABSENT = 0.5


@dataclass(frozen=True)
class Model:
    """One reference regression.

    Attributes:
        name: for people.
        formula: what is computed.
        columns: columns that it needs.
        pooled: whether rare levels are pooled first.
    """

    name: str
    formula: str
    columns: tuple[str, ...]
    pooled: bool = False


def written_models(formulas: Sequence[str], schema: Schema) -> tuple[Model, ...]:
    """Models that the user wrote.

    Raises:
        MethodError: a formula cannot be read, has no outcome, or names no column of the release.
    """
    models = []
    for formula in formulas:
        try:
            columns = reading.columns_of(formula, schema.names)
        except InferenceError as error:
            raise MethodError(str(error)) from None
        if len(sides := split_outside(formula, "~")) != 2 or not (all(sides) and columns):
            raise MethodError(
                f"The formula {formula!r} has no outcome or no column; expected something like "
                "'income ~ age + C(region)'."
            )
        models.append(Model(formula, formula, columns))
    return tuple(models)


def default_models(
    original: Records, target: str | None
) -> tuple[tuple[Model, ...], tuple[str, ...]]:
    """Up to three columns on the main effects of the others, and what was left out of them.

    Outcomes are the target, if it is a number or has two states; then numbers (ordinal ones last)
    and columns of two states in turn.
    """
    schema = original.schema
    present = {n: float((original.states[n] >= 0).mean()) for n in schema.names}
    sparse = [n for n in schema.names if present[n] < _MOST_ABSENT]
    usable = [n for n in schema.names if n not in sparse]
    warnings = [
        f"{name} is not in the default regressions: it is missing in more than half of the records."
        for name in sparse
    ]
    models = []
    for outcome in _outcomes(schema, usable, target)[:MOST_MODELS]:
        predictors, left_out = _within_limit(schema, [n for n in usable if n != outcome])
        if not predictors:
            continue
        formula = f"{_response(schema, outcome)} ~ {' + '.join(f'`{n}`' for n in predictors)}"
        models.append(Model(f"{outcome} ~ other columns", formula, (outcome, *predictors), True))
        if left_out:
            warnings.append(
                f"The regression of {outcome} leaves out {', '.join(left_out)}: it is limited to "
                f"{MOST_COEFFICIENTS} coefficients."
            )
    if not models:
        warnings.append(
            "There is no default regression: it takes two columns, one of them a number or of two "
            "states; give formulas."
        )
    return tuple(models), tuple(warnings)


def _outcomes(schema: Schema, usable: list[str], target: str | None) -> list[str]:
    binary = [n for n in usable if schema.columns[n].n_ordinary == 2]
    numbers = [n for n in usable if _is_number(schema.columns[n]) and n not in binary]
    numbers.sort(key=lambda n: not isinstance(schema.columns[n], NUMERIC))
    turns: list[str] = []
    for k in range(max(len(binary), len(numbers))):
        turns += numbers[k : k + 1] + binary[k : k + 1]
    if target in turns:
        turns.remove(target)
        turns.insert(0, target)
    return turns


def _is_number(column: Column) -> bool:
    return isinstance(column, NUMERIC) or (
        column.kind == "ordinal" and all(isinstance(v, int | float) for v in column.levels)
    )


def _response(schema: Schema, name: str) -> str:
    """A column of two states by its second one, whatever its kind; else the column."""
    column = schema.columns[name]
    if column.n_ordinary == 2 and _is_number(column) and not isinstance(column, NUMERIC):
        second = max(column.levels)
        return f"{{`{name}` == {second!r}}}"
    return f"`{name}`"


def _within_limit(schema: Schema, names: list[str]) -> tuple[list[str], list[str]]:
    room, taken, left_out = MOST_COEFFICIENTS - 1, [], []
    for name in names:
        column = schema.columns[name]
        cost = 1 if _is_number(column) else min(column.n_ordinary, MOST_LEVELS) - 1
        if cost <= room:
            room -= cost
            taken.append(name)
        else:
            left_out.append(name)
    return taken, left_out


Labels = NDArray[np.bool_]


def pmse(propensity: Floats, share: float) -> float:
    """Mean squared distance of the propensities, shape (N,), from the share of synthetic rows."""
    return float(np.mean((propensity - share) ** 2))


def specks(propensity: Floats, synthetic: Labels) -> float:
    """Kolmogorov-Smirnov distance of the propensities in the two groups, both of shape (N,).

    Tied propensities are taken jointly: the ECDFs are compared behind the last of them.
    """
    order = np.argsort(propensity, kind="stable")
    ahead = np.cumsum(synthetic[order]) / synthetic.sum()
    behind = np.cumsum(~synthetic[order]) / (~synthetic).sum()
    ordered = propensity[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(np.abs(ahead - behind)[last].max())


@dataclass(frozen=True)
class Null:
    """Mean and standard deviation of a score of one set, under a hypothesis."""

    mean: float
    sd: float


def simulated_null(parameters: int, n_original: int, n_synthetic: int) -> Null:
    """Null of logistic pMSE for two independent samples of one population.

    Args:
        parameters: k, the intercept included.
        n_original: n.
        n_synthetic: ñ.
    """
    total = n_original + n_synthetic
    unit = n_synthetic / total * (n_original / total) / total
    return Null((parameters - 1) * unit, math.sqrt(2 * (parameters - 1)) * unit)


def sd_of_mean(sd: float, share: float, sets: int) -> float:
    """Standard deviation of a score's mean over sets that share the original."""
    return sd * math.sqrt((1 + (sets - 1) * share**2) / sets)


MOST_ROWS = 50_000
"""Rows of the original and of each set that the models see; a random choice of more."""

TREE_DEPTH = 5
TREE_LEAF = 20
_LOGISTIC_PERMUTATIONS = 40
_TREE_WORK = 30_000_000
_FEWEST_TREES, _MOST_TREES = 20, 100
_STREAM_ROWS, _STREAM_PAIRS, _STREAM_LABELS, _STREAM_TREE = 10, 11, 12, 13

Design = tuple[sp.csr_matrix, str]


@dataclass(frozen=True)
class Stack:
    """Original rows over those of one set.

    Attributes:
        rows: one array of states per column, each of shape (N,).
        synthetic: which rows are synthetic, shape (N,).
    """

    rows: Rows
    synthetic: Labels

    @property
    def share(self) -> float:
        """Share of synthetic rows, c."""
        return float(self.synthetic.mean())

    def simulated_null(self, parameters: int) -> Null:
        """Null of logistic pMSE for two independent samples."""
        n_synthetic = int(self.synthetic.sum())
        return simulated_null(parameters, len(self.synthetic) - n_synthetic, n_synthetic)

    def permute(self, rng: np.random.Generator, times: int) -> Labels:
        """Labels in random order, shape (N, times)."""
        return np.stack([rng.permutation(self.synthetic) for _ in range(times)], axis=1)


@dataclass(frozen=True)
class Fitted:
    """One model on every set, and what permuted labels give.

    Attributes:
        name: name of the model.
        note: what to know about it.
        propensities: of each set, shape (N,).
        null_pmse: null of pMSE.
        permuted: pMSE and SPECKS of permuted labels, shape (permutations, 2).
    """

    name: str
    note: str
    propensities: list[Floats]
    null_pmse: Null | None
    permuted: Floats


def stack_sets(comparison: Comparison) -> tuple[list[Stack], str]:
    """Original over each set, and a note if rows were left out, else ""."""
    rng = comparison.generator(_STREAM_ROWS)
    original = _thin_rows(comparison.original, rng)
    sets = [_thin_rows(rows, rng) for rows in comparison.sets]
    stacks = [
        Stack(
            [np.concatenate(pair) for pair in zip(original, rows, strict=True)],
            np.arange(len(original[0]) + len(rows[0])) >= len(original[0]),
        )
        for rows in sets
    ]
    if max(comparison.n_original, comparison.n_synthetic) <= MOST_ROWS:
        return stacks, ""
    return stacks, f"at most {MOST_ROWS:,} rows of each table, drawn at random"


def _thin_rows(rows: Rows, rng: np.random.Generator) -> Rows:
    n = len(rows[0])
    if n <= MOST_ROWS:
        return rows
    kept = np.sort(rng.choice(n, MOST_ROWS, replace=False))
    return [codes[kept] for codes in rows]


def fit_models(comparison: Comparison, stacks: list[Stack]) -> Iterator[Fitted]:
    """Each model fitted to every set and to permuted labels, one model after the other."""
    columns = comparison.columns
    yield _logistic(
        "logistic, main effects", comparison, stacks, lambda s: (main_design(s.rows, columns), "")
    )
    if len(columns) > 1:
        yield _logistic("logistic, with pairs", comparison, stacks, lambda s: _pairs(comparison, s))
    yield _tree(comparison, stacks)


def pair_propensities(comparison: Comparison, stack: Stack) -> Floats:
    """Propensities by logistic regression with pairs, shape (N,), without a null."""
    return Logistic(_pairs(comparison, stack)[0]).fit(stack.synthetic)


def _pairs(comparison: Comparison, stack: Stack) -> Design:
    rng = comparison.generator(_STREAM_PAIRS)  # the same pairs for every set
    design, used, total = pair_design(stack.rows, comparison.columns, rng)
    note = "" if used == total else f"{used:,} of {total:,} pairs of columns, drawn at random"
    return design, note


def _logistic(
    name: str, comparison: Comparison, stacks: list[Stack], designs: Callable[[Stack], Design]
) -> Fitted:
    times = math.ceil(_LOGISTIC_PERMUTATIONS / len(stacks))

    def fit(k: int) -> tuple[Floats, Null, list[tuple[float, float]], str]:
        stack = stacks[k]
        design, note = designs(stack)
        model = Logistic(design)
        labels = stack.permute(comparison.generator(_STREAM_LABELS, k), times)
        fitted = model.fit_many(labels)
        permuted = [_both(fitted[:, b], labels[:, b]) for b in range(times)]
        about = f"{model.rank:,} parameters" + (f"; {note}" if note else "")
        return model.fit(stack.synthetic), stack.simulated_null(model.rank), permuted, about

    fits = each(fit, range(len(stacks)))
    nulls = [null for _, null, _, _ in fits]
    null = Null(float(np.mean([n.mean for n in nulls])), float(np.mean([n.sd for n in nulls])))
    permuted = np.array([both for _, _, pairs, _ in fits for both in pairs])
    return Fitted(name, fits[0][3], [p for p, _, _, _ in fits], null, permuted)


def tree_propensities(features: NDArray[np.float32], labels: Labels, seed: int) -> Floats:
    """Probability that each row is labelled, by a tree, shape (N,).

    Args:
        features: states, shape (N, columns).
        labels: shape (N,), of both kinds.
        seed: of the evaluation; decides between splits that are equally good.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_depth=TREE_DEPTH, min_samples_leaf=TREE_LEAF, random_state=seed % 2**32
    )
    return np.asarray(tree.fit(features, labels).predict_proba(features)[:, 1])


def _tree(comparison: Comparison, stacks: list[Stack]) -> Fitted:
    """The tree on every set, and on permuted labels of one set after the other.

    How often labels are permuted depends on the size of the table, not on a clock, so that the
    result is the same on every machine.
    """
    rows, columns = len(stacks[0].synthetic), len(comparison.columns)
    times = int(np.clip(_TREE_WORK / (rows * columns), 20, 100))
    features = [np.stack(stack.rows, axis=1).astype(np.float32) for stack in stacks]

    def fit(k: int, labels: Labels) -> Floats:
        return tree_propensities(features[k], labels, comparison.seed)

    def permute(b: int) -> tuple[float, float]:
        k = b % len(stacks)
        labels = stacks[k].permute(comparison.generator(_STREAM_TREE, b), 1)[:, 0]
        return _both(fit(k, labels), labels)

    propensities = each(lambda k: fit(k, stacks[k].synthetic), range(len(stacks)))
    permuted = np.array(each(permute, range(times)))
    note = f"depth {TREE_DEPTH}, at least {TREE_LEAF} rows in a leaf"
    return Fitted("CART", note, propensities, None, permuted)


def _both(propensity: Floats, labels: Labels) -> tuple[float, float]:
    return pmse(propensity, float(labels.mean())), specks(propensity, labels)


Curves = dict[str, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]
Tell = Callable[[int, int], None]

GRID = 101


def propensity_scores(
    comparison: Comparison, tell: Tell | None = None
) -> tuple[tuple[Metric, ...], Curves]:
    """PMSE and SPECKS by three models, and the distributions of their propensities.

    Args:
        comparison: original and sets.
        tell: called with how many of how many models are done.
    """
    stacks, note = stack_sets(comparison)
    scores: list[Metric] = []
    specks_scores: list[Metric] = []
    curves: Curves = {}
    for done, fitted in enumerate(fit_models(comparison, stacks), start=1):
        scores.append(_pmse_score(fitted, stacks, note))
        specks_scores.append(_specks_score(fitted, stacks, note))
        curves[fitted.name] = _curves(fitted.propensities, stacks)
        if tell:
            tell(done, 3)
    return (*scores, *specks_scores), curves


def quick_scores(comparison: Comparison) -> dict[Definition, float]:
    """SPECKS by main effects and by a tree, and pMSE / fresh; means over the sets, without nulls.

    Args:
        comparison: original and sets; pMSE / fresh is NaN where there is nothing to fit.
    """
    names = ("SPECKS, logistic, main effects", "SPECKS, CART", "pMSE / fresh")
    found = []
    for stack in stack_sets(comparison)[0]:
        propensity, rank = _main_effects(comparison, stack)
        features = np.stack(stack.rows, axis=1).astype(np.float32)
        tree = tree_propensities(features, stack.synthetic, comparison.seed)
        expected = stack.simulated_null(rank).mean
        ratio = pmse(propensity, stack.share) / expected if rank > 1 else float("nan")
        found.append((specks(propensity, stack.synthetic), specks(tree, stack.synthetic), ratio))
    means = np.mean(found, axis=0).tolist()
    return {DEFINITIONS[name]: mean for name, mean in zip(names, means, strict=True)}


def _main_effects(comparison: Comparison, stack: Stack) -> tuple[Floats, int]:
    """Propensities by main effects, shape (N,), and the parameters of the model."""
    model = Logistic(main_design(stack.rows, comparison.columns))
    return model.fit(stack.synthetic), model.rank


def logistic_ratio(comparison: Comparison) -> float | None:
    """Mean over the sets of pMSE by main effects over its null; None if there is nothing to fit."""
    ratios = []
    for stack in stack_sets(comparison)[0]:
        propensity, rank = _main_effects(comparison, stack)
        if rank < 2:
            return None
        ratios.append(pmse(propensity, stack.share) / stack.simulated_null(rank).mean)
    return float(np.mean(ratios))


def pair_specks(comparison: Comparison) -> list[float]:
    """SPECKS by logistic regression with pairs for each set, without a null.

    Of the three models it is the one to take alone: main effects do not see lost associations, and
    a greedy tree finds them by chance where the margins are right.
    """
    stacks = stack_sets(comparison)[0]
    return [specks(pair_propensities(comparison, stack), stack.synthetic) for stack in stacks]


def _pmse_score(fitted: Fitted, stacks: list[Stack], thinned: str) -> Metric:
    values = [pmse(p, s.share) for p, s in zip(fitted.propensities, stacks, strict=True)]
    null = fitted.null_pmse or _permutation_null(fitted.permuted[:, 0])
    source = "" if fitted.null_pmse else _source(fitted)
    notes = [fitted.note, source, thinned]
    return _score(DEFINITIONS[f"pMSE, {fitted.name}"], values, null, stacks, notes)


def _specks_score(fitted: Fitted, stacks: list[Stack], thinned: str) -> Metric:
    values = [specks(p, s.synthetic) for p, s in zip(fitted.propensities, stacks, strict=True)]
    null = _permutation_null(fitted.permuted[:, 1])
    notes = [_source(fitted), thinned]
    return _score(DEFINITIONS[f"SPECKS, {fitted.name}"], values, null, stacks, notes)


def _score(
    definition: Definition, values: list[float], null: Null, stacks: list[Stack], notes: list[str]
) -> Metric:
    sd = sd_of_mean(null.sd, stacks[0].share, len(stacks))
    note = "; ".join(part for part in notes if part)
    return Metric.over_sets(definition, values, null=null.mean, null_sd=sd, note=note)


def _permutation_null(values: Floats) -> Null:
    return Null(float(values.mean()), float(values.std(ddof=1)))


def _source(fitted: Fitted) -> str:
    return f"null from {len(fitted.permuted)} permutations"


def _curves(
    propensities: list[Floats], stacks: list[Stack]
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """A grid, and the distribution functions of original and synthetic rows, mean over the sets."""
    low = min(float(p.min()) for p in propensities)
    high = max(float(p.max()) for p in propensities)
    grid = np.linspace(low, high, GRID)
    groups = []
    for synthetic in (False, True):
        distributions = [
            np.searchsorted(np.sort(p[s.synthetic == synthetic]), grid, side="right")
            / (s.synthetic == synthetic).sum()
            for p, s in zip(propensities, stacks, strict=True)
        ]
        groups.append(tuple(np.mean(distributions, axis=0).tolist()))
    return tuple(grid.tolist()), groups[0], groups[1]


SMALL = 50
"""Original rows below which the scores of a group mean little."""

MOST_GROUPS = 60

_RATIO = DEFINITIONS["pMSE / fresh"]
_DETAILS = {_RATIO: ", logistic, main effects"}


def subgroup_scores(comparison: Comparison, column: int) -> tuple[Subgroup, ...]:
    """Scores within each state of a column that occurs in the original, in the order of states.

    Total variation distances come with their ratio to those of a fresh sample of this size, since
    small groups have large distances by chance. Only sets that have records in the group count;
    the share of the group is compared first.

    Args:
        comparison: original and sets.
        column: the grouping column.
    """
    groups: list[Subgroup] = []
    for state, label in enumerate(comparison.labels(column)):
        part = comparison.where(column, state)
        if not part.n_original:
            continue
        if len(groups) == MOST_GROUPS:
            break
        groups.append(_group(comparison, part, column, label))
    return tuple(groups)


def _group(whole: Comparison, part: Comparison, column: int, label: str) -> Subgroup:
    share = part.n_original / whole.n_original
    sizes = [len(rows[0]) for rows in part.sets]
    synthetic = float(
        np.mean([n / len(rows[0]) for n, rows in zip(sizes, whole.sets, strict=True)])
    )
    scores = {DEFINITIONS["share, synthetic / original"]: synthetic / share}
    inhabited = part.with_sets([rows for rows, n in zip(part.sets, sizes, strict=True) if n])
    if inhabited.sets:
        scores |= _scores(inhabited, column)
    return Subgroup(
        whole.schema.names[column],
        label,
        part.n_original,
        part.n_original < SMALL,
        {
            definition.name + _DETAILS.get(definition, ""): score
            for definition, score in scores.items()
        },
        tuple(scores),
    )


def _scores(part: Comparison, column: int) -> dict[Definition, float]:
    scores = {}
    for order in (1, 2):
        distances = marginal_distances(part, order)
        kept = [k for k, columns in enumerate(distances.marginals) if column not in columns]
        if kept:
            name = f"total variation, {order}-way, other columns"
            scores[DEFINITIONS[name]] = float(distances.means[kept].mean())
            scores[DEFINITIONS[f"{name} / fresh"]] = _ratio(distances, kept)
    ratio = logistic_ratio(part)
    if ratio is not None:
        scores[_RATIO] = ratio
    return scores


def _ratio(distances: Distances, kept: list[int]) -> float:
    null = float(distances.nulls[kept].mean())
    return float(distances.means[kept].mean()) / null if null else 1.0
