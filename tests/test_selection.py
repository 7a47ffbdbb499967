"""Choosing n_neighbors: candidates share their neighbours, and the best one is fitted."""

from __future__ import annotations

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from candidates import ALONG, ESTIMATORS, NAMES, ROLL
from patchfold import (
    GaussianPatch,
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    PatchTSNE,
    papers,
    selection,
)
from patchfold.neighbors import ExactNeighbors, SharedNeighbors
from patchfold.selection import select_n_neighbors, select_patch_size

SEEDS = st.integers(0, 2**32 - 1)

each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)


# ---------------------------------------------------------------------------- shared neighbours


@pytest.mark.slow
@pytest.mark.some_cases(8)
@each
@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"divergence": "euclidean"},
        {"patch": GaussianPatch(size=25)},
        {"patch": GaussianPatch(size="adaptive")},
        {"graph": "divergence"},
        {"knn": KNeighborsTransformer(n_neighbors=100)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
def test_candidates_have_the_bits_of_fits_of_their_own(estimator, setting):
    estimator = clone(estimator).set_params(**setting)
    chosen = select_n_neighbors(estimator, ROLL, candidates=[8, 14, 21])
    assert sorted(chosen.embeddings) == [8, 14, 21]
    for k, embedding in chosen.embeddings.items():
        alone = clone(estimator).set_params(n_neighbors=k).fit(ROLL)
        np.testing.assert_array_equal(embedding, alone.embedding_)
        if k == chosen.n_neighbors:
            new = ROLL + 0.01
            np.testing.assert_array_equal(chosen.estimator.transform(new), alone.transform(new))


@pytest.mark.slow
def test_candidates_under_the_divergence_see_the_pool_of_a_fit_of_their_own():
    estimator = PatchIsomap(graph="divergence")
    with sklearn.config_context(working_memory=0.01):
        chosen = select_n_neighbors(estimator, ROLL, candidates=[9, 12, 25])
        assert sorted(chosen.embeddings) == [9, 12, 25]
        for k, embedding in chosen.embeddings.items():
            alone = clone(estimator).set_params(n_neighbors=k).fit_transform(ROLL)
            np.testing.assert_array_equal(embedding, alone)


def test_points_are_searched_once_for_all_candidates(monkeypatch):
    built = []
    original = ExactNeighbors.build

    def build(self, X):
        built.append(self.n_neighbors)
        return original(self, X)

    monkeypatch.setattr(ExactNeighbors, "build", build)
    select_n_neighbors(PatchIsomap(patch=GaussianPatch()), ROLL, candidates=[10, 30, 20])
    assert built == [30]


@pytest.mark.slow
def test_shared_neighbours_search_again_for_more_of_them_or_other_points():
    shared = SharedNeighbors()
    small = PatchIsomap(n_neighbors=10, knn=shared).fit(ROLL)
    large = PatchIsomap(n_neighbors=20, knn=shared).fit(ROLL)
    other = PatchIsomap(n_neighbors=20, knn=shared).fit(ROLL[20:])
    for fitted, k, X in ((small, 10, ROLL), (large, 20, ROLL), (other, 20, ROLL[20:])):
        alone = PatchIsomap(n_neighbors=k).fit(X)
        np.testing.assert_array_equal(fitted.embedding_, alone.embedding_)
        # New points are placed among the points that an estimator was fitted to, not the last ones.
        np.testing.assert_array_equal(fitted.transform(ROLL + 0.01), alone.transform(ROLL + 0.01))


def test_points_searched_between_do_not_push_out_those_that_are_shared(monkeypatch):
    built = []
    original = ExactNeighbors.build

    def build(self, X):
        built.append(len(X))
        return original(self, X)

    monkeypatch.setattr(ExactNeighbors, "build", build)
    shared = SharedNeighbors()
    for k in (20, 15, 10):
        for X in (ROLL, ROLL[20:]):
            PatchIsomap(n_neighbors=k, patch=GaussianPatch(), knn=shared).fit(X)
    assert built == [150, 130, 130, 130]


# ---------------------------------------------------------------------------- selection


@pytest.mark.slow
@each
def test_every_criterion_scores_every_candidate_and_the_first_one_chooses(estimator):
    y = (ALONG > 9).astype(int)
    names = ["lcmc", *(name for name in selection.NAMES if name != "lcmc")]
    chosen = select_n_neighbors(estimator, ROLL, y, criterion=names, candidates=[12, 20])
    assert list(chosen.scores) == names
    assert all(np.isfinite(column).all() for column in chosen.scores.values())
    assert chosen.criterion == "lcmc"
    assert chosen.n_neighbors == [12, 20][int(np.argmax(chosen.scores["lcmc"]))]
    assert chosen.estimator.n_neighbors == chosen.estimator.n_neighbors_ == chosen.n_neighbors
    assert chosen.estimator.knn == "auto"
    np.testing.assert_array_equal(
        chosen.estimator.embedding_, chosen.embeddings[chosen.n_neighbors]
    )
    assert not hasattr(estimator, "embedding_")


def test_agreement_can_choose():
    chosen = select_n_neighbors(PatchIsomap(), ROLL, criterion="agreement", candidates=[10, 14, 30])
    assert chosen.n_neighbors == [10, 14, 30][int(np.argmax(chosen.scores["agreement"]))]
    alone = PatchIsomap(n_neighbors=chosen.n_neighbors).fit(ROLL)
    np.testing.assert_array_equal(chosen.estimator.embedding_, alone.embedding_)


def test_a_function_of_ones_own_chooses_by_its_largest_value():
    def nearest_to_17(estimator, X):
        assert X.shape == ROLL.shape
        return -abs(estimator.n_neighbors_ - 17)

    chosen = select_n_neighbors(
        PatchLLE(), ROLL, criterion=[nearest_to_17, "lcmc"], candidates=[12, 16, 22]
    )
    assert chosen.n_neighbors == 16
    assert list(chosen.scores) == ["nearest_to_17", "lcmc"]


def test_of_equally_good_candidates_the_smallest_is_chosen():
    chosen = select_n_neighbors(PatchLLE(), ROLL, criterion=lambda *_: 1.0, candidates=[30, 12, 20])
    assert (chosen.n_neighbors, chosen.candidates) == (12, [12, 20, 30])


@pytest.mark.slow
@given(SEEDS, st.integers(-3, 3))
def test_the_choice_does_not_depend_on_units(seed, power):
    X = np.random.default_rng(seed).standard_normal((60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = select_n_neighbors(PatchIsomap(), X)
        again = select_n_neighbors(PatchIsomap(), 4.0**power * X)
    assert chosen.n_neighbors == again.n_neighbors
    np.testing.assert_allclose(
        chosen.scores[chosen.criterion], again.scores[chosen.criterion], atol=1e-9
    )


def test_a_candidate_that_cannot_be_fitted_is_out_of_the_running():
    X = np.random.default_rng(0).standard_normal((60, 8))
    recipe = GaussianPatch(covariance="empirical", include_self=False)
    chosen = select_n_neighbors(PatchIsomap(patch=recipe), X, candidates=[5, 20, 25])
    assert chosen.scores[chosen.criterion][0] == -np.inf
    assert chosen.n_neighbors in {20, 25}
    assert 5 not in chosen.embeddings
    alike = select_n_neighbors(
        PatchIsomap(patch=recipe), X, criterion="agreement", candidates=[5, 20]
    )
    assert alike.n_neighbors == 20
    with pytest.raises(ValueError, match="is singular"):
        select_n_neighbors(PatchIsomap(patch=recipe), X, candidates=[5, 6])


def test_only_the_chosen_fit_warns():
    X = np.concatenate([ROLL, ROLL + 300])
    small_is_best = {"criterion": lambda estimator, _: -estimator.n_neighbors_}
    with pytest.warns(UserWarning, match="has 2 components") as caught:
        select_n_neighbors(PatchIsomap(), X, candidates=[10, 12], **small_is_best)
    assert len(caught) == 1
    large_is_best = {"criterion": lambda estimator, _: estimator.n_neighbors_}
    select_n_neighbors(PatchIsomap(), ROLL, candidates=[3, 40], **large_is_best)  # 3 would warn


def test_printing_gives_the_table_and_a_line_a_candidate_when_asked(capsys):
    chosen = select_n_neighbors(PatchIsomap(), ROLL, candidates=[12, 20], verbose=1)
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in told] == [
        f"[select_n_neighbors] n_neighbors={k}" for k in (20, 12)
    ]
    lines = str(chosen).splitlines()
    assert lines[0].split() == ["n_neighbors", chosen.criterion]
    marked = [line for line in lines[1:] if "*" in line]
    assert [int(line.split("*")[0]) for line in marked] == [chosen.n_neighbors]


def test_usual_candidates_are_below_half_the_number_of_points():
    found = {n: selection._check_candidates(None, n) for n in (2, 5, 20, 21, 41, 80, 81, 10**6)}
    assert found == {
        2: [1],
        5: [2],
        20: [5],
        21: [5, 10],
        41: [5, 10, 20],
        80: [5, 10, 20],
        81: [5, 10, 20, 40],
        10**6: [5, 10, 20, 40],
    }


def test_data_frames_keep_their_names_and_threads_change_nothing():
    frame = load_iris(as_frame=True).data
    estimator = PatchLLE()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iris falls into two parts
        chosen = select_n_neighbors(estimator, frame, candidates=[10, 30], n_jobs=2)
        plain = select_n_neighbors(estimator, frame.to_numpy(), candidates=[10, 30])
    assert list(chosen.estimator.feature_names_in_) == list(frame.columns)
    assert chosen.estimator.n_jobs == 2
    np.testing.assert_array_equal(chosen.scores[chosen.criterion], plain.scores[chosen.criterion])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"criterion": "trust"}, ValueError, "criterion='trust' is not known"),
        ({"criterion": []}, ValueError, r"criterion=\[\] is empty; name one of energy"),
        ({"criterion": "cross-validation"}, ValueError, "needs the labels y; without labels use"),
        ({"criterion": lambda *_: None}, TypeError, "returned None; it has to return a number"),
        ({"criterion": lambda *_: np.nan}, TypeError, "returned nan; it has to return a number"),
        ({"candidates": []}, ValueError, r"candidates=\[\] have to be numbers of neighbours"),
        ({"candidates": [5, 150]}, ValueError, "below the number of samples, 150"),
        ({"candidates": [5.5]}, TypeError, r"candidates=5\.5 is not an integer"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        select_n_neighbors(PatchIsomap(), ROLL, **arguments)


def test_estimators_without_a_degree_to_choose_are_refused():
    with pytest.raises(TypeError, match="of a pipeline its last step"):
        select_n_neighbors(make_pipeline(StandardScaler(), PatchIsomap()), ROLL)
    for wrong in (PatchSpace(), PatchIsomap, KNeighborsClassifier()):
        with pytest.raises(TypeError, match="is no embedding with n_neighbors"):
            select_n_neighbors(wrong, ROLL)
    with pytest.raises(ValueError, match=r"radius=2\.0 leaves no n_neighbors to choose"):
        select_n_neighbors(PatchIsomap(radius=2.0), ROLL)
    with pytest.raises(TypeError, match="the degree of a given graph cannot be chosen"):
        select_n_neighbors(PatchIsomap(divergence="precomputed"), csr_array(cdist(ROLL, ROLL)))


# ---------------------------------------------------------------------------- "auto"


@each
def test_auto_is_the_fit_with_the_degree_that_the_criterion_chooses(estimator):
    # A patch as large as the degree, so that t-SNE depends on it, too.
    estimator = clone(estimator).set_params(patch=GaussianPatch())
    auto = clone(estimator).set_params(n_neighbors="auto").fit(ROLL)
    assert auto.n_neighbors == "auto"
    alone = clone(estimator).set_params(n_neighbors=auto.n_neighbors_).fit(ROLL)
    np.testing.assert_array_equal(auto.embedding_, alone.embedding_)
    np.testing.assert_array_equal(auto.transform(ROLL + 0.01), alone.transform(ROLL + 0.01))
    assert auto.n_neighbors_ in {5, 10, 20, 40}
    assert "choosing n_neighbors" in auto.fit_report_
    again = pickle.loads(pickle.dumps(auto))
    np.testing.assert_array_equal(again.transform(ROLL + 0.01), alone.transform(ROLL + 0.01))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=NAMES[:3])
