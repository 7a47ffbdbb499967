"""An order of points in which near ones follow each other, by sorts alone."""

from __future__ import annotations

import torch
from torch import Tensor

# Directions in which points are halved: those in which they spread most, about.
DIRECTIONS = 16

# Products with the data that turn random directions towards those.
ROUNDS = 3


def blocks(X: Tensor, size: int) -> Tensor:
    """Return the rows in blocks of near ones, at most ``size`` each, as rows of a table.

    The table has a power of two blocks; empty places hold -1. Two neighbouring blocks are halves of
    one part, which is a half itself, so that 2, 4, 8 ... following blocks are near each other, too.

    Examples
    --------
    >>> blocks(torch.tensor([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2)
    tensor([[ 0, -1],
            [ 2,  4],
            [ 3, -1],
            [ 1, -1]])
    """
    n = len(X)
    levels = max(0, -(-n // size) - 1).bit_length()
    filled = -(-n // 2**levels) << levels
    # Empty places are copies of rows spread over the data, so that parts are equally large.
    spread = torch.arange(filled - n, device=X.device) * n // max(filled - n, 1)
    rows = torch.cat((torch.arange(n, device=X.device), spread))
    copied = torch.arange(filled, device=X.device) >= n
    seen = _seen(X)
    for level in range(levels):
        parts = seen[rows].view(2**level, -1, seen.shape[1])
        widest = (parts.amax(1) - parts.amin(1)).argmax(1)
        values = parts.gather(2, widest[:, None, None].expand(-1, parts.shape[1], 1))[..., 0]
        places = values.argsort(dim=1, stable=True)
        rows = rows.view(2**level, -1).gather(1, places).flatten()
        copied = copied.view(2**level, -1).gather(1, places).flatten()
    return rows.masked_fill_(copied, -1).view(2**levels, -1)


def _seen(X: Tensor) -> Tensor:
    """Return the coordinates of rows in a few directions in which they spread."""
    X = X.float()
    if X.shape[1] <= DIRECTIONS:
        return X
    X = X - X.mean(0)
    start = torch.Generator().manual_seed(0)
    found = torch.randn(X.shape[1], DIRECTIONS, generator=start).to(X.device)
    for _ in range(ROUNDS):
        found = torch.linalg.qr(X.T @ (X @ found)).Q
    return X @ found
