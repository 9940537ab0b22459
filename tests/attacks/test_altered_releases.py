"""Attacks by releases that were altered and hashed anew: two programs refuse each of them.

One is this package, which loads a release; the other, `understudy_verify`, was written from the
specification of the format alone. What the one lets pass, the other should not have to find.
`benchmarks/check_altered.py` tries ten thousand.
"""

import numpy as np
import pytest

import understudy as us
from altered_releases import ALTERATIONS, BASES, Absent, Folder, altered, base
from understudy.errors import ReleaseError
from understudy_verify import RULES, verify

TRIES, MORE = 3, 50


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    place = tmp_path_factory.mktemp("bases")
    return [base(name, place) for name in BASES]


def require_refused(folder: Folder, place, name):
    """By both, in one sentence each."""
    folder.lay(place)
    with pytest.raises(ReleaseError):
        us.Release.load(place)
    broken = [rule for rule, state, _ in verify(place) if state == "broken"]
    assert broken, name


def test_both_accept_what_was_not_altered(bases, tmp_path):
    """No refusal below is one of the genuine release, or of how it is laid out."""
    for k, folder in enumerate(bases):
        place = folder.copy().lay(tmp_path / str(k))
        us.Release.load(place)
        assert [said for said in verify(place) if said[1] == "broken"] == []


@pytest.mark.parametrize("name", ALTERATIONS)
def test_both_refuse_whatever_breaks_a_rule(bases, tmp_path, name):
    """Claim attacked: no rule of the format can be broken unseen."""
    rng, tried = np.random.default_rng(len(name)), 0
    for k in rng.permutation(len(bases)).tolist() * TRIES:
        folder = bases[k].copy()
        try:
            ALTERATIONS[name](folder, rng)
        except Absent:
            continue
        require_refused(folder, tmp_path / str(tried), name)
        tried += 1
        if tried == TRIES:
            break
    assert tried


def test_both_refuse_any_of_them(bases, tmp_path):
    """The same at random, since what is altered and by how much is drawn."""
    rng = np.random.default_rng(26)
    for k in range(MORE):
        name, folder = altered(bases, rng)
        require_refused(folder, tmp_path / str(k), name)


def test_every_rule_is_broken_by_some_alteration():
    assert {name.split()[0] for name in ALTERATIONS} == set(RULES)