def test_auto_chooses_as_the_selection_does_where_all_points_are_judged(estimator):
    auto = clone(estimator).set_params(n_neighbors="auto").fit(ROLL)
    assert auto.n_neighbors_ == select_n_neighbors(estimator, ROLL).n_neighbors


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [PatchLLE(), PatchSpace()], ids=["PatchLLE", "PatchSpace"])
def test_auto_judges_large_data_by_a_sample_and_fits_all(estimator):
    X = make_swiss_roll(600, random_state=0)[0]
    auto = clone(estimator).set_params(n_neighbors="auto").fit(X)
    alone = clone(estimator).set_params(n_neighbors=auto.n_neighbors_).fit(X)
    assert auto.graph_.shape == (600, 600)
    np.testing.assert_array_equal(auto.graph_.data, alone.graph_.data)


@pytest.mark.slow
def test_auto_works_with_labels_with_maps_and_with_given_distances():
    y = (ALONG > 9).astype(int)
    X = make_swiss_roll(450, random_state=0)[0]
    many = (X[:, 1] > 10).astype(int)
    for points, labels in ((ROLL, y), (X, many)):
        supervised = PatchIsomap(n_neighbors="auto", supervision="dissimilarity")
        supervised.fit(points, labels)
        alone = clone(supervised).set_params(n_neighbors=supervised.n_neighbors_)
        alone.fit(points, labels)
        np.testing.assert_array_equal(
            supervised.transform(points + 0.01), alone.transform(points + 0.01)
        )
    mapped = PatchLLE(n_neighbors="auto", out_of_sample="grnn").fit(ROLL)
    assert type(mapped.map_).__name__ == "GRNN"
    assert mapped.out_of_sample == "grnn"
    D = cdist(X, X)
    given_ = PatchIsomap(n_neighbors="auto", divergence="precomputed").fit(D)
    assert given_.embedding_.shape == (450, 2)


