"""The house rules that need the source itself: who may touch exact values, and how.

Every rule is also shown to catch a violation. Who may know of whom is in `pyproject.toml`, and
`test_imports.py` holds the house to it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import understudy
from source_trees import calls_in as calls
from source_trees import nodes_of as nodes
from source_trees import tree_of
from understudy.dp.gate import WITH_EPSILON, WITHOUT_EPSILON

SOURCE = Path(understudy.__file__).parent
STUDIES = Path(__file__).parents[2] / "studies" / "src" / "understudy_studies"
"""The other distribution of this repository: one more room, which no other knows of."""
TRUSTED = {module for module, _ in (*WITH_EPSILON, *WITHOUT_EPSILON)} | {
    f"understudy.papers.{shared}" for shared in ("gibbs_mechanisms", "record_weights")
}
"""Files with mechanisms, wherever they stand, and what several of them share."""

Sources = dict[str, ast.Module]
"""Module name → its syntax tree."""


@cache
def house() -> Sources:
    """Every module of the package and of its studies; read once, where one of its tests runs."""
    found = {}
    for source in (SOURCE, STUDIES):
        for path in source.rglob("*.py"):
            parts = [source.name, *path.relative_to(source).with_suffix("").parts]
            if parts[-1] == "__init__" and len(parts) > 2:
                parts.pop()
            found[".".join(parts)] = tree_of(path)
    return found


def with_module(name: str, text: str) -> Sources:
    """The trusted room, which rules look names up in, with one more module."""
    trusted = {module: tree for module, tree in house().items() if room(module) == "dp"}
    return trusted | {name: ast.parse(text)}


def room(module: str) -> str:
    """The second part of a dotted name; the package itself is `__init__`, its studies one room."""
    if module.split(".")[0] == STUDIES.name:
        return "studies"
    return module.split(".")[1] if "." in module else "__init__"


def is_call_of(node: ast.AST, name: str) -> bool:
    """Whether a node calls `name`, `x.name` or `name[…]`."""
    function = node.func if isinstance(node, ast.Call) else None
    function = function.value if isinstance(function, ast.Subscript) else function
    return (isinstance(function, ast.Name) and function.id == name) or (
        isinstance(function, ast.Attribute) and function.attr == name
    )


def makers_of_released(modules: Sources) -> list[str]:
    """Where `Released(` is written, or taken in under another name, but for the gate."""
    return _made_beside(modules, "Released", {"understudy.dp.gate"})


def makers_of_gates(modules: Sources) -> list[str]:
    """Where a gate is made, and so with a list of mechanisms, but for the one place."""
    return _made_beside(modules, "Gate", {"understudy.workflow.gates"})


def openers_of_rows(modules: Sources) -> list[str]:
    """Where rows are handed out, but for the gate, which pays first."""
    allowed = {"understudy.dp.gate", "understudy.dp.confidential"}
    return _made_beside(modules, "SecretRows", allowed)


def _made_beside(modules: Sources, name: str, allowed: set[str]) -> list[str]:
    return [
        module
        for module, tree in modules.items()
        if module not in allowed
        for node in nodes(tree)
        if is_call_of(node, name)
        or (isinstance(node, ast.alias) and node.name == name and node.asname)
    ]


def may_expose(module: str) -> bool:
    """Whether a module is of the boundary, or compares with the rows."""
    return room(module) in {"dp", "mechanisms", "evaluate"} or module in TRUSTED


def exposers(modules: Sources) -> list[str]:
    """Where a room that may not takes exact values out: by `.expose`, or by the back door."""
    return [
        module
        for module, tree in modules.items()
        if not may_expose(module)
        for node in nodes(tree)
        if isinstance(node, ast.Attribute)
        and (node.attr == "expose" or node.attr.startswith(("_secret_", "_Confidential__")))
    ]


def exposers_by_name(modules: Sources) -> list[str]:
    """The same by text, as `getattr` takes it; and the door of a verb behind its check of types."""
    return [
        f"{module} names {named}"
        for module, tree in modules.items()
        if not may_expose(module)
        for node in nodes(tree)
        for named in [
            node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
        ]
        if isinstance(named, str)
        and isinstance(node, ast.Attribute | ast.Constant)
        and (
            named.startswith(("_secret_", "_Confidential__"))
            or named == "__wrapped__"
            or (named == "expose" and isinstance(node, ast.Constant))
        )
    ]


def private_access(modules: Sources) -> list[str]:
    """Private names of others, outside of the rooms whose parts know each other."""
    return [
        f"{module} uses .{node.attr}"
        for module, tree in modules.items()
        if room(module) not in {"dp", "data", "mechanisms", "spark"} and module not in TRUSTED
        for node in nodes(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in NAMED_TUPLES
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
        and not is_call_of(node.value, "super")
    ]


NAMED_TUPLES = {"_replace", "_asdict", "_make", "_fields"}
"""Public in spite of their names."""


SEEN = {"understudy.papers.generators", "understudy.papers.trees_exact"}
SEEN |= {"understudy.papers.trees_greedy", "understudy.papers.column_models"}
"""What mechanisms hand rows to."""


def is_closed(module: str) -> bool:
    """Whether nobody outside may inherit from the classes of a module."""
    rooms = {"dp", "mechanisms", "checkpoint", "data", "spark"}
    return room(module) in rooms or module in TRUSTED | SEEN


def heirs(modules: Sources) -> list[str]:
    """Classes that inherit from what sees rows, or stands in its place, in other rooms."""
    found = []
    for module, tree in modules.items():
        if is_closed(module):
            continue
        taken = {
            name
            for node in nodes(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for one in node.names
            for full in [one.name if isinstance(node, ast.Import) else f"{node.module}.{one.name}"]
            if is_closed(full) or is_closed(full.rpartition(".")[0])
            for name in [one.asname or one.name.split(".")[0]]
        }
        found += [
            f"{module} inherits from {ast.unparse(base)}"
            for node in nodes(tree)
            if isinstance(node, ast.ClassDef)
            for base in node.bases
            for part in nodes(base)
            if isinstance(part, ast.Name) and part.id in taken
        ]
    return found


def unguarded_verbs(modules: Sources) -> list[str]:
    """Public functions of the gate that take arguments without a check of their types.

    `ask` checks what it gets itself; `tests/attacks/test_gate.py` attacks that.
    """
    return [
        f"{module}: {function.name}"
        for module, tree in modules.items()
        if room(module) in {"dp", "mechanisms"} or module in TRUSTED
        for node in nodes(tree)
        if isinstance(node, ast.ClassDef) and "Gate" in {node.name, *map(ast.unparse, node.bases)}
        for function in node.body
        if isinstance(function, ast.FunctionDef)
        and not function.name.startswith("_")
        and function.name not in {"ask", "listen", "guarantee"}
        and not {one.id for one in function.decorator_list if isinstance(one, ast.Name)}
        & {"verb", "property"}
    ]


def all_imported(tree: ast.Module) -> Iterator[str]:
    """Dotted names of all imports, also of what is taken from a module."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


