"""The scikit-learn face: estimators, each a page of code over problems and solvers."""

from mercer.estimators.kernel_density import KernelDensity
from mercer.estimators.kernel_huber_regressor import KernelHuberRegressor
from mercer.estimators.kernel_k_means import KernelKMeans
from mercer.estimators.kernel_logistic_regression import KernelLogisticRegression
from mercer.estimators.kernel_machine import KernelMachine
from mercer.estimators.kernel_nearest_mean import KernelNearestMean
from mercer.estimators.kernel_neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kernel_poisson_regressor import KernelPoissonRegressor
from mercer.estimators.kernel_quantile_regressor import KernelQuantileRegressor
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.kernel_ridge_classifier import KernelRidgeClassifier
from mercer.estimators.kernelized import Kernelized, kernelize
from mercer.estimators.learned_metric_ridge import LearnedMetricRidge
from mercer.estimators.metric_learner import MetricLearner
from mercer.estimators.nu_svc import NuSVC
from mercer.estimators.nu_svr import NuSVR
from mercer.estimators.one_class_svm import OneClassSVM
from mercer.estimators.parzen_classifier import ParzenClassifier
from mercer.estimators.svc import SVC
from mercer.estimators.svr import SVR
from mercer.estimators.tuning import Tuning, tune

__all__ = [
    "SVC",
    "SVR",
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
    "Kernelized",
    "LearnedMetricRidge",
    "MetricLearner",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenClassifier",
    "Tuning",
    "kernelize",
    "tune",
]
