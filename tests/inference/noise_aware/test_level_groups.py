"""Levels that a question does not tell apart: counted together, and answered like levels."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from schemas import column
from understudy.inference.own_tables import counted_answer, own_records, own_table, tables_that_tell
from understudy.inference.question import parse
from understudy.inference.records import Records
from understudy.inference.refusals import RefusedError
from understudy.inference.term_moments import needed_terms
from understudy.release.measurement import Measurement
from understudy.schema import Schema

JOBS = [f"j{k:03}" for k in range(600)]
SCHEMA = Schema.loads(
    column("job", "categorical", levels=JOBS, missing=["-"])
    + column("region", "categorical", levels=[f"r{k:02}" for k in range(60)])
    + column("grade", "ordinal", levels=[1, 2, 3, 4], missing=[-9])
    + column("works", "boolean")
    + column("age", "integer", lower=16, upper=90)
)
QUESTIONS = {
    "proportion works where job in ['j001', 'j002', 'j003']": {"job": 3},
    "proportion works where (job == 'j001') & (region == 'r01')": {"job": 3, "region": 2},
    "count job in ['j001', 'j002'] or region not in ['r01', 'r02']": {"job": 3, "region": 2},
    "independence works + job where job in ['j001', 'j002', 'j003']": {"job": 5},
    "independence works + {job in ['j001', 'j002']} where grade < 3": {"job": 3, "grade": 3},
    "odds-ratio works + {job == 'j001'} where job in ['j001', 'j002', 'j003']": {"job": 4},
    "quantile age ~ grade where region in ['r01', 'r02'] and grade in [1, 2]": {
        "region": 2,
        "grade": 4,
    },
    "proportion (job == 'j001') & (age >= 63)": {"job": 3},
}


def asked(text):
    kind, _, formula = text.partition(" ")
    return parse(kind, formula, SCHEMA)


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "job": rng.choice([*JOBS[:5], "-"], n),
            "region": [f"r{k:02}" for k in rng.integers(0, 4, n)],
            "grade": rng.choice([1, 2, 3, 4, -9], n),
            "works": rng.random(n) < 0.6,
            "age": rng.integers(16, 91, n),
        }
    )


def measured(question, own, rows, told):
    """The table of a question, as if it had been released with next to no noise."""
    records = own_records(question, rows, SCHEMA, own.bins)
    sizes = [told.columns[name].size for name in own.columns]
    cells = np.ravel_multi_index([records.states[name] for name in own.columns], sizes)
    counts = np.bincount(cells, minlength=int(np.prod(sizes))).astype(float)
    about = {"distribution": "discrete_gaussian", "scale": "1e-12", "stddev": 1e-6, "entry": 1}
    return Measurement(
        "table",
        own.columns,
        np.arange(len(counts)),
        counts,
        bins=own.bins,
        groups=own.groups,
        name="own",
        beside=True,
        **about,
    )


@pytest.mark.parametrize("text", QUESTIONS)
def test_levels_are_counted_together_that_a_question_does_not_tell_apart(text):
    """Those of a condition and the others, and of kept columns all that its records can have."""
    own = own_table(asked(text), SCHEMA)
    assert {name: len({*groups}) for name, groups in own.groups.items()} == QUESTIONS[text]


@pytest.mark.parametrize("text", QUESTIONS)
def test_grouped_tables_answer_as_records_do(text):
    question, rows = asked(text), people(3_000)
    own = own_table(question, SCHEMA)
    told = own_records(question, rows, SCHEMA, own.bins).schema
    given = [measured(question, own, rows, told)]
    ((table, schema, lacking),) = tables_that_tell(question, given, SCHEMA)
    assert lacking == ("+ job" not in text and "~ grade" not in text)
    found = counted_answer(question, table, schema).pooled
    records = Records.complete_of(rows, SCHEMA, question.columns)
    if question.kind in ("proportion", "total"):
        scores = question.scores(records)
        sums = np.bincount(scores.quantity, scores.value) if question.expression else None
        size = len(scores.value) if question.expression else (scores.quantity >= 0).sum()
        sums = np.bincount(scores.quantity[scores.quantity >= 0]) if sums is None else sums
        truth = sums / size if question.kind == "proportion" else sums
        np.testing.assert_allclose(found.estimate, truth, atol=1e-6)
    elif question.kind == "quantile":
        scores = question.scores(records)
        for name, low, high in zip(found.names, *found.interval(), strict=True):
            middle = np.median(scores.value[scores.quantity == scores.names.index(name)])
            assert low <= middle <= high
    elif question.kind == "odds-ratio":
        kept = rows.filter(pl.col("job").is_in(JOBS[1:4]))
        counts = [
            kept.filter((pl.col("works") == a) & ((pl.col("job") == "j001") == b)).height
            for a in (True, False)
            for b in (True, False)
        ]
        truth = counts[0] * counts[3] / (counts[1] * counts[2])
        np.testing.assert_allclose(found.estimate[0], truth, rtol=0.02)
    else:
        assert np.isfinite(found.pvalue[0])


def test_a_table_of_groups_answers_what_its_groups_tell_and_nothing_else():
    question, rows = asked("independence works + job where job in ['j001', 'j002', 'j003']"), 900
    own = own_table(question, SCHEMA)
    told = own_records(question, people(rows), SCHEMA, own.bins).schema
    table = measured(question, own, people(rows), told)

    def tells(text):
        return [*tables_that_tell(asked(text), [table], SCHEMA)]

    assert tells("independence works + job where job in ['j001', 'j002']")
    assert tells("independence works + {job == 'j002'} where job in ['j001', 'j002', 'j003']")
    assert tells("proportion works where job == 'j003'")
    assert not tells("proportion works where job == 'j004'")
    assert not tells("independence works + job where job in ['j001', 'j004']")


def test_a_plan_of_600_codes_has_a_width_near_that_of_the_records():
    """Many of the codes are a condition of two groups: little noise beside sampling."""
    text = f"proportion works where job in {JOBS[:100]}"
    plan = us.plan(SCHEMA, epsilon=1, delta=1e-6, analyses=[text], assume_rows=5_000)
    assert max(one.times for one in plan.expected) < 1.5
    assert not any(one.refused for one in plan.expected)


def test_means_of_a_condition_on_codes_are_of_the_records_that_count():
    """Of few levels second moments of the column tell them, which serve other questions too."""
    needed = needed_terms(asked("mean age where job in ['j001', 'j002']"), SCHEMA)
    assert needed.among == ({"job": (1, 2)},)
    assert needed_terms(asked("mean age where grade in [1, 2]"), SCHEMA) is None


def test_a_plan_says_why_it_expects_nothing():
    text = "proportion works where (job == 'j001') & (region == 'r01')"
    plan = us.plan(SCHEMA, epsilon=1, delta=1e-6, analyses=[text], assume_rows=1_000)
    (one,) = plan.expected
    assert one.refused.startswith("Fewer than 2 of the 1,000 records")


def test_of_2000_codes_those_that_a_condition_names_are_asked_and_a_declaration_answers_them():
    """Nothing but the table of its own is tried, and it has no more numbers than are asked."""
    jobs = [f"j{k}" for k in range(2_000)]
    works = column("works", "categorical", levels=["yes", "no"])
    schema = Schema.loads(f"{works}\n{column('job', 'categorical', levels=jobs)}")
    rng = np.random.default_rng(1)
    job = np.where(
        rng.random(3_000) < 0.8, rng.integers(0, 3, 3_000), rng.integers(0, 2_000, 3_000)
    )
    yes = rng.random(3_000) < 0.2 + 0.2 * (job % 3)
    frame = pl.DataFrame(
        {"works": np.where(yes, "yes", "no"), "job": [jobs[k] for k in job.tolist()]}
    )
    how = {"epsilon": 2, "delta": "1e-6", "method": "independent", "insecure_noise_seed": 1}
    asked = ("proportion", "works ~ job where job in ['j0', 'j2']")
    release = us.synthesize(frame, schema, **how)
    with pytest.raises(RefusedError, match="only a table of its own has the answer") as error:
        us.analyze(release, *asked)
    with pytest.raises(RefusedError, match="only a table of its own"):
        us.analyze(release, *asked, uncertainty="bootstrap")
    declared = us.synthesize(frame, schema, analyses=[error.value.advice.analysis], **how)
    pooled = us.analyze(declared, *asked).pooled
    assert pooled.names == tuple(f"works[{w}] | job[j{k}]" for k in (0, 2) for w in ("yes", "no"))
    low, high = pooled.interval()
    shares = [yes[job == k].mean() for k in (0, 2)]
    assert (low[::2] < shares).all()
    assert (shares < high[::2]).all()
    assert (high - low).max() < 0.12
    for many in ("where job != 'j0'", "where works == 'no' or job == 'j0'", ""):
        with pytest.raises(us.UnderstudyError, match=r"asks for more than 1,000 numbers"):
            parse("proportion", f"works ~ job {many}", schema)
    with pytest.raises(us.UnderstudyError, match=r"asks for more than 1,000 numbers"):
        parse("mean", "(works == 'yes') ~ job where job in ['j0', 'j2']", schema)  # of moments
