"""
A sheet with a hole
===================

Points on a rolled sheet with a window cut out. No path goes through the window, so methods such as
Isomap make it somewhat larger. The map must still have one hole and no fold.
"""

import matplotlib.pyplot as plt

from patchfold import PatchIsomap, datasets, explore
from patchfold.plotting import plot_embedding

roll = datasets.make_manifold("swiss-roll-with-hole", 1000, noise=0.5, random_state=0)

methods = {
    "Isomap": PatchIsomap(divergence="euclidean", scaling="classical"),
    "PatchIsomap": PatchIsomap(),
}
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, (name, method) in zip(axes, methods.items(), strict=True):
    plot_embedding(method.fit_transform(roll.X), roll.coordinates[:, 0], ax=ax)
    ax.set_title(name)

# %%
page = explore(
    roll.X, columns={"along": roll.coordinates[:, 0]}, n_neighbors=[8, 15, 30], title="A hole"
)
page