PICKLERS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def picklers(modules: Sources) -> list[str]:
    """Where objects could be written whole."""
    return [
        f"{module} imports {name}"
        for module, tree in modules.items()
        for name in all_imported(tree)
        if name.split(".")[0] in PICKLERS
    ]


def plotters(modules: Sources) -> list[str]:
    """Where a library for figures is loaded: the pages write their charts themselves."""
    return [
        f"{module} imports {name}"
        for module, tree in modules.items()
        if room(module) != "studies"
        for name in all_imported(tree)
        if name.split(".")[0] == "matplotlib"
    ]


def other_randomness(modules: Sources) -> list[str]:
    """Random numbers in the boundary that are not made of words, but for the seeded source."""
    found = []
    for module, tree in modules.items():
        if room(module) not in {"dp", "mechanisms"} and module not in TRUSTED:
            continue
        named = {"random", "numpy.random"}
        found += [f"{module} imports {n}" for n in all_imported(tree) if named & {n, n[:12]}]
        seeded = module == "understudy.dp.randomness"
        spared = {
            id(inner)
            for node in nodes(tree)
            if seeded and isinstance(node, ast.ClassDef) and node.name == "SeededRandomness"
            for inner in nodes(node)
        }
        found += [
            f"{module} uses .{node.attr}"
            for node in nodes(tree)
            if isinstance(node, ast.Attribute) and node.attr in {"random", "rvs"}
            if id(node) not in spared
        ]
    return found


TABLES = {"understudy.__init__", "understudy.dp.gate", "understudy.methods.registry"}
"""Whose imports are a table of names, written out."""


def imports_in_disguise(modules: Sources) -> list[str]:
    """Imports by a name that is made up at run time, which the rules above could not see."""
    named = {"import_module", "__import__", "exec", "eval"}
    return [
        module
        for module, tree in modules.items()
        if module not in TABLES
        for node in calls(tree)
        if any(is_call_of(node, name) for name in named)
    ]


def prints(modules: Sources) -> list[str]:
    """Where something is printed past the terminal's own console."""
    return [
        module
        for module, tree in modules.items()
        for node in nodes(tree)
        if isinstance(node, ast.Name) and node.id in {"print", "pprint", "breakpoint"}
    ]


