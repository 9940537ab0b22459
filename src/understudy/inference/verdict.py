"""Claims about the rows, as an analyst writes them, what votes on them, and verdicts.

**A claim** is "<kind> <formula> > <number>", or with the name of a coefficient, "<kind> <formula>:
<term> > <number>", and the same with <:

* `mean income > 30000`, and of an expression, `mean income / hours < 40`;
* `share income > 30000 > 0.2`, `share sex = f < 0.5`; also `proportion`, as `analyze` has it;
* `median income > 30000`, `quantile 0.9 income > 60000`;
* `correlation income + age > 0.3`;
* `ols income ~ age + C(sex): age > 0`, `logit employed ~ age: age < 0`.

A quantile lies above a border if the share of records at or below that border is less than its
probability; that share is what is tested.

**What an analyst writes in a claim, as terms of records: plain data, of which nothing is run.**

A claim is written by one person and answered on the machine of another, so its formula is read more
narrowly than one that is put to a release: columns, `C(column)`, expressions in the language of
rules (`understudy.schema.expressions`) in braces, and `log` of one. Terms are joined by `+`,
factors by `:`. Only then the library of formulas lays it out, on made-up records of the public
schema, which fixes names and contrasts as `analyze` has them; what it computes there must be what
the terms give.

**How many subsets are asked about a claim, when their votes decide, and how likely that is wrong.**

All of this follows from public facts: the budget, the number of records as it is declared or
assumed, and how many coefficients a model has.

**How many subsets.** A claim that is z standard errors of all rows from its border is z/√k of a
subset's, so that by normal theory a subset is right with probability Φ(z/√k), and k subsets are
ahead by about k(Φ(z/√k) − ½) ≈ 0.4·z·√k votes. That grows with k, while the noise stays. But the
bias of small subsets grows too: that of a median of means is γ/(6√m) of the standard error of m
records of skewness γ, for m = n/k as much as γk/(6√n) standard errors of all rows. The distance at
which votes stand out, A/√k + Bk/√n, is least at k = (A√n/(2B))^(2/3). With A = 5r, r the number of
votes that the noise exceeds with probability 5 %, and B = ½, for what corrections leave of
skewness,

    k = (5r·√n)^(2/3), at least 25, at most n/30 and n/(10·coefficients),

and one less where it is even, so that votes are never tied.

**When they decide.** The noisy number of yes less k/2 must be beyond a band: the least number that
the noise, together with the votes of k fair coins, exceeds with probability at most 5 %. So if the
estimate of all rows lies at the border, or on the other side of it, the verdict yes has a
probability of at most 5 %, as far as subsets are right as often as wrong at the border; and the
reverse for no. Within the band it is undecided.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from scipy import stats

from understudy._arrays import Floats
from understudy._validation import require_text
from understudy.dp.accountant import Entry
from understudy.dp.budget import Budget, decimal_up, size_in_signs
from understudy.dp.guarantee import Guarantee
from understudy.dp.released import Noise
from understudy.errors import BudgetError, InferenceError, MethodError, suggestion
from understudy.features.design import (
    Computed,
    LevelValues,
    Term,
    columns_of,
    term_faults,
    values_of_terms,
)
from understudy.inference import formulas
from understudy.inference.question import rule_notes, split_probability, written_out
from understudy.inference.records import Records, is_grouping, level_values, probe_records
from understudy.mechanisms.votes import MOST_SUBSETS, MOST_TERMS, ClaimKind, VoteNoise, Votes
from understudy.schema import NUMERIC, Boolean, Schema
from understudy.schema.base import number_of
from understudy.schema.expressions import (
    BRACED,
    NAME,
    Expression,
    level_state,
    read_name,
    split_outside,
    without_braces,
)

_PIECE = re.compile(
    rf"`(?:[^`]|``)+`|{BRACED}|'[^']*'|\"[^\"]*\"|[^\W\d][\w.]*|\d[\w.]*|\s+|.", re.DOTALL
)
_CALL = re.compile(r"(C|log|np\.log)\((.*)\)", re.DOTALL)
_LEVEL_OF_COLUMN = re.compile(rf"({NAME})\s*=\s*([^=].*)", re.DOTALL)
Factors = tuple[LevelValues | Computed, ...]


def model_terms(formula: str, schema: Schema) -> dict[str, Term]:
    """Names and terms of the right side of a formula, the intercept included.

    Args:
        formula: with an outcome.
        schema: of the rows.

    Raises:
        InferenceError: it cannot be read, is not plain enough, or has too many terms.
    """
    require_plain(formula)
    _, right = split_outside(formula, "~")
    columns = formulas.columns_of(right, schema.names)
    if not columns:
        raise InferenceError(f"The formula {formula!r} has no predictor; name one.")
    coded: dict[str, Factors] = {}
    for term in formulas.parse(right):
        width = 1
        for factor in term.factors:
            if factor.eval_method.value != "literal":
                coded[factor.expr] = _factor(
                    formulas.factor_text(factor), factor.eval_method.value, schema
                )
                width *= len(coded[factor.expr])
        _require_few(width)
    probes = probe_records(schema, columns)
    design = formulas.matrices(right, probes.frame())
    _require_few(design.shape[1])
    found: dict[str, Term] = {}
    for encoded in design.model_spec.structure:
        names = map(formulas.restore_label, encoded.columns)
        found |= zip(names, _expand_term(encoded, coded), strict=True)
    _require_same(formula, found, design.to_numpy(dtype=np.float64), probes)
    return found


def outcome_term(expression: str, schema: Schema, *, two: bool) -> Term:
    """Read the quantity that a claim is about, for each record.

    Args:
        expression: a column or an expression, in braces or not.
        schema: of the rows.
        two: whether it must be true or false; a column of two levels then counts its second one.

    Raises:
        InferenceError: it cannot be read, or is no number, or is not true or false.
    """
    bare = without_braces(expression)
    name = read_name(bare)
    column = schema.columns.get(name)
    if column is None:
        factor = _read_expression(bare, schema)
        if two and not (Expression.read(factor.text).is_truth and not factor.log):
            raise InferenceError(f"{_not_true(bare)}, such as 'income > 0' or 'sex = f'.")
        return (factor,)
    if isinstance(column, NUMERIC):
        if two and column.bounds != (0, 1):
            raise InferenceError(f"{_not_true(bare)}, such as '{bare} > 0'.")
        return (Computed(f"`{name.replace('`', '``')}`"),)
    if isinstance(column, Boolean) or (two and column.n_ordinary == 2):
        return (LevelValues(name, (0.0, 1.0)),)
    if two or is_grouping(column):
        raise InferenceError(
            f"The column {name!r} has levels; say which one, such as "
            f"'share {name} = {column.labels[0]} > 0.2'."
        )
    return (LevelValues(name, _numbers(schema, name)),)


def share_term(expression: str, schema: Schema) -> Term:
    """As `outcome_term` for what is true or false; "column = level" is the level of a column.

    Raises:
        InferenceError: as there, or no level.
    """
    match = _LEVEL_OF_COLUMN.fullmatch(expression.strip())
    if match is None:
        return outcome_term(expression, schema, two=True)
    name, level = read_name(match[1]), match[2].strip().strip("'\"")
    column = schema.columns.get(name)
    if column is None:
        raise InferenceError(formulas.unknown(name, schema.names))
    if isinstance(column, NUMERIC):
        raise InferenceError(
            f"The column {name!r} has numbers, not levels; write such as '{name} == {level}'."
        )
    labels = column.labels[: column.n_ordinary]
    if level in labels:
        state = labels.index(level)
    else:
        try:
            state = level_state(name, column, level)
        except ValueError:
            close = suggestion(level, labels)
            raise InferenceError(f"The column {name!r} has no level {level!r}{close}.") from None
    return (LevelValues(name, tuple(float(k == state) for k in range(column.n_ordinary))),)


def require_plain(formula: str, *, sides: int = 2) -> None:
    """Refuse operators that multiply terms out, and parentheses around them.

    Args:
        formula: as it was written.
        sides: how many it must have.

    Raises:
        InferenceError: it has such.
    """
    pieces = [piece for piece in _PIECE.findall(formula) if not piece.isspace()]
    depth = 0
    for k, piece in enumerate(pieces):
        before = pieces[k - 1] if k else ""
        if piece == "(":
            if not depth and not re.fullmatch(r"[^\W\d][\w.]*", before):
                raise InferenceError(_plainly(formula))
            depth += 1
        elif piece == ")":
            depth -= 1
        elif not depth and len(piece) == 1 and not (piece.isalnum() or piece in "_~+:-"):
            raise InferenceError(_plainly(formula))
    if depth or pieces.count("~") != sides - 1:
        raise InferenceError(_plainly(formula))


def _plainly(formula: str) -> str:
    return (
        f"The formula {formula!r} is not plain enough for a claim: join terms by + and factors by "
        ":, such as 'income ~ age + sex + age:sex', and put expressions in braces, '{age >= 65}'."
    )


def _require_few(terms: int) -> None:
    if terms > MOST_TERMS:
        raise InferenceError(
            f"A claim is about a model of at most {MOST_TERMS} terms, each level counted; take "
            "fewer columns, or coarser ones."
        )


def _factor(expression: str, method: str, schema: Schema) -> Factors:
    """A factor in all its columns: one for each level, if it has levels."""
    call = _CALL.fullmatch(expression)
    name = read_name(call[2]) if call and call[1] == "C" else expression
    column = schema.columns.get(name)
    if method == "python" and not (call and call[1] == "C"):
        return (_read_expression(expression, schema),)
    if column is None or (call and isinstance(column, NUMERIC)):
        raise InferenceError(f"A claim takes C() of a column with levels only, not {expression!r}.")
    if isinstance(column, NUMERIC):
        return (Computed(f"`{name.replace('`', '``')}`"),)
    if isinstance(column, Boolean) and not call:
        return (LevelValues(name, (0.0, 1.0)),)
    if not is_grouping(column) and not call:
        return (LevelValues(name, _numbers(schema, name)),)
    size = column.n_ordinary
    _require_few(size)
    return tuple(LevelValues(name, tuple(map(float, row))) for row in np.eye(size))


def _read_expression(text: str, schema: Schema) -> Computed:
    """An expression of numbers and comparisons, or the logarithm of one."""
    call = _CALL.fullmatch(text)
    found = Computed(text)
    if call and call[1] != "C" and _is_balanced(call[2]):
        found = Computed(call[2], log=True)
    for fault in term_faults([(found,)], schema.columns):
        raise InferenceError(f"The expression {text!r} {fault}.")
    if not Expression.read(found.text).names:
        raise InferenceError(f"The expression {text!r} names no column.")
    return found


def _is_balanced(text: str) -> bool:
    """Return whether no parenthesis closes one before the text."""
    depth = 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            return False
    return True


def _numbers(schema: Schema, name: str) -> tuple[float, ...]:
    return tuple(float(level) for level in level_values(schema.columns[name]))  # type: ignore[arg-type]


def _expand_term(encoded: Any, coded: dict[str, Factors]) -> Iterator[Term]:
    """The columns of a term, the levels of its first factor fastest."""
    for scoped in encoded.scoped_terms:
        choices = [
            coded[one.factor.expr][1 if one.reduced else 0 :]
            for one in scoped.factors
            if one.factor.expr in coded
        ]
        for chosen in product(*reversed(choices)):
            yield tuple(reversed(chosen))


def _require_same(formula: str, terms: dict[str, Term], laid: Floats, probes: Records) -> None:
    """Refuse a formula of which the terms are not what the library of formulas makes of it."""
    own = values_of_terms(
        list(terms.values()), probes.schema.columns, probes.states, probes.numbers, len(laid)
    )
    laid = np.where(np.isfinite(laid), laid, np.nan)
    if not np.allclose(own, laid, rtol=1e-9, atol=0, equal_nan=True):
        raise InferenceError(_plainly(formula))


def _not_true(expression: str) -> str:
    return f"{expression!r} is not true or false; write a condition"


LONGEST: Final = 1_000
"""Characters of a claim."""
KINDS: Final = ("mean", "share", "median", "quantile", "correlation", "ols", "logit")
_EXAMPLES: Final = "'mean income > 30000', 'share sex = f < 0.5' or 'ols income ~ age: age > 0'"
_CLAIM = re.compile(r"\s*(\w+)\s+(\S.*?)\s*([<>])\s*([^\s<>=]+)\s*", re.DOTALL)
_TERM = re.compile(r"(.*?\S):\s+(.*)", re.DOTALL)


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
        """Number of coefficients that each subset has to tell."""
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
    votes, outcome, design, border, above = _read_question(parts, schema)
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
    """The question that each subset is asked; see `Claim`."""

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


def _read_question(parts: _Parts, schema: Schema) -> _Asked:
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
    named, bare = split_probability(parts.formula)
    if (named is None) != (parts.kind == "median"):
        raise InferenceError(
            "A quantile has its probability in front, such as 'quantile 0.9 income > 60000'; a "
            "median has none."
        )
    probability = 0.5 if named is None else named
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
    left, *right = split_outside(parts.formula, "~")
    if not (left and any(right)):
        raise InferenceError(
            f"The kind {votes} needs an outcome and predictors, such as '{votes} income ~ age + "
            "sex: age > 0'."
        )
    written = written_out(votes, parts.formula, schema)
    outcome = outcome_term(split_outside(written, "~")[0], schema, two=votes == "logit")
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


WRONG: Final = 0.05
"""Probability of either verdict where subsets say yes as often as no, at most."""
LEAST_SUBSETS: Final = 25
LEAST_RECORDS: Final = 30
"""Records of a subset."""
RECORDS_PER_COEFFICIENT: Final = 10
_LEVEL: Final = 0.95


@dataclass(frozen=True)
class Odds:
    """Probabilities of the three verdicts.

    Attributes:
        right: of the verdict that the claim deserves.
        undecided: of none.
        wrong: of the opposite.
    """

    right: float
    undecided: float
    wrong: float


def noise_reach(noise: VoteNoise) -> int:
    """The least number of votes that the noise exceeds with probability at most `WRONG`."""
    return _least(lambda votes: 1 - float(noise.cdf(votes)))


def band_of(k: int, noise: VoteNoise) -> int:
    """The least lead that k fair coins and the noise exceed with probability at most `WRONG`.

    Args:
        k: number of subsets, odd.
        noise: in the number of votes.
    """
    votes = np.arange(k + 1)
    chance = stats.binom.pmf(votes, k, 0.5)
    leads = np.asarray(votes - k / 2, dtype=np.float64)
    return _least(lambda lead: float(chance @ _beyond(lead, leads, noise)))


def subsets_for(records: int, coefficients: int, noise: VoteNoise) -> int:
    """Compute how many subsets are asked.

    Args:
        records: as declared or assumed.
        coefficients: numbers that each subset has to tell.
        noise: in the number of votes.

    Raises:
        MethodError: too few records for a single subset.
        BudgetError: even if all subsets agreed, the noise would hide it.
    """
    each = max(LEAST_RECORDS, RECORDS_PER_COEFFICIENT * coefficients)
    if records < each:
        raise MethodError(
            f"A claim with {coefficients} coefficients needs subsets of {each} records, and there "
            f"are {records:,}; claim something simpler."
        )
    reach = noise_reach(noise)
    best = max(LEAST_SUBSETS, round((5 * reach * math.sqrt(records)) ** (2 / 3)))
    k: int = min(best, records // each, MOST_SUBSETS)
    k -= 1 - k % 2
    band = band_of(k, noise)
    if k <= 2 * band:
        raise BudgetError(
            f"Even if all of {k} subsets agreed, noise and chance would hide it, up to {band:,} "
            "votes; raise epsilon, or claim something of more records."
        )
    return k


def odds_at(lead: float, k: int, noise: VoteNoise) -> Odds:
    """Probabilities by noise alone, given how many votes the right side is ahead of half.

    Args:
        lead: number of votes on the right side, less k/2.
        k: number of subsets.
        noise: in the number of votes.
    """
    return _odds(np.ones(1), np.array([lead]), k, noise)


def odds_of(distance: float, k: int, noise: VoteNoise) -> Odds:
    """Probabilities for a claim some standard errors of all rows from its border.

    By normal theory each subset is right with probability Φ(z/√k), by itself; votes are binomial,
    and the noise is added.

    Args:
        distance: z; its sign does not matter.
        k: number of subsets.
        noise: in the number of votes.
    """
    votes = np.arange(k + 1)
    chance = stats.binom.pmf(votes, k, stats.norm.cdf(abs(distance) / math.sqrt(k)))
    return _odds(chance, np.asarray(votes - k / 2, dtype=np.float64), k, noise)


def votes_interval(noisy: int, k: int, noise: VoteNoise) -> tuple[float, float]:
    """95 % interval for the share of the k subsets that said yes, by noise alone."""
    reach = _least(lambda votes: 1 - float(noise.cdf(votes)), (1 - _LEVEL) / 2)
    low, high = ((noisy + side * reach) / k for side in (-1, 1))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def side_of(noisy: int, k: int, noise: VoteNoise) -> str:
    """The verdict: "yes", "no" or "undecided"."""
    lead = Fraction(2 * noisy - k, 2)
    if abs(lead) <= band_of(k, noise):
        return "undecided"
    return "yes" if lead > 0 else "no"


def _odds(chance: Floats, leads: Floats, k: int, noise: VoteNoise) -> Odds:
    """Of leads of the right side, each with its chance."""
    band = band_of(k, noise)
    right, wrong = (float(chance @ _beyond(band, side * leads, noise)) for side in (1, -1))
    return Odds(right, max(0.0, 1 - right - wrong), wrong)


def _beyond(band: int, leads: Floats, noise: VoteNoise) -> Floats:
    """Probability that a lead with noise, which is whole and symmetric, is beyond a band."""
    return np.asarray(1 - noise.cdf(np.floor(band - leads)))


def _least(exceeded: Callable[[int], float], probability: float = WRONG) -> int:
    """The least whole number that is exceeded with at most a probability."""
    low, high = -1, 1
    while exceeded(high) > probability:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeded(middle) > probability else (low, middle)
    return high


Side = Literal["yes", "no", "undecided"]
DISTANCES: Final = (0, 1, 2, 3, 4, 6, 8)
"""Standard errors of all rows from the border, at which probabilities are stated."""
LEADS: Final = (0, 0.5, 1, 2, 4)
"""Votes ahead of half, in bands, at which probabilities by noise alone are stated."""
CAVEATS: Final = (
    "It speaks of the rows, with numbers clipped to their bounds and records without a value left "
    "out, as random subsets of them see it: small subsets are biased where a column is skewed or a "
    "level is rare.",
    "Undecided is no evidence that the claim is false; nor is a no evidence that its opposite is "
    "true, for a subset that cannot tell votes no.",
    "A claim that was chosen after a look at the confidential rows is not covered by ε.",
)


@dataclass(frozen=True)
class VerdictPlan:
    """The cost of a verdict and its certainty, from public facts alone.

    Attributes:
        claim: as it was written.
        subsets: how many random subsets vote.
        records: number of records, as declared or assumed.
        noise: in the number of votes.
        noise_words: the same in words.
        band: votes around half within which the verdict is undecided.
        by_lead: probabilities by noise alone; votes ahead of half → odds.
        by_distance: probabilities by sampling and noise; standard errors of all rows between the
            estimate and the border → odds.
        budget: that is spent.
        notes: what else there is to know of the claim, in sentences.
    """

    claim: str
    subsets: int
    records: int
    noise: Noise
    noise_words: str
    band: int
    by_lead: Mapping[float, Odds]
    by_distance: Mapping[int, Odds]
    budget: Budget
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> str:
        """The budget in words."""
        return size_in_signs(self.budget.epsilon, self.budget.delta)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "claim": self.claim,
            "subsets": self.subsets,
            "records": self.records,
            "noise": {**vars(self.noise), "words": self.noise_words},
            "band": self.band,
            "by_votes_ahead": [{"ahead": at, **vars(odds)} for at, odds in self.by_lead.items()],
            "by_standard_errors": [
                {"distance": at, **vars(odds)} for at, odds in self.by_distance.items()
            ],
            "epsilon": decimal_up(self.budget.epsilon),
            "delta": decimal_up(self.budget.delta),
            "notes": [*self.notes, *CAVEATS],
        }

    def __repr__(self) -> str:
        """One line."""
        return f"VerdictPlan({self.claim!r}, {self.epsilon}, {self.subsets:,} subsets)"


@dataclass(frozen=True)
class Verdict:
    """The verdict of noisy votes of random subsets about a claim.

    Attributes:
        verdict: "yes", "no" or "undecided".
        votes: noisy number of subsets that say yes; may be below 0 or above their number.
        share: 95 % interval for the share of the subsets that said yes, by noise alone.
        plan: claim, number of subsets, band, noise and stated probabilities.
        guarantee: what is promised.
        ledger: what was paid.
    """

    verdict: Side
    votes: int
    share: tuple[float, float]
    plan: VerdictPlan
    guarantee: Guarantee
    ledger: tuple[Entry, ...]

    @property
    def claim(self) -> str:
        """As it was written."""
        return self.plan.claim

    @property
    def subsets(self) -> int:
        """Number of subsets that voted."""
        return self.plan.subsets

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "claim": self.claim,
            "verdict": self.verdict,
            "votes": self.votes,
            "share_of_votes": list(self.share),
            "plan": self.plan.to_json(),
            "guarantee": self.guarantee.to_json(),
            "ledger": [entry.to_json() for entry in self.ledger],
        }

    def __str__(self) -> str:
        """A paragraph, with what it does not say."""
        low, high = (f"{100 * end:.0f}" for end in self.share)
        said = {"yes": "Yes", "no": "No", "undecided": "Undecided"}[self.verdict]
        first = (
            f"{said}: {self.claim}. Of {self.subsets:,} random subsets, about {self.votes:,} say "
            f"yes ({low} to {high} %, by noise alone); half is {self.subsets / 2:,.1f}, and "
            f"{self.plan.band:,} votes more or less decide."
        )
        return "\n".join([first, *self.plan.notes, *CAVEATS, self.guarantee.statement])

    def __repr__(self) -> str:
        """One line."""
        return f"Verdict({self.verdict}: {self.claim!r}; {self.guarantee.brief})"
