"""One folder for each project, in which everything that the desk knows of it stands as files.

    project.toml        the table, whose it is, its ledger, who approved what; no values
    schema.toml         drafted and reviewed
    questions.toml      declared analyses
    plan.toml           ε, δ, and what is wanted of the answers
    release.checkpoint/ of a run that is not done
    release/            what is published
    log.jsonl           what was done when

Only its owner may look into it. Nothing in it may be a link, and tables and codebooks lie below the
roots that were named when the desk was started, so that no page can lead elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomli_w

from understudy import _storage
from understudy._storage import reason
from understudy.desk.words import _, refusal
from understudy.errors import line

FILES: Final = ("project.toml", "schema.toml", "questions.toml", "plan.toml")
_MOST_LISTED: Final = 300
_MOST_UNDONE: Final = 20


@dataclass(frozen=True)
class Roots:
    """Folders below which a desk looks.

    Attributes:
        folders: resolved.
    """

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[str | Path]) -> Roots:
        """The roots.

        Raises:
            DeskError: no folders, or not all are.
        """
        found = []
        for folder in folders:
            place = Path(folder).expanduser().absolute()
            if not place.is_dir():
                raise refusal(
                    "The root %(root)r is no folder; name one that exists.", root=str(folder)
                )
            found.append(place.resolve())
        if not found:
            raise refusal("The desk needs a folder below which it may look.")
        return cls(tuple(dict.fromkeys(found)))

    def inside(self, text: str | Path) -> Path:
        """Return a place below a root, without links.

        Args:
            text: absolute, or below the first root.

        Raises:
            DeskError: it lies elsewhere, or leads elsewhere.
        """
        try:
            place = (self.folders[0] / Path(text).expanduser()).resolve()
        except (OSError, ValueError, RuntimeError):
            raise refusal("This is no place on this machine; choose another.") from None
        if not any(place.is_relative_to(root) for root in self.folders):
            raise refusal(
                "This place lies outside the folders that the desk may look into; choose one "
                "inside, or start the desk with --root of it."
            )
        return place

    def list_folder(self, folder: Path) -> list[tuple[str, Path, int | None]]:
        """Name, place and size of what a folder holds, without links and hidden files.

        Args:
            folder: below a root.

        Returns:
            Folders first, whose size is None; at most 300.

        Raises:
            DeskError: it cannot be looked into.
        """
        try:
            found = [one for one in os.scandir(folder) if not one.name.startswith(".")]
            plain = [one for one in found if not one.is_symlink()]
            shown = [
                (one.name, Path(one.path), None if one.is_dir() else one.stat().st_size)
                for one in plain
                if one.is_dir() or one.is_file()
            ]
        except OSError:
            raise refusal("This folder cannot be looked into; choose another.") from None
        return sorted(shown, key=lambda one: (one[2] is not None, one[0].lower()))[:_MOST_LISTED]


@dataclass(frozen=True)
class Project:
    """A project's folder.

    Attributes:
        folder: resolved.
    """

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Project:
        """Make a new project.

        Raises:
            DeskError: the folder holds something, or cannot be made.
        """
        try:
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            if any(folder.iterdir()):
                raise refusal("This folder is not empty; choose a new one for the project.")
            folder.chmod(0o700)
        except OSError as error:
            raise refusal("The folder cannot be made: %(why)s.", why=reason(error)) from None
        made = cls(folder)
        made.write("project.toml", {"format": 1})
        made.note("made")
        return made

    @classmethod
    def open(cls, folder: Path) -> Project:
        """Open a project.

        Raises:
            DeskError: it is none, or others may look into it.
        """
        found = cls(folder)
        try:
            status = folder.lstat()
            if os.name != "nt" and (status.st_mode & 0o077 or status.st_uid != os.getuid()):
                raise refusal("Others may look into this folder; make it yours alone by chmod 700.")
        except OSError:
            raise refusal("There is no such project; it was moved or removed.") from None
        if not found.place("project.toml").is_file():
            raise refusal("This folder is no project; open one, or make a new one.")
        return found

    @property
    def id(self) -> str:
        """The word that stands for the folder in addresses, which tell nothing of it."""
        return hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]

    def place(self, name: str) -> Path:
        """Return a file of the project.

        Args:
            name: of the desk's own.

        Raises:
            DeskError: it is a link.
        """
        found = self.folder / name
        if found.is_symlink():
            raise refusal(
                "%(file)s of this project is a link; put the file itself there.", file=name
            )
        return found

    def has(self, name: str) -> bool:
        """Return whether a file or folder is there."""
        return self.place(name).exists()

    def read(self, name: str) -> dict[str, Any]:
        """Read one of the TOML files; {} if it is not there.

        Raises:
            DeskError: it cannot be read.
        """
        place = self.place(name)
        if not place.exists():
            return {}
        try:
            return tomllib.loads(place.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            raise refusal(
                "%(file)s of this project cannot be read; mend it by hand.", file=name
            ) from None

    def read_json(self, name: str) -> Any:
        """Read one of the JSON files; None if it is not there, or not whole."""
        place = self.place(name)
        try:
            return json.loads(place.read_text(encoding="utf-8")) if place.exists() else None
        except ValueError:
            return None

    @property
    def analyses(self) -> list[dict[str, str]]:
        """Declared analyses, as entries."""
        return list(self.read("questions.toml").get("analyses", []))

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write one of the TOML files."""
        self.write_text(name, tomli_w.dumps(content))

    def write_text(self, name: str, text: str) -> None:
        """Write a file that its owner alone may read, at once.

        Raises:
            DeskError: it cannot be written.
        """
        _write_own(self.place(name), text, name)

    def update(self, **entries: Any) -> None:
        """Change entries of project.toml; None takes one out."""
        content = {**self.read("project.toml"), **entries}
        self.write("project.toml", {k: v for k, v in content.items() if v is not None})

    def note(self, what: str, **more: Any) -> None:
        """Add a line to the log: what was done, and never a value or a number of rows.

        Raises:
            DeskError: it cannot be written.
        """
        entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": what, **more}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            file = os.open(self.folder / "log.jsonl", flags, 0o600)
            try:
                _storage.write_all(file, (json.dumps(entry) + "\n").encode("utf-8"))
            finally:
                os.close(file)
        except OSError as error:
            raise refusal("The log cannot be written: %(why)s.", why=reason(error)) from None

    def log(self) -> list[dict[str, Any]]:
        """Return what was done, oldest first; a line that cannot be read is passed over."""
        place = self.place("log.jsonl")
        found = []
        for text in place.read_text(encoding="utf-8").splitlines() if place.exists() else ():
            try:
                found.append(dict(json.loads(text)))
            except ValueError:
                continue
        return found

    def digest(self) -> str:
        """SHA-256 of what a release is made by: table, schema, questions and plan."""
        parts = hashlib.sha256()
        content = self.read("project.toml")
        asked = {key: content.get(key, "") for key in ("data", "ledger", "by")}
        asked |= {"members": content["members"]} if content.get("members") else {}
        parts.update(json.dumps(asked, sort_keys=True).encode())
        for name in FILES[1:]:
            place = self.place(name)
            parts.update(hashlib.sha256(place.read_bytes() if place.exists() else b"").digest())
        return parts.hexdigest()

    def keep_for_undo(self, before: str, after: str) -> None:
        """Keep what stood in the schema before a decision."""
        kept = self.read_json("undo.json") or []
        kept.append({"before": before, "after": stamp(after)})
        self.write_text("undo.json", json.dumps(kept[-_MOST_UNDONE:]))

    def undo(self) -> None:
        """Take the last decision about the schema back.

        Raises:
            DeskError: there is none, or the file was changed since.
        """
        kept, place = self.read_json("undo.json"), self.place("schema.toml")
        if not kept:
            raise refusal("There is no decision to take back.")
        last = kept.pop()
        if stamp(place.read_text(encoding="utf-8")) != last["after"]:
            raise refusal("The schema was changed elsewhere since; it is left as it is.")
        self.write_text("schema.toml", last["before"])
        self.write_text("undo.json", json.dumps(kept))


