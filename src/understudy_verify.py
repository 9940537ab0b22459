"""Checks a release folder by `docs/release-format.md` alone, sharing no code with what made it."""

import argparse
import hashlib
import json
import math
import re
import sys
import tomllib
from datetime import date, timedelta
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path
from typing import Any

RULES = ["manifest", "files", "signature", "schema", "budget", "ledger", "noise", "guarantee"]
RULES += ["measurements", "cells", "sets", "pages"]
SHAPE = """: format! method! reason! rows_obtained! files! software! options! secure! sets!
 sets_kind! n_rows! sampling_seed! guarantee! budget! ledger! measurements! inference! ended_early
 rows_share analyses answers_share lines_share layer_share priority expected amendments
.guarantee: kind! epsilon! delta! rho! mu neighbours! statement! public_inputs! conditions! leaks!
.budget: epsilon! delta! unit! amount!
.ledger: number! mechanism! query! sensitivity! noise! cells! epsilon epsilon_exact rho rho_exact
 half_mu_squared half_mu_squared_exact
.measurements: name! kind! columns! of! cells! outside! law! scale! stddev! threshold! groups
 ledger_entry! totals! bins! ranks
.inference: posterior_rule! swept! shrunk! independent! modelled! network! prior_weight!
 leaves_only! rows_stddev"""
PART, TINY, EPOCH = 2**20, 2**-35, date(1970, 1, 1).toordinal()
UNITS = {"epsilon": "ε", "rho": "ρ", "half_mu_squared": "μ²/2"}
COUNTS = "(noisy|(filtered|lazy) noisy|lazy leaf) (table|count|number line|heaps|layer|ranges|rows)"
UNBOUNDED = "exact (table|moment)|(pseudo )?posterior|as they stand|diverse rows"
DRAWS = {"urn draws", "perturbed sweeps", "blocks with reset", "perturbed imputation"}
DAY, CLOCK = r"(\d{4}-\d\d-\d\d)", r"(\d\d):(\d\d)(?::(\d\d))?"
TIMES = {"date": f"{DAY}()()()", "datetime": f"{DAY}(?:[T ]{CLOCK})?", "time": f"(){CLOCK}"}
TIMES["duration"] = r"-?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?"  # four parts each
LEVELS, NUMBERS = {"categorical", "ordinal", "boolean"}, {"integer", "continuous", *TIMES}
SECONDS = {"date": 86400, "day": 86400, "hour": 3600, "minute": 60}
KEPT = {"date": "date32[day]", "datetime": "timestamp[us]", "time": "time64[", "duration": "dur"}
BESIDE = r"(report|results|codebook)\.html|codebook\.xml|(datapackage|tableschema|croissant)\.json"
WHOLE = {"table", "sums", "means", "distribution", "line"}
STORED = WHOLE | {"cells", "nodes", "leaf-sums", "ranges", "products", "ranks", "heaps"}
LATTICE = r"(?:, on the lattice of step ([^\s,]+))?"
LAWS = {
    rf"discrete Gaussian, variance ([^\s,]+){LATTICE}": "discrete_gaussian",
    r"discrete Laplace \(geometric\), scale ([^\s,]+)": "discrete_laplace",
    rf"Laplace, scale ([^\s,]+){LATTICE}": "lattice_laplace",
    r"Laplace in floating point, scale ([^\s;,]+)(?:[;,] .*)?": "laplace",
    r"exp\(−distance / ([^\s)]+)\), the largest error of .*": "exponential_mechanism",
    rf"density ∝ exp\(−‖v‖∞/s\), s = ([^\s,]+), in \d+ \w+{LATTICE}": "discrete_cube_laplace",
    rf"[^,]*Laplace[^,]*,? scale ([^\s,]+){LATTICE}, redrawn .* that": "truncated",
}

# What a page is made of, and where in it a text is seen.
AROUND = {"html", "body", "main", "section"}
SEEN = AROUND | {"header", "footer", "div", "p", "blockquote", "strong", "code", "h1", "h2", "h3"}
SEEN |= {"ul", "li"}
ELEMENTS = SEEN | {
    *("a", "article", "caption", "dd", "details", "dl", "dt", "figcaption", "figure", "g", "head"),
    *("i", "meta", "nav", "path", "pre", "rect", "small", "span", "style", "summary", "sup"),
    *("svg", "table", "tbody", "td", "text", "tfoot", "th", "thead", "title", "tr"),
}
ALONE = {"meta", "path", "rect"}
ATTRIBUTES = {
    *("aria-hidden", "aria-label", "aria-labelledby", "charset", "class", "colspan", "content"),
    *("d", "data-label", "height", "href", "http-equiv", "id", "lang", "name"),
    *("preserveaspectratio", "role", "scope", "style", "tabindex", "viewbox", "width"),
    *("x", "xmlns", "y"),
}
STYLE = re.compile(r"((fill|stroke(-[a-z]+)?|width):[\w.%()#, -]+;?\s*)*")
LINK = re.compile(r"#[^\s]*|https?://[^\s]*|[\w./-]*")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SHEETS = {"8b487f6179a6315cf5a64270c772a6b21e05aa95e4506e849318e6ed748d490c"}


class Fault(Exception):
    """A rule that is broken, or that could not be checked, and why."""


def require(holds: object, words: str) -> bool:
    """Refuse what does not hold."""
    if not holds:
        raise Fault("broken", words)
    return True


