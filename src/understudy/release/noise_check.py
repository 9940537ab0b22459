"""Whether the noise that a folder states is what its prices buy.

A ledger says of each step what it cost, by how much one record can change the answer, and which
noise it got; a measurement says once more which noise its numbers have. All of this can be written
anew, and intervals and the promise rest on it. So each step is priced again here, from public
facts, and its words and numbers are compared. `docs/release-format.md` has the rules for others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from understudy.errors import UnderstudyError
from understudy.privacy.noise_record import LOST
from understudy.release.manifest import Manifest
from understudy.release.promise_check import stated_budget
from understudy.release.shape import Fault
from understudy.release.stated_step import Priced, StatedStep
from understudy.schema import Schema


def require_noise(
    manifest: Manifest, measurements: Sequence[Mapping[str, Any]], schema: Schema
) -> None:
    """Refuse steps and measurements whose noise is not what was paid for.

    Args:
        manifest: of the right shape; its ledger adds up.
        measurements: their entries in the manifest.
        schema: of the release.

    Raises:
        Fault: names the step.
    """
    paid = {one["ledger_entry"]: one for one in measurements}
    if len(paid) < len(measurements):
        raise Fault("two measurements were paid by one step of its ledger")
    budget, leaks = stated_budget(manifest.budget), " ".join(manifest.guarantee.leaks)
    promised = manifest.guarantee.epsilon is not None
    for entry in manifest.ledger:
        exact, measured = entry[f"{budget.unit_name}_exact"], paid.get(entry["number"])
        if exact is None:
            continue  # what has no finite cost promises nothing
        price = Fraction(exact)
        if entry["noise"] == LOST:  # charged by a run that ended before it had a result
            fits = measured is None
        elif price == 0:
            fits = entry["noise"] == "none: unpaid" and bool(leaks)
        else:
            step = StatedStep(entry, price, budget, schema, manifest.n_rows, leaks, measured)
            fits = any(_is_stated(step, one) for one in _priced(step, promised=promised))
        if not fits:
            raise Fault(f"the noise of step {entry['number']} is not what its price buys")


def _is_stated(step: StatedStep, priced: Priced) -> bool:
    """Whether ledger and measurement state what a price buys."""
    sensitivity, noise, recorded = priced
    if (step.entry["sensitivity"], step.noise) != (sensitivity, noise):
        return False
    if step.measured is None or recorded is None:
        return True
    told = step.measured
    same = (told["law"], told["scale"]) == (recorded.distribution, recorded.scale)
    return same and math.isclose(told["stddev"], recorded.stddev, rel_tol=1e-9)


def _priced(step: StatedStep, *, promised: bool) -> Iterator[Priced]:
    """What the price of a step can buy."""
    from understudy.release.priced_noise import RULES

    rule = RULES.get(step.entry["mechanism"])
    if rule is None:
        if not promised:  # a foreign mechanism, of which nothing is known
            yield step.entry["sensitivity"], step.noise, None
        return
    try:
        yield from rule(step)
    except (UnderstudyError, ValueError, ArithmeticError, LookupError):
        return
