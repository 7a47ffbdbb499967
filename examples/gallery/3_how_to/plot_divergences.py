"""
Compare divergences
===================

One data set and six divergences. Here the length of an edge is the divergence of its patches, and
scaling is classical, as in the papers. ``"euclidean"`` is classical Isomap.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from patchfold import GaussianPatch, PatchIsomap, explore
from patchfold.plotting import CLASS_COLORS

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
names = ["euclidean", "kl", "bhattacharyya", "hellinger", "wasserstein", "fisher-rao"]

fig, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
published = {"patch": GaussianPatch(), "lengths": "divergence", "scaling": "classical"}
for ax, name in zip(axes.flat, names, strict=True):
    plane = PatchIsomap(divergence=name, **published).fit_transform(X)
    ax.scatter(*plane.T, c=[CLASS_COLORS[label] for label in y], s=14)
    ax.set(title=name, xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")

# %%
# On the page, switch between divergences above the map.
page = explore(
    X,
    y,
    divergences=["euclidean", "kl", "hellinger", "wasserstein"],
    n_neighbors=[15],
    title="Wine",
)
page
