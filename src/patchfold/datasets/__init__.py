"""The papers' data sets by name, from rules, scikit-learn, a local folder or OpenML."""

from patchfold.datasets.loading import Dataset, available, load
from patchfold.datasets.registry import Entry

__all__ = ["Dataset", "Entry", "available", "load"]
