"""
Use labels
==========

Labels can shape the map. ``"cut"`` removes edges between classes. ``"dissimilarity"`` shrinks
edges within classes and stretches edges between them. A third of the labels are hidden here: rows
without a label keep their edges.

Such a map shows the labels that you passed. Do not use it to judge how well classes separate.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
grower = np.array(["grower 1", "grower 2", "grower 3"])[wine.target]
known = np.where(np.arange(len(X)) % 3, wine.target, -1)  # -1: no label

rules = (None, "cut", "dissimilarity")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that the graph has parts, which are joined
    fitted = {
        f"supervision={rule!r}": PatchIsomap(supervision=rule).fit(X, known) for rule in rules
    }

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (name, method) in zip(axes, fitted.items(), strict=True):
    plot_embedding(method.embedding_, grower, ax=ax)
    ax.set_title(name)

# %%
# A page can also show estimators that are already fitted:
page = explore(X, embeddings=fitted, columns={"grower": grower}, title="With labels")
page
