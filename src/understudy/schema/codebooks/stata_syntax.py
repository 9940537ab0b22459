"""Stata syntax (`.do`): the commands that label variables and values. None of it is run.

Read are `label variable`, `label define`, `label values`, `label data` and `format`, in full or
abbreviated, one a line, continued by `///`, or ended by a semicolon after `#delimit ;`. `generate`,
`egen` and `replace` say how a variable was computed (`stated_rules`). All other commands are passed
over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from understudy.schema.cell_values import number_of
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.labelled_variables import Gathered, Variables
from understudy.schema.codebooks.variable import Variable

_COMMENT: Final = re.compile(
    r"""(`".*?"'|"[^"\n]*")|/\*.*?\*/|///[^\n]*\n|(?:(?<=\s)|^)//[^\n]*""", re.DOTALL | re.MULTILINE
)
_TOKEN: Final = re.compile(r"""`"(.*?)"'|"([^"\n]*)"|([^\s"`,]+|,)|(["`])""", re.DOTALL)
_PREFIX: Final = re.compile(r"(?:(?:cap\w*|qui\w*|noi\w*)\s+)*", re.IGNORECASE)
_LABEL: Final = re.compile(r"la(?:b(?:el?)?)?\s+([a-z]+)\b", re.IGNORECASE)
_COMPUTED: Final = re.compile(
    r"(?:g|gen\w*|egen|replace)\s+(?:(?:byte|int|long|float|double|str\w*)\s+)?(\w+)\s*=(?!=)"
)
_FORMAT: Final = re.compile(r"form?a?t?\s+(?=.*%)")
_NUMBER: Final = re.compile(r"%-?0?\d*[.,](\d{1,2})[fg]c?")


@dataclass(frozen=True)
class _Word:
    """A word or a text in quotes."""

    text: str
    quoted: bool


class StataSyntax:
    """What a do-file says.

    Args:
        file: the codebook.

    Raises:
        SchemaError: a command that is not as it should be; names the line.
    """

    def __init__(self, file: CodebookFile) -> None:
        self.title = ""
        self._file = file
        self._variables = Variables(any_case=False)
        self._labels: dict[str, dict[str, str]] = {}
        self._uses: dict[str, list[Gathered]] = {}
        for number, command in self._commands():
            self._take(command, number)
        for name, users in self._uses.items():
            labels = self._labels.get(name, {})
            # Published files label text so, though Stata does not.
            text = any(_is_word(code) for code in labels)
            for one in users:
                one.lists.append(labels)
                one.text |= text

    def variables(self) -> Iterator[Variable]:
        """The variables, in the order in which they are first named."""
        return self._variables.described()

    def _commands(self) -> Iterator[tuple[int, str]]:
        text = self._file.text().replace("\r\n", "\n").replace("\r", "\n")
        # Comments go, the line breaks in them stay, so that lines keep their numbers.
        bare = _COMMENT.sub(_without_comment, text)
        command, start, semicolons = "", 1, False
        for number, line in enumerate(bare.split("\n"), start=1):
            if line.lstrip().startswith("#d"):
                semicolons = ";" in line
                continue
            if not command.strip():
                start = number
            if semicolons:
                *ended, rest = _pieces(f"{command}\n{line}", ";")
            elif line.endswith("\0"):  # a line that goes on
                ended, rest = [], f"{command}{line[:-1]} "
            else:
                ended, rest = [f"{command}{line}"], ""
            command = rest
            for one in ended:
                if one.strip() and not one.lstrip().startswith("*"):
                    yield start, one.strip()

    def _take(self, command: str, number: int) -> None:
        command = command[_PREFIX.match(command).end() :]  # type: ignore[union-attr]  # matches ""
        if computed := _COMPUTED.match(command):
            self._variables.computed(computed[1], command)
            return
        if _FORMAT.match(command):
            self._format(self._words(command, number)[1:])
        if not (head := _LABEL.match(command)):
            return
        what = head.group(1).lower()
        words = self._words(command[head.end() :], number)
        if "variable".startswith(what) and len(what) >= 3 and what != "val":
            if len(words) != 2 or words[1].quoted is False:
                self._fault("label variable needs a name and a text", number)
            self._variables[words[0].text].label = words[1].text
        elif "define".startswith(what) and len(what) >= 3:
            self._define(words, number)
        elif "values".startswith(what) and len(what) >= 3:
            self._attach(words, number)
        elif what == "data" and words:
            self.title = words[0].text

    def _define(self, words: list[_Word], number: int) -> None:
        ends = [k for k, word in enumerate(words) if word.text == "," and not word.quoted]
        options = {word.text for word in words[ends[0] :]} if ends else set()
        name, *pairs = (words[: ends[0]] if ends else words) or [_Word("", quoted=False)]
        if not name.text or len(pairs) % 2 or not all(label.quoted for label in pairs[1::2]):
            self._fault("label define needs a name, then codes, each with a text", number)
        if "replace" in options:
            self._labels.pop(name.text, None)
        said = zip(pairs[::2], pairs[1::2], strict=True)
        known = self._labels.setdefault(name.text, {})
        known |= {code.text: label.text for code, label in said}

    def _attach(self, words: list[_Word], number: int) -> None:
        ends = [k for k, word in enumerate(words) if word.text == "," and not word.quoted]
        names = words[: ends[0]] if ends else words
        if len(names) < 2:
            self._fault("label values needs names, then the name of a list of labels", number)
        for word in names[:-1]:
            if any(sign in word.text for sign in "*?~") or "-" in word.text:
                self._fault("label values needs names of variables, not patterns of them", number)
            if names[-1].text != ".":
                self._uses.setdefault(names[-1].text, []).append(self._variables[word.text])

    def _format(self, words: list[_Word]) -> None:
        forms = [word.text for word in words if word.text.startswith("%")]
        if not forms:
            return
        for word in words:
            if word.text.startswith("%") or not re.fullmatch(r"\w+", word.text):
                continue
            one = self._variables[word.text]
            if forms[0].startswith(("%td", "%-td", "%d")):
                one.value_type = "date"
            elif forms[0].startswith(("%t", "%-t")):
                one.value_type = "other"
            elif forms[0].endswith("s"):
                one.value_type = "text"
            elif (found := _NUMBER.fullmatch(forms[0])) and int(found.group(1)):
                one.value_type, one.decimals = "number", int(found.group(1))

    def _words(self, text: str, number: int) -> list[_Word]:
        words = []
        for compound, simple, word, stray in _TOKEN.findall(text):
            if stray:
                self._fault("a text in quotes does not end", number)
            words.append(_Word(compound or simple or word, quoted=not word))
        return words

    def _fault(self, what: str, number: int) -> NoReturn:
        self._file.refuse(f"{what}; correct it", number)


def _without_comment(found: re.Match[str]) -> str:
    if found.group(1):
        return found.group(1)
    comment = found.group()
    return "\0\n" if comment.startswith("///") else " " + "\n" * comment.count("\n")


def _is_word(code: str) -> bool:
    """Whether a code is no number, nor one of the .a to .z that stand among numbers."""
    return number_of(code) is None and not code.startswith(".")


def _pieces(text: str, mark: str) -> list[str]:
    """Parts of a text between marks that do not stand in quotes."""
    parts, start, quoted = [], 0, False
    for k, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif sign == mark and not quoted:
            parts.append(text[start:k])
            start = k + 1
    return [*parts, text[start:]]