def misfit(value: Any, path: str = "") -> str:
    """An entry of a manifest that lacks ("!" may not), or is one too many; "" if there is none."""
    if isinstance(value, list):
        return next((fault for one in value if (fault := misfit(one, path))), "")
    listed = re.search(rf"^{re.escape(path)}: ((.|\n )+)", SHAPE, re.MULTILINE)
    if listed is None or value is None:
        return ""
    needed = {name.rstrip("!"): name[-1] == "!" for name in listed[1].split()}
    odd = {name for name in needed if needed[name]} - {*value} | {*value} - {*needed}
    inner = (fault for name in value if (fault := misfit(value[name], f"{path}.{name}")))
    return f"{path}.{min(odd)}" if odd else next(inner, "")


def strict_json(file: Path) -> Any:
    """The content of JSON in which no name stands twice and every number is finite."""
    text, why = file.read_text(encoding="utf-8"), "a name stands twice"
    found = json.loads(
        text, object_pairs_hook=lambda p: require(len(dict(p)) == len(p), why) and dict(p)
    )
    json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # and no half of a character
    return found


def _decimal_up(x: Fraction) -> str:
    return format(Context(12, ROUND_CEILING).divide(x.numerator, x.denominator).normalize(), "f")


def _log_tail(x: float) -> float:
    if x < 25:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    series = math.log1p(-(x**-2) + 3 * x**-4 - 15 * x**-6 + 105 * x**-8)
    return -(x**2) / 2 - math.log(x * math.sqrt(2 * math.pi)) + series


def log_delta(unit: str, amount: float, epsilon: float) -> float:
    """Log δ of the (ε, δ) that an amount of zCDP or Gaussian DP implies."""
    if unit == "half_mu_squared":
        mu = math.sqrt(2 * amount)
        near, far = (_log_tail(epsilon / mu + side * mu / 2) for side in (-1, 1))
        return near + math.log(-math.expm1(min(-1e-300, epsilon + far - near)))

    def bound(t: float) -> float:  # quasi-convex in t = log(α − 1)
        x = math.exp(t)
        return x * ((1 + x) * amount - epsilon) - t - (1 + x) * math.log1p(1 / x)

    low, high = math.log(1e-6), math.log((epsilon + 1) / (2 * amount) + 2)
    for _ in range(300):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return bound(low)


