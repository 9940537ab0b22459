"""`docs/evidence/certificate.md` says what the map of proofs, the mechanisms and the audits say."""

import pytest

import certificate
from understudy.dp.gate import WITH_EPSILON, load_mechanisms
from understudy.evaluate.audit import LINES


@pytest.fixture(scope="module")
def page():
    return certificate.page()


def test_the_page_is_what_the_command_writes(page):
    written = certificate.PAGE.read_text(encoding="utf-8")
    assert written == page, "run `python benchmarks/certificate.py`"


def test_every_mechanism_claim_and_audited_line_is_on_it(page):
    for kind in load_mechanisms(WITH_EPSILON):
        assert f"- `{kind.__name__}`: " in page
    for _, words, _, _ in certificate.claims():
        assert f"### {words[0].upper()}{words[1:]}\n" in page
    for line in LINES:
        assert f"| {line}" in page


def test_audits_that_it_rests_on_gave_no_alarm_and_saw_most_of_the_worst_cases():
    found = certificate.latest()
    assert {str(line) for line in LINES} == set(found)
    assert not [name for name, result in found.items() if result["alarm"]]
    worst = {str(line) for line in LINES if line.worst}
    assert not [name for name in worst if found[name]["shown"] < 0.7 * found[name]["stated"]]


def test_security_refers_to_it():
    text = (certificate.ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "docs/evidence/certificate.md" in text
