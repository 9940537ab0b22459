"""A survey with weights, from schema to a weighted answer, and what the release says of it."""

import json
import shlex

import numpy as np
import polars as pl
import pytest

import understudy as us
from night import NIGHT
from plain_refusals import require_plain
from schemas import column
from understudy.cli.app import app
from understudy.inference.refusals import RefusedError
from understudy.release.shape import Kind
from understudy.schema import Schema
from understudy_verify import verify

COLUMNS = "\n".join(
    [
        column("w", "continuous", lower=0.0, upper=8.0, bins=8),
        column("sex", "categorical", levels=["f", "m"]),
        column("income", "continuous", lower=0.0, upper=100.0, bins=10),
    ]
)
DESIGN = '[design]\nweight = "w"\ndeff = { default = 1.2, source = "quality report 2024" }\n'


def rows(n=2_000):
    rng = np.random.default_rng(4)
    rich = rng.random(n) < 0.5
    w = np.where(rich, 1.0, 4.0) * np.clip(rng.lognormal(0, 0.2, n), 0.5, 2)
    income = np.clip(np.where(rich, 60, 30) + rng.normal(0, 10, n), 0, 100)
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    return pl.DataFrame({"w": w, "sex": sex, "income": income})


@pytest.fixture(scope="module")
def release():
    schema = Schema.loads(DESIGN + COLUMNS)
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 3}
    return us.synthesize(rows(), schema, **how)


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    place = tmp_path_factory.mktemp("weights") / "release"
    release.save(place)
    return place


def test_answers_are_weighted_and_say_so_unless_records_are_asked_about(release):
    frame = rows()
    whole = np.average(frame["income"], weights=frame["w"])
    weighted = us.analyze(release, "mean", "income")
    low, high = weighted.pooled.interval()
    assert low[0] < whole < high[0]
    assert any(note.startswith("Weighted by w") for note in weighted.notes)
    assert any("1.2 (quality report 2024)" in note for note in weighted.notes)
    plain = us.analyze(release, "mean", "income", weighted=False)
    assert not any("Weighted" in note for note in plain.notes)
    assert abs(plain.pooled.estimate[0] - frame["income"].mean()) < 3
    assert abs(whole - frame["income"].mean()) > 5
    total = us.analyze(release, "count", "sex == 'f'").pooled.estimate[0]
    assert total == pytest.approx(frame.filter(pl.col("sex") == "f")["w"].sum(), rel=0.1)


def test_questions_without_a_weighted_answer_say_that_they_are_about_records(release):
    median = us.analyze(release, "median", "income")
    assert any(note.startswith("Unweighted") for note in median.notes)
    with pytest.raises(us.UnderstudyError, match="have weighted answers"):
        us.analyze(release, "median", "income", weighted=True)
    with pytest.raises(us.UnderstudyError, match="weighted=False asks about the records"):
        us.analyze(release, "mean", "log(income + 1)")
    with pytest.raises(us.UnderstudyError, match="draws records without weights"):
        us.analyze(release, "mean", "income", weighted=True, uncertainty="bootstrap")


def test_a_release_without_weights_refuses_a_weighted_answer():
    made = us.synthesize(
        rows(300), Schema.loads(COLUMNS), epsilon=1, method="independent", insecure_noise_seed=1
    )
    with pytest.raises(us.UnderstudyError, match=r"declares no \[design\] weight"):
        us.analyze(made, "mean", "income", weighted=True)


def test_what_is_planned_is_paid_and_stored(release, folder):
    planned = us.plan(release.schema, epsilon=2, delta="1e-6", method="independent")
    steps = [step.query for step in planned.setup if "weighted" in step.query]
    paid = [one for one in release.manifest.ledger if one["mechanism"] == "noisy weighted moments"]
    assert [one["query"] for one in paid] == steps
    assert len(steps) == 2
    loaded = us.Release.load(folder)
    assert [one.weighting.power for one in loaded.measurements if one.kind is Kind.WEIGHTED] == [
        1,
        2,
    ]
    again, before = (us.analyze(one, "mean", "income ~ sex") for one in (loaded, release))
    assert np.array_equal(again.pooled.estimate, before.pooled.estimate)
    assert "broken" not in {said[1] for said in verify(folder)}


