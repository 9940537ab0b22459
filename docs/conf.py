"""How `make docs` builds the site: one theme, no request to outside, links to the source kept."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCE = PROJECT["urls"]["Source"]

project = "Understudy"
author = "The Understudy developers"
version = release = PROJECT["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Understudy {version}"
html_static_path = ["static"]
html_js_files = ["focus.js"]
html_show_sourcelink = False
html_copy_source = False
default_role = "code"
highlight_language = "text"  # blocks that name no language are what programs print
python_use_unqualified_type_names = True
autodoc_typehints = "none"
napoleon_use_param = False  # options of one name in several functions
napoleon_use_rtype = False
napoleon_use_ivar = True
myst_heading_anchors = 4
nb_execution_mode = "force"  # pages that say `file_format: mystnb` alone
nb_execution_raise_on_error = True
nb_execution_timeout = 120
smartquotes = False  # quotes stand as they were written

LINK = re.compile(r"\]\(([^)#\s]+)(#[\w-]+)?\)")


def link_to_source(app: Sphinx, name: str, content: list[str]) -> None:
    """Turn links out of the pages into links to the source, at the address of the project."""
    page = Path(app.srcdir) / f"{name}.md"
    home = ROOT if name == "generated/changelog" else page.parent

    def link(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        target = Path(os.path.normpath(home / path))
        if "://" in path or not target.exists():
            return found[0]
        if target.suffix == ".md" and target.is_relative_to(DOCS):
            return f"]({os.path.relpath(target, page.parent)}{anchor})"
        return f"]({SOURCE}/{target.relative_to(ROOT).as_posix()}{anchor})"

    content[0] = LINK.sub(link, content[0])


def write_pages(app: Sphinx) -> None:
    """Write the pages that come from the program itself."""
    from pages import write

    write(ROOT, DOCS / "generated")


def setup(app: Sphinx) -> None:
    """Register both."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_to_source)
