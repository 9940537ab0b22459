"""What table 2 would be under other readings of what is lost: records, sets, trees, bins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy_studies.framework.result_curves import Curves
from understudy_studies.framework.study import TextTable
from understudy_studies.snoke_slavkovic_2018 import methods
from understudy_studies.snoke_slavkovic_2018.conditions import CONDITIONS
from understudy_studies.snoke_slavkovic_2018.limits import LEAST_EFFECTIVE
from understudy_studies.snoke_slavkovic_2018.table_2 import paper
from understudy_studies.snoke_slavkovic_2018.table_2.simulation import EFFECTIVE, GREEDY


def sensitivity(curves: Curves) -> TextTable:
    """Mean pMSE by reading; laws that rest on few candidates are marked."""
    rows = [
        ("the paper", "", column, _line(paper.means(column), np.full(5, np.inf)), "")
        for column in (methods.NON_PRIVATE, methods.BAYES, methods.PAPER, methods.SMOOTHED)
    ]
    rows += [row for name in CONDITIONS for row in _rows(curves, name)]
    return TextTable(
        caption=f"Sensitivity: mean pMSE by {GREEDY} at ε = 0.25 / 0.5 / 1 / 2 / 4 under other "
        f"readings (in brackets: the law rests on fewer than {LEAST_EFFECTIVE} effective "
        "candidates)",
        headings=("reading", "n/m", "method", "mean pMSE", "repetitions"),
        rows=tuple(rows),
        words=4,
    )


def _rows(curves: Curves, name: str) -> Iterator[tuple[str, str, str, str, str]]:
    condition = CONDITIONS[name]
    yield (name, "", methods.NON_PRIVATE, *_shown(curves, name, methods.NON_PRIVATE))
    for m in condition.sets:
        ratio = f"{condition.n_rows // m:,}"
        yield (name, ratio, f"noisy Bayes, m = {m}", *_shown(curves, name, methods.bayes(m)))
        yield (name, ratio, f"pMSE, m = {m}", *_shown(curves, name, methods.published(None, m)))
    yield (name, "", methods.AS_PRINTED, *_shown(curves, name, methods.AS_PRINTED))


def _shown(curves: Curves, name: str, method: str) -> tuple[str, str]:
    found = curves.along("mean", (name,), GREEDY, method)
    effective = curves.along("mean", (name,), EFFECTIVE, method)
    usable = curves.along("usable", (name,), GREEDY, method)
    return _line(found, effective), f"{np.nanmin(usable):,.0f}"


def _line(values: object, effective: object) -> str:
    """Means; one without privacy stands alone.

    Example:
        >>> _line([0.2, 0.1], [40.0, 3.0]), _line([0.1, 0.1], [np.nan, np.nan])
        ('.200 / (.100)', '.1000')
    """
    numbers, found = np.asarray(values, dtype=float), np.asarray(effective, dtype=float)
    if np.ptp(numbers) < 1e-4:
        return f"{numbers[0]:.4f}".lstrip("0")
    texts = [f"{one:.3f}".lstrip("0") for one in numbers]
    few = found < LEAST_EFFECTIVE
    return " / ".join(f"({one})" if small else one for one, small in zip(texts, few, strict=True))
