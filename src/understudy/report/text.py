"""Texts that the pages share: numbers as people read them, templates, lists cut to fit.

**The guarantee in plain words, with the numbers that follow from it.**

Every number is a bound, so it is rounded up.

**What is said of the questions that a release can answer: how many, which, how exactly.**
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from understudy.dp.guarantee import Guarantee
from understudy.errors import escape_controls

if TYPE_CHECKING:
    pass


_LONGEST = 20_000
_LABEL = 20  # most letters of a label in a chart
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DISTRIBUTIONS = {
    "discrete_laplace": "discrete Laplace (geometric)",
    "lattice_laplace": "Laplace",
    "discrete_gaussian": "discrete Gaussian",
    "laplace": "Laplace, in floating point",
    "truncated_laplace": "truncated Laplace, in floating point",
    "truncated_discrete_laplace": "truncated discrete Laplace",
    "exponential_mechanism": "exponential mechanism",
    "none": "no noise",
}


def clean(value: Any) -> Any:
    """Texts without control characters, and none so long that it fills the page."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = escape_controls(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def percent(share: float | None, places: int = 1) -> str:
    """A share in per cent; tiny ones are not rounded to nothing.

    Example:
        >>> percent(0.1234), percent(0.0001), percent(-0.02), percent(None)
        ('12.3 %', '< 0.1 %', '−2.0 %', '–')
    """
    if share is None:
        return "–"
    smallest = 10.0**-places
    if 0 < 100 * share < smallest / 2:
        return f"< {smallest:g} %"
    return f"{100 * share:.{places}f} %".replace("-", "−")


def relative(error: float) -> str:
    """A relative error in per cent, to two digits.

    Example:
        >>> relative(0.00894), relative(0.446)
        ('0.89 %', '45 %')
    """
    shown = 100 * error
    return f"{shown:,.0f} %" if shown >= 10 else f"{shown:.2g} %"


def number(value: float | None) -> str:
    """A count or scale: whole if large, three digits if small; a dash where there is none.

    Example:
        >>> number(6379), number(13.394), number(-4)
        ('6,379', '13.4', '−4')
    """
    if value is None:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return text.replace("-", "−")


def figure(value: float | None, digits: int = 3) -> str:
    """A score to so many digits, at any size; what is not a number is a dash.

    Example:
        >>> figure(0.03124), figure(12345.6), figure(-1.5e-6), figure(float("inf")), figure(None)
        ('0.0312', '12,346', '−1.50 × 10⁻⁶', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        large = abs(value) >= 10**digits - 0.5
        text = f"{value:,.0f}" if large else f"{value:.{digits}g}"
    else:
        leading, power = f"{value:.{digits - 1}e}".split("e")
        text = f"{leading} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def distance(value: float | None, places: int = 3) -> str:
    """A distance or ratio to so many places.

    Example:
        >>> distance(0.0416), distance(float("nan"))
        ('0.042', '–')
    """
    return f"{value:.{places}f}" if value is not None and math.isfinite(value) else figure(value)


def prose(text: str) -> Markup:
    """A sentence with its powers set high and its numbers kept together with their signs."""
    kept = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", str(escape(clean(text))))
    kept = re.sub(r"([εδρμ]|μ²/2|</sup>) = ", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", kept)
    return Markup(re.sub(r"e\^(\d?ε)", r"e<sup>\1</sup>", kept))  # noqa: S704 - escaped above


def times(columns: Sequence[str]) -> str:
    """A table's name: its columns crossed."""
    return " × ".join(columns) or "number of records"


def noise_words(distribution: str) -> str:
    """Name of a distribution of noise for people."""
    return _DISTRIBUTIONS.get(distribution, distribution.replace("_", " "))


_VARIANCE = re.compile(r"variance (\d+(?:/\d+)?)")


def with_deviations(words: str) -> str:
    """Noise in words, with standard deviations in the place of exact variances.

    Example:
        >>> with_deviations("discrete Gaussian, variance 427709555535/4294967296")
        'discrete Gaussian, standard deviation 9.98'
    """
    return _VARIANCE.sub(
        lambda found: f"standard deviation {figure(math.sqrt(Fraction(found[1])))}", words
    )


def shorten_label(label: str, length: int = _LABEL) -> str:
    """A label that fits its place.

    Example:
        >>> shorten_label("as good as new", 8)
        'as good…'
    """
    return label if len(label) <= length else label[: length - 1].rstrip() + "…"


FOLD = 60  # longer tables are folded

Cut = tuple[Markup, int]  # what was kept, and how many pieces were left out


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("understudy", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean,
    )
    environment.filters |= {
        "distance": distance,
        "figure": figure,
        "percent": percent,
        "number": number,
        "prose": prose,
        "relative": relative,
    }
    environment.globals["fold"] = FOLD
    return environment


def template(name: str) -> Template:
    """A template of this package."""
    return _environment().get_template(name)


