"""
A noisy swiss roll
==================

A rolled-up sheet with noise. The truth is a rectangle, coloured along the roll. With 15 neighbours,
Isomap's graph has short cuts between the sheets. One short cut is enough to fold the map.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from patchfold import PatchIsomap, explore
from patchfold.metrics import rank_correlation
from patchfold.plotting import plot_embedding

X, t = make_swiss_roll(1000, noise=0.5, random_state=1)
height = make_swiss_roll(1000, noise=0.0, random_state=1)[0][:, 1]
arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
truth = pdist(np.column_stack([arc, height]))

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, method in zip(axes, (Isomap(n_neighbors=15), PatchIsomap()), strict=True):
    plane = method.fit_transform(X)
    plot_embedding(plane, t, ax=ax)
    ax.set_title(f"{type(method).__name__}: {rank_correlation(pdist(plane), truth):.2f}")

# %%
# The number is the rank correlation of distances on the map with the true ones. On the page, show
# the edges with the largest divergence: these are the short cuts.
page = explore(
    X,
    columns={"angle": t},
    feature_names=["x", "y", "z"],
    n_neighbors=[6, 15, 30],
    title="A noisy swiss roll",
)
page
