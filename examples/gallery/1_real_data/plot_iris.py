"""
Iris
====

150 flowers, four measurements in centimetres. This classic data set is nearly flat, so the map is
about that of PCA, as it should be. We use k = 30, because with 15 only one edge joins *setosa* to
the others.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, method in zip(axes, (PCA(2), PatchIsomap(n_neighbors=30)), strict=True):
    plot_embedding(method.fit_transform(iris.data), species, ax=ax)
    ax.set_title(type(method).__name__)

# %%
# *Setosa* is an island. Move k to see how the edges that join it change.
page = explore(iris.data, species, n_neighbors=[10, 20, 30], title="Iris")
page
