"""Small random graphs as plain lists and dictionaries, for the loops of ``slow_reference``."""

from __future__ import annotations

import numpy as np

from patchfold.graph.edges import symmetric
from patchfold.neighbors.neighborhoods import Neighborhoods


def as_rows(near):
    """Turn neighbourhoods into one list of (length, index) a row."""
    return [
        list(zip(near.distances[a:b].tolist(), near.indices[a:b].tolist(), strict=True))
        for a, b in zip(near.indptr[:-1], near.indptr[1:], strict=True)
    ]


def as_neighborhoods(rows):
    edges = [(i, j, length) for i, row in enumerate(rows) for length, j in row]
    i, j, lengths = zip(*edges, strict=True) if edges else ((), (), ())
    return Neighborhoods.from_edges(
        np.array(i, dtype=np.intp), np.array(j, dtype=np.intp), np.array(lengths), len(rows)
    )


def ragged(rng, n, most):
    """Draw neighbourhoods of any degree from 0 to ``most``, some lengths equal, some zero."""
    return [
        sorted((float(rng.integers(0, 4)), int(j)) for j in rng.permutation(others)[:degree])
        for i, degree in enumerate(rng.integers(0, most + 1, n))
        for others in [[j for j in range(n) if j != i]]
    ]


def random_edges(rng, n, share):
    """Draw a graph as a dictionary of pairs, a third of its lengths zero."""
    return {
        (i, j): float(rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 1)]))
        for i in range(n)
        for j in range(i + 1, n)
        if rng.uniform() < share
    }


def as_graph(edges, n):
    i, j = np.array(list(edges), dtype=np.intp).reshape(-1, 2).T
    return symmetric(i, j, np.array(list(edges.values())), n)


def random_graph(rng, n, n_edges, *, whole=False, dtype=np.float64):
    """Edges between random points, each pair once; whole lengths have ties and zeros."""
    code = np.unique(rng.integers(0, n * n, n_edges))
    i, j = code // n, code % n
    once = i < j
    lengths = rng.integers(0, 3, once.sum()) if whole else rng.exponential(size=once.sum())
    return symmetric(i[once], j[once], lengths.astype(dtype), n)


def path(lengths):
    i = np.arange(len(lengths))
    return symmetric(i, i + 1, lengths, len(lengths) + 1)
