"""The scikit-learn face: estimators, each a page of code over problems and solvers."""

from mercer.estimators.kernel_k_means import KernelKMeans
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.metric_learner import MetricLearner

__all__ = ["KernelKMeans", "KernelRidge", "MetricLearner"]
