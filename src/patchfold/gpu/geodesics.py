"""Geodesics on tensors, by relaxation to the fixed point.

A path's length is the sum of its edges in order, in float64. Rounded addition is monotone, so that
the least over all paths does not depend on how it is found: bits are those of
:mod:`patchfold.graph.geodesics`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Bytes that a sweep works in at a time.
SWEEP_BYTES = 2**26


def shortest_paths(
    indptr: Tensor,
    indices: Tensor,
    lengths: Tensor,
    sources: Tensor,
    *,
    order: Tensor | None = None,
) -> Tensor:
    """Return the lengths of the shortest paths from the sources to all points.

    Parameters
    ----------
    indptr, indices, lengths : Tensor
        A symmetric graph in compressed rows; lengths finite and not negative, zeros are edges.
    sources : Tensor of shape (n_sources,)
    order : Tensor of shape (n,), optional
        The points in an order in which near ones follow each other. No bit depends on it.

    Returns
    -------
    Tensor of shape (n_sources, n), infinite where there is no path
        float32 for float32 lengths, rounded once, after the sums; float64 otherwise.
    """
    dtype = torch.float32 if lengths.dtype == torch.float32 else torch.float64
    n = len(indptr) - 1
    result = torch.empty((len(sources), n), dtype=dtype, device=lengths.device)
    step = max(1, SWEEP_BYTES // (16 * max(len(indices), 1)))
    for start in range(0, len(sources), step):
        part = slice(start, start + step)
        result[part] = _by_sweeps(indptr, indices, lengths.double(), sources[part])
    return result


def _by_sweeps(indptr: Tensor, indices: Tensor, lengths: Tensor, sources: Tensor) -> Tensor:
    """Relax all edges until nothing changes."""
    n = len(indptr) - 1
    far = torch.full((len(sources), n), math.inf, dtype=torch.float64, device=lengths.device)
    far.scatter_(1, sources[:, None], 0.0)
    ends = torch.repeat_interleave(torch.arange(n, device=lengths.device), indptr.diff())
    ends = ends.expand(len(sources), -1)
    while True:
        through = far[:, indices] + lengths
        improved = far.scatter_reduce(1, ends, through, "amin")
        if torch.equal(improved, far):
            return far
        far = improved
