"""Names that cannot be mistaken, and caps that refuse something."""

from fractions import Fraction

import pytest

from made_ledgers import RELEASE, REQUEST, adults, pure
from understudy.errors import BudgetError, LedgerError
from understudy.ledger import store
from understudy.ledger.account import Caps, Population, likeness, plain_text
from understudy.ledger.ledger import PopulationLedger


class OwnText(str):
    """Looks like any name when it is compared."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "name",
    ["", " adults", "two  spaces", "a\nb", "a\u202eb", "a\u200bb", "a\x00", "\ud800", "x" * 201],
)
def test_a_name_is_what_is_seen(name):
    with pytest.raises(LedgerError, match="name of a population"):
        adults(name)


@pytest.mark.parametrize("name", [OwnText("adults"), b"adults", None, 7])
def test_a_name_is_text_and_nothing_else(name):
    with pytest.raises(LedgerError, match="must be text"):
        adults(name)


def test_a_composed_name_is_the_same_as_one_in_parts():
    assert adults("Zu\u0308rich") == adults("Zürich")
    assert plain_text("It", "", least=0) == ""


def test_names_that_look_alike(ledger):
    for name in ("Adults", "adults.", "ad ults", "ａdults", "ADULTS"):
        with pytest.raises(LedgerError, match="could be taken for it"):
            ledger.add(adults(name))
    assert likeness("adults 1") != likeness("adults 2")
    with pytest.raises(LedgerError, match="did you mean 'adults'"):
        ledger.totals("adult")


@pytest.mark.parametrize(
    "name", ["adu1ts", "аdults", "αdults", "àdults", "adu\u217cts", "AduIts", "adult5"]
)
def test_no_new_name_can_be_taken_for_an_old_one(ledger, name):
    """In other letters, or by a digit or a capital that looks like a letter."""
    with pytest.raises(LedgerError, match=r"could be taken for it|no letters beyond ASCII"):
        ledger.add(adults(name))


@pytest.mark.parametrize("name", ["Zürich", "成人", "взрослые", "--"])
def test_new_names_are_of_plain_letters(ledger, name):
    with pytest.raises(LedgerError, match="no letters beyond ASCII"):
        ledger.add(adults(name))
    for plain in ("Zuerich", "patients of 2024", "patients of 2025", "women", "wanderers"):
        ledger.add(adults(plain))
    assert len(ledger.populations()) == 6


@pytest.mark.parametrize("old", ["Zürich", "аdults", "成人"])
def test_an_older_ledger_keeps_its_names(tmp_path, monkeypatch, old):
    """It opens, spends and verifies; a new name that one of its own could be taken for is none."""
    made = PopulationLedger.create(tmp_path / "old.ledger")
    with monkeypatch.context() as older:
        older.setattr(store, "require_plain_letters", lambda _name: None)
        made.add(adults(old))
    again = PopulationLedger.open(made.place)
    run = again.reserve(old, pure("1/2"), "release", REQUEST)
    run.charge(Fraction(1, 4))
    run.commit(RELEASE)
    assert again.totals(old).spent.pure == Fraction(1, 4)
    assert again.verify(again.head) == []
    alike = {"Zürich": "Zurich", "аdults": "adults", "成人": "us"}[old]
    with pytest.raises(LedgerError, match="could be taken for it"):
        again.add(adults(alike))
    again.add(adults("children of all ages"))


def test_caps_are_read_back_as_they_were_given():
    caps = Caps.of(pure="0.3", epsilon=3, delta="1e-6", rho="1/3", mu=2, accounting="zcdp")
    population = Population("adults", "adult", "office", "replace", caps)
    assert Population.from_json(population.to_json()) == population
    assert caps.words == (
        "ε = 0.3",
        "ε = 3 with δ = 0.000001 (kept in zCDP)",
        "ρ = 0.333333333334",
        "μ = 2",
    )


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({}, "needs a cap"),
        ({"delta": "1e-6"}, "give both"),
        ({"pure": 1, "epsilon": 2}, "two caps in pure"),
        ({"epsilon": 1, "delta": "1e-6", "accounting": "both"}, "kept in gdp or in zcdp"),
        ({"rho": -1}, "above 0"),
        ({"mu": "nan"}, "finite number"),
        ({"epsilon": 1, "delta": 1}, "delta must be"),
    ],
)
def test_caps_that_are_none_are_refused(caps, said):
    with pytest.raises((LedgerError, BudgetError), match=said):
        Caps.of(**caps)


@pytest.mark.parametrize("key", ["name", "unit", "neighbours", "caps"])
def test_plain_data_of_another_population_is_refused(key):
    data = adults().to_json() | {key: {}}
    with pytest.raises(ValueError, match="no population"):
        Population.from_json(data)
