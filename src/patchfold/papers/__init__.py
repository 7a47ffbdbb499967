"""The methods of the five papers, each as an estimator set up by the paper's equations.

One function per system: the paper's own parameters in, a configured estimator out. Everything else
can be changed afterwards by ``set_params``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans

from patchfold.base.validation import check_choice, check_count
from patchfold.embedding import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.patches import GaussianPatch
from patchfold.supervision import Dissimilarity

if TYPE_CHECKING:
    from patchfold.base.types import Indices, Seed

__all__ = [
    "elap",
    "isomap_kl",
    "pelle",
    "spectral_clusters",
    "supervised_isomap",
    "x_eigenmaps",
    "x_isomap",
    "x_lle",
    "x_tsne",
]

# The covariances that X-space can be read to use.
Reading: TypeAlias = Literal["ridge", "hazan"]


def isomap_kl(
    n_neighbors: int = 15, n_components: int = 2, *, include_self: bool = True, gamma: float = 1e-3
) -> PatchIsomap:
    """ISOMAP-KL (Cervati Neto and Levada, 2020, section IV).

    The patch of a point contains it (eq. 23); the paper's printed Table I comes from patches that
    do not, ``include_self=False``. Where a covariance is singular the equations have no value, and
    ``gamma`` is added to its diagonal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import silhouette_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from patchfold import papers
    >>> X, y = load_iris(return_X_y=True)
    >>> table_one = papers.isomap_kl(20, include_self=False)
    >>> Y = table_one.fit_transform(StandardScaler().fit_transform(X))
    >>> f"{silhouette_score(Y, y):.3f}"
    '0.576'
    """
    return PatchIsomap(
        n_components,
        n_neighbors=n_neighbors,
        divergence="kl",
        patch=_levada_patch(include_self, gamma),
        lengths="divergence",
        landmarks=None,
        scaling="classical",
    )


def pelle(
    n_neighbors: int = 15,
    n_components: int = 2,
    *,
    reg: float = 1e-3,
    include_self: bool = True,
    gamma: float = 1e-3,
) -> PatchLLE:
    """PELLE, parametric entropic locally linear embedding (section 3, eq. 19-29).

    ``reg`` is the paper's alpha (section 2.1.2); ``gamma`` as in :func:`isomap_kl`.
    """
    return PatchLLE(
        n_components,
        n_neighbors=n_neighbors,
        divergence="kl",
        patch=_levada_patch(include_self, gamma),
        lengths="divergence",
        weights="entropic",
        reg=reg,
    )


def elap(
    n_neighbors: int = 15,
    n_components: int = 2,
    *,
    t: float = 1.0,
    include_self: bool = True,
    gamma: float = 1e-3,
) -> PatchEigenmaps:
    """ELAP, entropic Laplacian eigenmaps (Levada and Haddad, 2021, Algorithm 2).

    Weights ``exp(-d^2 / t)`` on edges and none elsewhere (eq. 42), unnormalised Laplacian;
    ``gamma`` as in :func:`isomap_kl`.
    """
    return PatchEigenmaps(
        n_components,
        n_neighbors=n_neighbors,
        divergence="kl",
        patch=_levada_patch(include_self, gamma),
        lengths="divergence",
        kernel="gaussian",
        bandwidth=t,
        laplacian="unnormalized",
    )


def x_isomap(
    n_neighbors: int = 10,
    size: int = 10,
    n_components: int = 2,
    *,
    divergence: str = "jeffreys",
    gamma: float = 1e-4,
    covariance: Reading = "ridge",
    rank: int | None = None,
) -> PatchIsomap:
    """X-ISM: Isomap in the metric space of local Gaussians (Abou-Moustafa et al., 2013).

    ``size`` is the paper's m, neighbours in a patch; ``n_neighbors`` its neighbourhood size,
    counted under the divergence. Patches are centred at the point.

    The paper has two covariances. Section 6 says that all experiments, and so the printed tables,
    use ``R = C + gamma I``: the default, ``"ridge"``. Section 3 finds a low-rank estimate by its
    Algorithm 1, ``covariance="hazan"``: ``rank`` directions of the patch, all if it is None (then
    the estimate tends to ``R``, footnote 6), plus ``gamma I``. The paper prints no rank.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from patchfold import papers
    >>> papers.x_isomap(covariance="hazan", rank=2).fit(load_wine().data).patches_
    Patches(n=178, features=13, rank 2 + ridge)
    """
    return PatchIsomap(
        n_components,
        n_neighbors=n_neighbors,
        **_x_space(size, divergence, gamma, covariance, rank),
        landmarks=None,
        scaling="classical",
    )


def x_eigenmaps(
    n_neighbors: int = 10,
    size: int = 10,
    n_components: int = 2,
    *,
    divergence: str = "jeffreys",
    gamma: float = 1e-4,
    covariance: Reading = "ridge",
    rank: int | None = None,
    sigma: Any = "median",
) -> PatchEigenmaps:
    """X-LEM: Laplacian eigenmaps in the metric space of local Gaussians.

    Weights ``exp(-d / sigma)`` (section 4.1). The paper tries three ``sigma``: the median, the 0.25
    and the 0.75 quantile of all pairwise similarities (section 6), which are ``"pairwise-median"``,
    ``"pairwise-0.25"`` and ``"pairwise-0.75"`` here. The default, ``"median"``, is the median of
    the divergences along edges, or more where the graph would fall apart. The printed cells of
    iris come out with it, at ``n_neighbors=10``, ``size=5`` and ``"bhattacharyya-riemann"``. A
    number is possible, too.

    The paper's dimension, the number of classes, counts the constant eigenvector; ``n_components``
    does not. Other parameters as in :func:`x_isomap`.
    """
    return PatchEigenmaps(
        n_components,
        n_neighbors=n_neighbors,
        **_x_space(size, divergence, gamma, covariance, rank),
        kernel="exponential",
        bandwidth=sigma,
        laplacian="random-walk",
    )


def x_lle(
    n_neighbors: int = 10,
    size: int = 10,
    n_components: int = 2,
    *,
    divergence: str = "jeffreys",
    gamma: float = 1e-4,
    covariance: Reading = "ridge",
    rank: int | None = None,
    reg: float = 1e-3,
) -> PatchLLE:
    """X-LLE: locally linear embedding with neighbours chosen in the metric space of Gaussians.

    Parameters as in :func:`x_isomap`, and ``reg`` of :class:`~patchfold.PatchLLE`.
    """
    return PatchLLE(
        n_components,
        n_neighbors=n_neighbors,
        **_x_space(size, divergence, gamma, covariance, rank),
        weights="euclidean",
        reg=reg,
    )


def x_tsne(
    perplexity: float = 30.0,
    size: int = 10,
    n_components: int = 2,
    *,
    divergence: str = "jeffreys",
    gamma: float = 1e-4,
    covariance: Reading = "ridge",
    rank: int | None = None,
    random_state: Any = None,
) -> PatchTSNE:
    """X-tSNE: t-SNE in the metric space of local Gaussians; parameters as in :func:`x_isomap`."""
    return PatchTSNE(
        n_components,
        perplexity=perplexity,
        random_state=random_state,
        **_x_space(size, divergence, gamma, covariance, rank),
    )


def supervised_isomap(
    n_neighbors: int = 15,
    n_components: int = 2,
    *,
    alpha: float = 0.5,
    beta: float | None = None,
    out_of_sample: Any = "krr",
) -> PatchIsomap:
    """SA-Isomap: supervised agglomerative Isomap (Orsenigo and Vercellis, 2012, sections 2 and 3).

    Neighbours are chosen, parts joined and geodesics measured under the dissimilarity of eq. 1;
    new points are mapped by kernel ridge regression, or by ``out_of_sample="grnn"``, what the paper
    compares it with. ``beta=None`` is the mean distance. The paper's value of ``alpha`` is not
    known to us.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from patchfold import papers
    >>> X, X_new, y, y_new = train_test_split(*load_wine(return_X_y=True), random_state=0)
    >>> steps = StandardScaler(), papers.supervised_isomap(), KNeighborsClassifier()
    >>> bool(make_pipeline(*steps).fit(X, y).score(X_new, y_new) > 0.9)
    True
    """
    return PatchIsomap(
        n_components,
        n_neighbors=n_neighbors,
        divergence="euclidean",
        landmarks=None,
        scaling="classical",
        graph="divergence",
        supervision=Dissimilarity(alpha=alpha, beta=beta),
        out_of_sample=out_of_sample,
    )


def spectral_clusters(
    X: Any,
    n_clusters: int,
    *,
    estimator: PatchEigenmaps | None = None,
    random_state: Seed = None,
) -> Indices:
    """Cluster by cutting the graph of patches (ELAP, section II-E).

    k-means groups the leading ``n_clusters - 1`` eigenvectors beside the constant one. They solve
    the relaxed problem of the least normalised cut, NCut (eq. 34); with
    ``laplacian="unnormalized"`` that of the ratio cut, RCut (eq. 27 and 33).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    n_clusters : int
        At least two.
    estimator : PatchEigenmaps or None
        What makes the graph and its Laplacian; None means ``PatchEigenmaps()``. Its
        ``n_components`` does not count.
    random_state : int, RandomState or None
        Seed of k-means, which keeps the best of ten runs.

    Returns
    -------
    array of shape (n_samples,)
        The cluster of every point, from 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from patchfold import papers
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = papers.spectral_clusters(StandardScaler().fit_transform(X), 3, random_state=0)
    >>> bool(adjusted_rand_score(y, labels) > 0.8)
    True
    """
    if check_count("n_clusters", n_clusters) < 2:
        raise ValueError(f"n_clusters={n_clusters} leaves nothing to cut; give at least 2.")
    maps = PatchEigenmaps() if estimator is None else clone(estimator)
    places = maps.set_params(n_components=n_clusters - 1).fit_transform(X)
    labels = KMeans(n_clusters, n_init=10, random_state=random_state).fit_predict(places)
    return np.asarray(labels, dtype=np.intp)


def _levada_patch(include_self: bool, gamma: float) -> GaussianPatch:
    """ISOMAP-KL eq. 23-25, PELLE eq. 19-21, and the same in ELAP."""
    return GaussianPatch(
        include_self=include_self, center="mean", covariance="ridge-if-singular", gamma=gamma
    )


def _x_space(
    size: int, divergence: str, gamma: float, covariance: Reading, rank: int | None
) -> dict[str, Any]:
    """X-space sections 2.1, 3, 4.2 and 6."""
    check_choice("covariance", covariance, get_args(Reading))
    if covariance == "ridge" and rank is not None:
        raise ValueError(f"rank={rank} is for covariance='hazan'; 'ridge' keeps all directions.")
    patch = GaussianPatch(
        size, include_self=False, center="point", covariance=covariance, gamma=gamma, rank=rank
    )
    return {
        "patch": patch,
        "divergence": divergence,
        "lengths": "divergence",
        "graph": "divergence",
    }
