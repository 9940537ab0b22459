"""Genuine releases that attacks alter copies of."""

from collections.abc import Callable
from functools import cache

import pytest

from altered_releases import Folder, base
from night import NIGHT

PAGED = ("dense", "regression", "amended")
"""Those that have `report.html` and the other pages by day, too."""


@pytest.fixture(scope="session")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Folder]:
    """Those of `BASES` by their names, each made once."""
    place = tmp_path_factory.mktemp("bases")
    return cache(lambda name: base(name, place, pages=NIGHT or name in PAGED))
