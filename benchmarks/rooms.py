"""The rooms of the package as a picture: ``python benchmarks/rooms.py`` writes `docs/rooms.svg`.

All of it is read from the source: rooms and the rooms within them are folders, storeys follow from
the imports (a room stands just above the highest room that imports it), sizes are counted. An arrow
leads from a room to one that it imports; of the grey arrows, those are left out that follow from
others. Red are all imports of the room that holds the rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from house import (
    PACKAGE,
    ROOT,
    House,
    closure,
    edges_between,
    read_house,
    shortest,
    storeys,
)

PICTURE = ROOT / "docs" / "rooms.svg"
SECRET = "data"
KINDS = {
    "secret": ("the rows", (SECRET,)),
    "boundary": ("the boundary", ("dp", "mechanisms", "checkpoint")),
    "released": (
        "released values",
        ("models", "graphical", "methods", "papers", "release", "inference", "report"),
    ),
    "internal": ("compares with the rows: internal", ("evaluate", "steward")),
    "plain": ("public facts, and faces", ()),
}
"""What the colours mean, and whose they are; every other room is plain."""

WIDTH, MARGIN, GAP, STOREY_GAP = 960, 64, 14, 34
PAD, NAME, LINE, CHIP = 12, 20, 17, 24
LETTER = 7
"""Width of a letter of 13 pixels in wide fonts, on average."""

STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
.name { font-weight: 600; font-size: 16px; }
.size { fill: #57606a; font-size: 12px; }
.box { stroke-width: 1.5; }
.chip { fill: #ffffff; fill-opacity: .72; stroke: #8c959f; stroke-opacity: .5; }
.arrow { fill: none; stroke: #8c959f; stroke-width: 1.5; }
.head { fill: #8c959f; }
.look { fill: none; stroke: #cf222e; stroke-width: 2; }
.look-head { fill: #cf222e; }
.ground { fill: #ffffff; }
.secret { fill: #ffebe9; stroke: #cf222e; }
.boundary { fill: #fff8c5; stroke: #9a6700; }
.released { fill: #dafbe1; stroke: #1a7f37; }
.internal { fill: #fbefff; stroke: #8250df; }
.plain { fill: #f6f8fa; stroke: #8c959f; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.size { fill: #9da7b3; }
.chip { fill: #0d1117; fill-opacity: .55; stroke: #8b949e; }
.arrow { stroke: #6e7681; }
.head { fill: #6e7681; }
.look { stroke: #ff7b72; }
.look-head { fill: #ff7b72; }
.ground { fill: #0d1117; }
.secret { fill: #3c1618; stroke: #ff7b72; }
.boundary { fill: #2f2610; stroke: #d29922; }
.released { fill: #12261e; stroke: #3fb950; }
.internal { fill: #271d3d; stroke: #a371f7; }
.plain { fill: #161b22; stroke: #6e7681; }
}
""".strip()


@dataclass
class Room:
    """A file or folder at the root of the package, and where it stands in the picture."""

    name: str
    says: str = ""
    files: int = 0
    lines: int = 0
    inner: dict[str, int] = field(default_factory=dict)
    x: float = 0
    y: float = 0
    width: float = 0

    @property
    def kind(self) -> str:
        """Its colour."""
        return next((kind for kind, (_, rooms) in KINDS.items() if self.name in rooms), "plain")

    @property
    def sentence(self) -> list[str]:
        """What it says of itself, in lines that fit."""
        return textwrap.wrap(self.says, int((self.width - 2 * PAD) / LETTER))

    @property
    def chips(self) -> list[list[str]]:
        """The rooms within it, in rows that fit."""
        rows: list[list[str]] = [[]] if self.inner else []
        for name, files in self.inner.items():
            label = f"{name} {files}"
            if rows[-1] and _chips_width([*rows[-1], label]) > self.width - 2 * PAD:
                rows.append([])
            rows[-1].append(label)
        return rows

    @property
    def height(self) -> float:
        """What name, sentence, size and inner rooms take."""
        lines = NAME + LINE * (len(self.sentence) + 1)
        return 2 * PAD + lines + (CHIP + 4) * len(self.chips) - 2


