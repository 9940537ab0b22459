"""Question files: what an analyst who has worked on a release asks the steward to measure.

A question file is TOML, and holds text and numbers only, never code:

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
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.errors import InferenceError, line
from understudy.inference.declared_analyses import DeclaredAnalysis
from understudy.release.amendment import Chosen
from understudy.schema import Schema

MOST_BYTES = 100_000
_Text = Annotated[str, Field(max_length=2_000)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    kind: _Text
    formula: _Text
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
    """What is asked of the rows behind a release.

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
            dict(given) if isinstance(given, Mapping) else _read(Path(given))
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
            DeclaredAnalysis(entry.kind, entry.formula, content.asked_by)
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


def _read(path: Path) -> object:
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise InferenceError(f"The question {path} is longer than {MOST_BYTES:,} bytes.")
        return tomllib.loads(text.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InferenceError(f"The question {path} cannot be read: {line(str(error))}.") from None
