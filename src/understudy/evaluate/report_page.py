"""Pages that compare with the rows: stamped not for release.

**The internal page: one self-contained HTML file about how close a release comes to the rows.**

It compares with confidential data, and says so on every screen and every printed sheet. It asks
nothing of the network and stays within two megabytes: long lists are folded, then cut, and the
page says what was left out.

**What the internal pages say of disclosure risk: a card for each attack, and all numbers.**

A card's chart shows members beside the control and a guess.

**What it says in tables: worst columns and pairs, agreement, subgroups.** The distances of all
pairs of columns stand in a triangle of coloured cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from understudy.evaluate import report_charts as charts
from understudy.evaluate.attack_setup import MUCH, Risk, Risks
from understudy.evaluate.report_charts import Tile, verdict
from understudy.evaluate.scores import Coefficient, CorrelationKept, Evaluation, Marginal, Subgroup
from understudy.report import text as templates
from understudy.report.svg import HEAT, LARGE, LETTER, SMALL, WIDTH, Anchor, Chart, Colour, Panel
from understudy.report.text import figure, percent, shorten_label

MOST_COLUMNS = 60
_WITH_NUMBERS = 14  # up to so many columns, each cell has its number
_LEGEND = 44.0
_STEP = 26.0  # width of one step of the legend
_LABEL = 30  # most letters of a name
_ENDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # of the colour scale; 0.1 keeps noise pale

Pairs = Mapping[tuple[str, str], float]


def choose_columns(pairs: Pairs, at_most: int = MOST_COLUMNS) -> list[str]:
    """Columns of the worst pairs, so many that none of the worst pairs is missed."""
    columns: dict[str, None] = {}
    for names in worst_first(pairs):
        if len({*columns, *names}) <= at_most:
            columns |= dict.fromkeys(names)
    return list(columns)


def worst_first(pairs: Pairs) -> list[tuple[str, str]]:
    """Names of the pairs, the most distant first, those without a number last."""
    return sorted(pairs, key=lambda names: (-_weight(pairs[names]), names))


def _weight(distance: float) -> float:
    return distance if math.isfinite(distance) else -1.0


def arrange_columns(names: Sequence[str], pairs: Pairs) -> tuple[list[str], NDArray[np.float64]]:
    """Columns in an order that puts distant pairs side by side, and the matrix of distances.

    Average linkage with optimal leaf order, columns being alike when their pair is badly kept; the
    worse half comes first.

    Returns:
        names, and distances of shape (names, names), NaN where a pair is missing.
    """
    place = {name: k for k, name in enumerate(sorted(names))}
    matrix = np.full((len(place), len(place)), np.nan)
    for (first, second), distance in pairs.items():
        if first in place and second in place and math.isfinite(distance):
            matrix[place[first], place[second]] = matrix[place[second], place[first]] = distance
    order = _order(np.nan_to_num(matrix))
    return [sorted(names)[k] for k in order], matrix[np.ix_(order, order)]


def _order(distances: NDArray[np.float64]) -> list[int]:
    n = len(distances)
    if n < 3:
        return list(range(n))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    alike = distances.max() - distances
    np.fill_diagonal(alike, 0)
    tree = linkage(squareform(alike, checks=False), "average", optimal_ordering=True)
    order = [int(k) for k in leaves_list(tree)]
    weights = distances.sum(axis=1)[order]
    return order if weights[: n // 2].sum() >= weights[-(n // 2) :].sum() else order[::-1]


def end_of_scale(distances: NDArray[np.float64]) -> float:
    """Upper end of the colour scale: a round number."""
    highest = float(np.nan_to_num(distances).max(initial=0.0))
    return next((end for end in _ENDS if highest <= end), highest)


def width(n: int, names: Sequence[str]) -> float:
    """Width of the drawing in points."""
    letters = max((len(shorten_label(name, _LABEL)) for name in names), default=0)
    return max(n * _square(n)[0] + 10 + LETTER * letters, 10 * _STEP + 120)


def _square(n: int) -> tuple[float, float]:
    if n <= _WITH_NUMBERS:
        return 46.0, 26.0
    return (22.0, 18.0) if n <= MOST_COLUMNS // 2 else (15.0, 15.0)


def heat(
    names: Sequence[str], distances: NDArray[np.float64], label: str, *, titles: bool
) -> Markup:
    """The lower triangle: a cell's row and column end at their names on the diagonal.

    Args:
        names: columns in order.
        distances: shape (names, names), NaN where a pair is missing.
        label: the chart in words.
        titles: whether each cell tells its pair and distance under the pointer.
    """
    n = len(names)
    wide, high = _square(n)
    chart = Chart(_LEGEND + n * high + 4, width(n, names))
    panel = chart.canvas()
    end = end_of_scale(distances)
    _draw_legend(panel, end)
    steps = np.minimum(10 * np.nan_to_num(distances) / end, 9).astype(int)
    for i in range(n):
        top = _LEGEND + i * high
        for j in range(i):
            if math.isnan(distances[i, j]):
                continue
            box = (j * wide + 0.5, top + 0.5, (j + 1) * wide - 0.5, top + high - 0.5)
            pair = f"{shorten_label(names[i], 40)} × {shorten_label(names[j], 40)}"
            words = f"{pair}: {distances[i, j]:.3f}"
            panel.fill([box], HEAT[steps[i, j]], title=words if titles else "")
            if n <= _WITH_NUMBERS:
                middle = ((j + 0.5) * wide, top + high / 2)
                colour = _ink_on(int(steps[i, j]))
                panel.text(*middle, f"{distances[i, j]:.2f}", colour, size=SMALL, anchor="center")
        size = LARGE if high >= LARGE + 5 else SMALL
        panel.text(i * wide + 4, top + high / 2, shorten_label(names[i], _LABEL), size=size)
    return chart.svg(label)


def _ink_on(step: int) -> Colour:
    return Colour.ON_LOW if step < 4 else Colour.ON_MID if step == 4 else Colour.ON_HIGH


def _draw_legend(panel: Panel, end: float) -> None:
    for k, colour in enumerate(HEAT):
        panel.fill([(k * _STEP, 2, (k + 1) * _STEP, 14)], colour)
    anchors: tuple[tuple[int, Anchor], ...] = ((0, "left"), (5, "center"), (10, "right"))
    for k, anchor in anchors:
        panel.text(k * _STEP, 24, f"{end * k / 10:g}", Colour.MUTED, size=SMALL, anchor=anchor)
    panel.text(10 * _STEP + 10, 8, "total variation", Colour.MUTED, size=SMALL)


CLASSES = ("p < .01", ".01 – .05", ".05 – .10", "p ≥ .10")
_LEVELS = (".01", ".05", ".10")
_LARGEST = 3  # states that a marginal's note names


@dataclass(frozen=True)
class Cell:
    """A cell of the table of decisions.

    Attributes:
        count: pairs of columns.
        share: of all pairs.
        step: place on the colour scale, 0 to 9.
        agrees: whether both fall into the same class.
    """

    count: int
    share: float
    step: int
    agrees: bool


@dataclass(frozen=True)
class Level:
    """Decisions at one level of significance, as shares of all pairs.

    Attributes:
        level: the level.
        agree: both significant, or both not.
        lost: significant in the original alone.
        invented: significant in the synthetic sets alone.
    """

    level: str
    agree: float
    lost: float
    invented: float


@dataclass(frozen=True)
class Agreement:
    """χ² decisions of the original (rows) and the synthetic sets (columns).

    Attributes:
        rows: cells, with the name of their row.
        levels: agreement at each level.
        total: pairs tested.
    """

    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    levels: tuple[Level, ...]
    total: int


def agreement(counts: Sequence[Sequence[int]]) -> Agreement | None:
    """Decisions in words; None if no pair was tested."""
    total = sum(map(sum, counts))
    if not total:
        return None
    rows = tuple(
        (name, tuple(_cell(n, total, i == j) for j, n in enumerate(row)))
        for i, (name, row) in enumerate(zip(CLASSES, counts, strict=True))
    )
    levels = tuple(_level(k, counts, total) for k in range(1, 4))
    return Agreement(rows, levels, total)


def _cell(count: int, total: int, agrees: bool) -> Cell:
    return Cell(count, count / total, min(int(10 * count / total), 9), agrees)


def _level(k: int, counts: Sequence[Sequence[int]], total: int) -> Level:
    """The first k classes are the significant ones."""
    lost = sum(sum(row[k:]) for row in counts[:k]) / total
    invented = sum(sum(row[:k]) for row in counts[k:]) / total
    return Level(_LEVELS[k - 1], 1 - lost - invented, lost, invented)


def worst_marginals(marginals: Sequence[Marginal]) -> list[Marginal]:
    """The most distant columns first, those without a number last."""
    return sorted(
        marginals,
        key=lambda marginal: -(marginal.distance if _is_number(marginal.distance) else -1.0),
    )


def _is_number(value: float) -> bool:
    return math.isfinite(value)


def gap_words(marginal: Marginal) -> str:
    """The states whose shares are furthest apart."""
    states = zip(marginal.labels, marginal.original, marginal.synthetic, strict=True)
    known = [state for state in states if _is_number(state[1]) and _is_number(state[2])]
    ordered = sorted(known, key=lambda state: -abs(state[1] - state[2]))[:_LARGEST]
    return "; ".join(f"{name}: {percent(a)} → {percent(b)}" for name, a, b in ordered if a != b)


def spoken_marginal(marginal: Marginal) -> str:
    """The chart of a column in words."""
    words = gap_words(marginal)
    largest = f" Largest gaps, original to synthetic: {words}." if words else ""
    return (
        f"Bar chart of {marginal.column}: shares of {len(marginal.labels)} states in original and "
        f"synthetic rows, distance {figure(marginal.distance)}.{largest}"
    )


def by_model(coefficients: Sequence[Coefficient]) -> dict[str, list[Coefficient]]:
    """Coefficients of each model, in the order given."""
    models: dict[str, list[Coefficient]] = {}
    for coefficient in coefficients:
        models.setdefault(coefficient.model, []).append(coefficient)
    return models


def shown_terms(coefficients: Sequence[Coefficient], at_most: int) -> list[Coefficient]:
    """Of a long model, the coefficients furthest apart, in the model's order."""
    ranked = sorted(
        range(len(coefficients)), key=lambda k: -_or_infinity(coefficients[k].standardised)
    )
    return [coefficients[k] for k in sorted(ranked[:at_most])]


