"""The few scores that stand at the head of an internal page, and how to read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.evaluation.definitions import Better, Headline
from understudy.evaluation.evaluation_results import Score
from understudy.report.number_text import figure

_MOST, _FEWEST = 6, 4
_CHANCE = 2.0  # standard deviations that still count as chance


@dataclass(frozen=True)
class Gauge:
    """A score on its own scale.

    Attributes:
        value: the score.
        spread: its standard deviation over the sets.
        null: what a fresh sample would score.
        null_sd: standard deviation of that.
    """

    value: float
    spread: float | None
    null: float | None
    null_sd: float | None


@dataclass(frozen=True)
class Tile:
    """One score of the strip.

    Attributes:
        name: short name.
        variant: which of several scores of that name it is.
        value: the figure.
        uncertainty: its spread over the sets.
        null: what the yardstick scores.
        standing: what follows from that; "" without a null.
        beyond: whether it is worse than chance explains.
        reading: how to read it.
        gauge: the numbers behind it.
    """

    name: str
    variant: str
    value: str
    uncertainty: str
    null: str
    standing: str
    beyond: bool
    reading: str
    gauge: Gauge


@dataclass(frozen=True)
class _Kind:
    """A kind of score that belongs into the strip.

    Attributes:
        name: name in the strip.
        headline: which scores can stand for it; None for any other score.
        reading: how to read it.
        by_null: whether it is shown as a multiple of its null.
    """

    name: str
    headline: Headline | None
    reading: str
    by_null: bool = False


_TSTR = _Kind(
    "Train on synthetic",
    Headline.TRAINED,
    "Prediction of original rows by a model trained on synthetic ones (TSTR), "
    "beside one trained on original rows (TRTR). Equal: nothing is lost.",
)
_KINDS = (
    _Kind(
        "pMSE / fresh",
        Headline.PMSE,
        "How well a model tells synthetic rows from original ones. "
        "1 = as good as a fresh sample from the same population.",
        by_null=True,
    ),
    _Kind(
        "SPECKS",
        Headline.SPECKS,
        "Largest gap between the model's probabilities for original and for synthetic rows. "
        "0 = it cannot tell them apart, 1 = it always can.",
    ),
    _Kind(
        "Total variation, 1-way",
        Headline.ONE_WAY,
        "Share of rows that would have to change to make a column's distribution right, "
        "mean over columns. 0 = identical.",
    ),
    _Kind(
        "Total variation, 2-way",
        Headline.TWO_WAY,
        "The same for pairs of columns: lost associations show here. 0 = identical.",
    ),
    _Kind(
        "Total variation, 3-way",
        Headline.THREE_WAY,
        "The same for triples. 0 = identical.",
    ),
    _TSTR,
)


def verdict(scores: Sequence[Score]) -> tuple[Tile, ...]:
    """The strip: the known kinds of scores; if they are few, others in order of importance."""
    chosen: list[tuple[_Kind, Score]] = []
    for kind in _KINDS:
        score = _chosen(kind, scores)
        if score is not None:
            chosen.append((kind, score))
    shown = [score for _, score in chosen]
    others = [other for other in scores if other not in shown]
    for score in others[: max(0, _FEWEST - len(chosen))]:
        chosen.append((_Kind(score.name, None, score.note or score.better.sentence), score))
    return tuple(_tile(kind, score) for kind, score in chosen[:_MOST])


def _chosen(kind: _Kind, scores: Sequence[Score]) -> Score | None:
    """The score of a kind; of several, the one furthest beyond a fresh sample."""
    matching = [
        score for score in scores if score.definition and score.definition.headline is kind.headline
    ]
    # A model that cannot see a fault must not hide one that another model sees.
    return max(matching, key=_rank, default=None)


def _rank(score: Score) -> float:
    """How many times worse than its null; -1 where that is not known."""
    ratio = score.ratio
    if ratio is None or math.isnan(ratio):
        return -1.0
    if score.better is Better.LOW:
        return ratio
    return 1 / ratio if ratio > 0 else math.inf


def _tile(kind: _Kind, score: Score) -> Tile:
    ratio = score.ratio if kind.by_null else None
    unit = score.null if score.null and ratio is not None and math.isfinite(ratio) else 1.0
    gauge = _gauge(score, unit)
    standing, beyond = (_loss if kind is _TSTR else _standing)(score)
    yardstick = "trained on original rows" if kind is _TSTR else "fresh sample"
    return Tile(
        name=kind.name if ratio is not None else kind.name.removesuffix(" / fresh"),
        variant=score.variant if kind.headline else "",
        value=figure(gauge.value),
        uncertainty="one set" if gauge.spread is None else f"± {figure(gauge.spread, 2)} over sets",
        null=_null_words(yardstick, gauge),
        standing=standing,
        beyond=beyond,
        reading=kind.reading,
        gauge=gauge,
    )


def _gauge(score: Score, unit: float) -> Gauge:
    rest = (score.spread, score.null, score.null_sd)
    return Gauge(score.value / unit, *(None if x is None else x / unit for x in rest))


def _null_words(yardstick: str, gauge: Gauge) -> str:
    if gauge.null is None:
        return ""
    spread = "" if gauge.null_sd is None else f" ± {figure(gauge.null_sd, 2)}"
    return f"{yardstick}: {figure(gauge.null)}{spread}"


def _standing(score: Score) -> tuple[str, bool]:
    """Where a score stands against a fresh sample, and whether it is worse than chance explains."""
    far, ratio = score.standardised, score.ratio
    if far is not None and math.isfinite(far):
        if abs(far) <= _CHANCE:
            return "Within chance of a fresh sample.", False
        if (far > 0) == (score.better is Better.LOW):
            return f"{figure(abs(far))} sd worse than a fresh sample.", True
        return (
            f"{figure(abs(far))} sd closer than a fresh sample: "
            "expected of a fit without noise, otherwise look for copied rows.",
            False,
        )
    if ratio is None or not math.isfinite(ratio):
        return "", False
    # Without the spread of chance, only a large ratio counts as beyond it.
    return f"{figure(ratio)} × a fresh sample.", score.better is Better.LOW and ratio > _CHANCE


def _loss(score: Score) -> tuple[str, bool]:
    """Trained on synthetic against trained on original rows."""
    if score.null is None or not math.isfinite(score.null - score.value):
        return "", False
    loss = (score.null - score.value) * (1 if score.better is Better.HIGH else -1)
    beyond = loss > _CHANCE * math.hypot(score.spread or 0.0, score.null_sd or 0.0)
    words = "A loss" if loss > 0 else "A gain" if loss < 0 else "A difference"
    return f"{words} of {figure(abs(loss), 2)}{'' if beyond else ', within chance'}.", beyond
