"""Entries of a manifest and kinds of measurements, as a page: ``python benchmarks/manifest.py``.

Writes `docs/reference/manifest.md` from the shape by which manifests are read. A test compares the
two (`tests/release/test_manifest_page.py`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from understudy.release import shape

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "manifest.md"
HEAD = """<!-- Written by benchmarks/manifest.py; do not edit. -->

# The entries of a manifest

A part of [the format of a release folder](release-format.md#manifest-rule-manifest), which says
what the words mean and what must hold. Entries in brackets may lack. Counts are whole and at least
0; other numbers are at most 2¹²⁷.
"""
KINDS = """
## Kinds of measurements

A word of `kind`, and what `query` and `cells` of its *paid* step say, with A × B for its columns.
The last column has the rows of its file, where it has one.

| Kind | Query | Cells | Rows of its file |
|---|---|---|---|
"""
TITLES = {
    "_Manifest": "Manifest",
    "_Guarantee": "Guarantee",
    "_PublicInput": "Public input",
    "_Budget": "Budget",
    "_Entry": "Step",
    "_Measurement": "Measurement",
    "_Inference": "Inference",
    "_Edge": "Edge",
    "_Analysis": "Analysis",
    "_ExpectedAnswers": "Expected",
    "_Expected": "Expected answer",
    "_Amendment": "Amendment",
    "_Contradiction": "Contradiction",
    "_Choice": "Choice",
    "_Candidate": "Candidate",
    "_Criterion": "Criterion",
    "_KeptCount": "Minimum count",
}
WORDS = {
    **{"str": "text", "bool": "true or false", "int": "whole number", "None": "null"},
    **{"_Decimal": "decimal", "_Fraction": "exact", "_Scale": "exact", "_Count": "count"},
    **{"_Number": "number", "_Spread": "number", "_Unit": "`epsilon`, `rho`, `half_mu_squared`"},
    **{"_Neighbours": "`add_remove`, `replace`", "SetsKind": "`free`, `split`, `posterior`"},
    **{"FiniteFloat": "number", "Kind": "[kind](#kinds-of-measurements)"},
    "Promise": "`pure`, `approximate`, `zcdp`, `conditional`, `asymptotic`, `none`",
    "_Option": "plain value",
}


def typed(node: ast.expr) -> str:  # noqa: PLR0911 - a line for each form
    """What an annotation says, in words."""
    match node:
        case ast.Name(id=name) if name in TITLES:
            title = TITLES[name]
            return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
        case ast.Name(id=name):
            return WORDS[name]
        case ast.Constant(value=None):
            return "null"
        case ast.BinOp(left=left, right=right):
            return f"{typed(left)} or {typed(right)}"
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return f"list of {typed(inner)}"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return f"name → {typed(inner)}"
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *_])):
            return typed(inner)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=words)):
            return ", ".join(f"`{word}`" if word else '""' for word in map(ast.literal_eval, words))
    raise TypeError(ast.unparse(node))


def described(node: ast.ClassDef) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement of a class that has a text behind it, and that text."""
    for one, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(text, ast.Expr) and not isinstance(one, ast.Expr):
            yield one, inspect.cleandoc(ast.literal_eval(text.value))


def rows_of(node: ast.ClassDef) -> Iterator[str]:
    """Rows of the entries of one class, in Markdown."""
    for one, text in described(node):
        if isinstance(one, ast.AnnAssign):
            name = ast.unparse(one.target)
            entry = f"(`{name}`)" if one.value else f"`{name}`"
            yield f"| {entry} | {typed(one.annotation)} | {' '.join(text.split())} |\n"


def row_of_kind(word: str, text: str) -> str:
    """A row of the table of kinds, in Markdown."""
    said, name = dict[str, str](), ""
    for line in text.splitlines()[2:]:
        if line.startswith(" "):
            said[name] += f" {line.strip()}"
        else:
            name, _, said[name] = line.partition(": ")
    each = " | ".join(said.get(name, "–") for name in ("Query", "Cells", "File"))
    return f"| `{word}` | {each} |\n"


def page() -> str:
    """The whole page, in Markdown."""
    tree = ast.parse(inspect.getsource(shape))
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    parts = [HEAD]
    for name, title in TITLES.items():
        heading = f"\n## {title}\n\n{ast.get_docstring(classes[name])}\n"
        parts += [heading, "\n| Entry | Type | Meaning |\n|---|---|---|\n", *rows_of(classes[name])]
    kinds = [
        row_of_kind(ast.literal_eval(one.value), text)
        for one, text in described(classes["Kind"])
        if isinstance(one, ast.Assign)
    ]
    return "".join([*parts, KINDS, *kinds])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name} is written.")
