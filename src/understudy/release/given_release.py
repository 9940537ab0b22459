"""A release as it is given to a public function: the release itself, or its folder."""

from __future__ import annotations

from pathlib import Path

from understudy.arguments import kind_of
from understudy.errors import ReleaseError
from understudy.release.release import Release


def given_release(release: object) -> Release:
    """The release, read from its folder if a path is given.

    Raises:
        ReleaseError: neither a release nor a path, or the folder is not a release.
    """
    if isinstance(release, Release):
        return release
    if isinstance(release, str | Path):
        return Release.load(release)
    raise ReleaseError(
        f"The release must be a Release, or the path of its folder, not {kind_of(release)}."
    )
