"""Whether an installed package works by itself: run by the Python of an environment that has it.

A table of a few hundred rows goes through a draft, a plan, a release, answers, and the checker.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import metadata, version
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us

SCHEMA = """
rows = "public"
n_rows = 600
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
source = "questionnaire"
reviewed = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 10
source = "questionnaire"
reviewed = true
"""


def main() -> None:
    """Use what is installed, and raise at the first thing that fails."""
    assert "site-packages" in str(us.__file__), "the package is not installed but lies beside"
    assert version("understudy") == us.__version__
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "age": rng.integers(0, 100, 600)})
    schema = us.Schema.loads(SCHEMA)
    us.plan(schema, epsilon=1)
    with tempfile.TemporaryDirectory() as folder:
        release = us.synthesize(rows, schema, epsilon=1)
        release.save(Path(folder) / "release")
        answer = us.analyze(Path(folder) / "release", "mean", "age")
        assert 20 < answer.pooled.estimate[0] < 80
        tools = Path(sys.executable).parent
        for command, *rest in (
            ("understudy", "--version"),
            ("understudy", "show", f"{folder}/release"),
            ("understudy-verify", f"{folder}/release"),
        ):
            subprocess.run([tools / command, *rest], check=True, stdout=subprocess.DEVNULL)
    if "PLACEHOLDERS=refused" in sys.argv:
        urls = metadata("understudy").get_all("Project-URL") or []
        assert urls, "the owner's addresses lack"
        assert not any(".example" in url for url in urls), "the owner's addresses lack"
    print(f"understudy {us.__version__} works as installed, on Python {sys.version.split()[0]}.")


main()
