"""Which tests are long: whole rooms of them by their folder, single files and tests by a mark.

`make check` leaves them out and `make test` runs them all; `pyproject.toml` says what each mark is.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG_ROOMS = {
    "contract": pytest.mark.contract,
    "oracles": pytest.mark.statistical,
    "privacy/noise": pytest.mark.statistical,
    "privacy/samplers": pytest.mark.statistical,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of rooms that take long."""
    for item in items:
        for room, mark in LONG_ROOMS.items():
            if item.path.is_relative_to(HERE / room):
                item.add_marker(mark)


@pytest.fixture(scope="session")
def long_rooms() -> set[str]:
    """Rooms of tests that `make check` leaves out."""
    return set(LONG_ROOMS)
