"""Patches: every point becomes the Gaussian of its neighbourhood.

:class:`GaussianPatch` says how a neighbourhood becomes a Gaussian, :class:`Patches` holds the
fitted Gaussians. A covariance of rank below the number of features is never written out: it is
kept as orthonormal directions, their variances and a ridge.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from patchfold import covariances
from patchfold._namespace import Array, floating, to_numpy
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

    - factored, ``ridge I + Q diag(variances) Q'`` with ``r < m`` orthonormal columns in ``Q``;
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
        means, covariances = floating(means), floating(covariances)
        xp = array_namespace(means, covariances)
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

        Shapes: means (n, m); directions ``Q`` (n, m, r), orthonormal columns, ``r < m``;
        variances (n, r), not negative; ridge (n,), positive.
        """
        means, directions = floating(means), floating(directions)
        variances, ridge = floating(variances), floating(ridge)
        xp = array_namespace(means, directions, variances, ridge)
        n, m = _shape_of(means)
        r = int(directions.shape[-1])
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
        error = xp.abs(gram - xp.eye(r, dtype=gram.dtype))
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
        if isinstance(key, Integral):
            row = int(key)
            if not -len(self) <= row < len(self):
                msg = f"patch {row} is out of range, there are {len(self)} patches."
                raise IndexError(msg)
            row %= len(self)
            key = slice(row, row + 1)
        if isinstance(key, slice):
            return self._map(lambda field: field[key, ...])
        xp = array_namespace(self.means)
        rows = xp.asarray(np.arange(len(self))[np.asarray(key)])
        return self._map(lambda field: xp.take(field, rows, axis=0))

    def __repr__(self) -> str:
        form = f"rank {self.directions.shape[2]} + ridge" if self.factored else "full"
        return f"Patches(n={len(self)}, features={self.n_features}, {form})"

    def _map(self, function: Callable[[Array], Array]) -> Patches:
        fields = {name: getattr(self, name) for name in self._FIELDS}
        return Patches(**{k: None if v is None else function(v) for k, v in fields.items()})


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
        include_self: bool = True,
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
        neighborhoods: Neighborhoods | None = None,
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
            neighborhoods = find_neighbors(
                to_numpy(X), DEFAULT_SIZE if self.size is None else self.size, n_jobs=n_jobs
            )
        elif self.size is not None:
            most = int(neighborhoods.degrees.max(initial=0))
            if self.size > most:
                msg = (
                    f"size={self.size} needs neighborhoods of at least {self.size} points, these "
                    f"have {most}; search more neighbours or lower size."
                )
                raise ValueError(msg)
            neighborhoods = neighborhoods.nearest(self.size)
        if points is not None:
            points = _points(points, min_samples=1)
            if points.shape[1] != X.shape[1]:
                msg = f"points have {points.shape[1]} features, X has {X.shape[1]}."
                raise ValueError(msg)
        n = X.shape[0] if points is None else points.shape[0]
        if len(neighborhoods) != n:
            msg = (
                f"neighborhoods are those of {len(neighborhoods)} points, but {n} points were "
                "given; search the neighbours of the same points."
            )
            raise ValueError(msg)
        return _Fit(self, X, points, neighborhoods).run(n_jobs)

    def _check(self) -> None:
        check_choice("covariance", self.covariance, covariances.ESTIMATES)
        check_choice("center", self.center, CENTERS)
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
        if not isinstance(self.gamma, Real) or not 0 < float(self.gamma) < top:
            allowed = "between 0 and 1" if intensity else "positive and finite"
            remedy = "" if intensity else "; covariance='empirical' adds no ridge"
            msg = f"gamma={self.gamma!r} must be {allowed}, or 'auto'{remedy}."
            raise ValueError(msg)


