"""Checks a release folder by `docs/reference/release-format.md` alone.

It shares no code with what made the folder.
"""

import argparse
import hashlib
import json
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path
from typing import Any

GAUSSIAN = "discrete_gaussian"
RULES = ["manifest", "files", "signature", "schema", "budget", "ledger", "noise", "guarantee"]
RULES += ["measurements", "cells", "sets", "pages"]
# Entries of a manifest, and what each of them is (`HOLDS`, an entry of this table, or a list of
# either); those with a question mark may lack.
SHAPE: dict[str, dict[str, str]] = {
    "manifest": {
        **{"format": "whole", "files": "files", "method": "text", "reason": "text"},
        **{"options": "options", "sets": "sets", "sets_kind": "sets_kind", "n_rows": "count"},
        **{"rows_obtained": "text", "guarantee": "guarantee", "budget": "budget"},
        **{"ledger": "[step]", "secure": "truth", "sampling_seed": "seed", "software": "texts"},
        **{"measurements": "[measurement]", "inference": "inference", "ended_early?": "truth"},
        **{"rows_share?": "part", "answers_share?": "part", "lines_share?": "part"},
        **{"layer_share?": "part", "places_share?": "part", "priority?": "[text]"},
        "analyses?": "[analysis]",
        **{"expected?": "expected or null", "amendments?": "[amendment]"},
        **{"contradictions?": "[contradiction]", "choice?": "choice"},
        "minimum_count?": "minimum count",
    },
    "guarantee": {
        **{"kind": "promise", "epsilon": "decimal or null", "delta": "decimal"},
        **{"rho": "decimal or null", "mu?": "decimal or null", "neighbours": "neighbours"},
        **{"statement": "text", "public_inputs": "[public input]", "conditions": "[text]"},
        "leaks": "[text]",
    },
    "public input": {"what": "text", "source": "text", "note": "text"},
    "budget": {"epsilon": "decimal", "delta": "decimal", "unit": "unit", "amount": "decimal"},
    "step": {
        **{"number": "whole", "mechanism": "text", "query": "text", "sensitivity": "text"},
        **{"noise": "text", "cells": "natural", "epsilon?": "decimal or null"},
        **{"epsilon_exact?": "part", "rho?": "decimal or null", "rho_exact?": "part"},
        **{"half_mu_squared?": "decimal or null", "half_mu_squared_exact?": "part"},
    },
    "measurement": {
        **{"name": "name", "kind": "kind", "columns": "[text]", "cells": "count"},
        **{"outside": "number", "law": "text", "scale": "scale", "stddev": "spread"},
        **{"threshold": "number or null", "ledger_entry": "count", "totals": "totals"},
        **{"of": "[text]", "bins": "bins", "groups?": "groups", "ranks?": "ranks"},
        "limits?": "limits",
        **{"terms?": "[text]", "among?": "groups", "beside?": "truth"},
    },
    "inference": {
        **{"posterior_rule": "posterior_rule", "swept": "truth", "shrunk": "truth"},
        **{"independent": "truth", "modelled": "[text]", "network": "[edge] or null"},
        **{"prior_weight": "amount", "leaves_only": "truth", "rows_stddev?": "amount"},
    },
    "edge": {"column": "text", "parents": "[text]"},
    "analysis": {"kind": "text", "formula": "text", "asked_by": "text"},
    "contradiction": {"column": "text", "distance": "amount", "noise": "amount"},
    "choice": {
        **{
            "candidates": "[candidate]",
            "accept": "[criterion]",
            "law": "tries",
            "tries": "positive",
        },
        **{"excess": "whole", "stddev": "amount", "met": "truth"},
    },
    "minimum count": {
        **{"columns": "[text]", "count": "positive", "most_changed": "part"},
        **{"changed": "[count]", "replaced": "[count]", "table?": "text"},
    },
    "candidate": {"method": "text", "options": "options", "sets": "sets"},
    "criterion": {"columns": "[text]", "most": "part"},
    "expected": {"records": "count", "like": "text", "answers": "[answer]"},
    "answer": {
        **{"analysis": "text", "name": "text", "noise": "amount or null"},
        **{"sampling": "amount or null", "refused": "text", "least?": "amount"},
        "largest?": "amount or null",
    },
    "amendment": {
        **{"parent": "checksum", "entries": "positive", "budget": "budget", "title": "text"},
        **{"asked_by": "text", "chosen": "chosen", "analyses": "[analysis]"},
    },
}
MOST = 2.0**127
DECIMAL, FRACTION = r"[0-9]+(\.[0-9]+)?", r"[0-9]+(/0*[1-9][0-9]*)?"
SCALE = r"[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?(e[+-]?[0-9]{1,3})?)"
WORDS: dict[str, set[str | None]] = {
    "sets_kind": {"free", "split", "posterior"},
    "promise": {"pure", "approximate", "zcdp", "asymptotic", "conditional", "none"},
    "neighbours": {"add_remove", "replace"},
    "unit": {"epsilon", "rho", "half_mu_squared"},
    "posterior_rule": {None, "partial", "mi"},
    "chosen": {"beforehand", "from the release", ""},
    "tries": {"geometric", "logarithmic"},
}
# What a mechanism can have bought: its price, kinds of measurements, laws of their noise. It is the
# table of the specification; what does not stand in it is refused.
LAPLACE, DISCRETE = ("discrete_laplace", "lattice_laplace"), ("discrete_laplace", GAUSSIAN)
ADDED, TRUNCATED = (*LAPLACE, GAUSSIAN), "truncated_discrete_laplace"
PUBLISHED, ELSEWHERE = ("laplace", "truncated_laplace"), "stated elsewhere"
PURCHASES: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
    ("noisy count", "paid", (), ()),
    ("noisy table", "paid", ("table",), (*ADDED, TRUNCATED)),
    ("noisy table", "as published", ("table",), PUBLISHED),
    ("noisy number line", "paid", ("line",), DISCRETE),
    ("noisy heaps", "paid", ("heaps",), DISCRETE),
    ("noisy layer", "paid", ("table", "nodes"), ADDED),
    ("noisy layer", "as published", ("table", "nodes"), ("laplace",)),
    ("noisy ranges", "paid", ("table", "ranges"), ADDED),
    ("filtered noisy table", "paid", ("cells",), LAPLACE),
    ("lazy noisy table", "paid", ("totals",), LAPLACE),
    ("lazy leaf layer", "paid", ("leaf-sums",), LAPLACE),
    ("noisy rows", "paid", ("sweeps",), DISCRETE),
    ("noisy successes", "paid", ("successes",), ("discrete_laplace", TRUNCATED)),
    ("noisy successes", "as published", ("successes",), PUBLISHED),
    ("noisy moment", "paid", ("sums", "scatter"), (*LAPLACE, TRUNCATED)),
    ("noisy moment", "as published", ("sums", "means", "scatter"), PUBLISHED),
    ("noisy score moments", "paid", ("products",), ADDED),
    ("noisy weighted moments", "paid", ("weighted",), ADDED),
    ("noisy weighted table", "paid", ("weighted-table",), ADDED),
    ("noisy term moments", "paid", ("terms",), ADDED),
    ("noisy rank products", "paid", ("ranks",), ("lattice_laplace", GAUSSIAN)),
    ("exponential mechanism", "paid", ("choice", "parameters"), ("none",)),
    ("exponential mechanism", "paid", ("distribution",), ("exponential_mechanism",)),
    ("urn draws", "paid", ("draws",), ("Dirichlet–multinomial", "fixed prior")),
    ("perturbed sweeps", "paid", ("sweeps",), ("perturbed sweeps",)),
    ("blocks with reset", "paid", ("sweeps",), ("blocks with reset",)),
    ("perturbed imputation", "paid", ("sweeps",), ("perturbed imputation",)),
    ("private selection", "paid", (), ()),
    ("noisy distance", "paid", (), ()),
    ("functional mechanism", "paid", (), ()),
    ("functional mechanism, published bound", "paid", (), ()),
    ("K-norm mechanism", "paid", (), ()),
    ("exact deviation", "free", (), ()),
    ("exact interquartile range", "free", (), ()),
    ("exact table", "none", ("exact",), ("none",)),
    ("exact moment", "none", ("exact",), ("none",)),
    ("diverse rows", "none", ("exact",), ("diverse rows",)),
    ("posterior", "none", ("posterior",), ("none",)),
    ("pseudo posterior", "none", ("posterior",), ("none",)),
    ("as they stand", "none", ("kept",), ("none",)),
    (
        ELSEWHERE,
        "none",
        (
            *("table", "cells", "totals", "successes", "sums", "means", "scatter", "products"),
            *(
                "ranks",
                "weighted",
                "terms",
                "distribution",
                "nodes",
                "leaf-sums",
                "ranges",
                "line",
                "heaps",
            ),
        ),
        (*ADDED, TRUNCATED, *PUBLISHED),
    ),
]
TRIES = r"tries: truncated negative binomial, η = (-?[0-9]+(?:/[1-9][0-9]*)?), γ = ([0-9]+/[0-9]+)"
LOST = "none known: the run ended before it had a result"
FLOATING = "Noise was drawn as floating-point numbers"
PART, TINY, EPOCH = 2**20, 2**-35, date(1970, 1, 1).toordinal()
UNITS = {"epsilon": "ε", "rho": "ρ", "half_mu_squared": "μ²/2"}
COUNTED = {
    *("noisy table", "noisy count", "noisy number line", "noisy heaps", "noisy layer"),
    *(
        "noisy weighted table",
        "noisy ranges",
        "noisy rows",
        "filtered noisy table",
        "lazy noisy table",
        "lazy leaf layer",
    ),
    "noisy distance",
}
DAY, CLOCK = r"(\d{4}-\d\d-\d\d)", r"(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?"
TIMES = {"date": f"{DAY}()()()", "datetime": f"{DAY}(?:[T ]{CLOCK})?", "time": f"(){CLOCK}"}
TIMES["duration"] = r"-?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?"  # four parts each
NO_MEMBER = "no member"
LEVELS, NUMBERS = {"categorical", "ordinal", "boolean"}, {"integer", "continuous", *TIMES}
SECONDS = {"date": 86400, "day": 86400, "hour": 3600, "minute": 60}
KEPT = {"date": "date32[day]", "datetime": "timestamp[us]", "time": "time64[", "duration": "dur"}
BESIDE = r"(report|results|codebook)\.html|codebook\.xml|(datapackage|tableschema|croissant)\.json"
WHOLE = {"table", "weighted-table", "sums", "means", "distribution", "line"}
KEYED, SINGLE = {"sweeps", "posterior"}, {"successes", "ranges", "line", "heaps"}
TOTALS = {
    **{kind: ["positive_cells", "positive_mass"] for kind in ("totals", "leaf-sums")},
    **{"successes": ["successes"], "scatter": ["scatter"]},
    **{kind: ["bound", "power"] for kind in ("weighted", "weighted-table")},
    "draws": ["prior", "cells", "reinforced"],
}
STORED = WHOLE | {"cells", "nodes", "leaf-sums", "ranges", "products", "weighted"}
STORED |= {"terms", "ranks", "heaps"}
END = r"(-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?)"
COLON = re.compile(r":(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # of a product of factors
FACTOR = re.compile(
    r"(log\()?(`(?:[^`]|``)+`|[^\W\d]\w*)(?(1)(?: [+-] [0-9.]+(?:e[+-]?[0-9]+)?)?\))(?:\*\*[0-9]+)?"
)
COUNTED_BESIDE = {"table", "weighted-table"}
MOMENTS = {"noisy score moments", "noisy weighted moments", "noisy term moments"}
EXACT_OR_DECIMAL = r"([0-9]+(?:\.[0-9]+|/[1-9][0-9]*)?)"
EXACT, REAL = r"([0-9]+(?:/[1-9][0-9]*)?)", r"([0-9.]+(?:e[+-][0-9]+)?)"
LATTICE, INSIDE = rf"on the lattice of step {EXACT}", rf"redrawn until inside \[{END}, {END}\]"
# Noise in words, and its law: the parameter, then the lattice and the limits where there are such.
LAWS = [
    (rf"discrete Gaussian, variance {EXACT}(?:, {LATTICE})?", GAUSSIAN),
    (rf"discrete Laplace \(geometric\), scale {EXACT}", "discrete_laplace"),
    (rf"Laplace, scale {EXACT}, {LATTICE}", "lattice_laplace"),
    (
        rf"discrete Laplace \(geometric\), scale {EXACT}(), {INSIDE} and calibrated for that",
        TRUNCATED,
    ),
    (rf"Laplace, scale {EXACT}, {LATTICE}, {INSIDE} and calibrated for that", TRUNCATED),
    (rf"Laplace in floating point, scale {REAL}", "laplace"),
    (rf"Laplace in floating point, scale {REAL}(), {INSIDE}", "truncated_laplace"),
    (
        rf"exp\(−distance / {EXACT}\), the largest error of a cumulative count",
        "exponential_mechanism",
    ),
    (
        rf"density ∝ exp\(−‖v‖∞/s\), s = {EXACT}, in [0-9]+ dimensions, {LATTICE}",
        "discrete_cube_laplace",
    ),
]
NUMBER, MEANS = "[1-9][0-9,]*", "; scale divided by the private n_k of a cell"
WEIGHTS = (
    r"(?:weight of each state 1/\(exp\(e\) - 1\)(?: or more, by released marginals)?"
    r"|weights of states 1/\(exp\(e\) - 1\) on average, by the marginals of the rows)"
)
# Draws from rows and a prior: query, sensitivity by a row that comes or goes and by one that is
# replaced, and noise in words.
DRAWS = {
    "urn draws": (
        "records of {}",
        *("one record of weight 1",) * 2,
        rf"(?:Dirichlet–multinomial draws of n records, prior weight n/\(exp\({EXACT}\) - 1\)"
        rf"|independent draws of n records, prior weight 1/\(exp\({EXACT}/n\) - 1\))",
    ),
    "perturbed sweeps": (
        f"records after (?:1 sweep|{NUMBER} sweeps) of {{}}",
        "one record: weight 1 in one row of each table",
        "one record: weight 1 in up to two rows of each table, of which a step sees one",
        rf"perturbed draws of n records, {WEIGHTS}, where (.+) = {EXACT}/\(([1-9][0-9]*) n\)",
    ),
    "blocks with reset": (
        f"records in (?:one block|blocks of {NUMBER}) with reset of {{}}",
        "one record: weight 1 in one row of each table, drawn from once a block",
        "one record: weight 1 in two rows of each table, drawn from once a block",
        rf"perturbed draws of n records, {WEIGHTS}, where (.+) = {EXACT}/"
        r"\(([1-9][0-9]*)(?: ceil\(n/([1-9][0-9]*)\))?\); rows uniform once drawn from",
    ),
    "perturbed imputation": (
        "records imputed over {}",
        *("any probabilities in place of any others",) * 2,
        r"draws by fitted probabilities, prior weight 1/\(exp\(e\) - 1\), "
        rf"e-DP at a cost of {EXACT}/\(n·([1-9][0-9]*)\)",
    ),
}
# What file managers leave by themselves in a folder that somebody looked into.
LEFT = [
    ("", ".DS_Store", b"\0\0\0\1Bud1"),
    ("._", "", b"\0\5\x16\7"),
    ("", ".directory", b"[Dolphin]"),
]

# What a page is made of, and where in it the promise is seen.
AROUND = {"html", "body", "main", "section"}
ELEMENTS = AROUND | {
    *("header", "footer", "div", "p", "blockquote", "strong", "code", "h1", "h2", "h3", "ul", "li"),
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
SHEETS = {"39189f2862ef445dab4d96485ece319fe2bbcd3c6143d4461b3962ed373bdbda"}


class Fault(Exception):
    """A rule that is broken, or that could not be checked, and why."""


def require(holds: object, words: str) -> bool:
    """Refuse what does not hold."""
    if not holds:
        raise Fault("broken", words)
    return True


def _is_number(value: Any, least: float = -MOST) -> bool:
    return type(value) in (int, float) and least <= value <= MOST


def _is_whole(value: Any, least: int = 0, most: float = math.inf) -> bool:
    return type(value) is int and least <= value <= most


def _is_text(value: Any, pattern: str = r"(?s).*", longest: int = 4000) -> bool:
    return type(value) is str and (
        pattern == r"(?s).*" or (len(value) <= longest and bool(re.fullmatch(pattern, value)))
    )


def _all(values: Any, each: Callable[[Any], bool], kind: type = list) -> bool:
    inner = values.values() if type(values) is dict else values
    return type(values) is kind and all(map(each, inner))


def _is_option(value: Any) -> bool:
    return value is None or type(value) in (str, bool, int, float)


def _is_one_of(words: str, value: Any) -> bool:
    return type(value) in (str, type(None)) and value in WORDS[words]


COUNT = 2**63 - 1
HOLDS: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "truth": lambda v: type(v) is bool,
    "whole": lambda v: type(v) is int,
    "natural": _is_whole,
    "count": lambda v: _is_whole(v, 0, COUNT),
    "positive": lambda v: _is_whole(v, 1),
    "sets": lambda v: _is_whole(v, 1, 10**6),
    "seed": lambda v: v is None or _is_whole(v),
    "number": _is_number,
    "amount": lambda v: _is_number(v, 0),
    "spread": lambda v: _is_number(v, 0) and not 0 < v < 1 / MOST,
    "decimal": lambda v: _is_text(v, DECIMAL, 800),
    "part": lambda v: v is None or _is_text(v, FRACTION),
    "scale": lambda v: _is_text(v, SCALE),
    "checksum": lambda v: _is_text(v, "sha256:[0-9a-f]{64}"),
    "files": lambda v: _all(v, _is_text, dict),
    "texts": lambda v: _all(v, _is_text, dict),
    "options": lambda v: _all(
        v, lambda o: _is_option(o) or _all(o, _is_option) or _all(o, _is_option, dict), dict
    ),
    "name": lambda v: v == "" or _is_text(v, "[A-Za-z0-9][A-Za-z0-9_-]{0,99}"),
    "kind": lambda v: type(v) is str and any(v in kinds for _, _, kinds, _ in PURCHASES),
    "totals": lambda v: v is None or _all(v, lambda n: type(n) is bool or _is_number(n), dict),
    "bins": lambda v: _all(
        v, lambda b: type(b) is int or _all(b, lambda e: _is_text(e) or _is_number(e)), dict
    ),
    "groups": lambda v: _all(v, lambda g: _all(g, lambda n: _is_whole(n, 0, COUNT)), dict),
    "limits": lambda v: _all(
        v, lambda ends: type(ends) is list and len(ends) == 2 and _all(ends, _is_number), dict
    ),
    "ranks": lambda v: _all(v, lambda r: _all(r, lambda n: _is_whole(n, -(2**20), 2**20)), dict),
    **{name: partial(_is_one_of, name) for name in WORDS},
}


def misfit(value: Any, kind: str = "manifest", path: str = "") -> str:
    """Path of an entry that lacks, is one too many, or is not of its kind; "" if there is none."""
    if kind.endswith(" or null"):
        return "" if value is None else misfit(value, kind.removesuffix(" or null"), path)
    if kind[0] == "[":
        if type(value) is not list:
            return path
        each = (misfit(one, kind[1:-1], f"{path}.{k}") for k, one in enumerate(value))
        return next(filter(None, each), "")
    if kind not in SHAPE:
        return "" if HOLDS[kind](value) else path
    kinds = {name.rstrip("?"): own for name, own in SHAPE[kind].items()}
    needed = {name for name in SHAPE[kind] if name[-1] != "?"}
    named = {*value} if type(value) is dict else set()
    if odd := needed - named | named - {*kinds}:
        return f"{path}.{min(odd)}"
    each = (misfit(own, kinds[name], f"{path}.{name}") for name, own in value.items())
    return next(filter(None, each), "")


def left_by_a_manager(place: Path) -> bool:
    """Return whether a file is one that a file manager leaves by itself."""
    for start, whole, first in LEFT:
        if place.name == whole or (start and place.name.startswith(start)):
            beside = not start or place.with_name(place.name.removeprefix(start)).exists()
            with place.open("rb") as file:
                return beside and file.read(len(first)) == first and place.stat().st_size <= 2**16
    return False


def strict_json(file: Path) -> Any:
    """The content of JSON in which no name stands twice and every number is finite."""
    own = file.is_file() and not file.is_symlink()  # what leads elsewhere may have no end
    require(
        own and file.stat().st_size <= 2**28, f"{file.name} is no file of its own, or too large"
    )
    why = "a name stands twice"
    try:
        found = json.loads(
            file.read_text(encoding="utf-8"),
            object_pairs_hook=lambda p: require(len(dict(p)) == len(p), why) and dict(p),
        )
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # no half of a character
    except (ValueError, RecursionError):
        raise Fault("broken", f"{file.name} is not JSON of finite numbers, in UTF-8") from None
    require(isinstance(found, dict), f"{file.name} holds no entries")
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


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


def _near(one: Fraction | float, other: Fraction | float) -> bool:
    return abs(Fraction(one) / Fraction(other) - 1) < TINY


def _same(one: Any, other: Any) -> bool:
    """Return whether two numbers in floating point agree in the digits that are written."""
    return f"{float(one):.12g}" == f"{float(other):.12g}"


def _grow(power: Fraction | float) -> float:
    return math.expm1(min(float(power), 64)) or 1e-300


def _is_weight(weight: Fraction, least: float) -> bool:
    return least * (1 - 1e-9) <= weight <= least * (1 + 2**-20) + 2**-19


class Noise:
    """Noise in words, taken apart: its law, its parameter as text, its lattice and its limits."""

    def __init__(self, law: str, text: str, step: Fraction, ends: tuple[int, ...]) -> None:
        self.law, self.text, self.step, self.ends = law, text, step, ends
        self.scale = Fraction(text)

    @classmethod
    def of(cls, words: str) -> "Noise":
        """Take words apart that a ledger may have."""
        for pattern, law in LAWS:
            if found := re.fullmatch(pattern, words.removesuffix(MEANS)):
                text, step, *ends = [*found.groups(), ""][: max(2, len(found.groups()))]
                if law not in PUBLISHED:
                    plain = text == str(Fraction(text)) and str(Fraction(step or 1)) == (
                        step or "1"
                    )
                    require(plain, "a number of its noise is not in lowest terms")
                digits = all(end == f"{float(end):.12g}" for end in ends)
                require(digits, "a limit of its noise is written in other digits")
                unit = Fraction(step or 1)
                limits = tuple(round(Fraction(end) / unit) for end in ends)
                named = "discrete_laplace" if law == "lattice_laplace" and unit == 1 else law
                return cls(named, text, unit, limits)
        raise Fault("broken", "its noise is in words that no step has")

    def spread(self, cells: int) -> float:
        """Standard deviation in one number, before truncation."""
        scale, step = float(self.scale), float(self.step)
        if self.law == GAUSSIAN:
            variance = float(self.scale / self.step**2)
            if variance > 100:
                return math.sqrt(scale)
            weights = [math.exp(-(k**2) / (2 * variance)) for k in range(1, 200)]
            squares = sum(k**2 * w for k, w in enumerate(weights, 1))
            return step * math.sqrt(2 * squares / (1 + 2 * sum(weights)))
        if self.law in PUBLISHED:
            return math.sqrt(2) * scale
        if self.law == "exponential_mechanism":
            return scale * math.sqrt((cells + 1) * (cells + 2) / 3)
        if self.law == "discrete_cube_laplace":
            radius = float(self.scale / self.step)
            return step * math.sqrt(((cells + 1) * (cells + 2) * radius**2 - 0.25) / 3)
        return step / math.sqrt(2) / math.sinh(min(float(self.step / self.scale) / 2, 700))

    def realises(self, size: Fraction, numbers: int, epsilon: float) -> bool:
        """Return whether truncated noise realises ε, and hardly less."""
        width, steps = self.ends[1] - self.ends[0], float(size / self.step)
        change, least = (
            min(steps / numbers, width),
            (min(steps, numbers * width) or steps) / epsilon,
        )

        def compute_epsilon(b: float) -> float:
            near, far = -math.expm1(-change / b), -math.expm1(-(width - change) / b)
            gain = math.exp(-1 / b) * near * far / -math.expm1(-(width + 1) / b)
            return numbers * (change / b + math.log1p(gain))

        b = float(self.scale / self.step)
        hardly_less = b <= least * (1 + 1e-5) or compute_epsilon(b * (1 - 1e-5)) > epsilon
        resort = _near(self.scale, 2 * size / Fraction(epsilon)) and b > 0
        return b >= least * (1 - 1e-9) and compute_epsilon(b) <= epsilon and (hardly_less or resort)


def _distinct(labels: list[str]) -> list[str]:
    """Labels, with a mark behind one that stands there already."""
    found: dict[str, None] = {}
    for label in labels:
        own = label
        while own in found:
            own += "′"
        found[own] = None
    return [*found]


def _key(text: str, names: list[str]) -> list[str]:
    """A column and those that it is drawn given; names may hold an arrow or "&" themselves."""
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.fullmatch(f"({one})(?:<-((?:(?:{one}) & )*(?:{one}))?)?", text)
    require(found, "a measurement is drawn given columns that its schema does not have")
    assert found is not None
    key, rest = [found[1]], found[2] or ""
    while rest:
        first = re.match(f"({one})(?: & (?=(?:(?:{one}) & )*(?:{one})$)|$)", rest)
        assert first is not None
        key, rest = [*key, first[1]], rest[first.end() :]
    return key


def _span(seconds: int) -> str:
    rest = abs(seconds)
    parts = rest // 86400, rest // 3600 % 24, rest // 60 % 60, rest % 60
    text = re.sub(r"(?<!\d)0[DHMS]", "", "P{}DT{}H{}M{}S".format(*parts))
    return ("-" if seconds < 0 else "") + text.rstrip("T") if seconds else "PT0S"


def count_allowed(sizes: dict[str, int], boxes: list[dict[str, set[int]]]) -> int:
    """Number of cells that no rule forbids; of all sets of rules, those that can hold are tried."""
    ruled = [name for name in sizes if any(name in box for box in boxes)]
    known: dict[tuple[int, tuple[int, ...]], int] = {}

    def count(k: int, alive: tuple[int, ...]) -> int:
        if any(not {*boxes[j]} & {*ruled[k:]} for j in alive):
            return 0
        if k == len(ruled):
            return 1
        if (k, alive) not in known:
            name = ruled[k]
            left = Counter(
                tuple(j for j in alive if name not in boxes[j] or state in boxes[j][name])
                for state in range(sizes[name])
            )
            known[k, alive] = sum(times * count(k + 1, rest) for rest, times in left.items())
        return known[k, alive]

    free = math.prod(size for name, size in sizes.items() if name not in ruled)
    return free * count(0, tuple(range(len(boxes))))


def _text_of(value: Any) -> str:
    value = int(value) if isinstance(value, float) and value == int(value) else value
    if isinstance(value, datetime) and not value.tzinfo and value.time() == time():
        value = value.date()  # as schemas of moments have it
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


def _is_value(wide: Any, own: Any, kind: str) -> bool:
    """Return whether a value of a table of members is that of a slot, which may hold it as text."""
    if wide is None or own is None:
        return wide is own
    return _text_of(wide) == _text_of(own) or place_of(wide, kind) == place_of(own, kind)


def _has_labels(field: Any, labels: list[str]) -> bool:
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
        self.beyond = (
            [
                f"{word} {self._end(entry.get(*end))}"
                for word, end in zip(("below", "above"), ends, strict=True)
            ]
            if self.numeric
            else []
        )
        self.slack = 1e-9 * max(self.high - self.low, abs(self.low), abs(self.high)) * self.real
        self.margin = self.slack + (0 if digits is None else 0.5 * 10.0**-digits)
        self.values = [*levels, *entry.get("not_applicable", ()), *entry.get("missing", ()), *out]
        texts = [_text_of(value) or "(empty)" for value in self.values]
        require(len({*texts}) == len(texts), "a column declares a value twice")
        self.labels = [*(cell[2] for cell in self.cells), *texts]

    def without(self, code: Any, states: Iterable[int]) -> Iterator[int | None]:
        """States as they are counted without a code, which itself is None."""
        at = len(self.cells) + self.values.index(code) if code in self.values else None
        for state in states:
            yield state if at is None or state < at else state - 1 if state > at else None

    def _end(self, value: Any) -> str:
        """A declared bound as a number line names it: not cut to whole units."""
        if isinstance(value, datetime | time):
            return str(value)
        if not self.unit:
            return f"{float(value):.12g}" if self.real else str(int(value))
        seconds = int(place_of(value, self.kind))
        if self.kind == "duration":
            return _span(seconds)
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        day = date.fromordinal(seconds // 86400 + EPOCH).isoformat()
        return {"date": day, "time": clock}.get(self.kind, f"{day} {clock}")

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
        found = [(x, x, self.show_place(x), True) for x in map(float, entry.get("spikes", ()))]
        require(all(low <= cell[0] <= high for cell in found), "a spike lies outside the bounds")
        ends = [start - (not self.real) for start in starts[1:]] + [high]
        for start, end in zip(starts, ends, strict=True):
            first, last = self.show_place(start), self.show_place(end)
            real = f"[{first}, {last}{']' if end == high else ')'}"
            label = real if self.real else first if start == end else f"{first} to {last}"
            found.append((start, end, label, False))
        return sorted(found, key=lambda cell: (cell[0], not cell[3]))

    def show_place(self, place: float) -> str:
        """A place on the number line as text."""
        if not self.unit:
            return f"{place + 0.0:.12g}" if self.real else str(int(place))
        seconds = int(place) * self.unit
        if self.kind == "duration":
            return _span(seconds)
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        day = date.fromordinal(seconds // 86400 + EPOCH).isoformat()
        return {"date": day, "time": clock}.get(self.kind, f"{day}T{clock}")

    def find_stored_type(self) -> str:
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

    def tell_states(self, chosen: list[int]) -> str:
        """Some states in words: bins side by side as one range, and spikes behind them."""
        bins = [k for k, cell in enumerate(self.cells) if not cell[3]]
        runs: list[list[int]] = []
        for place, k in enumerate(bins):
            if k in chosen:
                begins = not place or bins[place - 1] not in chosen
                runs = [*runs, [k]] if begins else [*runs[:-1], [*runs[-1], k]]
        beside = [k for k in chosen if k not in bins]
        return " or ".join([*map(self._range, runs), *(self.labels[k] for k in beside)])

    def _range(self, run: list[int]) -> str:
        first, last = self.labels[run[0]], self.labels[run[-1]]
        if first == last:
            return first
        if self.real:
            return f"{first.partition(', ')[0]}, {last.partition(', ')[2]}"
        return f"{first.partition(' to ')[0]} to {last.rpartition(' to ')[2]}"

    def find_states(self, chosen: Any) -> set[int]:
        """The states that a rule names; none where it cuts a bin or names what there is not."""
        if not isinstance(chosen, dict):
            each = {
                self._named_by(one) for one in (chosen if isinstance(chosen, list) else [chosen])
            }
            return set() if None in each else {k for k in each if k is not None}
        low, high = self._place(chosen["lower"]), self._place(chosen["upper"])
        inside, touched = set(), set()
        for k, (a, b, _, spike) in enumerate(self.cells):
            upto = (a < high or a == high == self.high) if spike and self.real else b <= high
            inside |= {k} if a >= low and upto else set()
            part = a < high and b > low and not spike if self.real else a <= high and b >= low
            touched |= {k} if part else set()
        return inside if touched <= inside else set()

    def _named_by(self, value: Any) -> int | None:
        """The state that a value in a rule names: by its text, as a number, as a bin of its own."""
        texts = [_text_of(code) for code in self.values]
        if (text := _text_of(value)) in texts:
            return len(self.cells) + texts.index(text)
        number = place_of(value)
        for k, code in enumerate(self.values, len(self.cells)):
            if number == place_of(code) and not (isinstance(value, str) and isinstance(code, str)):
                return k
        place = self._place(value) if self.numeric else math.nan
        single = (k for k, (low, high, *_) in enumerate(self.cells) if low == high == place)
        return next(single, None)


class Release:
    """A folder, and a method for each rule: it says what it found, or raises what is broken."""

    def __init__(self, folder: Path, key: str | None = None) -> None:
        self.folder, self.key = folder, key

    def _manifest(self) -> str:
        self.content = m = strict_json(self.folder / "manifest.json")
        require(m["format"] == 2 and type(m["format"]) is int, "it is not of format 2")
        require(not (fault := misfit(m)), f"its entry {fault[1:61]!r} is not one of format 2")
        self.promise, self.measured, self.n_rows = m["guarantee"], m["measurements"], m["n_rows"]
        told = m["options"].get("sets", m["sets_kind"])
        words = told in WORDS["sets_kind"] if type(told) is str else False
        require(not words or told == m["sets_kind"], "its options ask for another kind of sets")
        return f"format 2, {len(self.measured)} measurements"

    def _files(self) -> str:
        listed, found, many = self.content["files"], set(), -(-self.n_rows // PART)
        for place in self.folder.rglob("*"):
            name = place.relative_to(self.folder)
            plain = (place.is_dir() or place.is_file()) and not place.is_symlink()
            require(plain, f"{place.name[:60]!r} leads elsewhere")
            hidden = place.name[0] == "." and place.is_file() and left_by_a_manager(place)
            found |= set() if place.is_dir() or hidden else {name.as_posix()}
        odd = sorted((found - {"manifest.json", "manifest.sig"}) ^ {*listed})
        require(not odd, f"{''.join(odd[:1])[:60]!r} is not listed, or not there")
        for name, checksum in listed.items():
            digest = _digest(self.folder / name)
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
        beside += r"|linked/.*"  # which of them there are, the schema says
        core = [name for name in listed if name in needed or not re.fullmatch(beside, name)]
        require(sorted(core) == sorted(needed), "it has files of no release, or lacks some")
        return f"{len(listed)} files, as listed"

    def _signature(self) -> str:
        """Check who signed the folder; if a key is named, it must be that one."""
        place, key = self.folder / "manifest.sig", self.key
        if key is not None:
            require(re.fullmatch("[0-9a-f]{64}", key), "the key that was named is none of Ed25519")
        if not place.exists():
            raise Fault("broken" if key is not None else "not checked", "it is not signed")
        signed = strict_json(place)
        fits = isinstance(signed, dict) and {*signed} == {"algorithm", "public_key", "signature"}
        require(fits and signed["algorithm"] == "ed25519", "it is not of Ed25519")
        require(key in (None, signed["public_key"]), "it was signed by another key")
        digest = _digest(self.folder / "manifest.json")
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
        return f"signed by {signed['public_key']}" + (", as named" if key is not None else "")

    def _schema(self) -> str:
        d = tomllib.loads((self.folder / "schema.toml").read_text(encoding="utf-8"))
        self.public = {"private": False, "public": True}[d["rows"]]
        own = d.get("n_rows") == self.n_rows if self.public else "n_rows" not in d
        fits = d["format"] == 1 and (own or self.promise["epsilon"] is None)
        require(fits, "it is of another format, or states another number of rows")
        self.row_limit = d.get("row_limit")
        self.row_bound = self.n_rows if self.public else self.row_limit
        self.rules, self.related = d.get("forbidden", []), bool(d.get("relations"))
        every, name = d["columns"], "identifier"
        self.fresh = {n: e.get("pattern", "{}") for n, e in every.items() if e["kind"] == name}
        self.order, self.entries = [*every], {n: every[n] for n in every if n not in self.fresh}
        self.names = [n for n, one in self.entries.items() if "derived" not in one]
        self.columns = {n: Column(e) for n, e in self.entries.items()}
        require(all(all(box.values()) for box in self._boxes(self.columns)), "a rule has no states")
        drafted = any(e.get("drafted") for e in (*every.values(), d.get("file", {})))
        require(not drafted or self.promise["leaks"], "entries stand as drafted; no leak says so")
        self.members: Any = d.get("members")
        self._linked_files()
        return f"{len(self.order)} columns, {len(self.rules)} forbidden combinations"

    def _linked_files(self) -> None:
        """Tables of units and of members are listed if there are members, and only then."""
        found, form = {n for n in self.content["files"] if n.startswith("linked/")}, self.members
        if form is None:
            require(not found, "it has linked tables of no members")
            return
        names, most = [form["of"], form["table"]], form["rows_per_unit"]
        plain = all(_is_text(n, "[A-Za-z0-9_]{1,64}") for n in names) and _is_whole(most, 1, 30)
        require(plain and names[0].lower() != names[1].lower(), "its two tables have no such names")
        self.slots = [[f"{n}_{j}" for n in form["columns"]] for j in range(1, most + 1)]
        own = {form["size"], *(n for slot in self.slots for n in slot)}
        fits = self.slots[0] and form["key"] in self.fresh and own <= {*self.entries}
        require(fits, "its members have columns that it lacks")
        sets = range(1, self.content["sets"] + 1)
        self.linked = {f"linked/set-{k}-{n}.parquet": (k, n) for k in sets for n in names}
        needed = {*self.linked, "linked/datapackage.json"}
        several = "|".join(names)
        beside = rf"linked/set-([1-9][0-9]*)-({several})(-labels)?\.(csv|sav|dta)"
        others = [re.fullmatch(beside, n) for n in found - needed]
        known = all(one is not None and int(one[1]) in sets for one in others)
        require(needed <= found and known, "it has other linked tables than those of its members")

    def _boxes(self, columns: dict[str, Column]) -> list[dict[str, set[int]]]:
        return [
            {n: columns[n].find_states(v) for n, v in one["where"].items()} for one in self.rules
        ]

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
            units = {key for key in entry if key.removesuffix("_exact") in UNITS}
            own = units == {self.unit, f"{self.unit}_exact"}
            require(entry["number"] == number and own, "steps are out of order, or of another unit")
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
        self.paid = {one["ledger_entry"]: one for one in self.measured}
        own = len(self.paid) == len(self.measured) and {*self.paid} <= {
            *range(1, len(self.steps) + 1)
        }
        require(own, "a measurement has no step of its own")
        self.noises: dict[int, Noise] = {}
        for entry, price in self.steps:
            number, told = entry["number"], self.paid.get(entry["number"])
            if entry["noise"] == LOST:
                costs = {
                    cost == "none" for name, cost, *_ in PURCHASES if name == entry["mechanism"]
                }
                fits = told is None and (price is None) in costs and price != 0
                require(fits, f"step {number} ended without a result, and has one")
                continue
            cost = self._cost(entry, price, told)
            require(cost, f"step {number} cannot have bought what it is said to")
            if cost == "free":
                require(entry["noise"] == "none: unpaid", f"step {number} is free, and has noise")
            elif price is not None:
                fits = self._buys(entry, price, told)
                require(fits, f"that of step {number} does not follow from its price")
        self._rows()
        self._selections()
        return "each step has the noise that its price buys"

    def _cost(self, entry: dict[str, Any], price: Fraction | None, told: Any) -> str:
        """Return what a step cost, in the words of the table; "" if there is no such row."""
        named, leaks = entry["mechanism"], " ".join(self.promise["leaks"])
        possible = {"none"} if price is None else {"paid", "as published"} if price else {"free"}
        for mechanism, cost, kinds, laws in PURCHASES:
            fits = not kinds if told is None else told["kind"] in kinds and told["law"] in laws
            if mechanism == named and cost in possible and fits:
                if cost == "as published" and FLOATING not in leaks:
                    return ""
                if cost == "free" and not leaks:  # a leak must name what was left in
                    return ""
                return "" if named == ELSEWHERE and self.promise["kind"] != "none" else cost
        return ""

    def _selections(self) -> None:
        """A private selection costs 1 + η of the try before it, or what ε and δ leave of a ρ."""
        before, found = Fraction(0), False
        for entry, price in self.steps:
            if entry["mechanism"] != "private selection":
                before += price or 0
                continue
            law = re.fullmatch(TRIES, entry["sensitivity"])
            fits = law and price and entry["noise"] == "" and self.unit != "half_mu_squared"
            require(fits, "a selection of tries is in another unit, or of another law")
            assert law is not None
            assert price is not None
            eta, gamma, found = Fraction(law[1]), Fraction(law[2]), True
            require(-1 < eta <= 1 and 0 < gamma < 1, "its number of tries has another law")
            fits = price >= (1 + eta) * before
            if self.unit == "rho":
                fits = self._may_select(float(before), float(eta), float(gamma))
            require(fits, "its selection cost less than its tries")
        require(found == ("choice" in self.content), "it does not say among what it was selected")

    def _may_select(self, rho: float, eta: float, gamma: float) -> bool:
        """Return whether the best of tries of so much ρ keeps to the ε and δ of the budget."""
        budget, tail = self.content["budget"], -math.log(gamma)
        tries = (1 - gamma) / (gamma * tail)
        if eta:
            tries = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
        order = max(1, math.sqrt(tail / rho)) if rho else 1
        added = (1 + eta) * ((order - 1) * rho + tail / order)
        rest, delta = float(Fraction(budget["epsilon"])) - added, Fraction(budget["delta"])
        most = math.log(delta.numerator) - math.log(delta.denominator) - math.log(tries)
        return rest > 0 < rho and log_delta("rho", rho, rest) <= most

    def _rows(self) -> None:
        """The number of rows is public, or one step bought it."""
        bought = [
            (entry, price)
            for entry, price in self.steps
            if entry["mechanism"] == "noisy count" and entry["noise"] != LOST
        ]
        words, spread = self.content["rows_obtained"], self.content["inference"].get("rows_stddev")
        if self.public:
            public = words == "declared as public in the schema" and not bought and not spread
            require(public, "its number of rows is public, and was bought")
            return
        require(len(bought) == 1, "no single step bought its private number of rows")
        ((entry, price),) = bought
        asked = (entry["query"], entry["cells"]) == ("number of rows", 1)
        require(price and asked, "its number of rows was bought for nothing, or not asked for")
        assert price is not None
        told = f"bought once for {UNITS[self.unit]} = {_decimal_up(price)} ({entry['noise']})"
        require(words == told, "its number of rows was obtained in another way")
        wide = self.noises[entry["number"]].spread(1)
        near = not spread or abs(max(spread, 1 / MOST) / max(wide, 1 / MOST) - 1) < 1e-6
        require(near, "its number of rows has other noise than was paid for")
        limit = self.row_limit
        require(limit is None or self.n_rows <= limit, "it has more rows than its schema allows")

    def _buys(self, entry: dict[str, Any], price: Fraction, told: Any) -> bool:
        """Return whether the noise of a step is what its price buys."""
        mechanism = entry["mechanism"]
        if mechanism == "private selection":  # compared with the steps before it
            return True
        if mechanism in DRAWS:
            return self._draws(entry, price, told)
        if mechanism == "exponential mechanism" and told["kind"] != "distribution":
            scored = re.fullmatch(r"score: \S.*", entry["sensitivity"]) and entry["noise"] == ""
            return bool(scored) and not (
                self.public and entry["sensitivity"].endswith(", monotone")
            )
        self.noises[entry["number"]] = noise = Noise.of(entry["noise"])
        if noise.law == "exponential_mechanism":
            choice = pure_epsilon(price, self.unit) * (1 if self.unit == "epsilon" else 2)
            return entry["sensitivity"] == "distance: 1" and _near(noise.scale * choice, 2)
        if mechanism in COUNTED:
            return self._counts(entry, price, noise)
        return self._sums(entry, price, told, noise)

    def _sums(self, entry: dict[str, Any], price: Fraction, told: Any, noise: Noise) -> bool:
        """Noise of sums, by a sensitivity that is said in words."""
        mechanism, gauss, many = entry["mechanism"], noise.law == GAUSSIAN, entry["cells"]
        moments = mechanism in MOMENTS
        at_most, norm = moments or mechanism == "noisy rank products", "L1"
        norm = "L2" if gauss else "L∞" if mechanism == "K-norm mechanism" else norm
        sign, root = "≤" if at_most else "=", "√" if gauss else ""
        means = told is not None and told["kind"] == "means"
        said = rf"{norm} {sign} {root}{EXACT_OR_DECIMAL}{'/n_k, as published' if means else ''}"
        found = re.fullmatch(said, entry["sensitivity"])
        if found is None or means != entry["noise"].endswith(MEANS):
            return False
        amount, moved, slack, fits = Fraction(found[1]), {1}, TINY, True
        if mechanism == "noisy successes":
            fits = amount == 1 and self.public
            fits = fits and (noise.law != TRUNCATED or noise.ends == (0, self.n_rows))
        elif mechanism == "noisy moment":
            fits, moved = self._is_of_columns(told, amount), {1, 2 if self.public else 1}
        elif mechanism == "noisy rank products":
            fits = amount == self._rank_sensitivity(told, gauss)
        elif moments:  # rounded to a lattice, which moves each number
            step, slack = noise.step, 2**-14
            width = math.isqrt(math.ceil(amount / step**2)) + math.isqrt(many) + 2
            whole = many + (math.ceil(amount * 2**30) - many) // int(step * 2**30)
            amount = width**2 * step**2 if gauss else whole * step
        return fits and any(self._has_scale(noise, price, amount, slack, k) for k in moved)

    def _counts(self, entry: dict[str, Any], price: Fraction, noise: Noise) -> bool:
        """Noise of counts: of one record that comes or goes, or of one in place of another."""
        twice, change = 2 if self.public else 1, entry["sensitivity"]
        if noise.law in PUBLISHED:
            leaks = " ".join(self.promise["leaks"])
            worth = [
                Fraction(1),
                *map(Fraction, re.findall(rf"the noise of {EXACT} times the ε", leaks)),
            ]
            scales = (float(1 / (more * price)) for more in worth)
            ends = noise.law == "laplace" or noise.ends == (0, self.row_bound)
            return change == "L1 = 1" and ends and any(_same(noise.text, one) for one in scales)
        rows = entry["mechanism"] == "noisy rows"
        size = f"L2 = {'√2' if twice == 2 else 1}" if noise.law == GAUSSIAN else f"L1 = {twice}"
        cost = price / len(self.names) if rows else price
        inside = noise.law != TRUNCATED or noise.ends == (0, self.row_bound)
        fits = change == size + " in each table" * rows and inside
        pure_rows = (
            noise.law == "discrete_laplace" if self.unit == "epsilon" else noise.law == GAUSSIAN
        )
        fits = fits and (entry["mechanism"] != "noisy count" or pure_rows)
        return fits and self._has_scale(noise, cost, Fraction(twice), numbers=twice)

    def _has_scale(
        self, noise: Noise, price: Fraction, size: Fraction, slack: float = TINY, numbers: int = 1
    ) -> bool:
        """Return whether a price buys this noise at a sensitivity of so many numbers together."""
        pure = pure_epsilon(price, self.unit)
        if noise.law in PUBLISHED:  # what it leaves in is named
            return self.unit == "epsilon" and _same(noise.text, float(size / price))
        if noise.law == TRUNCATED:
            return self.unit == "epsilon" and noise.realises(size, numbers, float(price))
        unit = noise.step
        least = size / pure
        if noise.law == GAUSSIAN:
            if self.unit == "epsilon":
                return False
            least = unit**2 * gaussian_variance(price, self.unit, size / unit**2)
        most = max(least * Fraction(1 + slack), unit / 2**40)
        return least * Fraction(1 - slack) <= noise.scale <= most

    def _is_of_columns(self, told: Any, size: Fraction) -> bool:
        """Return whether a sensitivity of sums is that of bounds, or little more for a lattice."""
        ranges = []
        for column in (self.columns[name] for name in told["of"]):
            require(column.numeric, "a sum is of a column that is not numeric")
            ranges.append(Fraction(column.high) - Fraction(column.low))
        if not ranges or len(ranges) != (2 if told["kind"] == "scatter" else 1):
            return False
        least = most = math.prod(ranges, start=Fraction(1))
        if told["kind"] == "sums" and not self.public:
            least = most = most / 2
        if told["kind"] == "scatter" and self.public:
            least -= least / max(1, self.n_rows)
            most *= 1 if told["of"][0] == told["of"][-1] else 2
        return least * (1 - Fraction(1, 10**9)) <= size <= most * Fraction(101, 100)

    def _rank_sensitivity(self, told: Any, gauss: bool) -> Fraction:
        """Sensitivity of products of ranks of d columns."""
        d, steps = len(told["columns"]), 4096
        most = steps * d + math.isqrt(steps**2 * 36 * d // 25)
        if gauss:
            squared = most**2 if self.public else -(-(most**2) * (d - 1) // (2 * d))
            return Fraction(squared, steps**2)
        return Fraction((2 if self.public else 1) * (most * (d - 1) // 2), steps)

    def _draws(self, entry: dict[str, Any], price: Fraction, told: Any) -> bool:
        """Draws from rows and a prior, whose weight follows from the price of all of them."""
        mechanism, n, d = entry["mechanism"], self.n_rows, len(self.names)
        _, added, replaced, pattern = DRAWS[mechanism]
        said = re.fullmatch(pattern, entry["noise"])
        if said is None or entry["sensitivity"] != (replaced if self.public else added):
            return False
        if "by the marginals of the rows" in entry["noise"] and not self.promise["leaks"]:
            return False
        weight = Fraction(told["scale"]) if re.fullmatch(FRACTION, told["scale"]) else Fraction(-1)
        if mechanism == "urn draws":
            reinforced = said[1] is not None
            pure = pure_epsilon(price, self.unit)
            same = told["law"] == ("Dirichlet–multinomial" if reinforced else "fixed prior")
            epsilon = said[1] or said[2]
            own = _near(Fraction(epsilon), pure) and epsilon == str(Fraction(epsilon))
            least = n / _grow(pure) if reinforced else 1 / _grow(pure / max(n, 1))
            return same and own and (n == 0 or _is_weight(weight, least))
        if mechanism == "perturbed imputation":
            steps = int(said[2])
            pure = pure_epsilon(price / max(1, n * steps), self.unit)
            same = said[1] == str(price) and steps == entry["cells"]
            return same and _is_weight(weight, 1 / _grow(pure))
        words = {"epsilon": "e", "half_mu_squared": "cost of e"}.get(
            self.unit, "e^2/2" if self.public else "e^2/8"
        )
        choice = 1 if self.unit == "epsilon" else 2
        if mechanism == "perturbed sweeps":
            own, steps = int(said[3]) % d == 0, int(said[3]) * n
            share = price / max(1, steps)
            e = pure_epsilon(share, self.unit) * (1 if self.public else choice)
        else:
            words = "2 e" if self.public and self.unit == "epsilon" else words
            block = min(int(said[4]), n) or 1 if said[4] else n or 1
            own, share = int(said[3]) == d, price / max(1, d * -(-n // block))
            e = choice * pure_epsilon(share, self.unit)
            if self.public:
                half = choice * pure_epsilon(share / 2, self.unit)
                e = min(pure_epsilon(share, self.unit), half)
        same = own and said[1] == words and said[2] == str(price)
        return same and _is_weight(weight, 1 / _grow(e))

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
        zcdp = self.unit == "rho" and "choice" not in self.content  # of several tries none has ρ
        rho, limit = budget["amount"] if zcdp else None, 2 * self.amounts[-1]
        fits = (mu is not None) == (self.unit == "half_mu_squared") and p["delta"] == delta
        near = not mu or abs(Fraction(mu) ** 2 / limit - 1) < TINY
        require(fits and told[:2] == [size, rho] and near, "it is not that of its budget")
        many, word = delta != "0", "Zero-concentrated" if kind == "zcdp" else kind.capitalize()
        one = ("added or removed", "replaced by another (the number of records is public)")
        words = f"{word} differential privacy with{' nominal' if leaks else ''} ε = {size}"
        words += (
            f"{f', δ = {delta}' * many}: {'were it not for what is left in, ' if leaks else ''}"
        )
        words += "whatever is computed from this release, its probability changes by a factor of at"
        words += f" most e^ε{' (up to δ)' * many} if one record is {one[self.public]}."
        mus = f" This follows from Gaussian differential privacy with μ = {mu}: telling the two "
        mus += "apart is at least as hard as telling one draw of N(0, 1) from one of N(μ, 1)."
        words += mus * bool(mu and not leaks)
        words += f" It holds under these conditions: {' '.join(if_any)}" if if_any else ""
        words += f" Left in, unpaid: {' '.join(leaks)}" if leaks else ""
        require(p["statement"] == words, "its sentence says something else than its numbers")
        return f"{kind}, ε = {size}, δ = {delta}, {own}"

    def _measurements(self) -> str:
        for one in self.measured:
            entry, price = self.steps[one["ledger_entry"] - 1]
            number = entry["number"]
            fits = (one["kind"] in STORED) == bool(one["name"]) and (
                one["name"] or not one["cells"]
            )
            used = {*one["columns"], *one["bins"], *one.get("groups", {})}
            fits = fits and used <= {*self.names} and len({*one["columns"]}) == len(one["columns"])
            fits = fits and all(self.columns[name].numeric for name in one["bins"])
            fits = fits and (one["kind"] not in SINGLE or len(one["columns"]) == 1)
            fits = fits and [*one.get("ranks", {})] == one["columns"] * (one["kind"] == "ranks")
            fits = fits and all(
                one["kind"] in ("products", "terms")
                and name in one["columns"]
                and self._bounds(name, *ends)
                for name, ends in one.get("limits", {}).items()
            )
            fits = fits and (one["kind"] in KEYED or {*one["of"]} <= {*self.names})
            fits = fits and (one["kind"] != "products" or {*one["of"]} <= {*one["columns"]})
            always = one["kind"] in ("weighted", "weighted-table")
            fits = fits and (not always or self._is_weighted(one))
            fits = fits and self._has_terms(one)
            fits = fits and (one["kind"] in COUNTED_BESIDE or not one.get("beside"))
            heaped = "heaps" in self.entries[one["columns"][0]] if one["columns"] else False
            fits = fits and (one["kind"] != "heaps" or heaped) and self._has_totals(one)
            require(fits, f"what step {number} measured has other columns or cells")
            first = self.amended[0]["entries"] if self.amended else len(self.steps)
            later = one["name"].startswith("amendment-") == (number > first)
            require(later or not one["name"], f"what step {number} measured has another's name")
            if price is None:
                continue
            require(self._is_asked(entry, one), f"step {number} asks for other numbers")
            noise = self.noises.get(number)
            if entry["mechanism"] in DRAWS:
                same = one["stddev"] == 0
            elif noise is None:
                same = (one["scale"], one["stddev"], one["law"]) == ("0", 0, "none")
            else:
                floating = noise.law in PUBLISHED
                same = _same(noise.text, one["scale"]) if floating else one["scale"] == noise.text
                same = same and one["law"] == noise.law
                wide = noise.spread(entry["cells"])
                same = same and abs(one["stddev"] / max(wide, 1 / MOST) - 1) < 1e-6
            require(same, f"what step {number} measured states another noise")
        return f"{len(self.measured)} state the noise that was paid"

    def _bounds(self, name: str, low: float, high: float) -> bool:
        """Return whether limits are ascending numbers within the bounds of a numeric column."""
        column = self.columns[name]
        return bool(column.numeric and column.low <= low < high <= column.high)

    def _is_weighted(self, one: dict[str, Any]) -> bool:
        """Return whether what weighs records is a numeric column, up to a bound within its own."""
        totals, columns = one["totals"] or {}, [self.columns[name] for name in one["of"]]
        apart = one["of"][1:]
        fits = len(columns) == 1 + len(apart) <= 2 and columns[0].numeric
        fits = fits and totals.get("power") in (1, 2) and not {*apart} & {*one["columns"]}
        fits = fits and not (apart and one["kind"] == "weighted-table")
        fits = fits and not any(own.numeric for own in columns[1:])
        return bool(fits and 0 < totals.get("bound", 0) <= columns[0].high)

    def _has_totals(self, one: dict[str, Any]) -> bool:
        names = [*(one["totals"] or ())]
        if one["kind"] in ("sweeps", "parameters", "terms"):
            return True
        if one["kind"] == "leaf-sums" and one["totals"] is None:
            return True
        return names == TOTALS.get(one["kind"], [])

    def _has_terms(self, one: dict[str, Any]) -> bool:
        """Return whether terms are made of its columns, and are those of chosen states of these."""
        terms, among = one.get("terms", []), self._chosen(one)
        if one["kind"] != "terms":
            return not (terms or among)
        fits = bool(terms) and len({*terms}) == len(terms) and all(among)
        fits = fits and (self._is_weighted(one) if one["of"] or one["totals"] else True)
        sides = [side for box in among for side in box.items()]
        states = {name: range(len(self.columns[name].labels)) for name in one["columns"]}
        fits = fits and all(own and {*own} <= {*states.get(name, ())} for name, own in sides)
        factors = [FACTOR.fullmatch(part) for text in terms for part in COLON.split(text)]
        named = (found[2] for found in factors if found)
        made = {n[1:-1].replace("``", "`") if n[0] == "`" else n for n in named}
        made |= {name for name, _ in sides}
        own = [name for name in self.names if name in made]
        return fits and all(factors) and len(own) == len(made) and own == one["columns"]

    def _chosen(self, one: dict[str, Any]) -> list[dict[str, list[int]]]:
        """Boxes of states, in one of which a record that counts lies."""
        boxes = one.get("among", [])
        return [boxes] if isinstance(boxes, dict) else boxes

    def _among(self, one: dict[str, Any]) -> str:
        """Which records a step of terms says that it is of; "" for all."""
        words = "; or ".join(
            " and ".join(f"{name} = {self.columns[name].tell_states(own)}" for name, own in sides)
            for sides in (box.items() for box in self._chosen(one))
        )
        return f", of records with {words}" if words else ""

    def _weighting(self, one: dict[str, Any]) -> str:
        """By what a step says that its records are weighted; "" where they are not."""
        if one["kind"] not in ("weighted", "weighted-table", "terms") or not one["of"]:
            return ""
        power = "w" if one["totals"]["power"] == 1 else "w²"
        apart = "".join(f", by {name}" for name in one["of"][1:])
        return f"{power} = {one['of'][0]} up to {float(one['totals']['bound'])!r}{apart}"

    def _is_asked(self, entry: dict[str, Any], one: dict[str, Any]) -> bool:
        """Return whether query and number of cells of a step are those of what it measured."""
        kind, query, cells = str(one["kind"]), str(entry["query"]), int(entry["cells"])
        mechanism = str(entry["mechanism"])
        joined = " × ".join(one["columns"])
        plain, score = re.escape(joined), r"by \S.*"
        counts = re.escape(f"counts by {joined}" if joined else "count")
        patterns = {
            "table": counts,
            "cells": counts,
            "totals": counts,
            "leaf-sums": re.escape(f"counts by {' × '.join(self.names)}"),
            "nodes": f"counts of the nodes of layer {NUMBER}",
            "line": f"counts of {plain} on its number line",
            "heaps": f"counts of {plain} by its heaps",
            "ranges": f"counts of {max(0, cells - 1)} ranges of {plain}",
            "successes": f"successes of {plain}",
            "products": re.escape(
                f"sums and products of scores of {', '.join(one['columns'])}"
                + (f", of records with a value of {', '.join(one['of'])}" if one["of"] else "")
            ),
            "weighted": re.escape(
                f"sums and products of scores of {', '.join(one['columns'])}, weighted by "
                f"{self._weighting(one)}"
            ),
            "weighted-table": re.escape(f"sums by {joined}, weighted by {self._weighting(one)}"),
            "terms": re.escape(
                f"sums and products of the terms {', '.join(one.get('terms', []))}"
                + self._among(one)
                + (f", weighted by {self._weighting(one)}" if one["of"] else "")
            ),
            "ranks": re.escape(f"sums of products of ranks of {', '.join(one['columns'])}"),
            "choice": rf"one of {NUMBER} candidates {score}|(two groups of columns|(a column that "
            r"divides each node of|the columns that divide) layer [0-9]+), by (AIC|BIC)",
            "parameters": rf"parameters over {plain}: (one of|a walk of) {NUMBER}( steps)? {score}",
            "distribution": f"distribution of {plain}",
            "draws": f"records of {plain}",
            "sweeps": f"records of {plain} from a noisy table for each column",
        }
        if mechanism == "noisy ranges":
            kind = "ranges"
        if kind in ("sums", "means", "scatter"):
            by = self._rest(one, query)
            return by and (kind != "scatter" or cells == 1)
        pattern = DRAWS[mechanism][0].format(plain) if mechanism in DRAWS else patterns[kind]
        if not re.fullmatch(pattern, query):
            return False
        d = len(one["columns"])
        if kind == "sweeps":
            tables = [_key(text, self.names) for text in one["of"]]
            if [table[0] for table in tables] != self.names or one["columns"] != self.names:
                return False
            if mechanism == "perturbed imputation":
                return cells > 0 and cells % d == 0
            sizes = {n: len(labels) for n, labels in self._grid(one)[0].items()}
            return cells == sum(math.prod(sizes[name] for name in table) for table in tables)
        single = {"parameters": 1, "successes": 1, "ranks": d * (d - 1) // 2}
        if query.startswith("one of "):
            single["choice"] = 1
        return cells > 0 if kind not in single else cells == single[kind]

    def _rest(self, one: dict[str, Any], query: str) -> bool:
        """Return whether a query is of these sums, by the columns of their table that stay."""
        summed = [*dict.fromkeys(one["of"])]
        word, link = {"sums": ("sum", " by "), "means": ("mean", " by ")}.get(
            one["kind"], ("scatter", " within ")
        )
        rest, of = "", f"{word} of {' and '.join(summed)}"
        for name in (name for name in one["columns"] if name not in summed):
            column = Column(self.entries[name], one["bins"].get(name))
            single = column.numeric and sum(not spike for *_, spike in column.cells) == 1
            rest += f"({re.escape(f'{name} × ')}){'?' * single}"
        by = query.removeprefix(of + link) + " × " if query.startswith(of + link) else ""
        return bool(re.fullmatch(rest, by)) and (by != "" or query == of)

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
        for one in self.measured:
            entry, price = self.steps[one["ledger_entry"] - 1]
            fits = price is None or self._counts_cells(entry, one)
            require(fits, f"step {entry['number']} has another number of cells")
            if one["name"]:
                table = self._parquet(f"noisy/{one['name']}.parquet")
                *axes, counts = [column.to_pylist() for column in table.columns]
                finite = all(type(v) in (int, float) and math.isfinite(v) for v in counts)
                require(finite and len(counts) == one["cells"], f"{one['name']} has other numbers")
                named = self._holds(one, axes, counts, table.schema)
                require(named, f"{one['name']} has other cells")
        return "as their measurements say"

    def _counts_cells(self, entry: dict[str, Any], one: dict[str, Any]) -> bool:
        """Return whether a step has as many numbers as its measurement's cells, and one outside."""
        kind, stated = one["kind"], entry["cells"]
        if kind == "ranges" or entry["mechanism"] == "noisy ranges":
            return bool(stated > one["cells"])
        if kind in ("line", "heaps", "nodes"):
            return bool(stated == one["cells"] + 1)
        whole = {"table", "weighted-table", "cells", "totals", "leaf-sums", "distribution", "draws"}
        if self.related or kind not in whole | {"sums", "means"}:
            return True
        names = self.names if kind == "leaf-sums" else one["columns"]
        labels, boxes = self._grid(one)
        sizes = {name: len(labels[name]) for name in names}
        among = [box for box in boxes if {*box} <= {*names}]
        if kind in ("sums", "means"):  # of the cells that can hold a number
            column = Column(self.entries[one["of"][0]], one["bins"].get(one["of"][0]))
            coded = {*range(len(column.labels))} - {
                k for k, (*_, spike) in enumerate(column.cells) if not spike
            }
            among = [*among, {one["of"][0]: coded}] if coded else among
        alone = {"weighted-table", "sums", "means", "distribution", "draws"}
        beside = 0 if kind in alone else 1
        return bool(stated == count_allowed(sizes, among) + beside)

    def _holds(self, one: dict[str, Any], axes: list[Any], counts: list[Any], fields: Any) -> bool:
        kind, (labels, boxes), rows = one["kind"], self._grid(one), [*zip(*axes, strict=True)]
        entry = self.steps[one["ledger_entry"] - 1][0]
        named = ("sums", "products", "weighted", "weighted-table", "terms", "ranks")
        summed = dict.fromkeys(named, "sum")
        last = {**summed, "means": "mean"}.get(kind, "count")
        while last in fields.names[:-1]:
            last += "_"
        numbers = str(fields.types[-1]) in ("int64", "double")
        if not numbers or fields.names[-1] != last:
            return False
        many = {"products": 3, "weighted": 3, "terms": 3, "ranks": 2, "heaps": 1}.get(kind)
        apart = kind in ("weighted", "terms") and len(one["of"]) > 1
        if n := many and many + apart:  # heaps: a cell less
            return len(axes) == n and len({*rows}) == len(rows) == entry["cells"] - (n < 2)
        names = one["of"] if kind == "leaf-sums" else one["columns"]
        for name in (name for name in names if kind == "line"):
            labels[name] = _distinct([*labels[name], *self.columns[name].beyond])
        nodes = kind in ("nodes", "leaf-sums")
        labels = {name: _distinct([*own, *["(any)"] * nodes]) for name, own in labels.items()}
        states = [labels[name] for name in names] * (1 + (kind == "ranges"))
        titles = [*names, *(f"{name} (last)" for name in names if kind == "ranges")]
        places = [{label: k for k, label in enumerate(own)} for own in states]
        codes = [tuple(own[label] for own, label in zip(places, row, strict=True)) for row in rows]
        noted = all(map(_has_labels, fields, states)) and fields.names[:-1] == titles
        require(noted, "a file has other states than its schema")
        among = [{names.index(n): s for n, s in box.items()} for box in boxes if {*box} <= {*names}]
        open_ = [not any(all(c[j] in s for j, s in box.items()) for box in among) for c in codes]
        if kind in WHOLE:
            zero = all(free or not n for free, n in zip(open_, counts, strict=True))
            every = not names or codes == [*product(*(range(len(own)) for own in states))]
            bounded = kind == "distribution" or (kind == "table" and "truncated" in one["law"])
            return bool(every and zero and not (bounded and any(n < 0 for n in counts)))
        if kind == "cells":
            reach = one["threshold"] >= 1 and all(n >= one["threshold"] for n in counts)
            return reach and all(open_) and all(a < b for a, b in pairwise(codes))
        if kind == "ranges":
            joined = all(a[0] <= a[1] == b[0] - 1 and b[0] <= b[1] for a, b in pairwise(codes))
            ends = codes[-1][0] <= codes[-1][1] == len(states[0]) - 1
            return joined and codes[0][0] == 0 and ends
        return len({*codes}) == len(codes) and (self.related or self._covers(one, names, codes))

    def _covers(self, one: dict[str, Any], names: list[str], codes: list[tuple[int, ...]]) -> bool:
        """Return whether nodes have, together, as many cells as there are."""
        labels, boxes = self._grid(one)
        sizes = {name: len(own) for name, own in labels.items()}
        found = 0
        for code in codes:
            fixed = {n: k for n, k in zip(names, code, strict=True) if k < sizes[n]}
            left = [
                {n: s for n, s in box.items() if n not in fixed}
                for box in boxes
                if all(fixed.get(n, -1) in s for n, s in box.items() if n in fixed)
            ]
            found += count_allowed({n: m for n, m in sizes.items() if n not in fixed}, left)
        return found == count_allowed(sizes, boxes)

    def _sets(self) -> str:
        grids = [self._grid(one)[1] for one in self.measured if one["bins"] or one.get("groups")]
        kept = [b for b in self._boxes(self.columns) if all({*b} in map(set, g) for g in grids)]
        minimum = self._minimum_count()
        keys = self._key_places(minimum)
        named = {name for place in keys for name in place}
        combinations: dict[str, Counter[tuple[int, ...]]] = {}
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
                fits = kind.startswith(column.find_stored_type()) and all(known.values())
                texts = [_text_of(value) for value in column.values if value != ""]
                fits = fits and (
                    column.find_stored_type() != "dictionary" or _has_labels(field, texts)
                )
                require(fits, f"{name}: {field.name!r} has values that it cannot have")
                needed = field.name in named or any(field.name in box for box in kept)
                coded[field.name] = [known[v] for v in values.to_pylist()] if needed else []
            for box in kept:
                rows = zip(*(coded[n] for n in box), strict=True)
                hit = any(all(map(set.__le__, row, box.values())) for row in rows)
                require(not hit, f"{name} has rows that its schema forbids")
            # A number at the end of a bin may be read as of two; it is counted in the first.
            of_set = combinations.setdefault(name.partition("/part-")[0], Counter())
            for place in keys:
                several = (self.columns[n].without(NO_MEMBER, map(min, coded[n])) for n in place)
                of_set.update(row for row in zip(*several, strict=True) if None not in row)
        least = minimum.get("count", 0)
        often = all(n >= least for one in combinations.values() for n in one.values())
        require(often, "a combination of key columns occurs less often than is said")
        told = f"{self.content['sets']} of {self.n_rows} rows"
        return told if self.members is None else f"{told}, {self._link()}"

    def _minimum_count(self) -> dict[str, Any]:
        """Return what is said of a minimum count; nothing where it is not."""
        told = dict(self.content.get("minimum_count", {}))
        if not told:
            return told
        keys, most = told["columns"], Fraction(told["most_changed"] or 0)
        fits = keys and len({*keys}) == len(keys)
        if table := told.get("table", ""):
            fits = fits and self.members is not None and self.members["table"] == table
        places = self._key_places(told) if fits else []
        fits = fits and all(name in self.columns for place in places for name in place)
        require(fits, "a minimum count is of columns that there are not")
        several = [*told["changed"], *told["replaced"]]
        lists = len(told["changed"]) == len(told["replaced"]) == self.content["sets"]
        pairs = zip(told["replaced"], told["changed"], strict=True)
        fits = lists and most <= 1 and all(a <= b for a, b in pairs)
        fits = fits and all(n <= most * self.n_rows for n in several)
        return told if require(fits, "a minimum count changed more records than it allows") else {}

    def _key_places(self, minimum: dict[str, Any]) -> list[list[str]]:
        """The key columns of a minimum count as a record has them: once, or in each slot."""
        keys = minimum.get("columns", [])
        slots = range(1, len(self.slots) + 1) if minimum.get("table") else []
        return [[f"{key}_{j}" for key in keys] for j in slots] or [keys]

    def _link(self) -> str:
        """Tables of units and of members are those of the records, put apart slot by slot."""
        form, several = self.members, 0
        entries = {
            n: self._own_entry(one) for n, one in zip(form["columns"], self.slots[0], strict=True)
        }
        own = {n: Column(entry) for n, entry in entries.items()}
        inner = {n for slot in self.slots for n in slot}
        of_units = [n for n in self.order if n not in inner]
        for name, (k, which) in self.linked.items():
            parts = [n for n in self.parts if re.match(rf"synthetic/set-{k}[./]", n)]
            wide: dict[str, list[Any]] = {n: [] for n in self.order}
            for part in parts:
                table = self._parquet(part)
                for n in self.order:
                    wide[n] += table[n].to_pylist()
            found = self._parquet(name)
            if which == form["of"]:
                same = found.column_names == of_units
                same = same and all(found[n].to_pylist() == wide[n] for n in of_units)
                require(same, f"{name} is not the table of units of its records")
                continue
            units = self._units(wide)
            require(self._keeps_distances(units, own), f"{name} breaks an inequality of members")
            rows = [(key, *member) for key, *members in units for member in members]
            fits = found.column_names == [form["key"], *own] and found.num_rows == len(rows)
            require(fits, f"{name} has other columns, or another number of rows")
            require(
                found[form["key"]].to_pylist() == [row[0] for row in rows], f"{name}: other keys"
            )
            for place, (n, column) in enumerate(own.items(), 1):
                values, kind = found[n].to_pylist(), str(found[n].type).removeprefix("large_")
                same = kind.startswith(column.find_stored_type()) and all(
                    _is_value(row[place], value, column.kind)
                    for row, value in zip(rows, values, strict=True)
                )
                require(same, f"{name}: {n!r} differs from the records")
            several += len(rows)
        self._linked_package(of_units)
        return f"{several} members"

    def _own_entry(self, name: str) -> dict[str, Any]:
        """The entry of a column of members, as it is without slots."""
        entry = dict(self.entries[name])
        entry["not_applicable"] = [v for v in entry.get("not_applicable", ()) if v != NO_MEMBER]
        return entry

    def _units(self, wide: dict[str, list[Any]]) -> list[list[Any]]:
        """The key of each unit, then what stands in each of its slots that holds a member."""
        slots = [[*zip(*(wide[n] for n in slot), strict=True)] for slot in self.slots]
        return [
            [key, *(slot[row] for slot in slots if slot[row][0] != NO_MEMBER)]
            for row, key in enumerate(wide[self.members["key"]])
        ]

    def _keeps_distances(self, units: list[list[Any]], own: dict[str, Column]) -> bool:
        """Return whether every inequality between members holds in every unit."""
        names = [*own]
        for rule in self.members.get("distances", ()):
            role, one, two = (names.index(n) for n in (rule["role"], *rule["columns"]))
            codes = [{_text_of(v) for v in own[n].values} for n in rule["columns"]]
            for _, *members in units:
                larger = [m[one] for m in members if _text_of(m[role]) == _text_of(rule["larger"])]
                smaller = [
                    m[two] for m in members if _text_of(m[role]) == _text_of(rule["smaller"])
                ]
                if rule.get("first") and larger:
                    larger = (
                        larger[:1] if _text_of(members[0][role]) == _text_of(rule["larger"]) else []
                    )
                lows = [place_of(x) for x in larger if _text_of(x) not in codes[0]]
                highs = [place_of(x) for x in smaller if _text_of(x) not in codes[1]]
                if any(x < y + rule["distance"] - 1e-9 for x in lows for y in highs):
                    return False
        return True

    def _linked_package(self, of_units: list[str]) -> None:
        """The package names both tables, the key of units, and that of members as one of these.

        What it says of types and labels of columns is not compared.
        """
        form, resources = self.members, []
        for place, (k, name) in self.linked.items():
            unit = name == form["of"]
            names = of_units if unit else [form["key"], *form["columns"]]
            own: dict[str, Any] = {"fields": [{"name": n} for n in names]}
            to = {"resource": f"set-{k}-{form['of']}".lower(), "fields": [form["key"]]}
            links = [{"fields": [form["key"]], "reference": to}]
            own |= {"primaryKey": [form["key"]]} if unit else {"foreignKeys": links}
            told = {"name": f"set-{k}-{name}".lower(), "path": place.partition("/")[2]}
            resources.append({**told, "schema": own})
        package = strict_json(self.folder / "linked" / "datapackage.json")
        found: list[dict[str, Any]] = [
            {key: one[key] for key in ("name", "path")} for one in package["resources"]
        ]
        for shown, one in zip(found, package["resources"], strict=True):
            fields = [{"name": field["name"]} for field in one["schema"]["fields"]]
            shown["schema"] = {**one["schema"], "fields": fields}
        require(found == resources, "linked/datapackage.json describes other tables")

    def _pages(self) -> str:
        """README and pages state the promise of the manifest where it is seen."""
        names = ("README.md", "report.html", "results.html", "codebook.html")
        versions = set()
        for name in (name for name in names if name in self.content["files"]):
            text = (self.folder / name).read_text(encoding="utf-8")
            block = (
                promised_in_readme(text) if name == "README.md" else promised_in_page(name, text)
            )
            require(block, f"{name} does not state its promise once")
            *lines, last = [one for one in map(_on_one_line, block) if one] or [""]
            version = re.fullmatch(r"Rendered by understudy ([A-Za-z0-9_.+!-]{1,40})", last)
            require(version, f"{name} does not say which version rendered it")
            require(lines == self._promise_lines(), f"{name} states another promise")
            versions.add(version[1] if version else "")
        return f"they state the promise; rendered by {', '.join(sorted(versions))}"

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
        if kept := content.get("minimum_count"):
            made += f"; combinations of {', '.join(kept['columns'])} occur {kept['count']} times"
            made += " or never"
        lines = [_on_one_line(one) for one in (promise["statement"], size, made)]
        return [one.replace("<", "\u2039").replace(">", "\u203a") for one in lines]


def _on_one_line(text: str) -> str:
    """A text without what cannot be seen, single spaces between words."""
    seen = (c if c.isprintable() and c != "\ufffd" else " " for c in text)
    return " ".join("".join(seen).split())


def promised_in_readme(text: str) -> list[str]:
    """Return the lines of the block of a README; none if it has no block.

    HTML, a head of the file and definitions of links are what Markdown hides; there are none.
    """
    require(text.startswith("# "), "README.md does not begin with a title")
    blocks: list[list[str]] = []
    fenced, inside = False, False
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
    require(not fenced and len(blocks) < 2, "README.md does not state its promise once")
    return blocks[0] if blocks else []


def promised_in_page(name: str, text: str) -> list[str]:
    """Return the same of a page, after its elements, attributes and style sheet were checked."""
    page = Page(name)
    body = text.lstrip()
    plain = body.startswith("<!DOCTYPE html>") and not re.search(r"<[!?]|</[^a-zA-Z]", body[1:])
    page.require(plain, "markup that browsers read in several ways")
    page.feed(body)
    page.close()
    page.require(not page.open and not page.rawdata, "an element that is not closed")
    sheet = hashlib.sha256("".join(page.sheet).strip().encode()).hexdigest()
    page.require(sheet in SHEETS, "a style sheet that the format does not name")
    return [] if page.block is None else "".join(page.block).split("\n")


class Page(HTMLParser):
    """Reads a page made of the elements and attributes that the format names, each one closed."""

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self.name = name
        self.open: list[str] = []
        self.bare: list[bool] = []  # whether each open element has no attribute that could hide it
        self.sheet: list[str] = []
        self.sheets = 0
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
        """Keep text of the style sheet and of the block."""
        if self.open[-1:] == ["style"]:
            self.sheet.append(data)
        elif self.block is not None and self.block_at:
            self.block.append(data)


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
            state, says = _check_rule(release, rule)
        if state == "broken" and rule in RULES[:7] and rule != "signature":
            lost = lost or rule
        found.append((rule, state, says))
    return found


def _check_rule(release: Release, rule: str) -> tuple[str, str]:
    """Check one rule, and say what it found; a folder may hold anything."""
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
