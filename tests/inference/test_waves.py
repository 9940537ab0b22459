"""Changes between waves, against their textbook variances and by repetition."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from schemas import PEOPLE
from understudy.errors import InferenceError
from understudy.inference.analysis import Analysis
from understudy.inference.combining import Pooled
from understudy.inference.waves import Waves, waves

Z = 1.959963984540054


def wave(estimate, noise, sampling, bias=0.0):
    estimate = np.atleast_1d(np.asarray(estimate, dtype=float))
    variance = noise**2 + sampling**2
    pooled = Pooled(
        names=tuple(f"q{j}" for j in range(len(estimate))),
        estimate=estimate,
        covariance=np.eye(len(estimate)) * variance,
        df=np.full(len(estimate), np.inf),
        synthesis_share=np.full(len(estimate), noise**2 / variance),
        rule="moments",
        sets=1,
        bias=np.array([bias]),
    )
    return Analysis("mean", "q", pooled, True, "", (), (0,))


def of(*parts, dependence="any"):
    return Waves("mean", "q", parts, parts[0].pooled.names, dependence, 0.95)


def test_a_change_has_the_variance_of_both_noises_and_the_bound_of_the_samplings():
    two = wave(10, 3, 4), wave(12, 1, 2, bias=0.5)
    low, high = of(*two).changes.loc[("q0", 1, 2), ["lower", "upper"]]
    half = Z * np.sqrt(9 + 1 + (4 + 2) ** 2) + 0.5
    assert (low, high) == (pytest.approx(2 - half), pytest.approx(2 + half))
    low, _ = of(*two, dependence="not negative").changes.loc[("q0", 1, 2), ["lower", "upper"]]
    assert low == pytest.approx(2 - Z * np.sqrt(9 + 1 + 16 + 4) - 0.5)


def test_a_mean_over_waves_loses_noise_and_no_sampling():
    many = [wave(5, 3, 1) for _ in range(9)]
    low, high = of(*many).pooled.loc["q0", ["lower", "upper"]]
    assert (high - low) / 2 == pytest.approx(Z * np.sqrt(9 / 9 + 1))


def test_a_wave_that_says_nothing_leaves_no_interval():
    found = of(wave(10, 3, 4), wave(12, 1, 2, bias=np.inf))
    assert found.changes.loc[("q0", 1, 2), ["lower", "upper"]].tolist() == [-np.inf, np.inf]
    assert str(found).count("no information") == 2
    assert "inf" not in str(found).replace("information", "")
    assert "nan" not in str(found)


def test_three_waves_have_each_step_and_the_whole():
    steps = of(wave(1, 1, 1), wave(2, 1, 1), wave(4, 1, 1)).changes
    assert list(steps.index.droplevel("term")) == [(1, 2), (2, 3), (1, 3)]
    assert steps["change"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("correlation", [-1.0, 0.0, 0.9])
def test_changes_cover_whatever_the_dependence(correlation):
    rng = np.random.default_rng(3)
    covariance = [[4, correlation * 4], [correlation * 4, 4]]
    errors = rng.multivariate_normal([0, 0], covariance, 1_000) + rng.normal(0, 3, (1_000, 2))
    ends = of(*(wave(q, 3, 2) for q in errors.T)).changes
    hits = (ends["lower"] <= 0) & (ends["upper"] >= 0)
    # 95 % where samplings go against each other, more elsewhere; 5 Monte Carlo errors are 3.4 %.
    assert hits.mean() > 0.916


def test_waves_of_real_releases(tmp_path):
    schema = us.Schema.loads(PEOPLE)
    rng = np.random.default_rng(1)
    released = []
    for k in range(2):
        age = rng.integers(10 * k, 90, 500)
        rows = {"city": rng.choice(["Aa", "Bb", "Cc"], 500), "age": age, "member": age > 40}
        frame = pd.DataFrame(rows)[list(schema.names)]
        released.append(us.synthesize(frame, schema, epsilon=5))
    found = us.waves(released, "mean", "age")
    low, high = found.changes.iloc[0][["lower", "upper"]]
    assert low < 5 < high
    assert "Changes" in str(found)
    assert found.to_json()["pooled"][0]["term"] == "age"
    with pytest.raises(InferenceError, match="two releases"):
        waves(released[:1], "mean", "age")
    with pytest.raises(InferenceError, match="Wave 1"):
        waves(released, "mean", "wage")
    with pytest.raises(InferenceError, match="dependence"):
        waves(released, "mean", "age", dependence="none")
    with pytest.raises(InferenceError, match="one release"):
        waves([released[0], released[0]], "mean", "age")
