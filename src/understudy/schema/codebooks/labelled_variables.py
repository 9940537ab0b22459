"""What the commands of a syntax file say about variables, gathered until all of them are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from understudy.schema.cell_values import number_of
from understudy.schema.codebooks.variable import CodedValue, ValueType, Variable


@dataclass
class Gathered:
    """What was said of one variable so far.

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
        """What was said of a variable; a new one if nothing was."""
        return self._known.setdefault(self._key(name), Gathered(name))

    def between(self, first: str, last: str) -> list[str] | None:
        """Names from one variable to another; None if they were not both named before."""
        keys = list(self._known)
        ends = [self._key(first), self._key(last)]
        if not all(end in self._known for end in ends):
            return None
        low, high = (keys.index(end) for end in ends)
        return [self._known[key].name for key in keys[low : high + 1]]

    def computed(self, name: str, command: str) -> None:
        """Note that a command computes a variable, if anything else is said of it."""
        self._rules.setdefault(self._key(name), []).append(command)

    def described(self) -> Iterator[Variable]:
        """The variables."""
        for key, commands in self._rules.items():
            if key in self._known:
                self._known[key].rules[:] = commands
        return (one.variable() for one in self._known.values())

    def _key(self, name: str) -> str:
        return name.lower() if self._any_case else name
