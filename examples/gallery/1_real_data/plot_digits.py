"""
Handwritten digits
==================

1797 images of 8 x 8 pixels, 64 columns. The methods did not see the colours. Isomap shows one
cloud. Patches show groups, and digits that look alike (1 and 8, 5 and 6) are close to each other.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

X, y = load_digits(return_X_y=True)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, method in zip(axes, (Isomap(n_neighbors=15), PatchIsomap()), strict=True):
    plot_embedding(method.fit_transform(X), y, ax=ax)
    ax.set_title(type(method).__name__)

# %%
# The page shows the first 800 digits. Colour by *trust* to see which dots to doubt.
page = explore(X[:800], y[:800], n_neighbors=[10, 20], title="Handwritten digits")
page
