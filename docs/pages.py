"""Pages of the site that come from the program: commands, names, schema, messages, methods."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import typer
from errors_page import errors_page
from schema_page import schema_page

import understudy as us
from understudy.cli.app import app
from understudy.methods.registry import METHODS


def write(root: Path, folder: Path) -> None:
    """Write all of them into a folder, which is made."""
    pages = {
        "command-line": "\n".join(commands()),
        "python": "\n".join(public_names()),
        "schema": "\n".join(schema_page(root)),
        "errors": "\n".join(errors_page(root)),
        "changelog": (root / "CHANGELOG.md").read_text("utf-8"),
        **dict(method_pages()),
    }
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text + "\n", encoding="utf-8")


def commands() -> Iterator[str]:
    """Markdown of the command line: each command with its arguments and options."""
    yield "# Command line\n"
    yield "For whoever looks up a command: all that `understudy` takes, as its `--help` says it.\n"
    yield from _command(typer.main.get_command(app), "understudy")


def _command(command: click.Command, name: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if name != "understudy":
        yield f"## {name}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    if inner is not None:
        for key, one in sorted(inner.items()):
            if not one.hidden:
                yield from _command(one, f"{name} {key}")
        return
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        is_option = parameter.param_type_name == "option"
        words = ", ".join(parameter.opts) if is_option else (parameter.name or "").upper()
        yield f"* `{words}`: {' '.join((getattr(parameter, 'help', '') or '').split())}"
    yield ""


def public_names() -> Iterator[str]:
    """Markdown of the public names, which autodoc fills in."""
    yield "# Python\n"
    yield "For whoever looks up a name: all that `import understudy as us` gives.\n"
    for name in us.__all__:
        found = getattr(us, name)
        if inspect.isclass(found):
            kind, more = "autoclass", "\n   :members:"
        elif callable(found):
            kind, more = "autofunction", ""
        else:
            kind, more = "automodule", ""
        yield f"## {name}\n\n```{{eval-rst}}\n.. {kind}:: understudy.{name}{more}\n```\n"


def method_pages() -> Iterator[tuple[str, str]]:
    """Name and Markdown of a page for each file of methods, made from its docstrings."""
    files: dict[str, list[str]] = {}
    for name, method in METHODS.items():
        files.setdefault(method.__module__, []).append(name)
    for module, names in files.items():
        parts = [f"# Method{'s' if len(names) > 1 else ''} {', '.join(names)}", ""]
        parts += [inspect.cleandoc(sys.modules[module].__doc__ or "")]
        for name in names:
            if len(names) > 1 and (said := METHODS[name].__doc__):
                parts += [f"\n## {name}\n", inspect.cleandoc(said)]
        yield f"method-{names[0]}", "\n".join(parts)