class _Fit:
    """One run of :meth:`GaussianPatch.fit`, in blocks of patches of similar size."""

    def __init__(
        self, recipe: GaussianPatch, X: Array, points: Array, neighborhoods: Neighborhoods
    ) -> None:
        self.X = X
        self.points = X if points is None else points
        self.neighborhoods = neighborhoods
        self.include_self = recipe.include_self
        self.center = recipe.center
        self.covariance = recipe.covariance
        self.setting = covariances.Setting(
            gamma=None if isinstance(recipe.gamma, str) else float(recipe.gamma),
            rank=recipe.rank,
            scale=_mean_variance(X),
        )
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
        # Ragged neighbourhoods are padded within a block: neighbours in size share a block.
        degrees = self.neighborhoods.degrees
        order = np.argsort(degrees, kind="stable")

        def fit_block(block: slice) -> NDArray[np.intp]:
            rows = order[block]
            Y, counts, fields["means"][block, ...] = self.centred(rows)
            if self.covariance == "empirical":
                collinear = to_numpy(covariances.singular(_unit_spread(Y)))
                if self.factored or collinear.any():
                    return rows[collinear | self.factored]
            Z, ridge = covariances.ESTIMATES[self.covariance](Y, counts, self.setting)
            covariance = self.factors(Z, ridge) if self.factored else _triangular(Z, ridge)
            for name, value in covariance.items():
                fields[name][block, ...] = value
            return rows[:0]

        itemsize = xp.finfo(dtype).bits // 8
        row_bytes = itemsize * m * (6 * (self.widest + 1) + (0 if self.factored else 8 * m))
        singular = np.concatenate(map_blocks(fit_block, n, row_bytes, n_jobs))
        if singular.size:
            first = int(singular.min())
            msg = (
                f"covariance='empirical' is singular in {singular.size} of {n} patches (first: "
                f"patch {first}, {int(degrees[first]) + int(self.include_self)} points in {m} "
                "dimensions); use covariance='ridge', or a larger size."
            )
            raise ValueError(msg)
        if degrees.min(initial=self.widest) == degrees.max(initial=0):
            return Patches(points=self.points, **fields)
        points = xp.take(self.points, xp.asarray(order), axis=0)
        return Patches(points=points, **fields)[np.argsort(order)]

    def centred(self, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Gather patches: centred points over the root of the divisor, counts, and means."""
        xp = array_namespace(self.X)
        points = xp.take(self.points, xp.asarray(rows), axis=0)
        members, counts = self.members(rows)
        P = xp.take(self.X, xp.asarray(members.ravel()), axis=0)
        P = xp.reshape(P, (*members.shape, self.X.shape[1]))
        if self.include_self and self.points is not self.X:
            P = xp.concat([points[:, None, :], P], axis=1)
            counts = counts + 1
        count = xp.asarray(np.maximum(counts, 1), dtype=P.dtype)
        present = xp.asarray(np.arange(P.shape[1]) < counts[:, None], dtype=P.dtype)[:, :, None]
        # Differences from a point of the patch keep the digits of data far from the origin.
        anchor = points[:, None, :] if self.center == "point" else P[:, :1, :]
        P = (P - anchor) * present
        means = points
        if self.center == "mean":
            offset = xp.sum(P, axis=1, keepdims=True) / count[:, None, None]
            P = (P - offset) * present
            means = xp.where(xp.asarray(counts > 0)[:, None], (anchor + offset)[:, 0, :], points)
        lost = self.center == "mean" and self.covariance not in _FULL_DIVISOR
        divisor = xp.asarray(np.maximum(counts - int(lost), 1), dtype=P.dtype)
        return P / xp.sqrt(divisor)[:, None, None], count, means

    def members(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of ``X`` in each patch, sorted, padded at the end, and their counts.

        A patch is a set: sorted, equal sets give bit-identical patches whoever they belong to.
        """
        starts = self.neighborhoods.indptr[rows]
        counts = self.neighborhoods.indptr[rows + 1] - starts
        columns = np.arange(max(1, counts.max()))
        present = columns < counts[:, None]
        flat = np.where(present, starts[:, None] + columns, 0)
        end = self.X.shape[0]
        members = np.full(flat.shape, end)
        members[present] = self.neighborhoods.indices[flat[present]]
        if self.include_self and self.points is self.X:
            members = np.concatenate([members, rows[:, None]], axis=1)
            counts = counts + 1
        members.sort(axis=1)
        return np.where(members == end, 0, members), counts

    def factors(self, Z: Array, ridge: Array) -> dict[str, Array]:
        """``Z'Z + ridge I`` as directions, variances and ridge."""
        xp = array_namespace(Z)
        directions, variances = covariances.principal(Z, self.rank)
        short = self.rank - variances.shape[1]
        if short > 0:  # a block of small patches: unused directions have no variance
            n, m = Z.shape[0], Z.shape[2]
            directions = xp.concat([directions, xp.zeros((n, m, short), dtype=Z.dtype)], axis=2)
            variances = xp.concat([variances, xp.zeros((n, short), dtype=Z.dtype)], axis=1)
        return {"directions": directions, "variances": variances, "ridge": ridge}


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
    n = X.shape[0]
    # Blocks of a fixed length: the ridge must not depend on how much memory there is.
    blocks = [X[block, :] for block in gen_batches(n, VARIANCE_ROWS)]
    sums = [xp.sum(rows, axis=0, dtype=xp.float64) for rows in blocks]
    mean = xp.sum(xp.stack(sums), axis=0) / n
    variance = float(sum(_sum_of_squares(rows, mean) / n for rows in blocks))
    if not variance < float(xp.finfo(X.dtype).max) ** 0.5:
        msg = "the features of X are too large to be squared; rescale X, e.g. with StandardScaler."
        raise ValueError(msg)
    return variance or 1.0


def _sum_of_squares(rows: Array, mean: Array) -> float:
    """Sum over rows of their mean squared difference from ``mean``; infinite if it overflows."""
    xp = array_namespace(rows)
    difference = xp.astype(rows, xp.float64) - mean
    largest = float(xp.max(xp.abs(difference)))
    if largest == 0.0:
        return 0.0
    mean_square = float(xp.mean((difference / largest) ** 2))
    return largest * largest * mean_square * int(rows.shape[0])


def _points(X: Array, min_samples: int = 2) -> Array:
    """Check points; arrays of another namespace than numpy's stay in theirs."""
    if not is_array_api_obj(X) or is_numpy_array(X):
        return check_points(X, min_samples=min_samples)
    check_points(to_numpy(X), min_samples=min_samples)
    return floating(X)


def _shape_of(means: Array) -> tuple[int, int]:
    if means.ndim != 2:
        msg = f"means must be two-dimensional (n, m), got shape {tuple(means.shape)}."
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
