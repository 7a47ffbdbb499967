"""
Choose k
========

Compare candidates for k by criteria that need no labels, and look at the scores. Where a curve is
flat, k does not matter.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_s_curve

from patchfold import PatchIsomap, explore
from patchfold.selection import select_n_neighbors

X, t = make_s_curve(500, noise=0.15, random_state=0)
chosen = select_n_neighbors(
    PatchIsomap(), X, criterion=["lcmc", "trustworthiness", "area"], candidates=[5, 8, 12, 20, 40]
)
print(chosen)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
chosen.plot(ax=ax)

# %%
page = explore(X, columns={"t": t}, n_neighbors=chosen.candidates, title="S-curve")
page
