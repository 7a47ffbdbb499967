"""Isomap at any scale; landmarks place all points, in memory that is known beforehand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll

from equations import assert_equal_up_to_sign, normal
from patchfold import GaussianPatch, PatchIsomap, embedding, metrics
from patchfold.base import memory
from patchfold.graph.geodesics import shortest_paths


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(600, noise=0.2, random_state=0)[0]


@pytest.mark.parametrize("scaling", ["stress", "classical"])
def test_geodesics_between_many_points_are_in_single_precision_for_stress(
    roll, scaling, monkeypatch
):
    isomap = PatchIsomap(landmarks=None, scaling=scaling)
    exact = isomap.fit_transform(roll)
    precisions = []

    def noted(*args, **setting):
        precisions.append(setting["dtype"])
        return shortest_paths(*args, **setting)

    monkeypatch.setattr(embedding.isomap, "shortest_paths", noted)
    monkeypatch.setattr(embedding.isomap, "SAMPLED_FROM", 600)
    found = isomap.fit_transform(roll)
    assert precisions == [np.float32 if scaling == "stress" else np.float64]
    np.testing.assert_allclose(found, exact, atol=1e-5 * np.ptp(exact))


def agreement(Y, Z):
    return metrics.rank_correlation(cdist(Y, Y), cdist(Z, Z))


def landmark_scaling(estimator, landmarks, d):
    """Landmark MDS of de Silva and Tenenbaum (2004), point by point."""
    G = shortest_paths(estimator.graph_)
    D = G[np.ix_(landmarks, landmarks)] ** 2
    H = np.eye(len(D)) - 1 / len(D)
    values, vectors = np.linalg.eigh(-H @ D @ H / 2)
    values, vectors = values[::-1][:d], vectors[:, ::-1][:, :d]
    return np.array(
        [
            [
                -sum(v[j] * (row[j] - D[:, j].mean()) for j in range(len(D))) / 2 / np.sqrt(value)
                for value, v in zip(values, vectors.T, strict=True)
            ]
            for row in G[:, landmarks] ** 2
        ]
    )


def test_all_points_are_placed_by_landmark_scaling(roll):
    found = PatchIsomap(landmarks=40, scaling="classical", random_state=3).fit(roll)
    chosen = np.sort(np.random.RandomState(3).permutation(600)[:40])
    expected = landmark_scaling(found, chosen, 2)
    flips = np.sign((found.embedding_ * expected).sum(axis=0))
    np.testing.assert_allclose(found.embedding_, expected * flips, atol=1e-9 * np.ptp(expected))
    fresh = roll[:50] + 1e-7
    np.testing.assert_allclose(
        found.transform(fresh), found.embedding_[:50], atol=0.05 * np.ptp(expected)
    )


@pytest.mark.parametrize("count", [50, 200])
def test_few_landmarks_embed_as_well_as_all_points(roll, count):
    exact = PatchIsomap(landmarks=None).fit_transform(roll)
    found = PatchIsomap(landmarks=count, random_state=0).fit_transform(roll)
    assert agreement(found, exact) > 0.995


@pytest.mark.slow
def test_as_many_landmarks_as_points_are_all_points(roll):
    exact = PatchIsomap(landmarks=None).fit_transform(roll)
    for setting in ({"landmarks": 600}, {"landmarks": 601}, {"landmarks": "auto"}, {}):
        found = PatchIsomap(**setting).fit(roll)
        np.testing.assert_array_equal(found.embedding_, exact)
        assert found.landmarks_ is None


@pytest.mark.slow
def test_landmarks_depend_on_the_seed_alone(roll):
    first = PatchIsomap(landmarks=30, random_state=1).fit_transform(roll)
    np.testing.assert_array_equal(
        PatchIsomap(landmarks=30, random_state=1, n_jobs=2).fit_transform(roll), first
    )
    other = PatchIsomap(landmarks=30, random_state=2).fit_transform(roll)
    assert not np.allclose(other, first)
    for given in (1, np.random.RandomState(1)):
        seeded = PatchIsomap(landmarks=30, random_state=given).fit(roll)
        np.testing.assert_array_equal(seeded.embedding_, first)
        np.testing.assert_array_equal(seeded.landmarks_, np.unique(seeded.landmarks_))
        assert len(seeded.landmarks_) == 30


class Few(PatchIsomap):
    """Takes all of up to 599 points, or 60 landmarks."""

    def _landmark_count(self, n):
        return super()._landmark_count(n, exact_points=599, many=60)


@pytest.mark.slow
def test_many_points_have_landmarks_the_same_in_every_fit(roll):
    found = Few().fit(roll)
    assert len(found.landmarks_) == 60
    np.testing.assert_array_equal(Few().fit_transform(roll), found.embedding_)
    some = PatchIsomap(landmarks=60, random_state=0).fit_transform(roll)
    np.testing.assert_array_equal(found.embedding_, some)
    exact = PatchIsomap(landmarks=None).fit_transform(roll[:599])
    np.testing.assert_array_equal(Few().fit_transform(roll[:599]), exact)


def test_more_than_four_thousand_points_take_500_landmarks():
    isomap = PatchIsomap()
    assert [isomap._landmark_count(n) for n in (4000, 4001)] == [None, 500]
    assert PatchIsomap(600)._landmark_count(20_000) == 601  # which span the embedding
    assert PatchIsomap(landmarks=None)._landmark_count(10**6) is None


@pytest.mark.parametrize(
    ("landmarks", "words"),
    [
        ("all", r"landmarks='all' is not known.*'auto'"),
        (2, "landmarks=2 is too small; give at least 3"),
        (2.5, "landmarks=2.5 is not an integer"),
    ],
)
def test_wrong_landmarks_are_named(roll, landmarks, words):
    with pytest.raises((TypeError, ValueError), match=words):
        PatchIsomap(landmarks=landmarks).fit(roll)


def test_what_does_not_fit_into_memory_is_refused_with_figures(roll, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000)
    with pytest.raises(MemoryError, match=r"needs about 0\.0 GB.*landmarks=500"):
        PatchIsomap(landmarks=None).fit(roll)
    with pytest.raises(MemoryError, match=r"600 points of 3 features.*give fewer landmarks"):
        PatchIsomap(landmarks=300).fit(roll)
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * 8 * 600**2 - 1)
    small = PatchIsomap(landmarks=50, divergence="euclidean", n_neighbors=5)
    monkeypatch.setattr(small, "_bytes", lambda *_: 0)
    with pytest.raises(MemoryError, match="kernel ridge regression on 600 points needs"):
        small.set_params(out_of_sample="krr").fit(roll)
    assert small.fit_report_ == {}


# ------------------------------------------------------------------- any scale


@pytest.mark.parametrize("n", [30, 1200])
def test_equal_points_are_embedded_in_one_place(n):
    assert (PatchIsomap(divergence="euclidean").fit_transform(np.ones((n, 2))) == 0).all()


@pytest.mark.parametrize("scaling", ["classical", "stress"])
@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1e12, 1e25])
def test_isomap_keeps_its_shape_in_float32_at_any_scale(scale, scaling):
    X = normal(1, 60, 3)
    isomap = PatchIsomap(n_neighbors=8, divergence="euclidean", scaling=scaling)
    other = isomap.fit_transform((scale * X).astype(np.float32))
    one = isomap.fit_transform(X.astype(np.float32))
    assert_equal_up_to_sign(other / np.float32(scale), one, 1e-4)
    assert np.isfinite(isomap.transform(np.full((1, 3), 1e12, dtype=np.float32))).all()


def test_equidistant_points_have_as_many_columns_as_are_asked_for():
    given = 1 - np.eye(60)
    fitted = PatchIsomap(divergence="precomputed", n_neighbors=59).fit(given)
    assert fitted.embedding_.shape == (60, 2)
    np.testing.assert_allclose(fitted.eigenvalues_, 0.5)


def test_one_outlier_does_not_stretch_the_picture():
    u, v = np.random.default_rng(0).random((2, 300))
    sheet = np.column_stack([2 * u, v, 0.8 * u * u])
    Y = PatchIsomap().fit_transform(np.vstack([sheet, [[1, 0.5, 2.2]]]))  # one width off
    spread = np.linalg.norm(Y[:-1].std(axis=0))
    assert np.linalg.norm(Y[-1] - Y[:-1].mean(axis=0)) < 10 * spread


def test_landmarks_among_copies_span_the_plane():
    few = np.random.default_rng(0).normal(size=(10, 3))
    X = np.vstack([np.zeros((290, 3)), few])
    setting = {"divergence": "euclidean", "n_neighbors": 5, "random_state": 0}
    fitted = PatchIsomap(landmarks=10, **setting).fit(X)
    assert len(np.unique(X[fitted.landmarks_], axis=0)) == 10
    assert (np.ptp(fitted.embedding_, axis=0) > 1).all()


@pytest.mark.filterwarnings("ignore:.*has 3 components:UserWarning")
def test_more_landmarks_than_distinct_points_are_drawn_from_all():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 30, axis=0)
    # The method of the papers, in which copies are points.
    setting = {"patch": GaussianPatch(), "lengths": "divergence", "n_neighbors": 40}
    fitted = PatchIsomap(landmarks=20, random_state=0, **setting).fit(X)
    assert len(fitted.landmarks_) == 20
    assert np.isfinite(fitted.embedding_).all()


def test_geodesics_that_overflow_are_refused():
    given = cdist(*[np.arange(20.0)[:, None]] * 2) * 1e38
    given = np.minimum(given, 3e38).astype(np.float32)
    with pytest.raises(ValueError, match=r"geodesics .* overflow float32; rescale X, or convert"):
        PatchIsomap(divergence="precomputed", n_neighbors=1).fit(given)


# ------------------------------------------------------------------------------------ least stress


@pytest.fixture(scope="module")
def blobs():
    """Six groups in ten dimensions, more than a plane can show."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(50, 10)) + 4 * centre for centre in np.eye(6, 10)])


