"""Every distribution of noise is of a known family, and nothing else is taken for one."""

import pytest

from understudy.dp.perturbation import DISTRIBUTIONS
from understudy.dp.released import NO_NOISE, NoiseFamily
from understudy.mechanisms.regression import CubeLaplace


@pytest.mark.parametrize("kind", [*DISTRIBUTIONS, CubeLaplace], ids=lambda kind: kind.__name__)
def test_every_distribution_has_its_family(kind):
    family = NoiseFamily.of(kind.name)
    assert family is not NoiseFamily.OTHER
    assert family.is_laplace == ("Laplace" in kind.__name__)
    assert family.is_gaussian == ("Gaussian" in kind.__name__)
    assert family.is_truncated == ("Truncated" in kind.__name__)
    assert family.is_whole == (kind.__name__.startswith(("Discrete", "TruncatedDiscrete", "Cube")))


@pytest.mark.parametrize("name", ["perturbed sweeps", "", "LAPLACE", "gaussian-like", "other"])
def test_what_is_no_noise_is_no_family(name):
    family = NoiseFamily.of(name)
    assert family is NoiseFamily.OTHER
    assert not any([family.is_laplace, family.is_gaussian, family.is_truncated, family.is_none])
    assert NO_NOISE.family.is_none
