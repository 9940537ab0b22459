from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from understudy.evaluate.report_charts import curves, standard_error, verdict, whiskers, width_ratio
from understudy.evaluate.report_page import (
    MAX_BYTES,
    STAMP,
    agreement,
    arrange_columns,
    choose_columns,
    end_of_scale,
    gap_words,
    heat,
    internal_page,
    shown_terms,
    worst_first,
)
from understudy.evaluate.scores import (
    DEFINITIONS,
    Better,
    Coefficient,
    CorrelationKept,
    Evaluation,
    GroupKept,
    Marginal,
    Metric,
    NumberKept,
    RelationKept,
    Subgroup,
)
from understudy.report.text import figure

NAN, INF = math.nan, math.inf


def scored(name, *numbers, detail="", **more):
    """A score of this definition."""
    one = DEFINITIONS[name]
    return Metric(name + detail, *numbers, better=one.better, definition=one, **more)


SCORES = (
    scored("pMSE, logistic, main effects", 0.0011, 0.0001, 0.001, 0.0001),
    scored("pMSE, CART", 0.04, 0.002, 0.002, 0.0002, note="depth 5"),
    scored("SPECKS, CART", 0.05, 0.01, 0.052, 0.006),
    scored("total variation, worst 1-way", 0.3, 0.01, 0.01),
    scored("total variation, 1-way", 0.012, 0.001, 0.01),
    scored("total variation, 2-way", 0.1, None, 0.02),
    scored("conditional distance", 0.2),
)
EMPTY = Evaluation("T", 0, 0, 0, "m", "g", (), (), {}, {}, (), ())


def marginal(name, original, synthetic):
    labels = tuple(f"state {k}" for k in range(len(original)))
    distance = sum(abs(a - b) for a, b in zip(original, synthetic, strict=True)) / 2
    return Marginal(name, labels, tuple(original), tuple(synthetic), distance)


def small():
    """Three columns, of which two lost their association."""
    grid = tuple(k / 10 for k in range(11))
    late = tuple(x**2 for x in grid)
    coefficients = (
        Coefficient("y ~ x (ols)", "Intercept", (1.0, 0.0, 2.0), (1.5, 1.0, 2.0), 0.75, 0.98),
        Coefficient("y ~ x (ols)", "x", (5.0, 4.9, 5.1), (0.0, -0.2, 0.2), 0.0, 98.0),
    )
    return Evaluation(
        title="A small survey",
        n_original=1000,
        n_synthetic=500,
        sets=5,
        method="independent",
        guarantee="Pure differential privacy with ε = 1.",
        scores=SCORES,
        marginals=(
            marginal("calm", (0.5, 0.5), (0.5, 0.5)),
            marginal("wrong", (0.9, 0.1), (0.2, 0.8)),
            marginal("fair", (0.3, 0.7), (0.4, 0.6)),
        ),
        pairs={("calm", "wrong"): 0.02, ("wrong", "fair"): 0.44, ("calm", "fair"): 0.03},
        propensity={"CART": (grid, grid, late)},
        coefficients=coefficients,
        agreement=((10, 0, 0, 20), (1, 2, 3, 0), (0, 0, 4, 0), (5, 0, 0, 55)),
        subgroups=(
            Subgroup("sex", "f", 900, False, {"pMSE ratio": 1.5}),
            Subgroup("sex", "x", 7, True, {"pMSE ratio": NAN, "2-way": 0.25}),
        ),
        warnings=("One model could not be fitted.",),
    )


def wide(n_columns=110):
    """A table at the upper end: all pairs, long names, many states and coefficients."""
    rng = np.random.default_rng(0)
    names = [f"variable number {k} of a large survey" for k in range(n_columns)]
    marginals = []
    for name in names:
        n = int(rng.integers(2, 60))
        shares = rng.dirichlet(np.ones(n), 2)
        marginals.append(marginal(name, shares[0].tolist(), shares[1].tolist()))
    pairs = {pair: float(rng.beta(2, 20)) for pair in itertools.combinations(names, 2)}
    coefficients = tuple(
        Coefficient(f"model {k}", name, (a, a - 0.2, a + 0.2), (b, b - 0.4, b + 0.4), 0.5, 3.0)
        for k in range(3)
        for name, a, b in zip(names, *rng.normal(size=(2, n_columns)), strict=True)
    )
    return replace(small(), marginals=tuple(marginals), pairs=pairs, coefficients=coefficients)


@pytest.fixture(scope="module")
def page():
    return internal_page(small())


@pytest.fixture(scope="module")
def wide_page():
    return internal_page(wide())