def worst_coefficients(coefficients: Sequence[Coefficient]) -> list[Coefficient]:
    """The coefficients furthest apart first."""
    return sorted(coefficients, key=lambda coefficient: -_or_infinity(coefficient.standardised))


def _or_infinity(value: float) -> float:
    return math.inf if math.isnan(value) else value


def mean_overlap(coefficients: Sequence[Coefficient]) -> float | None:
    """Mean interval overlap, of those that have one."""
    known = [coefficient.overlap for coefficient in coefficients if _is_number(coefficient.overlap)]
    return sum(known) / len(known) if known else None


def select_judged(pairs: Sequence[CorrelationKept]) -> list[CorrelationKept]:
    """Correlations that are strong enough to be kept or lost, the furthest off first."""
    return [pair for pair in pairs if not math.isnan(pair.kept)]


def names_of_scores(subgroups: Sequence[Subgroup]) -> list[str]:
    """Scores that any subgroup has, in order of appearance."""
    return list(dict.fromkeys(name for group in subgroups for name in group.scores))


def share_of_synthetic(evaluation: Evaluation) -> float:
    """Share of one synthetic set in the rows that a propensity model sees."""
    total = evaluation.n_original + evaluation.n_synthetic
    return evaluation.n_synthetic / total if total else 0.5


