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
    """Folders of tests that are named as no room of the package is; within one they are free."""
    folders = {path.parent.relative_to(tests) for path in tests.rglob("*.py")} - {Path()}
    rooms = {folder.parts[0] for folder in folders} - ACROSS
    return sorted(room for room in rooms if not (package / room).is_dir())


def test_every_room_of_tests_is_a_room_of_the_package():
    assert rooms_without_a_model(TESTS, PACKAGE) == []


@pytest.mark.parametrize("folder", ["engine", "metods"])
def test_a_room_of_another_name_is_found(tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "test_it.py").touch()
    assert rooms_without_a_model(tmp_path, PACKAGE) == [folder]


def test_rooms_that_take_long_are_there(long_rooms):
    assert [room for room in long_rooms if not (TESTS / room).is_dir()] == []
