"""Runs on rows whose population has a ledger: what is entered, refused and found out."""

import json
import shutil
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import column
from understudy.dp.released import LOST
from understudy.errors import CheckpointError, DataError, LedgerError
from understudy.ledger.account import Caps, Population
from understudy.ledger.ledger import PopulationLedger, manifest_digest, past_release
from understudy.ledger.reservation import Reservation
from understudy.workflow.governance import RunSpending

COLUMNS = column("job", "categorical", levels=["a", "b", "c"], source="law") + column(
    "age", "integer", lower=0, upper=99, bins=5, source="law"
)
FREE = us.Schema.loads(f"row_limit = 10000\n{COLUMNS}")
BOUND = us.Schema.loads(f'row_limit = 10000\n[ledger]\npopulation = "adults"\n{COLUMNS}')
REQUEST = {"epsilon": 1, "method": "laplace"}


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"job": rng.choice(["a", "b", "c"], 500), "age": rng.integers(0, 99, 500)})


@pytest.fixture
def ledger(tmp_path):
    made = PopulationLedger.create(tmp_path / "people.ledger")
    made.add(Population("adults", "adult", "board", "add_remove", Caps.of(pure=3)))
    return made


@pytest.fixture
def asked(ledger, tmp_path):
    return {**REQUEST, "ledger": tmp_path / "people.ledger", "by": "Ann"}


def kinds(ledger):
    return [row.kind for row in ledger.history()[2:]]


def test_a_release_is_reserved_charged_and_entered_with_its_digest(people, ledger, asked, tmp_path):
    release = us.synthesize(people, BOUND, **asked)
    steps = len(release.manifest.ledger)
    assert kinds(ledger) == ["reserve", *["charge"] * steps, "commit"]
    assert ledger.totals("adults").spent.pure == 1
    release.save(tmp_path / "release")
    assert kinds(ledger)[-1] == "commit"
    assert manifest_digest(tmp_path / "release") in ledger.history()[-1].public
    assert ledger.verify() == []
    with pytest.raises(LedgerError, match="before"):
        ledger.enter(past_release(tmp_path / "release"), "adults")


def test_each_charge_is_noted_before_it_is_computed(people, ledger, asked, monkeypatch):
    from understudy.mechanisms.tables import NoisyTables, RowCount

    noted = []
    for mechanism in (RowCount, NoisyTables):
        run = mechanism.run

        def watched(self, rows, charges, source, run=run):
            noted.append(kinds(ledger).count("charge"))
            return run(self, rows, charges, source)

        monkeypatch.setattr(mechanism, "run", watched)
    us.synthesize(people, BOUND, **asked)
    assert noted == [1, 2]


@pytest.mark.parametrize(
    ("schema", "more", "words"),
    [
        (BOUND, {"ledger": None}, "name the ledger"),
        (FREE, {}, "which population"),
        (BOUND, {"ledger": "nowhere.ledger"}, "nowhere"),
        (BOUND, {"epsilon": 4}, "cap"),
        (BOUND, {"insecure_noise_seed": 1}, "seed"),
        (BOUND, {"options": {"mode": "paper", "form": "dense"}}, "unpaid"),
        (BOUND, {"method": "contingency-table", "allow_nonprivate": True}, "guarantee"),
        (BOUND, {"delta": "1e-6", "method": "marginals"}, "pure"),
        (BOUND.model_copy(update={"rows": "public", "n_rows": 500, "row_limit": None}), {}, "repl"),
    ],
    ids=["none", "free", "lost", "cap", "seed", "paper", "exact", "unit", "neighbours"],
)
def test_what_cannot_be_counted_is_refused_before_rows_are_read(
    ledger, asked, schema, more, words, monkeypatch
):
    monkeypatch.delenv("UNDERSTUDY_LEDGER", raising=False)
    with pytest.raises(LedgerError, match=words):
        us.synthesize(object(), schema, **{**asked, **more})
    assert kinds(ledger) == []


