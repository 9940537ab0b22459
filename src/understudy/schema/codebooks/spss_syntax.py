"""SPSS syntax (`.sps`): the commands that label variables and values. None of it is run.

COMPUTE, RECODE … INTO and IF say how a variable was computed (`stated_rules`).

Read are VARIABLE LABELS, VALUE LABELS and ADD VALUE LABELS, MISSING VALUES, VARIABLE LEVEL, FORMATS
and FILE LABEL, each ended by a full stop at the end of a line or by an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from understudy.schema.cell_values import number_of
from understudy.schema.codebooks.codebook_file import CodebookFile
from understudy.schema.codebooks.labelled_variables import Variables
from understudy.schema.codebooks.stated_rules import target_of
from understudy.schema.codebooks.variable import ValueType, Variable

_TOKEN: Final = re.compile(
    r"""/\*.*?(?:\*/|$)|'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*"|[/(),=+]|[^\s'"/(),=+]+|['"]""",
    re.MULTILINE,
)
_COMMANDS: Final = {
    "variable labels": re.compile(r"var\w*\s+lab\w*\b", re.IGNORECASE),
    "value labels": re.compile(r"(?:add\s+)?val\w*\s+lab\w*\b", re.IGNORECASE),
    "missing values": re.compile(r"mis\w*\s+val\w*\b", re.IGNORECASE),
    "variable level": re.compile(r"var\w*\s+lev\w*\b", re.IGNORECASE),
    "formats": re.compile(r"(?:print\s+|write\s+)?formats?\b", re.IGNORECASE),
    "file label": re.compile(r"file\s+lab\w*\b", re.IGNORECASE),
}
_COMMENT: Final = re.compile(r"\*|comment\b", re.IGNORECASE)
_BLOCK: Final = re.compile(r"do\s+(?:if|repeat)\b|loop\b|end\s+(?:if|repeat|loop)\b", re.IGNORECASE)
_COMPUTED: Final = re.compile(r"(?:compute|recode|if)\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"if\s*\(.*?\)\s*(?=[^\W\d][\w.@#$]*\s*=)", re.IGNORECASE)
_FORMAT: Final = re.compile(r"([A-Z]+)\d*(?:\.(\d{1,2}))?", re.IGNORECASE)
_DAYS: Final = frozenset({"DATE", "ADATE", "EDATE", "JDATE", "SDATE"})
_NUMBERS: Final = frozenset({"F", "COMMA", "DOT", "N", "PCT", "DOLLAR", "E"})
_MOST_LINES = 6  # of a label
_OPEN: Final = frozenset({"lo", "low", "lowest", "hi", "high", "highest"})


@dataclass(frozen=True)
class _Token:
    """A word, mark or text, and its line."""

    text: str
    line: int
    quoted: bool


class SpssSyntax:
    """What a syntax file says.

    Args:
        file: the codebook.

    Raises:
        SchemaError: a command that is not as it should be; names the line.
    """

    def __init__(self, file: CodebookFile) -> None:
        self.title = ""
        self._file = file
        self._variables = Variables(any_case=True)
        self._blocks = 0  # of commands that are not for every row, which are open
        for command, tokens in self._commands():
            {
                "variable labels": self._variable_labels,
                "value labels": self._value_labels,
                "missing values": self._missing_values,
                "variable level": self._levels,
                "formats": self._formats,
                "file label": self._file_label,
            }[command](tokens)

    def variables(self) -> Iterator[Variable]:
        """The variables, in the order in which they are first named."""
        return self._variables.described()

    def _commands(self) -> Iterator[tuple[str, list[_Token]]]:
        lines: list[tuple[int, str]] = []
        text = self._file.text().replace("\r\n", "\n").replace("\r", "\n")
        for number, line in enumerate([*text.split("\n"), ""], start=1):
            bare = line.strip()
            if bare:
                lines.append((number, bare))
            if lines and (not bare or bare.endswith(".")):
                yield from self._command(lines)
                lines = []

    def _command(self, lines: list[tuple[int, str]]) -> Iterator[tuple[str, list[_Token]]]:
        first = lines[0][1]
        if _COMMENT.match(first):
            return
        if _BLOCK.match(first):
            self._blocks += 1 if first[:3].lower() != "end" else -1
            return
        if _COMPUTED.match(first):
            self._computed(" ".join(line for _, line in lines))
            return
        for command, pattern in _COMMANDS.items():
            if head := pattern.match(first):
                rest = [(lines[0][0], first[head.end() :]), *lines[1:]]
                number, last = rest[-1]
                rest[-1] = number, last.removesuffix(".")
                whole = _with_whole_quotes(rest)
                yield command, [one for number, line in whole for one in self._tokens(line, number)]

    def _computed(self, command: str) -> None:
        """Note what a command computes; one under a condition is no rule for all records."""
        bare = _CONDITION.sub("", command)
        if target := target_of(bare):
            self._variables.computed(target, f"DO IF: {command}" if self._blocks else command)

    def _tokens(self, line: str, number: int) -> Iterator[_Token]:
        for text in _TOKEN.findall(line):
            if text in {"'", '"'}:
                self._file.refuse("a text in quotes does not end; close it", number)
            if text.startswith("/*"):
                continue
            if text[0] in "'\"":
                yield _Token(text[1:-1].replace(text[0] * 2, text[0]), number, quoted=True)
            else:
                yield _Token(text, number, quoted=False)

    def _file_label(self, tokens: list[_Token]) -> None:
        self.title = " ".join(token.text for token in tokens)

    def _variable_labels(self, tokens: list[_Token]) -> None:
        for names, rest in self._groups(_joined(tokens)):
            if len(rest) != 1 or not rest[0].quoted:
                self._fault(rest or names, "VARIABLE LABELS needs names, each with a text")
            for name in self._names(names):
                self._variables[name].label = rest[0].text

    def _value_labels(self, tokens: list[_Token]) -> None:
        for names, rest in self._groups(_joined(tokens)):
            if not names or len(rest) % 2 or not all(token.quoted for token in rest[1::2]):
                self._fault(rest or names, "VALUE LABELS needs names, then codes, each with a text")
            pairs = zip(rest[::2], rest[1::2], strict=True)
            labels = {code.text: label.text for code, label in pairs}
            for name in self._names(names):
                one = self._variables[name]
                one.lists.append(labels)
                one.text |= any(code.quoted for code in rest[::2])

    def _missing_values(self, tokens: list[_Token]) -> None:
        for names, inside in self._in_brackets(tokens, "MISSING VALUES"):
            values = [token for token in inside if token.text != ","]
            words = [token.text.lower() for token in values]
            while "thru" in words:
                k = words.index("thru")
                if not 0 < k < len(words) - 1:
                    self._fault(values, "THRU needs a value on both sides")
                ends = tuple("" if word in _OPEN else word for word in (words[k - 1], words[k + 1]))
                for name in self._names(names):
                    self._variables[name].ranges.append((ends[0], ends[1]))
                del words[k - 1 : k + 2], values[k - 1 : k + 2]
            for name in self._names(names):
                one = self._variables[name]
                one.missing |= {token.text: None for token in values}
                one.text |= any(token.quoted for token in values)

    def _levels(self, tokens: list[_Token]) -> None:
        for names, inside in self._in_brackets(tokens, "VARIABLE LEVEL"):
            for name in self._names(names):
                self._variables[name].measure = inside[0].text.lower() if inside else ""

    def _formats(self, tokens: list[_Token]) -> None:
        for names, inside in self._in_brackets(tokens, "FORMATS"):
            form = _FORMAT.fullmatch(inside[0].text) if len(inside) == 1 else None
            if form is None:
                self._fault(names, "FORMATS needs names, then a format in brackets")
            decimals = int(form.group(2) or 0)
            for name in self._names(names):
                one = self._variables[name]
                one.value_type = _holds(form.group(1).upper(), decimals)
                one.decimals = decimals if one.value_type in {"integer", "number"} else None

    def _groups(self, tokens: list[_Token]) -> Iterator[tuple[list[_Token], list[_Token]]]:
        """Names, and what follows them up to the next names."""
        names: list[_Token] = []
        rest: list[_Token] = []
        for token in tokens:
            is_name = not token.quoted and number_of(token.text) is None and token.text != "/"
            if (token.text == "/" and not token.quoted) or (is_name and rest):
                if names or rest:
                    yield names, rest
                names, rest = [], []
            if is_name and token.text != ",":
                names.append(token)
            elif token.quoted or number_of(token.text) is not None:
                rest.append(token)
        if names or rest:
            yield names, rest

    def _in_brackets(
        self, tokens: list[_Token], command: str
    ) -> Iterator[tuple[list[_Token], list[_Token]]]:
        """Names, and what stands in brackets behind them."""
        names: list[_Token] = []
        inside: list[_Token] | None = None
        for token in tokens:
            if token.text == "(" and not token.quoted:
                inside = []
            elif token.text == ")" and not token.quoted and inside is not None:
                yield names, inside
                names, inside = [], None
            elif inside is not None:
                inside.append(token)
            elif token.text not in {"/", ","}:
                names.append(token)
        if names or inside is not None:
            self._fault(names or tokens, f"{command} needs names, then values in brackets")

    def _names(self, tokens: list[_Token]) -> Iterator[str]:
        """Names, those of `first TO last` written out."""
        words = [token.text for token in tokens]
        k = 0
        while k < len(words):
            if k + 2 < len(words) and words[k + 1].lower() == "to":
                between = self._variables.between(words[k], words[k + 2])
                if between is None:
                    self._fault(
                        tokens,
                        f"{words[k]} TO {words[k + 2]} names variables that no earlier command "
                        "does; write their names out",
                    )
                yield from between
                k += 3
            else:
                yield words[k]
                k += 1

    def _fault(self, tokens: list[_Token], what: str) -> NoReturn:
        self._file.refuse(f"{what}; correct it", tokens[0].line if tokens else None)


def _with_whole_quotes(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The same, lines of which a quote stays open joined with the next; published files have them.

    Args:
        lines: of a command, each with its number.
    """
    whole: list[tuple[int, str]] = []
    for number, line in lines:
        if whole and _is_open(whole[-1][1]) and number - whole[-1][0] < _MOST_LINES:
            whole[-1] = whole[-1][0], f"{whole[-1][1]} {line}"
        else:
            whole.append((number, line))
    return whole


def _is_open(line: str) -> bool:
    return any(text in {"'", '"'} for text in _TOKEN.findall(line))


def _joined(tokens: list[_Token]) -> list[_Token]:
    """The same with texts that a plus sign joins as one."""
    joined: list[_Token] = []
    for k, token in enumerate(tokens):
        if token.text in {"+", "="} and not token.quoted:
            continue
        if joined and token.quoted and k and tokens[k - 1].text == "+" and joined[-1].quoted:
            joined[-1] = _Token(joined[-1].text + token.text, joined[-1].line, quoted=True)
        else:
            joined.append(token)
    return joined


def _holds(form: str, decimals: int) -> ValueType:
    if form in {"A", "AHEX"}:
        return "text"
    if form in _NUMBERS:
        return "number" if decimals else "integer"
    return "date" if form in _DAYS else "other"
