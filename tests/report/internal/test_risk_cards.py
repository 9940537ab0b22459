"""The disclosure risk on internal pages: of known figures, of none, of too many, of odd ones."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from understudy.evaluate.attack_setup import Figure, Risks, judge_figure
from understudy.evaluate.report_page import (
    MAX_BYTES,
    STAMP,
    internal_page,
    risk_page,
    scale_of,
    worst_level,
)
from understudy.evaluate.scores import Evaluation

EXPOSED = judge_figure(
    "re-identification",
    "expected risk",
    Figure(0.8, (0.78, 0.82), 2000),
    Figure(0.1, (0.08, 0.12), 2000),
    0.001,
    note="picked at random",
)
SAFE = judge_figure(
    "inference of income",
    "mean absolute error",
    Figure(410.0, (400.0, 420.0), 2000),
    Figure(412.0, (402.0, 422.0), 2000),
    390.0,
    perfect=0.0,
)
UNDEFINED = judge_figure("re-identification", "false match rate", None, None, None, perfect=0.0)
RISKS = Risks(
    title="A small survey",
    method="laplace",
    guarantee="Pure differential privacy with ε = 1.",
    n_original=5000,
    n_control=1234,
    n_synthetic=4000,
    sets=2,
    keys=tuple(f"column {k}" for k in range(20)),
    secrets=("income",),
    risks=(EXPOSED, UNDEFINED, SAFE),
    warnings=("The control has few rows.",),
)
EMPTY = Evaluation("T", 0, 0, 0, "m", "g", (), (), {}, {}, (), ())


@pytest.fixture(scope="module")
def page():
    return risk_page(RISKS)


def test_page_is_whole_stamped_and_deterministic(page, check):
    found = check(page, MAX_BYTES)
    assert page == risk_page(RISKS)
    assert f"– {STAMP}</title>" in page
    assert page.index('class="stamp"') < page.index("<header>")
    charts = [attrs["aria-label"] for _, attrs in found.tags if attrs.get("role") == "img"]
    assert len(charts) == 2  # one for each attack
    assert "members 0.8, control 0.1, guess 0.001, high" in charts[0]
    assert not {"nan", "inf", "none"} & set(found.text.lower().split())
    for words in (
        "1 of 2 figures is above the control",
        "control: 1,234 rows",
        "column 11 and 8 more",
        "The control has few rows.",
        "The attack loses to guessing",
        "0.78 to 0.82",
        "77.8 %",  # 0.7 of the 0.9 that were left to gain
    ):
        assert words in found.text, words


def test_the_same_section_stands_on_the_page_of_an_evaluation(page, check):
    whole = internal_page(replace(EMPTY, risks=RISKS))
    check(whole, MAX_BYTES)
    section = re.compile(r'<section id="risk".*?</section>', re.DOTALL)
    assert section.search(whole)[0] == section.search(page)[0]
    assert 'href="#risk"' in whole
    assert "No disclosure risk was assessed." in internal_page(EMPTY)


def test_without_a_control(check):
    alone = replace(
        RISKS,
        n_control=0,
        risks=(judge_figure("a", "m", Figure(0.5, (0.4, 0.6), 200), None, 0.2),),
        warnings=(),
    )
    found = check(risk_page(alone), MAX_BYTES)
    assert "above the control beyond chance" not in found.text
    assert "unknown" in found.text


def test_too_many_figures_are_left_out_with_a_word_about_it(check):
    many = tuple(replace(EXPOSED, attack=f"{k} {'x' * 3000}") for k in range(400))
    found = check(internal_page(replace(EMPTY, risks=replace(RISKS, risks=many))), MAX_BYTES)
    assert re.search(r"\d+ more attacks are left out", found.text)
    assert re.search(r"\d+ more figures are left out", found.text)


def test_odd_names_are_escaped(check):
    name = "</td><script>alert('$x_1$')</script>\u202e"
    odd = replace(EXPOSED, attack=name, measure=name, note=name, warning=name)
    page = risk_page(replace(RISKS, title=name, keys=(name,), risks=(odd,), warnings=(name,)))
    check(page, MAX_BYTES)
    assert "<script" not in page
    assert "\u202e" not in page


def test_levels_and_scales():
    assert worst_level([SAFE, EXPOSED]) == "high"
    assert worst_level([SAFE, UNDEFINED]) == "near the control"
    assert worst_level([UNDEFINED]) == "unknown"
    assert scale_of(EXPOSED) == 1
    assert scale_of(SAFE) == pytest.approx(1.05 * 422)
    assert scale_of(UNDEFINED) == 1
