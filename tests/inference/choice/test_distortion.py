"""Which analyses of sets from a Bayesian network, or from a tree, have valid error bars."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import InferenceError
from understudy.inference.rules import ancestors, distortion, facts_of

NETWORK = "a, b<-a, c<-a, d<-b&c, e<-a&c"
EDGES = (("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c")), ("e", ("a", "c")))
ENTRY = '[columns.{}]\nkind = "integer"\nlower = 0\nupper = 2\nbins = 3\nreviewed = true\n'
TABLE = 'rows = "public"\nn_rows = 2000\n' + "".join(map(ENTRY.format, "abcde"))


def rows():
    rng = np.random.default_rng(3)
    columns = {"a": rng.integers(3, size=2000)}
    for name, parent in (("b", "a"), ("c", "a"), ("d", "c"), ("e", "b")):
        fresh = rng.integers(3, size=2000)
        columns[name] = np.where(rng.random(2000) < 0.4, columns[parent], fresh)
    return pl.DataFrame(columns)


def release(method, rules="", epsilon=5000, **options):
    schema = us.Schema.loads(TABLE + rules)
    options = {"sets": "split", **options}
    return us.synthesize(
        rows(), schema, epsilon=epsilon, method=method, sets=5, options=options, seed=1
    )


@pytest.fixture(scope="module")
def declared():
    return release("privbayes", network=NETWORK)


def test_a_release_knows_its_network(declared):
    assert declared.manifest.inference.network == EDGES
    assert release("independent").manifest.inference.network is None
    chosen = release("privbayes", degree=1)
    edges = chosen.manifest.inference.network
    choices = [one.columns for one in chosen.measurements if one.kind == "choice"]
    assert [(edges[0][0], ()), *((c[0], c[1:]) for c in choices)] == list(edges)


@pytest.mark.parametrize(
    ("columns", "together"),
    [
        ("ab", True),
        ("ac", True),
        ("ace", True),
        ("a", True),
        ("bc", False),
        ("bcd", False),
        ("d", False),
        ("be", False),
    ],
)
def test_columns_are_together_where_the_network_keeps_them(declared, columns, together):
    """(b, c, d) was measured in one table, but b and c go together as the network says."""
    assert facts_of(declared, "ols", list(columns)).together is together


def test_regressions_are_valid_or_refused_accordingly(declared):
    analysis = us.analyze(declared, "ols", "b ~ a")
    assert analysis.valid
    truth = np.polyfit(rows()["a"], rows()["b"], 1)[0]
    assert analysis.pooled.estimate[1] == pytest.approx(truth, abs=0.05)
    with pytest.raises(InferenceError, match="by way of others"):
        us.analyze(declared, "ols", "d ~ b")
    with pytest.raises(InferenceError, match="of d alone: understudy"):
        us.analyze(declared, lambda frame: ([frame["d"].median()], [0.01]), "d")


def test_counts_of_a_measured_table_stay_valid(declared):
    assert us.analyze(declared, "table", "b + d").valid


def test_misplaced_records_add_up_over_ancestors():
    """Of tables with little in some cells; a table within another counts as well as that one."""
    noisy = release("privbayes", epsilon=1, network=NETWORK)
    measured, schema = noisy.measurements, noisy.schema

    def own(*columns):
        tables = [one for one in measured if set(one.columns) == set(columns)]
        return distortion(tables, columns, 2000, schema)

    def drawn(*columns):
        return distortion(measured, columns, 2000, schema, network=EDGES)

    # The tables are (a, b), (b, c, d) and (a, c, e).
    of_a, of_b = min(own("a", "b"), own("a", "c", "e")), own("a", "b")
    of_c = own("a", "c", "e")
    assert own("b", "c", "d") > 0
    assert drawn("d") == pytest.approx(of_a + of_b + of_c + own("b", "c", "d"))
    assert drawn("e") == pytest.approx(of_a + of_c + own("a", "c", "e"))


def test_ancestors_are_found_over_all_generations():
    assert ancestors(EDGES, ["d"]) == {"a", "b", "c", "d"}
    assert ancestors(EDGES, ["e"]) == {"a", "c", "e"}


@pytest.mark.parametrize(
    ("method", "columns", "conditioned"),
    [
        # In no table; the redrawn columns are connected with all others.
        ("privbayes", "be", True),
        # In the table of (b, c, d), but drawn one by one.
        ("privbayes", "bc", True),
        ("privbayes", "ae", False),
        ("laplace", "be", False),
    ],
)
def test_what_a_rule_redraws_reaches_all_that_the_network_connects(method, columns, conditioned):
    one, other = columns
    rule = (
        f"[[forbidden]]\nwhere = {{ {one} = {{ lower = 2, upper = 2 }}, "
        f"{other} = {{ lower = 0, upper = 0 }} }}\nreviewed = true\n"
    )
    options = {"network": NETWORK} if method == "privbayes" else {}
    ruled = release(method, rules=rule, **options)
    assert facts_of(ruled, "ols", ["a", "e"]).conditioned is conditioned


def test_sets_drawn_from_leaves_alone_have_what_is_wrong_with_the_leaves():
    """Clipping misplaces records among the leaves; the first layer keeps its shares only where
    shares are handed down."""
    kept = facts_of(release("steps", epsilon=20, order="a", sets="split"), "ols", ["a"])
    lost = facts_of(
        release("steps", epsilon=20, order="a", sets="split", allocation="leaves"), "ols", ["a"]
    )
    assert kept.distortion == pytest.approx(0, abs=1e-12)
    assert lost.distortion > 0.001