STAMP = "internal: compares with confidential data, not for release"
_RISK_ROOM = {"risk_card": 120_000, "risk_row": 80_000, "risk_warning": 20_000}
_ORDER = ("high", "raised", "unknown", "near the control")
_MOST_NAMES = 12  # columns that are named


def risk_context(risks: Risks) -> dict[str, Any]:
    """Collect what the templates need of the risk.

    Args:
        risks: what was found.
    """
    by_attack = attacks(risks.risks)
    judged = [risk for risk in risks.risks if risk.advantage is not None]
    return {
        "found": risks,
        "known": _list_names(risks.keys),
        "wanted": _list_names(risks.secrets),
        "much": MUCH,
        "judged": len(judged),
        "alarming": len(risks.alarming),
        "cards": templates.fit_pieces(
            _risk_cards(by_attack), _RISK_ROOM["risk_card"], total=len(by_attack)
        ),
        "rows": _risk_rows("risk_row", risks.risks),
        "warnings": _risk_rows("risk_warning", risks.warnings),
    }


def risk_page(risks: Risks) -> str:
    """A page of its own for the steward; stamped internal.

    Args:
        risks: what was found; nothing else is looked at.

    Returns:
        HTML text, the same for the same figures.
    """
    page = templates.template("risk.html.jinja")
    return page.render(stamp=STAMP, title=risks.title, risk=risk_context(risks))


