"""The fitted Gaussians: one mean and one covariance per point, factored or in full.

A covariance of rank below the number of features is never written out: it is kept as orthonormal
directions, their variances and a ridge.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from patchfold.base.arrays import Array, promoted, taken, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Floats, Indices
    from patchfold.patches.sample import Sample

# Given covariances may be asymmetric, and given directions deviate from orthonormal ones, by this
# many root-eps. More is no rounding but an error of the caller.
GIVEN_TOLERANCE = 8.0

# Directions that are orthonormal up to ORTHONORMAL eps are not changed.
ORTHONORMAL = 100.0


class Patches:
    r"""Gaussians fitted to neighbourhoods: one mean and one covariance per point.

    A covariance is held in one of two forms:

    - factored, ``ridge I + Q diag(variances) Q'`` with ``r < m`` orthonormal columns in ``Q``
      (columns without variance may be zero);
    - full, as a triangular root ``L`` with ``Sigma = L L'``, and the inverse of ``L``.

    Make one with :meth:`GaussianPatch.fit`, :meth:`from_moments` or :meth:`from_factors`. Arrays
    may be of numpy or of any other array namespace. Indexing by an integer, a slice, an array of
    integers or a mask gives :class:`Patches` again.

    A subclass adds arrays to :attr:`FIELDS`, and gets its own kind back from all this.

    Attributes
    ----------
    means : array of shape (n, m)
    points : array of shape (n, m)
        The points that the patches belong to; the means if no points are known.
    directions, variances, ridge : arrays of shape (n, m, r), (n, r), (n,), or None
        The factored form.
    roots, whiteners : arrays of shape (n, m, m), or None
        The full form.
    sample : Sample or None
        The data that the patches were fitted to; None for patches of given moments or of new
        points.

    Examples
    --------
    >>> import numpy as np
    >>> patches = Patches.from_moments(np.zeros((2, 3)), np.stack([np.eye(3), 2 * np.eye(3)]))
    >>> patches
    Patches(n=2, features=3, full)
    >>> patches[1].covariances()[0].diagonal().round(6)
    array([2., 2., 2.])
    """

    # Arrays with one row a patch, or None. A model of a patch that knows more has more of them.
    FIELDS: tuple[str, ...] = (
        "means",
        "points",
        "directions",
        "variances",
        "ridge",
        "roots",
        "whiteners",
    )

    def __init__(
        self,
        means: Array,
        points: Array,
        *,
        directions: Array = None,
        variances: Array = None,
        ridge: Array = None,
        roots: Array = None,
        whiteners: Array = None,
        sample: Sample | None = None,
    ) -> None:
        self.means = means
        self.points = points
        self.directions = directions
        self.variances = variances
        self.ridge = ridge
        self.roots = roots
        self.whiteners = whiteners
        self.sample = sample

    @classmethod
    def from_moments(cls, means: Array, covariances: Array) -> Patches:
        """Build patches from means (n, m) and positive definite covariances (n, m, m)."""
        means, covariances = promoted(means=means, covariances=covariances)
        xp = array_namespace(means)
        n, m = _shape_of(means)
        _check_array("covariances", covariances, (n, m, m))
        scale = xp.sqrt(xp.abs(xp.linalg.diagonal(covariances)))
        bound = GIVEN_TOLERANCE * float(xp.finfo(covariances.dtype).eps) ** 0.5
        skew = xp.abs(covariances - xp.matrix_transpose(covariances))
        if bool(xp.any(skew > bound * scale[:, :, None] * scale[:, None, :])):
            raise ValueError("covariances are not symmetric; check them, or pass (S + S.T) / 2.")
        roots = _cholesky(covariances, scale)
        return cls(means, means, roots=roots, whiteners=_inverse(roots))

    @classmethod
    def from_factors(
        cls, means: Array, directions: Array, variances: Array, ridge: Array
    ) -> Patches:
        """Build patches with the covariances ``ridge I + Q diag(variances) Q'``.

        Shapes: means (n, m); directions ``Q`` (n, m, r), orthonormal columns (or zero where there
        is no variance), ``r < m``; variances (n, r), not negative; ridge (n,), positive.
        Directions that are orthonormal only to half the digits are made orthonormal.
        """
        means, directions, variances, ridge = promoted(
            means=means, directions=directions, variances=variances, ridge=ridge
        )
        xp = array_namespace(means)
        n, m = _shape_of(means)
        r = int(directions.shape[-1]) if directions.ndim == 3 else 0
        _check_array("directions", directions, (n, m, r))
        _check_array("variances", variances, (n, r))
        _check_array("ridge", ridge, (n,))
        if r >= m:
            raise ValueError(
                f"directions has {r} columns for {m} features, the factored form needs fewer; "
                "use Patches.from_moments for full covariances."
            )
        if bool(xp.any(ridge <= 0)) or bool(xp.any(variances < 0)):
            raise ValueError(
                "ridge must be positive and variances must not be negative, in every patch."
            )
        gram = xp.matrix_transpose(directions) @ directions
        # A direction without variance may have length zero.
        unit = xp.where(variances > 0, 1.0, xp.clip(xp.linalg.diagonal(gram), max=1.0))
        identity = xp.eye(r, dtype=gram.dtype, device=device(gram))
        error = xp.abs(gram - identity * unit[:, None, :])
        if bool(xp.any(error > GIVEN_TOLERANCE * float(xp.finfo(gram.dtype).eps) ** 0.5)):
            raise ValueError(
                "the columns of directions are not orthonormal; pass the Q of a QR decomposition."
            )
        exact = identity * xp.round(xp.linalg.diagonal(gram))[:, None, :]
        if bool(xp.any(xp.abs(gram - exact) > ORTHONORMAL * float(xp.finfo(gram.dtype).eps))):
            spread = directions * xp.sqrt(variances)[:, None, :]
            directions, roots, _ = xp.linalg.svd(spread, full_matrices=False)
            variances = roots**2
        return cls(means, means, directions=directions, variances=variances, ridge=ridge)

    @classmethod
    def concatenated(cls, parts: list[Patches]) -> Patches:
        """Return the patches of several fits of one GaussianPatch, one after the other.

        Those with fewer directions get some of length zero, without variance.

        Examples
        --------
        >>> import numpy as np
        >>> one = Patches.from_factors([[0.0, 0.0]], [[[1.0], [0.0]]], [[2.0]], [0.5])
        >>> len(Patches.concatenated([one, one, one]))
        3
        """
        if parts[0].factored:
            rank = max(int(part.directions.shape[2]) for part in parts)
            parts = [_widened(part, rank) for part in parts]
        xp = array_namespace(parts[0].means)
        kind = type(parts[0])
        columns = {name: [getattr(part, name) for part in parts] for name in kind.FIELDS}
        fields = {k: None if v[0] is None else xp.concat(v) for k, v in columns.items()}
        return kind(**fields)

    @property
    def factored(self) -> bool:
        """Whether the covariances are kept as directions, variances and a ridge."""
        return self.directions is not None

    @property
    def n_features(self) -> int:
        """Number of features ``m``."""
        return int(self.means.shape[1])

    def covariances(self) -> Array:
        """Return the full covariances: one array of shape (n, m, m)."""
        xp = array_namespace(self.means)
        if not self.factored:
            return self.roots @ xp.matrix_transpose(self.roots)
        spread = self.directions * xp.sqrt(self.variances)[:, None, :]
        identity = xp.eye(self.n_features, dtype=spread.dtype, device=device(spread))
        return self.ridge[:, None, None] * identity + spread @ xp.matrix_transpose(spread)

    def dimension(self, n_jobs: int | None = None) -> Floats:
        """Return the intrinsic dimension of the data at every patch.

        The estimator is the expected simplex skewness of the patch's points, as they were given,
        before denoising (Johnsson, Soneson and Fontes, IEEE PAMI 37, 2015): from their mean, two
        points of a patch are seen under an angle whose sine is the nearer to 1 the more dimensions
        the patch has. It does not round, and noise as wide as the patch counts as a dimension. A
        patch has few points: single values scatter, their mean or median over a region does not.
        0 where all points of a patch are equal; at most the number of features.

        Parameters
        ----------
        n_jobs : int or None
            Number of threads. The result does not depend on it.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> from sklearn.datasets import make_swiss_roll
        >>> from patchfold import GaussianPatch
        >>> X, _ = make_swiss_roll(1000, random_state=0)
        >>> round(float(GaussianPatch().fit(X).dimension().mean()), 1)
        2.0
        """
        return self._sampled("dimension").dimension(n_jobs)

    def log_density(self, dimension: float | None = None, n_jobs: int | None = None) -> Floats:
        """Return the natural logarithm of the density of the data at every patch.

        The density is that in the manifold: the share of the data per unit of ``dimension``-volume,
        in units of the features. So it falls by ``d log(2)`` if the data are given in a unit half
        as large. It is estimated from the distance to the farthest of a patch's ``k`` points, and
        its logarithm has no bias where the density is even; its standard deviation is about
        ``1 / sqrt(k)``. Infinite where all points of a patch are equal, and minus infinity for a
        patch without neighbours (with a radius).

        Parameters
        ----------
        dimension : float or None
            Dimension of the manifold, the same for all patches: densities of different dimensions
            cannot be compared. None takes the median of :meth:`dimension` over the patches at
            hand, as a whole number.
        n_jobs : int or None
            Number of threads. The result does not depend on it.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> from patchfold import GaussianPatch
        >>> patches = GaussianPatch().fit(np.random.default_rng(0).uniform(0, 2, (4000, 2)))
        >>> round(float(np.median(patches.log_density())), 1)  # even on a square of area 4
        -1.4
        """
        sample = self._sampled("log_density")
        if dimension is None:
            dimension = max(1, round(float(np.median(sample.dimension(n_jobs)))))
        return sample.log_density(dimension)

    def __len__(self) -> int:
        return int(self.means.shape[0])

    def __getitem__(self, key: Any) -> Self:
        if isinstance(key, slice):
            return self._map(lambda field: field[key, ...], np.arange(len(self))[key])
        rows = np.asarray(key) if np.size(key) else np.empty(0, dtype=np.intp)
        if isinstance(key, Integral) and not -len(self) <= int(key) < len(self):
            raise IndexError(f"patch {key} is out of range, there are {len(self)} patches.")
        if rows.ndim > 1 or (rows.ndim == 0 and rows.dtype == bool):
            raise IndexError(
                f"patches are indexed along one axis, got an index of shape {rows.shape}."
            )
        rows = np.atleast_1d(np.arange(len(self))[rows])
        if isinstance(key, Integral):
            return self[int(rows[0]) : int(rows[0]) + 1]
        if is_numpy_array(self.means):
            return self._map(lambda field: field[rows], rows)  # keeps the order of axes in memory
        return self._map(lambda field: taken(field, rows), rows)

    def used_ranks(self) -> Indices:
        """Count the directions of factored patches up to the last with variance, at least one."""
        return used_ranks(self.variances)

    def narrowed(self, rank: int) -> Self:
        """Return factored patches with only their leading ``rank`` directions."""
        rank = min(rank, int(self.directions.shape[2]))
        return self.replaced(
            directions=self.directions[:, :, :rank], variances=self.variances[:, :rank]
        )

    def __repr__(self) -> str:
        form = f"rank {self.directions.shape[2]} + ridge" if self.factored else "full"
        return f"{type(self).__name__}(n={len(self)}, features={self.n_features}, {form})"

    def fitted_to(self, sample: Sample) -> Self:
        """Return the same patches, which know the data that they were fitted to."""
        return self.replaced(sample=sample)

    def replaced(self, **fields: Any) -> Self:
        """Return the same patches with some fields replaced; they no longer know their data."""
        known = {name: getattr(self, name) for name in self.FIELDS}
        return type(self)(**(known | fields))

    def mapped(self, function: Callable[[Array], Array]) -> Self:
        """Return the same patches in other arrays, each made by a function."""
        return self._map(function, np.arange(len(self)))

    def _sampled(self, asked: str) -> Sample:
        if self.sample is None:
            raise ValueError(
                f"{asked} needs the data that patches were fitted to, and these patches are of "
                "given moments or of new points; use those of GaussianPatch().fit(X) or of a "
                "fitted estimator."
            )
        return self.sample

    def _map(self, function: Callable[[Array], Array], rows: Indices) -> Self:
        fields = {name: getattr(self, name) for name in self.FIELDS}
        sample = None if self.sample is None else self.sample[rows]
        parts = {k: None if v is None else function(v) for k, v in fields.items()}
        return type(self)(**parts, sample=sample)


def aligned(a: Patches, b: Patches) -> tuple[Patches, Patches]:
    """Give two sets of patches the same form, so that they can be compared row by row.

    Their lengths must be equal, or one must be 1: a single patch is compared with all others.
    """
    if a.n_features != b.n_features or (len(a) != len(b) and 1 not in {len(a), len(b)}):
        raise ValueError(
            f"patches are compared row by row: got {len(a)} with {a.n_features} features and "
            f"{len(b)} with {b.n_features}."
        )
    if a.factored != b.factored:
        return _in_full(a), _in_full(b)
    if not a.factored or a.directions.shape[2] == b.directions.shape[2]:
        return a, b
    rank = max(a.directions.shape[2], b.directions.shape[2])
    return _widened(a, rank), _widened(b, rank)


def used_ranks(variances: Array) -> Indices:
    """Count the directions of each patch (n, r) up to the last with variance, at least one."""
    some = to_numpy(variances) > 0
    if some.shape[1] == 0:
        return np.ones(len(some), dtype=np.intp)
    last = some.shape[1] - np.argmax(some[:, ::-1], axis=1)
    return np.where(some.any(axis=1), last, 1)


def padded(directions: Array, variances: Array, rank: int) -> tuple[Array, Array]:
    """Append directions of length zero, without variance, up to a rank.

    Each direction is contiguous in memory, as in fitted patches: the memory layout decides the last
    bits of a product.
    """
    xp = array_namespace(directions)
    n, m, r = directions.shape
    if r >= rank:
        return directions, variances
    zeros = partial(xp.zeros, dtype=directions.dtype, device=device(directions))
    empty, none = zeros((n, rank - r, m)), zeros((n, rank - r))
    turned = xp.concat([xp.matrix_transpose(directions), empty], axis=1)
    return xp.matrix_transpose(turned), xp.concat([variances, none], axis=1)


def _widened(patches: Patches, rank: int) -> Patches:
    directions, variances = padded(patches.directions, patches.variances, rank)
    return patches.replaced(directions=directions, variances=variances)


def _in_full(patches: Patches) -> Patches:
    if not patches.factored:
        return patches
    xp = array_namespace(patches.means)
    spread = xp.sqrt(patches.variances)[:, :, None] * xp.matrix_transpose(patches.directions)
    factors = dict.fromkeys(("directions", "variances", "ridge"))
    return patches.replaced(**factors, **triangular(spread, patches.ridge))


def triangular(Z: Array, ridge: Array) -> dict[str, Array]:
    """``Z'Z + diag(ridge)`` as its triangular root and the inverse of that.

    The root comes from a QR decomposition of ``Z`` stacked on the root of the ridge. Unlike a
    Cholesky decomposition of the sum, it does not square the condition number.
    """
    xp = array_namespace(Z)
    identity = xp.eye(Z.shape[2], dtype=Z.dtype, device=device(Z))
    ridge = ridge if ridge.ndim == 2 else ridge[:, None]
    below = xp.sqrt(ridge)[:, :, None] * identity
    _, upper = xp.linalg.qr(xp.concat([Z, below], axis=1))
    sign = 1 - 2 * xp.astype(xp.linalg.diagonal(upper) < 0, Z.dtype)
    roots = xp.matrix_transpose(upper * sign[:, :, None])
    return {"roots": roots, "whiteners": _inverse(roots)}


def _cholesky(covariances: Array, deviations: Array) -> Array:
    """Cholesky roots of given covariances, in units of the features' deviations."""
    xp = array_namespace(covariances)
    failed = ValueError(
        "covariances must be positive definite; add a ridge, e.g. covariances + 1e-6 * np.eye(m)."
    )
    if bool(xp.any(deviations <= 0)):
        raise failed
    units = deviations[:, :, None] * deviations[:, None, :]
    try:
        roots = xp.linalg.cholesky(covariances / units)
    except (np.linalg.LinAlgError, RuntimeError) as error:  # torch's is a RuntimeError
        raise failed from error
    return deviations[:, :, None] * roots


def _inverse(roots: Array) -> Array:
    """Inverse of triangular roots, in units of the features' deviations."""
    xp = array_namespace(roots)
    deviations = xp.linalg.vector_norm(roots, axis=2, keepdims=True)
    inverse = xp.linalg.inv(roots / deviations)
    return xp.tril(inverse) / xp.matrix_transpose(deviations)


def _shape_of(means: Array) -> tuple[int, int]:
    if means.ndim != 2 or means.shape[1] == 0:
        raise ValueError(
            f"means must be two-dimensional (n, m) with m > 0, got shape {tuple(means.shape)}."
        )
    _check_array("means", means, tuple(means.shape))
    return int(means.shape[0]), int(means.shape[1])


def _check_array(name: str, array: Array, shape: tuple[int, ...]) -> None:
    xp = array_namespace(array)
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, expected {shape}.")
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} contains NaN or infinity; patches need finite numbers.")
