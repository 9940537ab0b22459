"""The guarantee in plain words, with the numbers that follow from it.

Every number is a bound, so it is rounded up.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

from understudy.privacy.accounting.guarantee import Guarantee

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
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    """Whether no promise holds."""
    return guarantee.kind == "none" or guarantee.epsilon is None


def factor(epsilon: Fraction | float) -> str:
    """e^ε, rounded up to three digits (a power of ten where it is huge).

    Example:
        >>> factor(1), factor(0.1), factor(50)
        ('2.72', '1.11', '10²²')
    """
    if epsilon > 13:
        power = math.ceil(float(epsilon) / math.log(10))
        return f"10{str(power).translate(_SUPERSCRIPT)}"
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
    exponent = f"10{str(power).translate(_SUPERSCRIPT)}"
    return exponent if mantissa == "1" else f"{mantissa} · {exponent}"


def meaning(guarantee: Guarantee) -> tuple[tuple[str, str], ...]:
    """What the promise means for a person in the table: headings, each with a paragraph."""
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
