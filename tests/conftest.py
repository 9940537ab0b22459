"""Which tests are long: whole rooms of them by their folder, single files and tests by a mark.

`make check` leaves them out and `make test` runs them; `pyproject.toml` says what each mark is, and
`night.py` which cases wait for `make test-all`.
"""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import night
from understudy.inference import refusals

HERE = Path(__file__).parent
# Two workers with as many threads each as there are processors wait for each other, busily, over
# small matrices. Workers and commands inherit it; it has no effect once the library is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Releases and checkpoints are synced file by file, for which a disk takes longer than a processor
# for all the rest. Folders of tests lie in memory, where there is enough; they need far less.
MEMORY, ENOUGH = Path("/dev/shm"), 4 * 2**30
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# Byte code is kept, as compiled loops are, even where the machine's setting is not to: workers, and
# commands in processes of their own, would else compile a thousand modules each.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
LONG_ROOMS = {
    "contract": pytest.mark.contract,
    "methods": pytest.mark.contract,
    "papers": pytest.mark.contract,
    "benchmarks": pytest.mark.whole,
    "desk": pytest.mark.whole,
    "end_to_end": pytest.mark.whole,
    "evaluate": pytest.mark.whole,
    "ledger": pytest.mark.whole,
    "report": pytest.mark.whole,
    "spark": pytest.mark.whole,
    "workflow": pytest.mark.whole,
    "graphical": pytest.mark.statistical,
    "oracles": pytest.mark.statistical,
    "lemmas": pytest.mark.statistical,
    "inference/choice": pytest.mark.statistical,
    "inference/moments": pytest.mark.statistical,
    "inference/noise_aware": pytest.mark.statistical,
    "inference/two_way": pytest.mark.statistical,
    "inference/weighted": pytest.mark.statistical,
    "dp/noise": pytest.mark.statistical,
    "mechanisms": pytest.mark.statistical,
    "papers/samplers": pytest.mark.statistical,
}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Without the search for cycles, a quarter of the time that collecting takes: what is made then
    is kept until the end, and no later search looks through it either."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)  # syntax trees and releases are large, and no cycles
        gc.enable()


@cache
def marks_of(file: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Of a file's tests, of which there may be a thousand."""
    return tuple(mark for room, mark in LONG_ROOMS.items() if file.is_relative_to(HERE / room))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread, of `-m "not (a or b)"`, rooms that are marked `a`: two thirds of the tests."""
    marks = str(config.option.markexpr).removeprefix("not (").removesuffix(")").split(" or ")
    if f"not ({' or '.join(marks)})" != config.option.markexpr:
        return None
    return any(mark.name in marks for mark in marks_of(collection_path)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of rooms that take long."""
    for item in items:
        for mark in marks_of(item.path):
            item.add_marker(mark)


def pytest_configure(config: pytest.Config) -> None:
    """Leave to the night what is marked so, as the conftest of the studies does."""
    night.register(config)


UNREHEARSED = (
    *("attacks", "benchmarks", "checkpoint", "desk", "end_to_end", "evaluate", "features"),
    *("graphical", "inference", "ledger", "mechanisms", "methods", "models", "papers", "release"),
    *("report", "spark", "steward", "workflow"),
)
"""Rooms, beside the studies, whose releases go without a rehearsal by day: a third of their time.
It is made by one and the same method whatever is asked for, and other rooms test what it says."""
REHEARSED = ("test_ends.py", "test_extras.py", "test_odd_tables.py")
"""Files of these rooms whose subject it is."""
PAGED = ("desk", "faults", "report")
"""Rooms whose releases have their pages by day, as they have in each file that names one: they take
four times as long as the rest of a folder, and as long again where they are checked."""
at_length = {"rehearsal": True, "pages": True}
"""What is done in full for the releases of a test."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Note whether the releases of a test, and of its fixtures, are rehearsed and have pages."""
    top, room, *_ = item.path.relative_to(HERE.parent).parts
    unrehearsed = top == "studies" or room in UNREHEARSED
    whole = night.NIGHT or item.path.name in REHEARSED
    at_length["rehearsal"] = whole or not unrehearsed
    at_length["pages"] = whole or room in PAGED or names_pages(item.path)


@cache
def names_pages(file: Path) -> bool:
    """Of a file of tests, whether it looks at pages of releases."""
    return ".html" in file.read_text(encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def _rehearsals() -> Iterator[None]:
    from understudy.workflow import choose, synthesize

    rehearse = synthesize.rehearse

    def rehearse_by_room(*given: Any, **more: Any) -> None:
        if at_length["rehearsal"]:
            rehearse(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        for module in (synthesize, choose):
            patch.setattr(module, "rehearse", rehearse_by_room)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[object]:
    """Leave no page out of what tests of several files share, whichever of them comes first."""
    asked = at_length["pages"]
    at_length["pages"] = asked or fixturedef.scope == "session"
    try:
        return (yield)
    finally:
        at_length["pages"] = asked


@pytest.fixture(scope="session", autouse=True)
def _pages() -> Iterator[None]:
    from understudy.release.release import Release

    fill = Release._fill

    def fill_by_file(release: Release, *given: Any) -> dict[str, str]:
        return fill(release if at_length["pages"] else replace(release, pages=None), *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "_fill", fill_by_file)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands() -> Iterator[None]:
    """All of ours are put together once in a process, and not anew for each that is run: a third
    of the time of a short one."""
    import typer.main
    import typer.testing

    with pytest.MonkeyPatch.context() as patch:
        put_together = cache(typer.main.get_command)
        patch.setattr(typer.main, "get_command", put_together)
        patch.setattr(typer.testing, "_get_command", put_together)
        yield


@pytest.fixture(scope="session")
def long_rooms() -> set[str]:
    """Rooms of tests that `make check` leaves out."""
    return set(LONG_ROOMS)


@pytest.fixture(scope="session", autouse=True)
def _hardly_any_false_alarm() -> Iterator[None]:
    """Of releases with fresh noise one in two hundred is said to have records that fit no state,
    and one to have numbers beyond their bounds, by chance, and is not answered from. The suite
    makes hundreds of them; here that happens to one in a hundred million each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals, "FALSE_ALARM", 1e-8)
        yield
