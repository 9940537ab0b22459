"""A desk for tests, a browser without a browser that is at its door, and surveys as files."""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
from starlette.testclient import TestClient

import understudy as us
from understudy.demo import demo_data, demo_schema
from understudy.desk.app import DeskApp
from understudy.desk.project import Known, Project, Roots
from understudy.desk.visit import Desk

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


class Visitor:
    """Somebody at a desk whose roots are one folder.

    Args:
        root: of the desk.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.app = DeskApp(Desk(Roots.of([root]), Known(root / "known.json")), PORT)
        self.client = self.other()
        self.client.get(self.path_of_link())
        self.here = ""

    def other(self):
        """Another browser, which nobody has let in."""
        return TestClient(self.app.door, base_url=ORIGIN, follow_redirects=False)

    def path_of_link(self):
        return self.app.door.link().removeprefix(ORIGIN)

    def new_project(self, name="project"):
        self.post("/", folder=name, do="new")
        return self.visit(Project(self.root / name))

    def visit(self, project):
        self.app.desk.known.add(project.folder)
        self.project, self.here = project, f"/p/{project.id}"
        return project

    def get(self, page):
        return self.client.get(page if page.startswith("/") else f"{self.here}/{page}")

    def post(self, page, **form):
        address = page if page.startswith("/") else f"{self.here}/{page}"
        return self.client.post(address, data={"csrf": self.app.door.csrf, **form})


def refusal(answer):
    """What a page says against what was asked; "" for nothing."""
    found = re.search(r'class="refusal">(.*?)</p>', answer.text, re.DOTALL)
    return unescape(found[1]) if found else ""


def hidden(answer, name):
    """The value of a hidden field."""
    return unescape(re.search(rf'name="{name}" value="([^"]*)"', answer.text)[1])


FEW, ALL = ("age", "religious", "affairs"), demo_schema().names
ASKED = [
    {"kind": "mean", "formula": "affairs"},
    {"kind": "ols", "formula": "affairs ~ age + religious"},
]


def survey(root, names=FEW):
    """Columns of the bundled survey and their reviewed schema, as files."""
    demo_data()[[*names]].to_csv(root / "fair.csv", index=False)
    (root / "fair.toml").write_text(demo_schema().part(names).dumps(), encoding="utf-8")


@cache
def finished_release(names):
    """Of these columns, made once."""
    data, schema = demo_data()[[*names]], demo_schema().part(names)
    how = {"method": "independent", "sets": 2, "analyses": ASKED}
    return us.synthesize(data, schema, epsilon=2, delta="1e-6", **how)


def finished_project(root, names=FEW):
    """A project of these columns, made by the public functions up to its publication."""
    survey(root, names)
    release = finished_release(names)
    project = Project.create(root / "finished")
    project.write_text("schema.toml", demo_schema().part(names).dumps())
    project.write("questions.toml", {"analyses": ASKED})
    plan = {"epsilon": "2", "delta": "1e-6", "sets": "2", "answers": "", "assume_rows": ""}
    project.write("plan.toml", plan)
    project.update(data=str(root / "fair.csv"))
    project.update(
        approved={"by": "A. Steward", "digest": project.digest()},
        verdict={"is": "accepted", "reason": "It is fit for its use."},
        step="publish",
    )
    release.save(project.folder / "release")
    Known(root / "configuration" / "understudy" / "desk.json").add(project.folder)
    return project


def wide_survey(root, n_columns, n_rows=1_000):
    """A survey of amounts and answers, and the codebook that says all of it, as files."""
    rng = np.random.default_rng(35)
    columns, fields = {}, []
    for k in range(n_columns):
        if k % 3:
            levels = ["no", "yes", "perhaps"][: 2 + k % 2]
            columns[f"answer_{k}"] = rng.choice(levels, n_rows)
            field = {"type": "string", "constraints": {"enum": levels}}
        else:
            columns[f"amount_{k}"] = rng.integers(0, 2_000, n_rows)
            field = {"type": "integer", "constraints": {"minimum": 0, "maximum": 2_000}}
        fields.append({"name": [*columns][-1], **field})
    pl.DataFrame(columns).write_csv(root / "wide.csv")
    (root / "wide.json").write_text(json.dumps({"fields": fields}))