@pytest.mark.slow
def test_auto_leaves_the_degree_alone_where_t_sne_does_not_use_it():
    auto = PatchTSNE(n_neighbors="auto", perplexity=8, n_iter=1, random_state=0)
    for setting in ({}, {"divergence": "euclidean"}, {"patch": GaussianPatch(size=12)}):
        assert clone(auto).set_params(**setting).fit(ROLL).n_neighbors_ == 15
    # It is the size of a patch without one, and chosen.
    plain = clone(auto).set_params(patch=GaussianPatch(), lengths="divergence")
    assert plain.fit(ROLL).n_neighbors_ != 15


@pytest.mark.slow
def test_auto_judges_all_points_where_a_sample_is_too_small():
    X = make_swiss_roll(420, random_state=0)[0]
    wide = PatchTSNE(
        n_neighbors="auto", patch=GaussianPatch(), perplexity=139, n_iter=1, random_state=0
    ).fit(X)
    assert wide.n_neighbors_ in {5, 10, 20, 40}
    large = PatchLLE(n_neighbors="auto", patch=GaussianPatch(size=300)).fit(X)
    assert large.n_neighbors_ in {5, 10, 20, 40}


def test_auto_says_what_it_does_when_asked(capsys):
    PatchLLE(n_neighbors="auto", verbose=1).fit(ROLL)
    assert "[PatchLLE] choosing n_neighbors ..." in capsys.readouterr().out


