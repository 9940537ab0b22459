"""A regression with its errors, kept together with the release that it was answered from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import InferenceError
from understudy.privacy.accounting.guarantee import Guarantee
from understudy.release import Release

if TYPE_CHECKING:
    import pandas as pd

    from understudy.inference.analysis import Analysis

_LOST = "No coefficient can be told, though the budget is spent"


@dataclass(frozen=True)
class RegressionRelease:
    """A regression with its errors, and the release that it was answered from.

    Attributes:
        release: of the formula's columns; other questions to it cost nothing.
        analysis: the estimates; None where the answer is lost in the noise.
        refused: why there is none; "" if there is one.
    """

    release: Release
    analysis: Analysis | None
    refused: str = ""

    @classmethod
    def of(cls, release: Release, level: float = 0.95) -> RegressionRelease:
        """What a release says of the analysis that was declared for it.

        A refusal is an answer too: what was paid for must not be lost by it.

        Args:
            release: of one declared analysis.
            level: confidence level of the intervals shown.
        """
        from understudy.inference.answering import analyze_release

        (asked,) = release.manifest.analyses
        try:
            found = analyze_release(release, asked["kind"], asked["formula"], level=level)
        except InferenceError as error:
            reason = getattr(error, "reason", str(error)).rstrip(".")
            return cls(release, None, f"{_LOST}: {reason}.")
        return cls(release, found)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.release.guarantee

    @property
    def ledger(self) -> tuple[dict[str, Any], ...]:
        """What was paid, as plain data."""
        return self.release.manifest.ledger

    @property
    def coefficients(self) -> dict[str, float]:
        """Estimates by their names.

        Raises:
            InferenceError: there is no answer.
        """
        pooled = self._answered().pooled
        return dict(zip(pooled.names, pooled.estimate.tolist(), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """One row per coefficient: estimate, standard error, interval, p-value.

        Raises:
            InferenceError: there is no answer.
        """
        return self._answered().to_frame()

    def to_json(self) -> dict[str, Any]:
        """Plain data: the analysis or why there is none, guarantee and ledger."""
        (asked,) = self.release.manifest.analyses
        found = self.analysis.to_json() if self.analysis else {**asked, "refused": self.refused}
        return {**found, "guarantee": self.guarantee.to_json(), "ledger": list(self.ledger)}

    def save(self, path: str | Path) -> Path:
        """Write the release to a new folder; see `Release.save`.

        Raises:
            ReleaseError: the folder exists and is not empty, or cannot be written.
        """
        return self.release.save(path)

    def __repr__(self) -> str:
        """As it is printed."""
        return str(self)

    def __str__(self) -> str:
        """The table with its notes, or why there is none; and the promise."""
        return f"{self.analysis or self.refused}\n{self.guarantee.statement}"

    def _answered(self) -> Analysis:
        if self.analysis is None:
            raise InferenceError(self.refused)
        return self.analysis
