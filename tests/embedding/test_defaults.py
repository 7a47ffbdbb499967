"""Defaults that work on any table, that are what they say, and that leave what is given alone."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from ast import literal_eval
from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer

from equations import DATA, normal
from patchfold import (
    GaussianPatch,
    PatchEigenmaps,
    PatchIsomap,
    PatchLLE,
    PatchOutliers,
    PatchSpace,
    PatchTSNE,
)
from patchfold.graph.short_circuits import recommended_patch
from patchfold.neighbors import ApproximateNeighbors, ExactNeighbors
from patchfold.neighbors.given import TransformerNeighbors
from patchfold.supervision import Dissimilarity

EMBEDDINGS = [PatchIsomap, PatchLLE, PatchEigenmaps, PatchTSNE]
FIVE = [*EMBEDDINGS, PatchSpace]
CUT = r"samples have fewer neighbours than asked for"

every = pytest.mark.parametrize("estimator", FIVE)
cutting_is_fine = pytest.mark.filterwarnings(f"ignore:.*{CUT}:UserWarning")


def result(fitted):
    return fitted.graph_.toarray() if isinstance(fitted, PatchSpace) else fitted.embedding_


def placed(fitted, X):
    found = fitted.transform(X)
    return found.toarray() if issparse(found) else found


# ------------------------------------------------------------------- few points


@every
@pytest.mark.parametrize("n", [3, 4, 12])
def test_more_neighbours_than_there_are_points_are_cut_with_one_warning(estimator, n):
    X = normal(0, n, 3)
    with pytest.warns(
        UserWarning, match=rf"^{n} {CUT}: n_neighbors={n - 1} instead of 15"
    ) as caught:
        found = estimator(random_state=0).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (found.n_neighbors, found.n_neighbors_) == (15, n - 1)
    assert np.isfinite(result(found)).all()
    assert np.isfinite(placed(found, normal(1, 4, 3))).all()
    np.testing.assert_array_equal(placed(found, X[:2]), placed(found, X)[:2])


@cutting_is_fine
@every
@pytest.mark.parametrize("setting", [{}, {"graph": "divergence"}, {"divergence": "euclidean"}])
def test_what_is_cut_is_the_fit_with_all_others_as_neighbours(estimator, setting):
    X = normal(0, 12, 3)
    cut, asked = (estimator(random_state=0, **setting, n_neighbors=k).fit(X) for k in (40, 11))
    np.testing.assert_array_equal(result(cut), result(asked))
    np.testing.assert_array_equal(placed(cut, X + 0.1), placed(asked, X + 0.1))


@pytest.mark.parametrize("estimator", [PatchIsomap, PatchEigenmaps, PatchSpace])
def test_given_distances_are_cut_and_a_given_graph_is_not(estimator):
    X = normal(0, 12, 3)
    with pytest.warns(UserWarning, match=CUT):
        dense = estimator(divergence="precomputed").fit(cdist(X, X))
    sparse = estimator(divergence="precomputed").fit(csr_array(cdist(X, X)))
    assert (dense.n_neighbors_, sparse.n_neighbors_) == (11, 15)
    np.testing.assert_allclose(result(dense), result(sparse), atol=1e-9)


def test_a_radius_has_nothing_to_cut():
    fitted = PatchIsomap(radius=50.0).fit(normal(0, 12, 3))
    assert fitted.n_neighbors_ is None
    assert fitted.patch_.size is None


@every
def test_two_points_span_one_dimension_and_the_others_are_zero(estimator):
    X = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = estimator(random_state=0).fit(X)
        new = placed(found, X + 0.1)
    assert re.match(f"2 {CUT}: n_neighbors=1 instead of 15", str(caught[0].message))
    assert np.isfinite(new).all()
    if estimator is PatchSpace:
        assert len(caught) == 1
        return
    message = "2 samples span 1 of n_components=2 dimensions; the others are zero."
    assert message in [str(warning.message) for warning in caught]
    assert found.embedding_.shape == new.shape == (2, 2)
    assert found.embedding_[0, 0] != found.embedding_[1, 0]
    np.testing.assert_array_equal(np.vstack([found.embedding_, new])[:, 1], 0)
    if estimator is not PatchTSNE:
        assert found.eigenvalues_.shape == (2,)


@pytest.mark.parametrize("estimator", EMBEDDINGS)
def test_more_components_than_points_span_are_zero(estimator):
    X = normal(0, 20, 3)
    setting = {"n_neighbors": 7, "random_state": 0}
    if estimator is PatchTSNE:
        setting |= {"perplexity": 3, "n_iter": 5}
    with pytest.warns(UserWarning, match="20 samples span 19 of n_components=21 dimensions"):
        found = estimator(21, **setting).fit(X)
    spanned = estimator(19, **setting).fit(X)
    np.testing.assert_array_equal(found.embedding_[:, :19], spanned.embedding_)
    np.testing.assert_array_equal(found.embedding_[:, 19:], 0)
    new = normal(1, 4, 3)
    np.testing.assert_array_equal(found.transform(new)[:, :19], spanned.transform(new))
    assert found.get_feature_names_out().shape == (21,)


@cutting_is_fine
@pytest.mark.filterwarnings("ignore:.* samples span 1 of:UserWarning")
@every
@pytest.mark.parametrize("n", [2, 3, 12, 40])
def test_equal_points_have_a_finite_embedding(estimator, n):
    found = estimator(random_state=0).fit(np.ones((n, 3)))
    assert np.isfinite(result(found)).all()
    assert np.isfinite(placed(found, [[1.0, 1, 1], [2.0, 1, 1]])).all()
    assert (found.graph_.data == 0).all()
    if estimator is not PatchSpace:
        np.testing.assert_array_equal(found.embedding_, 0)


@cutting_is_fine
@pytest.mark.filterwarnings("ignore:2 distinct samples span 1", "ignore:all divergences are zero")
@every
@pytest.mark.parametrize("n", [3, 12, 40])
def test_equal_points_but_one_have_a_finite_embedding(estimator, n):
    X = np.vstack([np.ones((n - 1, 3)), [[2.0, 0, 1]]])
    found = estimator(random_state=0).fit(X)
    assert np.isfinite(result(found)).all()
    assert np.isfinite(placed(found, X + 0.1)).all()
    assert found.graph_.data.max() > 0
    if estimator is PatchIsomap:
        apart = cdist(found.embedding_, found.embedding_)
        assert apart[-1, :-1].min() > 10 * apart[:-1, :-1].max()


# ------------------------------------------------------------------- what was decided


@pytest.mark.parametrize("estimator", [PatchIsomap, PatchLLE, PatchEigenmaps, PatchSpace])
@pytest.mark.parametrize("n", [45, 1000])
def test_the_patch_that_was_decided_is_shown(estimator, n):
    X = normal(0, n, 3)
    found = estimator().fit(X)
    assert repr(found.patch_) == repr(recommended_patch(n))
    assert found.patch is None
    given = estimator(patch=found.patch_).fit(X)
    np.testing.assert_array_equal(result(given), result(found))


# For every parameter another value than its default, as small data need it.
CHANGED = {
    "n_components": [3],
    "n_neighbors": [9],
    "divergence": ["hellinger", "euclidean"],
    "patch": [GaussianPatch(size=9)],
    "lengths": ["pruned", "divergence"],
    "scaling": ["classical"],
    "graph": ["divergence"],
    "radius": [1.5],
    "supervision": ["cut"],
    "out_of_sample": ["krr"],
    "metric": ["cosine"],
    "knn": ["exact"],
    "landmarks": [20],
    "weights": ["entropic"],
    "reg": [0.1],
    "kernel": ["exponential"],
    "bandwidth": ["median"],
    "laplacian": ["symmetric"],
    "perplexity": [4.0],
    "learning_rate": [50.0],
    "early_exaggeration": [4.0],
    "n_iter": [6],
    "contamination": [0.1],
    "engine": ["threads"],
    "n_jobs": [2],
    "random_state": [0],
    "verbose": [1],
}
# What a fit decides, by the parameter that asks for it, and how it shows.
DECISIONS = {
    "n_neighbors": lambda fitted: fitted.n_neighbors_,
    "patch": lambda fitted: repr(fitted.patch_),
    "lengths": lambda fitted: fitted.patch_graph_.pruned,
    "graph": lambda fitted: fitted.patch_graph_.setting.by_divergence,
    "radius": lambda fitted: fitted.patch_graph_.setting.radius,
    "supervision": lambda fitted: fitted.patch_graph_.setting.supervision,
    "out_of_sample": lambda fitted: repr(fitted.map_),
    "scaling": lambda fitted: fitted._placing.places is not None,  # which least stress keeps
    "landmarks": lambda fitted: None if fitted.landmarks_ is None else len(fitted.landmarks_),
    "bandwidth": lambda fitted: fitted.bandwidth_,
    "perplexity": lambda fitted: fitted.perplexity_,
    "contamination": lambda fitted: fitted.offset_,
}
# Decisions that follow from another parameter, as their documentation says.
FOLLOWS = {
    ("n_neighbors", "radius"),  # which leaves no number
    ("patch", "radius"),  # all neighbours within it
    ("patch", "divergence"),  # "euclidean" has no patches
    ("lengths", "divergence"),  # and nothing to stretch by
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:supervision='cut' changes lengths:UserWarning")
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
@pytest.mark.parametrize("estimator", [*FIVE, PatchOutliers])
def test_no_default_depends_on_another_parameter(estimator):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3] + 1e-3 * normal(0, 50, 4), y[::3]
    given = {"perplexity": 5.0, "n_iter": 5} if estimator is PatchTSNE else {}
    names = inspect.signature(estimator).parameters
    asked = [name for name in DECISIONS if name in names]

    def decided(**changes):
        fitted = estimator(**given | changes).fit(X, y)
        return {name: DECISIONS[name](fitted) for name in asked}

    default = decided()
    assert default.get("lengths", True)
    assert default.get("scaling", True)
    assert default.get("landmarks") is None
    assert default.get("out_of_sample", "None") == "None"
    for changed in names:
        found = [decided(**{changed: value}) for value in CHANGED[changed]]
        for decision in asked:
            seen = {one[decision] for one in found} | {default[decision]}
            if decision == changed:
                assert len(seen) == 2, f"{changed} shows nowhere"
            elif (decision, changed) not in FOLLOWS:
                assert len(seen) == 1, f"{decision} depends on {changed}"


def attributes(fitted):
    """What a fit has learned, such that two of them can be compared; times are never the same."""
    return {
        name: pickle.dumps(value)
        for name, value in vars(fitted).items()
        if name not in {"n_neighbors", "fit_report_", "patch_graph_"}
    }


@pytest.mark.slow
@every
def test_a_chosen_degree_leaves_the_attributes_of_a_fit_with_it(estimator):
    X = load_iris().data[50:] + 1e-3 * normal(0, 100, 4)
    setting = {"random_state": 0}
    if estimator is PatchTSNE:
        setting |= {"n_iter": 5}
    auto = estimator(n_neighbors="auto", **setting).fit(X)
    alone = estimator(n_neighbors=auto.n_neighbors_, **setting).fit(X)
    assert attributes(auto) == attributes(alone)
    np.testing.assert_array_equal(auto.graph_.toarray(), alone.graph_.toarray())
    np.testing.assert_array_equal(auto.patches_.means, alone.patches_.means)
    assert auto.patch_graph_.setting.degree == alone.patch_graph_.setting.degree
    assert auto.patch_graph_.setting.knn == alone.patch_graph_.setting.knn == "auto"
    np.testing.assert_array_equal(placed(auto, X + 0.1), placed(alone, X + 0.1))


# ------------------------------------------------------------------- what is given stays


def state_of(value):
    """Return everything that an object consists of."""
    return pickle.dumps(value)


@pytest.mark.parametrize(
    "knn",
    [
        pytest.param(ExactNeighbors(20), id="search"),
        pytest.param(ExactNeighbors(20).build(normal(9, 60, 3)), id="built search"),
        pytest.param(KNeighborsTransformer(n_neighbors=20), id="transformer"),
        pytest.param(TransformerNeighbors(KNeighborsTransformer(n_neighbors=20), 19), id="wrapped"),
        pytest.param(KNeighborsTransformer(n_neighbors=20).fit(normal(9, 60, 3)), id="fitted"),
    ],
)
@every
def test_a_fit_does_not_change_the_search_it_is_given(estimator, knn):
    X, new = normal(0, 60, 3), normal(1, 5, 3)
    before = state_of(knn)
    setting = {"n_neighbors": 8, "random_state": 0}
    if estimator is PatchTSNE:
        setting |= {"perplexity": 4, "n_iter": 5}
    found = estimator(knn=knn, **setting).fit(X)
    assert found.knn is knn
    mapped = placed(found, new)
    assert state_of(knn) == before
    own = estimator(knn="exact", **setting).fit(X)
    np.testing.assert_array_equal(result(found), result(own))
    np.testing.assert_array_equal(mapped, placed(own, new))
    # Nor does a second fit of the same search change what the first one has learned.
    estimator(knn=knn, **setting).fit(X[::-1] + 1)
    np.testing.assert_array_equal(placed(found, new), mapped)
    assert state_of(knn) == before


@pytest.mark.xdist_group("pynndescent")  # compiled once
def test_a_fit_does_not_change_an_approximate_search():
    pytest.importorskip("pynndescent", reason="the approximate search of patchfold[ann]")
    X, knn = normal(0, 200, 3), ApproximateNeighbors(12, random_state=0)
    before = {name: repr(value) for name, value in vars(knn).items()}
    PatchSpace(n_neighbors=10, knn=knn).fit(X)
    assert {name: repr(value) for name, value in vars(knn).items()} == before


@every
def test_a_fit_does_not_change_points_labels_or_objects(estimator):
    X, y = DATA["k > m"][0].copy(), np.arange(45) % 2
    given = {
        "patch": GaussianPatch(covariance="oas", denoise=True),
        "supervision": Dissimilarity(),
        "n_neighbors": 7,
        "lengths": "divergence",
        "random_state": 0,
    }
    if estimator is not PatchSpace:
        given["out_of_sample"] = KNeighborsRegressor(3)
    if estimator is PatchTSNE:
        given |= {"perplexity": 5, "n_iter": 5}
    if estimator is PatchLLE:
        given["weights"] = "entropic"
    if estimator is PatchEigenmaps:
        given["bandwidth"] = "median"
    before = deepcopy(given), X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    found = estimator(**given).fit(X, y)
    placed(found, X + 0.1)
    assert {name: state_of(value) for name, value in given.items()} == {
        name: state_of(value) for name, value in before[0].items()
    }
    for name, value in given.items():
        assert getattr(found, name) is value
    assert found.patch_ is not given["patch"]
    np.testing.assert_array_equal(X, before[1])
    np.testing.assert_array_equal(y, before[2])


@every
def test_a_fit_does_not_change_given_distances(estimator):
    X = DATA["k > m"][0]
    setting = {"divergence": "precomputed", "n_neighbors": 7, "random_state": 0}
    if estimator is PatchTSNE:
        setting |= {"perplexity": 5, "n_iter": 5}
    if estimator is PatchLLE:
        setting["weights"] = "entropic"
    for D in (cdist(X, X), csr_array(cdist(X, X))):
        before = D.copy()
        found = estimator(**setting).fit(D)
        placed(found, D[:4])
        assert abs(D - before).max() == 0
        assert not issparse(D) or D.nnz == before.nnz


# ------------------------------------------------------------------- chance


@pytest.mark.parametrize("setting", [{"landmarks": 12}, {"knn": "approximate"}], ids=str)
def test_a_seed_decides_and_landmarks_need_none(setting):
    if "knn" in setting:
        pytest.importorskip("pynndescent", reason="the approximate search of patchfold[ann]")
    X = normal(0, 45, 3)
    first, again = (PatchIsomap(random_state=3, **setting).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    if "landmarks" in setting:
        drawn = [PatchIsomap(random_state=seed, **setting).fit(X) for seed in (None, None, 0, 3)]
        rows = [tuple(fitted.landmarks_) for fitted in drawn]
        assert rows[0] == rows[1] == rows[2] != rows[3]


def test_tsne_starts_anew_in_every_fit_without_a_seed():
    X = normal(0, 45, 3)
    tsne = PatchTSNE(perplexity=5, n_iter=5)
    assert not np.array_equal(tsne.fit_transform(X), clone(tsne).fit_transform(X))


# ------------------------------------------------------------------- words


def described(estimator, title="Parameters"):
    """Split a section of a docstring into names, types and words."""
    doc = inspect.getdoc(estimator)
    section = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n---|\Z)", doc, re.DOTALL | re.MULTILINE)
    found = re.finditer(r"^(\w+) : (.*)\n((?: {4}.*\n|\n)*)", section.group(1), re.MULTILINE)
    return {match[1]: (match[2], " ".join(match[3].split())) for match in found}


# What these say in words of their own.
OWN_WORDS = {
    PatchIsomap: {"divergence", "engine", "random_state"},
    PatchEigenmaps: {"engine"},
    PatchTSNE: {
        "n_components",
        "n_neighbors",
        "patch",
        "graph",
        "radius",
        "random_state",
        "verbose",
    },
    PatchSpace: {"n_neighbors", "engine"},
}


@every
def test_equal_parameters_have_equal_words(estimator):
    words, reference = described(estimator), described(PatchLLE)
    shared = words.keys() & reference.keys()
    assert len(shared) >= 12
    differ = {name for name in shared if words[name] != reference[name]}
    assert differ == OWN_WORDS.get(estimator, set())


@every
def test_every_parameter_and_attribute_is_described_in_its_order(estimator):
    signature = inspect.signature(estimator).parameters
    words = described(estimator)
    assert list(words) == list(signature)
    for name, (kind, text) in words.items():
        default = kind.rpartition("default=")[2]
        value = np.inf if default == "inf" else literal_eval(default)
        assert value == signature[name].default
        assert text.endswith(".")
    setting = {"perplexity": 5, "n_iter": 5} if estimator is PatchTSNE else {}
    fitted = estimator(n_neighbors=7, **setting).fit(DATA["k > m"][0])
    learned = {name for name in dir(fitted) if re.fullmatch(r"[a-z]\w*[a-z]_", name)}
    assert learned - {"n_features_in_"} == described(estimator, "Attributes").keys()
