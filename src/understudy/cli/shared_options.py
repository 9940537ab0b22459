"""Options that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from understudy.errors import MethodError

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget ε of the release.")]
Delta = Annotated[str, typer.Option(help="δ of the release; 0 for pure differential privacy.")]
MethodName = Annotated[str, typer.Option("--method", "-m", help="Name of a method, or auto.")]
Sets = Annotated[int, typer.Option("--sets", "-s", help="Number of synthetic tables.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Option of the method, name=value.")
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="Reviewed schema (TOML).")]
RowsShare = Annotated[str, typer.Option(help="Share of the budget that buys the number of rows.")]


def method_options(pairs: list[str] | None) -> dict[str, str]:
    """Options of a method: name → text.

    Raises:
        MethodError: one that does not read name=value.
    """
    options = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise MethodError(f"--option {pair!r} must read name=value, such as form=filtered.")
        options[name.strip()] = value.strip()
    return options


def listed(texts: list[str] | None, columns: Sequence[str]) -> list[str]:
    """Names of columns given as "age,sex", or one by one.

    Args:
        texts: what was given; a text that is the name of a column as a whole is that column.
        columns: names of all columns.

    Example:
        >>> listed(["age, sex", "a,b"], ["age", "sex", "a,b"])
        ['age', 'sex', 'a,b']
    """
    found: list[str] = []
    for text in texts or []:
        found += [text] if text in columns else [part.strip() for part in text.split(",")]
    return [name for name in found if name]
