"""Codebooks in the syntax of SPSS (`.sps`) and of Stata (`.do`). None of it is run.

**SPSS syntax (`.sps`): the commands that label variables and values. None of it is run.**

COMPUTE, RECODE … INTO and IF say how a variable was computed (`metadata.variables`).

Read are VARIABLE LABELS, VALUE LABELS and ADD VALUE LABELS, MISSING VALUES, VARIABLE LEVEL, FORMATS
and FILE LABEL, each ended by a full stop at the end of a line or by an empty line.

**Stata syntax (`.do`): the commands that label variables and values. None of it is run.**

Read are `label variable`, `label define`, `label values`, `label data` and `format`, in full or
abbreviated, one a line, continued by `///`, or ended by a semicolon after `#delimit ;`. `generate`,
`egen` and `replace` say how a variable was computed (`metadata.variables`). All other commands are
passed over.

**What the commands of a syntax file say about variables, gathered until all of them are read.**
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from understudy.metadata.source import CodebookFile
from understudy.metadata.variables import CodedValue, ValueType, Variable, target_of
from understudy.schema.base import number_of


@dataclass
class Gathered:
    """The statements about one variable so far.

    Attributes:
        name: as it was first written.
        label: of the variable.
        value_type: what its format says.
        decimals: likewise.
        measure: level of measurement, in lower case.
        lists: code → label, in several parts; what is said again replaces what was said first.
            Parts are shared, since a short file can give one list to many variables.
        missing: codes of *not known*.
        ranges: ranges of these.
        text: whether a code was written as text.
        rules: commands that compute it.
    """

    name: str
    label: str = ""
    value_type: ValueType = ""
    decimals: int | None = None
    measure: str = ""
    lists: list[Mapping[str, str]] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    ranges: list[tuple[str, str]] = field(default_factory=list)
    text: bool = False
    rules: list[str] = field(default_factory=list)

    def variable(self) -> Variable:
        """The variable."""
        labels = {code: label for part in self.lists for code, label in part.items()}
        listed = {**labels, **{code: "" for code in self.missing if code not in labels}}
        tagged = not self.text and any(number_of(code) is not None for code in labels)
        return Variable(
            name=self.name,
            label=self.label,
            value_type=self.value_type or ("text" if self.text else ""),
            values=tuple(
                CodedValue(code, label, "missing" if self._is_absence(code, tagged) else "")
                for code, label in listed.items()
            ),
            absent_ranges=tuple(self.ranges),
            on_a_scale=self.measure == "scale",
            ordered=self.measure == "ordinal",
            decimals=self.decimals,
            rules=tuple(self.rules),
        )

    def _is_absence(self, code: str, tagged: bool) -> bool:
        # .a to .z are what Stata writes for numbers that are absent.
        return code in self.missing or (tagged and len(code) == 2 and code[0] == ".")


class Variables:
    """All variables, in the order in which they were first named; their case does not matter."""

    def __init__(self, *, any_case: bool) -> None:
        self._any_case = any_case
        self._known: dict[str, Gathered] = {}
        self._rules: dict[str, list[str]] = {}

    def __getitem__(self, name: str) -> Gathered:
        """Return what was said of a variable; a new one if nothing was."""
        return self._known.setdefault(self._key(name), Gathered(name))

    def names_between(self, first: str, last: str) -> list[str] | None:
        """Names from one variable to another; None if they were not both named before."""
        keys = list(self._known)
        ends = [self._key(first), self._key(last)]
        if not all(end in self._known for end in ends):
            return None
        low, high = (keys.index(end) for end in ends)
        return [self._known[key].name for key in keys[low : high + 1]]

    def note_computation(self, name: str, command: str) -> None:
        """Note that a command computes a variable, if anything else is said of it."""
        self._rules.setdefault(self._key(name), []).append(command)

    def describe_variables(self) -> Iterator[Variable]:
        """The variables."""
        for key, commands in self._rules.items():
            if key in self._known:
                self._known[key].rules[:] = commands
        return (one.variable() for one in self._known.values())

    def _key(self, name: str) -> str:
        return name.lower() if self._any_case else name


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
    """The content of a syntax file.

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
        return self._variables.describe_variables()

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
            self._note_computation(" ".join(line for _, line in lines))
            return
        for command, pattern in _COMMANDS.items():
            if head := pattern.match(first):
                rest = [(lines[0][0], first[head.end() :]), *lines[1:]]
                number, last = rest[-1]
                rest[-1] = number, last.removesuffix(".")
                whole = _with_whole_quotes(rest)
                yield command, [one for number, line in whole for one in self._tokens(line, number)]

    def _note_computation(self, command: str) -> None:
        """Note what a command computes; one under a condition is no rule for all records."""
        bare = _CONDITION.sub("", command)
        if target := target_of(bare):
            self._variables.note_computation(
                target, f"DO IF: {command}" if self._blocks else command
            )

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
        for names, rest in self._groups(_join_texts(tokens)):
            if len(rest) != 1 or not rest[0].quoted:
                self._fault(rest or names, "VARIABLE LABELS needs names, each with a text")
            for name in self._names(names):
                self._variables[name].label = rest[0].text

    def _value_labels(self, tokens: list[_Token]) -> None:
        for names, rest in self._groups(_join_texts(tokens)):
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
                between = self._variables.names_between(words[k], words[k + 2])
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


def _join_texts(tokens: list[_Token]) -> list[_Token]:
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


_STATA_COMMENT: Final = re.compile(
    r"""(`".*?"'|"[^"\n]*")|/\*.*?\*/|///[^\n]*\n|(?:(?<=\s)|^)//[^\n]*""", re.DOTALL | re.MULTILINE
)
_STATA_TOKEN: Final = re.compile(r"""`"(.*?)"'|"([^"\n]*)"|([^\s"`,]+|,)|(["`])""", re.DOTALL)
_PREFIX: Final = re.compile(r"(?:(?:cap\w*|qui\w*|noi\w*)\s+)*", re.IGNORECASE)
_LABEL: Final = re.compile(r"la(?:b(?:el?)?)?\s+([a-z]+)\b", re.IGNORECASE)
_STATA_COMPUTED: Final = re.compile(
    r"(?:g|gen\w*|egen|replace)\s+(?:(?:byte|int|long|float|double|str\w*)\s+)?(\w+)\s*=(?!=)"
)
_STATA_FORMAT: Final = re.compile(r"form?a?t?\s+(?=.*%)")
_NUMBER: Final = re.compile(r"%-?0?\d*[.,](\d{1,2})[fg]c?")


@dataclass(frozen=True)
class _Word:
    """A word or a text in quotes."""

    text: str
    quoted: bool


class StataSyntax:
    """The content of a do-file.

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
        return self._variables.describe_variables()

    def _commands(self) -> Iterator[tuple[int, str]]:
        text = self._file.text().replace("\r\n", "\n").replace("\r", "\n")
        # Comments go, the line breaks in them stay, so that lines keep their numbers.
        bare = _STATA_COMMENT.sub(_without_comment, text)
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
        if computed := _STATA_COMPUTED.match(command):
            self._variables.note_computation(computed[1], command)
            return
        if _STATA_FORMAT.match(command):
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
        for compound, simple, word, stray in _STATA_TOKEN.findall(text):
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
    """Return whether a code is no number, nor one of the .a to .z that stand among numbers."""
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
