"""The methods that are compared, by their names on the pages, and what their ε is worth."""

from __future__ import annotations

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
SETS = 10
"""m, of methods that share their budget between sets, and of those whose sets are free."""

NON_PRIVATE = "without privacy"
GRID_1, GRID_2 = "pMSE, depth 1, one grid", "pMSE, depth 2, one grid"
GRID_FIXED = "pMSE, partitions, one grid"
ROUNDS = "pMSE, depth 2, rounds"
COLUMNS = "pMSE, depth 2, by column"
LIMIT = "pMSE, depth 2, limit"
PAPER = "pMSE mechanism of the paper"
BAYES, SMOOTHED = "noisy Bayes", "smoothed histogram"
PER_RECORD = "smoothed histogram, ε a record"
AS_PRINTED = "smoothed histogram, fitted"
FUNCTIONAL, KNORM = "functional mechanism", "K-norm mechanism"
FUNCTIONAL_8 = "functional mechanism of sensitivity 8"
UNLIMITED = "unlimited"


def published(depth: int | None, sets: int) -> str:
    """The name of the mechanism as published.

    Example:
        >>> published(None, 10), published(5, 1)
        ('pMSE, greedy unlimited, m = 10', 'pMSE, greedy depth 5, m = 1')
    """
    return f"pMSE, greedy {UNLIMITED if depth is None else f'depth {depth}'}, m = {sets}"


def bayes(sets: int) -> str:
    """The name of noisy Bayes; m is not named where it is that of the paper.

    Example:
        >>> bayes(10), bayes(1)
        ('noisy Bayes', 'noisy Bayes, m = 1')
    """
    return BAYES if sets == SETS else f"{BAYES}, m = {sets}"


def averaged(method: str) -> str:
    """The name of the mean over m sets.

    Example:
        >>> averaged("noisy Bayes")
        'noisy Bayes, mean of 10 sets'
    """
    return f"{method}, mean of {SETS} sets"


def walking(steps: int) -> str:
    """The name of walks as published.

    Example:
        >>> walking(1000)
        'pMSE, greedy unlimited, 1,000 steps'
    """
    return f"pMSE, greedy {UNLIMITED}, {steps:,} steps"


def within(method: str, reach: float) -> str:
    """A method with its bounds.

    Example:
        >>> within("noisy Bayes", 4.0)
        'noisy Bayes, 4 sd'
    """
    return f"{method}, {reach:g} sd"


STRICT = (GRID_1, GRID_2, GRID_FIXED, ROUNDS, COLUMNS)
"""Methods of the mechanism with a proven guarantee of pure ε."""

PURE = "ε, proven"
CONDITIONAL = "conditional: the law that a walk approaches"
VIOLATED = "violated: greedy trees exceed the bound 1/n"
MUCH_MORE = "n·ε: ε is spent on each of n records"
FITTED = "n·log(1 + ε): so much is spent on each of n records"
NONE = "none"


def worth(method: str) -> str:
    """What is promised, in words.

    Example:
        >>> worth("noisy Bayes, 2 sd"), worth("pMSE, greedy depth 5, m = 1")
        ('ε, proven', 'violated: greedy trees exceed the bound 1/n')
    """
    if method.startswith(NON_PRIVATE):
        return NONE
    if "greedy" in method:
        return VIOLATED
    if method.startswith(PER_RECORD):
        return MUCH_MORE
    if method.startswith(AS_PRINTED):
        return FITTED
    return CONDITIONAL if method == LIMIT else PURE
