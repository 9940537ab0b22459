"""The utility benchmark's bookkeeping and its page, on made-up records."""

import json
from dataclasses import asdict

import pytest

import utility
import utility_page
import yardstick
from understudy.evaluate.scores import DEFINITIONS
from utility_cases import ADULT, COPY, GOALS, LOANS, SHUFFLED, Case


def record(case, run=1, **found):
    return asdict(case) | {"label": case.label, "run": run, "sources": "s"} | found


MST = Case(ADULT, "mst")
GOOD = {
    **{"tv2": 0.05, "three_way": 0.13, "specks": 0.07, "trained_auc": 0.82},
    **{"cpu_s": 2.0, "peak_mb": 400.0},
}
COSTS = {"wall_s": 2.0, "process_cpu_s": 3.0}


def line_of(page, *words):
    [line] = [one for one in page.splitlines() if all(word in one for word in words)]
    return line


def test_a_label_names_everything_that_matters():
    cases = [
        MST,
        Case(ADULT, "mst", rows="private"),
        Case(ADULT, "mst", delta="0"),
        Case(ADULT, "mst", epsilon="10"),
        Case(LOANS, "mst"),
        Case(ADULT, "mst", options={"degree": 1}),
        Case(ADULT, "aim"),
    ]
    assert len({case.label for case in cases}) == len(cases)


def test_a_book_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "book.jsonl"
    utility.Book(path).add(record(MST, 1, tv2=0.1))
    with path.open("a") as file:
        file.write('{"label": "cut o')
    book = utility.Book(path)
    assert book.holds(MST, 1)
    assert not book.holds(MST, 2)
    assert not book.holds(Case(ADULT, "mst", rows="private"), 1)


def test_a_record_after_a_cut_off_line_is_not_lost(tmp_path):
    path = tmp_path / "book.jsonl"
    path.write_text('{"label": "cut o')
    utility.Book(path).add(record(MST, 1, tv2=0.1))
    assert utility.Book(path).holds(MST, 1)


def test_a_refused_case_is_not_run_again(tmp_path):
    book = utility.Book(tmp_path / "book.jsonl")
    book.add(record(MST, 1, refused="It cannot."))
    assert book.holds(MST, 2)


def test_what_is_done_is_not_run_again_and_compiling_runs_are(tmp_path, monkeypatch):
    asked = []

    def process(self, case, environment):
        asked.append("NUMBA_CACHE_DIR" in environment)
        return {"compiled": 1} if len(asked) == 1 else {"compiled": 0, "tv2": 0.5}

    monkeypatch.setattr(utility.Bench, "_process", process)
    book = utility.Book(tmp_path / "book.jsonl")
    bench = utility.Bench(book, tmp_path, 1, 1.0, (1, 2), frozenset({MST}))
    bench.measure([MST])
    bench.measure([MST])
    assert asked == [False, False, False, True]
    kept = [json.loads(line) for line in book.path.read_text().splitlines()]
    assert [(one["run"], one["tv2"]) for one in kept] == [(1, 0.5), (2, 0.5), (0, 0.5)]


def test_a_failed_process_leaves_no_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(utility.Bench, "_process", lambda *_: {"failed": "ValueError: no"})
    book = utility.Book(tmp_path / "book.jsonl")
    utility.Bench(book, tmp_path, 1, 1.0, (1,), frozenset()).measure([MST])
    assert book.records == []
    assert "ValueError: no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("score", "value"), [("tv2", 0.055), ("trained_auc", 0.80), ("cpu_s", 3.1), ("peak_mb", 501.0)]
)
def test_a_goal_holds_if_all_its_bounds_do(score, value):
    good = utility_page.page([record(MST, **GOOD | COSTS)])
    bad = utility_page.page([record(MST, **GOOD | COSTS | {score: value})])
    assert line_of(good, "MST (mst)", "| public").endswith("| yes |")
    assert line_of(bad, "MST (mst)", "| public").endswith("| **no** |")


def test_a_goal_is_not_judged_before_all_its_scores_are_there():
    page = utility_page.page(
        [record(MST, **{k: v for k, v in GOOD.items() if k != "trained_auc"}, **COSTS)]
    )
    assert line_of(page, "MST (mst)", "| public").endswith("| – |")


