"""Whether what a manifest says for inference fits what was measured.

The width of an interval rests on these facts (`inference_facts`), and checksums can be made anew: a
manifest that says "partial" of sets that share the noise of their tables would get intervals that
are too narrow. Whatever the measurements show is asked of them here. What they cannot show is the
publisher's word, as the counts are: a folder invented in all its parts looks like a genuine one.
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.functions.declared_network import Edge, require_network
from understudy.release.inference_facts import InferenceFacts
from understudy.release.measurement import Measurement, kept_columns
from understudy.release.shape import Fault
from understudy.schema import NUMERIC, Schema

_OF_NUMBERS = ("parameters", "posterior", "exact")
"""Kinds of measurements that a model of numbers may rest on, beside sums and scatters."""


def require_facts(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Refuse facts that the measurements contradict.

    Args:
        facts: of the manifest.
        sets_kind: how its sets were made.
        measurements: of the release.
        schema: of the release.

    Raises:
        Fault: says what does not fit.
    """
    _require_rule(facts, sets_kind, measurements)
    if not facts.swept and any(one.kind == "sweeps" for one in measurements):
        raise Fault("its records were drawn column by column, and its manifest denies it")
    _require_modelled(facts.modelled, measurements, schema)
    tables = [one.columns for one in measurements if one.kind == "table"]
    if facts.network is not None:
        _require_network(facts.network, tables, schema)
    if facts.independent and (facts.network or any(len(one) > 1 for one in tables)):
        raise Fault("its columns are said to be independent, and were measured together")


def _require_rule(
    facts: InferenceFacts, sets_kind: str, measurements: Sequence[Measurement]
) -> None:
    """Posterior sets, and no others, have a rule; noise that all sets share needs "mi".

    "partial" takes all that the sets share for the rows' own. So it holds where nothing that was
    measured has noise; and where nothing has, none can have been drawn anew.
    """
    if (facts.posterior_rule is not None) != (sets_kind == "posterior"):
        raise Fault("its combining rule is for another kind of sets")
    noisy = any(one.law != "none" for one in measurements if one.kind != "choice")
    if sets_kind == "posterior" and (facts.posterior_rule == "mi") != noisy:
        raise Fault("its combining rule is for other noise than its measurements have")


def _require_modelled(
    modelled: Sequence[str], measurements: Sequence[Measurement], schema: Schema
) -> None:
    """Numbers of a model rest on something that was measured of them, and sums are there for one.

    Columns that were not modelled are known within their bins only, so that a quantile of theirs
    gets an interval over whole bins.
    """
    if not all(isinstance(schema.columns.get(name), NUMERIC) for name in modelled):
        raise Fault("it models numbers of a column that is not numeric")
    summed = {name for one in measurements if one.kind in ("sums", "scatter") for name in one.of}
    known = {name for one in measurements if one.kind in _OF_NUMBERS for name in one.columns}
    drawn = set(modelled)
    kept = set(kept_columns(measurements))
    if not summed <= drawn or not drawn <= (summed | known) - kept or len(drawn) < len(modelled):
        raise Fault("it models other numbers than were measured")


def _require_network(
    network: Sequence[Edge], tables: Sequence[tuple[str, ...]], schema: Schema
) -> None:
    """A network has all columns, in order, and a measured table for each with its parents."""
    try:
        require_network(network, schema.names)
    except ValueError:
        raise Fault("its network is none of its columns") from None
    families = [{column, *parents} for column, parents in network]
    if not all(any(family <= set(one) for one in tables) for family in families):
        raise Fault("its network has a column that was not measured with its parents")