def attacks(risks: Sequence[Risk]) -> dict[str, list[Risk]]:
    """Figures by attack, in order."""
    by_attack: dict[str, list[Risk]] = {}
    for risk in risks:
        by_attack.setdefault(risk.attack, []).append(risk)
    return by_attack


def worst_level(risks: Sequence[Risk]) -> str:
    """The most alarming level of some figures.

    A figure that cannot be judged counts only where none can.
    """
    levels = {risk.level for risk in risks if risk.advantage is not None} or {"unknown"}
    return next(level for level in _ORDER if level in levels)


def _risk_cards(by_attack: dict[str, list[Risk]]) -> Iterator[Markup]:
    for k, (attack, risks) in enumerate(by_attack.items(), start=1):
        level = worst_level(risks)
        chart = attack_chart(risks, _describe_risks(attack, risks))
        yield _risk_macro("risk_card")(
            k, attack[:1].upper() + attack[1:], level, chart, _doubts(risks)
        )


def _describe_risks(attack: str, risks: Sequence[Risk]) -> str:
    parts = [
        f"{shorten_label(risk.measure, 80)}: members {figure(risk.value)}, "
        f"control {figure(risk.control)}, guess {figure(risk.guess)}, {risk.level}"
        for risk in risks
    ]
    return f"{shorten_label(attack, 80)}. {'; '.join(parts)}."


def _doubts(risks: Sequence[Risk]) -> list[tuple[str, str]]:
    """Warnings, each with the figures that it holds for."""
    measures: dict[str, list[str]] = {}
    for risk in risks:
        if risk.warning:
            measures.setdefault(risk.warning, []).append(shorten_label(risk.measure, 80))
    return [(", ".join(names), warning) for warning, names in measures.items()]


def _list_names(names: Sequence[str]) -> str:
    """Names of columns, the first few of many."""
    shown = ", ".join(shorten_label(name, 80) for name in names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _risk_rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    return templates.render_items(_risk_macro(macro), items, _RISK_ROOM[macro])


def _risk_macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "risk_parts.html.jinja")


_ROW = 58.0  # height of a figure
_LEFT, _RIGHT = 4.0, WIDTH - 4.0
_LETTERS = 38  # most letters of a figure's name


def attack_chart(risks: Sequence[Risk], label: str) -> Markup:
    """The figures of one attack, each on its own scale from 0.

    Rates and probabilities reach to 1; errors to the largest number that is shown.

    Args:
        risks: of one attack.
        label: the chart in words.
    """
    chart = Chart(len(risks) * _ROW + 2)
    panel = chart.canvas()
    for k, risk in enumerate(risks):
        _row(panel, risk, k * _ROW)
    return chart.svg(label)