def test_means_are_over_runs_with_a_warm_cache():
    runs = [record(MST, k, **GOOD | COSTS | {"tv2": tv2}) for k, tv2 in ((1, 0.04), (2, 0.06))]
    cold = record(MST, 0, **GOOD | COSTS | {"tv2": 0.9, "process_cpu_s": 15.5})
    page = utility_page.page([*runs, cold])
    assert "0.0500 ± 0.0141 (≤ 0.054)" in line_of(page, "MST (mst)", "| public")
    assert line_of(page, f"| mst | {ADULT} | 1, 1e-9").endswith("| 12.5 |")


def test_loans_are_compared_with_exact_independent_columns():
    goal = next(goal for goal in GOALS if goal.beats_independent)
    plain = record(Case(LOANS, SHUFFLED), tv2=0.07, three_way=0.12)
    made = record(goal.case, tv2=0.06, three_way=0.13, cpu_s=9.0, peak_mb=100.0, **COSTS)
    line = line_of(utility_page.page([plain, made]), LOANS, "best (", "| public")
    assert "0.0600 (≤ 0.07)" in line
    assert "**0.1300** (≤ 0.12)" in line
    assert line.endswith("| **no** |")


def test_a_method_that_cannot_gets_a_dash_and_a_reason():
    page = utility_page.page([record(MST, refused="It needs a pure budget.")])
    assert "– [1]" in line_of(page, "| mst | 1e-9 | public")
    assert "[1] It needs a pure budget." in page


def test_records_of_different_code_are_told():
    two = [record(MST, 1, **GOOD | COSTS), record(MST, 2, **GOOD | COSTS) | {"sources": "t"}]
    assert "more than one state of the code" in utility_page.page(two)
    assert "more than one state of the code" not in utility_page.page(two[:1])


def test_what_is_kept_has_a_table_and_a_dash_where_a_record_does_not_know_it():
    new = record(MST, **GOOD | COSTS | {"means_kept": 0.75})
    former = record(Case(ADULT, "aim"), tv2=0.1, tv3=0.2, **COSTS, cpu_s=1.0, peak_mb=1.0)
    kept = utility_page.page([new, former]).partition("## What is kept")[2]
    assert "| 0.75 |" in line_of(kept.partition("##")[0], "| mst |")
    assert "| – |" in line_of(kept.partition("##")[0], "| aim |")


def test_former_scores_stand_under_their_own_names():
    former = record(Case(ADULT, "aim"), tv2=0.1, tv3=0.2, **COSTS, cpu_s=1.0, peak_mb=1.0)
    page, without = (utility_page.page([one]) for one in (former, record(MST, **GOOD | COSTS)))
    assert "tv3 (64)" in line_of(page, "| method | δ |", "| tv3 |")
    assert "| – | – | – | – | – | – | 0.2000 | 1.0 |" in line_of(page, "| aim | 1e-9 |", "0.1000")
    assert "tv3 (64)" not in line_of(without, "| method | δ |", "| tv3 |")


def test_a_copy_tells_what_a_fresh_sample_is_expected_to_score():
    copy = record(Case(ADULT, COPY), tv2=0.015, tv2_fresh=0.0213, **COSTS)
    page = utility_page.page([copy]).partition("## Without privacy")[2]
    assert "0.0213" in line_of(page, ADULT, "fresh sample, expected", "0.0213")


def test_names_of_scores_are_those_that_are_defined():
    """On the page, in the records' titles, and in the table that evaluate shares."""
    named = {one.short for one in DEFINITIONS.values() if one.short}
    assert set(yardstick.TITLES.values()) == named
    assert {name for name, one in DEFINITIONS.items() if one.short} == set(yardstick.KEYS)
    assert not named & {name for name in yardstick.FORMER.values() if name != "accuracy"}
    assert set(utility_page.WAS) == set(yardstick.FORMER)
    named |= set(yardstick.FORMER.values())
    written = utility.PAGE.read_text(encoding="utf-8")
    assert utility_page.definitions() in written
    assert utility_page.WHAT_WAS_DONE in written
    heads = [line.split("|") for line in written.splitlines() if "| tv2 | tv3" in line]
    assert len(heads) == 3
    for head in heads:
        scores = {cell.strip() for cell in head} & {"pMSE ratio", *named}
        assert scores <= named