def test_the_environment_names_the_ledger_of_tables_that_say_so(
    people, ledger, tmp_path, monkeypatch
):
    monkeypatch.setenv("UNDERSTUDY_LEDGER", str(tmp_path / "people.ledger"))
    monkeypatch.setenv("UNDERSTUDY_BY", "Bob")
    us.synthesize(people, FREE, **REQUEST)
    assert kinds(ledger) == []
    us.synthesize(people, BOUND, **REQUEST)
    assert ledger.totals("adults").spent.pure == 1
    assert '"Bob"' in ledger.history()[2].public


def test_data_that_cannot_be_read_cost_nothing(ledger, asked):
    with pytest.raises(DataError):
        us.synthesize(pd.DataFrame({"job": ["a"]}), BOUND, **asked)
    assert ledger.totals("adults").spent.pure == 0
    assert ledger.totals("adults").open == ()


class Power(Exception):
    """The run ends here, as if it were killed."""


def interrupted(people, asked, place, steps):
    """A run that ends after some charges, and leaves its checkpoint."""
    left = iter(range(steps))

    def tell(stage, _done, _total):
        if stage.startswith("Measuring") and next(left, None) is None:
            raise Power

    with pytest.raises(Power):
        us.synthesize(people, BOUND, **asked, checkpoint=place, progress=tell, sets=1)


def test_a_run_that_dies_counts_whole_until_it_is_continued(people, ledger, asked, tmp_path):
    asked |= {"method": "marginals"}
    interrupted(people, asked, tmp_path / "checkpoint", 2)
    totals = ledger.totals("adults")
    assert (totals.reserved.pure, len(totals.open)) == (1, 1)
    us.synthesize(people, BOUND, **asked, checkpoint=tmp_path / "checkpoint")
    assert ledger.totals("adults").spent.pure == 1
    assert kinds(ledger).count("reserve") == 1
    assert ledger.verify() == []


@pytest.mark.parametrize("how", ["rolled back", "voided", "removed"])
def test_a_checkpoint_that_is_not_the_last_one_is_found_out(people, ledger, asked, tmp_path, how):
    asked |= {"method": "marginals"}
    place = tmp_path / "checkpoint"
    interrupted(people, asked, place, 2)
    shutil.copytree(place, tmp_path / "copy")
    if how == "voided":
        (number,) = ledger.totals("adults").open
        ledger.reservation(number).void()
        with pytest.raises(CheckpointError, match="voided"):
            us.synthesize(people, BOUND, **asked, checkpoint=place)
        assert 0 < ledger.totals("adults").spent.pure < 1
        return
    us.synthesize(people, BOUND, **asked, checkpoint=place)  # goes on to the end
    if how == "removed":  # another run with the same place is another reservation
        us.synthesize(people, BOUND, **asked, checkpoint=place)
        assert ledger.totals("adults").spent.pure == 2
        return
    shutil.copytree(tmp_path / "copy", place)
    with pytest.raises(CheckpointError, match="rolled back"):
        us.synthesize(people, BOUND, **asked, checkpoint=place)
    assert ledger.totals("adults").spent.pure == 1


def test_an_answer_needs_a_release_that_is_counted(people, ledger, asked, tmp_path):
    us.synthesize(people, BOUND, **asked).save(tmp_path / "release")
    other = PopulationLedger.create(tmp_path / "other.ledger")
    other.add(Population("adults", "adult", "board", "add_remove", Caps.of(pure=3)))
    question = {"analyses": [{"kind": "proportion", "formula": "job"}]}
    how = {"epsilon": 1, "ledger": tmp_path / "other.ledger"}
    with pytest.raises(LedgerError, match="ledger add"):
        us.answer(question, people, tmp_path / "release", **how)
    other.enter(past_release(tmp_path / "release"), "adults")
    us.answer(question, people, tmp_path / "release", **how)
    assert other.totals("adults").spent.pure == 2


