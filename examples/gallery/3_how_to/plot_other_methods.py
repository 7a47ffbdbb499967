"""
Hand the graph to other methods
===============================

``PatchSpace`` returns the graph of patches as sparse distances. Clustering, UMAP and t-SNE can use
it. Two rolls, one inside the other, are two clusters that k-means cannot separate.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.cluster import DBSCAN, KMeans

from patchfold import PatchSpace, datasets, explore
from patchfold.plotting import CLASS_COLORS

rolls = datasets.make_manifold("two-rolls", 1000, noise=0.25, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that the graph has two components: that is the point here
    graph = PatchSpace(n_neighbors=10).fit_transform(rolls.X)
    page = explore(
        rolls.X, columns={"along": rolls.coordinates[:, 0]}, n_neighbors=[10, 15], title="Two rolls"
    )
groups = {
    "k-means on points": KMeans(2, random_state=0, n_init=3).fit_predict(rolls.X),
    "DBSCAN on the graph of patches": DBSCAN(eps=3, metric="precomputed").fit_predict(graph),
}

fig, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for ax, (name, found) in zip(axes, groups.items(), strict=True):
    ax.scatter(rolls.X[:, 0], rolls.X[:, 2], c=[CLASS_COLORS[one] for one in found], s=8)
    ax.set(title=name, xlabel="x", ylabel="z", aspect="equal")

# %%
page
