"""GaussianPatch: how a neighbourhood becomes a Gaussian."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from patchfold.base.arrays import Array, floating, to_numpy
from patchfold.base.estimators import BaseEstimator
from patchfold.base.types import Auto, CenterName, CovarianceName
from patchfold.base.validation import check_choice, check_count, check_points
from patchfold.neighbors import ExactNeighbors, find_neighbors
from patchfold.neighbors.neighborhoods import Neighborhoods
from patchfold.patches import covariances
from patchfold.patches.adaptive import REACH, adaptive_sizes
from patchfold.patches.denoising import fit_denoised
from patchfold.patches.fitting import PatchFit
from patchfold.patches.sample import Sample

if TYPE_CHECKING:
    from patchfold.patches.denoising import Denoised
    from patchfold.patches.fitting import Part
    from patchfold.patches.gaussians import Patches


CENTERS = get_args(CenterName)

# The size that is chosen for each point.
ADAPTIVE = "adaptive"

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
        once or twice ``n_neighbors``), see :func:`patchfold.patches.adaptive.adaptive_sizes`.
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
        - ``"diagonal-shrinkage"``: ``(1 - gamma) C + gamma diag(C)``, always a full matrix, of at
          most 1000 features;
        - ``"ledoit-wolf"``, ``"oas"``: shrinkage of estimated intensity;
        - ``"low-rank"``: the leading ``rank`` directions of ``C``, plus ``gamma I``;
        - ``"hazan"``: the same, found by Algorithm 1 of X-space. It stops at a duality gap of
          0.001, where each variance is within about 4.5 %, or after 100 000 steps;
        - ``"graphical-lasso"``: a sparse inverse covariance, a Markov random field, by
          scikit-learn. The penalty ``gamma`` is one of correlations. Always a full matrix; a patch
          of 13 features takes 5 ms, one of 64 takes 0.1 s.
    gamma : float or "auto", default="auto"
        The ridge, in squared units of the data; for the two shrinkages the intensity and for the
        graphical lasso the penalty, between 0 and 1. ``"auto"``: 0.007 of the mean variance of the
        features, so that rescaling the data changes nothing; as an intensity 0.1, as a penalty 0.2.
    rank : int or None, default=None
        Directions kept by ``"low-rank"`` (required there) and by ``"hazan"`` (None: all).
    denoise : bool, default=False
        Fit patches to smoothed points ``z``, each the mean of its neighbourhood, and centre them at
        ``z + Sigma (x - z) / l`` with ``l`` the largest eigenvalue of ``Sigma``.

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
        size: int | Literal["adaptive"] | None = None,
        include_self: Any = True,
        center: CenterName = "mean",
        covariance: CovarianceName = "ridge",
        gamma: float | Auto = "auto",
        rank: int | None = None,
        denoise: Any = False,
    ) -> None:
        self.size = size
        self.include_self = include_self
        self.center = center
        self.covariance = covariance
        self.gamma = gamma
        self.rank = rank
        self.denoise = denoise

    def fit(
        self,
        X: Array,
        neighborhoods: Any = None,
        *,
        points: Array = None,
        n_jobs: int | None = None,
    ) -> Patches:
        """Fit one Gaussian per neighbourhood.

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
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        Patches
            One patch per neighbourhood; float32 data gives float32 patches.
        """
        self._check()
        X = _points(X)
        if neighborhoods is None:
            if points is not None:
                raise ValueError(
                    "points=... needs neighborhoods, the neighbours of these points in X."
                )
            neighborhoods = self._searched(X, n_jobs)
        if points is None:
            if self.denoise:
                patches, _ = self._denoised(X, neighborhoods, n_jobs)
            else:
                patches = self.gaussians(X, neighborhoods, n_jobs=n_jobs)
            sized = self.size is None or self.size == ADAPTIVE
            members = neighborhoods if sized else self._cut(neighborhoods)
            return patches.fitted_to(Sample(X, np.arange(len(patches)), members))
        if not self.denoise:
            return self.gaussians(X, neighborhoods, points=points, n_jobs=n_jobs)
        _, denoised = self._denoised(X, self._searched(X, n_jobs), n_jobs)
        return denoised.of_new(self, points, X, neighborhoods, n_jobs)

    def gaussians(
        self,
        X: Array,
        neighborhoods: Any,
        *,
        points: Array = None,
        denoised: tuple[Array, Array] | None = None,
        n_jobs: int | None = None,
        part: Part | None = None,
    ) -> Patches:
        """Fit the Gaussians of given neighbourhoods, whether points are denoised or not.

        Parameters
        ----------
        X, neighborhoods, points, n_jobs
            As in :meth:`fit`.
        denoised : pair of arrays of shapes (n_samples, m) and (n, m), or None
            ``X`` and ``points`` after :func:`patch_means`, to make the patches of, and whose
            neighbourhoods are given.
        part : Part or None
            What is wanted where ``X`` is only a part of the points.
        """
        self._check()
        X = _points(X)
        if not isinstance(neighborhoods, Neighborhoods):
            raise TypeError(
                f"neighborhoods is a {type(neighborhoods).__name__}; pass what "
                "patchfold.neighbors.find_neighbors(X) returns."
            )
        _check_members(neighborhoods, X.shape[0])
        if self.size is not None and self.size != ADAPTIVE:
            neighborhoods = self._cut(neighborhoods)
        if points is not None:
            points = _points(points, like=X)
        if denoised is not None:
            denoised = _points(denoised[0], like=X), _points(denoised[1], like=X)
        n = X.shape[0] if points is None else points.shape[0]
        if len(neighborhoods) != n:
            raise ValueError(
                f"neighborhoods are those of {len(neighborhoods)} points, but {n} points were "
                "given; search the neighbours of the same points."
            )
        if self.size == ADAPTIVE:
            own = None if points is None else to_numpy(points)
            sizes = adaptive_sizes(to_numpy(X), neighborhoods, own, n_jobs=n_jobs)
            neighborhoods = neighborhoods.nearest(sizes)
        fit = PatchFit(
            X,
            points,
            neighborhoods,
            denoised,
            include_self=bool(self.include_self),
            center=self.center,
            covariance=self.covariance,
            gamma=None if isinstance(self.gamma, str) else float(self.gamma),
            rank=self.rank,
            part=part,
        )
        return fit.run(n_jobs)

    def reach(self, n_neighbors: int, n_samples: int) -> int:
        """Return how many neighbours a patch may have in a graph of this degree.

        Examples
        --------
        >>> GaussianPatch().reach(15, 1000), GaussianPatch(size="adaptive").reach(15, 1000)
        (15, 30)
        """
        self._check_size()
        if self.size == ADAPTIVE:
            return min(REACH * n_neighbors, n_samples - 1)
        return n_neighbors if self.size is None else int(self.size)

    def _denoised(
        self, X: Array, members: Neighborhoods, n_jobs: int | None
    ) -> tuple[Patches, Denoised]:
        search = ExactNeighbors(int(members.degrees.max(initial=1)), n_jobs=n_jobs)
        return fit_denoised(self, X, members, search, n_jobs)

    def _searched(self, X: Array, n_jobs: int | None) -> Neighborhoods:
        """Search the neighbours that the patches of ``X`` consist of."""
        size = self.reach(DEFAULT_SIZE, X.shape[0])
        if size >= X.shape[0]:
            raise ValueError(
                f"size={size} needs more than {size} samples, got {X.shape[0]}; "
                f"set size to at most {X.shape[0] - 1}."
            )
        return find_neighbors(to_numpy(X), size, n_jobs=n_jobs)

    def _cut(self, neighborhoods: Neighborhoods) -> Neighborhoods:
        most = int(neighborhoods.degrees.max(initial=0))
        if int(self.size or 0) > most:
            raise ValueError(
                f"size={self.size} needs neighborhoods of at least {self.size} points, these "
                f"have {most}; search more neighbours or lower size."
            )
        return neighborhoods.nearest(int(self.size or 0))

    def _check_size(self) -> None:
        if isinstance(self.size, str):
            check_choice("size", self.size, (ADAPTIVE,))
        elif self.size is not None:
            check_count("size", self.size)

    def _check(self) -> None:
        check_choice("covariance", self.covariance, covariances.ESTIMATES)
        check_choice("center", self.center, CENTERS)
        if not isinstance(self.include_self, (bool, np.bool_)):
            raise TypeError(f"include_self={self.include_self!r} must be True or False.")
        if not isinstance(self.denoise, (bool, np.bool_)):
            raise TypeError(f"denoise={self.denoise!r} must be True or False.")
        self._check_size()
        if self.rank is not None:
            check_count("rank", self.rank)
        if self.covariance == "low-rank" and self.rank is None:
            raise ValueError(
                "covariance='low-rank' needs rank, the number of directions to keep; e.g. rank=2."
            )
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("auto",))
            return
        intensity = self.covariance in covariances.SHARES
        top = 1.0 if intensity else np.inf
        gamma: Any = self.gamma
        number = isinstance(gamma, Real) and not isinstance(gamma, bool)
        if not number or not 0 < float(gamma) < top:
            allowed = "between 0 and 1" if intensity else "positive and finite"
            remedy = "" if intensity else "; covariance='empirical' adds no ridge"
            raise ValueError(f"gamma={self.gamma!r} must be {allowed}, or 'auto'{remedy}.")


def _check_members(neighborhoods: Neighborhoods, n: int) -> None:
    indices = neighborhoods.indices
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise ValueError(
            f"neighborhoods refer to points {indices.min()} to {indices.max()}, X has {n} rows; "
            "search the neighbours in the same X."
        )


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
        raise TypeError(
            f"points is a {type(X).__name__} and X a {type(like).__name__}; pass both alike."
        )
    if X.shape[1] != like.shape[1]:
        raise ValueError(
            f"points have {X.shape[1]} features, X has {like.shape[1]}; give the same columns."
        )
    return xp.astype(X, like.dtype, copy=False)
