"""
Where am I? Positions from signals
==================================

Somebody carries a phone through a corridor in the shape of a U. The phone receives twelve
transmitters, and walls weaken their signals. The true distance is the *walking* distance: the two
ends of the U are close through the wall, but far apart on foot. Both methods unfold the corridor:
its dark and bright ends are farthest apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

rng = np.random.default_rng(0)
way = rng.uniform(0, 26, 900)  # metres from one end of the middle line to the other
side = rng.uniform(-1, 1, 900)
legs = [way < 10, way > 16]
x = np.select(legs, [side, 6 + side], way - 10)
y = np.select(legs, [10 - way, way - 16], side)
place = np.column_stack([x, y])

masts = rng.uniform([-2, -2], [8, 11], (12, 2))
distance = np.linalg.norm(place[:, None] - masts, axis=2)
# The wall between the legs stands at x = 3; the farther up, the more of it is in the way.
opposite = (x[:, None] - 3) * (masts[:, 0] - 3) < 0
wall = 4 * opposite * np.clip(np.abs(x[:, None] - 3) / 2, 0, 1) * np.clip(y[:, None] / 4, 0, 1)
signal = -20 * np.log10(distance + 1) - wall + rng.normal(0, 0.7, distance.shape)

methods = {
    "Isomap": PatchIsomap(divergence="euclidean", scaling="classical"),
    "PatchIsomap": PatchIsomap(),
}
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
axes[0].scatter(*place.T, c=way, s=8)
axes[0].plot(*masts.T, "k^", markersize=6)
axes[0].set(title="the corridor, coloured along the walk", aspect="equal")
for ax, (name, method) in zip(axes[1:], methods.items(), strict=True):
    plot_embedding(method.fit_transform(signal), way, ax=ax)
    ax.set_title(name)

# %%
page = explore(
    signal, columns={"metres": way, "x": x, "y": y}, n_neighbors=[8, 15, 30], title="Rooms"
)
page