def test_page_is_whole_deterministic_and_self_contained(page, check):
    found = check(page, MAX_BYTES)
    assert page == internal_page(small())
    charts = [attrs for _, attrs in found.tags if attrs.get("role") == "img"]
    # Gauges of tiles, three marginals, the triangle, one curve, one chart of coefficients.
    assert len(charts) == 4 + 3 + 1 + 1 + 1
    assert not {"nan", "inf", "none"} & set(found.text.lower().split())
    for words in ("A small survey", "1,000", "independent", "One model could not be fitted."):
        assert words in found.text


def test_stamp_is_on_every_screen_and_sheet(page):
    assert STAMP == "internal: compares with confidential data, not for release"
    assert f"– {STAMP}</title>" in page
    text = re.sub("<[^>]+>", "", page[page.index('<p class="stamp"') :].split("</p>")[0])
    assert text.lower() == STAMP
    assert page.index('class="stamp"') < page.index("<header>")
    rules = re.findall(r"\.stamp \{([^}]*)\}", page)
    assert "position: sticky" in rules[0]
    assert "top: 0" in rules[0]
    # A table head that must not break is repeated on every printed sheet.
    printed = page[page.rindex("@media print") :]
    assert re.search(r"body \{ display: table;", printed)
    sheet = re.search(r"\.stamp \{([^}]*)\}", printed)[1]
    assert "table-header-group" in sheet
    assert "break-inside: avoid" in sheet
    assert "none" not in sheet


def test_worst_come_first(page):
    for name, worse in (("fair", "wrong"), ("calm", "fair")):
        assert page.index(f">{worse}</h3>") < page.index(f">{name}</h3>")
    section = page[page.index('id="worst"') : page.index('id="marginals"')]
    rows = re.findall(r'<th scope="row">(.*?)</th>', section)
    assert rows == [
        "wrong", "fair", "calm", "wrong × fair", "calm × fair", "calm × wrong",
    ]  # fmt: skip
    table = page[page.index("the furthest apart first") :]
    assert table.index('<th scope="row">x</th>') < table.index('<th scope="row">Intercept</th>')


@pytest.mark.whole
def test_wide_table_stays_within_two_megabytes(wide_page, check):
    found = check(wide_page, MAX_BYTES)
    charts = sum(attrs.get("role") == "img" for _, attrs in found.tags)
    assert charts == 4 + 110 + 1 + 1 + 3
    assert "Show 70 more columns" in found.text
    assert "Shown are the 60 columns of the worst pairs, of 110." in found.text
    assert "Numbers of the 300 worst pairs" in found.text
    assert "86 coefficients that are closer than these are in the table below." in found.text
    assert wide_page.count("<g><title>") == 60 * 59 // 2


def test_what_does_not_fit_is_left_out_with_a_word_about_it(check):
    long = "x" * 18_000
    names = [f"{k} {long}" for k in range(40)]
    huge = replace(
        small(),
        title=long,
        scores=tuple(Metric(name, 1.0, note=long) for name in names),
        marginals=tuple(marginal(name, (0.5, 0.5), (0.5, 0.5)) for name in names),
        pairs=dict.fromkeys(itertools.combinations(names, 2), 0.1),
        propensity={name: small().propensity["CART"] for name in names},
        warnings=tuple(names),
        subgroups=tuple(Subgroup(long, name, 1, True, {long: 1.0}) for name in names),
        coefficients=tuple(replace(small().coefficients[0], model=name) for name in names),
    )
    found = check(internal_page(huge), MAX_BYTES)
    for what in ("scores", "columns", "models", "coefficients", "subgroups", "warnings"):
        assert re.search(rf"\d+ more {what} are left out", found.text), what


def test_nothing_to_show(check):
    found = check(internal_page(EMPTY), MAX_BYTES)
    for words in (
        "No score could be computed.", "No column was compared.",
        "No pair of columns was compared.", "No propensity model was fitted.",
        "No reference regression was fitted.", "No pair of columns was tested.",
        "No subgroups were compared.", "Everything could be computed.",
    ):  # fmt: skip
        assert words in found.text
    assert not [attrs for _, attrs in found.tags if attrs.get("role") == "img"]
    check(internal_page(replace(EMPTY, agreement=((0,) * 4,) * 4)), MAX_BYTES)


