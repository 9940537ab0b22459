"""The fixed prose of a page: a Markdown template beside the study, filled with its numbers.

A template `page.md.jinja` has three sections: `# lead`, `# done` in paragraphs, and `# parameters`
as a list of `* **name**: value`. Lines of one paragraph are put together; what a page finds is
computed in code and not here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, meta

from understudy.errors import StudyError

TEMPLATE = "page.md.jinja"
_PARAMETER = re.compile(r"\* \*\*(.+?)\*\*: (.+)")


@dataclass(frozen=True)
class Prose:
    """The fixed parts of what a page tells.

    Attributes:
        lead: the question in short.
        done: what was done, in paragraphs.
        parameters: name → value, in words.
    """

    lead: str
    done: tuple[str, ...]
    parameters: dict[str, str]


def prose_of(package: str, **values: Any) -> Prose:
    """The prose of a study, filled.

    Args:
        package: of the study, which holds the template.
        values: what the template names, no more and no less.

    Raises:
        StudyError: the template names another value, lacks a section, or has a parameter that does
            not read `* **name**: value`.
    """
    environment = _environment()
    text = (files(package) / TEMPLATE).read_text(encoding="utf-8")
    if others := meta.find_undeclared_variables(environment.parse(text)) ^ set(values):
        raise StudyError(
            f"The {TEMPLATE} of {package} and its page differ in {', '.join(sorted(others))}."
        )
    return parsed(environment.from_string(text).render(values))


def parsed(text: str) -> Prose:
    r"""The sections of a filled template.

    Example:
        >>> prose = parsed("# lead\nA\nb.\n\n# done\nC.\n\nD.\n\n# parameters\n* **n**: 3\n")
        >>> prose.lead, prose.done, prose.parameters
        ('A b.', ('C.', 'D.'), {'n': '3'})
    """
    _, *parts = re.split(r"^# (\w+)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    if set(sections) != {"lead", "done", "parameters"}:
        raise StudyError(f"A {TEMPLATE} needs the sections lead, done and parameters.")
    items = re.split(r"\n(?=\* )", sections["parameters"].strip())
    return Prose(
        " ".join(_paragraphs(sections["lead"])),
        _paragraphs(sections["done"]),
        dict(_parameter(" ".join(item.split("\n"))) for item in items),
    )


def _parameter(item: str) -> tuple[str, str]:
    found = _PARAMETER.fullmatch(item)
    if found is None:
        raise StudyError(f"A parameter of a {TEMPLATE} must read `* **name**: value`: {item!r}.")
    return found[1], found[2]


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split("\n")) for part in text.strip().split("\n\n"))


def _environment() -> Environment:
    # What is made here is text, which the page escapes like any other.
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"] = "{:,}".format
    environment.filters["plain"] = lambda number: f"{number:g}".replace("-", "−")
    environment.filters["listed"] = lambda numbers: ", ".join(f"{one:g}" for one in numbers)
    return environment
