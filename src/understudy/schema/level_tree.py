"""The public tree over the levels of a column, such as chapters of diagnoses or of industries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from understudy.errors import suggestion
from understudy.schema.cell_values import Code, text_of
from understudy.schema.column_base import Value


class LevelTree(BaseModel):
    """Branches of the levels: by the first letters of codes, or by name.

    Attributes:
        prefix: lengths of the beginnings of a code that name its branches: [1, 3] puts "A001" into
            "A00", and that into "A".
        parents: branch → its levels, and branches below it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    prefix: tuple[PositiveInt, ...] = ()
    parents: dict[str, tuple[Value, ...]] = Field(default={})

    @model_validator(mode="after")
    def _one_way(self) -> LevelTree:
        if bool(self.prefix) == bool(self.parents):
            raise ValueError("a hierarchy has either prefix or parents")
        if list(self.prefix) != sorted(set(self.prefix)):
            raise ValueError("lengths in `prefix` must increase")
        children = [text_of(child) for below in self.parents.values() for child in below]
        if twice := next((one for one in children if children.count(one) > 1), None):
            raise ValueError(f"{twice!r} has two parents in the hierarchy; keep one of them")
        for branch in self.parents:
            if branch in self._above(branch):
                raise ValueError(f"the branch {branch!r} of the hierarchy lies below itself")
        return self

    def require_known(self, levels: Sequence[Code]) -> None:
        """Check that all children are levels or branches.

        Raises:
            ValueError: names the one that is neither.
        """
        known = {*map(text_of, levels), *self.parents}
        for below in self.parents.values():
            for child in map(text_of, below):
                if child not in known:
                    raise ValueError(
                        f"the hierarchy names {child!r}, which is neither a level nor a branch"
                        f"{suggestion(child, known)}"
                    )

    def branches(self, levels: Sequence[Code]) -> tuple[tuple[str, ...], ...]:
        """The branch that each level is in, finest branching first; a level without one is its own.

        Example:
            >>> LevelTree(prefix=(1, 2)).branches(["A01", "A02", "B11"])
            (('A0', 'A0', 'B1'), ('A', 'A', 'B'))
        """
        texts = [text_of(level) for level in levels]
        if self.prefix:
            return tuple(tuple(text[:n] for text in texts) for n in reversed(self.prefix))
        paths = [(text, *self._above(text)) for text in texts]
        depth = max(map(len, paths))
        return tuple(tuple(p[min(k, len(p) - 1)] for p in paths) for k in range(1, depth))

    def _above(self, text: str) -> tuple[str, ...]:
        """Branches that a level or branch lies in, the nearest first; a circle is passed once."""
        found: list[str] = []
        while (text := self._parent.get(text, "")) and text not in found:
            found.append(text)
        return tuple(found)

    @cached_property
    def _parent(self) -> dict[str, str]:
        return {text_of(child): branch for branch, below in self.parents.items() for child in below}
