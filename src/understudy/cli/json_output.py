"""Where the output of commands goes: JSON on standard output, texts into new files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from understudy.cli.terminal import streams
from understudy.cli.terminal.streams import Screen
from understudy.errors import MethodError

# JSON escapes controls below a space; terminals obey more than those.
_ACTING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def print_json(content: Any) -> None:
    """Print plain data as JSON on standard output."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    escaped = _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if not streams.holds(escaped):
        escaped = json.dumps(content, indent=2)
    Screen(soft_wrap=True, highlight=False).out(escaped)


def write_text(path: Path, text: str) -> None:
    """Write a text, and never into a release: what is not listed there does not belong there.

    Raises:
        MethodError: it cannot be written, or would lie in the folder of a release.
    """
    _require_outside_releases(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MethodError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def internal_place(out: Path) -> Path:
    """Where an internal page goes: under a name that says what it is, and outside every release.

    Args:
        out: what was asked for. Where its name does not hold "internal", this stands before its
            ending.

    Returns:
        The place.

    Raises:
        MethodError: it is taken, lies in a release, or its folder does not exist.

    Example:
        >>> internal_place(Path("report.html")).name, internal_place(Path("My-Internal.html")).name
        ('report.internal.html', 'My-Internal.html')
    """
    marked = "internal" in out.name.lower()
    place = out if marked or not out.name else out.with_name(f"{out.stem}.internal{out.suffix}")
    require_new_file(place)
    return place


def require_new_file(out: Path) -> None:
    """Refuse, before any work, a page that could not be written.

    Raises:
        MethodError: it is taken, lies in a release, or its folder does not exist.
    """
    _require_outside_releases(out)
    try:
        taken = out.exists() or out.is_symlink()
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if taken:
        raise MethodError(f"The file {str(out)!r} already exists; choose another name.")
    if not out.absolute().parent.is_dir():
        raise MethodError(f"The folder of {str(out)!r} does not exist; create it first.")


def _require_outside_releases(out: Path) -> None:
    from understudy.release.place import release_around

    try:
        within = release_around(out)
    except OSError as error:
        raise MethodError(f"The file {str(out)!r} cannot be written: {error.strerror}.") from None
    if within is not None:
        raise MethodError(
            f"The file {str(out)!r} cannot go into the release {str(within)!r}, which is published "
            "as it is; choose another place."
        )
