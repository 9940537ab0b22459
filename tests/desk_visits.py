"""A desk for tests, and a browser without a browser that is at its door."""

import re
from html import unescape
from pathlib import Path

from starlette.testclient import TestClient

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
        self.project = Project(self.root / name)
        self.here = f"/p/{self.project.id}"
        return self.project

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


def survey(root):
    """The bundled survey and its reviewed schema, as files."""
    demo_data().to_csv(root / "fair.csv", index=False)
    (root / "fair.toml").write_text(demo_schema().dumps(), encoding="utf-8")
