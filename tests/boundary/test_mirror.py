"""Tests stand where the package has what they test."""

from pathlib import Path

import pytest

import understudy

TESTS = Path(__file__).parents[1]
PACKAGE = Path(understudy.__file__).parent
ACROSS = {
    *("attacks", "benchmarks", "boundary", "contract", "end_to_end", "faults", "golden"),
    *("lemmas", "oracles", "r", "studies"),
}
"""Rooms of tests of the whole, or of what stands beside the package."""


def rooms_without_a_model(tests, package):
    """Folders of tests, and not only of their data, of which the package has none of the name."""
    folders = {path.parent.relative_to(tests) for path in tests.rglob("*.py")} - {Path()}
    within = [folder for folder in folders if folder.parts[0] not in ACROSS]
    return sorted(str(folder) for folder in within if not (package / folder).is_dir())


def test_every_room_of_tests_is_a_room_of_the_package():
    assert rooms_without_a_model(TESTS, PACKAGE) == []


@pytest.mark.parametrize("folder", ["engine/nowhere", "metods"])
def test_a_room_of_another_name_is_found(tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "test_it.py").touch()
    assert rooms_without_a_model(tmp_path, PACKAGE) == [folder]


def test_rooms_that_take_long_are_there(long_rooms):
    assert [room for room in long_rooms if not (TESTS / room).is_dir()] == []
