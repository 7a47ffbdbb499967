"""ORC-ManL: remove edges of negative Ollivier-Ricci curvature that have a long way around.

The curvature of the edge ``(x, y)`` is ``1 - W(m_x, m_y)``. ``m_x`` is uniform on the neighbours
of ``x`` without ``y``, ``m_y`` on those of ``y`` without ``x``, and ``W`` is the cost of optimal
transport where every edge has length one. Curvature lies between -2 and 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import kneighbors_graph

# The authors' values for all ten kinds of data; one of their maps takes delta = 0.75.
DELTA, LAMBDA = 0.8, 0.01
# No two neighbours of the ends of an edge are further apart: one, the ends, the other.
FURTHEST = 3
# Rows of shortest paths at a time, to bound memory.
BLOCK = 500
_FAR = 1 << 60


def neighbor_graph(X, k):
    """Return the symmetric graph of the k nearest neighbours, with distances as lengths."""
    directed = csr_array(kneighbors_graph(X, k, mode="distance"))
    graph = csr_array(directed.maximum(directed.T))
    graph.sort_indices()
    return graph


def edges_of(graph):
    """Return the ends ``i < j`` of all edges, and their lengths."""
    upper = graph.tocoo()
    once = upper.row < upper.col
    ends = upper.row[once].astype(np.intp), upper.col[once].astype(np.intp)
    return *ends, upper.data[once]


def curvatures(graph, i, j):
    """Return the Ollivier-Ricci curvatures of edges, by exact optimal transport."""
    starts, members = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    return _curvatures(starts, members, hops(graph), i.astype(np.int64), j.astype(np.int64))


def hops(graph):
    """Return the number of edges between all pairs, at most FURTHEST."""
    n = graph.shape[0]
    pattern = csr_array((np.ones(graph.nnz, dtype=np.int32), graph.indices, graph.indptr), (n, n))
    counts = np.full((n, n), FURTHEST, dtype=np.uint8)
    for reached, steps in ((pattern @ pattern, 2), (pattern, 1)):
        counts[reached.nonzero()] = steps
    np.fill_diagonal(counts, 0)
    return counts


def scales(graph, i, j, k):
    """Return epsilon of every edge: the larger mean distance of its ends to k neighbours."""
    means = np.array(
        [
            np.sort(graph.data[start:stop])[:k].mean()
            for start, stop in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
        ]
    )
    return np.maximum(means[i], means[j])


def pruned(graph, k, delta=DELTA, lam=LAMBDA):
    """Tell which edges ORC-ManL removes.

    An edge is a candidate if its curvature is below ``-1 + 4 (1 - delta)``. A candidate is removed
    if the way around it, through edges that are no candidates, is longer than
    ``(1 - lambda) pi^2 / (2 sqrt(24 lambda))`` times epsilon, or if there is none. A point that
    has only candidates keeps them.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        The symmetric graph of distances.
    k : int
    delta, lam : float

    Returns
    -------
    removed : array of bool of shape (n_edges,)
        In the order of :func:`edges_of`.
    curvature : array of shape (n_edges,)
    """
    i, j, lengths = edges_of(graph)
    curvature = curvatures(graph, i, j)
    candidate = curvature < -1 + 4 * (1 - delta)
    limits = scales(graph, i, j, k) * (1 - lam) * np.pi**2 / (2 * np.sqrt(24 * lam))
    rest = with_edges(i[~candidate], j[~candidate], lengths[~candidate], graph.shape[0])
    lonely = np.diff(rest.indptr) == 0
    rows = np.flatnonzero(candidate & ~lonely[i] & ~lonely[j])
    removed = np.zeros(len(i), dtype=bool)
    removed[rows] = ways(rest, i[rows], j[rows], limits[rows]) > limits[rows]
    return removed, curvature


def with_edges(i, j, lengths, n):
    """Return the symmetric graph of edges."""
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    graph = csr_array((np.concatenate([lengths, lengths]), ends), shape=(n, n))
    graph.sort_indices()
    return graph


def ways(graph, i, j, limits):
    """Return the lengths of the shortest paths between pairs, infinite beyond all limits."""
    found = np.empty(len(i))
    sources, places = np.unique(i, return_inverse=True)
    for start in range(0, len(sources), BLOCK):
        here = np.flatnonzero((places >= start) & (places < start + BLOCK))
        paths = dijkstra(
            graph,
            directed=False,
            indices=sources[start : start + BLOCK],
            limit=float(limits[here].max()),
        )
        found[here] = paths[places[here] - start, j[here]]
    return found


@njit(cache=False)
def _curvatures(starts, members, steps, i, j):
    values = np.empty(len(i))
    for edge in range(len(i)):
        x, y = i[edge], j[edge]
        near_x = _others(starts, members, x, y)
        near_y = _others(starts, members, y, x)
        a, b = len(near_x), len(near_y)
        # In units of 1 / (a b). Mass that both measures have stays where it is: rows are sorted.
        supply, demand = np.full(a, b), np.full(b, a)
        p = q = 0
        while p < a and q < b:
            if near_x[p] == near_y[q]:
                stays = min(a, b)
                supply[p] -= stays
                demand[q] -= stays
                p += 1
                q += 1
            elif near_x[p] < near_y[q]:
                p += 1
            else:
                q += 1
        sources, sinks = np.flatnonzero(supply), np.flatnonzero(demand)
        costs = np.empty((len(sources), len(sinks)), dtype=np.int64)
        for s in range(len(sources)):
            for t in range(len(sinks)):
                costs[s, t] = steps[near_x[sources[s]], near_y[sinks[t]]]
        values[edge] = 1.0 - transport(costs, supply[sources], demand[sinks]) / (a * b)
    return values


@njit(cache=False)
def _others(starts, members, x, y):
    """Return the neighbours of x but y; x itself where it has no other."""
    near = members[starts[x] : starts[x + 1]]
    near = near[near != y]
    return near if len(near) else np.array([x])


@njit(cache=False)
def transport(costs, supply, demand):
    """Return the least cost of moving all supply to the demand, by shortest augmenting paths.

    All numbers are integers, and the result is exact. Supply and demand are used up.
    """
    m, n = costs.shape
    flow = np.zeros((m, n), dtype=np.int64)
    prices = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
    distances = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    before = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    done = np.empty(n, dtype=np.bool_)
    left = supply.sum()
    while left > 0:
        last = _nearest(costs, flow, supply, demand, prices, distances, before, done)
        length = distances[1][last]
        for s in range(m):
            if distances[0][s] < length:
                prices[0][s] += length - distances[0][s]
        for t in range(n):
            if done[t]:
                prices[1][t] -= length - distances[1][t]
        left -= _augment(last, flow, supply, demand, before)
    return (flow * costs).sum()


@njit(cache=False)
def _nearest(costs, flow, supply, demand, prices, distances, before, done):
    """Return the sink with a demand that is nearest to a source with a supply (Dijkstra)."""
    m, n = costs.shape
    distances[1][:] = _FAR
    done[:] = False
    for s in range(m):
        distances[0][s] = _FAR
        if supply[s] > 0:
            distances[0][s], before[0][s] = 0, -1
            _reach(s, costs, prices, distances, before, done)
    while True:
        nearest = -1
        for t in range(n):
            if not done[t] and (nearest < 0 or distances[1][t] < distances[1][nearest]):
                nearest = t
        if demand[nearest] > 0:
            return nearest
        done[nearest] = True
        for s in range(m):
            if flow[s, nearest] > 0 and distances[0][s] == _FAR:
                distances[0][s], before[0][s] = distances[1][nearest], nearest
                _reach(s, costs, prices, distances, before, done)


@njit(cache=False)
def _reach(s, costs, prices, distances, before, done):
    """Shorten the distances of sinks by the edges of a source."""
    for t in range(costs.shape[1]):
        if not done[t]:
            way = distances[0][s] + costs[s, t] - prices[0][s] - prices[1][t]
            if way < distances[1][t]:
                distances[1][t], before[1][t] = way, s


@njit(cache=False)
def _augment(last, flow, supply, demand, before):
    """Send as much as fits along the path that was found, and return how much that is."""
    amount, t = demand[last], last
    while True:
        s = before[1][t]
        t = before[0][s]
        if t < 0:
            break
        amount = min(amount, flow[s, t])
    amount = min(amount, supply[s])
    supply[s] -= amount
    demand[last] -= amount
    t = last
    while t >= 0:
        s = before[1][t]
        flow[s, t] += amount
        t = before[0][s]
        if t >= 0:
            flow[s, t] -= amount
    return amount
