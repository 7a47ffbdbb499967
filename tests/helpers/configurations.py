"""Random points and rotations for the tests of measures."""

import numpy as np


def configuration(n, seed, m=4):
    return np.random.default_rng(seed).standard_normal((n, m))


def rotation(m, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((m, m)))[0]
