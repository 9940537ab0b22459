"""What `pyproject.toml` says of libraries is what `make oldest` installs."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEYOND = {"jax", "numpyro", "pyspark"}
"""Libraries of extras that few install: their tests run with the pinned versions alone."""


def least():
    """Library → the oldest version that is admitted, but of extras for developers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"] | {"dev": [], "docs": [], "lint": []}
    every = [*project["dependencies"], *(one for needs in extras.values() for one in needs)]
    found = {}
    for one in every:
        if one.startswith("understudy["):
            continue
        name, version = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", one).groups()
        assert found.setdefault(name.lower(), version) == version, one
    return {name: version for name, version in found.items() if name not in BEYOND}


def test_the_oldest_versions_are_those_that_are_tested():
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    parts = {name: [*map(int, version.split("."))] for name, version in least().items()}
    for name, version in pinned.items():
        own = [*map(int, version.split("."))]
        assert own[: len(parts[name])] == parts[name], name
        assert not any(own[len(parts[name]) :]), name
    assert pinned.keys() == parts.keys()
