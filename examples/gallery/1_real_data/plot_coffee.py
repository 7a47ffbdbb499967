"""
Coffee, a very small set
========================

60 spectra of coffee from three countries, 1841 columns (they come with chemotools). Pre-treatment
matters more than the method: we scale every spectrum and take its first derivative. 60 rows are
hardly enough for patches: eight neighbours are a seventh of the data. Use a small k, and compare
with PCA, which is as good here.
"""

import matplotlib.pyplot as plt
from chemotools.datasets import load_coffee
from scipy.signal import savgol_filter
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

spectra, labels = load_coffee()
X = spectra.to_numpy(dtype=float)
X = StandardScaler().fit_transform(X.T).T  # every spectrum: mean 0, variance 1
X = savgol_filter(X, 31, 2, deriv=1)[:, 20:-20]  # its slope, without the ends
country = labels["labels"].to_numpy(dtype=str)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, method in zip(axes, (PCA(2), PatchIsomap(n_neighbors=8)), strict=True):
    plot_embedding(method.fit_transform(X), country, ax=ax)
    ax.set_title(type(method).__name__)

# %%
page = explore(X, columns={"country": country}, n_neighbors=[5, 8, 12], title="Coffee")
page
