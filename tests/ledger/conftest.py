"""A ledger with one population, and one with entries of every kind."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from made_ledgers import JOURNAL, RELEASE, REQUEST, adults, pure
from understudy.ledger.ledger import PopulationLedger


@pytest.fixture
def ledger(tmp_path):
    made = PopulationLedger.create(tmp_path / "people.ledger")
    made.add(adults())
    return made


@pytest.fixture(scope="session")
def lived_file(tmp_path_factory):
    """Entries of every kind."""
    made = PopulationLedger.create(tmp_path_factory.mktemp("lived") / "people.ledger")
    made.add(adults())
    first = made.reserve("adults", pure("1/2"), "release", REQUEST, by="Ann")
    first.charge(Fraction(1, 4), JOURNAL)
    first.charge(Fraction(1, 3), JOURNAL)
    second = made.reserve("adults", pure("1/10"), "question", REQUEST)
    second.charge(Fraction(1, 10))
    second.void(by="Bob")
    first.commit(RELEASE)
    made.publish(made.internal("adults", "map", pure("1/5")))
    made.reserve("adults", pure("1/8"), "verdict", REQUEST)
    return Path(made.place)


@pytest.fixture
def lived(lived_file, tmp_path):
    """A copy of that ledger."""
    return PopulationLedger.open(shutil.copy(lived_file, tmp_path / "people.ledger"))
