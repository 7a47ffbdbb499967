"""Bottom eigenvectors of a sparse matrix on a device, by products alone.

A polynomial of Chebyshev is small on most of the spectrum and grows fast below it. So the bottom
eigenvectors of a matrix are the leading ones of the polynomial of it, and far apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from patchfold.base.arrays import to_numpy
from patchfold.gpu.devices import graph_on, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array
    from torch import Tensor

    from patchfold.base.types import Floats

# Degrees of the polynomial, one after the other until one is enough. A degree m tells eigenvalues
# apart down to about GROWTH / m^2 of the largest.
DEGREES = (32, 128, 512, 2048)

# At zero the polynomial is about cosh(2 GROWTH), beside 1 on the rest of the spectrum.
GROWTH = 3.0


class Filtered:
    """A sparse symmetric matrix ``M`` on a device, without known eigenvectors, and its filters."""

    def __init__(self, M: csr_array, known: Floats, device: str) -> None:
        self.starts, self.ends, self.entries = graph_on(M.astype(np.float64), device)
        self.known = put(np.ascontiguousarray(known), device)
        self.largest = float(abs(M).sum(axis=1).max())  # no eigenvalue is larger

    def random(self, width: int) -> Tensor:
        """Return random vectors, always the same ones."""
        random = np.random.default_rng(0).standard_normal((len(self.starts) - 1, width))
        return self.without_known(put(random, self.known.device))

    def product(self, V: Tensor) -> Tensor:
        """Return ``M V``; every row is summed in order, so that two runs give the same bits."""
        terms = self.entries[:, None] * V[self.ends]
        return torch.segment_reduce(terms, "sum", offsets=self.starts, axis=0, unsafe=True)

    def without_known(self, V: Tensor) -> Tensor:
        """Return vectors without their parts along the known eigenvectors."""
        return V - self.known @ (self.known.T @ V)

    def filter(self, degree: int) -> Callable[[Tensor], Tensor]:
        """Return what multiplies vectors by the polynomial of ``M``."""
        high = self.largest
        low = high * (GROWTH / degree) ** 2
        size = float(np.cosh(degree * np.arccosh((high + low) / (high - low))))

        def scaled(V: Tensor) -> Tensor:
            return ((high + low) * V - 2 * self.product(V)) / (high - low)

        def filtered(V: Tensor) -> Tensor:
            before, now = V, scaled(V)
            for _ in range(degree - 1):
                before, now = now, 2 * scaled(now) - before
            return self.without_known(now / size)

        return filtered

    def pairs(self, V: Tensor) -> tuple[Floats, Floats, float]:
        """Return the eigenpairs of ``M`` in the span of vectors, and their largest residual."""
        basis = torch.linalg.qr(V)[0]
        image = self.product(basis)
        inner = basis.T @ image
        values, turn = torch.linalg.eigh((inner + inner.T) / 2)
        vectors = basis @ turn
        off = torch.linalg.vector_norm(image @ turn - vectors * values, dim=0)
        return to_numpy(values), to_numpy(vectors), float(off.max())
