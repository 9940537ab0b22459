"""Releases of format 1 are read as what they were, and answer as they did.

The folders in `format_1` are of made-up rows, and `answers.json` holds what was answered from them,
both by the last version that wrote format 1. They are never made anew. What has changed since is
taken off both sides: what places within bins can do is in the interval now, which was a note.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

import understudy as us
from understudy.errors import ReleaseError, UnderstudyError
from understudy.release.manifest import InferenceFacts
from understudy.schema import Schema

PLACE = Path(__file__).parent / "format_1"
ANSWERS = json.loads((PLACE / "answers.json").read_text(encoding="utf-8"))
CHAIN = (("sex", ()), ("job", ("sex",)), ("age", ("job",)))
FACTS = {
    "marginals": InferenceFacts(posterior_rule="mi"),
    "privbayes": InferenceFacts(network=CHAIN),
    "modips": InferenceFacts(modelled=("age",), prior_weight=1 / 3),
}


def answer(release, question):
    """What is answered, as plain data, or the refusal."""
    kind, _, formula = question.partition(" ")
    try:
        return us.analyze(release, kind, formula).to_json()
    except UnderstudyError as error:
        return str(error)


def numbers_aside(found):
    """The answer with its numbers taken out, and these; they agree but for rounding."""
    numbers = []

    def taken(part):
        if isinstance(part, dict):
            return {name: taken(one) for name, one in part.items()}
        if isinstance(part, list):
            return [taken(one) for one in part]
        if isinstance(part, float):
            numbers.append(part)
            return "a number"
        return part

    return taken(found), numbers


OLD_NOTES = ("Within its bins ", "Up to ", "Numbers outside the declared bounds")
CHANGED = ("stderr", "df", "lower", "upper", "pvalue", "synthesis_share")


def plain(then):
    """The old answer, with no bound on a bias, and no degrees of freedom that rounding made."""
    terms = [
        term | {"bias_bound": 0, "df": None if (term["df"] or 0) > 1e15 else term["df"]}
        for term in then["terms"]
    ]
    return then | {"terms": terms}


def as_then(found, then):
    """The answer without what is new; an interval that has become wider is as it was."""
    if isinstance(found, str):
        return re.sub("; this release answers .*?(?= \\(anyway)", "", found)
    for term, old in zip(found["terms"], then["terms"], strict=True):
        if term.pop("bias_bound"):
            assert term["lower"] < old["lower"] <= old["upper"] < term["upper"]
            term.update({name: old[name] for name in CHANGED})
    return found | {"notes": [note for note in found["notes"] if not note.startswith(OLD_NOTES)]}


@pytest.mark.parametrize("name", FACTS)
def test_its_facts_are_those_of_the_methods_of_its_time(name):
    assert us.Release.load(PLACE / name).manifest.inference == FACTS[name]


@pytest.mark.parametrize("name", FACTS)
def test_it_answers_as_it_did(name, tmp_path):
    """Also when it is saved again, in the present format."""
    release = us.Release.load(PLACE / name)
    again = us.Release.load(release.save(tmp_path / "again"))
    manifest = json.loads((tmp_path / "again" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == 2
    assert again.manifest == release.manifest
    rules = set()
    for question, then in ANSWERS[name].items():
        for one in (release, again):
            words, numbers = numbers_aside(as_then(answer(one, question), then))
            old = then if isinstance(then, str) else as_then(plain(then), then)
            old_words, old_numbers = numbers_aside(old)
            assert words == old_words, question
            assert numbers == pytest.approx(old_numbers, rel=1e-9, abs=1e-12), question
        rules.add(then if isinstance(then, str) else then["rule"])
    assert len(rules) > 2, "questions that the facts decide"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(PLACE / "privbayes", tmp_path / "r"))


def test_it_knows_no_entry_of_a_later_format(folder):
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(manifest | {"inference": FACTS["privbayes"].to_json()}))
    with pytest.raises(ReleaseError, match="'inference'"):
        us.Release.load(folder)


@pytest.mark.parametrize(
    "options",
    [
        {"network": 7},
        {"network": [7]},
        {"network": ["sex", "job<-sex", "age<-nobody"]},
        {"network": ["age<-job", "job<-sex", "sex"]},
        {"network": ["sex", "job", "age<-sex & job"]},
        {"network": [], "prior": "some"},
        {"network": [], "prior": [1]},
        {"network": [], "prior": 1e300},
        {"network": [], "prior": "nan"},
        {"network": [], "prior": -1},
    ],
)
def test_options_that_no_method_took_are_refused(folder, options):
    """Claim attacked: what is made of options is as sound as what a later format states."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    manifest["options"] |= options
    file.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError, match="does not fit itself"):
        us.Release.load(folder)


def test_a_method_that_nobody_knows_has_no_traits(folder):
    """As format 1 always had it: another program may have written it."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(manifest | {"method": "another"}), encoding="utf-8")
    assert us.Release.load(folder).manifest.inference == InferenceFacts()
    assert isinstance(us.Release.load(folder).schema, Schema)
