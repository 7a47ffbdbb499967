"""The methods of the five papers, each as an estimator set up by the paper's equations."""

from patchfold.papers.presets import (
    elap,
    isomap_kl,
    pelle,
    supervised_isomap,
    x_eigenmaps,
    x_isomap,
    x_lle,
    x_tsne,
)

__all__ = [
    "elap",
    "isomap_kl",
    "pelle",
    "supervised_isomap",
    "x_eigenmaps",
    "x_isomap",
    "x_lle",
    "x_tsne",
]
