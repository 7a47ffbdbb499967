"""Divergences between Gaussian patches: how far apart two neighbourhoods are.

:mod:`~patchfold.divergences.formulas` has one function per divergence. :func:`paired` evaluates one
over an edge list, :func:`pairwise` over all pairs; :func:`register` adds one of your own.
"""

from patchfold.divergences.formulas import (
    Divergence,
    bhattacharyya,
    bhattacharyya_riemann,
    calvo_oller,
    cauchy_schwarz,
    euclidean,
    fisher_rao,
    hellinger,
    jeffreys,
    jeffreys_riemann,
    kl,
    wasserstein,
)
from patchfold.divergences.pairing import paired, pairwise
from patchfold.divergences.registry import NAMES, register

__all__ = [
    "NAMES",
    "Divergence",
    "bhattacharyya",
    "bhattacharyya_riemann",
    "calvo_oller",
    "cauchy_schwarz",
    "euclidean",
    "fisher_rao",
    "hellinger",
    "jeffreys",
    "jeffreys_riemann",
    "kl",
    "paired",
    "pairwise",
    "register",
    "wasserstein",
]