def scale_of(risk: Risk) -> float:
    """Upper end of a figure's scale."""
    ends = [risk.guess, *(risk.interval or ()), *(risk.control_interval or ())]
    highest = max([x for x in ends if x is not None and math.isfinite(x)], default=1.0)
    return 1.0 if highest <= 1 and risk.measure != "mean absolute error" else 1.05 * highest


def _row(panel: Panel, risk: Risk, top: float) -> None:
    panel.text(0, top + 9, shorten_label(risk.measure, _LETTERS))
    alarming = risk.level in {"high", "raised"}
    colour = Colour.SPIKE if alarming else Colour.MUTED
    panel.text(WIDTH, top + 9, risk.level, colour, size=SMALL, anchor="right")
    reach = scale_of(risk) or 1.0

    def place(x: float) -> float:
        return _LEFT + (min(max(x, 0.0), reach) / reach) * (_RIGHT - _LEFT)

    panel.segments([(_LEFT, top + 45, _RIGHT, top + 45)], Colour.RULE, 1.0)
    ticks = [place(reach * part) for part in (0, 0.25, 0.5, 0.75, 1)]
    panel.segments([(x, top + 22, x, top + 45) for x in ticks], Colour.RULE, 0.7)
    if reach != 1:
        panel.text(WIDTH, top + 51, figure(reach), Colour.MUTED, size=SMALL, anchor="right")
    if risk.guess is not None and math.isfinite(risk.guess):
        x = place(risk.guess)
        panel.segments([(x, top + 20, x, top + 45)], Colour.ABSENT, 2.0)
    drawn = (risk.interval, risk.value, top + 28), (risk.control_interval, risk.control, top + 38)
    for (interval, value, y), colour in zip(drawn, (Colour.BAR, Colour.ORIGINAL), strict=True):
        if value is not None and interval is not None and all(map(math.isfinite, interval)):
            _whisker(panel, [place(x) for x in (value, *interval)], y, colour)
    if risk.value is None:
        panel.text(WIDTH / 2, top + 33, "undefined", Colour.MUTED, size=SMALL, anchor="center")


def _whisker(panel: Panel, row: Sequence[float], y: float, colour: Colour) -> None:
    """A dot with its whisker: places of the figure and of the ends of its interval."""
    dot, low, high = row
    panel.segments([(low, y, high, y)], colour, 2.0)
    panel.segments([(x, y - 3, x, y + 3) for x in (low, high)], colour, 1.4)
    panel.fill([(dot - 3, y - 3, dot + 3, y + 3)], colour)


MAX_BYTES = 2_000_000
MOST_OPEN = 40  # marginals that are not folded
MOST_WORST = 10  # columns and pairs in the short lists
MOST_PAIRS = 300  # pairs in the long list
MOST_DOTS = 2_000  # pairs in the plot of correlations, the worst ones
# Most bytes of the lists that grow with a table; the marginals get what is left.
_ROOM = {
    "tile": 60_000,
    "score_row": 120_000,
    "worst_row": 30_000,
    "pair_row": 100_000,
    "heat": 420_000,
    "curves_card": 160_000,
    "whiskers_card": 300_000,
    "coefficient_row": 200_000,
    "width_row": 60_000,
    "subgroup_row": 150_000,
    "number_row": 100_000,
    "correlation_row": 60_000,
    "group_row": 40_000,
    "relation_row": 60_000,
    "warning": 60_000,
}
_SPARE = 1_000  # for the sentences that say what was left out
_NOTHING: templates.Cut = (Markup(""), 0)


def internal_page(evaluation: Evaluation) -> str:
    """The page for the steward: original beside synthetic, the worst first.

    Args:
        evaluation: what was found; nothing else is looked at.

    Returns:
        HTML text of at most `MAX_BYTES` bytes in UTF-8, the same for the same evaluation.
    """
    page = templates.template("internal.html.jinja")
    context = _context(evaluation)
    frame = page.render(**context, cards=_NOTHING, folded_cards=_NOTHING)
    room = MAX_BYTES - templates.size(frame) - _SPARE
    marginals = context["marginals"]
    first = templates.fit_pieces(
        _cards(marginals[:MOST_OPEN], 1), room, total=len(marginals[:MOST_OPEN])
    )
    room -= templates.size(first[0])
    rest = _NOTHING
    if not first[1]:
        folded = marginals[MOST_OPEN:]
        rest = templates.fit_pieces(_cards(folded, MOST_OPEN + 1), room, total=len(folded))
    return page.render(**context, cards=first, folded_cards=rest)