def _chip_width(label: str) -> float:
    wide = sum(label.count(letter) for letter in "mw")
    return len(label) * LETTER + 5 * wide + 16


def _chips_width(labels: Iterable[str]) -> float:
    return sum(_chip_width(label) + 6 for label in labels) - 6


def room_of(module: str) -> str:
    """The room of a module; the package's own face has none."""
    room = module.removeprefix(f"{PACKAGE}.").partition(".")[0]
    return "" if room in {PACKAGE, "__main__"} else room


def rooms_of(house: House) -> dict[str, Room]:
    """All rooms, with their sizes and the rooms within them."""
    rooms = {name: Room(name) for name in sorted({room_of(one) for one in house} - {""})}
    for name, module in house.items():
        if room := rooms.get(room_of(name)):
            room.files += 1
            room.lines += module.lines
            room.says = room.says or module.first_sentence
    for room in rooms.values():
        room.inner = _inner_rooms(house, f"{PACKAGE}.{room.name}.")
    return rooms


def _inner_rooms(house: House, prefix: str) -> dict[str, int]:
    """Folders within a room → their files; what others rest on comes first."""
    parts = {name: name.removeprefix(prefix).split(".") for name in house}
    parts = {name: rest for name, rest in parts.items() if name.startswith(prefix)}
    files: dict[str, set[str]] = {rest[0]: set() for rest in parts.values() if len(rest) > 1}
    for name, rest in parts.items():
        if rest[0] in files:
            files[rest[0]].add(name)
    order = {
        name: sum(1 for one in closure(modules, house) if one.startswith(prefix))
        for name, modules in files.items()
    }
    return {name: len(files[name]) for name in sorted(files, key=lambda one: (order[one], one))}


def lay_out(rooms: dict[str, Room], levels: dict[str, int]) -> float:
    """Give each room its place; returns the height of all."""
    y = float(STOREY_GAP + 30)
    for level in range(max(levels.values()) + 1):
        row = [room for name, room in rooms.items() if levels[name] == level]
        row.sort(key=lambda one: (one.kind == "plain", -one.lines))
        shares = [1.0 if room.files == 1 else 1.6 for room in row]
        free = WIDTH - 2 * MARGIN - GAP * (len(row) - 1)
        x = float(MARGIN)
        for room, share in zip(row, shares, strict=True):
            room.x, room.y, room.width = round(x, 1), y, round(free * share / sum(shares), 1)
            x += room.width + GAP
        y += max(room.height for room in row) + STOREY_GAP
    return y


def drawn_room(room: Room) -> list[str]:
    """A box with its texts."""
    x, y = room.x + PAD, room.y + PAD + 13
    size = f"{room.files} files" if room.files > 1 else "1 file"
    parts = [
        f'<rect class="box {room.kind}" x="{room.x:g}" y="{room.y:g}" width="{room.width:g}" '
        f'height="{room.height:g}" rx="8"/>',
        f'<text class="name" x="{x:g}" y="{y:g}">{escape(room.name)}</text>',
    ]
    y += NAME
    for line in room.sentence:
        parts.append(f'<text x="{x:g}" y="{y:g}">{escape(line)}</text>')
        y += LINE
    parts.append(f'<text class="size" x="{x:g}" y="{y:g}">{size} · {room.lines:,} lines</text>')
    for row in room.chips:
        parts += drawn_chips(row, x, y + 10)
        y += CHIP + 4
    return parts


def drawn_chips(labels: list[str], x: float, y: float) -> list[str]:
    """A row of rooms within a room."""
    parts = []
    for label in labels:
        width = _chip_width(label)
        parts += [
            f'<rect class="chip" x="{x:g}" y="{y:g}" width="{width:g}" height="{CHIP}" rx="5"/>',
            f'<text x="{x + 8:g}" y="{y + 16:g}">{escape(label)}</text>',
        ]
        x = round(x + width + 6, 1)
    return parts


