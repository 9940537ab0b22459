"""Questions as people hand them in: columns that they pick into a formula, or a file of questions.

A question file is what an analyst who has worked on a release asks the steward to measure. It is
TOML, and holds text and numbers only, never code:

    title = "Does income differ by training?"
    asked_by = "A. Analyst"
    chosen = "beforehand"

    [[analyses]]
    kind = "ols"
    formula = "income ~ trained + age"
    half_width = 500.0
    term = "age"

or, instead of analyses, claims for verdicts (`claims = ["mean income > 30000"]`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.errors import InferenceError, MethodError, line
from understudy.inference.declared import DeclaredAnalysis, read_toml
from understudy.release.manifest import Chosen
from understudy.schema import Schema
from understudy.schema.expressions import with_condition

KINDS: Final = (
    ("mean", "the mean of a number", "how large {first} is on average{among}"),
    ("proportion", "shares of levels", "how often each level of {first} occurs{among}"),
    ("total", "the total of a number", "how much {first} there is in all{among}"),
    ("median", "the median of a number", "what half of all lie below in {first}{among}"),
    ("correlation", "the correlation of two numbers", "how {first} and {others} go together"),
    ("independence", "whether two things go together", "whether {first} and {others} go together"),
    ("ols", "a number explained by others", "how {first} goes with {others}"),
    ("logit", "whether something holds, by others", "on what it hangs whether {first}: {others}"),
)
"""Kind of analysis, what it is in words, and the sentence of a question."""
_OF_GROUPS: Final = {"mean", "proportion", "total"}
_MODELS: Final = {"ols", "logit"}
_PAIRS: Final = {"correlation", "independence"}


def formula_of(kind: str, first: str, others: Sequence[str]) -> str:
    """Write down a question about columns that were picked.

    Args:
        kind: of analysis.
        first: column that it is about.
        others: what it is explained by, compared with, or split by.

    Raises:
        MethodError: no first column, too many others, or too few.

    Example:
        >>> formula_of("ols", "income", ["age", "home town"])
        'income ~ age + `home town`'
    """
    from understudy.schema.expressions import quote_name

    if not first:
        raise MethodError("Pick the column that the question is about.")
    about, *names = map(quote_name, (first, *others))
    if kind in _MODELS and not names:
        raise MethodError("Pick at least one column that explains the first.")
    if kind in _PAIRS:
        if len(names) != 1:
            raise MethodError("Pick one other column for this question.")
        return f"{about} + {names[0]}"
    if names and kind not in _OF_GROUPS | _MODELS:
        raise MethodError("This question is about one column; pick no others.")
    return f"{about} ~ {' + '.join(names)}" if names else about


def sentence_of(asked: Mapping[str, str]) -> str:
    """A declared analysis in words, as far as it was picked and not written.

    Args:
        asked: its entries `kind`, `formula` and perhaps `where`.

    Example:
        >>> sentence_of({"kind": "mean", "formula": "income ~ sex", "where": "age > 17"})
        'how large income is on average, by sex, where age > 17'
    """
    first, _, others = asked["formula"].partition("~" if "~" in asked["formula"] else "+")
    words = {kind: sentence for kind, _, sentence in KINDS}.get(asked["kind"], "{first}, {others}")
    told = ", ".join(part.strip() for part in others.split("+") if part.strip())
    among = f", by {told}" if told and asked["kind"] in _OF_GROUPS else ""
    where = f", where {asked['where']}" if asked.get("where") else ""
    return words.format(first=first.strip(), others=told, among=among) + where


_Text = Annotated[str, Field(max_length=2_000)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    kind: _Text
    formula: _Text
    where: _Text = ""
    half_width: Annotated[float | int, Field(gt=0, allow_inf_nan=False)] | None = None
    term: _Text = ""


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    title: _Text = ""
    asked_by: _Text = ""
    chosen: Chosen = ""
    analyses: Annotated[list[_Entry], Field(max_length=50)] = []
    claims: Annotated[list[_Text], Field(max_length=50)] = []


@dataclass(frozen=True)
class QuestionFile:
    """A file of questions to the rows behind a release.

    Attributes:
        analyses: to be answered better than the release does.
        half_widths: of the 95 % intervals that are wanted, one for each analysis; NaN for any.
        terms: of which estimate, one for each analysis; "" for all but intercepts.
        claims: to be judged instead; one of the two is empty.
        title: in words.
        asked_by: who asks.
        chosen: "beforehand" if no number of the release suggested it, else "from the release"; ""
            if that is not said.
    """

    analyses: tuple[DeclaredAnalysis, ...]
    half_widths: tuple[float, ...] = ()
    terms: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    title: str = ""
    asked_by: str = ""
    chosen: Chosen = ""

    @property
    def digest(self) -> str:
        """SHA-256 of its content, in hexadecimal digits."""
        content = asdict(self) | {"half_widths": [str(width) for width in self.half_widths]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()

    def require_asked(self, schema: Schema) -> None:
        """See that each analysis can be asked of rows with this schema.

        Raises:
            InferenceError: says which cannot, and why.
        """
        for analysis in self.analyses:
            analysis.require_about_units(schema)
            analysis.estimand(schema)


def question_file(given: object) -> QuestionFile:
    """Read a question.

    Args:
        given: the path of a question file, or its content as a mapping.

    Raises:
        InferenceError: it cannot be read, or is no question; says what is wrong with which entry.
    """
    if isinstance(given, QuestionFile):
        return given
    if not isinstance(given, str | Path | Mapping):
        raise InferenceError("A question is the path of its file, or a mapping with its entries.")
    try:
        content = _Content.model_validate(
            dict(given) if isinstance(given, Mapping) else read_toml(Path(given), "The question")
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InferenceError(
            f"The question's entry {line(place)} does not fit: {line(first['msg'])}; it holds "
            "title, asked_by, chosen, and [[analyses]] with kind and formula, or claims."
        ) from None
    if bool(content.analyses) == bool(content.claims):
        raise InferenceError(
            "A question holds [[analyses]] or claims, and not both: they are paid for apart."
        )
    return QuestionFile(
        analyses=tuple(
            DeclaredAnalysis(
                entry.kind, with_condition(entry.formula, entry.where), content.asked_by
            )
            for entry in content.analyses
        ),
        half_widths=tuple(
            math.nan if entry.half_width is None else float(entry.half_width)
            for entry in content.analyses
        ),
        terms=tuple(entry.term for entry in content.analyses),
        claims=tuple(content.claims),
        title=content.title,
        asked_by=content.asked_by,
        chosen=content.chosen,
    )
