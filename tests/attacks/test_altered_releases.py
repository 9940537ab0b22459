"""Attacks by releases that were altered and hashed anew: two programs refuse each of them.

One is this package, which loads a release; the other, `understudy_verify`, was written from the
specification of the format alone. What the one lets pass, the other should not have to find.
`benchmarks/check_altered.py` tries twenty thousand, and 500 honest ones.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import understudy as us
from altered_releases import ALTERATIONS, BASES, Absent, Folder, altered
from honest_releases import honest
from night import NIGHT
from understudy.errors import ReleaseError
from understudy_verify import RULES, verify

pytestmark = pytest.mark.fuzz

TRIES, MORE = (3, 50) if NIGHT else (1, 20)
BY_DAY = (
    *("gaussian", "products", "filtered", "dense", "ranks", "every kind", "published", "layers"),
    *("ranges", "urn", "distributions", "sweeps", "replaced", "moments", "imputed", "split"),
    *("not private", "regression", "amended"),
)
"""Every kind of measurement, and what an alteration needs; some have pages, as `report.html` is. Of
each method a release is loaded and checked in `tests/contract/`."""


@pytest.fixture(scope="module")
def bases(genuine):
    return [genuine(name) for name in (BASES if NIGHT else BY_DAY)]


def require_refused(folder: Folder, place, name):
    """By both, in one sentence each."""
    folder.lay(place)
    with pytest.raises(ReleaseError):
        us.Release.load(place)
    broken = [rule for rule, state, _ in verify(place) if state == "broken"]
    assert broken, name


def test_both_accept_what_was_not_altered(bases, tmp_path):
    """No refusal below is one of the genuine release, or of how it is laid out."""
    for k, folder in enumerate(bases):
        place = folder.copy().lay(tmp_path / str(k))
        us.Release.load(place)
        assert [said for said in verify(place) if said[1] == "broken"] == []


@pytest.mark.parametrize("name", ALTERATIONS)
def test_both_refuse_whatever_breaks_a_rule(bases, tmp_path, name):
    """Claim attacked: no rule of the format can be broken unseen."""
    rng, tried = np.random.default_rng(len(name)), 0
    for k in rng.permutation(len(bases)).tolist() * TRIES:
        folder = bases[k].copy()
        try:
            ALTERATIONS[name](folder, rng)
        except (Absent, KeyError, pl.exceptions.PolarsError):
            continue
        require_refused(folder, tmp_path / str(tried), name)
        tried += 1
        if tried == TRIES:
            break
    assert tried


def test_both_refuse_any_of_them(bases, tmp_path):
    """The same at random, since what is altered and by how much is drawn."""
    rng = np.random.default_rng(26)
    for k in range(MORE):
        name, folder = altered(bases, rng)
        require_refused(folder, tmp_path / str(k), name)


def test_every_rule_is_broken_by_some_alteration():
    assert {name.split()[0] for name in ALTERATIONS} == set(RULES)


HONEST = 25 if NIGHT else 6


def test_both_accept_releases_of_any_schema_and_method(tmp_path):
    """Schemas, methods and options at random (`benchmarks/check_altered.py` makes 500): no false
    alarm, since nothing here is random but the request and the noise of a genuine release."""
    rng, made = np.random.default_rng(45), 0
    while made < HONEST:
        place = tmp_path / str(rng.integers(2**60))
        for name, folder in honest(rng, place):
            made += 1
            us.Release.load(folder)
            assert [said for said in verify(folder) if said[1] == "broken"] == [], name


NUMERIC = {
    "second": 'kind = "datetime"\nlower = 2020-01-01T00:00:00\nupper = 2020-12-31T23:59:59',
    "half a second": 'kind = "datetime"\nlower = 2020-01-01T00:00:00.5\n'
    "upper = 2020-12-31T23:59:59",
    "minute": 'kind = "datetime"\nresolution = "minute"\nlower = 1969-12-31T23:59:30\n'
    "upper = 2020-12-31T23:59:59",
    "hour": 'kind = "datetime"\nresolution = "hour"\nlower = 9990-01-01T00:00:00\n'
    "upper = 9999-12-31T23:59:59",
    "own bins": 'kind = "datetime"\nresolution = "minute"\nlower = 2020-01-01T00:00:00\n'
    "upper = 2020-12-31T23:59:59\n"
    "bins = [2020-01-01T00:00:00, 2020-07-01T00:00:00, 2020-12-31T23:59:59]",
    **{
        f"time by {unit}": f'kind = "time"\nresolution = "{unit}"'
        for unit in ("second", "minute", "hour")
    },
    **{
        f"duration by {unit}": f'kind = "duration"\nresolution = "{unit}"\nlower = "-PT90M"\n'
        'upper = "P32DT1H"'
        for unit in ("second", "minute", "hour", "day")
    },
    "date": 'kind = "date"\nlower = 1500-01-01\nupper = 1600-12-31',
    "integer": 'kind = "integer"\nlower = -5\nupper = 5000\nheaps = [10, 5]\nspikes = [0]',
    "continuous": 'kind = "continuous"\nlower = -0.0\nupper = 1e7\ndecimals = 2\nspikes = [0]',
}


VALUES = {
    "datetime": ["2020-03-01T10:00:00", "2020-09-30T23:30:30", "9999-01-01T00:00:00"],
    "time": ["08:30:15", "00:00:00", "23:59:59"],
    "duration": ["PT5H", "-PT61M", "P30DT12H"],
    "date": ["1555-02-17", "1500-01-01", "1600-12-31"],
    "integer": ["-5", "0", "4990"],
    "continuous": ["0", "1e6", "12345.67"],
}


@pytest.mark.parametrize("names", [[*NUMERIC][::2], [*NUMERIC][1::2]], ids="; ".join)
@pytest.mark.parametrize(
    ("missing", "delta", "method"),
    [("", "1e-6", "auto"), ('missing = ["", "?"]\n', 0, "independent")],
)
@pytest.mark.nightly(diagonal=True)
def test_every_kind_of_number_has_a_line_that_both_know(names, missing, delta, method, tmp_path):
    """With number lines and second moments, which name bounds as they were declared."""
    reviewed = 'source = "s"\nreviewed = true\n'
    columns = [f'[columns."{one}"]\n{NUMERIC[one]}\n{missing}{reviewed}' for one in names]
    schema = us.Schema.loads("".join(columns) + f'[columns.g]\nkind = "boolean"\n{reviewed}')
    kinds = {one: NUMERIC[one].split('"')[1] for one in names}
    rows = pl.DataFrame({one: VALUES[kind] * 20 for one, kind in kinds.items()})
    rows = rows.with_columns(g=pl.Series([True, False, True] * 20))
    shares = {"budget": {"answers": "0.2", "lines": "0.4"}}
    release = us.synthesize(rows, schema, epsilon=30, delta=delta, method=method, **shares)
    lines = {name for one in release.measurements if one.kind == "line" for name in one.columns}
    assert lines == set(names)
    place = replace(release, pages=None).save(tmp_path / "r")
    us.Release.load(place)
    assert [said for said in verify(place) if said[1] == "broken"] == []
