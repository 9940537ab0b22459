"""Records are weighed anew to meet public totals, and what cannot be met is said."""

import numpy as np
import pandas as pd
import pytest

import understudy as us

TOTALS = {
    "source": "register of residents, 2024",
    "levels": {"sex": {"f": 600, "m": 400}, "region": {"n": 300, "s": 700}},
    "sums": {"age": 45_000},
}


def records(n=500):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["n", "s"], n),
            "age": rng.integers(0, 90, n),
            "w": rng.uniform(1, 3, n),
        }
    )


def test_all_totals_are_met_by_weights_above_0_nearest_to_the_old_ones():
    found = us.calibrate(records(), TOTALS, weight="w")
    new = found["calibrated_weight"]
    assert (new > 0).all()
    assert new[found["sex"] == "f"].sum() == pytest.approx(600, rel=1e-7)
    assert new[found["region"] == "s"].sum() == pytest.approx(700, rel=1e-7)
    assert (new * found["age"]).sum() == pytest.approx(45_000, rel=1e-7)
    # The ratio of new and old is a product of one factor for each trait of a record.
    same = found[(found["sex"] == "f") & (found["region"] == "s") & (found["age"] == 30)]
    ratio = same["calibrated_weight"] / same["w"]
    assert len(ratio) > 1
    assert np.allclose(ratio, ratio.iloc[0])


def test_totals_of_one_column_are_poststratification():
    found = us.calibrate(records(), {"source": "x", "levels": {"sex": {"f": 600, "m": 400}}})
    women = found["sex"] == "f"
    assert np.allclose(found["calibrated_weight"][women], 600 / women.sum())


def test_totals_come_from_a_file_with_its_source(tmp_path):
    place = tmp_path / "totals.toml"
    place.write_text('source = "register"\n[levels.sex]\nf = 600\nm = 400\n', encoding="utf-8")
    found = us.calibrate(records(), place, into="v")
    assert found["v"].sum() == pytest.approx(1000)
    place.write_text("[levels.sex]\nf = 600\nm = 400\n", encoding="utf-8")
    with pytest.raises(us.UnderstudyError, match="need their source"):
        us.calibrate(records(), place)
    with pytest.raises(us.UnderstudyError, match="cannot be read"):
        us.calibrate(records(), tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"levels": {"sex": {"f": 600, "x": 400}}},
            "total of the level 'x' of sex, and no record has it",
        ),
        ({"levels": {"sexx": {"f": 600}}}, "no such column .did you mean .sex"),
        (
            {"levels": {"sex": {"f": 600, "m": 500}, "region": {"n": 300, "s": 700}}},
            "No positive weights",
        ),
        ({"sums": {"age": -1}}, "No positive weights"),
        ({"levels": {"sex": {"f": "many"}}}, "need numbers"),
        ({"levels": {}, "sums": {}}, "need numbers"),
        ({"level": {}}, "no entry 'level'"),
    ],
)
def test_what_cannot_be_met_is_refused(changed, message):
    with pytest.raises(us.UnderstudyError, match=message):
        us.calibrate(records(), TOTALS | changed)


def test_columns_are_not_overwritten():
    with pytest.raises(us.UnderstudyError, match="already"):
        us.calibrate(records(), TOTALS, into="age")
    with pytest.raises(us.UnderstudyError, match="no column 'v'"):
        us.calibrate(records(), TOTALS, weight="v")
