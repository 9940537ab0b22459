"""Questions as people pick and read them: columns into a formula, an analysis into a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from understudy.errors import MethodError

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
