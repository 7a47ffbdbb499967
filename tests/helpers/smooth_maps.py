"""Points, values that vary smoothly over them, and new points, for the tests of maps."""

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
NEW = RNG.normal(size=(20, 3))


def problem(seed, n=25, n_features=3, n_new=7):
    """Return random points, values that vary smoothly over them, and new points."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, n_features))
    values = np.column_stack([np.sin(points[:, 0]), points.sum(axis=1)])
    return points, values + 0.1 * rng.normal(size=(n, 2)), rng.normal(size=(n_new, n_features))
