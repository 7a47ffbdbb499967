"""Geodesics of the metric that a map induces, and walking distances around walls.

The metric of a map f is g = J'J, with J by central differences. Neighbours are sought among
parameters, never among images, so that no short circuit can get into the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from patchfold.graph.geodesics import shortest_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.geometry.manifold import Domain

    Floats = NDArray[np.float64]
    Map = Callable[[Floats], Floats]

# Pieces that the length of a curve is summed over.
PIECES = 20_000
# By dimension: log2 of the nodes that geodesics may pass besides the points, and their neighbours.
# In flat space, paths are longer than the straight line by 0.1, 0.5 and 2 % in the mean. The
# rank correlation with the truth from four times as many nodes is 0.9997 or more.
NODES = {2: 13, 3: 14, 4: 14}
NEIGHBORS = {2: 64, 3: 256, 4: 384}
# Neighbours under the metric are chosen from CANDIDATES times as many under its mean.
CANDIDATES = 4
# Steps of the differences, as a share of each parameter's range.
STEP = 1e-4
# Rows taken at a time, to bound memory.
ROWS = 1000
EDGES = 2000
SOURCES = 250
# Walls reach this far over their ends, in metres, so that there is no way between walls that meet.
OVERHANG = 1e-3


def arc_lengths(image: Map, parameters: Floats, domain: Domain) -> Floats:
    """Return the distances of points along a curve; the shorter way round if it is closed."""
    low, high = domain.low[0], domain.high[0]
    grid = np.linspace(low, high, PIECES + 1)
    steps = [
        np.linalg.norm(np.diff(image(grid[i : i + ROWS + 1, None]), axis=0), axis=1)
        for i in range(0, PIECES, ROWS)
    ]
    length = np.concatenate([[0.0], np.cumsum(np.concatenate(steps))])
    at = np.interp(parameters[:, 0], grid, length)
    apart = np.abs(at[:, None] - at)
    return np.minimum(apart, length[-1] - apart) if domain.periodic[0] else apart


def geodesics(image: Map, parameters: Floats, domain: Domain, **density: int) -> Floats:
    """Return the geodesic distances of all pairs of points under the metric of a map.

    The nodes of the graph are the points and a Sobol sequence that fills the domain. Each is
    joined with its nearest nodes under its own metric. An edge is as long as the image of the
    straight line between the parameters of its ends.

    Parameters
    ----------
    image : callable
        Maps parameters of shape (m, d) to points.
    parameters : array of shape (n, d)
    domain : Domain
    **density : int
        ``nodes`` and ``neighbors`` instead of those of the table for d dimensions.

    Returns
    -------
    array of shape (n, n)
    """
    n, d = parameters.shape
    low, high = np.array(domain.low), np.array(domain.high)
    filling = qmc.Sobol(d, seed=0).random_base2(density.get("nodes", NODES[d]))
    nodes = np.concatenate([parameters, low + (high - low) * filling])
    J = jacobian(image, nodes, domain)
    first, second = _edges(nodes, J, domain, density.get("neighbors", NEIGHBORS[d]))
    lengths = _lengths(image, nodes, J, first, second, domain)
    graph = coo_array((lengths, (first, second)), shape=(len(nodes), len(nodes)))
    graph = (graph + graph.T).tocsr()
    found = np.empty((n, n))
    for start in range(0, n, SOURCES):
        sources = np.arange(start, min(start + SOURCES, n))
        found[sources] = shortest_paths(graph, sources)[:, :n]
    # Sums in the two directions differ by rounding.
    return np.minimum(found, found.T)


def jacobian(image: Map, parameters: Floats, domain: Domain) -> Floats:
    """Return the derivatives of a map at each of n points: shape (n, d, m)."""
    steps = STEP * (np.array(domain.high) - domain.low)
    blocks = [parameters[start : start + ROWS] for start in range(0, len(parameters), ROWS)]
    return np.concatenate(
        [
            np.stack(
                [
                    (image(rows + step) - image(rows - step)) / (2 * step.sum())
                    for step in np.diag(steps)
                ],
                axis=1,
            )
            for rows in blocks
        ]
    )


def _edges(nodes, J, domain, k):
    """Return the two ends of edges: from each node to the k nearest under its metric."""
    g = np.einsum("nim,njm->nij", J, J)
    low, span = np.array(domain.low), np.array(domain.high) - domain.low
    # One scale for each parameter, for the tree; what differs from node to node comes after.
    scale = np.sqrt(np.mean(np.diagonal(g, axis1=1, axis2=2), axis=0))
    box = np.where(domain.periodic, span * scale, 0.0)
    inside = (nodes - low) * scale
    tree = KDTree(np.where(domain.periodic, inside % np.where(box, box, 1.0), inside), boxsize=box)
    near = np.empty((len(nodes), k), dtype=np.intp)
    for start in range(0, len(nodes), ROWS):
        rows = np.arange(start, min(start + ROWS, len(nodes)))
        candidates = tree.query(tree.data[rows], CANDIDATES * k + 1)[1][:, 1:]
        delta = _steps(nodes, rows[:, None], candidates, domain)
        lengths = np.einsum("nki,nij,nkj->nk", delta, g[rows], delta)
        order = np.argpartition(lengths, k - 1, axis=1)[:, :k]
        near[rows] = np.take_along_axis(candidates, order, axis=1)
    ends = np.column_stack([np.repeat(np.arange(len(nodes)), k), near.ravel()])
    return np.unique(np.sort(ends, axis=1), axis=0).T


def _lengths(image, nodes, J, first, second, domain):
    """Return the lengths of edges by Simpson's rule on a cubic with the same ends and slopes.

    They are never below the chord, so that no truth is; closed forms and finer graphs check it.
    """
    points = np.concatenate([image(nodes[i : i + ROWS]) for i in range(0, len(nodes), ROWS)])
    lengths = np.empty(len(first))
    for start in range(0, len(first), EDGES):
        a, b = first[start : start + EDGES], second[start : start + EDGES]
        delta = _steps(nodes, a, b, domain)[:, None]
        chord = points[b] - points[a]
        here, there = (delta @ J[a])[:, 0], (delta @ J[b])[:, 0]
        middle = 1.5 * chord - (here + there) / 4
        speeds = (np.linalg.norm(v, axis=1) for v in (here, 2 * middle, 2 * middle, there))
        lengths[start : start + EDGES] = np.maximum(sum(speeds) / 6, np.linalg.norm(chord, axis=1))
    return lengths


def _steps(nodes, first, second, domain):
    """Return the parameters of ``second`` less those of ``first``, the shorter way round."""
    span = np.array(domain.high) - domain.low
    delta = nodes[second] - nodes[first]
    return delta - np.where(domain.periodic, span * np.round(delta / span), 0.0)


def walking_distances(points: Floats, walls: Floats) -> Floats:
    """Return the lengths of the shortest ways in the plane between points, around thin walls.

    A way is straight, or goes by the ends of walls; this is exact, but for OVERHANG.

    Parameters
    ----------
    points : array of shape (n, 2)
    walls : array of shape (m, 2, 2)
        Two ends of each. There is no way between walls that meet.

    Returns
    -------
    array of shape (n, n)
    """
    along = (walls[:, 1] - walls[:, 0]) / np.linalg.norm(walls[:, 1] - walls[:, 0], axis=1)[:, None]
    walls = walls + OVERHANG * np.stack([-along, along], axis=1)
    ends = walls.reshape(-1, 2)
    between = _unless_blocked(ends, ends, walls)
    for via in range(len(ends)):  # Floyd and Warshall
        between = np.minimum(between, between[:, via, None] + between[via])
    to_ends = _unless_blocked(points, ends, walls)
    ways = np.full((len(points), len(ends)), np.inf)
    for via in range(len(ends)):
        ways = np.minimum(ways, to_ends[:, via, None] + between[via])
    found = _unless_blocked(points, points, walls)
    for via in range(len(ends)):
        found = np.minimum(found, ways[:, via, None] + to_ends[:, via])
    return np.minimum(found, found.T)


def crossed(a: Floats, b: Floats, wall: Floats) -> NDArray[np.bool_]:
    """Return which of the lines from each of ``a`` to each of ``b`` a wall crosses: (n, m).

    What only touches the wall, or its end, does not cross.
    """
    p, q = wall
    a_side, b_side = _side(a, p, q)[:, None], _side(b, p, q)[None]
    tolerance = 1e-9 * np.linalg.norm(q - p)
    apart = (a_side * b_side < 0) & (np.minimum(np.abs(a_side), np.abs(b_side)) > tolerance)
    line = b[None] - a[:, None]
    p_side = _cross(line, p - a[:, None])
    q_side = _cross(line, q - a[:, None])
    length = np.linalg.norm(line, axis=2)
    beyond = np.minimum(np.abs(p_side), np.abs(q_side)) <= 1e-9 * length
    return apart & (p_side * q_side < 0) & ~beyond


def _side(points, p, q):
    return _cross(q - p, points - p)


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _unless_blocked(a, b, walls):
    blocked = np.zeros((len(a), len(b)), dtype=bool)
    for wall in walls:
        blocked |= crossed(a, b, wall)
    return np.where(blocked, np.inf, cdist(a, b))