def _context(evaluation: Evaluation) -> dict[str, Any]:
    pairs = evaluation.pairs
    marginals = worst_marginals(evaluation.marginals)
    coefficients = worst_coefficients(evaluation.coefficients)
    score_names = names_of_scores(evaluation.subgroups)
    worst_pairs = _worst_pairs(evaluation)
    worst_columns = [(marginal.column, marginal.distance) for marginal in marginals[:MOST_WORST]]
    columns, leading = _scale_bars(worst_columns, worst_pairs[:MOST_WORST])
    tiles = verdict(evaluation.scores)
    return {
        "stamp": STAMP,
        "most_open": MOST_OPEN,
        "evaluation": evaluation,
        "title": evaluation.title or "Synthetic data",
        "tiles": _rows("tile", [(tile, _gauge(tile)) for tile in tiles]),
        "judged": sum(bool(tile.standing) for tile in tiles),
        "beyond": sum(tile.beyond for tile in tiles),
        "scores": _rows("score_row", evaluation.scores),
        "definitions": evaluation.definitions,
        "marginals": marginals,
        "worst_columns": _rows("worst_row", columns),
        "worst_pairs": _rows("worst_row", leading),
        "pair_rows": _rows("pair_row", worst_pairs[:MOST_PAIRS]),
        "heat": _heat(evaluation),
        "curves": _curves(evaluation),
        "whiskers": _whiskers(evaluation.coefficients),
        "coefficients": _rows(
            "coefficient_row", [_with_width(coefficient) for coefficient in coefficients]
        ),
        "widths": _rows("width_row", evaluation.widths),
        "numbers": _rows("number_row", evaluation.numbers),
        "correlations": _rows("correlation_row", select_judged(evaluation.correlations)),
        "scatter": _scatter(evaluation),
        "groups": _rows("group_row", evaluation.groups),
        "relations": _rows("relation_row", evaluation.relations),
        "agreement": agreement(evaluation.agreement),
        "classes": CLASSES,
        "score_names": score_names,
        "subgroups": _rows(
            "subgroup_row", [(subgroup, score_names) for subgroup in evaluation.subgroups]
        ),
        "risk": risk_context(evaluation.risks) if evaluation.risks else None,
        "warnings": _rows("warning", evaluation.warnings),
        "n_pairs_left_out": max(0, len(pairs) - MOST_PAIRS),
    }


def _rows(macro: str, items: Sequence[Any]) -> templates.Cut:
    return templates.render_items(_macro(macro), items, _ROOM[macro])


def _macro(name: str) -> Callable[..., Markup]:
    return templates.macro(name, "internal_parts.html.jinja")


def _gauge(tile: Tile) -> Markup | str:
    null = f", {tile.null}" if tile.null else ""
    return charts.gauge(tile.gauge, f"{tile.name} {tile.value}, {tile.uncertainty}{null}")


Ranked = list[tuple[str, float]]  # name and distance, the worst first


def _scale_bars(*lists: Ranked) -> list[list[tuple[str, float, float]]]:
    """Lists with the lengths of their bars in per cent, on one scale."""
    lengths = [value for rows in lists for _, value in rows if math.isfinite(value) and value > 0]
    longest = max(lengths, default=1.0)
    return [
        [
            (shorten_label(name, 200), x, 100 * x / longest if math.isfinite(x) else 0.0)
            for name, x in rows
        ]
        for rows in lists
    ]


def _worst_pairs(evaluation: Evaluation) -> Ranked:
    pairs = evaluation.pairs
    return [(" × ".join(names), pairs[names]) for names in worst_first(pairs)]


