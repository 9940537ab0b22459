"""Claims about the rows, as an analyst of a release writes them, and what they are put to votes as.

"<kind> <formula> > <number>", or with the name of a coefficient, "<kind> <formula>: <term> >
<number>", and the same with <:

* `mean income > 30000`, and of an expression, `mean income / hours < 40`;
* `share income > 30000 > 0.2`, `share sex = f < 0.5`; also `proportion`, as `analyze` has it;
* `median income > 30000`, `quantile 0.9 income > 60000`;
* `correlation income + age > 0.3`;
* `ols income ~ age + C(sex): age > 0`, `logit employed ~ age: age < 0`.

A quantile lies above a border if the share of records at or below that border is less than its
probability; that share is what is tested.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from understudy.arguments import require_text
from understudy.errors import InferenceError, suggestion
from understudy.features.record_terms import Computed, LevelValues, Term, columns_of
from understudy.inference.claims.claim_terms import (
    model_terms,
    outcome_term,
    require_plain,
    share_term,
)
from understudy.inference.estimates import formulas
from understudy.inference.estimates.rule_questions import rule_notes, written_out
from understudy.privacy.mechanisms.counts.votes import ClaimKind, Votes
from understudy.schema import Schema
from understudy.schema.cell_values import number_of

LONGEST: Final = 1_000
"""Characters of a claim."""
KINDS: Final = ("mean", "share", "median", "quantile", "correlation", "ols", "logit")
_EXAMPLES: Final = "'mean income > 30000', 'share sex = f < 0.5' or 'ols income ~ age: age > 0'"
_CLAIM = re.compile(r"\s*(\w+)\s+(\S.*?)\s*([<>])\s*([^\s<>=]+)\s*", re.DOTALL)
_TERM = re.compile(r"(.*?\S):\s+(.*)", re.DOTALL)
_PROBABILITY = re.compile(r"(0?\.\d+)\s+(.*)", re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """A claim that was read.

    Attributes:
        text: as it was written, without spaces around it.
        kind: one of `KINDS`.
        votes: kind that each subset is asked, which for a quantile is a share.
        outcome: what it is about, for each record.
        design: terms of a model, the one that is claimed last.
        border: with which the estimate is compared.
        above: whether the estimate is claimed to lie above.
        columns: that it names, in the order of the schema.
        notes: what there is to know of derived columns, in sentences.
    """

    text: str
    kind: str
    votes: ClaimKind
    outcome: Term
    design: tuple[Term, ...]
    border: float
    above: bool
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def coefficients(self) -> int:
        """How many numbers each subset has to tell."""
        return max(1, len(self.design))

    def put_to(self, subsets: int) -> Votes:
        """The question to the gate.

        Args:
            subsets: how many random subsets vote.
        """
        return Votes(
            kind=self.votes,
            outcome=self.outcome,
            design=self.design,
            border=self.border,
            above=self.above,
            subsets=subsets,
        )


def read_claim(text: str, schema: Schema) -> Claim:
    """Read a claim about rows with a schema.

    Args:
        text: as above, at most `LONGEST` characters.
        schema: of the rows.

    Raises:
        InferenceError: it cannot be read, or cannot be claimed.
    """
    require_text("claim", text, InferenceError, "mean income > 30000")
    text = str.__str__(text)  # a plain copy, whatever a class of text makes of it
    if len(text) > LONGEST:
        raise InferenceError(f"A claim has at most {LONGEST:,} characters; write a shorter one.")
    parts = _parts(text)
    votes, outcome, design, border, above = _asked(parts, schema)
    used = columns_of((outcome, *design))
    return Claim(
        text=text.strip(),
        kind=parts.kind,
        votes=votes,
        outcome=outcome,
        design=design,
        border=border,
        above=above,
        columns=tuple(name for name in schema.names if name in used),
        notes=rule_notes(parts.formula, schema),
    )


class _Parts(NamedTuple):
    """A claim in its parts.

    Attributes:
        kind: one of `KINDS`.
        formula: as it was written.
        term: the coefficient of a model; "" for other kinds.
        above: whether the claim is >.
        border: number behind it.
    """

    kind: str
    formula: str
    term: str
    above: bool
    border: float


class _Asked(NamedTuple):
    """What each subset is asked; see `Claim`."""

    votes: ClaimKind
    outcome: Term
    design: tuple[Term, ...]
    border: float
    above: bool


def _parts(text: str) -> _Parts:
    match = _CLAIM.fullmatch(text)
    border = number_of(match[4]) if match else None
    if match is None or border is None:
        raise InferenceError(
            f"A claim ends with > or < and a number, such as {_EXAMPLES}; got {text[:80]!r}."
        )
    kind = {"proportion": "share"}.get(match[1], match[1])
    if kind not in KINDS:
        raise InferenceError(
            f"Nothing of the kind {kind!r} can be claimed{suggestion(kind, KINDS)}; claims are "
            f"about {', '.join(KINDS[:-1])} and {KINDS[-1]}."
        )
    formula, term = match[2], ""
    if kind in ("ols", "logit"):
        named = _TERM.fullmatch(formula)
        if named is None:
            raise InferenceError(
                f"Say which coefficient is claimed, behind a colon and a space, such as '{kind} "
                "income ~ age + sex: age > 0'."
            )
        formula, term = named[1].strip(), named[2].strip()
    return _Parts(kind, formula, term, match[3] == ">", border)


def _asked(parts: _Parts, schema: Schema) -> _Asked:
    kind, formula, _, above, border = parts
    if kind in ("ols", "logit"):
        return _model("ols" if kind == "ols" else "logit", parts, schema)
    if kind == "correlation":
        _require_between(border, -1, 1, "border of a correlation")
        require_plain(formula, sides=1)
        split = formulas.split_terms(written_out("correlation", formula, schema))
        if len(split) != 2:
            raise InferenceError("A correlation is of two, such as 'correlation income + age > 0'.")
        first, second = (outcome_term(one, schema, two=False) for one in split)
        return _Asked("correlation", first, (second,), border, above)
    _require_ungrouped(formula)
    if kind in ("median", "quantile"):
        return _quantile(parts, schema)
    if kind == "mean":
        written = written_out("mean", formula, schema)
        return _Asked("mean", outcome_term(written, schema, two=False), (), border, above)
    _require_between(border, 0, 1, "border of a share")
    written = written_out("proportion", formula, schema)
    return _Asked("share", share_term(written, schema), (), border, above)


def _quantile(parts: _Parts, schema: Schema) -> _Asked:
    """A quantile lies above a border if less than its probability lies at or below that."""
    match = _PROBABILITY.fullmatch(parts.formula)
    if (match is None) != (parts.kind == "median"):
        raise InferenceError(
            "A quantile has its probability in front, such as 'quantile 0.9 income > 60000'; a "
            "median has none."
        )
    probability, bare = (float(match[1]), match[2]) if match else (0.5, parts.formula)
    _require_between(probability, 0, 1, "probability of a quantile")
    written = written_out("quantile", bare, schema)
    (factor,) = outcome_term(written, schema, two=False)
    if isinstance(factor, LevelValues):
        values = tuple(float(value <= parts.border) for value in factor.values)
        below: Computed | LevelValues = LevelValues(factor.column, values)
    elif factor.log:
        raise InferenceError(
            "A quantile keeps the order of numbers; claim it of the number, not of its logarithm."
        )
    else:
        below = Computed(f"({factor.text}) <= {parts.border!r}")
    return _Asked("share", (below,), (), probability, not parts.above)


def _model(votes: ClaimKind, parts: _Parts, schema: Schema) -> _Asked:
    left, _, right = parts.formula.partition("~")
    if not (left.strip() and right.strip()):
        raise InferenceError(
            f"The kind {votes} needs an outcome and predictors, such as '{votes} income ~ age + "
            "sex: age > 0'."
        )
    written = written_out(votes, parts.formula, schema)
    outcome = outcome_term(written.partition("~")[0], schema, two=votes == "logit")
    terms = model_terms(written, schema)
    wanted = _bare(parts.term)
    found = [name for name in terms if _bare(name) == wanted]
    if not found:
        close = suggestion(parts.term, terms)
        raise InferenceError(
            f"The model has no coefficient {parts.term!r}{close}; it has "
            f"{', '.join(list(terms)[:12])}."
        )
    design = (*(own for name, own in terms.items() if name != found[0]), terms[found[0]])
    if not columns_of(design[-1:]):
        raise InferenceError("An intercept cannot be claimed; claim a coefficient, or a mean.")
    return _Asked(votes, outcome, design, parts.border, parts.above)


def _bare(name: str) -> str:
    """The name of a coefficient without spaces, braces and back-ticks, which may be left out."""
    return re.sub(r"[\s{}`]", "", name).replace('"', "'")


def _require_ungrouped(formula: str) -> None:
    if "~" in formula:
        raise InferenceError(
            "A claim is about all records, not about groups; for a difference between groups claim "
            "a coefficient, such as 'ols income ~ C(sex): C(sex)[T.m] > 0'."
        )


def _require_between(value: float, low: float, high: float, what: str) -> None:
    if not (math.isfinite(value) and low < value < high):
        raise InferenceError(f"The {what} lies between {low} and {high}; write such a number.")
