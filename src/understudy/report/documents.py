"""Documents about a release for registers, auditors and lawyers, filled from the release alone.

**The entry of the OpenDP deployment registry, as YAML.** Its schema is that of the registry's data
repository (`schemas/deployments-schema.yaml`, read in November 2026). What no release knows is
the publisher's to say: who publishes, what for, where, when, and why the budget is what it is.

**A sheet by the parts of NIST SP 800-226**, "Guidelines for Evaluating Differential Privacy
Guarantees" (2025): what that asks of a guarantee, and what the release says of it. It is no
certificate: what a release cannot know is marked as the publisher's to answer.

**The noise in the words of disclosure control.** A cell that holds nobody shows a count within ±w
in 95 of 100 draws of its noise, w the half width that the public page shows. So a cell below w
cannot be told from 0 by its count, which is what a threshold of cell suppression is meant to bring
about.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from understudy._storage import NOT_REAL
from understudy.dp.budget import size_in_signs
from understudy.errors import ReleaseError, line
from understudy.release.measurement import Measurement
from understudy.release.release import Release
from understudy.release.shape import Kind
from understudy.report.accuracy import half_width_95

SECTORS: Final = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""Those that the registry knows."""
_VARIANTS: Final = {"pure": "Pure DP", "approximate": "Approximate DP", "conditional": "Custom"}
_EXACT: Final = (
    "Noise is drawn by exact integer arithmetic, unless a condition or leak of the guarantee says "
    "otherwise."
)
_YOURS: Final = "For the publisher to answer."


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Facts about its publication that a release does not know.

    Attributes:
        curators: who publishes it, at least one.
        use: what it is for.
        region: which the data describe, or whose law applies.
        published: day, as YYYY-MM-DD.
        authors: who fills in the entry; the curators if none are named.
        sector: one that the registry knows; "" for none.
        justification: why the budget is what it is; "" if that is not said.

    Raises:
        ReleaseError: an entry is empty, or no day or sector.
    """

    curators: Sequence[str]
    use: str
    region: str
    published: str
    authors: Sequence[str] = field(default=())
    sector: str = ""
    justification: str = ""

    def __post_init__(self) -> None:
        """Refuse what the registry would."""
        if not all(self.curators) or not self.curators or not (self.use and self.region):
            raise ReleaseError("An entry of the registry needs a curator, a use and a region.")
        try:
            whole = date.fromisoformat(self.published).isoformat() == self.published
        except ValueError:
            whole = False
        if not whole:
            raise ReleaseError("The day of publication must read like 2026-11-28.")
        if self.sector and self.sector not in SECTORS:
            raise ReleaseError(f"The sector must be one of {', '.join(SECTORS)}.")


Tree = Mapping[str, object]


def registry_entry(release: Release, publication: Publication) -> str:
    """Write the entry of a release in the OpenDP registry, as a draft of tier 3.

    Args:
        release: with a guarantee.
        publication: what it does not know of itself.

    Returns:
        YAML.

    Raises:
        ReleaseError: the release is not private, so that the registry has no place for it.
    """
    guarantee, manifest, schema = release.guarantee, release.manifest, release.schema
    if manifest.promised_size is None or guarantee.epsilon is None:
        raise ReleaseError("This release is not private, so it has no entry in the registry.")
    name = schema.heading
    tables = f"{manifest.sets} synthetic table{'s' if manifest.sets > 1 else ''}"
    slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {publication.curators[0]}".lower()).strip("-")
    basic: dict[str, object] = {
        "name": name,
        "data_curators": list(publication.curators),
        "intended_use": publication.use,
        "data_product_type": "Synthetic data",
        "data_product_region": publication.region,
        "description": f"{NOT_REAL} {tables} of {manifest.n_rows:,} rows.",
        "publication_date": publication.published,
    }
    if publication.sector:
        basic["data_product_sector"] = publication.sector
    parameters: dict[str, object] = {"epsilon": float(guarantee.epsilon)}
    if guarantee.delta:
        parameters["delta"] = float(guarantee.delta)
    entry: dict[str, object] = {
        "url_slug": slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": _VARIANTS.get(guarantee.kind, "Custom"),
                "data_domain": _domain(release),
                "unprotected_quantities": _unprotected_section(release),
            },
            "privacy_loss": {
                "privacy_unit": _unit(release),
                "privacy_unit_details": _neighbours(release),
                "privacy_parameters": parameters,
                "privacy_parameters_details": guarantee.statement,
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": "The publisher holds the rows and is trusted with them. Whoever "
                "receives the release is not, and may know every record but one.",
                "release_type": "Many releases" if manifest.amendments else "One release",
                "release_type_details": _amendments_section(release),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Records are drawn from a model of the noisy measurements, "
                "and obey the declared rules.",
                "composition": _composition(release),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _tuning_section(release),
                "mechanisms": f"{_mechanisms(release)} Noise comes from AES-256 with keys of the "
                f"operating system. {_EXACT} Software: understudy "
                f"{manifest.software.get('understudy', '')}.",
                "justification": publication.justification or "Not stated.",
            },
            "administrative": {
                "registry_authors": list(publication.authors or publication.curators)
            },
        },
    }
    return "\n".join(_yaml(entry)) + "\n"


def nist_sheet(release: Release) -> str:
    """Answer the parts of NIST SP 800-226 from a release, as Markdown.

    Args:
        release: of any guarantee.
    """
    guarantee, manifest = release.guarantee, release.manifest
    known = [f"{one.what} ({one.source or 'no source named'})" for one in guarantee.public_inputs]
    parts = {
        "Privacy parameters": _size(release),
        "Definition and variant": guarantee.statement,
        "Unit of privacy": f"{_unit(release)} {_neighbours(release)}",
        "Unprotected and public quantities": _unprotected_section(release),
        "Taken as public": "; ".join(known) + "." if known else "Nothing.",
        "Algorithms": _mechanisms(release),
        "Composition": _composition(release),
        "Post-processing": "Records are drawn from a model of the noisy measurements. "
        "Intervals are computed from the release alone.",
        "Utility": " ".join(line(text) for text in threshold_words(release)),
        "Bias": "Noise has mean 0. Where cells below 0 are set to 0, and where columns were "
        "not measured together, the sets are biased, and answers say so or are refused.",
        "Floating point": _EXACT,
        "Timing and other side channels": "The machine, its clock and its logs are trusted. "
        "Running times are not protected"
        + (", and that of this run tells of a secret number of tries." if manifest.choice else "."),
        "Trust model": "Central: whoever runs the software sees the rows.",
        "Preprocessing and tuning": _tuning_section(release),
        "Data security and access": _YOURS,
        "Exposure while data are collected": _YOURS,
        "Other releases of the same people": "The costs of several releases add up. " + _YOURS,
    }
    title = line(release.schema.heading)
    lines = [f"# {title}: sheet by NIST SP 800-226", "", NOT_REAL, ""]
    for what, told in parts.items():
        lines += [f"## {what}", "", " ".join(line(told).split()), ""]
    return "\n".join(lines).rstrip() + "\n"


def threshold_words(release: Release) -> tuple[str, ...]:
    """Say of each noisy table from which count on a cell can be told from an empty one.

    Args:
        release: whose noise is known, and told.

    Returns:
        Sentences, at least one.
    """
    said = [
        f"In the noisy counts by {' × '.join(one.columns)}, a cell below "
        f"{math.ceil(half_width_95(one)):,} cannot be told from 0."
        for one in _tables(release)
    ]
    if not said:
        return ("No noisy table of counts was released, so there is no threshold of a cell.",)
    return (
        *said,
        "An empty cell shows a count within such a bound in 95 of 100 draws of its noise. The "
        "bound is of the noise of one cell alone: whoever adds cells, or knows other counts, is "
        "held by ε and not by it.",
    )


def _tables(release: Release) -> list[Measurement]:
    """Tables of noisy counts, widest bounds last; of equal columns the most exact."""
    best: dict[tuple[str, ...], Measurement] = {}
    for one in release.measurements:
        if one.kind is Kind.TABLE and one.columns and one.stddev:
            kept = best.get(one.columns)
            if kept is None or one.stddev < kept.stddev:
                best[one.columns] = one
    return sorted(best.values(), key=lambda one: (len(one.columns), one.stddev))


def _size(release: Release) -> str:
    guarantee = release.guarantee
    if guarantee.epsilon is None:
        return "None: the release is not private."
    return f"{size_in_signs(guarantee.epsilon, guarantee.delta)}."


def _unit(release: Release) -> str:
    unit = release.schema.unit
    return line(unit.description or unit.told) or "A record of the table."


def _neighbours(release: Release) -> str:
    if release.guarantee.neighbours == "replace":
        return "Tables are neighbours if one record is replaced by another; their number is public."
    return "Tables are neighbours if one record is added or removed."


def _domain(release: Release) -> str:
    columns = ", ".join(release.schema.names)
    return line(f"Tables with the columns {columns}, each with declared levels or bounds.")


def _unprotected_section(release: Release) -> str:
    schema, leaks = release.schema, release.guarantee.leaks
    said = ["The number of rows."] if schema.rows == "public" else []
    said += [f"Exact totals of the level {one.level}." for one in schema.geography.invariants]
    return line(" ".join([*said, *leaks])) or "None."


def _composition(release: Release) -> str:
    steps, selected = len(release.manifest.ledger), release.manifest.choice is not None
    how = {"epsilon": "pure ε", "rho": "zCDP", "half_mu_squared": "Gaussian DP"}
    unit = how[release.manifest.budget["unit"]]
    best = " The last step is the price of private selection." if selected else ""
    if not release.manifest.composes:
        best += " It is converted from Rényi divergences, and the release as a whole has no ρ."
    return f"Sequential composition of {steps} steps in {unit}, under a fixed budget.{best}"


def _mechanisms(release: Release) -> str:
    names = dict.fromkeys(entry["mechanism"] for entry in release.manifest.ledger)
    return f"Method {release.manifest.method}: {', '.join(names) or 'no paid step'}."


def _tuning_section(release: Release) -> str:
    choice = release.manifest.choice
    if choice is None:
        return (
            "Levels, bounds and options were declared beforehand. Whether somebody looked at the "
            "rows for them is for the publisher to say."
        )
    return (
        f"One of {len(choice['candidates'])} candidates was chosen by criteria named beforehand, "
        "by private selection inside the budget."
    )


def _amendments_section(release: Release) -> str:
    n = len(release.manifest.amendments)
    return f"Amended {n} times by answers, which its budget counts." if n else "Published once."


def _yaml(tree: Tree, indent: str = "") -> Iterator[str]:
    """Lines of YAML, whose texts are JSON strings, which YAML takes for what they are."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _yaml(value, f"{indent}  ")
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {json.dumps(one, ensure_ascii=False)}" for one in value)
        elif isinstance(value, float):  # YAML takes 1e-06 for a text
            yield f"{indent}{name}: {Decimal(repr(value)):f}"
        else:
            yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}"
