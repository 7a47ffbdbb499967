"""Gaussians of neighbourhoods, fitted in blocks of patches of equal size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.utils import gen_batches

from patchfold.base import row_order
from patchfold.base.arrays import Array, put, taken, to_numpy
from patchfold.base.memory import check_memory
from patchfold.base.threads import large_blocks, map_blocks
from patchfold.patches import covariances
from patchfold.patches.gaussians import Patches, padded, triangular

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchfold.base.types import Indices
    from patchfold.neighbors.neighborhoods import Neighborhoods


T = TypeVar("T")

Fields = dict[str, Array]

# Estimates that divide by the number of points, as scikit-learn's do.
_FULL_DIVISOR = ("ledoit-wolf", "oas")

# Estimates that keep at most ``rank`` directions.
_OF_RANK = ("low-rank", "hazan")

# A ridge below this power of the least number loses digits in products with widths: embeddings of
# data in ever smaller units stay the same down to it, in float32 as in float64.
LEAST_RIDGE = 2 / 3

# The variance of the data is summed over blocks of VARIANCE_ROWS rows.
VARIANCE_ROWS = 1024


class Part(NamedTuple):
    """What is to be known of all points where only a part of them is at hand."""

    scale: float  # mean variance of the features of all points
    # whose patches are wanted, in order; the others are their neighbours. None: all
    rows: Indices | None = None

    @classmethod
    def of(cls, X: Array) -> Part:
        """Return what is to be known of the points ``X``."""
        return cls(_mean_variance(X))


def patch_means(
    X: Array,
    neighborhoods: Neighborhoods,
    *,
    points: Array = None,
    n_jobs: int | None = None,
    part: Part | None = None,
) -> Array:
    """Replace every point by the mean of its patch, which includes the point itself.

    Parameters
    ----------
    X : array of shape (n_samples, m)
    neighborhoods : Neighborhoods
        The neighbours in ``X`` of the points of ``X``, or of ``points``.
    points : array of shape (n, m) or None
        New points; they do not influence each other.
    n_jobs : int or None
    part : Part or None
        What is wanted where ``X`` is only a part of the points.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors import find_neighbors
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> patch_means(X, find_neighbors(X, 1)).ravel()
    array([0.5, 0.5, 3. ])
    """
    return PatchFit(X, points, neighborhoods, part=part).means(n_jobs)


class PatchFit:
    """One run of :meth:`GaussianPatch.fit`, in blocks of patches of equal size."""

    def __init__(
        self,
        X: Array,
        points: Array,
        neighborhoods: Neighborhoods,
        denoised: tuple[Array, Array] | None = None,
        *,
        include_self: bool = True,
        center: str = "mean",
        covariance: str = "ridge",
        gamma: float | None = None,
        rank: int | None = None,
        part: Part | None = None,
    ) -> None:
        origins = X if points is None else points
        self.origins = None if denoised is None else origins
        self.X, self.points = (X, origins) if denoised is None else denoised
        self.own = points is None  # whether patches are those of the rows of X
        self.neighborhoods = neighborhoods
        self.include_self = include_self
        self.center = center
        self.covariance = covariance
        self.setting = covariances.Setting(
            gamma=gamma,
            rank=rank,
            # Of the points as given, even if patches use denoised ones.
            scale=_mean_variance(X) if part is None else part.scale,
        )
        self.rows = None if part is None else part.rows
        self.count = int(self.points.shape[0]) if self.rows is None else len(self.rows)
        _check_ridge(self.setting, X)
        self.widest = int(neighborhoods.degrees.max(initial=0)) + int(self.include_self)
        # Centring costs one dimension; so does x_i seen from x_i.
        self.rank = max(1, self.widest - int(self.center == "mean" or self.include_self))
        if self.covariance in _OF_RANK and rank is not None:
            self.rank = min(self.rank, rank)
        self.factored = self.rank < X.shape[1] and self.covariance not in covariances.FULL

    def run(
        self,
        n_jobs: int | None,
        *,
        walk: Indices | None = None,
    ) -> Patches:
        """Fit all patches, in the order of ``walk``: by default near ones after each other."""
        xp = array_namespace(self.X)
        n, m = self.count, self.points.shape[1]
        dtype = self.X.dtype
        itemsize = xp.finfo(dtype).bits // 8
        row_bytes = itemsize * m * (6 * (self.widest + 1) + (0 if self.factored else 8 * m))
        degrees = self.neighborhoods.degrees
        walk = self.walk() if walk is None else walk
        empty = partial(xp.empty, dtype=dtype, device=device(self.X))
        fields: Fields = {"means": empty((n, m))}
        if self.factored:
            fields["ridge"] = empty((n,))
            fields["variances"] = empty((n, self.rank))
            fields["directions"] = xp.matrix_transpose(empty((n, self.rank, m)))  # each contiguous
        else:
            covariances.check_full(m, self.covariance)
            what = f"the full covariances of {n} patches of {m} features"
            check_memory(2 * itemsize * n * m * m, what, "reduce X, e.g. with PCA")
            for name in ("roots", "whiteners"):
                fields[name] = empty((n, m, m))
        fit = partial(self.fit_block, fields)
        bad = np.concatenate(self.by_size(fit, walk, row_bytes, n_jobs))
        if bad.size:
            first = int(bad.min())
            raise ValueError(
                f"covariance='empirical' is singular in {bad.size} of {n} patches (first: patch "
                f"{first}, {int(degrees[first]) + int(self.include_self)} points in {m} "
                "dimensions); use covariance='ridge', or a larger size."
            )
        if self.origins is not None:
            return Patches(points=fields["means"], **fields)
        points = self.points if self.rows is None else self.points[self.rows, ...]
        return Patches(points=points, **fields)

    def means(self, n_jobs: int | None) -> Array:
        """Return only the means of the patches."""
        xp = array_namespace(self.X)
        shape = self.count, self.points.shape[1]
        means = xp.empty(shape, dtype=self.X.dtype, device=device(self.X))

        def fill(rows: Indices) -> None:
            put(means, self.places(rows), self.centred(rows)[2])

        row_bytes = 4 * (xp.finfo(self.X.dtype).bits // 8) * means.shape[1] * (self.widest + 1)
        self.by_size(fill, self.walk(), row_bytes, n_jobs)
        return means

    def places(self, rows: Indices) -> Indices:
        """Return where rows stand among those that are wanted, which are in order."""
        return rows if self.rows is None else np.searchsorted(self.rows, rows)

    def walk(self) -> Indices:
        """Return the rows whose patches are wanted, near ones one after the other."""
        walk = row_order.walk(self.points)
        return walk if self.rows is None else walk[np.isin(walk, self.rows)]

    def by_size(
        self,
        work: Callable[[Indices], T],
        walk: Indices,
        row_bytes: int,
        n_jobs: int | None,
    ) -> list[T]:
        """Map ``work(rows)`` over blocks of patches of equal size, in the order of ``walk``.

        So the numbers of a patch depend on no other patch.
        """
        degrees = self.neighborhoods.degrees[walk]
        done: list[T] = []
        for degree in np.unique(degrees):
            rows = walk[degrees == degree]

            def block_work(block: slice, rows: Indices = rows) -> T:
                return work(rows[block])

            with large_blocks(self.X):
                done += map_blocks(block_work, len(rows), row_bytes, n_jobs)
        return done

    def fit_block(self, fields: Fields, rows: Indices) -> Indices:
        """Write some patches into their rows of ``fields``; return the rows with no estimate."""
        Y, counts, means = self.centred(rows)
        if self.covariance == "empirical":
            collinear = to_numpy(covariances.singular(_unit_spread(Y)))
            if self.factored or collinear.any():
                return rows[collinear | self.factored]
        spread = covariances.ESTIMATES[self.covariance](Y, counts, self.setting)
        if self.factored or self.origins is not None:
            directions, variances = spread.principal(self.rank)
            if self.origins is not None:
                means = self.returned(rows, spread.ridge, directions, variances)
        covariance: Fields = {}
        if self.factored:
            directions, variances = padded(directions, variances, self.rank)
            covariance = {
                "directions": directions,
                "variances": variances,
                "ridge": spread.ridge,
            }
        else:
            covariance = triangular(spread.scattered(), spread.ridge)
        for name, value in {"means": means, **covariance}.items():
            put(fields[name], self.places(rows), value)
        return rows[:0]

    def centred(self, rows: Indices) -> tuple[Array, Array, Array]:
        """Gather patches: centred points over the root of the divisor, counts, and means."""
        xp = array_namespace(self.X)
        points = taken(self.points, rows)
        members = self.members(rows)
        P = taken(self.X, members.ravel())
        P = xp.reshape(P, (*members.shape, self.X.shape[1]))
        if self.include_self and not self.own:
            P = xp.concat([points[:, None, :], P], axis=1)
        size = P.shape[1]
        if size == 0:  # the patch of an isolated point is the point
            P, size = xp.asarray(points[:, None, :], copy=True), 1
        # Differences from a point of the patch keep the digits of data far from the origin. They
        # are taken in place: P is a copy, and by far the largest array here.
        means = points
        if self.center == "point":
            P -= points[:, None, :]
        else:
            anchor = xp.asarray(P[:, :1, :], copy=True)
            P -= anchor
            offset = xp.mean(P, axis=1, keepdims=True)
            P -= offset
            means = (anchor + offset)[:, 0, :]
        lost = self.center == "mean" and self.covariance not in _FULL_DIVISOR
        counts = xp.full((len(rows),), float(size), dtype=P.dtype, device=device(P))
        P /= float(max(size - int(lost), 1)) ** 0.5
        return P, counts, means

    def returned(self, rows: Indices, ridge: Array, directions: Array, variances: Array) -> Array:
        """Return ``z + Sigma (x - z) / lambda_max`` for points ``x`` and denoised points ``z``."""
        xp = array_namespace(self.X)
        points = taken(self.points, rows)
        offset = (taken(self.origins, rows) - points)[:, None, :]
        ridge = ridge[:, None] if ridge.ndim == 1 else ridge
        along = (offset @ directions) * variances[:, None, :]
        moved = along @ xp.matrix_transpose(directions) + ridge[:, None, :] * offset
        widest = xp.max(variances, axis=1) + xp.max(ridge, axis=1)
        return points + moved[:, 0, :] / widest[:, None]

    def members(self, rows: Indices) -> Indices:
        """Return the rows of ``X`` in patches of equal size, sorted.

        A patch is a set: sorting makes patches of equal sets equal to the last bit.
        """
        starts = self.neighborhoods.indptr[rows]
        degree = int(self.neighborhoods.degrees[rows[0]])
        members: Indices = self.neighborhoods.indices[starts[:, None] + np.arange(degree)]
        if self.include_self and self.own:
            members = np.concatenate([members, rows[:, None]], axis=1)
        members.sort(axis=1)
        return members


def _unit_spread(Y: Array) -> Array:
    """``Y`` with every feature divided by its spread, so that units do not look collinear."""
    xp = array_namespace(Y)
    spread = xp.linalg.vector_norm(Y, axis=1, keepdims=True)
    return Y / xp.where(spread > 0, spread, 1.0)


def _mean_variance(X: Array) -> float:
    """Mean variance of the features, summed in float64; 1 where all points are equal."""
    n = int(X.shape[0])
    mean = column_means([block_sums(X)], n)
    largest = largest_deviation(X, mean)
    return mean_variance(largest, mean_squares(X, mean, largest, n), X.dtype)


# Sums are taken over blocks of fixed length: the ridge must not depend on the available memory, nor
# on the parts that the points lie in.


def block_sums(X: Array) -> Array:
    """Return the sums of the rows of each block, in float64."""
    xp = array_namespace(X)
    blocks = gen_batches(int(X.shape[0]), VARIANCE_ROWS)
    return xp.stack([xp.sum(X[block, :], axis=0, dtype=xp.float64) for block in blocks])


def column_means(sums: list[Array], n: int) -> Array:
    """Return the means of the columns of ``n`` rows, given the sums of their blocks."""
    xp = array_namespace(*sums)
    return xp.sum(xp.concat(sums), axis=0) / n


def largest_deviation(X: Array, mean: Array) -> float:
    """Return how far a number is away from the mean of its column at most."""
    xp = array_namespace(X)
    blocks = (X[block, :] for block in gen_batches(int(X.shape[0]), VARIANCE_ROWS))
    return max(float(xp.max(xp.abs(xp.astype(rows, xp.float64) - mean))) for rows in blocks)


def mean_squares(X: Array, mean: Array, largest: float, n: int) -> list[float]:
    """Return the share of each block in the mean square of ``n`` rows, in units of ``largest``."""
    xp = array_namespace(X)
    unit = largest or 1.0
    blocks = [X[block, :] for block in gen_batches(int(X.shape[0]), VARIANCE_ROWS)]
    squares = [xp.mean(((xp.astype(rows, xp.float64) - mean) / unit) ** 2) for rows in blocks]
    return [
        float(square) * (int(rows.shape[0]) / n)
        for square, rows in zip(squares, blocks, strict=True)
    ]


def mean_variance(largest: float, squares: list[float], dtype: Any) -> float:
    """Return the mean variance, 1 where all points are equal; refuse what has no squares."""
    limits = np.finfo(np.dtype(str(dtype).rpartition(".")[2]))
    if largest == 0.0:
        return 1.0
    # A thousandth of the root leaves room for a sum of squares over a whole patch.
    if not float(limits.smallest_normal) ** 0.5 < largest < 1e-3 * float(limits.max) ** 0.5:
        raise ValueError(
            f"the features of X spread over {largest:.3g}, which cannot be squared in {dtype} "
            "without loss; rescale X, e.g. with sklearn.preprocessing.StandardScaler."
        )
    return largest * largest * sum(squares)


def _check_ridge(setting: covariances.Setting, X: Array) -> None:
    limits = array_namespace(X).finfo(X.dtype)
    least = float(limits.smallest_normal) ** LEAST_RIDGE
    if not least < setting.ridge < float(limits.max) ** 0.5:
        gamma = "auto" if setting.gamma is None else setting.gamma
        remedy = "rescale X" if setting.gamma is None else "choose another gamma"
        raise ValueError(
            f"gamma={gamma!r} is a ridge of {setting.ridge:.3g}, whose products {X.dtype} does not "
            f"hold; {remedy}, or convert X to float64."
        )