def pure_epsilon(price: Fraction, unit: str) -> Fraction:
    """The largest ε such that whatever is ε-DP costs this much at most."""
    root = Fraction(math.isqrt(2 * price.numerator * 10**24 // price.denominator), 10**12)
    if unit != "half_mu_squared":
        return price if unit == "epsilon" else root
    x = math.sqrt(price / 2)
    return Fraction(2 * math.atanh(math.erf(x / 2**0.5)) if x < 1 else _log_tail(-x) - _log_tail(x))


def gaussian_variance(price: Fraction, unit: str, squared: Fraction) -> Fraction:
    """Variance of discrete Gaussian noise on whole numbers of this squared L2 sensitivity."""
    amount = price / squared
    if unit == "rho" or amount <= Fraction(1, 8):
        return 1 / (2 * amount * (1 if unit == "rho" else 1 - amount / 6))
    mu = math.sqrt(2 * amount)
    near, far = _log_tail(mu / 2), _log_tail(3 * mu / 2)
    ring = near + math.log1p(-math.exp(far - near))
    return 1 / Fraction(2 * (math.log(math.erf(mu / math.sqrt(8))) - ring))


def _text_of(value: Any) -> str:
    value = int(value) if isinstance(value, float) and value == int(value) else value
    text = value.isoformat() if isinstance(value, date) else str(value)
    return text.lower() if isinstance(value, bool) else text


def place_of(value: Any, kind: str = "") -> float:
    """Place on the number line; of a time, seconds since 1970 or midnight; NaN if there is none."""
    if kind not in TIMES:
        number = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
        plain = isinstance(value, str) and re.fullmatch(number, value, re.ASCII)
        return float(value) if plain or type(value) in (int, float) else math.nan
    if isinstance(value, timedelta):
        return value / timedelta(seconds=1)
    if not (found := re.fullmatch(TIMES[kind], _text_of(value), re.ASCII)):
        return math.nan
    day, *clock = found.groups("")
    days = date.fromisoformat(day).toordinal() - EPOCH if "-" in day else day
    parts = zip((days, *clock), (86400, 3600, 60, 1), strict=True)
    return float(sum(int(n or 0) * size for n, size in parts) * (-1) ** (found[0][0] == "-"))


def _noted(field: Any, labels: list[str]) -> bool:
    note = "".join(f"{len(label.encode())};{label}" for label in labels).encode()
    return bool((field.metadata or {}).get(b"_PL_ENUM_VALUES2", note) == note)


class Column:
    """A declared column: its states in order, and which of them a stored value may have."""

    def __init__(self, entry: dict[str, Any], bins: Any = None) -> None:
        self.kind, self.real = entry["kind"], entry["kind"] == "continuous"
        out = [entry["out_of_domain"]] if "out_of_domain" in entry else []
        levels = [False, True] if self.kind == "boolean" else [*entry.get("levels", ())]
        self.numeric, digits = not levels, entry.get("decimals")
        require(self.kind in (NUMBERS if self.numeric else LEVELS), "a column is of no known kind")
        self.unit = SECONDS.get(entry.get("resolution", self.kind), 1) * (self.kind in TIMES)
        ends = (("lower", "00:00"), ("upper", "23:59:59"))  # of times of day; others state theirs
        self.low, self.high = (self._place(entry.get(*end)) for end in ends)
        self.cells = self._cells(entry, bins or entry.get("bins")) if self.numeric else []
        self.slack = 1e-9 * max(self.high - self.low, abs(self.low), abs(self.high)) * self.real
        self.margin = self.slack + (0 if digits is None else 0.5 * 10.0**-digits)
        self.values = [*levels, *entry.get("not_applicable", ()), *entry.get("missing", ()), *out]
        texts = [_text_of(value) or "(empty)" for value in self.values]
        require(len({*texts}) == len(texts), "a column declares a value twice")
        self.labels = [*(cell[2] for cell in self.cells), *texts]

    def _place(self, value: Any) -> float:  # in whole units of time if there are such
        return place_of(value, self.kind) // self.unit if self.unit else place_of(value, self.kind)

    def _cells(self, entry: dict[str, Any], bins: Any) -> list[tuple[float, float, str, bool]]:
        """Bins and spikes in order: first and last number, label, and whether it is a spike."""
        low, high, many = self.low, self.high, self.high - self.low + 1
        if isinstance(bins, list):
            starts = [self._place(edge) for edge in bins]
            rise = all(a < b for a, b in pairwise(starts)) and starts[0] == low
            require(rise and starts.pop() == high, "edges do not rise from bound to bound")
        elif self.kind == "time" and bins is None and self.unit < 3600:
            starts = [low, *(k for k in range(0, int(high), 3600 // self.unit) if k > low)]
        else:
            most = 50 if self.kind == "integer" and many <= 50 else 20
            n = int(bins or (20 if self.real else min(many, 24 if self.kind == "time" else most)))
            require(1 <= n <= (10**7 if self.real else many), "a column has too many bins")
            size = (high - low) / n
            starts = [low + (k * size if self.real else many * k // n) for k in range(n)]
        found = [(x, x, self.shown(x), True) for x in map(float, entry.get("spikes", ()))]
        require(all(low <= cell[0] <= high for cell in found), "a spike lies outside the bounds")
        ends = [start - (not self.real) for start in starts[1:]] + [high]
        for start, end in zip(starts, ends, strict=True):
            first, last = self.shown(start), self.shown(end)
            real = f"[{first}, {last}{']' if end == high else ')'}"
            label = real if self.real else first if start == end else f"{first} to {last}"
            found.append((start, end, label, False))
        return sorted(found, key=lambda cell: (cell[0], not cell[3]))

    def shown(self, place: float) -> str:
        """A place on the number line as text."""
        if not self.unit:
            return f"{place + 0.0:.12g}" if self.real else str(int(place))
        seconds = abs(int(place)) * self.unit if self.kind == "duration" else int(place) * self.unit
        days, *clock = (seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
        if self.kind == "duration":
            text = re.sub(r"(?<!\d)0[DHMS]", "", "P{}DT{}H{}M{}S".format(days, *clock))
            return "-" * (place < 0) + text.rstrip("T") if seconds else "PT0S"
        day, hour = date.fromordinal(days + EPOCH).isoformat(), "{:02}:{:02}:{:02}".format(*clock)
        return {"date": day, "time": hour}.get(self.kind, f"{day}T{hour}")

    def stored(self) -> str:
        """The type that its values are stored in."""
        kinds = {type(value) for value in self.values if value != ""}
        if self.unit:
            return "string" if kinds else KEPT[self.kind]
        if kinds - {int, float} and kinds != {bool}:
            return "string" if self.numeric else "dictionary"
        whole = "bool" if kinds == {bool} and not self.numeric else "int64"
        return "double" if self.real or float in kinds else whole

    def states(self, value: Any) -> set[int]:
        """The states that a stored value may have, rounding allowed for; none if it has none."""
        stored: Any = place_of if type(value) in (int, float) else _text_of
        for k, code in enumerate(self.values, len(self.cells)):
            if value is None if code == "" else value == stored(code) or value is code:
                return {k}
        x = place_of(value, self.kind) / (self.unit or 1) if self.numeric else math.nan
        if not self.low - self.slack <= x <= self.high + self.slack or (x % 1 and not self.real):
            return set()
        x = min(max(x, self.low), self.high)
        low, high, cells = x - self.margin, x + self.margin, [*enumerate(self.cells)]
        spikes = {k for k, cell in cells if cell[3] and cell[0] == x}
        bins = {k for k, cell in cells if not cell[3] and cell[0] <= high and cell[1] >= low}
        return spikes if spikes and not self.real else spikes | bins

    def named(self, chosen: Any) -> set[int]:
        """The states that a rule names; none where it cuts a bin or names what there is not."""
        if not isinstance(chosen, dict):
            each = [self.states(one) for one in (chosen if isinstance(chosen, list) else [chosen])]
            single = {k for k, cell in enumerate(self.cells) if cell[0] < cell[1]}
            return set().union(*each) - single if all(one - single for one in each) else set()
        low, high = self._place(chosen["lower"]), self._place(chosen["upper"])
        inside, touched = set(), set()
        for k, (a, b, _, spike) in enumerate(self.cells):
            upto = (a < high or a == high == self.high) if spike and self.real else b <= high
            inside |= {k} if a >= low and upto else set()
            part = a < high and b > low and not spike if self.real else a <= high and b >= low
            touched |= {k} if part else set()
        return inside if touched <= inside else set()


class Release:
    """A folder, and a method for each rule: it says what it found, or raises what is broken."""

    def __init__(self, folder: Path, key: str | None = None) -> None:
        self.folder, self.key = folder, key

    def _manifest(self) -> str:
        self.content = m = strict_json(self.folder / "manifest.json")
        require(m["format"] == 2 and type(m["format"]) is int, "it is not of format 2")
        require(not (fault := misfit(m)), f"its entry {fault[1:61]!r} is not one of format 2")
        self.promise, self.measured, self.n_rows = m["guarantee"], m["measurements"], m["n_rows"]
        counts = [self.n_rows, *(one["cells"] for one in (*m["ledger"], *self.measured))]
        whole = all(type(n) is int and n >= 0 for n in (*counts, m["sets"] - 1))
        require(whole and type(m["secure"]) is bool, "a number of it is none")
        return f"format 2, {len(self.measured)} measurements"

    def _files(self) -> str:
        listed, found, many = self.content["files"], set(), -(-self.n_rows // PART)
        for place in self.folder.rglob("*"):
            name = place.relative_to(self.folder)
            if not any(part[0] == "." for part in name.parts):
                plain = (place.is_dir() or place.is_file()) and not place.is_symlink()
                require(plain, f"{place.name[:60]!r} leads elsewhere")
                found |= set() if place.is_dir() else {name.as_posix()}
        odd = sorted((found - {"manifest.json", "manifest.sig"}) ^ {*listed})
        require(not odd, f"{''.join(odd[:1])[:60]!r} is not listed, or not there")
        for name, checksum in listed.items():
            digest = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
            require(checksum == f"sha256:{digest}", f"{name[:60]!r} was changed")
        sets = [f"synthetic/set-{k}" for k in range(1, self.content["sets"] + 1)]
        self.parts = {f"{one}.parquet": self.n_rows for one in sets}
        if many > 1 and "synthetic/set-1.parquet" not in listed:
            ends = [f"part-{k:0{max(3, len(str(many)))}}.parquet" for k in range(1, many + 1)]
            sizes = [min(PART, self.n_rows - k * PART) for k in range(many)]
            self.parts = {f"{s}/{e}": n for s in sets for e, n in zip(ends, sizes, strict=True)}
        stored = [f"noisy/{one['name']}.parquet" for one in self.measured if one["name"]]
        needed = ["schema.toml", "README.md", *stored, *self.parts]
        beside = rf"{BESIDE}|({'|'.join(sets)})(-labels|-part-[0-9]+)?\.(csv|sav|dta)"
        core = [name for name in listed if name in needed or not re.fullmatch(beside, name)]
        require(sorted(core) == sorted(needed), "it has files of no release, or lacks some")
        return f"{len(listed)} files, as listed"

    def _signature(self) -> str:
        """Who signed the folder; if a key is named, it must be that one."""
        place, key = self.folder / "manifest.sig", self.key
        if key is not None:
            require(re.fullmatch("[0-9a-f]{64}", key), "the key that was named is none of Ed25519")
        if not place.exists():
            raise Fault("broken" if key is not None else "not checked", "it is not signed")
        signed = strict_json(place)
        fits = isinstance(signed, dict) and {*signed} == {"algorithm", "public_key", "signature"}
        require(fits and signed["algorithm"] == "ed25519", "it is not of Ed25519")
        require(key in (None, signed["public_key"]), "it was signed by another key")
        digest = hashlib.sha256((self.folder / "manifest.json").read_bytes()).hexdigest()
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError as lacking:
            why = f"{lacking.name} is not installed"
            raise Fault("broken" if key is not None else "not checked", why) from None
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed["public_key"]))
        text = f"understudy release sha256:{digest}".encode()
        try:
            public.verify(bytes.fromhex(signed["signature"]), text)
        except InvalidSignature:
            raise Fault("broken", "the signature is of another manifest") from None
        return f"signed by {signed['public_key']}" + ", as named" * (key is not None)

    def _schema(self) -> str:
        d = tomllib.loads((self.folder / "schema.toml").read_text(encoding="utf-8"))
        self.public = {"private": False, "public": True}[d["rows"]]
        own = d.get("n_rows") == self.n_rows if self.public else "n_rows" not in d
        fits = d["format"] == 1 and (own or self.promise["epsilon"] is None)
        require(fits, "it is of another format, or states another number of rows")
        self.rules, self.related = d.get("forbidden", []), bool(d.get("relations"))
        every, name = d["columns"], "identifier"
        self.fresh = {n: e.get("pattern", "{}") for n, e in every.items() if e["kind"] == name}
        self.order, self.entries = [*every], {n: every[n] for n in every if n not in self.fresh}
        self.names = [n for n, one in self.entries.items() if "derived" not in one]
        self.columns = {n: Column(e) for n, e in self.entries.items()}
        require(all(all(box.values()) for box in self._boxes(self.columns)), "a rule has no states")
        drafted = any(e.get("drafted") for e in (*every.values(), d.get("file", {})))
        require(not drafted or self.promise["leaks"], "entries stand as drafted; no leak says so")
        return f"{len(self.order)} columns, {len(self.rules)} forbidden combinations"

    def _boxes(self, columns: dict[str, Column]) -> list[dict[str, set[int]]]:
        return [{n: columns[n].named(v) for n, v in one["where"].items()} for one in self.rules]

    def _budget(self) -> str:
        self.amended, self.amounts = self.content.get("amendments", []), [Fraction(0)]
        last = self.content["budget"]
        for one in (*(one["budget"] for one in self.amended), last):
            epsilon, delta, unit = Fraction(one["epsilon"]), Fraction(one["delta"]), one["unit"]
            amount = epsilon if unit == "epsilon" else Fraction(one["amount"])
            fits = unit in UNITS and epsilon > 0 and (delta == 0) == (unit == "epsilon")
            fits = fits and (unit, delta) == (last["unit"], Fraction(last["delta"]))
            require(fits and amount > self.amounts[-1], "its unit is another, or it does not grow")
            if delta:
                log, by = math.log(delta.numerator) - math.log(delta.denominator), float(epsilon)
                least, most = (log_delta(unit, float(amount) * (1 + e), by) for e in (-1e-8, 1e-8))
                require(least <= log <= most, "it is not the amount that ε and δ allow")
            require(delta or one["amount"] == _decimal_up(epsilon), "it is not its ε")
            self.unit, self.amounts = unit, [*self.amounts, amount]
        return f"ε = {last['epsilon']}, δ = {last['delta']}: {UNITS[unit]} = {last['amount']}"

    def _ledger(self) -> str:
        self.steps: list[tuple[dict[str, Any], Fraction | None]] = []
        for number, entry in enumerate(self.content["ledger"], 1):
            units = {key.removesuffix("_exact") for key in entry} & {*UNITS}
            require(entry["number"] == number and units == {self.unit}, "steps are out of order")
            price = None if (text := entry[f"{self.unit}_exact"]) is None else Fraction(text)
            same = entry[self.unit] == (None if price is None else _decimal_up(price))
            require(same, f"step {number} has two prices")
            self.steps.append((entry, price))
        ends = [*(one["entries"] for one in self.amended), len(self.steps)]
        require(ends == sorted({*ends}) and ends[0] >= len(ends) - 1, "an amendment bought nothing")
        for end, amount in zip(ends, self.amounts[1:], strict=True):
            spent = sum((price for _, price in self.steps[:end] if price), Fraction(0))
            require(spent <= amount, "its steps cost more than the amount")
        return f"{len(self.steps)} steps cost {UNITS[self.unit]} = {_decimal_up(spent)}"

    def _noise(self) -> str:
        self.laws: dict[int, tuple[str, str, Fraction]] = {}
        for entry, price in self.steps:
            fits = self._buys(entry, price, entry["mechanism"], entry["noise"])
            require(fits, f"that of step {entry['number']} does not follow from its price")
        return "each step has the noise that its price buys"

    def _buys(self, entry: dict[str, Any], price: Any, mechanism: str, words: str) -> bool:
        leaks, change, many = " ".join(self.promise["leaks"]), entry["sensitivity"], entry["cells"]
        if not price or price < 0:
            unpaid = price == 0 and words == "none: unpaid" and leaks
            return bool(unpaid or (price is None and re.fullmatch(UNBOUNDED, mechanism)))
        if words == "none known: the run ended before it had a result":
            return entry["number"] not in {one["ledger_entry"] for one in self.measured}
        if mechanism in DRAWS or (mechanism == "exponential mechanism" and not words):
            return not (self.public and change.endswith(", monotone"))
        match = ((law, re.fullmatch(one, words)) for one, law in LAWS.items())
        law, text, step = next((law, m[1], [*m.groups(), None][1] or 1) for law, m in match if m)
        self.laws[entry["number"]], step = (law, text, Fraction(step)), Fraction(step)
        scale, gauss, counted = Fraction(text), law[-3:] == "ian", re.fullmatch(COUNTS, mechanism)
        twice = 2 if self.public and law != "laplace" and counted else 1
        counts = f"L2 = {'√2' if twice == 2 else 1}" if gauss else f"L1 = {twice}"
        if mechanism == "noisy rows":  # a table for each column
            price, counts = price / len(self.names), f"{counts} in each table"
        unit, pure = self.unit, pure_epsilon(price, self.unit)
        if law == "exponential_mechanism":
            return abs(scale * pure / (2 if unit == "epsilon" else 1) - 1) < TINY
        part = twice if change == counts else re.split("[ √]|/n_k", change)[2 + ("√" in change)]
        size = Fraction(part)
        if law == "laplace":  # as published: what it leaves in is named, and it is not priced
            return leaks != ""
        if mechanism == "noisy score moments":  # rounded to a lattice, which moves each number
            root = math.isqrt(math.ceil(size / step**2)) + math.isqrt(many) + 2
            whole = many + (math.ceil(size * 2**30) - many) // int(step * 2**30)
            size = root**2 * step**2 if gauss else whole * step
        least = step**2 * gaussian_variance(price, unit, size / step**2) if gauss else size / pure
        slack = 2**-14 if mechanism == "noisy score moments" else TINY
        most = max(least * Fraction(1 + slack), step / 2**40) * (1 + (law == "truncated"))
        stated = change == counts or not (counted or mechanism == "noisy successes")
        return stated and least * Fraction(1 - slack) <= scale <= most

    def _guarantee(self) -> str:
        p, kind, budget = self.promise, self.promise["kind"], self.content["budget"]
        own, told = ("add_remove", "replace")[self.public], [p["epsilon"], p["rho"], p.get("mu")]
        require(p["neighbours"] == own, "its neighbours are not those of its schema")
        mu, leaks, if_any = p.get("mu"), p["leaks"], p["conditions"]
        if kind in ("none", "asymptotic"):
            require(told == [None] * 3 and " NOT " in p["statement"][:30], "it promises something")
            return "none is given"
        paid = all(price is not None for _, price in self.steps) and self.content["secure"]
        pure = {"pure"} if self.unit == "epsilon" else {"approximate", "zcdp"}
        fits = kind in ({"conditional"} if leaks else pure) or (if_any and kind == "conditional")
        require(fits and paid, "it is of another kind than its budget, steps and leaks")
        size, delta = (_decimal_up(Fraction(budget[name])) for name in ("epsilon", "delta"))
        rho, limit = budget["amount"] if self.unit == "rho" else None, 2 * self.amounts[-1]
        fits = (mu is not None) == (self.unit == "half_mu_squared") and p["delta"] == delta
        near = not mu or abs(Fraction(mu) ** 2 / limit - 1) < TINY
        require(fits and told[:2] == [size, rho] and near, "it is not that of its budget")
        many, word = delta != "0", "Zero-concentrated" if kind == "zcdp" else kind.capitalize()
        one = ("added or removed", "replaced by another (the number of records is public)")
        words = f"{word} differential privacy with{' nominal' * bool(leaks)} ε = {size}"
        words += f"{f', δ = {delta}' * many}: {'were it not for what is left in, ' * bool(leaks)}"
        words += "whatever is computed from this release, its probability changes by a factor of at"
        words += f" most e^ε{' (up to δ)' * many} if one record is {one[self.public]}."
        mus = f" This follows from Gaussian differential privacy with μ = {mu}: telling the two "
        mus += "apart is at least as hard as telling one draw of N(0, 1) from one of N(μ, 1)."
        words += mus * bool(mu and not leaks)
        words += f" It holds under these conditions: {' '.join(if_any)}" * bool(if_any)
        words += f" Left in, unpaid: {' '.join(leaks)}" * bool(leaks)
        require(p["statement"] == words, "its sentence says something else than its numbers")
        return f"{kind}, ε = {size}, δ = {delta}, {own}"

    def _measurements(self) -> str:
        paid, steps = {one["ledger_entry"] for one in self.measured}, range(1, len(self.steps) + 1)
        require(len(paid) == len(self.measured) and paid <= {*steps}, "one has no step of its own")
        for one in self.measured:
            number, scale = one["ledger_entry"], Fraction(one["scale"])
            law, text, step = self.laws.get(number, ("none", "0", Fraction(1)))
            fits = (one["kind"] in STORED) == bool(one["name"])
            fits = fits and {*one["columns"], *one["bins"], *one.get("ranks", {})} <= {*self.names}
            require(fits, f"what step {number} measured has other columns or cells")
            if self.steps[number - 1][0]["mechanism"] in DRAWS | {"diverse rows"}:
                continue
            same = one["scale"] == text or f"{float(scale):.12g}" == text
            same = same and one["law"] in (law, f"truncated_{law}", f"{law}_discrete_laplace")
            wide = math.sqrt(scale if law == "discrete_gaussian" else 2 * scale**2)
            if law in ("discrete_laplace", "lattice_laplace", "truncated"):
                wide = float(step) / math.sqrt(2) / math.sinh(min(float(step / scale) / 2, 700))
            if law == "discrete_cube_laplace":
                m, radius = self.steps[number - 1][0]["cells"], float(scale / step)
                wide = float(step) * math.sqrt(((m + 1) * (m + 2) * radius**2 - 0.25) / 3)
            rough = law in ("none", "exponential_mechanism") or (law[-3:] == "ian" and wide < step)
            same = same and (rough or abs(one["stddev"] / max(wide, 2**-127) - 1) < 1e-6)
            require(same, f"what step {number} measured states another noise")
        return f"{len(self.measured)} state the noise that was paid"

    def _grid(self, one: dict[str, Any]) -> tuple[dict[str, list[str]], list[dict[str, set[int]]]]:
        columns = {name: Column(self.entries[name], one["bins"].get(name)) for name in self.names}
        labels, boxes = {n: column.labels for n, column in columns.items()}, self._boxes(columns)
        for name, groups in one.get("groups", {}).items():
            pairs = [*zip(labels[name], groups, strict=True)]
            own = [[label for label, g in pairs if g == k] for k in sorted({*groups})]
            long = [f"{m[0]} … {m[-1]} ({len(m)} values)" for m in own]
            labels[name] = [long[k] if len(m) > 3 else " or ".join(m) for k, m in enumerate(own)]
            for box in (box for box in boxes if name in box):
                inside = {groups[k] for k in box[name]}
                cut = any(g in inside and k not in box[name] for k, g in enumerate(groups))
                box[name] = set() if cut else inside
        return labels, [box for box in boxes if all(box.values())]

    def _parquet(self, name: str) -> Any:
        from pyarrow.parquet import ParquetFile

        return ParquetFile(self.folder / name).read()

    def _cells(self) -> str:
        for one in (one for one in self.measured if one["name"]):
            table = self._parquet(f"noisy/{one['name']}.parquet")
            *axes, counts = [column.to_pylist() for column in table.columns]
            finite = all(type(v) in (int, float) and math.isfinite(v) for v in counts)
            require(finite and len(counts) == one["cells"], f"{one['name']} has other numbers")
            require(self._holds(one, axes, counts, table.schema), f"{one['name']} has other cells")
        return "as their measurements say"

    def _holds(self, one: dict[str, Any], axes: list[Any], counts: list[Any], fields: Any) -> bool:
        kind, (labels, boxes), rows = one["kind"], self._grid(one), [*zip(*axes, strict=True)]
        entry = self.steps[one["ledger_entry"] - 1][0]
        if n := {"products": 3, "ranks": 2, "heaps": 1}.get(kind):  # heaps have one cell less
            return len(axes) == n and len({*rows}) == len(rows) == entry["cells"] - (n < 2)
        names = one["of"] if kind == "leaf-sums" else one["columns"]
        for name, c in ((name, self.columns[name]) for name in names if kind == "line"):
            labels[name] += [f"below {c.shown(c.low)}", f"above {c.shown(c.high)}"]
        nodes = kind in ("nodes", "leaf-sums")
        states = [labels[name] + ["(any)"] * nodes for name in names] * (1 + (kind == "ranges"))
        codes = [tuple(map(list.index, states, row)) for row in rows]
        require(all(map(_noted, fields, states)), "a file has other states than its schema")
        among = [{names.index(n): s for n, s in box.items()} for box in boxes if {*box} <= {*names}]
        open_ = [not any(all(c[j] in s for j, s in box.items()) for box in among) for c in codes]
        if kind in WHOLE:
            zero = all(free or not n for free, n in zip(open_, counts, strict=True))
            loose = kind != "table" or self.related or entry["mechanism"] == "noisy ranges"
            every = not names or codes == [*product(*(range(len(own)) for own in states))]
            return bool(every and zero and (loose or entry["cells"] == sum(open_) + 1))
        if kind == "cells":
            reach = one["threshold"] >= 1 and all(n >= one["threshold"] for n in counts)
            return reach and all(open_) and all(a < b for a, b in pairwise(codes))
        if kind == "ranges":
            joined = all(a[0] <= a[1] == b[0] - 1 and b[0] <= b[1] for a, b in pairwise(codes))
            return joined and codes[0][0] == 0 and codes[-1][1] == len(states[0]) - 1
        return len({*codes}) == len(codes) and (kind != "nodes" or entry["cells"] == len(codes) + 1)

    def _sets(self) -> str:
        grids = [self._grid(one)[1] for one in self.measured if one["bins"] or one.get("groups")]
        kept = [b for b in self._boxes(self.columns) if all({*b} in map(set, g) for g in grids)]
        for name, n_rows in self.parts.items():
            table = self._parquet(name)
            fits = table.column_names == self.order and table.num_rows == n_rows
            require(fits, f"{name} has other columns, or another number of rows")
            start = PART * (int(name.rpartition("-")[2].partition(".")[0]) - 1) * ("/part-" in name)
            for own, pattern in self.fresh.items():
                fresh = [pattern.format(start + k) for k in range(1, n_rows + 1)]
                require(table[own].to_pylist() == fresh, f"{name} has other identifiers")
            table = table.select([*self.columns])
            coded: dict[str, list[set[int]]] = {}
            for field, values in zip(table.schema, table.columns, strict=True):
                column, kind = self.columns[field.name], str(field.type).removeprefix("large_")
                known = {value: column.states(value) for value in values.unique().to_pylist()}
                fits = kind.startswith(column.stored()) and all(known.values())
                texts = [_text_of(value) for value in column.values if value != ""]
                fits = fits and (column.stored() != "dictionary" or _noted(field, texts))
                require(fits, f"{name}: {field.name!r} has values that it cannot have")
                needed = any(field.name in box for box in kept)
                coded[field.name] = [known[v] for v in values.to_pylist()] if needed else []
            for box in kept:
                rows = zip(*(coded[n] for n in box), strict=True)
                hit = any(all(map(set.__le__, row, box.values())) for row in rows)
                require(not hit, f"{name} has rows that its schema forbids")
        return f"{self.content['sets']} of {self.n_rows} rows"

    def _pages(self) -> str:
        """README and pages state the promise of the manifest where it is seen."""
        names = ("README.md", "report.html", "results.html", "codebook.html")
        without, versions = [], set()
        for name in (name for name in names if name in self.content["files"]):
            text = (self.folder / name).read_text(encoding="utf-8")
            seen = seen_in_readme(text) if name == "README.md" else seen_in_page(name, text)
            block, rest = seen
            if block is None:
                without.append(name)
                if name != "codebook.html":
                    self._require_told(name, rest)
                continue
            *lines, last = [one for one in map(_on_one_line, block) if one] or [""]
            version = re.fullmatch(r"Rendered by understudy ([A-Za-z0-9_.+!-]{1,40})", last)
            require(version, f"{name} does not say which version rendered it")
            require(lines == self._promise_lines(), f"{name} states another promise")
            versions.add(version[1] if version else "")
        told = f"rendered by {', '.join(sorted(versions))}" if versions else ""
        older = f"{', '.join(without)} of an older form" if without else ""
        return "; ".join(filter(None, ["they state the promise", told, older]))

    def _promise_lines(self) -> list[str]:
        """The lines of the block, but the last one."""
        promise, content = self.promise, self.content
        size = "This release is NOT private"
        if promise["epsilon"] is not None and content["secure"]:
            size = f"ε = {promise['epsilon']}"
            size += f", δ = {promise['delta']}" if promise["delta"] != "0" else ""
        many = "s" if content["sets"] > 1 else ""
        tables = f"{content['sets']} synthetic table{many} of {self.n_rows:,} rows"
        made = f"{tables}, made by the method “{content['method']}”"
        lines = [_on_one_line(one) for one in (promise["statement"], size, made)]
        return [one.replace("<", "\u2039").replace(">", "\u203a") for one in lines]

    def _require_told(self, name: str, text: str) -> None:
        """What a text without a block must say."""
        _, size, _ = self._promise_lines()
        told = [self.promise["statement"]]
        if name != "results.html":
            told += [f"{self.content['sets']} synthetic table", f" of {self.n_rows:,} rows"]
            told += [f"“{self.content['method']}”", size]
        for words in told:
            said = _on_one_line(words)[:2000] in _on_one_line(text)
            require(said, f"{name} does not say {words[:60]!r} where it is seen")


def _on_one_line(text: str) -> str:
    """A text without what cannot be seen, single spaces between words."""
    seen = (c if c.isprintable() and c != "\ufffd" else " " for c in text)
    return " ".join("".join(seen).split())


def seen_in_readme(text: str) -> tuple[list[str] | None, str]:
    """The lines of the block of a README, None if it has none, and what is seen of the text.

    HTML, a head of the file and definitions of links are what Markdown hides; there are none.
    """
    require(text.startswith("# "), "README.md does not begin with a title")
    blocks: list[list[str]] = []
    fenced, inside, seen = False, False, []
    for line in text.splitlines():
        if line.startswith("```"):
            opens = line == "```promise" and not fenced
            require(opens or "```promise" not in line, "README.md states a promise within a block")
            blocks += [[]] if opens else []
            fenced, inside = not fenced, opens
        elif fenced:
            if inside:
                blocks[-1].append(line)
        else:
            raw = re.search(r"(?<!\\)<[A-Za-z/!?]", line)
            require(not raw, "README.md holds HTML, which may hide what it says")
            seen.append(re.sub(r"\\([\\`*_{}\[\]<>#|~])", r"\1", line))
    require(not fenced and len(blocks) < 2, "README.md does not state its promise once")
    parts = re.split(r"\n\s*\n", "\n".join(seen))
    shown = "\n\n".join(one for one in parts if not re.match(r" {0,3}\[[^\]]*\]:", one))
    return (blocks[0] if blocks else None), shown


def seen_in_page(name: str, text: str) -> tuple[list[str] | None, str]:
    """The same of an HTML page, after its elements, attributes and style sheet were checked."""
    page = Page(name)
    body = text.lstrip()
    plain = body.startswith("<!DOCTYPE html>") and not re.search(r"<[!?]|</[^a-zA-Z]", body[1:])
    page.require(plain, "markup that browsers read in several ways")
    page.feed(body)
    page.close()
    page.require(not page.open and not page.rawdata, "an element that is not closed")
    sheet = hashlib.sha256("".join(page.sheet).strip().encode()).hexdigest()
    page.require(sheet in SHEETS, "a style sheet that the format does not name")
    block = None if page.block is None else "".join(page.block).split("\n")
    return block, "".join(page.seen)


class Page(HTMLParser):
    """Reads a page made of the elements and attributes that the format names, each one closed."""

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self.name = name
        self.open: list[str] = []
        self.bare: list[bool] = []  # whether each open element has no attribute that could hide it
        self.sheet: list[str] = []
        self.sheets = 0
        self.seen: list[str] = []
        self.block: list[str] | None = None
        self.block_at = 0  # how many elements are open around the block; 0 outside of it

    def require(self, holds: object, what: str) -> None:
        """Refuse what may hide a promise."""
        require(holds, f"{self.name} holds {what}, which may hide what it says")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        given = {name: value or "" for name, value in attrs}
        known = tag in ELEMENTS and {*given} <= ATTRIBUTES and len(given) == len(attrs)
        self.require(known, f"the element {tag[:30]!r}, or an attribute of it")
        self.require(STYLE.fullmatch(given.get("style", "")), "a style of its own")
        self.require(LINK.fullmatch(given.get("href", "")), "a link that is none")
        policy = "http-equiv" not in given or given.get("content") == POLICY
        self.require(policy, "an order to the browser")
        self.require(tag == "a" or "skip" not in given.get("class", "").split(), "a hidden class")
        if tag == "style":
            self.sheets += 1
            once = self.sheets == 1 and self.open == ["html", "head"]
            self.require(once, "several style sheets")
        if given.get("id") == "promise":
            alone = self.block is None and tag == "blockquote" and {*given} == {"id"}
            around = {*self.open} <= AROUND and all(self.bare)
            self.require(alone and around, "a promise twice, or where it may not be seen")
            self.block, self.block_at = [], len(self.open)
        elif self.block_at:
            self.require(tag == "p" and not given, "other elements in its promise than paragraphs")
        if tag not in ALONE:
            self.open.append(tag)
            self.bare.append({*given} <= {"id", "lang", "aria-label", "aria-labelledby"})

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Parts of a picture may close themselves."""
        self.require(tag in ALONE, "an element that is not closed")
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        self.require(self.open and self.open[-1] == tag, "an element that is not closed")
        self.open.pop()
        self.bare.pop()
        if self.block is not None and self.block_at and tag == "p":
            self.block.append("\n")
        if len(self.open) <= self.block_at:
            self.block_at = 0

    def handle_data(self, data: str) -> None:
        """Text: of the style sheet, of the block, or of what is seen."""
        if self.open[-1:] == ["style"]:
            self.sheet.append(data)
        elif self.block is not None and self.block_at:
            self.block.append(data)
        elif {*self.open} <= SEEN:
            self.seen.append(data)


def verify(folder: Path, key: str | None = None) -> list[tuple[str, str, str]]:
    """Check each rule.

    Args:
        folder: of the release.
        key: of whoever must have signed it, in hex; with one, a signature that could not be checked
            is broken.

    Returns:
        For each rule its name, "ok", "broken" or "not checked", and what there is to say.
    """
    release, found, lost = Release(folder, key), [], ""
    for rule in RULES:
        state, says = "not checked", f"it rests on the rule {lost}"
        if not lost:
            state, says = _checked(release, rule)
        if state == "broken" and rule in RULES[:7] and rule != "signature":
            lost = lost or rule
        found.append((rule, state, says))
    return found


def _checked(release: Release, rule: str) -> tuple[str, str]:
    """What one rule found, and what there is to say; a folder may hold anything."""
    try:
        return "ok", getattr(release, f"_{rule}")()
    except Fault as fault:
        state, says = fault.args
        return state, says
    except ImportError as lacking:
        named = rule == "signature" and release.key is not None
        return "broken" if named else "not checked", f"{lacking.name} is not installed"
    except Exception as error:  # its text may hold anything that the folder does
        return "broken", f"checking it ended in {type(error).__name__}, so it was not shown to hold"


def main() -> None:
    """Check a folder: a line for each rule; exit code 2 if one is broken."""
    parser = argparse.ArgumentParser(description="Checks a release folder by its format alone.")
    parser.add_argument("release", type=Path)
    parser.add_argument("--key", help="public key of whoever must have signed it, in hex")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    asked = parser.parse_args()
    key = None if asked.key is None else asked.key.strip().lower()
    found = verify(asked.release, key)
    if asked.json:
        lines = [dict(zip(("rule", "found", "says"), one, strict=True)) for one in found]
        text = json.dumps(lines, ensure_ascii=False, indent=2)
    else:
        text = "\n".join(f"{state:<12} {rule:<13} {says}" for rule, state, says in found)
    print(text)  # noqa: T201
    states = {rule: state for rule, state, _ in found}
    unsigned = key is not None and states["signature"] != "ok"
    sys.exit(2 if unsigned or "broken" in states.values() else 0)