def stress(model, G):
    return metrics.stress(G, model.embedding_)


@pytest.mark.parametrize("landmarks", [None, 80])
def test_stress_is_less_than_that_of_classical_scaling(blobs, landmarks):
    first, second = (
        PatchIsomap(scaling=scaling, landmarks=landmarks, random_state=0).fit(blobs)
        for scaling in ("classical", "stress")
    )
    G = shortest_paths(first.graph_)
    assert stress(second, G) < 0.9 * stress(first, G)
    np.testing.assert_array_equal(first.eigenvalues_, second.eigenvalues_)


def test_groups_that_a_projection_lays_over_each_other_stay_apart(blobs):
    labels = np.repeat(np.arange(6), 50)

    def named_right(scaling):
        places = PatchIsomap(scaling=scaling).fit_transform(blobs)
        near = np.argsort(cdist(places, places), axis=1)[:, 1:8]
        return np.mean(labels[near] == labels[:, None])

    assert named_right("stress") > max(0.9, named_right("classical") + 0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [{}, {"divergence": "hellinger"}, {"divergence": "euclidean"}, {"lengths": "divergence"}],
    ids=str,
)
def test_stress_is_minimised_unless_classical_scaling_is_asked_for(blobs, setting):
    found, stress, classical = (
        PatchIsomap(**setting, **scaling).fit_transform(blobs)
        for scaling in ({}, {"scaling": "stress"}, {"scaling": "classical"})
    )
    np.testing.assert_array_equal(found, stress)
    assert np.abs(found - classical).max() > 0.01 * np.ptp(found)


def test_data_of_two_dimensions_look_the_same_in_either_scaling():
    X = np.random.default_rng(0).uniform(size=(400, 2)) * [3, 1]
    first, second = (PatchIsomap(scaling=s).fit_transform(X) for s in ("classical", "stress"))
    assert agreement(first, second) > 0.999


@pytest.mark.parametrize("landmarks", [None, 80])
def test_new_points_settle_beside_their_neighbours(blobs, landmarks):
    model = PatchIsomap(landmarks=landmarks, random_state=0).fit(blobs[::2])
    placed, labels = model.transform(blobs[1::2]), np.repeat(np.arange(6), 25)
    nearest = cdist(placed, model.embedding_).argmin(axis=1)
    assert np.mean(labels[nearest] == labels) > 0.85
    np.testing.assert_array_equal(model.transform(blobs[::2]), model.embedding_)


@pytest.mark.parametrize("scaling", ["linear", "auto", None])
def test_an_unknown_scaling_is_refused(roll, scaling):
    with pytest.raises(ValueError, match=f"scaling={scaling!r} is not known"):
        PatchIsomap(scaling=scaling).fit(roll)