HEIR = "from understudy.{0} import {1}\nclass Mine({1}):\n    pass"

PLANTED = {
    makers_of_released: [
        ("understudy.methods.x", "Released(1, None, '', 0)"),
        ("understudy.release.x", "values.Released(1, None, '', 0)"),
        ("understudy.models.x", "Released[int](1, None, '', 0)"),
        ("understudy.workflow", "from understudy.dp.released import Released as R"),
        ("understudy.mechanisms.x", "Released(1, None, '', 0)"),
    ],
    exposers: [
        ("understudy.workflow", "rows.total().expose()"),
        ("understudy.data.x", "f = value.expose"),
        ("understudy.methods.x", "gate._secret_rows.total()"),
    ],
    exposers_by_name: [
        ("understudy.methods.x", "getattr(gate, '_secret_engine')"),
        ("understudy.methods.x", "getattr(value, 'expose')()"),
        ("understudy.methods.x", "vars(gate)['_secret_rows']"),
        ("understudy_studies.x", "Gate.require.__wrapped__(gate, spend=1)"),
    ],
    private_access: [
        ("understudy.methods.x", "gate._coded()"),
        ("understudy.methods.x", "gate._ledger.charge(1)"),
        ("understudy_studies.x", "Gate._pay(gate, ())"),
        ("understudy.models.x", "class A:\n    def f(self):\n        self.gate._places(())"),
    ],
    heirs: [
        (
            "understudy.methods.x",
            HEIR.format("papers.perturbed_gibbs", "PerturbedGibbs"),
        ),
        (
            "understudy.methods.x",
            HEIR.format("papers.generator_scores", "PropensityTrees"),
        ),
        ("understudy.methods.x", HEIR.format("mechanisms.selection_scores", "DistanceFromModel")),
        ("understudy.methods.x", HEIR.format("papers.column_models", "SequentialModel")),
        ("understudy.methods.x", HEIR.format("dp.gate", "Gate")),
        (
            "understudy_studies.x",
            "from understudy.papers.trees_exact import Stumps as S\nclass A(S): ...",
        ),
        (
            "understudy_studies.x",
            "from understudy.papers import trees_exact\nclass A(trees_exact.Stumps): ...",
        ),
        ("understudy.cli.x", "import understudy.papers.trees_exact as t\nclass A(t.Stumps): ..."),
    ],
    unguarded_verbs: [
        (
            "understudy.dp.x",
            "class Leaking(Gate):\n    def hand_over(self, rows): ...",
        ),
        ("understudy.dp.x", "class Gate:\n    def reveal(self, x): ..."),
    ],
    makers_of_gates: [
        ("understudy.methods.x", "Gate(rows, budget, source, mechanisms=(Mine,))"),
        ("understudy.workflow.x", "gate.Gate(rows, budget, source, mechanisms=MECHANISMS)"),
        ("understudy.cli.x", "from understudy.dp.gate import Gate as G"),
    ],
    openers_of_rows: [
        ("understudy.mechanisms.x", "SecretRows(engine, view, tell)"),
        ("understudy.workflow.x", "SecretRows(Table(data, schema), view, print)"),
    ],
    picklers: [
        ("understudy.release.x", "import pickle"),
        ("understudy.data.x", "def f():\n    from cloudpickle import dumps"),
    ],
    plotters: [
        ("understudy.report.x", "from matplotlib.figure import Figure"),
        ("understudy.evaluate.x", "def f():\n    import matplotlib"),
    ],
    other_randomness: [
        ("understudy.dp.x", "import random"),
        ("understudy.dp.x", "import numpy as np\nnp.random.default_rng()"),
        ("understudy.dp.x", "from numpy.random import default_rng"),
        ("understudy.dp.x", "from numpy import random as r"),
        ("understudy.dp.x", "stats.norm.rvs(3)"),
        ("understudy.dp.randomness", "import numpy as np\nnp.random.Philox(1)"),
    ],
    imports_in_disguise: [
        ("understudy.methods.x", "import importlib\nimportlib.import_module('understudy.data')"),
        ("understudy.models.x", "__import__('understudy.data')"),
    ],
    prints: [("understudy.methods.x", "def f():\n    print(1)")],
}
RULES = list(PLANTED)
VIOLATIONS = [(rule, *planted) for rule, all_of in PLANTED.items() for planted in all_of]


def name_of(value: object) -> str:
    return value.__name__ if callable(value) else str(value)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_the_house_keeps_the_rule(rule):
    assert rule(house()) == []


@pytest.mark.parametrize(("rule", "module", "text"), VIOLATIONS, ids=name_of)
def test_the_rule_catches_a_violation(rule, module, text):
    assert rule(with_module(module, text))
