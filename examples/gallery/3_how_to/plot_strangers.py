"""
Find strangers
==============

``transform`` gives every new row a place on the map, even a row that does not belong there. Ask
``off_manifold`` first: it gives a p-value for every row. Here the new rows are 300 digits and 100
images with shuffled pixels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from patchfold import PatchIsomap, explore

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
model = PatchIsomap().fit(X[:1000])

new = X[1000:1300]
strange = rng.permuted(X[1300:1400], axis=1)  # the same values, in other places
p_new, p_strange = model.off_manifold(new), model.off_manifold(strange)
for name, p in {"digits": p_new, "strangers": p_strange}.items():
    print(f"{np.mean(p < 0.01):.0%} of {name} have a p-value below 0.01")

fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].hist([p_new, p_strange], bins=20, label=["digits", "shuffled pixels"], color=["C0", "C3"])
axes[0].set(xlabel="p-value: share of fitted points at least as strange", ylabel="rows")
axes[0].legend(frameon=False)
axes[1].scatter(*model.embedding_.T, s=8, c="#cbd5e1", linewidths=0)
axes[1].scatter(*model.transform(new).T, s=8, c="C0", linewidths=0)
axes[1].scatter(*model.transform(strange).T, s=14, c="C3", marker="x")
axes[1].set(xlabel="component 0", ylabel="component 1")
axes[1].set_aspect("equal", adjustable="datalim")

# %%
# Strangers have places on the map like any other row. More than one digit in a hundred has a
# p-value below 0.01, so the later digits differ somewhat from the first thousand. The page shows
# all new rows.
rows = np.vstack([new, strange])
kind = np.repeat(["digit", "shuffled"], [len(new), len(strange)])
p_values = np.concatenate([p_new, p_strange])
page = explore(
    rows, columns={"kind": kind, "p-value": p_values}, n_neighbors=[15], title="Strangers"
)
page