def macro(name: str, file: str) -> Callable[..., Markup]:
    """A macro by itself, so that what it renders can be weighed."""
    function: Callable[..., Markup] = getattr(template(file).module, name)
    return function


def render_items(render: Callable[..., Markup], items: Sequence[Any], room: int) -> Cut:
    """Items rendered one by one, as many as the room holds."""
    return fit_pieces((render(item) for item in items), room, total=len(items))


def fit_pieces(pieces: Iterable[Markup], room: int, *, total: int) -> Cut:
    """Pieces up to a number of bytes; what does not fit is not even drawn."""
    kept: list[Markup] = []
    used = 0
    for piece in pieces:
        used += size(piece)
        if used > room:
            break
        kept.append(piece)
    return Markup("").join(kept), total - len(kept)


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text.encode())


_KINDS = {
    "pure": "pure DP",
    "approximate": "approximate DP",
    "zcdp": "DP, accounted in zCDP",
    "asymptotic": "asymptotic only",
    "conditional": "conditional DP",
}
_NEIGHBOURS = {
    "add_remove": "one record added or removed",
    "replace": "one record replaced",
}
_LIMITS = (
    "The promise is about taking part, not about the population: what the release teaches about "
    "people in general applies to everyone alike, in the table or not. It protects one record; a "
    "person with several records in the table is protected less. And promises add up: if the same "
    "people are in several releases, the ε of these releases sum."
)


def badge(guarantee: Guarantee) -> str:
    """The promise in one line.

    Example:
        >>> badge(Guarantee("pure", Fraction(1), Fraction(0), "add_remove"))
        'ε = 1, pure DP, one record added or removed'
    """
    if guarantee.kind == "asymptotic" and guarantee.epsilon is None:
        return "asymptotic only: not private at this number of rows"
    if is_not_private(guarantee) or guarantee.epsilon is None:
        return "not private"
    size = f"ε = {rounded_up(guarantee.epsilon)}"
    size += f", δ = {rounded_up(guarantee.delta)}" if guarantee.delta else ""
    return f"{size}, {_KINDS[guarantee.kind]}, {_NEIGHBOURS[guarantee.neighbours]}"


def is_not_private(guarantee: Guarantee) -> bool:
    """Return whether no promise holds."""
    return guarantee.kind == "none" or guarantee.epsilon is None


def factor(epsilon: Fraction | float) -> str:
    """e^ε, rounded up to three digits (a power of ten where it is huge).

    Example:
        >>> factor(1), factor(0.1), factor(50)
        ('2.72', '1.11', '10²²')
    """
    if epsilon > 13:
        power = math.ceil(float(epsilon) / math.log(10))
        return f"10{str(power).translate(_SUPERSCRIPTS)}"
    return rounded_up(math.exp(float(epsilon)) * (1 + 1e-12), 3)


def best_guess(epsilon: Fraction | float, delta: Fraction | float = 0) -> str:
    """Highest probability of telling two neighbouring tables apart, from even odds, in per cent.

    Among all tests that (ε, δ)-DP allows the best has equal errors, (1 − δ) / (1 + e^ε), so it is
    right with probability (e^ε + δ) / (1 + e^ε) (Kairouz, Oh & Viswanath 2015, Theorem 2.1).

    Example:
        >>> best_guess(1), best_guess(0.1), best_guess(10)
        ('73.2 %', '52.5 %', '99.9955 %')
    """
    wrong = 100 * (1 - float(delta)) * math.exp(-float(epsilon)) / (1 + math.exp(-float(epsilon)))
    places = 1 if wrong >= 1 else math.ceil(-math.log10(max(wrong, 1e-300))) + 1
    if places > 6:
        return "practically 100 %"
    right = math.ceil((100 - wrong) * 10**places - 1e-9) / 10**places
    return f"{right:.{places}f} %"


def rounded_up(value: Fraction | float, digits: int = 4) -> str:
    """Decimal text of a bound, rounded up to some significant digits.

    Example:
        >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 10**9))
        ('0.3334', '10⁻⁹')
    """
    exact = Fraction(value)
    with localcontext() as context:
        context.prec, context.rounding = digits, ROUND_CEILING
        number = Decimal(exact.numerator) / Decimal(exact.denominator)
    sign, figures, power = number.normalize().as_tuple()
    assert isinstance(power, int)
    assert not sign
    if 1e-4 < number < 1e7 or not number:
        return format(number.normalize(), "f")
    power += len(figures) - 1
    mantissa = format(number.scaleb(-power).normalize(), "f")
    exponent = f"10{str(power).translate(_SUPERSCRIPTS)}"
    return exponent if mantissa == "1" else f"{mantissa} · {exponent}"