def test_a_run_that_goes_on_has_the_room_that_it_reserved(people, ledger, asked, tmp_path):
    asked |= {"method": "marginals", "epsilon": 3}  # all that the cap allows
    place = tmp_path / "checkpoint"
    interrupted(people, asked, place, 2)
    with pytest.raises(KeyboardInterrupt):  # before it has replayed a step
        us.synthesize(people, BOUND, **asked, checkpoint=place, sets=1, progress=_at_once)
    us.synthesize(people, BOUND, **asked, checkpoint=place, sets=1)
    assert ledger.totals("adults").spent.pure == 3
    assert kinds(ledger).count("reserve") == 1


def _at_once(stage, _done, _total):
    if stage.startswith("Measuring"):
        raise KeyboardInterrupt


def test_two_copies_of_a_checkpoint_cannot_charge_one_step_twice(people, ledger, asked, tmp_path):
    asked |= {"method": "marginals"}
    one, two = tmp_path / "one", tmp_path / "two"
    interrupted(people, asked, one, 2)
    shutil.copytree(one, two)
    others = iter([lambda: interrupted(people, asked, two, 3)])

    def tell(stage, _done, _total):  # the first has begun when the second charges one step more
        if stage.startswith("Measuring"):
            next(others, lambda: None)()

    noted = kinds(ledger).count("charge")
    with pytest.raises(LedgerError, match="by another run meanwhile"):
        us.synthesize(people, BOUND, **asked, checkpoint=one, progress=tell, sets=1)
    assert kinds(ledger).count("charge") == noted + 1
    us.synthesize(people, BOUND, **asked, checkpoint=two, sets=1)
    assert ledger.totals("adults").spent.pure == 1
    assert ledger.verify() == []


@pytest.mark.parametrize("kth", [1, 2])
@pytest.mark.parametrize("entered", [False, True])
def test_a_step_that_the_ledger_refuses_is_paid_anew_unless_it_is_entered(
    people, ledger, asked, tmp_path, monkeypatch, kth, entered
):
    """Also the last one of a run, which would leave nothing to pay for it again."""
    asked |= {"checkpoint": tmp_path / "checkpoint"}
    steps, charge, calls = 2, Reservation.charge, iter(range(1, 100))

    def refused(self, spent, journal, *, number):
        if next(calls) != kth:
            return charge(self, spent, journal, number=number)
        if entered:
            charge(self, spent, journal, number=number)
        raise LedgerError("The disk is full.")

    monkeypatch.setattr(Reservation, "charge", refused)
    with pytest.raises(LedgerError, match="full"):
        us.synthesize(people, BOUND, **asked)
    assert kinds(ledger).count("charge") == kth - (not entered)
    if entered and kth == steps:
        with pytest.raises(CheckpointError, match="nothing is left of the budget"):
            us.synthesize(people, BOUND, **asked)
        return
    made = us.synthesize(people, BOUND, **asked)
    lost = [entry for entry in made.manifest.ledger if entry["noise"] == LOST]
    assert (len(lost), len(made.manifest.ledger)) == (entered, steps + entered)
    assert kinds(ledger).count("charge") == steps + entered
    assert ledger.totals("adults").spent.pure == 1
    assert ledger.verify() == []


def test_a_clock_that_goes_backwards_changes_no_order(people, ledger, asked, monkeypatch):
    from understudy.ledger import entries

    class Backwards(entries.datetime):
        day = 28

        @classmethod
        def now(cls, zone):
            cls.day -= 1
            return cls(2020, 2, cls.day, tzinfo=zone)

    monkeypatch.setattr(entries, "datetime", Backwards)
    us.synthesize(people, BOUND, **asked)
    rows = ledger.history()
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert [row.time for row in rows[2:]] == sorted((row.time for row in rows[2:]), reverse=True)
    assert ledger.verify(ledger.head) == []
    assert ledger.totals("adults").spent.pure == 1


