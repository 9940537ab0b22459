"""The codebook page: what each column of a release is, and what its values stand for.

It is made from schema and manifest alone and shows no figure of the synthetic tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from understudy.release.export_values import Category, Variable, variables
from understudy.release.manifest import citation, promise_block
from understudy.release.release import Release
from understudy.report import text as templates
from understudy.report.public_page import MAX_BYTES
from understudy.report.text import badge, is_not_private
from understudy.schema import NUMERIC, Calendar
from understudy.schema.numeric import HeapAt

_MOST_VALUES = 60  # of one column
_LINKS = 60_000  # bytes
_SPARE = 500


@dataclass(frozen=True)
class Entry:
    """One column on the page.

    Attributes:
        number: position of the column, from 1.
        variable: what is public of it.
    """

    number: int
    variable: Variable

    @property
    def kind(self) -> str:
        """Kind, bounds and decimals, in words."""
        column, bounds = self.variable.column, self.variable.bounds
        parts = [str(column.kind)]
        if bounds is not None:
            text = f"{bounds[0]} to {bounds[1]}"
            parts.append(text if isinstance(column, Calendar) else text.replace("-", "−"))
        if column.kind == "continuous" and self.variable.decimals is not None:
            n = self.variable.decimals
            parts.append(f"{n} decimal{'s' if n != 1 else ''}")
        return ", ".join(parts)

    @property
    def heaps(self) -> str:
        """Declared rounding of its numbers by people, in words; "" if nothing is declared."""
        column = self.variable.column
        told = [
            f"steps of {heap.every} from {heap.at}" if isinstance(heap, HeapAt) else str(heap)
            for heap in (column.heaps if isinstance(column, NUMERIC) else ())
        ]
        return ", ".join(told)

    @property
    def listed(self) -> tuple[Category, ...]:
        """The first of its levels, where none of them has a label: they say what they stand for."""
        levels = self.variable.levels
        return () if any(level.label for level in levels) else levels[:_MOST_VALUES]

    @property
    def told(self) -> tuple[Category, ...]:
        """The first of its levels where they have labels, and of its codes of absence."""
        levels = () if self.listed else self.variable.levels[:_MOST_VALUES]
        return (*levels, *self.variable.absent[:_MOST_VALUES])

    @property
    def more(self) -> int:
        """Number of values that are not shown."""
        return len(self.variable.categories) - len(self.listed) - len(self.told)


def codebook_page(release: Release) -> str:
    """Render the page of what every column is.

    Args:
        release: the release; only its schema and its manifest are looked at.

    Returns:
        HTML text of at most one megabyte, the same for the same release.
    """
    page = templates.template("codebook.html.jinja")
    entries = [Entry(k, one) for k, one in enumerate(variables(release.schema), start=1)]
    links = templates.render_items(_macro("link"), entries, _LINKS)
    context = {**_context(release), "n_columns": len(entries), "links": links}
    frame = page.render(**context, entries=("", 0))
    room = MAX_BYTES - templates.size(frame) - _SPARE
    return page.render(**context, entries=templates.render_items(_macro("entry"), entries, room))


def _context(release: Release) -> dict[str, Any]:
    manifest, schema, guarantee = release.manifest, release.schema, release.guarantee
    return {
        "title": schema.heading,
        "manifest": manifest,
        "promise": promise_block(manifest),
        "unit": schema.unit.description,
        "badge": badge(guarantee),
        "private": not is_not_private(guarantee) and manifest.secure,
        "citation": citation(manifest, schema),
        "relations": [relation.text for relation in schema.relations],
    }


def _macro(name: str) -> Callable[..., Any]:
    return templates.macro(name, "codebook_parts.html.jinja")