@pytest.mark.parametrize(("entry", "value"), [("bound", 4.0), ("power", 1)])
def test_a_release_that_says_another_weighting_is_refused(folder, tmp_path, entry, value):
    """The query of its step names both, and so does what is loaded and what is verified."""
    for name in folder.rglob("*"):
        if name.is_file():
            place = tmp_path / name.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(name.read_bytes())
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    told = [one for one in manifest["measurements"] if one["kind"] == "weighted"][-1]
    assert told["totals"][entry] != value
    told["totals"][entry] = value
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(us.UnderstudyError):
        us.Release.load(tmp_path)
    assert "broken" in {said[1] for said in verify(tmp_path)}


def test_declared_analyses_get_the_moments_that_answer_them():
    schema = Schema.loads(DESIGN + COLUMNS)
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent"}
    both = us.plan(schema, **how, analyses=["mean income ~ sex", "correlation w + income"])
    asked = [step.query for step in both.setup if "sums and products" in step.query]
    assert [("weighted" in query) for query in asked] == [True, True, False]
    assert "scores of sex, income, weighted by w = w up to 8.0" in asked[0]
    alone = us.plan(schema, **how, analyses=["correlation w + income"])
    asked = [step.query for step in alone.setup if "sums and products" in step.query]
    assert [("weighted" in query) for query in asked] == [False]


def test_weights_above_their_bound_are_told():
    schema = Schema.loads(DESIGN + COLUMNS.replace("upper = 8.0", "upper = 3.0"))
    how = {"epsilon": 4, "delta": "1e-6", "insecure_noise_seed": 3, "budget": {"lines": 0.1}}
    made = us.synthesize(rows(), schema, method="independent", **how)
    notes = us.analyze(made, "mean", "income").notes
    assert any("of the weights are above their upper bound 3" in note for note in notes)


def test_a_model_of_weights_that_are_cut_off_is_refused():
    schema = Schema.loads(DESIGN + "contribution = 4.0\n" + COLUMNS)
    how = {"epsilon": 4, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 3}
    made = us.synthesize(rows(), schema, **how)
    with pytest.raises(us.UnderstudyError, match="count as it"):
        us.analyze(made, "ols", "income ~ sex")
    mean = us.analyze(made, "mean", "income")
    assert mean.pooled.bias[0] > 0
    assert any("bias_bound" in note and "above 4" in note for note in mean.notes)


