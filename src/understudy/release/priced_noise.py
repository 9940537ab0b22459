"""What the price of each step of a ledger buys: sensitivity and noise, in words and numbers.

Each rule prices a step again from public facts, by the code that priced it when it was paid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Final, get_args

from understudy.errors import UnderstudyError
from understudy.privacy.mechanisms.counts.noisy_table import RowCount
from understudy.privacy.released import NO_NOISE, Noise
from understudy.release.measurement_kind import Kind
from understudy.release.stated_step import Priced, StatedStep, found_in
from understudy.schema import NUMERIC

_COUNTS: Final = (
    *("noisy table", "noisy number line", "noisy heaps", "noisy layer", "noisy ranges"),
    *("filtered noisy table", "lazy noisy table", "lazy leaf layer"),
)
_OVERSPENT = re.compile(r"the noise of ([0-9]+(?:/[1-9][0-9]*)?) times the ε")
_SHARE = re.compile(r" = \S+/\((\d+)(?: n| ceil\(n/(\d+)\))?\)")
_INSIDE = re.compile(r"inside \[(\S+), (\S+)\]")
_ONE = re.compile(r"L1 = ([0-9]+(?:/[1-9][0-9]*)?)(/n_k, as published)?")
_SCORE = re.compile(r"score: \S.*")


def _counts(step: StatedStep) -> Iterator[Priced]:
    """Tables, layers, lines and numbers of records, strictly or as published."""
    from understudy.privacy.noise.calibration import NoiseName
    from understudy.privacy.noise.perturbation import (
        Bounds,
        Mode,
        count_noise,
        count_sensitivity,
        recorded,
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
        yield sensitivity, words(noise), recorded(noise)


def _row_count(step: StatedStep) -> Iterator[Priced]:
    yield from step.priced_by(RowCount())


def _rows(step: StatedStep) -> Iterator[Priced]:
    """A noisy table for each column, at equal cost."""
    from understudy.privacy.noise.calibration import (
        calibrate,
        describe,
        noise_of,
        sensitivity_text,
    )

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
    from understudy.privacy.mechanisms.counts.binomial_count import BinomialCount
    from understudy.privacy.noise.perturbation import Bounds, Mode

    column = (step.measured or {"columns": ("",)})["columns"][0]
    modes: tuple[Mode, ...] = ("strict", "paper") if step.leaks else ("strict",)
    bounds: tuple[Bounds, ...] = get_args(Bounds)
    for bound, mode in product(bounds, modes):
        yield from step.priced_by(BinomialCount(column, bound, mode))


def _scores(step: StatedStep) -> Iterator[Priced]:
    from understudy.privacy.mechanisms.sums.score_moments import ScoreMoments

    told = step.measured
    if told is None or told["kind"] != Kind.PRODUCTS or told["bins"] or told.get("groups"):
        return
    yield from step.priced_by(ScoreMoments(tuple(told["columns"]), tuple(told["of"])))


def _ranks(step: StatedStep) -> Iterator[Priced]:
    """Their noise follows from how many columns there are."""
    from understudy.features.rank_scores import RankScores
    from understudy.privacy.mechanisms.sums.rank_products import RankProducts

    told = step.measured
    if told is None or told["kind"] != Kind.RANKS:
        return
    sizes = zip(step.schema.names, step.schema.sizes, strict=True)
    scores = {name: (0,) * size for name, size in sizes if name in told["columns"]}
    if list(scores) == list(told["columns"]):
        yield from step.priced_by(RankProducts(RankScores(scores)))


def _choice(step: StatedStep) -> Iterator[Priced]:
    """A choice adds no noise; its ε follows from the price and, under GDP, from what is left."""
    from understudy.privacy.mechanisms.choices.empirical_distribution import noise_of_distance
    from understudy.privacy.selection.exponential_mechanism import selection_epsilon

    said = str(step.entry["sensitivity"])
    if said == "distance: 1":
        epsilon = selection_epsilon(step.price, step.accounting)
        noise = f"exp(−distance / {2 / epsilon}), the largest error of a cumulative count"
        yield said, noise, noise_of_distance(epsilon, step.entry["cells"])
    elif _SCORE.fullmatch(said) and not (step.is_replaced and said.endswith(", monotone")):
        yield said, "", NO_NOISE


def _moment(step: StatedStep) -> Iterator[Priced]:
    """Sums and scatters; their sensitivity is that of their columns, rounded to a lattice."""
    from understudy.privacy.noise import perturbation
    from understudy.privacy.noise.floating_point_laplace import ContinuousLaplace
    from understudy.privacy.noise.truncated_laplace import TruncatedLaplace

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
        divided = "; scale divided by the private n_k of a cell" * ("/n_k" in said)
        if step.leaks:
            text = perturbation.words(floating) + divided
            yield said, text, perturbation.recorded(floating)
        return
    lattice = step.lattice
    steps = size / lattice
    if not ends:
        strict = perturbation.additive(steps / step.price)
        yield said, perturbation.words(strict, lattice), perturbation.recorded(strict, lattice)
        return
    low, high = (round(Fraction(end) / lattice) for end in ends.groups())
    for numbers in (1, 2):
        drawn = perturbation.truncated(step.price, int(steps), (low, high), coordinates=numbers)
        yield said, perturbation.words(drawn, lattice), perturbation.recorded(drawn, lattice)


def _is_of_columns(step: StatedStep, size: Fraction) -> bool:
    """Whether a sensitivity is that of the bounds, or up to 1/128 more for a lattice.

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
    from understudy.privacy.mechanisms.sums.functional_noise import functional_noise
    from understudy.privacy.mechanisms.sums.k_norm import k_norm_noise
    from understudy.privacy.mechanisms.sums.linear_regression import MECHANISMS, RegressionNoise
    from understudy.privacy.mechanisms.sums.normal_equations import NormalEquations

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
    from understudy.privacy.mechanisms.records.gibbs_chain import cost_words
    from understudy.privacy.mechanisms.records.imputation_draws import PROBABILITIES, step_prior
    from understudy.privacy.mechanisms.records.perturbed_gibbs import SEEN, step_epsilon
    from understudy.privacy.mechanisms.records.perturbed_gibbs_reset import CHANGED, row_epsilon
    from understudy.privacy.mechanisms.records.state_weights import WEIGHT_WORDS, state_weight

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
    from understudy.privacy.mechanisms.records.urn import Urn

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
    "noisy rank products": _ranks,
    "noisy moment": _moment,
    "exponential mechanism": _choice,
    **dict.fromkeys(("functional mechanism", "functional mechanism, published bound"), _regression),
    "K-norm mechanism": _regression,
    "urn draws": _urn,
    **dict.fromkeys(("perturbed sweeps", "blocks with reset", "perturbed imputation"), _draws),
}
"""How each mechanism of a finite price is priced again, by its name in a ledger."""
