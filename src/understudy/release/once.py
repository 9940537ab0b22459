"""What follows from a release alone is worked out once, however many questions are put to it.

A release does not change, so what was worked out from it holds for as long as it lives. It is kept
with that one release: another, made by `dataclasses.replace` say, starts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from understudy.release.release import Release

Rest = ParamSpec("Rest")
Found = TypeVar("Found")


def once(
    function: Callable[Concatenate[Release, Rest], Found],
) -> Callable[Concatenate[Release, Rest], Found]:
    """A function of a release and of names in it, worked out once for each of these.

    Two threads may both work it out, and find the same.

    Args:
        function: without side effects; what it gives is changed by nobody, and is as small as what
            is known of a few columns, since it is kept for as long as the release.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(release: Release, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Found:
        key, kept = (name, *args, *kwargs.items()), release.worked_out
        if key not in kept:
            kept[key] = function(release, *args, **kwargs)
        return cast("Found", kept[key])

    return known
