"""How coefficients are found: problems, solvers, solutions and their certificates."""

from mercer.solvers import metric
from mercer.solvers._solver import Solver
from mercer.solvers.band import Band
from mercer.solvers.box_dual import BoxDual
from mercer.solvers.center_gradients import CenterGradients
from mercer.solvers.center_least_squares import CenterLeastSquares
from mercer.solvers.center_newton import CenterNewton
from mercer.solvers.center_vector_newton import CenterVectorNewton
from mercer.solvers.certificate import Certificate, certify
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.clusters import (
    ClusterCertificate,
    ClusterCounts,
    Clustering,
    Clusters,
    GivenCentres,
    GivenLabels,
    Linked,
    Links,
    Lloyd,
    OneStep,
    PlusPlus,
    RandomPoints,
    Start,
    certify_clusters,
    choose_k,
    cluster,
)
from mercer.solvers.conjugate_gradients import ConjugateGradients
from mercer.solvers.eigen import Eigen
from mercer.solvers.leave_one_out import LeaveOneOut, leave_one_out, one_count
from mercer.solvers.majorize import Majorize
from mercer.solvers.newton import Newton
from mercer.solvers.norm_search import NormSearch
from mercer.solvers.penalties import Ball, Exponential, HalfSquare, Increasing, Norm, Penalty, Power
from mercer.solvers.principal import Components, principal
from mercer.solvers.problem import Problem
from mercer.solvers.proximal import Proximal
from mercer.solvers.solution import Solution, Status
from mercer.solvers.solve import Auto, solve
from mercer.solvers.vector_newton import VectorNewton
from mercer.solvers.watch import Progress, Step

__all__ = [
    "Auto",
    "Ball",
    "Band",
    "BoxDual",
    "CenterGradients",
    "CenterLeastSquares",
    "CenterNewton",
    "CenterVectorNewton",
    "Certificate",
    "Cholesky",
    "ClusterCertificate",
    "ClusterCounts",
    "Clustering",
    "Clusters",
    "Components",
    "ConjugateGradients",
    "Eigen",
    "Exponential",
    "GivenCentres",
    "GivenLabels",
    "HalfSquare",
    "Increasing",
    "LeaveOneOut",
    "Linked",
    "Links",
    "Lloyd",
    "Majorize",
    "Newton",
    "Norm",
    "NormSearch",
    "OneStep",
    "Penalty",
    "PlusPlus",
    "Power",
    "Problem",
    "Progress",
    "Proximal",
    "RandomPoints",
    "Solution",
    "Solver",
    "Start",
    "Status",
    "Step",
    "VectorNewton",
    "certify",
    "certify_clusters",
    "choose_k",
    "cluster",
    "leave_one_out",
    "metric",
    "one_count",
    "principal",
    "solve",
]
