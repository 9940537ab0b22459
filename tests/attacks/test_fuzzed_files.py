"""Attacks by changed files of every kind that comes in from outside; `make fuzz` goes on.

The claim: whatever is in a file, there is a result or an error of one sentence, never a traceback.
"""

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz_targets import spliced, targets
from night import NIGHT

pytestmark = pytest.mark.fuzz
TARGETS = targets()


@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_file_is_read_or_refused(name):
    """Thirty changes of each kind, by day a dozen, the same in each run."""
    target = TARGETS[name]

    @settings(
        max_examples=30 if NIGHT else 12,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(spliced(target))
    def attack(data):
        target.run(data)

    attack()


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_search_begins_from_is_read(name):
    for seed in TARGETS[name].seeds:
        TARGETS[name].run(seed)


def test_a_fault_is_noticed(monkeypatch):
    """A target whose reader breaks ends with what it raised."""
    monkeypatch.setattr("fuzz_targets.question_file", lambda _place: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        TARGETS["questions"].run(b"")
