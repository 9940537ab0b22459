"""What is published: rows, noisy measurements, schema, manifest."""

from understudy.release.manifest import Manifest
from understudy.release.measurement import Measurement
from understudy.release.release import Release

__all__ = ["Manifest", "Measurement", "Release"]
