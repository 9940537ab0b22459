"""The map of proofs, which is the docstring of `understudy.dp`, names what there is."""

import ast
import re
import sys
from pathlib import Path

import pytest

from source_trees import tree_of
from understudy import dp
from understudy.dp.gate import load_mechanisms

ROOM = Path(dp.__file__).parents[1]
TESTS = Path(__file__).parents[1]


def claims(text):
    """Each claim with the files of its proof and of its tests."""
    parts = re.split(r"^claim: ", text, flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        words, proof, test = re.fullmatch(
            r"(.*?)\n    proof: (.*?)\n    test: (.*?)(?:\n\n.*)?\n*", part, re.DOTALL
        ).groups()
        found[words] = proof.split(), test.split()
    return found


MAP = claims(dp.__doc__)


@pytest.mark.parametrize("claim", MAP)
def test_every_claim_has_a_proof_and_a_test_that_are_there(claim):
    proofs, tests = MAP[claim]
    assert proofs
    assert tests
    for file in proofs:
        assert ast.get_docstring(tree_of(ROOM / file)), file
    for file in tests:
        assert "def test_" in (TESTS / file).read_text(encoding="utf-8"), file


def lines_of(mechanism):
    """The file in which a mechanism stands, as the map names it."""
    place = Path(sys.modules[mechanism.__module__].__file__)
    return place.relative_to(ROOM).as_posix()


@pytest.mark.parametrize("mechanism", load_mechanisms(), ids=lambda one: one.__name__)
def test_every_mechanism_has_a_line(mechanism):
    assert lines_of(mechanism) in {file for proofs, _ in MAP.values() for file in proofs}


def test_a_line_without_its_file_is_noticed():
    missing = claims("claim: x\n    proof: noise/nowhere.py\n    test: nowhere.py\n")
    ((proofs, _),) = missing.values()
    assert not (ROOM / proofs[0]).exists()
    assert len(MAP) > 30
