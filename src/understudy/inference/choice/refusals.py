"""Why no rule gives valid error bars. What would help stands in `advice`."""

from __future__ import annotations

from understudy.inference.choice.release_facts import Facts


def shared_reason(facts: Facts) -> str:
    """Why sets that share one noise forbid an interval."""
    if facts.sets == 1:
        return "one set does not show how much noise and synthesis moved it"
    return (
        f"the {facts.sets} sets are drawn from one noisy fit and share its noise, which their "
        "differences do not show"
    )


def total_reason(_facts: Facts) -> str:
    """Why sets have no totals."""
    return "a total needs a released full noisy table of its columns"


def apart_reason(facts: Facts) -> str:
    """Why columns that were measured apart forbid an interval."""
    if len(facts.columns) == 1:
        return (
            f"the column {facts.columns[0]} was drawn by way of columns that were never measured "
            "together, which biases all sets alike"
        )
    names = ", ".join(facts.columns)
    return (
        f"the columns {names} were never measured together, or were drawn by way of others that "
        "were not, so the sets do not keep how they go together"
    )


def conditioned_reason(facts: Facts) -> str:
    """Why rules over columns that were measured apart forbid an interval."""
    return (
        "the schema forbids combinations of columns that were measured apart, and leaving these "
        f"out of the sets changes the distribution of {', '.join(facts.columns)} in them"
    )


def swept_reason(_facts: Facts) -> str:
    """Why records drawn column by column forbid an interval."""
    return (
        "the records were drawn column by column, with a weight or noise added to each row that "
        "was drawn from, which pulls shares and relations towards an even spread by an amount that "
        "nobody outside knows, in every set alike"
    )


def picked_reason(_facts: Facts) -> str:
    """Why parameters that were chosen among candidates forbid an interval."""
    return (
        "the records come from a generator whose parameters were chosen, at random and by how well "
        "they suit the rows, and how far it is from the rows is not known outside and alike in all "
        "sets"
    )


def weighted_reason(_facts: Facts) -> str:
    """Why a model that weighs records forbids an interval."""
    return (
        "the records come from a Bayesian model of the exact rows, in which records may weigh less "
        "the more they stand out, and what that and the model miss is not known outside and alike "
        "in all sets"
    )


def shrunk_reason(_facts: Facts) -> str:
    """Why relations that a penalty made weaker forbid an interval."""
    return (
        "columns were imputed by regressions with a penalty, which makes relations between columns "
        "weaker by an amount that the sets do not show"
    )


def merged_reason(facts: Facts) -> str:
    """Why merged states forbid an interval."""
    return (
        f"rare or neighbouring states of {', '.join(facts.merged)} were merged before they were "
        "measured together with other columns, so that the sets do not keep how each of them goes "
        "together with these"
    )


def distorted_reason(facts: Facts) -> str:
    """Why misplaced records forbid an interval."""
    percent = 100 * facts.distortion
    digits = 0 if percent >= 10 else 1
    return (
        f"about {percent:.{digits}f} % of the records are misplaced (by negative noisy counts set "
        "to 0, a prior, a distribution chosen whole or small cells left out), which biases every "
        "set alike"
    )


def noisy_reason(_facts: Facts) -> str:
    """Why noise that outweighs sampling by far forbids an interval."""
    return (
        "nearly all of the variance is privacy noise, and where noise is so large the model pulls "
        "relations towards none, which biases every set alike"
    )


def errorless_reason(names: str) -> str:
    """Why what does not vary forbids an interval."""
    return (
        f"the records that decide {names} do not vary, which says nothing of how they vary in the "
        "population"
    )