class Arrows:
    """Lines between boxes: short ones straight, long ones by lanes in the margins."""

    def __init__(self, rooms: dict[str, Room], levels: dict[str, int]) -> None:
        self._rooms = rooms
        self._levels = levels
        self._lanes: dict[tuple[str, str], float] = {}

    def drawn(self, room: str, other: str) -> str:
        """The arrow from a room to another, which it imports."""
        look = other == SECRET
        start, end = self._rooms[room], self._rooms[other]
        near = self._levels[room] == self._levels[other] + 1
        path = self._short(start, end, look) if near else self._long(start, end, look)
        kind = "look" if look else "arrow"
        return (
            f'<path class="{kind}" d="{path}" marker-end="url(#{kind})">'
            f"<title>{room} imports {other}</title></path>"
        )

    def _short(self, start: Room, end: Room, look: bool) -> str:
        left = max(start.x, end.x)
        right = min(start.x + start.width, end.x + end.width)
        top = end.y + end.height + 2
        if right - left > 4 * PAD:
            at = round(left + (right - left) * (0.4 if look else 0.5), 1)
            return f"M{at:g},{start.y:g} V{top:g}"
        middle = start.y - STOREY_GAP / 2
        a, b = start.x + start.width / 2, end.x + end.width / 2
        return f"M{a:g},{start.y:g} C{a:g},{middle:g} {b:g},{middle:g} {b:g},{top:g}"

    def _long(self, start: Room, end: Room, look: bool) -> str:
        """Up to the storey's ceiling, out to a lane of the target's own, up, in, and up to it."""
        side = "left" if look else "right"
        taken = sum(1 for where, _ in self._lanes if where == side)
        step = self._lanes.setdefault((side, end.name), 16 + 10 * taken)
        lane = MARGIN - step if look else WIDTH - MARGIN + step
        a = start.x + (start.width * 0.1 if look else start.width * 0.9)
        b = end.x + (end.width * 0.1 if look else end.width * 0.9)
        out, into = start.y - STOREY_GAP / 2, end.y + self._floor(end) + STOREY_GAP / 2
        top = end.y + end.height + 2
        return f"M{a:g},{start.y:g} V{out:g} H{lane:g} V{into:g} H{b:g} V{top:g}"

    def _floor(self, room: Room) -> float:
        """Height of the storey that a room stands on: that of its highest room."""
        return max(one.height for one in self._rooms.values() if one.y == room.y)


def legend() -> list[str]:
    """What the colours mean."""
    parts, x = [], float(MARGIN)
    for kind, (words, _) in KINDS.items():
        parts += [
            f'<rect class="box {kind}" x="{x:g}" y="14" width="16" height="16" rx="4"/>',
            f'<text x="{x + 22:g}" y="27">{escape(words)}</text>',
        ]
        x = round(x + 22 + len(words) * LETTER + 22, 1)
    return parts


def picture(house: House) -> str:
    """The whole drawing as SVG."""
    edges = edges_between(house, room_of)
    rooms, levels = rooms_of(house), storeys(edges)
    height = lay_out(rooms, levels)
    arrows = Arrows(rooms, levels)
    looks = {(room, SECRET) for room, others in edges.items() if SECRET in others}
    lines = sorted(shortest(edges) - looks) + sorted(looks)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        'aria-label="The rooms of the package: what each imports, and how large it is">',
        f"<style>{STYLE}</style>",
        "<defs>",
        *(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto-start-reverse"><path class="{head}" '
            'd="M0,0 L8,4 L0,8 z"/></marker>'
            for name, head in (("arrow", "head"), ("look", "look-head"))
        ),
        "</defs>",
        f'<rect class="ground" width="{WIDTH}" height="{height:g}"/>',
        *legend(),
        *(arrows.drawn(room, other) for room, other in lines),
        *(part for room in rooms.values() for part in drawn_room(room)),
        "</svg>",
    ]
    return "\n".join(body) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(read_house()), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is written.")
