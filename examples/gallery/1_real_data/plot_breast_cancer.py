"""
Breast cancer, a table with outliers
====================================

569 tumours, 30 measurements of cell nuclei. Along one direction of the map, tumours go from benign
to malignant. A few extreme tumours lie far out, but they do not squeeze the others together.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.manifold import Isomap
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

data = load_breast_cancer(as_frame=True)
X = StandardScaler().fit_transform(data.data)
kind = data.target_names[data.target]

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, method in zip(axes, (Isomap(n_neighbors=15), PatchIsomap()), strict=True):
    plot_embedding(method.fit_transform(X), kind, ax=ax)
    ax.set_title(type(method).__name__)

# %%
# Select dots with the lasso and export their rows.
page = explore(
    X, kind, feature_names=data.feature_names, n_neighbors=[10, 15, 30], title="Breast cancer"
)
page
