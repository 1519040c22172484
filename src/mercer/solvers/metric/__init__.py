"""How a metric is found from pairs of points: scatter matrices, the two objectives, certificates."""

from mercer.solvers.metric.certificate import MetricCertificate
from mercer.solvers.metric.gradients import average_gradients
from mercer.solvers.metric.pairs import LabelPairs, Pairs, PairSet
from mercer.solvers.metric.problem import Face, MetricProblem, MetricSolution, MetricSolver
from mercer.solvers.metric.ratio import Ratio
from mercer.solvers.metric.root import Root
from mercer.solvers.metric.solve import learn_metric
from mercer.solvers.metric.stream import PairStream

__all__ = [
    "Face",
    "LabelPairs",
    "MetricCertificate",
    "MetricProblem",
    "MetricSolution",
    "MetricSolver",
    "PairSet",
    "PairStream",
    "Pairs",
    "Ratio",
    "Root",
    "average_gradients",
    "learn_metric",
]