def test_a_reservation_that_cannot_be_closed_is_named(people, ledger, asked, tmp_path):
    def tell(stage, _done, _total):
        if stage.startswith("Measuring"):
            (tmp_path / "people.ledger").rename(tmp_path / "gone")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as ended:
        us.synthesize(people, BOUND, **asked, progress=tell)
    assert any("could not be closed and counts whole" in note for note in ended.value.__notes__)


def test_the_next_run_finds_no_room_while_another_is_open(people, ledger, asked, tmp_path):
    interrupted(people, asked | {"epsilon": 2, "method": "marginals"}, tmp_path / "one", 1)
    with pytest.raises(LedgerError, match="open reservations"):
        us.synthesize(people, BOUND, **asked | {"epsilon": 2})
    (number,) = ledger.totals("adults").open
    ledger.reservation(number).void()
    us.synthesize(people, BOUND, **asked | {"epsilon": 2})
    assert ledger.totals("adults").spent.pure < 3


def test_regressions_answers_and_verdicts_are_charged(people, ledger, asked, tmp_path):
    place = {"ledger": asked["ledger"]}
    us.synthesize(people, BOUND, **asked).save(tmp_path / "release")
    question = {"analyses": [{"kind": "proportion", "formula": "job"}]}
    us.answer(question, people, tmp_path / "release", epsilon="0.5", **place).save(tmp_path / "two")
    us.verdict(people, BOUND, "mean age > 10", epsilon="1", assume_rows=500, **place)
    us.regress(people, BOUND, "age ~ job", epsilon="0.25", **place)
    spent = ledger.totals("adults").spent.pure
    assert spent == F(11, 4)
    whats = [row.public for row in ledger.history() if row.kind == "reserve"]
    assert ["question" in what for what in whats] == [False, True, False, False]
    assert "verdict" in whats[2]
    other = PopulationLedger.create(tmp_path / "other.ledger")
    other.add(Population("adults", "adult", "board", "add_remove", Caps.of(pure=3)))
    other.enter(past_release(tmp_path / "release"), "adults")
    other.enter(past_release(tmp_path / "two"), "adults")
    assert other.totals("adults").spent.pure == F(3, 2), "what is amended counts once"


def test_verdicts_that_are_paid_for_are_shown_though_the_next_is_refused(
    people, ledger, asked, tmp_path, understudy
):
    us.synthesize(people, BOUND, **asked).save(tmp_path / "release")
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "two.toml").write_text(
        'claims = ["mean age > 10", "mean age > 20"]', encoding="utf-8"
    )
    question = ["answer", tmp_path / "two.toml", tmp_path / "people.csv", "--yes", "--json"]
    said = understudy(
        *question, "-e", 3, "--release", tmp_path / "release", "--ledger", asked["ledger"]
    )
    assert [found["claim"] for found in json.loads(said.out)] == ["mean age > 10"]
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "is left" in said.err
    assert ledger.totals("adults").spent.pure == F(5, 2)


def test_evaluations_and_maps_are_entered_as_internal(people, ledger, asked, tmp_path):
    release = us.synthesize(people, BOUND, **asked)
    us.evaluate(people, release, ledger=asked["ledger"])
    us.tradeoff(
        people,
        BOUND,
        methods=["laplace"],
        epsilons=["0.5", "1"],
        repetitions=1,
        ledger=asked["ledger"],
    )
    totals = ledger.totals("adults")
    assert (totals.spent.pure, totals.internal.pure) == (1, 1 + F(3, 2))
    with pytest.raises(LedgerError, match="name the ledger"):
        us.evaluate(people, release)
    number = next(row.number for row in ledger.history() if row.kind == "internal")
    ledger.publish(number)
    assert ledger.totals("adults").spent.pure == 2


