"""One request as pages see it: the project, what was typed, and what else the desk knows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.desk.project import Known, Project, Roots
from understudy.desk.words import refusal
from understudy.schema import Schema


@dataclass
class Desk:
    """State that pages share: where the desk may look, and what is worked out already.

    Attributes:
        roots: below which it looks.
        known: projects.
        debug: file that gets what went wrong; None for nowhere.
        secret_views: projects whose confidential view is open, until the session ends.
        worked_out: plans and planners, by what they are of.
        lock: while one is worked out.
        ledger: that its administrator looks at; "" for none.
    """

    roots: Roots
    known: Known
    debug: Path | None = None
    secret_views: set[str] = field(default_factory=set)
    worked_out: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ledger: str = ""


class ElsewhereError(Exception):
    """A page cannot be shown before another one, whose address it is given."""


@dataclass(frozen=True)
class Visit:
    """One request for a page, or one form to act on.

    Attributes:
        desk: that is visited.
        project: whose page it is; None on the first page.
        form: what was typed, by field.
        query: what the address says, which is a place in a list at most.
    """

    desk: Desk
    project: Project | None
    form: dict[str, list[str]]
    query: dict[str, str]

    @property
    def own(self) -> Project:
        """The project, on pages that have one."""
        assert self.project is not None
        return self.project

    @property
    def secret_view(self) -> bool:
        """True while the confidential view of the project is open."""
        return self.project is not None and self.project.id in self.desk.secret_views

    def text(self, name: str, usual: str = "") -> str:
        """Return the text that was typed into a field."""
        return self.form.get(name, [usual])[0].strip()

    def texts(self, name: str) -> list[str]:
        """Everything that was ticked under one name."""
        return self.form.get(name, [])

    def number(self, name: str, words: str) -> int | None:
        """A whole number; None where nothing was typed.

        Args:
            name: of the field.
            words: what it is, in the refusal.

        Raises:
            DeskError: it is none.
        """
        text = self.text(name).replace(",", "").replace(" ", "")
        if not text:
            return None
        if not text.isdecimal() or len(text) > 15:
            raise refusal("%(what)s is a whole number such as 5000.", what=words)
        return int(text)

    def to(self, page: str) -> str:
        """The address of a page of the project."""
        return f"/p/{self.own.id}/{page}"

    def need(self, name: str, page: str) -> None:
        """Go to the page that makes a file, where there is none yet.

        Raises:
            ElsewhereError: there is none.
        """
        if not self.own.has(name):
            raise ElsewhereError(self.to(page))

    def schema(self) -> Schema:
        """The project's schema.

        Raises:
            ElsewhereError: there is none yet.
            SchemaError: it says none.
        """
        self.need("schema.toml", "schema")
        return Schema.load(self.own.place("schema.toml"))

    def toggle_secret_view(self, where: str) -> None:
        """Open the confidential view, which the log says, or close it."""
        if self.secret_view:
            self.desk.secret_views.discard(self.own.id)
        else:
            self.desk.secret_views.add(self.own.id)
            self.own.note("confidential view opened", page=where)


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: its heading.
        template: its name.
        show: gives what the template needs.
        act: does what a form asks for, and gives the address to go to; None shows the page again.
    """

    title: str
    template: str
    show: Callable[[Visit], dict[str, Any]]
    act: Callable[[Visit], str | None]
