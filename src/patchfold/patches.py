"""Patches: every point becomes the Gaussian of its neighbourhood.

:class:`GaussianPatch` says how a neighbourhood becomes a Gaussian, :class:`Patches` holds the
fitted Gaussians. A covariance of rank below the number of features is never written out: it is
kept as orthonormal directions, their variances and a ridge.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from patchfold import covariances
from patchfold._namespace import Array, floating, promoted, to_numpy
from patchfold._validation import check_choice, check_count, check_points
from patchfold.blocks import map_blocks
from patchfold.neighbors import Neighborhoods, find_neighbors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CENTERS = ("mean", "point")

# Estimates that take the number of points as divisor, as scikit-learn's do.
_FULL_DIVISOR = ("ledoit-wolf", "oas")
_INTENSITIES = ("shrinkage", "diagonal-shrinkage")

# An asymmetry of given covariances, or a deviation of given directions from orthonormality, beyond
# this many root-eps is an error of the caller and not rounding.
GIVEN_TOLERANCE = 8.0

# Rows that the variance of the data is summed over at a time.
VARIANCE_ROWS = 1024

# Patches made without neighbourhoods or a size have as many neighbours as the default graph.
DEFAULT_SIZE = 15


class Patches:
    r"""Gaussians fitted to neighbourhoods: one mean and one covariance a point.

    A covariance is held in one of two forms:

    - factored, ``ridge I + Q diag(variances) Q'`` with ``r < m`` orthonormal columns in ``Q``
      (columns without variance may be zero);
    - full, as a triangular root ``L`` with ``Sigma = L L'``, and the inverse of ``L``.

    Make one with :meth:`GaussianPatch.fit`, :meth:`from_moments` or :meth:`from_factors`. Arrays
    may be of numpy or of any other array namespace. Indexing by an integer, a slice, an array of
    integers or a mask gives :class:`Patches` again.

    Attributes
    ----------
    means : array of shape (n, m)
    points : array of shape (n, m)
        The points the patches belong to (the means where none are known).
    directions, variances, ridge : arrays of shape (n, m, r), (n, r), (n,), or None
        The factored form.
    roots, whiteners : arrays of shape (n, m, m), or None
        The full form.

    Examples
    --------
    >>> import numpy as np
    >>> patches = Patches.from_moments(np.zeros((2, 3)), np.stack([np.eye(3), 2 * np.eye(3)]))
    >>> patches
    Patches(n=2, features=3, full)
    >>> patches[1].covariances()[0].diagonal().round(6)
    array([2., 2., 2.])
    """

    _FIELDS = ("means", "points", "directions", "variances", "ridge", "roots", "whiteners")

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
    ) -> None:
        self.means = means
        self.points = points
        self.directions = directions
        self.variances = variances
        self.ridge = ridge
        self.roots = roots
        self.whiteners = whiteners

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
            msg = "covariances are not symmetric; check them, or pass (S + S.T) / 2."
            raise ValueError(msg)
        roots = _cholesky(covariances, scale)
        return cls(means, means, roots=roots, whiteners=_inverse(roots))

    @classmethod
    def from_factors(
        cls, means: Array, directions: Array, variances: Array, ridge: Array
    ) -> Patches:
        """Build patches with the covariances ``ridge I + Q diag(variances) Q'``.

        Shapes: means (n, m); directions ``Q`` (n, m, r), orthonormal columns (or zero where there
        is no variance), ``r < m``; variances (n, r), not negative; ridge (n,), positive.
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
            msg = (
                f"directions has {r} columns for {m} features, the factored form needs fewer; "
                "use Patches.from_moments for full covariances."
            )
            raise ValueError(msg)
        if bool(xp.any(ridge <= 0)) or bool(xp.any(variances < 0)):
            msg = "ridge must be positive and variances must not be negative, in every patch."
            raise ValueError(msg)
        gram = xp.matrix_transpose(directions) @ directions
        # A direction without variance may have length zero.
        unit = xp.where(variances > 0, 1.0, xp.clip(xp.linalg.diagonal(gram), max=1.0))
        error = xp.abs(gram - xp.eye(r, dtype=gram.dtype) * unit[:, None, :])
        if bool(xp.any(error > GIVEN_TOLERANCE * float(xp.finfo(gram.dtype).eps) ** 0.5)):
            msg = "the columns of directions are not orthonormal; pass the Q of a QR decomposition."
            raise ValueError(msg)
        return cls(means, means, directions=directions, variances=variances, ridge=ridge)

    @property
    def factored(self) -> bool:
        """Whether the covariances are kept as directions, variances and a ridge."""
        return self.directions is not None

    @property
    def n_features(self) -> int:
        """Number of features ``m``."""
        return int(self.means.shape[1])

    def covariances(self) -> Array:
        """Write the covariances out: one array of shape (n, m, m)."""
        xp = array_namespace(self.means)
        if not self.factored:
            return self.roots @ xp.matrix_transpose(self.roots)
        spread = self.directions * xp.sqrt(self.variances)[:, None, :]
        identity = xp.eye(self.n_features, dtype=spread.dtype)
        return self.ridge[:, None, None] * identity + spread @ xp.matrix_transpose(spread)

    def __len__(self) -> int:
        return int(self.means.shape[0])

    def __getitem__(self, key: Any) -> Patches:
        if isinstance(key, slice):
            return self._map(lambda field: field[key, ...])
        rows = np.asarray(key) if np.size(key) else np.empty(0, dtype=np.intp)
        if isinstance(key, Integral) and not -len(self) <= int(key) < len(self):
            msg = f"patch {key} is out of range, there are {len(self)} patches."
            raise IndexError(msg)
        if rows.ndim > 1 or (rows.ndim == 0 and rows.dtype == bool):
            msg = f"patches are indexed along one axis, got an index of shape {rows.shape}."
            raise IndexError(msg)
        rows = np.atleast_1d(np.arange(len(self))[rows])
        if isinstance(key, Integral):
            return self[int(rows[0]) : int(rows[0]) + 1]
        xp = array_namespace(self.means)
        indices = xp.asarray(rows)
        return self._map(lambda field: xp.take(field, indices, axis=0))

    def __repr__(self) -> str:
        form = f"rank {self.directions.shape[2]} + ridge" if self.factored else "full"
        return f"Patches(n={len(self)}, features={self.n_features}, {form})"

    def _map(self, function: Callable[[Array], Array]) -> Patches:
        fields = {name: getattr(self, name) for name in self._FIELDS}
        return Patches(**{k: None if v is None else function(v) for k, v in fields.items()})


