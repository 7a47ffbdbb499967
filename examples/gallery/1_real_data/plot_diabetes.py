"""
Diabetes, where a number is the target
======================================

442 patients, ten measurements, and how far the disease progressed in a year. Sex has two values, so
the map has two sheets. The colours show whether the target follows the map at all.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

data = load_diabetes(as_frame=True)
plane = PatchIsomap().fit_transform(data.data)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot_embedding(plane, data.target, ax=axes[0])
axes[0].set_title("progression of the disease")
plot_embedding(plane, data.data["bmi"], ax=axes[1])
axes[1].set_title("body mass index, standardised")

# %%
page = explore(
    data.data, data.target.rename("progression"), n_neighbors=[10, 15, 30], title="Diabetes"
)
page