def test_the_pages_say_what_is_weighted(folder):
    for name in ("README.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "for the population" in text
        assert "No smaller ε is claimed" in text
    assert "weight" in (folder / "schema.toml").read_text(encoding="utf-8")


def test_the_command_answers_weighted_and_unweighted(folder, capsys):
    for option, word in (("--weighted", "Weighted by w"), ("--unweighted", "mean of income")):
        app(["analyze", str(folder), "mean", "income", option], standalone_mode=False)
        shown = " ".join(capsys.readouterr().out.split())
        assert word in shown
        assert ("Weighted by w" in shown) == (option == "--weighted")


def test_adjusted_weights_make_the_guarantee_conditional(tmp_path):
    schema = Schema.loads(DESIGN + 'fixed = "adjusted"\n' + COLUMNS)
    made = us.synthesize(rows(300), schema, epsilon=1, delta="1e-6", method="independent")
    assert made.guarantee.kind == "conditional"
    assert "weights of all other records are taken as fixed" in made.guarantee.statement
    made.save(tmp_path / "release")
    assert "taken as fixed" in (tmp_path / "release" / "README.md").read_text(encoding="utf-8")
    assert us.Release.load(tmp_path / "release").guarantee.kind == "conditional"


def test_released_records_meet_public_totals(release):
    totals = {"source": "register", "levels": {"sex": {"f": 5_200, "m": 4_800}}}
    found = us.calibrate(release, totals)
    women = found["sex"].astype(str) == "f"
    assert found["calibrated_weight"][women].sum() == pytest.approx(5_200)
    ratio = (found["calibrated_weight"] / found["w"])[women]
    assert np.allclose(ratio, ratio.iloc[0])


def test_clusters_are_put_into_groups_and_their_names_never_leave(tmp_path):
    rng = np.random.default_rng(5)
    of = np.repeat(np.arange(150), 10)
    near = 20 * rng.normal(size=150)[of]
    frame = rows(1_500).with_columns(
        pl.Series("village", [f"Village-{k}" for k in of]),
        (pl.col("income") + near).clip(0, 100),
    )
    groups = column("village", "categorical", levels=[*range(1, 21)], random_groups=True)
    design = '[design]\nweight = "w"\npsu = "village"\nvariance = "groups"\n'
    schema = Schema.loads(design + COLUMNS + groups)
    how = {"epsilon": 40, "delta": "1e-6", "analyses": ["mean income"]}
    how |= {"method": "independent"}
    plan = us.plan(schema, **how, assume_rows=1_500)
    (expected,) = plan.expected
    assert expected.sampling > 0
    made = us.synthesize(frame, schema, insecure_noise_seed=3, **how)
    made.save(tmp_path / "release")
    texts = [p.read_bytes() for p in (tmp_path / "release").rglob("*") if p.is_file()]
    assert not any(b"Village-" in text for text in texts)
    assert "broken" not in {said[1] for said in verify(tmp_path / "release")}
    answer = us.analyze(made, "mean", "income")
    assert any("random groups of village" in note for note in answer.notes)
    assert answer.pooled.df[0] < 20


def test_a_release_with_random_groups_is_loaded_verified_and_answers_by_clusters(tmp_path):
    groups = 'variance = "groups"\npsu = "area"\n'
    area = column("area", "categorical", levels=list(range(1, 11)), random_groups=True)
    schema = Schema.loads(f'[design]\nweight = "w"\n{groups}{COLUMNS}\n{area}')
    frame = rows().with_columns(area=pl.Series([f"village {k % 90}" for k in range(2_000)]))
    how = {"epsilon": 8, "delta": "1e-6", "method": "independent"}
    planned = us.plan(schema, **how)
    us.synthesize(frame, schema, **how, insecure_noise_seed=3).save(tmp_path / "release")
    loaded = us.Release.load(tmp_path / "release")
    steps = [one for one in loaded.manifest.ledger if one["mechanism"] == "noisy weighted moments"]
    assert [one["query"] for one in steps] == [
        step.query for step in planned.setup if "weighted" in step.query
    ]
    assert [one["query"].endswith(", by area") for one in steps] == [False, True, False]
    assert "broken" not in {said[1] for said in verify(tmp_path / "release")}
    for asked in (("mean", "income ~ sex"), ("total", "income"), ("ols", "income ~ sex")):
        answer = us.analyze(loaded, *asked)
        assert np.isfinite(answer.pooled.df).all()
        assert any("between random groups of area" in note for note in answer.notes)
    manifest = tmp_path / "release" / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    (apart,) = (one for one in told["measurements"] if one["of"] == ["w", "area"])
    apart["of"] = ["w"]
    manifest.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(us.UnderstudyError):
        us.Release.load(tmp_path / "release")


def test_a_declared_share_by_condition_has_a_table_of_weights_and_so_has_a_late_question(
    release, tmp_path
):
    """From the declaration to a checked folder; before, neither had an answer."""
    asked = "proportion sex where income >= 45"
    with pytest.raises(us.UnderstudyError, match="do not give this for the population"):
        us.analyze(release, "proportion", "sex where income >= 45")
    schema = Schema.loads(DESIGN + COLUMNS)
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent"}
    plan = us.plan(schema, **how, analyses=[asked])
    assert all(0 < one.half_width < 0.5 for one in plan.expected)
    declared = us.synthesize(rows(), schema, analyses=[asked], **how)
    plain = us.synthesize(rows(), schema, **how)
    plain.save(tmp_path / "plain")
    question = {"analyses": [{"kind": "proportion", "formula": "sex where income >= 45"}]}
    late = us.answer(question, rows(), tmp_path / "plain", epsilon=1)
    frame = rows().filter(pl.col("income") >= 45)
    share = frame.filter(pl.col("sex") == "f")["w"].sum() / frame["w"].sum()
    for k, one in enumerate((declared, late)):
        place = tmp_path / str(k)
        one.save(place)
        assert not [rule for rule, state, _ in verify(place) if state == "broken"]
        found = us.analyze(us.Release.load(place), "proportion", "sex where income >= 45")
        low, high = found.pooled.interval()
        assert abs(found.pooled.estimate[0] - share) < high[0] - low[0] < 0.5
        assert [m for m in found.notes if m.startswith("Weighted by w")]
        kinds = [m.kind for m in one.measurements]
        assert kinds.count(Kind.WEIGHTED_TABLE) == 2
        assert found.reason.startswith("weights were summed by cell")


def test_a_table_of_weights_with_other_noise_is_refused(tmp_path):
    schema = Schema.loads(DESIGN + COLUMNS)
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 3}
    declared = us.synthesize(
        rows(200), schema, analyses=["count sex == 'f' where income >= 45"], **how
    )
    declared.save(tmp_path / "release")
    path = tmp_path / "release" / "manifest.json"
    content = json.loads(path.read_text())
    (one, _) = [m for m in content["measurements"] if m["kind"] == "weighted-table"]
    one["totals"]["bound"] = 4.0
    path.write_text(json.dumps(content))
    with pytest.raises(us.UnderstudyError):
        us.Release.load(tmp_path / "release")
    states = {rule: state for rule, state, _ in verify(tmp_path / "release")}
    assert "broken" in states.values()


