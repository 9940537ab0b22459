"""What a guarantee rests on, in files and lines: ``python benchmarks/trusted.py [METHOD …]``.

For each method a release of the demonstration is made, and the mechanisms that it asks are noted,
with the scores and generators that it hands in. To be trusted are then the gate, the engine that
holds the rows, what was noted, and all that these import, at whatever moment. Comments, docstrings
and blank lines are no lines of code. `--list` names the files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from house import PACKAGE, House, closure, read_house
from understudy.dp.gate import WITH_EPSILON, WITHOUT_EPSILON

GATE = f"{PACKAGE}.dp.gate"
ENGINE = f"{PACKAGE}.data.table"
ELSEWHERE = "what these rest on: public facts and arithmetic"


def asked(method: str) -> set[str]:
    """Modules of the mechanisms that a method asks, and of whatever stands in their fields.

    The method makes a release of the demonstration; `laplace` of two of its columns, so that the
    full table is written out.
    """
    import understudy as us
    from understudy.demo import demo_data, demo_schema
    from understudy.dp.gate import Gate

    noisy_marginals, ask = set[str](), Gate.ask

    def noting(gate: Gate, mechanism: Any, *args: Any, **kwargs: Any) -> Any:
        noisy_marginals.update(modules_of(mechanism))
        return ask(gate, mechanism, *args, **kwargs)

    Gate.ask = noting
    schema, rows = demo_schema(), demo_data()
    if method == "laplace":
        few = ("children", "affairs")
        schema = schema.model_copy(update={"columns": {one: schema.columns[one] for one in few}})
        rows = rows[list(few)]
    try:
        us.synthesize(rows, schema, epsilon=1, method=method, sets=1)
    finally:
        Gate.ask = ask
    return noisy_marginals


def modules_of(value: Any) -> Iterator[str]:
    """Modules of this package that a value and what it holds come from."""
    if type(value).__module__.startswith(PACKAGE):
        yield type(value).__module__
    inner: Iterable[Any] = ()
    if is_dataclass(value):
        inner = (getattr(value, one.name) for one in fields(value))
    elif isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, tuple | list):
        inner = value
    for one in inner:
        yield from modules_of(one)


def is_of_the_boundary(module: str) -> bool:
    """Whether a module is of the gate's room, or holds mechanisms."""
    listed = {listed for listed, _ in (*WITH_EPSILON, *WITHOUT_EPSILON)}
    rooms = (f"{PACKAGE}.dp", f"{PACKAGE}.mechanisms", f"{PACKAGE}.checkpoint")
    return module.startswith(rooms) or module in listed


def parts(mechanisms: Iterable[str], house: House) -> dict[str, set[str]]:
    """Part of the trusted code → its modules; each module stands in one part.

    The base is whatever the gate imports of its own room; a mechanism's part is what it adds there.
    """
    mechanisms = set(mechanisms)
    base, named = closure({GATE}, house), closure({GATE, *mechanisms}, house)
    everything = closure({GATE, ENGINE, *mechanisms}, house)
    boundary = {name for name in everything if is_of_the_boundary(name)}
    engine = {name for name in everything if name.startswith(f"{PACKAGE}.data.")}
    own = mechanisms & boundary - base
    names = ", ".join(sorted(name.rpartition(".")[2] for name in own)) or "none"
    return {
        "base: the gate, accounting and noise": boundary & base,
        f"mechanisms: {names}": boundary & named - base,
        "engine": engine,
        ELSEWHERE: everything - boundary - engine,
    }


def show(title: str, found: dict[str, set[str]], house: House, *, files: bool) -> None:
    """Print a table: part, files, lines of code."""
    print(f"\n{title}")
    for part, names in {**found, "together": set().union(*found.values())}.items():
        code = sum(house[name].code for name in names)
        print(f"  {part:60} {len(names):4} files {code:7,} lines of code")
        if files and part in found:
            for name in sorted(names):
                print(f"      {name} {house[name].code}")


def main() -> None:
    """Count for the methods named on the command line."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("methods", nargs="*", default=["laplace", "marginals"])
    reader.add_argument("--list", action="store_true", help="name the files")
    options = reader.parse_args()
    house = read_house()
    for method in options.methods:
        show(method, parts(asked(method), house), house, files=options.list)


if __name__ == "__main__":
    main()
