"""The papers' data sets by name (rules, scikit-learn, a local folder, OpenML), and manifolds."""

from patchfold.datasets.loading import Dataset, available, load
from patchfold.datasets.manifolds import Manifold, make_manifold
from patchfold.datasets.registry import Entry

__all__ = ["Dataset", "Entry", "Manifold", "available", "load", "make_manifold"]
