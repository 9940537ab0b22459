"""Releases with second moments: what buys them, what they answer, and what a plan says before."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from made_matrices import SCHEMA, people
from schemas import column
from understudy.cli.app import app
from understudy.errors import BudgetError, InferenceError, MethodError, ReleaseError
from understudy.inference.measured_moments import moments_of
from understudy.release.folder import digest
from understudy.release.shape import Kind

DELTA = "1e-6"
ANALYSES = ["ols y ~ x + sex", "ols wage ~ x + region", "mean wage ~ sex"]


LAYERED = {"method": "independent", "budget": {"layer": "0.15"}}
"""What a release of the method that is chosen has by default."""


@pytest.fixture(scope="module")
def rows():
    return people(np.random.default_rng(5), 4000)


@pytest.fixture(scope="module")
def declared(rows):
    asked = [*ANALYSES[:2], {"kind": "mean", "formula": "wage ~ sex", "asked_by": "the ministry"}]
    return us.synthesize(
        rows, SCHEMA, epsilon=4, delta=DELTA, analyses=asked, insecure_noise_seed=3, **LAYERED
    )


@pytest.fixture(scope="module")
def saved(declared, tmp_path_factory):
    """Its folder, which tests leave as it is."""
    return declared.save(tmp_path_factory.mktemp("declared") / "r")


def products(release):
    return [one for one in release.measurements if one.kind is Kind.PRODUCTS]


def share_of(release, measurement):
    entry = release.manifest.ledger[measurement.entry - 1]
    unit = release.manifest.budget["amount"]
    return float(entry["half_mu_squared"]) / float(unit)


@pytest.mark.nightly
def test_an_automatic_release_with_delta_buys_them(rows):
    release = us.synthesize(rows, SCHEMA, epsilon=2, delta=DELTA, insecure_noise_seed=1)
    (bought,) = products(release)
    assert bought.columns == SCHEMA.names
    assert share_of(release, bought) == pytest.approx(0.95 / 3)
    assert us.analyze(release, "ols", "y ~ x").valid


@pytest.mark.parametrize(
    "request_",
    [
        {"delta": 0},
        {"delta": DELTA, "method": "marginals"},
        {"delta": DELTA, "budget": {"answers": 0}},
    ],
    ids=["pure", "named", "nothing"],
)
@pytest.mark.nightly(every=3)
def test_no_other_release_does_by_itself(rows, request_):
    release = us.synthesize(rows, SCHEMA, epsilon=2, insecure_noise_seed=1, **request_)
    assert products(release) == []
    with pytest.raises(InferenceError):
        us.analyze(release, "ols", "y ~ x + sex")


def test_a_share_is_between_0_and_1(rows):
    with pytest.raises(BudgetError, match="'answers' of the budget must lie"):
        us.synthesize(rows, SCHEMA, epsilon=2, delta=DELTA, budget={"answers": "1.5"})


def test_declared_analyses_are_measured_on_the_records_that_they_are_about(declared, rows):
    first, second, _ = products(declared)
    assert (first.columns, first.of) == (("x", "y", "sex"), ())
    assert (second.columns, second.of) == (("x", "sex", "region", "wage"), ("wage",))
    shares = [share_of(declared, own) for own in (first, second)]
    assert sum(shares) == pytest.approx(0.5 * 0.95)
    assert 1 / 3 < shares[0] / shares[1] < 3
    known = rows.filter(pl.col("wage") >= 0)
    n = second.counts[0]
    assert abs(n - known.height) < 5 * second.stddev
    answer = us.analyze(declared, "ols", "wage ~ x + region").to_frame()
    design = np.column_stack(
        [np.ones(known.height), known["x"], *(known["region"] == level for level in "bc")]
    )
    exact, *_ = np.linalg.lstsq(design, known["wage"].to_numpy(), rcond=None)
    assert (np.abs(answer["estimate"] - exact) < 5 * answer["stderr"]).all()


def test_a_layer_of_all_columns_stands_beside_declared_analyses(declared):
    """So that what nobody declared is answered too, and what was declared no worse."""
    first, _, layer = products(declared)
    assert (layer.columns, layer.of) == (SCHEMA.names, ())
    assert share_of(declared, layer) == pytest.approx(0.15 * 0.95)
    assert (declared.manifest.answers_share, declared.manifest.layer_share) == ("1/2", "3/20")
    assert us.analyze(declared, "correlation", "y + rare").valid
    columns = ("x", "y", "sex")
    both, alone = (
        moments_of(own, SCHEMA, columns, (4000.0, 0.0)) for own in ([first, layer], [first])
    )
    places = both.scores.order.places[2]
    expected = 1 / (first.stddev**-2 + layer.stddev**-2)
    assert alone.variances[places] == pytest.approx(first.stddev**2)
    assert both.variances[places] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("request_", "shares"),
    [
        ({}, [0.5, 0.15]),
        ({"analyses": ["ols y ~ x + sex + rare + region"]}, [0.5, 0.15]),
        ({"delta": 0}, [0.5]),
        ({"method": "marginals"}, [0.5]),
        ({"budget": {"layer": 0}}, [0.5]),
        ({"budget": {"layer": "0.05"}}, [0.5, 0.05]),
        ({"method": "marginals", "budget": {"layer": "0.2"}}, [0.5, 0.2]),
        ({"budget": {"answers": "0.9"}}, [0.9, 0.025]),  # half of what moments and lines leave
        ({"priority": ["y"]}, [0.375, 0.125, 0.15]),
        ({"analyses": None, "priority": ["sex", "y"]}, [1 / 4, 1 / 12]),
        ({"analyses": None, "priority": ["sex", "y"], "delta": 0}, [0.25]),
        ({"analyses": None, "priority": ["y"], "budget": {"answers": "0.8"}}, [0.6, 0.2]),
    ],
)
@pytest.mark.nightly(every=3)
def test_what_is_bought_for_answers(request_, shares):
    asked = {"delta": DELTA, "analyses": ["ols y ~ x + sex"], **request_}
    steps = [step for step in us.plan(SCHEMA, epsilon=2, **asked).setup if step.form == "moments"]
    assert [float(step.share) / 0.95 for step in steps] == pytest.approx(shares)


def test_no_layer_where_declared_analyses_have_all_columns():
    own = {name: SCHEMA.columns[name] for name in ("x", "y", "sex")}
    schema = SCHEMA.model_copy(update={"columns": own})
    planned = us.plan(schema, epsilon=2, delta=DELTA, analyses=["ols y ~ x + sex"])
    bought = [step for step in planned.setup if step.form == "moments"]
    assert [float(step.share) / 0.95 for step in bought] == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ({"priority": ["x", "yy"]}, MethodError, "no column 'yy'"),
        ({"priority": "x"}, MethodError, "priority"),
        ({"priority": ["x"], "budget": {"answers": 0}}, MethodError, "priority"),
        ({"budget": {"layer": "0.1"}}, BudgetError, "beside declared analyses"),
        ({"budget": {"layer": "0.6"}, "analyses": ["ols y ~ x"]}, BudgetError, "leave something"),
        (
            {"budget": {"layer": "2"}, "analyses": ["ols y ~ x"]},
            BudgetError,
            "'layer' of the budget must lie",
        ),
    ],
)
def test_what_cannot_be_bought_is_refused_before_rows_are_read(request_, error, words):
    with pytest.raises(error, match=words):
        us.synthesize(object(), SCHEMA, epsilon=1, delta=DELTA, **request_)


@pytest.mark.nightly
def test_priority_columns_have_moments_of_their_own(rows, tmp_path):
    """Beside those of all columns; both answer, also after saving."""
    release = us.synthesize(
        rows, SCHEMA, epsilon=1, delta=DELTA, priority=["y", "x"], insecure_noise_seed=4
    )
    layer, own = products(release)
    assert (layer.columns, own.columns) == (SCHEMA.names, ("x", "y"))
    assert own.stddev < layer.stddev
    assert release.manifest.priority == ("x", "y")
    assert release.manifest.options["priority"] == ["x", "y"]  # of the records' marginals, too
    answer = us.analyze(release, "ols", "y ~ x").to_frame()
    kept = tuple(one for one in release.measurements if one.name != own.name)
    wider = us.analyze(replace(release, measurements=kept), "ols", "y ~ x").to_frame()
    assert answer["stderr"]["x"] < 0.9 * wider["stderr"]["x"]
    slope = np.polyfit(rows["x"].to_numpy(), rows["y"].to_numpy(), 1)[0]
    assert abs(answer["estimate"]["x"] - slope) < 5 * answer["stderr"]["x"]
    assert us.analyze(release, "ols", "y ~ x + sex").valid  # by the layer
    release.save(tmp_path / "r")
    again = us.Release.load(tmp_path / "r")
    assert again.manifest == release.manifest
    assert us.analyze(again, "ols", "y ~ x").to_frame().equals(answer)


@pytest.mark.parametrize("fault", ["none", "swapped", "columns", "entry", "name", "priority"])
@pytest.mark.nightly(every=6)
def test_two_measurements_that_overlap_are_held_to_what_they_are(declared, saved, tmp_path, fault):
    """Whoever alters one of them, and redoes the checksums, is found out by the other parts."""
    folder = shutil.copytree(saved, tmp_path / "r")
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    one, other = [m for m in content["measurements"] if m["kind"] == "products"][:2]
    files = [folder / "noisy" / f"{m['name']}.parquet" for m in (one, other)]
    if fault == "swapped":
        first, second = (file.read_bytes() for file in files)
        files[0].write_bytes(second)
        files[1].write_bytes(first)
    elif fault == "columns":
        one["columns"] = other["columns"]
    elif fault == "entry":
        one["ledger_entry"] = len(content["ledger"]) + 1
    elif fault == "name":
        one["name"] = other["name"]
    elif fault == "priority":
        content["priority"] = ["nobody"]
    content["files"] = {name: digest(folder / name) for name in content["files"]}
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    if fault == "none":
        assert us.Release.load(folder).manifest == declared.manifest
    else:
        with pytest.raises(ReleaseError):
            us.Release.load(folder)


def test_a_saved_release_answers_the_same(declared, saved):
    again = us.Release.load(saved)
    assert again.manifest == declared.manifest
    for text in ANALYSES:
        kind, formula = text.split(" ", 1)
        mine = us.analyze(declared, kind, formula).to_frame()
        assert us.analyze(again, kind, formula).to_frame().equals(mine)


def test_the_page_has_all_of_them_and_who_asked(declared, saved):
    page = (saved / "report.html").read_text(encoding="utf-8")
    for text in ANALYSES:
        kind, formula = text.split(" ", 1)
        assert f"{kind} of {formula}" in page
    assert "the ministry" in page
    estimate = us.analyze(declared, "mean", "wage ~ sex").rows()[0][1]
    assert estimate in page


@pytest.mark.nightly
def test_moments_make_no_relation_of_the_records(declared, tmp_path):
    """Records are drawn from tables; what was measured for answers keeps no association in them."""
    release = us.synthesize(
        declared.tables[0],
        SCHEMA,
        epsilon=2,
        delta=DELTA,
        method="independent",
        budget={"answers": "0.5"},
        insecure_noise_seed=1,
    )
    assert len(products(release)) == 1
    release.save(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "All columns were measured together" not in page
    assert "Associations between columns are NOT preserved" in page
    assert us.Release.load(tmp_path / "r").manifest.inference.independent


@pytest.mark.nightly
def test_one_column_of_numbers_alone(rows, tmp_path):
    """Of the records with a value there is no indicator at all: the number is the only score."""
    release = us.synthesize(
        rows, SCHEMA, epsilon=4, delta=DELTA, analyses=["mean wage"], insecure_noise_seed=2
    )
    release.save(tmp_path / "r")
    answer = us.analyze(us.Release.load(tmp_path / "r"), "mean", "wage").to_frame()
    exact = rows.filter(pl.col("wage") >= 0)["wage"].mean()
    assert abs(answer["estimate"].iloc[0] - exact) < 5 * answer["stderr"].iloc[0]


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("anyway", [False, True])
def test_no_other_release_has_a_correlation(rows, sets, anyway):
    """Whatever rule its sets have; and a bootstrap of them has none either."""
    release = us.synthesize(
        rows.select("sex", "rare", "x"),
        SCHEMA.model_copy(update={"columns": {n: SCHEMA.columns[n] for n in ("sex", "rare", "x")}}),
        epsilon=20,
        method="laplace",
        sets=sets,
        options={"form": "dense", "sets": "split"},
    )
    for how in ({}, {"uncertainty": "bootstrap", "repeats": 40, "workers": 1}):
        with pytest.raises(InferenceError, match="second moments"):
            us.analyze(release, "correlation", "x + rare", anyway=anyway, **how)


def test_a_plan_counts_the_noise_in_a_bought_number_of_rows(declared):
    """A mean is off by it as far as it lies from the middle of the bounds."""

    def noise(part):
        asked = {"analyses": ["mean y"], "assume_rows": 4000, "budget": {"rows": part}}
        plan = us.plan(SCHEMA, epsilon=4, delta=DELTA, like=declared, **asked)
        return np.array([line.noise for line in plan.expected])

    assert SCHEMA.rows == "private"
    assert (noise("0.0005") > 1.2 * noise("0.05")).all()


def test_a_plan_says_how_wide_intervals_will_be(declared, rows):
    """Like the release itself: realised widths are within 20 % of the plan, the rows unseen."""
    asked = {"delta": DELTA, "assume_rows": 4000, **LAYERED}
    plan = us.plan(SCHEMA, epsilon=4, analyses=ANALYSES, like=declared, **asked)
    realised = {}
    for text in ANALYSES:
        frame = us.analyze(declared, *text.split(" ", 1)).to_frame()
        realised |= {(text, name): 1.96 * row.stderr for name, row in frame.iterrows()}
    ratios = [
        realised[line.analysis, line.name] / math.hypot(line.noise, line.sampling)
        for line in plan.expected
    ]
    assert len(ratios) == len(realised)
    assert 0.8 < np.median(ratios) < 1.2
    narrow, wide = (
        us.plan(SCHEMA, epsilon=epsilon, analyses=ANALYSES[:1], **asked) for epsilon in (8, 2)
    )
    for less, more in zip(narrow.expected, wide.expected, strict=True):
        assert less.noise < more.noise or more.refused


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["ols"], "Expected an analysis such as"),
        ([7], "Expected an analysis such as"),
        (["ols y ~ nobody"], "no column or function 'nobody'"),
        (["mena y"], "Did you mean 'mean'"),
        ([{"kind": "mean"}], "needs the texts kind and formula"),
        ([{"kind": "mean", "formula": "y", "why": "so"}], "why"),
        (3, "Expected a list of analyses"),
        ("nowhere.toml", "cannot be read"),
    ],
)
def test_what_is_no_analysis_is_refused_before_rows_are_read(given, words):
    with pytest.raises(InferenceError, match=words):
        us.synthesize(object(), SCHEMA, epsilon=1, delta=DELTA, analyses=given)


def test_analyses_come_in_a_file(tmp_path, capsys):
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps(), encoding="utf-8")
    (tmp_path / "asked.toml").write_text(
        '[[analyses]]\nkind = "ols"\nformula = "y ~ x"\nasked_by = "a ministry"\n', encoding="utf-8"
    )
    arguments = ["plan", "--schema", str(tmp_path / "schema.toml"), "--epsilon", "1"]
    more = ["--delta", DELTA, "--analyses", str(tmp_path / "asked.toml"), "--json"]
    assert not app([*arguments, *more], standalone_mode=False)
    plan = json.loads(capsys.readouterr().out)
    assert [line["name"] for line in plan["expected"]] == ["Intercept", "x"]
    assert plan["assumed_rows"] == 1000


def test_a_plan_shows_priority_and_what_it_does(tmp_path, capsys):
    """In its steps, its sentences, and the widths that it expects."""
    (tmp_path / "schema.toml").write_text(SCHEMA.dumps(), encoding="utf-8")
    arguments = ["plan", "--schema", str(tmp_path / "schema.toml"), "--epsilon", "1"]
    arguments += ["--delta", DELTA, "--priority", "y, x", "--priority", "sex"]
    assert not app(arguments, standalone_mode=False)
    assert "priority" in (shown := capsys.readouterr().out)
    assert "x, y, sex" in shown.split("priority")[1]
    assert not app([*arguments, "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["priority"] == ["x", "y", "sex"]
    asked = {"epsilon": 1, "delta": DELTA, "assume_rows": 4000}
    asked |= {"analyses": ["correlation x + y", "ols y ~ x + sex + rare + region"]}
    plans = [us.plan(SCHEMA, **asked, **more) for more in ({}, {"priority": ["x", "y"]})]
    layered, first = (
        {(line.analysis, line.name): line.noise for line in planned.expected} for planned in plans
    )
    narrow = ("correlation x + y", "correlation of x and y")
    assert first[narrow] < 0.95 * layered[narrow]


@pytest.mark.nightly
def test_means_of_functions_of_several_numbers(rows):
    """With hardly any noise: the textbook mean and its error; with noise: what those of the two
    columns say, and a wider interval than the rows have. Where a value is absent the record is left
    out. Products, and means by group, are no sums of what was measured."""
    exact, noisy = (
        us.synthesize(rows, SCHEMA, epsilon=epsilon, delta=DELTA, insecure_noise_seed=8)
        for epsilon in (200, 2)
    )
    own = (rows["y"] - 2 * rows["x"]).to_numpy()
    found = us.analyze(exact, "mean", "{y - 2 * x}").to_frame().iloc[0]
    assert found["estimate"] == pytest.approx(own.mean(), abs=0.2 * own.std() / math.sqrt(4000))
    assert found["stderr"] == pytest.approx(own.std() / math.sqrt(4000), rel=0.1)
    wide = us.analyze(noisy, "mean", "{y - 2 * x}").to_frame().iloc[0]
    assert wide["stderr"] > 1.1 * found["stderr"]
    assert abs(wide["estimate"] - own.mean()) < 5 * wide["stderr"]
    earners = rows.filter(pl.col("wage") >= 0)
    both = earners["wage"] - earners["x"]
    earning = us.analyze(exact, "mean", "{wage - x}").to_frame().iloc[0]
    assert earning["lower"] < both.mean() < earning["upper"]
    for formula in ("{y * x}", "{y - x} ~ sex"):
        with pytest.raises(InferenceError):
            us.analyze(noisy, "mean", formula)


ANYWHERE = {
    "mean": "number ~ group",
    "ols": "number ~ group",
    "logit": "{group == 'a'} ~ number",
    "poisson": "other ~ number",
}


def test_answers_are_as_exact_wherever_0_lies():
    """Dates lie far from it. A group that is lost in noise has large squares then."""
    rng, halves = np.random.default_rng(6), {kind: list[float]() for kind in ANYWHERE}
    group = rng.choice(["a", "b", "c"], 1_500, p=[0.55, 0.44, 0.01])
    number = np.clip(rng.normal(50, 15, 1_500).round(), 0, 100).astype(int)
    rows = pl.DataFrame({"number": number, "group": group, "other": rng.poisson(number / 10)})
    for start in (0, 20_000):
        schema = us.Schema.loads(
            column("number", "integer", lower=start, upper=start + 100)
            + column("other", "integer", lower=0, upper=30)
            + column("group", "categorical", levels=["a", "b", "c"])
        )
        made = us.synthesize(
            rows.with_columns(pl.col("number") + start),
            schema,
            epsilon=4,
            delta="1e-6",
            insecure_noise_seed=3,
        )
        for kind, formula in ANYWHERE.items():
            low, high = us.analyze(made, kind, formula).pooled.interval()
            halves[kind].append(float((high - low)[1] / 2))
    for near, far in halves.values():
        assert math.isclose(near, far, rel_tol=1e-2)