def test_numbers_that_are_none_are_dashes(check):
    odd = (NAN, INF, -INF)
    scores = [Metric(f"s{k}", x, x, x, x) for k, x in enumerate(odd)]
    scores += [scored("pMSE, CART", x, None, 0.1, 0.1, detail=f", {k}") for k, x in enumerate(odd)]
    scores += [scored("trained on synthetic, accuracy", NAN, null=0.8)]
    scores += [Metric("zero null", 1.0, 0.0, 0.0, 0.0), Metric("zero", 0.0, 0.0, 0.0, 0.0)]
    broken = Coefficient("m", "t", (1.0, NAN, INF), (NAN, NAN, NAN), NAN, NAN)
    flat = Coefficient("m", "flat", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 0.0, INF)
    wild = Coefficient("m", "wild", (1.0, 0.9, 1.1), (1.0, -INF, INF), 0.5, 0.0)
    found = check(
        internal_page(
            replace(
                small(),
                scores=tuple(scores),
                marginals=(
                    Marginal("nothing", (), (), (), NAN),
                    Marginal("some", ("a", "b"), (NAN, 1.0), (0.5, INF), NAN),
                    marginal("known", (0.1, 0.9), (0.9, 0.1)),
                ),
                pairs={("nothing", "some"): NAN, ("some", "known"): 0.5},
                propensity={
                    "empty": ((), (), ()),
                    "gappy": ((NAN, 0.5, 1.0), (0.1, NAN, 1.0), (0.2, 0.5, 1.0)),
                },
                coefficients=(broken, flat, wild),
            )
        ),
        MAX_BYTES,
    )
    words = set(re.findall(r"[\w∞–−]+", found.text.lower()))
    assert not {"nan", "inf"} & words
    assert "∞" in words
    labels = " ".join(attrs.get("aria-label", "") for _, attrs in found.tags)
    assert not re.search(r"\b(nan|inf)\b", labels)
    headings = re.findall(r">(\w+)</h3>", internal_page(replace(small(), marginals=(
        Marginal("unknown", ("a",), (1.0,), (1.0,), NAN), marginal("known", (0.1,), (0.9,)),
    ))))  # fmt: skip
    assert headings.index("known") < headings.index("unknown")


def test_one_set_and_one_pair(check):
    alone = replace(small(), sets=1, pairs={("wrong", "fair"): 0.2}, n_synthetic=0, n_original=0)
    found = check(internal_page(alone), MAX_BYTES)
    assert "mean over the" not in found.text
    assert "one set" in found.text


def test_odd_names_are_escaped(check):
    name, other = '<b>"x|y', "</td><script>alert('$x_1$')</script>\u202e\x07"
    grid = (0.0, 0.5, 1.0)
    odd = Evaluation(
        title="<title>&", n_original=1, n_synthetic=1, sets=2, method="<i>", guarantee="ε = 1 <p>",
        scores=(Metric(name, 1.0, note=other), scored("pMSE, CART", 2.0, None, 1.0, detail=other)),
        marginals=tuple(
            Marginal(one, (other, "漢字", "&amp;"), (0.2, 0.3, 0.5), (0.5, 0.3, 0.2), 0.3)
            for one in (name, other)
        ),
        pairs={(name, other): 0.5}, propensity={other: (grid, grid, (0.0, 0.2, 1.0))},
        coefficients=(Coefficient(name, other, (1, 0, 2), (1, 0, 2), 1.0, 0.0),),
        agreement=((1, 0, 0, 0),) * 4, subgroups=(Subgroup(name, other, 3, True, {name: 1.0}),),
        warnings=(other,),
    )  # fmt: skip
    page = internal_page(odd)
    found = check(page, MAX_BYTES)
    assert "<script" not in page
    assert name in found.text
    assert "漢字" in found.text
    assert "&amp;amp;" in page
    assert "\u202e" not in page
    assert "\x07" not in page


def test_verdict_by_hand():
    tiles = {tile.name: tile for tile in verdict(SCORES)}
    assert list(tiles) == [
        "pMSE / fresh", "SPECKS", "Total variation, 1-way", "Total variation, 2-way",
    ]  # fmt: skip
    told = tiles["pMSE / fresh"]
    # The model that tells rows apart, not the one that cannot see the fault.
    assert (told.variant, told.value, told.uncertainty) == ("CART", "20", "± 1 over sets")
    assert (told.null, told.beyond) == ("fresh sample: 1 ± 0.1", True)
    assert told.standing == "190 sd worse than a fresh sample."
    assert tiles["SPECKS"].standing == "Within chance of a fresh sample."
    # The mean, not the worst column; without the spread of chance, 1.2 times is not beyond it.
    assert (tiles["Total variation, 1-way"].value, tiles["Total variation, 1-way"].beyond) == (
        "0.012",
        False,
    )
    assert (tiles["Total variation, 2-way"].standing, tiles["Total variation, 2-way"].beyond) == (
        "5 × a fresh sample.",
        True,
    )
    assert tiles["Total variation, 2-way"].uncertainty == "one set"


