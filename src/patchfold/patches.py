"""Patches: every point becomes the Gaussian of its neighbourhood.

:class:`GaussianPatch` says how, and fits them block by block.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from patchfold import covariances, ordering
from patchfold._namespace import Array, floating, put, to_numpy
from patchfold._validation import check_choice, check_count, check_points
from patchfold.blocks import map_blocks
from patchfold.gaussians import Patches, padded, triangular, used_ranks
from patchfold.neighborhoods import Neighborhoods
from patchfold.neighbors import find_neighbors
from patchfold.sizes import REACH, adaptive_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

T = TypeVar("T")
Fields = dict[str, Array]

CENTERS = ("mean", "point")

# Estimates that take the number of points as divisor, as scikit-learn's do.
_FULL_DIVISOR = ("ledoit-wolf", "oas")
_INTENSITIES = ("shrinkage", "diagonal-shrinkage")

# Numbers in the directions of patches from which there is room for no more than are used, and
# patches that tell how many these are.
MANY_NUMBERS, SAMPLE = 2**20, 256

# Rows that the variance of the data is summed over at a time.
VARIANCE_ROWS = 1024

# The size that is chosen for each point.
ADAPTIVE = "adaptive"

# The recommended patch: so many neighbours at 1000 points or more, and in proportion to the cube
# root of their number where there are fewer (docs/stability.md).
RECOMMENDED_SIZE, RECOMMENDED_AT = 15, 1000

# Patches made without neighbourhoods or a size have as many neighbours as the default graph.
DEFAULT_SIZE = 15


class GaussianPatch(BaseEstimator):
    """How a neighbourhood becomes a Gaussian.

    Parameters
    ----------
    size : int, "adaptive" or None, default=None
        Neighbours per patch. None means as many as the neighbourhoods have (in an estimator:
        ``n_neighbors``). ``"adaptive"`` chooses for each point, more where the data are flat and
        fewer where they are bent: a quarter, a half or all of those (in an estimator: half,
        once or twice ``n_neighbors``), see :func:`patchfold.sizes.adaptive_sizes`.
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
        - ``"hazan"``: Algorithm 1 of X-space on ``C + gamma I``, stopped after ``rank`` steps;
        - ``"flattened"``: ``C`` with eigenvalues ``l min(1, 2 l_r / l)^4``, ``l`` the largest,
          those below a hundredth of gamma left out, plus ``gamma I``: flat, however noisy the
          points are.
    gamma : float or "auto", default="auto"
        The ridge, in squared units of the data; for the two shrinkages the intensity, between 0
        and 1. ``"auto"``: 0.003 of the mean variance of the features, so that rescaling the data
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
        size: int | str | None = None,
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
        denoised: tuple[Array, Array] | None = None,
        n_jobs: int | None = None,
    ) -> Patches:
        """Fit one Gaussian a neighbourhood.

        Parameters
        ----------
        X : array of shape (n_samples, m)
            The points that neighbourhoods are made of.
        neighborhoods : Neighborhoods or None
            Who is near whom. None searches the ``size`` nearest of every point of ``X`` (15 where
            there is none, 30 for ``"adaptive"``).
        points : array of shape (n, m) or None
            The points whose patches are wanted, when they are not ``X`` itself: new points, whose
            patches consist of their neighbours in ``X``, and of themselves by ``include_self``.
        denoised : pair of arrays of shapes (n_samples, m) and (n, m), or None
            ``X`` and ``points`` after :func:`patch_means`, to make the patches of, and whose
            neighbourhoods are given. A patch is then centred where its point ``x`` comes back to
            from its denoised place ``z`` along the patch, but not across it:
            ``z + Sigma (x - z) / l`` with ``l`` the largest eigenvalue of ``Sigma``.
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
            size = self.reach(DEFAULT_SIZE, X.shape[0])
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
        if self.size is not None and self.size != ADAPTIVE:
            neighborhoods = self._cut(neighborhoods)
        if points is not None:
            points = _points(points, like=X)
        if denoised is not None:
            denoised = _points(denoised[0], like=X), _points(denoised[1], like=X)
        n = X.shape[0] if points is None else points.shape[0]
        if len(neighborhoods) != n:
            msg = (
                f"neighborhoods are those of {len(neighborhoods)} points, but {n} points were "
                "given; search the neighbours of the same points."
            )
            raise ValueError(msg)
        if self.size == ADAPTIVE:
            own = None if points is None else to_numpy(points)
            sizes = adaptive_sizes(to_numpy(X), neighborhoods, own, n_jobs=n_jobs)
            neighborhoods = neighborhoods.nearest(sizes)
        return _Fit(self, X, points, neighborhoods, denoised).run(n_jobs)

    def reach(self, n_neighbors: int, n_samples: int) -> int:
        """Return how many neighbours a patch may have in a graph of this degree.

        Examples
        --------
        >>> GaussianPatch().reach(15, 1000), GaussianPatch(size="adaptive").reach(15, 1000)
        (15, 30)
        """
        if self.size == ADAPTIVE:
            return min(REACH * n_neighbors, n_samples - 1)
        return n_neighbors if self.size is None else int(self.size)

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
        if isinstance(self.size, str):
            check_choice("size", self.size, (ADAPTIVE,))
        elif self.size is not None:
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


def recommended_patch(n_samples: int, *, sized: bool = True) -> GaussianPatch:
    """Return the patch that ``patch=None`` means in an estimator, for so many points.

    It has 15 neighbours, ``1.5 n^(1/3)`` below 1000 points, and a flattened covariance.
    ``sized=False`` leaves the size to the neighbourhoods.

    Examples
    --------
    >>> recommended_patch(100)
    GaussianPatch(covariance='flattened', size=7)
    """
    share = min(1.0, n_samples / RECOMMENDED_AT) ** (1 / 3)
    size = max(1, min(n_samples - 1, round(RECOMMENDED_SIZE * share)))
    return GaussianPatch(size=size if sized else None, covariance="flattened")


def patch_means(
    X: Array, neighborhoods: Neighborhoods, *, points: Array = None, n_jobs: int | None = None
) -> Array:
    """Replace every point by the mean of its patch, the point itself among its neighbours.

    Parameters
    ----------
    X : array of shape (n_samples, m)
    neighborhoods : Neighborhoods
        The neighbours, in ``X``, of the points of ``X``, or of ``points``.
    points : array of shape (n, m) or None
        New points; they do not influence each other.
    n_jobs : int or None

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> patch_means(X, find_neighbors(X, 1)).ravel()
    array([0.5, 0.5, 3. ])
    """
    return _Fit(GaussianPatch(), X, points, neighborhoods).means(n_jobs)


class _Fit:
    """One run of :meth:`GaussianPatch.fit`, in blocks of patches of equal size."""

    def __init__(
        self,
        recipe: GaussianPatch,
        X: Array,
        points: Array,
        neighborhoods: Neighborhoods,
        denoised: tuple[Array, Array] | None = None,
    ) -> None:
        origins = X if points is None else points
        self.origins = None if denoised is None else origins
        self.X, self.points = (X, origins) if denoised is None else denoised
        self.own = points is None  # whether a point is itself one of those that patches consist of
        self.neighborhoods = neighborhoods
        self.include_self = bool(recipe.include_self)
        self.center = recipe.center
        self.covariance = recipe.covariance
        self.setting = covariances.Setting(
            gamma=None if isinstance(recipe.gamma, str) else float(recipe.gamma),
            rank=recipe.rank,
            scale=_mean_variance(X),  # of the given points, also where patches are of denoised ones
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
        itemsize = xp.finfo(dtype).bits // 8
        row_bytes = itemsize * m * (6 * (self.widest + 1) + (0 if self.factored else 8 * m))
        degrees = self.neighborhoods.degrees
        walk = ordering.walk(to_numpy(self.points))
        fields: Fields = {"means": xp.empty((n, m), dtype=dtype)}
        if self.factored:
            fields["ridge"] = xp.empty((n,), dtype=dtype)
            fields["variances"] = xp.empty((n, self.rank), dtype=dtype)
            fields["directions"] = _room_for_directions(
                self.X, n, self.room(walk, row_bytes, n_jobs)
            )
        else:
            for name in ("roots", "whiteners"):
                fields[name] = xp.empty((n, m, m), dtype=dtype)
        left: list[tuple[NDArray[np.intp], Array]] = []
        fit = partial(self.fit_block, fields, left)
        bad = np.concatenate(self.by_size(fit, walk, row_bytes, n_jobs))
        if bad.size:
            first = int(bad.min())
            msg = (
                f"covariance='empirical' is singular in {bad.size} of {n} patches (first: patch "
                f"{first}, {int(degrees[first]) + int(self.include_self)} points in {m} "
                "dimensions); use covariance='ridge', or a larger size."
            )
            raise ValueError(msg)
        if left:
            widest = max(directions.shape[2] for _, directions in left)
            narrow, wider = fields["directions"], _room_for_directions(self.X, n, widest)
            wider[:, :, : narrow.shape[2]], wider[:, :, narrow.shape[2] :] = narrow, 0.0
            for rows, directions in left:
                put(wider[:, :, : directions.shape[2]], rows, directions)
            fields["directions"] = wider
        if self.factored:
            kept = fields["variances"][:, : fields["directions"].shape[2]]
            fields["variances"] = xp.asarray(kept, copy=True)
        return Patches(points=self.points if self.origins is None else fields["means"], **fields)

    def means(self, n_jobs: int | None) -> Array:
        """Return the means of the patches alone."""
        xp = array_namespace(self.X)
        means = xp.empty(self.points.shape, dtype=self.X.dtype)

        def fill(rows: NDArray[np.intp]) -> None:
            put(means, rows, self.centred(rows)[2])

        row_bytes = 4 * (xp.finfo(self.X.dtype).bits // 8) * means.shape[1] * (self.widest + 1)
        self.by_size(fill, ordering.walk(to_numpy(self.points)), row_bytes, n_jobs)
        return means

    def by_size(
        self,
        work: Callable[[NDArray[np.intp]], T],
        walk: NDArray[np.intp],
        row_bytes: int,
        n_jobs: int | None,
    ) -> list[T]:
        """Map ``work(rows)`` over blocks of patches of one size, in the order of ``walk``.

        What a block computes then depends on no other patch.
        """
        degrees = self.neighborhoods.degrees[walk]
        done: list[T] = []
        for degree in np.unique(degrees):
            rows = walk[degrees == degree]

            def block_work(block: slice, rows: NDArray[np.intp] = rows) -> T:
                return work(rows[block])

            done += map_blocks(block_work, len(rows), row_bytes, n_jobs)
        return done

    def room(self, walk: NDArray[np.intp], row_bytes: int, n_jobs: int | None) -> int:
        """Return how many directions there is to be room for, judged by some patches.

        New memory takes longer to get than directions to compute, and few may be in use.
        """

        def needed(rows: NDArray[np.intp]) -> int:
            Y, counts, _ = self.centred(rows)
            spread = covariances.ESTIMATES[self.covariance](Y, counts, self.setting)
            return int(used_ranks(spread.principal(self.rank)[1]).max())

        # All other covariances use all directions.
        size = len(walk) * self.rank * self.X.shape[1]
        if self.covariance != "flattened" or size < MANY_NUMBERS:
            return self.rank
        few = walk[:: max(1, len(walk) // SAMPLE)]
        room = max(self.by_size(needed, few, row_bytes, n_jobs), default=1)
        return room if 2 * room <= self.rank else self.rank

    def fit_block(
        self, fields: Fields, left: list[Any], rows: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Fit some patches into their rows of ``fields``; return those that have no estimate.

        Those whose directions there is no room for are ``left``, and have them there.
        """
        xp = array_namespace(self.X)
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
            covariance = {"variances": variances, "ridge": spread.ridge}
            room, used = fields["directions"].shape[2], used_ranks(variances)
            covariance["directions"] = directions[:, :, :room]
            wide = np.flatnonzero(used > room)
            if wide.size:
                some = xp.take(directions, xp.asarray(wide), axis=0)
                left.append((rows[wide], xp.asarray(some[:, :, : int(used.max())], copy=True)))
        else:
            covariance = triangular(spread.scattered(), spread.ridge)
        for name, value in {"means": means, **covariance}.items():
            put(fields[name], rows, value)
        return rows[:0]

    def centred(self, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Gather patches: centred points over the root of the divisor, counts, and means."""
        xp = array_namespace(self.X)
        points = xp.take(self.points, xp.asarray(rows), axis=0)
        members = self.members(rows)
        P = xp.take(self.X, xp.asarray(members.ravel()), axis=0)
        P = xp.reshape(P, (*members.shape, self.X.shape[1]))
        if self.include_self and not self.own:
            P = xp.concat([points[:, None, :], P], axis=1)
        size = P.shape[1]
        if size == 0:  # an isolated point is all there is to its patch
            P, size = xp.asarray(points[:, None, :], copy=True), 1
        # Differences from a point of the patch keep the digits of data far from the origin. In
        # place: P is a copy, and by far the largest array here.
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
        counts = xp.full((len(rows),), float(size), dtype=P.dtype)
        P /= float(max(size - int(lost), 1)) ** 0.5
        return P, counts, means

    def returned(
        self, rows: NDArray[np.intp], ridge: Array, directions: Array, variances: Array
    ) -> Array:
        """Let denoised points come back along their patches."""
        xp = array_namespace(self.X)
        at = xp.asarray(rows)
        points = xp.take(self.points, at, axis=0)
        offset = (xp.take(self.origins, at, axis=0) - points)[:, None, :]
        ridge = ridge[:, None] if ridge.ndim == 1 else ridge
        along = (offset @ directions) * variances[:, None, :]
        moved = along @ xp.matrix_transpose(directions) + ridge[:, None, :] * offset
        widest = xp.max(variances, axis=1) + xp.max(ridge, axis=1)
        return points + moved[:, 0, :] / widest[:, None]

    def members(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of ``X`` in patches of equal size, sorted.

        A patch is a set: sorted, equal sets give bit-identical patches whoever they belong to.
        """
        starts = self.neighborhoods.indptr[rows]
        degree = int(self.neighborhoods.degrees[rows[0]])
        members: NDArray[np.intp] = self.neighborhoods.indices[starts[:, None] + np.arange(degree)]
        if self.include_self and self.own:
            members = np.concatenate([members, rows[:, None]], axis=1)
        members.sort(axis=1)
        return members


def _room_for_directions(like: Array, n: int, room: int) -> Array:
    """Return room for so many directions of ``n`` patches, (n, m, room).

    Each lies together in memory.
    """
    xp = array_namespace(like)
    return xp.matrix_transpose(xp.empty((n, room, like.shape[1]), dtype=like.dtype))


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
        gamma = "auto" if setting.gamma is None else setting.gamma
        msg = (
            f"gamma={gamma!r} is a ridge of {setting.ridge:.3g}, beyond what {X.dtype} holds; "
            "choose another gamma, or convert X to float64."
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
