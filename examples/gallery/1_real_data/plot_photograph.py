"""
Pieces of a photograph
======================

600 pieces of 6 x 6 pixels from a photograph of a temple, each with 108 numbers. The map
orders them from sky to shadow. Each dot has the mean colour of its piece.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from patchfold import PatchIsomap, explore

photograph = load_sample_image("china.jpg") / 255
pieces = extract_patches_2d(photograph, (6, 6), max_patches=600, random_state=0)
X = pieces.reshape(len(pieces), -1)
colors = pieces.mean(axis=(1, 2))
plane = PatchIsomap().fit_transform(X)

fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].imshow(photograph)
axes[0].axis("off")
axes[1].scatter(*plane.T, c=colors, s=22, edgecolors="#64748b", linewidths=0.3)
axes[1].set(xlabel="component 0", ylabel="component 1", aspect="equal")

# %%
known = {"brightness": X.mean(axis=1), "contrast": X.std(axis=1), "blue": colors[:, 2]}
page = explore(
    X, columns=known, ids=np.arange(len(X)), n_neighbors=[10, 20], title="Pieces of a photograph"
)
page