def test_auto_is_refused_where_there_is_nothing_to_choose():
    with pytest.raises(ValueError, match=r"n_neighbors='auto' and radius=2\.0 exclude each other"):
        PatchIsomap(n_neighbors="auto", radius=2.0).fit(ROLL)
    graph = csr_array(cdist(ROLL, ROLL))
    with pytest.raises(ValueError, match="nothing to choose in a sparse graph"):
        PatchIsomap(n_neighbors="auto", divergence="precomputed").fit(graph)
    with pytest.raises(ValueError, match="n_neighbors='automatic' is not known"):
        PatchIsomap(n_neighbors="automatic").fit(ROLL)


# ---------------------------------------------------------------------------- failures, threads


class Failing(PatchIsomap):
    """Fits a sample, and not all points."""

    fits: ClassVar = []

    def fit(self, X, y=None):
        if self.n_neighbors != "auto":
            self.fits.append(len(X))
            if len(X) > 150:
                raise ValueError("too many points")
        return super().fit(X, y)


def test_a_fit_of_all_points_that_fails_is_not_taken_for_a_sample_too_small():
    Failing.fits.clear()
    X = make_swiss_roll(260, random_state=0)[0]
    with pytest.raises(ValueError, match="too many points"):
        selection.fit_best(Failing(), X, None, sampled_from=200)
    assert set(Failing.fits) == {130, 260}
    assert Failing.fits.count(260) == 1