def aligned(a: Patches, b: Patches) -> tuple[Patches, Patches]:
    """Give two sets of patches the same form, so that they can be compared row by row.

    The lengths must agree, or one of them be 1, which then stands for all.
    """
    if a.n_features != b.n_features or (len(a) != len(b) and 1 not in {len(a), len(b)}):
        msg = (
            f"patches are compared row by row: got {len(a)} with {a.n_features} features and "
            f"{len(b)} with {b.n_features}."
        )
        raise ValueError(msg)
    if a.factored != b.factored:
        return _in_full(a), _in_full(b)
    if not a.factored or a.directions.shape[2] == b.directions.shape[2]:
        return a, b
    rank = max(a.directions.shape[2], b.directions.shape[2])
    return _widened(a, rank), _widened(b, rank)


class GaussianPatch(BaseEstimator):
    """How a neighbourhood becomes a Gaussian.

    Parameters
    ----------
    size : int or None, default=None
        Neighbours per patch. None means as many as the neighbourhoods have (in an estimator:
        ``n_neighbors``).
    include_self : bool, default=True
        Whether the patch of ``x_i`` contains ``x_i`` beside its neighbours (ISOMAP-KL eq. 23).
    center : {"mean", "point"}, default="mean"
        ``"mean"``: the mean of the patch's points, and a covariance with divisor ``points - 1``
        (ISOMAP-KL eq. 24-25). ``"point"``: ``x_i`` itself, with divisor ``points`` (X-space,
        section 2.1).
    covariance : str, default="ridge"
        - ``"empirical"``: the sample covariance ``C``;
        - ``"ridge"``: ``C + gamma I``;
        - ``"ridge-if-singular"``: the same, only where the condition number exceeds ``1 / eps``;
        - ``"shrinkage"``: ``(1 - gamma) C + gamma tr(C)/m I``;
        - ``"diagonal-shrinkage"``: ``(1 - gamma) C + gamma diag(C)``, always a full matrix;
        - ``"ledoit-wolf"``, ``"oas"``: shrinkage of estimated intensity;
        - ``"low-rank"``: the leading ``rank`` directions of ``C``, plus ``gamma I``;
        - ``"hazan"``: Algorithm 1 of X-space on ``C + gamma I``, stopped after ``rank`` steps.
    gamma : float or "auto", default="auto"
        The ridge, in squared units of the data; for the two shrinkages the intensity, between 0
        and 1. ``"auto"``: 0.01 of the mean variance of the features, so that rescaling the data
        changes nothing; as an intensity, 0.1.
    rank : int or None, default=None
        Directions kept by ``"low-rank"`` (required there); steps of ``"hazan"`` (None: 100).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> GaussianPatch(size=20).fit(X)
    Patches(n=150, features=4, full)
    >>> GaussianPatch(covariance="low-rank", rank=2).fit(X)
    Patches(n=150, features=4, rank 2 + ridge)
    """

    def __init__(
        self,
        size: int | None = None,
        include_self: Any = True,
        center: str = "mean",
        covariance: str = "ridge",
        gamma: Any = "auto",
        rank: int | None = None,
    ) -> None:
        self.size = size
        self.include_self = include_self
        self.center = center
        self.covariance = covariance
        self.gamma = gamma
        self.rank = rank

    def fit(
        self,
        X: Array,
        neighborhoods: Any = None,
        *,
        points: Array = None,
        n_jobs: int | None = None,
    ) -> Patches:
        """Fit one Gaussian a neighbourhood.

        Parameters
        ----------
        X : array of shape (n_samples, m)
            The points that neighbourhoods are made of.
        neighborhoods : Neighborhoods or None
            Who is near whom. None searches the ``size`` (or 15) nearest of every point of ``X``.
        points : array of shape (n, m) or None
            The points whose patches are wanted, when they are not ``X`` itself: new points, whose
            patches consist of their neighbours in ``X``, and of themselves by ``include_self``.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        Patches
            One patch a neighbourhood; float32 data gives float32 patches.
        """
        self._check()
        X = _points(X)
        if neighborhoods is None:
            if points is not None:
                msg = "points=... needs neighborhoods, the neighbours of these points in X."
                raise ValueError(msg)
            size = DEFAULT_SIZE if self.size is None else self.size
            if size >= X.shape[0]:
                msg = (
                    f"size={size} needs more than {size} samples, got {X.shape[0]}; "
                    f"set size to at most {X.shape[0] - 1}."
                )
                raise ValueError(msg)
            neighborhoods = find_neighbors(to_numpy(X), size, n_jobs=n_jobs)
        if not isinstance(neighborhoods, Neighborhoods):
            msg = (
                f"neighborhoods is a {type(neighborhoods).__name__}; pass what "
                "patchfold.neighbors.find_neighbors(X) returns."
            )
            raise TypeError(msg)
        _check_members(neighborhoods, X.shape[0])
        if self.size is not None:
            neighborhoods = self._cut(neighborhoods)
        if points is not None:
            points = _points(points, like=X)
        n = X.shape[0] if points is None else points.shape[0]
        if len(neighborhoods) != n:
            msg = (
                f"neighborhoods are those of {len(neighborhoods)} points, but {n} points were "
                "given; search the neighbours of the same points."
            )
            raise ValueError(msg)
        return _Fit(self, X, points, neighborhoods).run(n_jobs)

    def _cut(self, neighborhoods: Neighborhoods) -> Neighborhoods:
        most = int(neighborhoods.degrees.max(initial=0))
        if int(self.size or 0) > most:
            msg = (
                f"size={self.size} needs neighborhoods of at least {self.size} points, these "
                f"have {most}; search more neighbours or lower size."
            )
            raise ValueError(msg)
        return neighborhoods.nearest(int(self.size or 0))

    def _check(self) -> None:
        check_choice("covariance", self.covariance, covariances.ESTIMATES)
        check_choice("center", self.center, CENTERS)
        if not isinstance(self.include_self, (bool, np.bool_)):
            msg = f"include_self={self.include_self!r} must be True or False."
            raise TypeError(msg)
        if self.size is not None:
            check_count("size", self.size)
        if self.rank is not None:
            check_count("rank", self.rank)
        if self.covariance == "low-rank" and self.rank is None:
            msg = "covariance='low-rank' needs rank, the number of directions to keep; e.g. rank=2."
            raise ValueError(msg)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("auto",))
            return
        intensity = self.covariance in _INTENSITIES
        top = 1.0 if intensity else np.inf
        number = isinstance(self.gamma, Real) and not isinstance(self.gamma, bool)
        if not number or not 0 < float(self.gamma) < top:
            allowed = "between 0 and 1" if intensity else "positive and finite"
            remedy = "" if intensity else "; covariance='empirical' adds no ridge"
            msg = f"gamma={self.gamma!r} must be {allowed}, or 'auto'{remedy}."
            raise ValueError(msg)


