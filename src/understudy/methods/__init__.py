"""The methods: one file each, one row in this table each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from understudy.errors import MethodError, suggestion
from understudy.families.measurement_plan import PlannedTable
from understudy.families.method import Facts, Method
from understudy.functions.declared_network import Edge
from understudy.methods.aim import Aim
from understudy.methods.censored_posterior import CensoredPosterior
from understudy.methods.contingency_table import ContingencyTable
from understudy.methods.dirichlet import Dirichlet
from understudy.methods.dp_prior import DPPrior
from understudy.methods.empirical_cdf import EmpiricalCdf
from understudy.methods.independent import Independent
from understudy.methods.laplace import Laplace
from understudy.methods.marginal_bootstrap import MarginalBootstrap
from understudy.methods.marginals import Marginals
from understudy.methods.modips import Modips
from understudy.methods.mst import Mst
from understudy.methods.multiple_imputation import MultipleImputation
from understudy.methods.multiple_synthesis import MultipleSynthesis
from understudy.methods.pegs import Pegs
from understudy.methods.pegs_diverse import PegsDiverse
from understudy.methods.pegs_reset import PegsReset
from understudy.methods.pegs_tables import PegsTables
from understudy.methods.perturbed_histogram import PerturbedHistogram
from understudy.methods.perturbed_imputation import PerturbedImputation
from understudy.methods.pmse import Pmse
from understudy.methods.privbayes import PrivBayes
from understudy.methods.pseudo_posterior import PseudoPosteriorMechanism
from understudy.methods.smoothed_histogram import SmoothedHistogram
from understudy.methods.steps import Steps
from understudy.methods.universal_histogram import UniversalHistogram
from understudy.models import Model
from understudy.models.pooled_fits import Blend
from understudy.privacy.released import Noise, NoisyTable
from understudy.schema import Schema

METHODS: dict[str, type[Method]] = {
    kind.facts.name: kind
    for kind in (
        Marginals,
        Aim,
        Mst,
        Independent,
        Laplace,
        Dirichlet,
        DPPrior,
        EmpiricalCdf,
        PerturbedHistogram,
        SmoothedHistogram,
        Steps,
        UniversalHistogram,
        PrivBayes,
        PegsTables,
        Pegs,
        PegsReset,
        PerturbedImputation,
        Pmse,
        CensoredPosterior,
        Modips,
        MultipleSynthesis,
        MultipleImputation,
        PseudoPosteriorMechanism,
        ContingencyTable,
        MarginalBootstrap,
        PegsDiverse,
    )
}

AUTO_CELLS = 1_000
"""Cells of a full table that `auto` measures, at most."""
RECORDS_PER_CELL = 4
"""Records per cell and unit of 1/ε from which on it does."""
ASSUMED_ROWS = 1_000
"""Records that it counts on where their number is private."""
MANY_COLUMNS = 100


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


def modelled(name: str, options: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """Numeric columns of which a release's method draws the numbers, not only the bins.

    None of a method that this version does not have: a release may come from another one.
    """
    return configure(name, options).modelled(schema) if name in METHODS else ()


def network(
    name: str,
    options: Mapping[str, Any],
    schema: Schema,
    tables: tuple[tuple[str, ...], ...],
) -> tuple[Edge, ...] | None:
    """The network that a release's method draws from; None of a method without, or of an unknown.

    Args:
        name: of the method.
        options: of the release.
        schema: of the release.
        tables: columns of each measured table, in the order in which they were paid for.
    """
    return configure(name, options).network_of(schema, tables) if name in METHODS else None


def restored(
    name: str,
    options: Mapping[str, Any],
    schema: Schema,
    tables: Sequence[tuple[NoisyTable, Noise]],
    *,
    n_rows: int,
    fits: int = 1,
) -> Model | None:
    """The model that a release's sets were drawn from, made anew; None if there is no such.

    Args:
        name: of the method.
        options: of the release.
        schema: of the release.
        tables: released tables with every cell, in the order in which they were paid for.
        n_rows: number of rows, as released.
        fits: how many fits there were; records then come from all of them alike.
    """
    if name not in METHODS or not tables:
        return None
    method = configure(name, options)
    parts = method.by_fit(schema, tables, fits)
    found = [one for part in parts if (one := method.restored(schema, part, n_rows)) is not None]
    if len(found) < fits:
        return None
    return found[0] if fits == 1 else Blend(tuple(found))


def restorable() -> tuple[str, ...]:
    """Names of the methods whose model can be made anew from a release."""
    return tuple(name for name, kind in METHODS.items() if kind.restored is not Method.restored)


def swept(name: str) -> bool:
    """Whether sets of a release's method keep no table as it was measured."""
    return name in METHODS and METHODS[name].swept


def shrunk(name: str) -> bool:
    """Whether relations between columns are weaker in all sets of a release's method."""
    return name in METHODS and METHODS[name].shrunk


def posterior_rule(name: str) -> str:
    """The combining rule for posterior sets of a release's method; "partial" for an unknown one."""
    return METHODS[name].posterior_rule if name in METHODS else "partial"


def choose(schema: Schema, epsilon: Fraction, delta: Fraction = Fraction(0)) -> tuple[str, str]:
    """The method that `auto` stands for, and why; from public facts alone.

    A full table of few cells keeps everything and answers everything; it is taken while the noise
    of all its cells is small beside the records, of which a thousand are assumed where their number
    is private. Beyond, marginals are closer to the rows than any other method here at ε = 1, pure
    or not (`benchmarks/utility.py`); of very many columns a tree of pairs is chosen in less time.

    Args:
        schema: the public schema.
        epsilon: ε of the release.
        delta: δ of the release.
    """
    n_cells, d = schema.domain.n_allowed, len(schema.names)
    rows = schema.n_rows if schema.rows == "public" else ASSUMED_ROWS
    most = min(AUTO_CELLS, int((rows or 0) * epsilon / RECORDS_PER_CELL))
    cells = (
        f"the full table has {n_cells:,} cells"
        if n_cells < 10**6
        else (f"the full table has about 10^{len(str(n_cells)) - 1} cells")
    )
    if n_cells <= most and not delta:
        return "laplace", f"{cells}, at most {most:,} at this epsilon"
    if d > MANY_COLUMNS:
        return "mst", f"there are {d} columns, more than {MANY_COLUMNS}"
    why = "and delta above 0 asks for Gaussian noise" if n_cells <= most else f"more than {most:,}"
    return "marginals", f"{cells}, {why}"


@cache
def _adapter(kind: type[Method]) -> TypeAdapter[Method]:
    return TypeAdapter(kind)


__all__ = [
    "METHODS",
    "Facts",
    "Method",
    "PlannedTable",
    "choose",
    "configure",
    "kind_of",
    "modelled",
    "network",
    "posterior_rule",
    "restorable",
    "restored",
    "shrunk",
    "swept",
]
