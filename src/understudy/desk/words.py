"""Messages of the desk, in the language of whoever runs it.

`words.pot` lists every message. A language is one file, `locale/<language>/LC_MESSAGES/desk.mo`;
without one all is said as it stands in the source. Parts are put in by name, as in `%(epsilon)s`,
so a sign for per cent is doubled.
"""

import gettext
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from understudy.errors import DeskError
from understudy.report.text import clean

LOCALE = Path(__file__).with_name("locale")


@cache
def translation() -> gettext.NullTranslations:
    """The language that LANGUAGE, LC_ALL, LC_MESSAGES or LANG choose."""
    return gettext.translation("desk", LOCALE, fallback=True)


def N_(text: str) -> str:
    """Mark a constant as a message, which is translated when it is shown."""
    return text


def _(text: str, **parts: object) -> str:
    return translation().gettext(text) % parts


def refusal(text: str, **parts: object) -> DeskError:
    """Say why the desk refuses."""
    return DeskError(_(text, **parts))


def install(pages: Environment) -> None:
    """Let templates say messages: `_` gives plain text, and the markup of `trans` stands."""

    def gettext(one: str, many: str = "", num: int = 1, /, **parts: object) -> Markup:
        text = translation().ngettext(one, many, num) if many else translation().gettext(one)
        parts = {"num": num, **parts}
        return Markup(text) % {name: clean(part) for name, part in parts.items()}  # noqa: S704

    language = translation().info().get("language", "en").replace("_", "-")
    pages.add_extension("jinja2.ext.i18n")
    pages.newstyle_gettext = True  # type: ignore[attr-defined]
    pages.globals |= {"_": _, "gettext": gettext, "ngettext": gettext, "language": language}