class _Fit:
    """One run of :meth:`GaussianPatch.fit`, in blocks of patches of equal size."""

    def __init__(
        self, recipe: GaussianPatch, X: Array, points: Array, neighborhoods: Neighborhoods
    ) -> None:
        self.X = X
        self.points = X if points is None else points
        self.neighborhoods = neighborhoods
        self.include_self = bool(recipe.include_self)
        self.center = recipe.center
        self.covariance = recipe.covariance
        self.setting = covariances.Setting(
            gamma=None if isinstance(recipe.gamma, str) else float(recipe.gamma),
            rank=recipe.rank,
            scale=_mean_variance(X),
        )
        _check_ridge(self.setting, X)
        self.widest = int(neighborhoods.degrees.max(initial=0)) + int(self.include_self)
        # Centring costs one dimension; so does x_i seen from x_i.
        self.rank = max(1, self.widest - int(self.center == "mean" or self.include_self))
        if self.covariance == "low-rank" and recipe.rank is not None:
            self.rank = min(self.rank, recipe.rank)
        self.factored = self.rank < X.shape[1] and self.covariance != "diagonal-shrinkage"

    def run(self, n_jobs: int | None) -> Patches:
        xp = array_namespace(self.X)
        n, m = self.points.shape
        dtype = self.X.dtype
        shapes: dict[str, tuple[int, ...]] = (
            {"directions": (m, self.rank), "variances": (self.rank,), "ridge": ()}
            if self.factored
            else {"roots": (m, m), "whiteners": (m, m)}
        )
        fields = {name: xp.empty((n, *shape), dtype=dtype) for name, shape in shapes.items()}
        fields["means"] = xp.empty((n, m), dtype=dtype)
        itemsize = xp.finfo(dtype).bits // 8
        row_bytes = itemsize * m * (6 * (self.widest + 1) + (0 if self.factored else 8 * m))
        degrees = self.neighborhoods.degrees
        order = np.argsort(degrees, kind="stable")
        singular = []
        start = 0
        for count in np.bincount(degrees):
            # Patches of one size at a time: what a block computes then depends on no other patch.
            stop = start + int(count)
            fit = partial(self.fit_block, order, fields, start)
            singular += map_blocks(fit, stop - start, row_bytes, n_jobs)
            start = stop
        bad = np.concatenate(singular)
        if bad.size:
            first = int(bad.min())
            msg = (
                f"covariance='empirical' is singular in {bad.size} of {n} patches (first: patch "
                f"{first}, {int(degrees[first]) + int(self.include_self)} points in {m} "
                "dimensions); use covariance='ridge', or a larger size."
            )
            raise ValueError(msg)
        if degrees.min() == degrees.max():
            return Patches(points=self.points, **fields)
        points = xp.take(self.points, xp.asarray(order), axis=0)
        return Patches(points=points, **fields)[np.argsort(order)]

    def fit_block(
        self, order: NDArray[np.intp], fields: dict[str, Array], start: int, block: slice
    ) -> NDArray[np.intp]:
        """Fit some patches into their place in ``fields``; return those that have no estimate."""
        place = slice(start + block.start, start + block.stop)
        rows = order[place]
        Y, counts, fields["means"][place, ...] = self.centred(rows)
        if self.covariance == "empirical":
            collinear = to_numpy(covariances.singular(_unit_spread(Y)))
            if self.factored or collinear.any():
                return rows[collinear | self.factored]
        Z, ridge = covariances.ESTIMATES[self.covariance](Y, counts, self.setting)
        covariance = self.factors(Z, ridge) if self.factored else _triangular(Z, ridge)
        for name, value in covariance.items():
            fields[name][place, ...] = value
        return rows[:0]

    def centred(self, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Gather patches: centred points over the root of the divisor, counts, and means."""
        xp = array_namespace(self.X)
        points = xp.take(self.points, xp.asarray(rows), axis=0)
        members = self.members(rows)
        P = xp.take(self.X, xp.asarray(members.ravel()), axis=0)
        P = xp.reshape(P, (*members.shape, self.X.shape[1]))
        if self.include_self and self.points is not self.X:
            P = xp.concat([points[:, None, :], P], axis=1)
        size = P.shape[1]
        if size == 0:  # an isolated point is all there is to its patch
            P, size = points[:, None, :], 1
        # Differences from a point of the patch keep the digits of data far from the origin.
        anchor = points[:, None, :] if self.center == "point" else P[:, :1, :]
        P = P - anchor
        means = points
        if self.center == "mean":
            offset = xp.mean(P, axis=1, keepdims=True)
            P = P - offset
            means = (anchor + offset)[:, 0, :]
        lost = self.center == "mean" and self.covariance not in _FULL_DIVISOR
        counts = xp.full((len(rows),), float(size), dtype=P.dtype)
        return P / float(max(size - int(lost), 1)) ** 0.5, counts, means

    def members(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of ``X`` in patches of equal size, sorted.

        A patch is a set: sorted, equal sets give bit-identical patches whoever they belong to.
        """
        starts = self.neighborhoods.indptr[rows]
        degree = int(self.neighborhoods.degrees[rows[0]])
        members: NDArray[np.intp] = self.neighborhoods.indices[starts[:, None] + np.arange(degree)]
        if self.include_self and self.points is self.X:
            members = np.concatenate([members, rows[:, None]], axis=1)
        members.sort(axis=1)
        return members

    def factors(self, Z: Array, ridge: Array) -> dict[str, Array]:
        """``Z'Z + ridge I`` as directions, variances and ridge."""
        directions, variances = covariances.principal(Z, self.rank)
        directions, variances = _padded(directions, variances, self.rank)
        return {"directions": directions, "variances": variances, "ridge": ridge}


def _padded(directions: Array, variances: Array, rank: int) -> tuple[Array, Array]:
    """Fill up to a rank with directions of length zero, which have no variance."""
    xp = array_namespace(directions)
    n, m, r = directions.shape
    if r >= rank:
        return directions, variances
    empty = xp.zeros((n, m, rank - r), dtype=directions.dtype)
    none = xp.zeros((n, rank - r), dtype=variances.dtype)
    return xp.concat([directions, empty], axis=2), xp.concat([variances, none], axis=1)


def _widened(patches: Patches, rank: int) -> Patches:
    directions, variances = _padded(patches.directions, patches.variances, rank)
    return Patches(
        patches.means,
        patches.points,
        directions=directions,
        variances=variances,
        ridge=patches.ridge,
    )


def _in_full(patches: Patches) -> Patches:
    if not patches.factored:
        return patches
    xp = array_namespace(patches.means)
    spread = xp.sqrt(patches.variances)[:, :, None] * xp.matrix_transpose(patches.directions)
    return Patches(patches.means, patches.points, **_triangular(spread, patches.ridge))


def _triangular(Z: Array, ridge: Array) -> dict[str, Array]:
    """``Z'Z + diag(ridge)`` as its triangular root and the inverse of that.

    The root comes from a QR decomposition of ``Z`` over the root of the ridge: unlike a Cholesky
    decomposition of the sum, it never squares the condition number.
    """
    xp = array_namespace(Z)
    m = Z.shape[2]
    ridge = ridge if ridge.ndim == 2 else ridge[:, None] * xp.ones((1, m), dtype=Z.dtype)
    below = xp.sqrt(ridge)[:, :, None] * xp.eye(m, dtype=Z.dtype)
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


def _unit_spread(Y: Array) -> Array:
    """``Y`` with every feature in units of its own spread: other units are not collinearity."""
    xp = array_namespace(Y)
    spread = xp.linalg.vector_norm(Y, axis=1, keepdims=True)
    return Y / xp.where(spread > 0, spread, 1.0)


def _mean_variance(X: Array) -> float:
    """Mean variance of the features, summed in float64; 1 where all points are equal."""
    xp = array_namespace(X)
    n = int(X.shape[0])
    # Blocks of a fixed length: the ridge must not depend on how much memory there is.
    blocks = [X[block, :] for block in gen_batches(n, VARIANCE_ROWS)]
    sums = [xp.sum(rows, axis=0, dtype=xp.float64) for rows in blocks]
    mean = xp.sum(xp.stack(sums), axis=0) / n
    largest = max(float(xp.max(xp.abs(xp.astype(rows, xp.float64) - mean))) for rows in blocks)
    limits = xp.finfo(X.dtype)
    if largest == 0.0:
        return 1.0
    # A thousandth of the root leaves room for the sum of as many squares as a patch has numbers.
    if not float(limits.smallest_normal) ** 0.5 < largest < 1e-3 * float(limits.max) ** 0.5:
        msg = (
            f"the features of X spread over {largest:.3g}, which cannot be squared in {X.dtype} "
            "without loss; rescale X, e.g. with sklearn.preprocessing.StandardScaler."
        )
        raise ValueError(msg)
    squares = [xp.mean(((xp.astype(rows, xp.float64) - mean) / largest) ** 2) for rows in blocks]
    shares = [int(rows.shape[0]) / n for rows in blocks]
    mean_square = sum(float(s) * share for s, share in zip(squares, shares, strict=True))
    return largest * largest * mean_square


def _check_ridge(setting: covariances.Setting, X: Array) -> None:
    limits = array_namespace(X).finfo(X.dtype)
    if not float(limits.smallest_normal) < setting.ridge < float(limits.max) ** 0.5:
        msg = (
            f"gamma={setting.gamma!r} is a ridge of {setting.ridge:.3g}, beyond what {X.dtype} "
            "holds; choose another gamma, or convert X to float64."
        )
        raise ValueError(msg)


def _check_members(neighborhoods: Neighborhoods, n: int) -> None:
    indices = neighborhoods.indices
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        msg = (
            f"neighborhoods refer to points {indices.min()} to {indices.max()}, X has {n} rows; "
            "search the neighbours in the same X."
        )
        raise ValueError(msg)


def _points(X: Array, like: Array = None) -> Array:
    """Check points; arrays of another namespace than numpy's stay in theirs.

    New points are checked to be ``like`` the others in namespace, features and type.
    """
    name, least = ("X", 2) if like is None else ("points", 1)
    if not is_array_api_obj(X) or is_numpy_array(X):
        X = check_points(X, name=name, min_samples=least)
    else:
        X = floating(X)
        check_points(to_numpy(X), name=name, min_samples=least)
    if like is None:
        return X
    xp = array_namespace(like)
    if array_namespace(X) is not xp:
        msg = f"points is a {type(X).__name__} and X a {type(like).__name__}; pass both alike."
        raise TypeError(msg)
    if X.shape[1] != like.shape[1]:
        msg = f"points have {X.shape[1]} features, X has {like.shape[1]}; give the same columns."
        raise ValueError(msg)
    return xp.astype(X, like.dtype, copy=False)


def _shape_of(means: Array) -> tuple[int, int]:
    if means.ndim != 2 or means.shape[1] == 0:
        msg = f"means must be two-dimensional (n, m) with m > 0, got shape {tuple(means.shape)}."
        raise ValueError(msg)
    _check_array("means", means, tuple(means.shape))
    return int(means.shape[0]), int(means.shape[1])


def _check_array(name: str, array: Array, shape: tuple[int, ...]) -> None:
    xp = array_namespace(array)
    if tuple(array.shape) != shape:
        msg = f"{name} has shape {tuple(array.shape)}, expected {shape}."
        raise ValueError(msg)
    if not bool(xp.all(xp.isfinite(array))):
        msg = f"{name} contains NaN or infinity; patches need finite numbers."
        raise ValueError(msg)
