"""Neighbour searches: exact, radius and approximate, behind one small protocol.

A search is built on points and then answers for those points, or for new ones. Neighbours are
sorted by (distance, index).
"""

from patchfold.neighbors.approximate import ApproximateNeighbors
from patchfold.neighbors.exact import ExactNeighbors, RadiusNeighbors
from patchfold.neighbors.given import GivenNeighbors, TransformerNeighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.neighbors.protocol import GraphTransformer, NeighborSearch
from patchfold.neighbors.search import (
    DEFAULT_NEIGHBORS,
    SharedNeighbors,
    find_neighbors,
    neighbor_search,
)

__all__ = [
    "DEFAULT_NEIGHBORS",
    "ApproximateNeighbors",
    "ExactNeighbors",
    "GivenNeighbors",
    "GraphTransformer",
    "NeighborSearch",
    "Neighborhoods",
    "RadiusNeighbors",
    "SharedNeighbors",
    "TransformerNeighbors",
    "find_neighbors",
    "neighbor_search",
]
