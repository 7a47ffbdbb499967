"""
Blood cells
===========

700 cells of human blood with 765 genes, in 50 principal components. The data set comes with scanpy
(``pbmc68k_reduced``). ``PatchIsomap`` draws cell types as arms that keep their length. UMAP draws
islands.
"""

import warnings

import matplotlib.pyplot as plt

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # scanpy's, about the age of its file
    import scanpy as sc

    cells = sc.datasets.pbmc68k_reduced()

X = cells.obsm["X_pca"]
kind = cells.obs["bulk_labels"].astype(str).to_numpy()

fig, axes = plt.subplots(1, 2, figsize=(13, 4.4), layout="constrained")
plot_embedding(cells.obsm["X_umap"], kind, ax=axes[0])
axes[0].set_title("UMAP, from scanpy's file")
plot_embedding(PatchIsomap().fit_transform(X), kind, ax=axes[1])
axes[1].set_title("PatchIsomap")

# %%
# The columns of the page show what scanpy knows about every cell.
known = {name: cells.obs[name].to_numpy() for name in ("n_genes", "percent_mito", "S_score")}
page = explore(
    X,
    columns={"kind": kind, "phase": cells.obs["phase"].astype(str).to_numpy(), **known},
    n_neighbors=[10, 15, 30],
    title="Blood cells",
)
page
