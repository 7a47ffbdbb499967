"""
Map new rows
============

Fit half of the wines, and map the other half. New dots fall on the group they belong to, although
the model has seen no label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap, explore
from patchfold.plotting import CLASS_COLORS

X, y = load_wine(return_X_y=True)
old, new, y_old, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(old)
model = PatchIsomap().fit(scaler.transform(old))
places = model.transform(scaler.transform(new))

right = KNeighborsClassifier(7).fit(model.embedding_, y_old).score(places, y_new)
print(f"seven fitted neighbours on the plane name {right:.0%} of the new wines")

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
colors = np.array(CLASS_COLORS)
ax.scatter(*model.embedding_.T, c=colors[y_old], s=40, alpha=0.3, linewidths=0, label="fitted")
ax.scatter(*places.T, c=colors[y_new], s=18, marker="D", linewidths=0, label="new")
ax.set(xlabel="component 0", ylabel="component 1", aspect="equal")
ax.legend(frameon=False)

# %%
page = explore(scaler.transform(old), y_old, n_neighbors=[10, 15], title="The fitted half")
page
