"""Why no rule gives valid error bars, in sentences that say what would help."""

from __future__ import annotations

from understudy.inference.estimands import RATIOS
from understudy.inference.facts import Facts

_COUNTED = ", ".join(RATIOS)


def shared_reason(facts: Facts) -> str:
    """Why sets that share one noise forbid an interval, and what would help."""
    if facts.sets == 1:
        why = "one set does not show how much noise and synthesis moved it"
    else:
        why = (
            f"the {facts.sets} sets are drawn from one noisy fit and share its noise, which their "
            "differences do not show"
        )
    if facts.counted:
        remedy = "that measures a full table of these columns, or makes several split sets"
    else:
        remedy = "of several split sets (option sets=split)"
    linear = "" if facts.counted else f", or for a {_COUNTED} if a full noisy table is released"
    return f"{why}; ask the publisher for a release {remedy}{linear}"


def apart_reason(facts: Facts) -> str:
    """Why columns that were measured apart forbid an interval, and what would help."""
    if len(facts.columns) == 1:
        return (
            f"the column {facts.columns[0]} was drawn by way of columns that were never measured "
            "together, which biases all sets alike; ask the publisher for a release whose columns "
            "have one parent each (option degree=1)"
        )
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, or were drawn by way of others that "
        "were not, so the sets do not keep how they go together; ask the publisher for a release "
        "whose method measures them in one table, or analyse them one by one"
    )


def conditioned_reason(facts: Facts) -> str:
    """Why rules over columns that were measured apart forbid an interval, and what would help."""
    names = ", ".join(facts.columns)
    return (
        "the schema forbids combinations of columns that were measured apart; leaving these out of "
        f"the sets changes the distribution of {names} in them; ask the publisher for a release "
        "whose method measures those columns in one table"
    )


def swept_reason(facts: Facts) -> str:
    """Why records drawn column by column forbid an interval, and what would help."""
    return (
        "the records were drawn column by column, with a weight or noise added to each row that "
        "was drawn from, which pulls shares and relations towards an even spread by an amount that "
        "nobody outside knows, in every set alike; ask the publisher for a release whose method "
        f"measures {_columns_of(facts)} in a table with noise"
    )


def picked_reason(facts: Facts) -> str:
    """Why parameters that were chosen among candidates forbid an interval, and what would help."""
    return (
        "the records come from a generator whose parameters were chosen, at random and by how well "
        "they suit the rows; how far the best parameters within reach, and the generator itself, "
        "are from the rows is not known outside, and is alike in all sets; ask the publisher for a "
        f"release whose method measures {_columns_of(facts)} in a table with noise"
    )


def weighted_reason(facts: Facts) -> str:
    """Why a model that weighs records forbids an interval, and what would help."""
    return (
        "the records come from a Bayesian model of the exact rows, in which records may weigh less "
        "the more they stand out; what that takes from the tails, and what the model misses, is "
        "not known outside and alike in all sets, so that their differences do not show it; ask "
        f"the publisher for a release whose method measures {_columns_of(facts)} in a table with "
        "noise"
    )


def shrunk_reason(facts: Facts) -> str:
    """Why relations that a penalty made weaker forbid an interval, and what would help."""
    return (
        "columns were imputed by regressions with a penalty, which makes relations between columns "
        "weaker by an amount that the sets do not show; analyse the columns one by one, or ask the "
        f"publisher for a release whose method measures {_columns_of(facts)} in a table"
    )


def _columns_of(facts: Facts) -> str:
    return "these columns" if len(facts.columns) > 1 else "this column"


def merged_reason(facts: Facts) -> str:
    """Why merged states forbid an interval, and what would help."""
    names = ", ".join(facts.merged)
    return (
        f"rare or neighbouring states of {names} were merged before they were measured together "
        "with other columns, so that the sets do not keep how each of them goes together with "
        "these; ask for coarser levels, or the publisher for a larger epsilon"
    )


def distorted_reason(facts: Facts) -> str:
    """Why misplaced records forbid an interval, and what would help."""
    percent = 100 * facts.distortion
    digits = 0 if percent >= 10 else 1
    return (
        f"about {percent:.{digits}f} % of the records are misplaced (by negative noisy counts set "
        "to 0, a prior, a distribution chosen whole or small cells left out), which biases every "
        "set alike; ask the publisher for more people per cell: fewer columns, coarser bins, fewer "
        "sets or a larger epsilon"
    )


def noisy_reason(facts: Facts) -> str:
    """Why noise that outweighs sampling by far forbids an interval, and what would help."""
    return (
        "nearly all of the variance is privacy noise, and where noise is so large the model pulls "
        "relations towards none, which biases every set alike; take uncertainty='bootstrap', which "
        "shows that bias, or ask the publisher for a larger epsilon"
    )


def errorless_reason(names: str) -> str:
    """Why what does not vary forbids an interval, and what would help."""
    return (
        f"the records that decide {names} do not vary, which says nothing of how they vary in the "
        "population; ask for a proportion"
    )
