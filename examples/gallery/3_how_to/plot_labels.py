"""
Use labels
==========

Labels can shape the map. ``"cut"`` removes edges between classes; ``"dissimilarity"`` shrinks
edges within classes and stretches those between. Half of the labels are hidden here: rows without
one keep their edges.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap
from patchfold.plotting import plot_embedding

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
half = np.where(np.arange(len(X)) % 2, data.target, -1)

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, rule in zip(axes, (None, "cut", "dissimilarity"), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that cutting leaves parts, which are joined again
        plane = PatchIsomap(supervision=rule).fit_transform(X, half)
    plot_embedding(plane, data.target_names[data.target], ax=ax)
    ax.set_title(f"supervision={rule!r}")

# %%
# The page of an estimator that is fitted already:
from patchfold.explorer import Explorer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    fitted = {
        "without labels": PatchIsomap().fit(X),
        "cut": PatchIsomap(supervision="cut").fit(X, half),
    }
page = Explorer.from_estimators(
    fitted, X, columns={"kind": data.target_names[data.target]}, title="With labels"
)
page