def test_verdict_on_scores_better_than_chance_and_on_predictions():
    close = verdict([scored("pMSE, CART", 0.2, 0.0, 1.0, 0.1)])[0]
    assert close.standing.startswith("8 sd closer than a fresh sample")
    assert not close.beyond
    high = verdict([scored("confidence-interval overlap", 0.2, None, 0.9, 0.1)])[0]
    assert (high.standing, high.beyond) == ("7 sd worse than a fresh sample.", True)
    area = "trained on synthetic, area under the curve"
    found = verdict([scored(area, 0.5, 0.01, 0.8, 0.01, detail=" for sex")])[0]
    assert (found.standing, found.beyond) == ("A loss of 0.3.", True)
    assert found.null == "trained on original rows: 0.8 ± 0.01"
    assert (found.name, found.variant) == ("Train on synthetic", "area under the curve for sex")
    own = scored("trained on synthetic, accuracy", 0.79, 0.02, 0.8, 0.01)
    assert verdict([own])[0].standing == "A loss of 0.01, within chance."
    assert verdict([scored("trained on synthetic, accuracy", 0.5)])[0].standing == ""
    # Too few known kinds: others fill the strip, in the order given.
    other = verdict([Metric("b", 1.0), Metric("a", 2.0, better=Better.HIGH)])
    assert [(tile.name, tile.reading) for tile in other] == [
        ("b", "Lower is better."),
        ("a", "Higher is better."),
    ]


def test_agreement_by_hand():
    found = agreement(small().agreement)
    assert found is not None
    assert found.total == 100
    first, second, third = found.levels
    assert (first.level, first.lost, first.invented) == (".01", 0.20, 0.06)
    assert first.agree == pytest.approx(0.74)
    # .05: significant in the original alone 20 + 3, in the synthetic alone 5.
    assert (second.lost, second.invented) == (0.23, 0.05)
    assert (third.lost, third.invented) == (0.20, 0.05)
    assert found.rows[3][1][3].share == 0.55
    assert found.rows[3][1][3].step == 5
    assert agreement(()) is None


def test_triangle_puts_bad_blocks_together_and_misses_no_bad_pair():
    names = [f"v{k}" for k in range(12)]
    block = {"v1", "v5", "v9"}
    pairs = {pair: 0.5 if set(pair) <= block else 0.01 for pair in itertools.combinations(names, 2)}
    order, distances = arrange_columns(names, pairs)
    places = sorted(order.index(name) for name in block)
    assert places == list(range(places[0], places[0] + 3))
    assert places[-1] < 6  # the worse half first
    np.testing.assert_allclose(distances, distances.T)
    i, j = order.index("v1"), order.index("v9")
    assert distances[i, j] == 0.5
    assert set(choose_columns(pairs, 3)) == block
    assert worst_first(pairs)[0] == ("v1", "v5")
    assert end_of_scale(distances) == 0.5
    assert end_of_scale(distances * 0.01) == 0.1  # small distances stay pale
    drawn = heat(order, distances, "label", titles=True)
    assert drawn.count("var(--heat-9)") == 3 + 1  # the three bad pairs, and the legend
    assert "v9 × v1: 0.500" in drawn or "v1 × v9: 0.500" in drawn


def test_curves_mark_the_largest_gap():
    grid = (0.0, 0.25, 0.5, 1.0)
    drawn = curves((grid, (0, 0.5, 0.9, 1), (0, 0.4, 0.3, 1)), 0.5, "label")
    assert "gap 0.6" in drawn
    assert drawn.count("var(--spike)") == 1
    same = curves((grid, grid, grid), 0.5, "label")
    assert "gap" not in same


def test_whiskers_by_hand():
    first, second = small().coefficients
    assert standard_error(first) == pytest.approx(1 / 1.959964)
    assert width_ratio(first) == pytest.approx(0.5)
    assert width_ratio(second) == pytest.approx(2.0)
    drawn = whiskers((first, second), "label")
    assert "overlap 0.75 · width × 0.50" in drawn
    assert "overlap 0.00 · width × 2.00" in drawn
    assert "−20" in drawn  # 98 standard errors away: clipped, with an arrow head
    points = [0.1, 5.0, 3.0, NAN]
    terms = [replace(first, term=f"t{k}", standardised=x) for k, x in enumerate(points)]
    assert [one.term for one in shown_terms(terms, 2)] == ["t1", "t3"]


