"""
Spectra of a fermentation
=========================

Raman spectra taken over 34 hours while sugar becomes alcohol (they come with chemotools). There is
one true variable, time, so the map should be a curve. We take 300 of 1629 spectra, with 409
columns: more columns than rows are no problem.

Here patches do *not* win. The titles show how well the first axis follows time: that of PCA does as
well or better. ``PatchIsomap`` draws a fork at the beginning. :doc:`/fails` compares with Isomap.
"""

import matplotlib.pyplot as plt
import numpy as np
from chemotools.datasets import load_fermentation_test
from scipy.signal import savgol_filter
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

table, _ = load_fermentation_test()
shift = table.columns.to_numpy(dtype=float)
part = table.to_numpy(dtype=float)[:, (shift > 950) & (shift < 1500)]
along = np.linspace(0, 1, part.shape[1])
part = part - part[:, :1] * (1 - along) - part[:, -1:] * along  # a straight baseline
spectra = 1000 * savgol_filter(part, 15, 2, deriv=1)

rows = np.sort(np.random.default_rng(0).choice(len(spectra), 300, replace=False))
X, hours = spectra[rows], 34 * rows / len(spectra)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, method in zip(axes, (PCA(2), PatchIsomap()), strict=True):
    plane = method.fit_transform(X)
    order = abs(spearmanr(plane[:, 0], hours).statistic)
    plot_embedding(plane, hours, ax=ax)
    ax.set_title(f"{type(method).__name__}: time and first axis {order:.2f}")

# %%
page = explore(X, columns={"hours": hours}, n_neighbors=[8, 15, 30], title="Fermentation")
page
