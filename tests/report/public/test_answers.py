"""What the public page says a release can answer: the same as the rules of inference say."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import InferenceError
from understudy.inference.rules import facts_of, select_rule
from understudy.report.answers import Answers, pair_map
from understudy.report.public_page import public_page
from understudy.schema import Schema

NAMES = ("a", "b", "c", "d")
SCHEMA = Schema.model_validate(
    {
        "columns": {
            name: {"kind": "categorical", "levels": [0, 1, 2], "source": "s", "reviewed": True}
            for name in NAMES
        }
    }
)
REQUESTS = {
    "one table": {"method": "laplace", "sets": 2},
    "apart": {"method": "independent"},
    "tree": {"method": "mst", "sets": 3},
    "network": {"method": "privbayes", "options": {"sets": "split"}, "sets": 2},
    "adaptive": {"method": "marginals"},
    "urns": {"method": "dirichlet", "sets": 2, "epsilon": 50},
    "sweeps": {"method": "pegs", "epsilon": 50},
    "chosen": {"method": "pmse", "options": {"candidates": 16}},
}


def rows():
    rng = np.random.default_rng(5)
    return pd.DataFrame({name: rng.integers(0, 3, 120) for name in NAMES})


@pytest.fixture(scope="module", params=REQUESTS)
def release(request):
    asked = {"epsilon": 2} | REQUESTS[request.param]
    return us.synthesize(rows(), SCHEMA, insecure_noise_seed=1, **asked)


def test_what_is_counted_is_what_the_noise_aware_rule_answers(release):
    """For each column and each pair, against the table of rules that `analyze` goes by."""
    answers = Answers(release)

    def counted(columns):
        return select_rule(facts_of(release, "table", columns)).name == "noise-aware"

    assert answers.columns == tuple(name for name in NAMES if counted((name,)))
    pairs = {frozenset(two) for two in combinations(NAMES, 2) if counted(two)}
    assert answers.counted == pairs
    for three in answers.triples:
        assert counted(tuple(name for name in NAMES if name in three))


def test_what_is_lost_was_not_measured_together(release):
    answers = Answers(release)
    for two in combinations(NAMES, 2):
        if frozenset(two) not in answers.counted | answers.kept:
            assert not facts_of(release, "table", two).together


def test_the_commands_on_the_page_work(release):
    """Each command that the page gives is answered, with valid error bars."""
    for line in Answers(release).lines():
        if line.example:
            _, verb, _, kind, formula = line.example.split(maxsplit=4)
            assert verb == "analyze"
            assert us.analyze(release, kind, formula.strip('"')).valid


def test_where_no_rule_combines_the_sets_regressions_are_refused(release):
    *_, last = Answers(release).lines()
    if last.answer.startswith("No error bars"):
        with pytest.raises(InferenceError):
            us.analyze(release, "ols", "a ~ b")


def test_the_page_begins_with_what_can_be_answered(release):
    page = public_page(release)
    order = ("answers", "guarantee", "reliability", "columns", "use", "files", "ledger")
    places = [page.index(f'<section id="{name}"') for name in order]
    assert places == sorted(places)
    for line in Answers(release).lines():
        assert line.question in page


def test_the_map_says_in_words_what_it_shows(release):
    answers = Answers(release)
    drawn = pair_map(answers)
    assert 'role="img"' in drawn
    assert f"{len(answers.counted)} counted together" in drawn
    lost = 6 - len(answers.counted) - len(answers.kept)
    assert f"{lost} not measured together" in drawn


def test_a_table_of_one_column_has_no_map():
    schema = Schema.model_validate({"columns": {"a": SCHEMA.columns["a"].model_dump()}})
    release = us.synthesize(rows()[["a"]], schema, epsilon=1)
    page = public_page(release)
    assert "What the release can answer" in page
    assert "figure class" not in page


def test_options_of_another_version_leave_the_page_whole(release):
    manifest = replace(release.manifest, options={"nothing that": "is known"})
    assert "What the release can answer" in public_page(replace(release, manifest=manifest))
