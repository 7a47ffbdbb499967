"""
Wine, a table in different units
================================

178 wines from three growers, 13 measurements in different units. So we standardise the columns
first. The map shows three groups in a row: the second grower stands between the others. A few of
its wines lie far out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from patchfold import PatchIsomap, explore
from patchfold.plotting import plot_embedding

wine = load_wine(as_frame=True)
grower = np.array(["grower 1", "grower 2", "grower 3"])[wine.target]

chain = make_pipeline(StandardScaler(), PatchIsomap())
plane = chain.fit_transform(wine.data)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
plot_embedding(plane, grower, ax=axes[0])
axes[0].set_title("by grower")
plot_embedding(plane, wine.data["alcohol"], ax=axes[1])
axes[1].set_title("by alcohol, % of volume")

# %%
# The map comes from the standardised columns. The page also shows the columns as measured.
scaled = StandardScaler().fit_transform(wine.data)
columns = {"grower": grower, **{f"{name} (measured)": wine.data[name] for name in wine.data}}
names = list(wine.data)
page = explore(scaled, columns=columns, feature_names=names, n_neighbors=[10, 15, 30], title="Wine")
page
