"""Fixtures and settings that every test shares."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No deadline: the first call of a compiled rule takes seconds. CI repeats the same examples, so a red run can be rerun.
# Markers are registered in pyproject.toml, where --strict-markers reads them.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


@pytest.fixture
def rng():
    """A generator that starts the same in each test."""
    return np.random.default_rng(20240229)
