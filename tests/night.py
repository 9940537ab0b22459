"""Whether it is night: `make test-all` sets `WHOLE_MATRIX`, and has every test meet every case.

What repeats a property for every case of a table, or draws releases by the thousand, is marked
`nightly`. `make test` meets a part of its cases, `make test-all` all of them:

* `nightly` alone: no case;
* `nightly(every=3)`: one of three, and of several methods others in each test;
* `nightly(diagonal=True)`: each value of each argument, and not all their pairs.
"""

import os
import sys
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import settings

NIGHT = "WHOLE_MATRIX" in os.environ
settings.register_profile("day", max_examples=40)  # of tests that do not say how many; else 100


def register(config: pytest.Config) -> None:
    """Have this module's hook called, once, whichever tests are run, and fewer examples drawn."""
    if not NIGHT:
        settings.load_profile("day")
    if not config.pluginmanager.has_plugin(__name__):
        config.pluginmanager.register(sys.modules[__name__], __name__)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the night what is marked so."""
    if not NIGHT:
        left = set(cases_of_the_night(items))
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


def cases_of_the_night(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Those that `make test` does not meet, by the marks of their tests."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("nightly"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in tests.items():
        turn = crc32(test.encode())
        for place, item in enumerate(cases):
            mark = item.get_closest_marker("nightly")
            if mark and not is_met_by_day(cases, place, turn, **mark.kwargs):
                yield item


def is_met_by_day(
    cases: list[pytest.Item], place: int, turn: int, *, every: int = 0, diagonal: bool = False
) -> bool:
    """Whether `make test` meets a case of a nightly test, too."""
    if diagonal:
        return is_on_diagonal(cases[place], cases)
    return every > 0 and (place + turn) % len(cases) % every == 0


def is_on_diagonal(item: pytest.Item, cases: list[pytest.Item]) -> bool:
    """Whether a case is the one for the value of its longest argument: the others turn with it."""
    values = {name: values_of(name, cases) for name in arguments_of(item)}
    longest, *others = sorted(values, key=lambda name: -len(values[name]))
    turn = values[longest].index(id(item.callspec.params[longest]))
    for name in others:
        turn, expected = divmod(turn, len(values[name]))
        if id(item.callspec.params[name]) != values[name][expected]:
            return False
    return True


def arguments_of(item: pytest.Item) -> list[str]:
    """One argument of each `parametrize` of a test: the others of the same one go with it."""
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [name.replace(" ", "").split(",") if isinstance(name, str) else name for name in marks]
    second = {name for group in names for name in group[1:]}
    return [name for name in item.callspec.params if name not in second]


def values_of(name: str, cases: list[pytest.Item]) -> list[int]:
    """Which values an argument has, each once; they need not be hashable."""
    return list(dict.fromkeys(id(case.callspec.params[name]) for case in cases))