def _write_own(place: Path, text: str, name: str) -> None:
    """Write a file that its owner alone may read, at once."""
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not place.exists():
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _storage.replace(place, text.encode("utf-8"))
    except OSError as error:
        raise refusal(
            "%(file)s cannot be written: %(why)s.", file=name, why=reason(error)
        ) from None


def stamp(text: str) -> str:
    """Return what tells one state of a file from another, for forms."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Known:
    """Projects that were opened before, in a file of the user's configuration.

    Attributes:
        place: of that file.
    """

    place: Path

    @classmethod
    def of_user(cls) -> Known:
        """Those of whoever runs the desk."""
        home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return cls(Path(home) / "understudy" / "desk.json")

    def folders(self) -> list[Path]:
        """The projects' folders, the newest first."""
        try:
            return [Path(one) for one in json.loads(self.place.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return []

    def add(self, folder: Path) -> None:
        """Remember a project.

        Raises:
            DeskError: the file cannot be written.
        """
        kept = [folder, *(one for one in self.folders() if one != folder)][:50]
        text = json.dumps([str(one) for one in kept])
        _write_own(
            self.place, text, _("The list of projects, %(place)s,", place=line(str(self.place)))
        )

    def find(self, id: str, roots: Roots) -> Project:
        """Return a project by what stands for it in addresses.

        Raises:
            DeskError: it is not known, or may not be opened.
        """
        for folder in self.folders():
            if Project(folder).id == id:
                if roots.inside(folder) != folder:
                    raise refusal("This project's folder leads elsewhere; open it again.")
                return Project.open(folder)
        raise refusal("This project is not known here; open it on the first page.")