ASKED = [
    ("proportion", "sex where income >= 45"),
    ("mean", "income where income >= 40"),
]


def test_a_refusal_names_a_declaration_that_gives_the_weighted_answer(release, tmp_path):
    """What it tells the publisher to type is typed; the answers are as wide as it expects."""
    rows().write_csv(tmp_path / "rows.csv")
    (tmp_path / "schema.toml").write_text(DESIGN + COLUMNS)
    refused, tried = [], ASKED if NIGHT else ASKED[:1]
    for asked in tried:
        with pytest.raises(RefusedError, match="for the population") as error:
            us.analyze(release, *asked)
        require_plain(error.value)
        assert error.value.advice.kind == "declare"
        refused.append(error.value.advice)
    places = {"DATA": tmp_path / "rows.csv", "SCHEMA": tmp_path / "schema.toml"}
    for k, (asked, advice) in enumerate(zip(tried, refused, strict=True)):
        words = [str(places.get(word, word)) for word in shlex.split(advice.command)][1:]
        more = ["--out", str(tmp_path / str(k)), "--insecure-noise-seed", "3"]
        app([*words, *more], standalone_mode=False)
        answer = us.analyze(us.Release.load(tmp_path / str(k)), *asked)
        assert any(note.startswith("Weighted by w") for note in answer.notes)
        low, high = answer.pooled.interval()
        assert (high - low)[0] / 2 == pytest.approx(advice.half_width, rel=0.5)


def test_about_records_no_declaration_is_named_that_would_buy_sums_of_weights(release):
    with pytest.raises(RefusedError) as error:
        us.analyze(release, "proportion", "sex where income >= 45", weighted=False)
    assert error.value.advice is None


def test_random_groups_count_in_what_a_refusal_expects():
    area = column("area", "categorical", levels=list(range(1, 11)), random_groups=True)
    design = '[design]\nweight = "w"\nvariance = "groups"\npsu = "area"\n'
    schema = Schema.loads(f"{design}{COLUMNS}\n{area}")
    frame = rows().with_columns(area=pl.Series([f"village {k % 90}" for k in range(2_000)]))
    how = {"epsilon": 8, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 3}
    made = us.synthesize(frame, schema, **how)
    asked = ("proportion", "sex where income >= 45")
    with pytest.raises(RefusedError) as error:
        us.analyze(made, *asked)
    declared = us.synthesize(frame, schema, **how, analyses=[" ".join(asked)])
    low, high = us.analyze(declared, *asked).pooled.interval()
    assert (high - low)[0] / 2 == pytest.approx(error.value.advice.half_width, rel=0.7)