def _heat(evaluation: Evaluation) -> dict[str, Any] | None:
    """The triangle of pairs, without its pointer texts if those make it too large."""
    names = choose_columns(evaluation.pairs)
    if not names:
        return None
    names, distances = arrange_columns(names, evaluation.pairs)
    label = (
        f"Triangle of the total variation distances of the pairs of {len(names)} columns. "
        f"{_spoken_pairs(_worst_pairs(evaluation)[:3])}"
    )
    chart = heat(names, distances, label, titles=True)
    if templates.size(chart) > _ROOM["heat"]:
        chart = heat(names, distances, label, titles=False)
    total = len({name for pair in evaluation.pairs for name in pair})
    return {
        "chart": chart,
        "width": width(len(names), names),
        "shown": len(names),
        "total": total,
    }


def _spoken_pairs(pairs: Sequence[tuple[str, float]]) -> str:
    said = (f"{shorten_label(name, 80)} {figure(value)}" for name, value in pairs)
    return f"Worst: {', '.join(said)}."


def _curves(evaluation: Evaluation) -> templates.Cut:
    share = share_of_synthetic(evaluation)

    def cards() -> Iterator[Markup]:
        for k, (model, curve) in enumerate(evaluation.propensity.items(), start=1):
            top = charts.widest(charts.finite(curve))
            gap = None if top is None else abs(top[1] - top[2])
            label = (
                f"Distributions of the propensities of original and synthetic rows by the model "
                f"{shorten_label(model, 80)}. Largest gap {figure(gap)}."
            )
            chart = charts.curves(curve, share, label)
            yield _macro("curves_card")(k, model, gap, chart)

    return templates.fit_pieces(cards(), _ROOM["curves_card"], total=len(evaluation.propensity))


def _scatter(evaluation: Evaluation) -> Markup | str:
    """Correlations of all pairs, original against synthetic; nothing without a pair."""
    pairs = evaluation.correlations[:MOST_DOTS]
    if not pairs:
        return ""
    worst = [(" × ".join(one.columns), one.synthetic - one.original) for one in pairs[:3]]
    label = (
        f"Spearman's correlations of {len(evaluation.correlations)} pairs of columns, synthetic "
        f"against original. Furthest off: "
        f"{', '.join(f'{shorten_label(name, 80)} {figure(off)}' for name, off in worst)}."
    )
    return charts.scatter([(one.original, one.synthetic) for one in pairs], label)


def _whiskers(coefficients: Sequence[Coefficient]) -> templates.Cut:
    models = by_model(coefficients)

    def cards() -> Iterator[Markup]:
        for k, (model, terms) in enumerate(models.items(), start=1):
            shown = shown_terms(terms, charts.MOST_TERMS)
            overlap = mean_overlap(terms)
            label = (
                f"Estimates and 95 % intervals of {len(shown)} coefficients of "
                f"{shorten_label(model, 80)}, original and synthetic. "
                f"Mean interval overlap {figure(overlap)}."
            )
            chart = charts.whiskers(shown, label)
            yield _macro("whiskers_card")(k, model, overlap, len(terms) - len(shown), chart)

    return templates.fit_pieces(cards(), _ROOM["whiskers_card"], total=len(models))


def _with_width(coefficient: Coefficient) -> tuple[Coefficient, float | None]:
    return coefficient, charts.width_ratio(coefficient)


def _cards(marginals: Sequence[Marginal], start: int) -> Iterator[Markup]:
    """Cards of columns, drawn one by one while there is room."""
    for k, marginal in enumerate(marginals, start=start):
        chart = charts.bars(marginal, spoken_marginal(marginal))
        yield _macro("marginal_card")(k, marginal, _note(marginal), chart)


def _note(marginal: Marginal) -> str:
    """Note what a chart with many states does not say by itself."""
    n, gaps = len(marginal.labels), gap_words(marginal)
    if n > charts.MOST_STATES:
        return "Shown are the states whose shares are furthest apart; the others are pooled."
    return f"Largest gaps: {gaps}." if gaps and n > charts.MOST_ROWS else ""
