"""Kernel machines that are fast and prove their answers."""

from typing import TYPE_CHECKING, Any

from mercer import functions, kernels, spaces
from mercer._version import __version__
from mercer.engine import Engine
from mercer.functions import RKHS, RKHSFunction, section
from mercer.gram import Gram, check_psd, feature_map, gram

if TYPE_CHECKING:
    from mercer import estimators, losses, solvers
    from mercer.estimators import (
        SVC,
        SVR,
        KernelDensity,
        KernelHuberRegressor,
        KernelKMeans,
        KernelLogisticRegression,
        KernelMachine,
        KernelNearestMean,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelPCA,
        KernelPoissonRegressor,
        KernelQuantileRegressor,
        KernelRidge,
        KernelRidgeClassifier,
        LearnedMetricRidge,
        MetricLearner,
        NuSVC,
        NuSVR,
        OneClassSVM,
        ParzenClassifier,
        kernelize,
        tune,
    )

__all__ = [
    "RKHS",
    "SVC",
    "SVR",
    "Engine",
    "Gram",
    "KernelDensity",
    "KernelHuberRegressor",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelNearestMean",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelPCA",
    "KernelPoissonRegressor",
    "KernelQuantileRegressor",
    "KernelRidge",
    "KernelRidgeClassifier",
    "LearnedMetricRidge",
    "MetricLearner",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenClassifier",
    "RKHSFunction",
    "__version__",
    "check_psd",
    "estimators",
    "feature_map",
    "functions",
    "gram",
    "kernelize",
    "kernels",
    "losses",
    "section",
    "solvers",
    "spaces",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import the estimators and what is behind them when first asked for: scikit-learn takes a second to load."""
    import importlib

    if name in ("estimators", "losses", "solvers"):
        return importlib.import_module(f"mercer.{name}")
    if name in __all__:
        return getattr(importlib.import_module("mercer.estimators"), name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")