# ---------------------------------------------------------------------------- size of patches


def energy_by_hand(graph, n_eigenvalues):
    D = graph.toarray()
    W = np.where(D > 0, np.exp(-D / np.median(graph.data)), 0)
    root = np.sqrt(W.sum(axis=1))
    return np.linalg.eigvalsh(W / np.outer(root, root))[-n_eigenvalues:].sum()


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
def test_the_size_of_patches_is_chosen_by_the_energy_of_x_space():
    X = load_iris().data
    method = papers.x_eigenmaps(12, 8, 2, divergence="hellinger")
    chosen = select_patch_size(method, X, candidates=[4, 9, 20])
    by_hand = []
    for size in (4, 9, 20):
        alone = clone(method).set_params(patch__size=size).fit(X)
        np.testing.assert_array_equal(chosen.embeddings[size], alone.embedding_)
        by_hand.append(energy_by_hand(alone.graph_, 3))
    np.testing.assert_allclose(chosen.scores["energy"], by_hand, rtol=1e-7)
    assert chosen.size == chosen.candidates[int(np.argmax(by_hand))] == chosen.estimator.patch.size
    assert chosen.n_neighbors == chosen.estimator.n_neighbors == 12
    assert method.patch.size == 8
    assert f"{chosen.size}*" in str(chosen)
    assert str(chosen).split()[:2] == ["size", "energy"]


def test_sizes_of_the_recommended_patch_are_compared_where_none_is_given():
    chosen = select_patch_size(PatchIsomap(), ROLL, criterion=["lcmc", "energy"])
    assert chosen.candidates == [3, 5, 7, 10, 15, 20, 25]
    assert chosen.criterion == "lcmc"
    assert chosen.estimator.patch.denoise
    ax = chosen.plot()
    assert ax.get_xlabel() == "neighbours in a patch"
    assert f"m = {chosen.size}" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        ({"divergence": "euclidean"}, {}, "divergence='euclidean' has no patches"),
        ({"radius": 2.0}, {}, "radius="),
        ({}, {"candidates": [200]}, "candidates="),
        ({}, {"criterion": "cross-validation"}, "needs the labels"),
    ],
)
def test_what_has_no_sizes_to_choose_is_refused(parameters, options, words):
    with pytest.raises(ValueError, match=words):
        select_patch_size(PatchIsomap(**parameters), ROLL, **options)
