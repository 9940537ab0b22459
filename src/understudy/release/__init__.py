"""What is published: rows, noisy measurements, schema, manifest."""

from understudy.release.measurement import Measurement
from understudy.release.release import Manifest, Release

__all__ = ["Manifest", "Measurement", "Release"]
