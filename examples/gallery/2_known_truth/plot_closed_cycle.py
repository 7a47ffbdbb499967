"""
A trajectory that closes
========================

A van der Pol oscillator runs round its limit cycle. Eight sensors measure its state, with a
nonlinear response and some noise. The truth is a closed curve, coloured by phase, so the map must
close, too.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from patchfold import PatchEigenmaps, PatchIsomap, explore
from patchfold.plotting import plot_embedding

rng = np.random.default_rng(0)


def motion(_, state):
    """Return the velocity of the oscillator."""
    x, v = state
    return v, 3 * (1 - x**2) * v - x


times = np.linspace(60, 60 + 4 * 8.86, 600)  # four rounds
path = solve_ivp(motion, (0, times[-1]), (1, 0), t_eval=times, rtol=1e-8).y.T
sensors = np.tanh(path @ rng.normal(size=(2, 8)) / 2)
X = sensors + rng.normal(0, 0.03, sensors.shape)
phase = (times - times[0]) % 8.86 / 8.86

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, method in zip(axes, (PatchIsomap(), PatchEigenmaps()), strict=True):
    plot_embedding(method.fit_transform(X), phase, cmap="twilight", ax=ax)
    ax.set_title(type(method).__name__)

# %%
page = explore(
    X, columns={"phase": phase, "time": times}, n_neighbors=[8, 15], title="A limit cycle"
)
page
