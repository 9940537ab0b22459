"""The table of published methods: one row each, loaded when it is asked for.

Options of a method are validated as they are given. Every description comes from the method's own
dataclass: types from its annotations, meanings from the `Attributes:` of its docstring or of the
class that it has the option from. Which method `auto` stands for follows from public facts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from understudy._validation import explain_attributes
from understudy.errors import MethodError, suggestion
from understudy.methods.base import Facts, Method, Names
from understudy.methods.binning import fine_bins
from understudy.schema import Schema


class Methods(Mapping[str, type[Method]]):
    """Methods by name.

    Args:
        places: name → module of this package, and the name of the class in it.
    """

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> type[Method]:
        module, kind = self._places[name]
        found: type[Method] = getattr(import_module(module), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


METHODS: Final = Methods(
    {
        "marginals": ("understudy.methods.marginals", "Marginals"),
        "aim": ("understudy.methods.aim", "Aim"),
        "mst": ("understudy.methods.mst", "Mst"),
        "independent": ("understudy.methods.independent", "Independent"),
        "laplace": ("understudy.methods.histogram", "Laplace"),
        "dirichlet": ("understudy.papers.histograms", "Dirichlet"),
        "dp-prior": ("understudy.papers.histograms", "DPPrior"),
        "empirical-cdf": ("understudy.papers.histograms", "EmpiricalCdf"),
        "perturbed-histogram": ("understudy.papers.histograms", "PerturbedHistogram"),
        "smoothed-histogram": ("understudy.papers.histograms", "SmoothedHistogram"),
        "steps": ("understudy.papers.hierarchical", "Steps"),
        "universal-histogram": ("understudy.papers.hierarchical", "UniversalHistogram"),
        "privbayes": ("understudy.methods.privbayes", "PrivBayes"),
        "pegs-tables": ("understudy.papers.pegs", "PegsTables"),
        "pegs": ("understudy.papers.pegs", "Pegs"),
        "pegs-reset": ("understudy.papers.pegs", "PegsReset"),
        "perturbed-imputation": ("understudy.papers.imputation", "PerturbedImputation"),
        "pmse": ("understudy.papers.pmse", "Pmse"),
        "censored-posterior": ("understudy.papers.censored_posterior", "CensoredPosterior"),
        "modips": ("understudy.papers.modips", "Modips"),
        "multiple-synthesis": ("understudy.papers.modips", "MultipleSynthesis"),
        "multiple-imputation": ("understudy.papers.imputation", "MultipleImputation"),
        "pseudo-posterior": ("understudy.papers.pseudo_posterior", "PseudoPosteriorMechanism"),
        "contingency-table": ("understudy.papers.histograms", "ContingencyTable"),
        "marginal-bootstrap": ("understudy.papers.modips", "MarginalBootstrap"),
        "pegs-diverse": ("understudy.papers.pegs", "PegsDiverse"),
    }
)


def list_methods() -> tuple[Facts, ...]:
    """The table of methods."""
    return tuple(kind.facts for kind in METHODS.values())


_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
_PLAIN = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def kind_of(name: str) -> type[Method]:
    """A method by its name.

    Raises:
        MethodError: there is none of that name.
    """
    if type(name) is not str or name not in METHODS:
        raise MethodError(
            f"There is no method {name!r}{suggestion(name, METHODS)}; "
            f"available: auto, {', '.join(METHODS)}."
        )
    return METHODS[name]


def configure(name: str, options: Mapping[str, Any]) -> Method:
    """A method with its options, validated by its own configuration.

    Args:
        name: name in the table of methods.
        options: option → value; text is read as the option's type.

    Raises:
        MethodError: unknown method, unknown option, or a value that does not fit.
    """
    kind = kind_of(name)
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            raise MethodError(
                f"The method {name} has no option {option!r}{suggestion(option, known)}; "
                f"available: {', '.join(known)}."
            )
    try:
        return _adapter(kind).validate_python(dict(options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = first["loc"][0] if first["loc"] else "?"
        said = first["msg"].removeprefix("Value error, ")
        message = said[:1].lower() + said[1:]
        raise MethodError(
            f"The option {place!r} of the method {name} does not fit: {message}."
        ) from None


@cache
def _adapter(kind: type[Method]) -> TypeAdapter[Method]:
    return TypeAdapter(kind)


@dataclass(frozen=True)
class Option:
    """One option of a method.

    Attributes:
        name: as it is given.
        type: which values it may have, in words.
        default: what stands if it is not given; None where that is nothing.
        meaning: what it does.
    """

    name: str
    type: str
    default: Any
    meaning: str


def options_of(kind: type[Method]) -> tuple[Option, ...]:
    """All options of a method, in the order of its configuration."""
    hints = get_type_hints(kind, include_extras=True)
    options, meanings = [], explain_attributes(kind)
    for field in fields(kind):
        given = field.default if field.default_factory is MISSING else field.default_factory()
        default = list(given) if isinstance(given, tuple) else given
        words = _type_words(hints[field.name])
        options.append(Option(field.name, words, default, meanings.get(field.name, "")))
    return tuple(options)


def _type_words(hint: Any) -> str:
    """Describe the values that a type allows.

    Example:
        >>> _type_words(Literal["free", "split"]), _type_words(int | None)
        ('free, split', 'whole number; or none')
    """
    if hint == Names:
        return "list, with commas between"
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type_words(parts[0]) + _bounds(parts[1:])
    if origin in (Union, UnionType):
        words = [_type_words(part) for part in parts if part is not NoneType]
        return "; or ".join(words + (["none"] if NoneType in parts else []))
    if origin is Literal:
        return ", ".join(map(str, parts))
    return _collection_words(origin, parts) if parts else _PLAIN[hint]


def _collection_words(origin: Any, parts: Sequence[Any]) -> str:
    """The values of a tuple or a dictionary, in words."""
    if origin is tuple:
        return f"{len(parts)} × {_type_words(parts[0])}, with commas between"
    return f"a mapping of names to {_type_words(parts[1])}; in Python only"


def _bounds(extras: Sequence[Any]) -> str:
    """The bounds of a number that a declaration states."""
    stated = [rule for extra in extras for rule in getattr(extra, "metadata", ())]
    bounds = [
        f"{sign} {getattr(rule, name):g}"
        for rule in stated
        for name, sign in _BOUNDS.items()
        if hasattr(rule, name)
    ]
    return (" " + " and ".join(bounds)) if bounds else ""


AUTO_CELLS = 1_000
"""Cells of a full table that `auto` measures, at most."""
RECORDS_PER_CELL = 4
"""Records per cell and unit of 1/ε from which on it does."""
PLANNED_ROWS = 1_000
"""Records that it counts on where their number is private."""
MANY_COLUMNS = 100


def choose_method(
    schema: Schema, epsilon: Fraction, delta: Fraction = Fraction(0)
) -> tuple[str, str]:
    """The method that `auto` stands for, and why; from public facts alone.

    A full table of few cells keeps everything and answers everything; it is taken while the noise
    of all its cells is small beside the records, of which a thousand are assumed where their number
    is private. Beyond, marginals are closer to the rows than any other method here at ε = 1, pure
    or not (`benchmarks/utility.py`); of very many columns a tree of pairs is chosen in less time.
    Marginals are chosen where numbers have the default bins, too: they count these in fine bins,
    where a full table would keep the few.

    Args:
        schema: the public schema.
        epsilon: ε of the release.
        delta: δ of the release.
    """
    n_cells, d = schema.domain.n_allowed, len(schema.names)
    rows = schema.n_rows if schema.rows == "public" else PLANNED_ROWS
    most = min(AUTO_CELLS, int((rows or 0) * epsilon / RECORDS_PER_CELL))
    cells = (
        f"the full table has {n_cells:,} cells"
        if n_cells < 10**6
        else (f"the full table has about 10^{len(str(n_cells)) - 1} cells")
    )
    fine = fine_bins(schema)
    if n_cells <= most and not delta and not fine:
        return "laplace", f"{cells}, at most {most:,} at this epsilon"
    if d > MANY_COLUMNS:
        return "mst", f"there are {d} columns, more than {MANY_COLUMNS}"
    if n_cells > most:
        why = f"more than {most:,}"
    elif delta:
        why = "and delta above 0 asks for Gaussian noise"
    else:
        why = f"and {next(iter(fine))} has numbers whose bins follow from noisy counts"
    return "marginals", f"{cells}, {why}"