def test_what_is_approved_is_reserved_until_it_runs(people, ledger, asked):
    how = {**asked, "epsilon": 2}
    number = us.reserve(BOUND, **how)
    assert us.reserve(BOUND, **how) == number  # asked for twice, as after a crash
    assert ledger.totals("adults").reserved.pure == 2
    with pytest.raises(LedgerError, match="is left"):  # nobody else can take it meanwhile
        us.synthesize(people, BOUND, **how)
    us.synthesize(people, BOUND, **how, reservation=number)
    assert (kinds(ledger).count("reserve"), ledger.totals("adults").spent.pure) == (1, 2)
    assert (ledger.totals("adults").open, ledger.verify()) == ((), [])
    assert us.reserve(BOUND, **asked) != number


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": 2}, "this run may cost"),
        ({"sets": 2}, "another request"),
        ({"seed": 1}, "another request"),
        ({"reservation": 99}, "no reservation of this number"),
        ({"reservation": "1"}, "reservation"),
    ],
)
def test_a_reservation_is_for_its_own_request_alone(people, ledger, asked, changed, words):
    number = us.reserve(BOUND, **asked)
    before = ledger.history()
    with pytest.raises(us.UnderstudyError, match=words):
        us.synthesize(people, BOUND, **{**asked, "reservation": number, **changed})
    assert ledger.history() == before
    us.synthesize(people, BOUND, **asked, reservation=number)


def before_the_first_charge(monkeypatch, act):
    """Have something happen when a run has its reservation, and has charged nothing."""
    note, acts = RunSpending.note, iter([act])

    def noting(self, entry):
        next(acts, lambda: None)()
        note(self, entry)

    monkeypatch.setattr(RunSpending, "note", noting)


def test_a_reservation_is_spent_once(people, ledger, asked, monkeypatch):
    one, two = (
        {**asked, "reservation": us.reserve(BOUND, **asked, seed=k), "seed": k} for k in (1, 2)
    )
    charge = ledger.reservation(one["reservation"]).charge
    before_the_first_charge(monkeypatch, lambda: charge(F(1, 20)))
    with pytest.raises(LedgerError, match="by another run meanwhile"):
        us.synthesize(people, BOUND, **one)
    assert one["reservation"] in ledger.totals("adults").open  # the other goes on
    asked = two
    before_the_first_charge(monkeypatch, lambda: us.synthesize(people, BOUND, **asked))
    with pytest.raises(LedgerError, match="committed"):
        us.synthesize(people, BOUND, **asked)
    assert kinds(ledger)[-1] == "commit"
    assert ledger.totals("adults").spent.pure == 1
    ledger.reservation(one["reservation"]).void()
    for over, state in ((one, "void"), (two, "committed")):
        with pytest.raises(LedgerError, match=state):
            us.synthesize(people, BOUND, **over)


def _end():
    raise Power


def test_an_approved_run_that_spends_nothing_keeps_its_reservation(
    people, ledger, asked, tmp_path, monkeypatch
):
    number = us.reserve(BOUND, **asked)
    with pytest.raises(DataError, match="age"):
        us.synthesize(people[["job"]], BOUND, **asked, reservation=number)
    before_the_first_charge(monkeypatch, _end)
    with pytest.raises(Power):
        us.synthesize(people, BOUND, **asked, reservation=number)
    assert ledger.totals("adults").open == (number,)
    asked |= {"reservation": number, "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(Power):
        us.synthesize(people, BOUND, **asked, progress=lambda *_: kinds(ledger)[1:] and _end())
    assert ledger.totals("adults").open == (number,)
    with pytest.raises(CheckpointError, match=f"goes on with reservation {number}"):
        us.synthesize(people, BOUND, **{**asked, "reservation": number + 1})
    us.synthesize(people, BOUND, **asked)
    assert ledger.totals("adults").spent.pure == 1


def test_nothing_is_reserved_without_a_ledger_or_beyond_its_cap(ledger, asked):
    with pytest.raises(LedgerError, match="No ledger governs"):
        us.reserve(FREE, epsilon=1)
    with pytest.raises(LedgerError, match="is left"):
        us.reserve(BOUND, **{**asked, "epsilon": 4})
    with pytest.raises(LedgerError, match="A reservation is made here: leave reservation= out"):
        us.reserve(BOUND, **asked, reservation=1)
    assert kinds(ledger) == []
