"""
Cells that branch
=================

A simulated differentiation of blood cells (Krumsiek et al. 2011, from scanpy): 640 states of eleven
genes over time. One progenitor leads to four fates, so the map must have four arms. Isomap projects
two of them onto each other. ``PatchIsomap`` shows all four. A fifth, short arm on the left holds
progenitors alone.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import Isomap

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # scanpy's, about names of its file
    import scanpy as sc

    cells = sc.datasets.krumsiek11()

rng = np.random.default_rng(0)
X = np.asarray(cells.X) + rng.normal(0, 0.02, cells.shape)
kind = cells.obs["cell_type"].astype(str).to_numpy()
step = np.arange(len(X)) % 160

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, method in zip(axes, (Isomap(n_neighbors=15), PatchIsomap()), strict=True):
    plot_embedding(method.fit_transform(X), kind, ax=ax)
    ax.set_title(type(method).__name__)

# %%
genes = dict(zip(cells.var_names, np.asarray(cells.X).T, strict=True))
page = explore(
    X, columns={"fate": kind, "step": step, **genes}, n_neighbors=[10, 15], title="Branches"
)
page