def explain_promise(guarantee: Guarantee) -> tuple[tuple[str, str], ...]:
    """Explain the promise to a person in the table: headings, each with a paragraph."""
    if guarantee.kind == "asymptotic":
        return (
            ("No promise for this table", _ASYMPTOTIC + _NO_EPSILON[guarantee.epsilon is None]),
        )
    if is_not_private(guarantee) or guarantee.epsilon is None:
        text = (
            "Nothing is promised about the people in the confidential table. Treat this release as "
            "you would treat the confidential table itself."
        )
        return (("No promise", text),)
    if guarantee.is_nominal:
        return (
            ("A nominal promise", _NOMINAL),
            *_for_a_person(guarantee, "Without what is left in: c"),
        )
    lead = "As long as the conditions below hold: c" if guarantee.kind == "conditional" else "C"
    return _for_a_person(guarantee, lead)


_ASYMPTOTIC = (
    "The proof behind this release holds only as the number of records grows without limit. For "
    "this table, with its finite number of records, nothing is proven: "
)
_NO_EPSILON = {
    False: "the ε above is nominal and must not be read as a promise.",
    True: (
        "there is no ε, and what a person risks by being in the table is not limited by any "
        "argument about this release."
    ),
}
_NOMINAL = (
    "The proof behind this release does not cover what is left in, listed above. The ε is nominal: "
    "what follows would hold without that, and must not be read as a promise."
)


def _for_a_person(guarantee: Guarantee, lead: str) -> tuple[tuple[str, str], ...]:
    return (
        ("Two worlds that look alike", lead + _worlds(guarantee)),
        ("The best possible guess", _guess(guarantee)),
        ("What the record says", _about_values(guarantee)),
        ("What is not promised", _LIMITS),
    )


def _worlds(guarantee: Guarantee) -> str:
    assert guarantee.epsilon is not None
    if guarantee.neighbours == "add_remove":
        worlds = (
            "in one a given person’s record is in the confidential table, in the other it is not"
        )
    else:
        worlds = (
            "in one the confidential table holds a given person’s true record, in the other any "
            "other record in its place (the number of records is public)"
        )
    size = f"a factor of at most e^ε = {factor(guarantee.epsilon)}"
    if guarantee.delta:
        size += f", plus δ = {rounded_up(guarantee.delta)}"
        odds = ""
    else:
        odds = (
            " So the odds of any conclusion about which world is real change by no more than that."
        )
    return (
        f"onsider two worlds: {worlds}. Everything else is the same. The probability of whatever "
        f"anyone computes or concludes from this release differs between them by {size}.{odds}"
    )


def _guess(guarantee: Guarantee) -> str:
    assert guarantee.epsilon is not None
    what = (
        "whether one given person’s record is in the table"
        if guarantee.neighbours == "add_remove"
        else "which of two given records one person has in the table"
    )
    best = best_guess(guarantee.epsilon, guarantee.delta)
    return (
        f"Someone who knows everyone else’s records, has unlimited computing power and starts from "
        f"even odds can tell {what} with probability at most {best} (tossing a coin: 50 %). For "
        f"comparison: {best_guess(0.1)} at ε = 0.1, {best_guess(1)} at ε = 1, {best_guess(3)} at "
        f"ε = 3, {best_guess(10)} at ε = 10."
    )


def _about_values(guarantee: Guarantee) -> str:
    assert guarantee.epsilon is not None
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if guarantee.neighbours == "replace":
        return (
            "This covers the whole record: everything it says, and every attribute of the person "
            "that follows from it."
        )
    # Changing a record is removing it and adding another: group privacy for two steps.
    twice = 2 * epsilon
    more = (1 + Fraction(math.exp(min(float(epsilon), 700.0)))) * delta
    reached = best_guess(twice, min(more, Fraction(1)))
    return (
        f"For somebody known to be in the table, the same promise limits what can be learned about "
        f"the content of the record: two possible contents can be told apart, from even odds, with "
        f"probability at most {reached} (a factor of at most e^2ε = {factor(twice)}"
        f"{f', plus {rounded_up(more, 2)}' if more else ''})."
    )


_MOST_NAMES = 6


def many(n: int, total: int, single: str, several: str) -> str:
    """For how many of all there are error bars.

    Args:
        n: with them.
        total: of all.
        single: what they are, "column".
        several: the same for many.
    """
    if not n:
        return f"No {single} has error bars from noisy counts."
    which = f"all {total:,} {several}" if n == total > 1 else f"{n:,} of {total:,} {several}"
    return f"Error bars for {which}."


def name_columns(known: Sequence[str], of: Sequence[str]) -> str:
    """For how many columns there are error bars, and for which, or which not if these are few.

    Args:
        known: names of those with them.
        of: names of all.
    """
    words = many(len(known), len(of), "column", "columns")
    others = [name for name in of if name not in set(known)]
    if not known or not others:
        return words
    if len(others) <= min(len(known), _MOST_NAMES):
        return f"{words} Not: {', '.join(map(shorten_label, others))}."
    more = f" and {len(known) - _MOST_NAMES:,} more" if len(known) > _MOST_NAMES else ""
    return f"{words} These: {', '.join(map(shorten_label, known[:_MOST_NAMES]))}{more}."
