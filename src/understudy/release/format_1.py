"""What format 1 of the manifest left to the class of the method, as this class had it then.

Format 1 names a method and its options; what inference needs followed from the method that was
installed. The answers that methods gave while format 1 was written are kept here and never change:
a release of that format is read as what it was. From format 2 on the manifest says it all
(`inference_facts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from understudy.domain.network import Edge
from understudy.release.manifest import InferenceFacts, PosteriorRule
from understudy.release.shape import MOST, Fault
from understudy.schema import NUMERIC, Column, Continuous, Schema


@dataclass(frozen=True)
class _Flags:
    """What did not depend on schema and options.

    Attributes:
        numbers: which numbers a model drew: "none"; "normal" ones, as its options say; "all"; or
            those that are "sensitive" by its options.
        network: whether records came from a Bayesian network.

    The others are those of `InferenceFacts`.
    """

    posterior_rule: PosteriorRule = "partial"
    swept: bool = False
    shrunk: bool = False
    independent: bool = False
    numbers: Literal["none", "normal", "all", "sensitive"] = "none"
    network: bool = False


METHODS: Final[Mapping[str, _Flags]] = {
    "marginals": _Flags(posterior_rule="mi"),
    "aim": _Flags(posterior_rule="mi"),
    "mst": _Flags(posterior_rule="mi"),
    "independent": _Flags(independent=True),
    "laplace": _Flags(),
    "dirichlet": _Flags(),
    "dp-prior": _Flags(),
    "empirical-cdf": _Flags(),
    "perturbed-histogram": _Flags(),
    "smoothed-histogram": _Flags(),
    "steps": _Flags(),
    "universal-histogram": _Flags(),
    "privbayes": _Flags(network=True),
    "pegs-tables": _Flags(swept=True),
    "pegs": _Flags(swept=True),
    "pegs-reset": _Flags(swept=True),
    "pegs-diverse": _Flags(swept=True),
    "perturbed-imputation": _Flags(swept=True),
    "multiple-imputation": _Flags(shrunk=True),
    "pmse": _Flags(numbers="all"),
    "censored-posterior": _Flags(numbers="all"),
    "modips": _Flags(numbers="normal"),
    "multiple-synthesis": _Flags(numbers="normal"),
    "pseudo-posterior": _Flags(numbers="sensitive"),
    "contingency-table": _Flags(),
    "marginal-bootstrap": _Flags(independent=True),
}
"""The methods of format 1. One that does not stand here was another program's, of which nothing is
known: it is taken to have none of these traits, as format 1 always did."""


def facts_of(
    method: str,
    options: Mapping[str, Any],
    sets_kind: str,
    schema: Schema,
    tables: Sequence[tuple[str, ...]],
) -> InferenceFacts:
    """The facts that a release of format 1 does not state.

    Args:
        method: its name in the manifest.
        options: of the manifest, from a folder that anybody may have written.
        sets_kind: how the sets were made.
        schema: of the release.
        tables: columns of each measured table, in the order in which they were paid for.

    Raises:
        Fault: options that the method never took.
    """
    flags = METHODS.get(method, _Flags())
    try:
        return InferenceFacts(
            posterior_rule=flags.posterior_rule if sets_kind == "posterior" else None,
            swept=flags.swept,
            shrunk=flags.shrunk,
            independent=flags.independent,
            modelled=_modelled(flags, options, schema),
            network=_network(options, tables, schema.names) if flags.network else None,
            prior_weight=_weight(options.get("prior", 0)),
            leaves_only=options.get("allocation", "downward") != "downward",
        )
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError):
        raise Fault("its method does not take these options") from None


def _weight(prior: Any) -> float:
    """A number of records, within the limits of later formats."""
    records = float(prior)
    if not 0 <= records <= MOST:
        raise ValueError
    return records


def _modelled(flags: _Flags, options: Mapping[str, Any], schema: Schema) -> tuple[str, ...]:
    """Columns of which a model drew the numbers."""
    numeric = [name for name, column in schema.columns.items() if isinstance(column, NUMERIC)]
    if flags.numbers == "all":
        return tuple(numeric)
    if flags.numbers == "sensitive":
        drawn = set(options.get("sensitive") or numeric)
        return tuple(name for name in numeric if name in drawn)
    if flags.numbers == "normal" and options.get("model") not in ("bernoulli", "multinomial"):
        named = options.get("normal")
        usual = [name for name in numeric if _has_numbers(schema.columns[name])]
        return tuple(name for name in numeric if name in set(usual if named is None else named))
    return ()


def _has_numbers(column: Column) -> bool:
    """Whether some bin holds more than one number, and every bin that is no spike does."""
    assert isinstance(column, NUMERIC)
    if isinstance(column, Continuous):
        return True
    return all(interval.spike or interval.low < interval.high for interval in column.intervals)


def _network(
    options: Mapping[str, Any], tables: Sequence[tuple[str, ...]], names: Sequence[str]
) -> tuple[Edge, ...] | None:
    """The network of PrivBayes: as declared, or as its tables stand, in its order.

    The columns of the first table follow each other with all before as parents; each later table
    adds its last column.
    """
    if options.get("network"):
        return tuple(_edge(entry, names) for entry in options["network"])
    if not tables:
        return None
    first, *later = dict.fromkeys(tables)
    chain = [(column, first[:k]) for k, column in enumerate(first)]
    return (*chain, *((columns[-1], columns[:-1]) for columns in later))


def _edge(entry: str, names: Sequence[str]) -> Edge:
    """A column and its parents, in words: "age", or "income<-age & job"."""
    if entry in names:
        return entry, ()
    column, arrow, listed = entry.partition("<-")
    parents = tuple(part.strip() for part in listed.split("&")) if arrow else ()
    return column.strip(), parents
