"""Partitions of points in feature space: kernel k-means, where it starts, and how far from the best it can be."""

from mercer.solvers.clusters.certificate import ClusterCertificate, certify_clusters
from mercer.solvers.clusters.choose import ClusterCounts, choose_k
from mercer.solvers.clusters.cluster import Clusters, cluster
from mercer.solvers.clusters.linked import Linked
from mercer.solvers.clusters.links import Links
from mercer.solvers.clusters.lloyd import Lloyd
from mercer.solvers.clusters.problem import Clustering
from mercer.solvers.clusters.starts import GivenCentres, GivenLabels, OneStep, PlusPlus, RandomPoints, Start

__all__ = [
    "ClusterCertificate",
    "ClusterCounts",
    "Clustering",
    "Clusters",
    "GivenCentres",
    "GivenLabels",
    "Linked",
    "Links",
    "Lloyd",
    "OneStep",
    "PlusPlus",
    "RandomPoints",
    "Start",
    "certify_clusters",
    "choose_k",
    "cluster",
]
