"""
Images of a turning digit
=========================

One handwritten 5, turned in steps of one degree, with noise added: 360 images of 64 pixels. The
truth is a circle, coloured by the angle.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, rotate
from sklearn.datasets import load_digits

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

rng = np.random.default_rng(0)
five = load_digits().images[5] / 16
angles = np.arange(360)
images = np.stack([gaussian_filter(rotate(five, a, reshape=False, order=1), 0.5) for a in angles])
noisy = images + rng.normal(0, 0.08, images.shape)
X = noisy.reshape(360, -1)

fig = plt.figure(figsize=(11, 4.2), layout="constrained")
grid = fig.add_gridspec(2, 5, width_ratios=[1, 1, 1, 1, 4])
for place, angle in enumerate(range(0, 360, 45)):
    ax = fig.add_subplot(grid[place // 4, place % 4])
    ax.imshow(noisy[angle], cmap="gray_r")
    ax.set_title(f"{angle}°", fontsize=9)
    ax.axis("off")
ax = fig.add_subplot(grid[:, 4])
plot_embedding(PatchIsomap().fit_transform(X), angles, cmap="twilight", ax=ax)

# %%
page = explore(X, columns={"angle": angles}, n_neighbors=[6, 10, 15], title="A turning digit")
page
