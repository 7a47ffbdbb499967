"""
Find short circuits
===================

Draw patches as ellipses, and colour edges by the divergence of their two patches. Dark edges join
patches that disagree. Then compare with the graph that ``PatchIsomap`` keeps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_swiss_roll

from patchfold import GaussianPatch, PatchIsomap, divergences, explore
from patchfold.neighbors import find_neighbors
from patchfold.plotting import plot_patches

X, t = make_swiss_roll(800, noise=0.6, random_state=0)
near = find_neighbors(X, 15)
patches = GaussianPatch().fit(X, near)
i, j = near.sources, near.indices
values = divergences.paired(patches, i, j, "kl")

kept = PatchIsomap().fit(X).graph_
removed = np.array([kept[a, b] == 0 for a, b in zip(i, j, strict=True)])
print(f"{removed.sum()} of {removed.size} edges are gone;")
print(f"of edges between sheets, {np.mean(removed[np.abs(t[i] - t[j]) > np.pi]):.0%}")

fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
plot_patches(patches, edges=(i, j), values=values, features=(0, 2), label="divergence", ax=ax)
ax.set(xlabel="x", ylabel="z", title="the roll from the side")

# %%
page = explore(X, columns={"angle": t}, n_neighbors=[15, 30], title="Short circuits")
page
