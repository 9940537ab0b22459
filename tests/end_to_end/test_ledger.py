"""The population ledger from the command line: what a steward does in a year."""

import json
import shutil
from fractions import Fraction

import pytest

import understudy as us
from made_ledgers import REQUEST, pure
from understudy.checkpoint import journal as journals
from understudy.ledger.ledger import PopulationLedger, manifest_digest, past_release
from understudy.workflow.synthesize import synthesize


@pytest.fixture
def place(understudy, tmp_path, monkeypatch):
    path = tmp_path / "people.ledger"
    monkeypatch.setenv("UNDERSTUDY_LEDGER", str(path))
    assert understudy("ledger", "init").out.startswith("Made the ledger ")
    words = ["--unit", "adult", "--governor", "census office", "--epsilon", "12"]
    made = understudy("ledger", "population", "adults", *words, "--by", "Ann")
    assert made.out == "Entered as number 2: the population 'adults'.\n"
    return path


def test_a_release_of_before_is_entered_once_at_its_exact_cost(understudy, small, place):
    folder = small.folder / "release"
    code, out, _ = understudy("ledger", "add", folder, "-p", "adults", "--by", "Ann")
    assert (code, out) == (0, "Entered as number 3: the release, which cost ε = 5.\n")
    assert "entered before" in understudy("ledger", "add", folder, "-p", "adults").err
    reservation = PopulationLedger.open(place).reservation(3)
    assert reservation.standing.release == manifest_digest(folder)
    assert reservation.spent == sum(
        Fraction(entry["epsilon_exact"]) for entry in small.release.manifest.ledger
    )
    shown = understudy("ledger", "show", "--json").json["totals"][0]
    assert (shown["spent"]["epsilon"], shown["open"]) == ("5", [])
    table = understudy("ledger", "show").out
    assert "Caps: ε = 12." in table
    assert "commit" in understudy("ledger", "history").out
    dates = understudy("ledger", "history", "adults", "--json").json
    assert [one["kind"] for one in dates] == ["population", "reserve", "charge", "commit"]


def test_an_interrupted_run_is_entered_at_what_it_was_charged(understudy, small, place, tmp_path):
    checkpoint = tmp_path / "run.checkpoint"
    synthesize(small.rows, small.schema, epsilon=2, checkpoint=checkpoint, keep_checkpoint=True)
    journal = checkpoint / journals.JOURNAL_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    charges = [k for k, line in enumerate(lines) if b'"kind":"charge"' in line]
    journal.write_bytes(b"".join(lines[: charges[1] + 1]) + b"was being written")
    past = past_release(checkpoint)
    assert past.interrupted
    assert 0 < past.cost.amount < 2
    said = understudy("ledger", "add", checkpoint, "-p", "adults").out
    assert said.startswith("Entered as number 3: the interrupted run, which cost ε = ")
    assert PopulationLedger.open(place).reservation(3).state == "void"
    assert "entered before" in understudy("ledger", "add", checkpoint, "-p", "adults").err
    assert PopulationLedger.open(place).totals("adults").spent.pure == past.cost.amount


def test_what_has_no_finite_cost_is_refused_with_the_reason(understudy, small, place, tmp_path):
    seeded = us.synthesize(small.rows, small.schema, epsilon=1, insecure_noise_seed=1)
    seeded.save(tmp_path / "seeded")
    code, _, error = understudy("ledger", "add", tmp_path / "seeded", "-p", "adults")
    assert code == 2
    assert "has no finite cost (NOT private)" in error
    assert "is not a release" in understudy("ledger", "add", tmp_path, "-p", "adults").err
    assert PopulationLedger.open(place).head.number == 2


def test_heads_and_exports_are_kept_and_checked(understudy, place, tmp_path):
    run = PopulationLedger.open(place).reserve("adults", pure(1), "release", REQUEST)
    run.charge(Fraction(1, 4))
    public = understudy("ledger", "key", tmp_path / "key").out.splitlines()[-1]
    old = shutil.copy(place, tmp_path / "old")
    assert "of ε = 1 it was charged 0.25" in understudy("ledger", "void", run.number).out
    head, whole = tmp_path / "head.json", tmp_path / "all.json"
    understudy("ledger", "export", "--head", "--sign", tmp_path / "key", "--out", head)
    understudy("ledger", "export", "--out", whole)
    known = ["--head", head, "--signer", public]
    assert understudy("ledger", "verify", *known).code == 0
    assert understudy("ledger", "verify", whole, *known, "--quiet").out == ""
    code, out, _ = understudy("ledger", "verify", "--ledger", old, *known)
    assert code == 2
    assert "put back from an older copy" in out
    content = json.loads(whole.read_text("utf-8"))
    content["entries"][2]["public"]["by"] = "somebody"
    whole.write_text(json.dumps(content), "utf-8")
    assert understudy("ledger", "verify", whole, "--json").json == {
        "ok": False,
        "faults": ["Entry 3 was altered: it does not have its hash."],
    }
    assert understudy("ledger", "verify", whole, *known[:2], "--signer", "00").code == 2


def test_what_is_internal_is_published_by_its_number(understudy, place):
    number = PopulationLedger.open(place).internal("adults", "map", pure(13))
    code, _, error = understudy("ledger", "publish", number)
    assert code == 2
    assert "cap ε = 12. Only ε = 12 is left" in error
    number = PopulationLedger.open(place).internal("adults", "map", pure(3))
    assert understudy("ledger", "publish", number).code == 0
    assert understudy("ledger", "show", "adults", "--json").json["totals"][0]["spent"] == {
        "epsilon": "3",
        "rho": "4.5",
        "mu": "3.34068371225",
    }


def test_mistakes_end_in_one_sentence(understudy, place, tmp_path):
    for arguments, said in {
        ("show", "adult"): "did you mean 'adults'?",
        ("show", "--ledger", str(tmp_path / "gone")): "is not there",
        ("init",): "already exists",
        ("population", "kids", "--unit", "kid", "--governor", "x"): "needs a cap",
        ("void", "2"): "no reservation of this number",
        ("verify", str(place)): "is not JSON",
        ("export", "--sign", str(tmp_path / "gone")): "cannot be read",
    }.items():
        code, _, error = understudy("ledger", *arguments)
        assert code == 2, arguments
        assert said in error, error
        assert error.startswith("Error: ")