def test_gaps_and_figures_in_words():
    words = gap_words(marginal("a", (0.9, 0.1, 0.0, 0.0), (0.2, 0.4, 0.35, 0.05)))
    assert words == "state 0: 90.0 % → 20.0 %; state 2: 0.0 % → 35.0 %; state 1: 10.0 % → 40.0 %"
    assert gap_words(small().marginals[0]) == ""
    assert [figure(x) for x in (999.6, 0.09996, 12.345, 2.5e7, -3e-9)] == [
        "1,000", "0.1", "12.3", "2.50 × 10⁷", "−3.00 × 10⁻⁹",
    ]  # fmt: skip
    assert figure(0.0123, 2) == "0.012"
    assert figure(99.7, 2) == "100"


def oklab(colour):
    """A colour in OKLab (Ottosson 2020), where equal steps look equal."""
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    mixed = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return mixed @ np.cbrt(cones @ linear)


def modes(page):
    """Colours in light and in dark mode."""
    roots = re.findall(r":root \{(.*?)\}", page, flags=re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#\w{6})", root)) for root in roots]
    own = [k for k, colours in enumerate(found) if "heat-0" in colours]
    return [found[0] | found[own[0]], found[1] | found[own[1]]]


def test_colours_meet_wcag_aa_in_both_modes(page, contrast):
    for colour in modes(page):
        for ground in ("page", "panel"):
            for text in ("ink", "muted", "accent", "spike", "warn"):
                assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
            for shape in ("bar", "absent", "spike", "original"):
                assert contrast(colour[shape], colour[ground]) >= 3, (shape, ground)
        assert contrast(colour["alarm"], colour["alarm-page"]) >= 4.5
        for step in range(10):
            text = "on-low" if step < 4 else "on-mid" if step == 4 else "on-high"
            assert contrast(colour[text], colour[f"heat-{step}"]) >= 4.5, (text, step)


def test_colour_scale_is_even(page):
    for colour in modes(page):
        scale = np.array([oklab(colour[f"heat-{k}"]) for k in range(10)])
        steps = np.linalg.norm(np.diff(scale, axis=0), axis=1)
        assert steps.max() / steps.min() < 1.1
        lightness = np.diff(scale[:, 0])
        assert (lightness < 0).all() or (lightness > 0).all()


def test_every_number_of_a_wide_table_carries_its_heading(page):
    """On a phone rows become blocks, each number behind its heading."""
    wide = re.findall(r'<table class="[^"]*stack[^"]*">(.*?)</table>', page, flags=re.DOTALL)
    assert len(wide) >= 3
    for table in wide:
        headings = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table.partition("<tbody>")[2], re.DOTALL):
            labels = re.findall(r'<td data-label="([^"]*)"', row)
            assert len(labels) == row.count("<td") == len(headings) - 1
            assert set(labels) <= set(headings)


KEPT = {
    "numbers": (
        NumberKept(
            "income", (1e3, 50.0), (9e2, 60.0), (0.0, 0.1), 0.1, 6.3, 1.2, 0.04, (0, 0.5, 1)
        ),
        NumberKept("flat", (0.0, 0.0), (NAN, NAN), (0.0, 1.0), NAN, NAN, NAN, 1.0, (0, 0, 0)),
    ),
    "correlations": (
        CorrelationKept(("a<b", "income"), 0.8, 0.1, 0.0),
        CorrelationKept(("calm", "income"), 0.3, 0.29, 1.0),
        CorrelationKept(("calm", "fair"), 0.1, 0.09, NAN),
    ),
    "groups": (GroupKept("region", "north & west", 40, 0.04, 1.0, NAN, 0.2),),
    "relations": (RelationKept("start ≤ end", 990, 0.12, 0.5),),
}


def test_what_is_kept_is_told_in_tables_and_a_plot(check):
    found = check(internal_page(replace(small(), **KEPT)), MAX_BYTES)
    for words in (
        "10.0 %",
        "mean, sd",
        "a<b × income",
        "lost",
        "north & west",
        "start ≤ end",
        "12.0 %",
    ):
        assert words in found.text
    assert not {"nan", "inf", "none"} & set(found.text.lower().split())
    [label] = [a["aria-label"] for _, a in found.tags if "Spearman" in a.get("aria-label", "")]
    assert "3 pairs" in label
    assert "a<b × income −0.7" in label


def test_what_there_is_none_of_is_said(page):
    for what in ("Numbers", "Correlations beyond ± 0.2", "Small groups", "Relations"):
        assert f"{what}: there is nothing of the kind." in page


@pytest.mark.nightly
def test_a_survey_with_many_of_all_kinds_stays_small(check):
    many = {name: values[:1] * 5_000 for name, values in KEPT.items()}
    check(internal_page(replace(wide(), **many)), MAX_BYTES)
