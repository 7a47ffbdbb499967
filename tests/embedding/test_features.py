"""Back from an embedding to features, and loadings, for all estimators."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE

ESTIMATORS = [
    PatchIsomap(),
    PatchIsomap(3, divergence="euclidean", scaling="classical"),
    PatchIsomap(landmarks=60, random_state=0),
    PatchLLE(),
    PatchLLE(divergence="euclidean"),
    PatchEigenmaps(3),
    PatchTSNE(perplexity=10, n_iter=100, random_state=0),
]


def roll(n, noise=0.0, seed=0):
    """Return points of a swiss roll, and the direction in which it is wound, (n, 3) each."""
    random = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * random.random(n))
    X = np.column_stack([t * np.cos(t), 21 * random.random(n), t * np.sin(t)])
    along = (
        np.column_stack([np.cos(t) - t * np.sin(t), np.zeros(n), np.sin(t) + t * np.cos(t)])
        / np.sqrt(1 + t * t)[:, None]
    )
    return X + noise * random.standard_normal(X.shape), along


def from_sheet(X):
    """Return how far points are from the clean roll, across its sheet."""
    t = np.linspace(1.4 * np.pi, 4.6 * np.pi, 20_000)
    sheet = np.column_stack([t * np.cos(t), t * np.sin(t)])
    return np.array([np.linalg.norm(sheet - x, axis=1).min() for x in X[:, [0, 2]]])


def root_mean_square(X):
    return float(np.sqrt(np.square(X).sum(axis=1).mean()))


def sheet_in_space(n=300, m=5, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (n, 2)) @ random.standard_normal((2, m)) + 3


# ---------------------------------------------------------------- back


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fitted_points_come_back_near_themselves(estimator, dtype):
    X = sheet_in_space().astype(dtype)
    model = estimator.fit(X)
    back = model.inverse_transform(model.embedding_)
    assert back.dtype == dtype
    assert root_mean_square(back - X) < 0.15 * root_mean_square(X - X.mean(axis=0))


def test_an_affine_sheet_comes_back_exactly_where_the_embedding_is_affine():
    X = sheet_in_space()
    model = PatchIsomap(divergence="euclidean", scaling="classical", n_neighbors=199).fit(X[:200])
    back = model.inverse_transform(model.transform(X[200:]))
    assert root_mean_square(back - X[200:]) < 1e-3


@pytest.mark.slow
def test_held_out_digits_come_back_about_as_well_as_from_as_many_principal_components():
    X = load_digits().data[np.random.default_rng(0).permutation(1797)]
    fitted, new = X[:898], X[898:]
    pca = PCA(10).fit(fitted)
    linear = root_mean_square(pca.inverse_transform(pca.transform(new)) - new)
    model = PatchIsomap(10).fit(fitted)
    back = model.inverse_transform(model.transform(new))
    assert root_mean_square(back - new) < 1.2 * linear


def test_one_component_goes_back_to_a_curve():
    t = np.linspace(0, 3, 200)
    X = np.column_stack([np.cos(t), np.sin(t), t])
    model = PatchIsomap(1).fit(X)
    assert root_mean_square(model.inverse_transform(model.embedding_) - X) < 0.02


@pytest.mark.slow
def test_the_error_across_a_noisy_sheet_is_below_the_noise():
    X, _ = roll(1000, noise=0.5)
    model = PatchIsomap().fit(X[:800])
    back = model.inverse_transform(model.transform(X[800:]))
    assert np.sqrt(np.square(from_sheet(back)).mean()) < 0.7 * 0.5


def test_copies_of_points_change_nothing_but_their_number():
    X = load_iris().data[:40]
    model = PatchIsomap(n_neighbors=39, divergence="euclidean").fit(np.repeat(X, 2, axis=0))
    back = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(back[::2], back[1::2], atol=1e-9)


def test_a_new_fit_has_its_own_way_back():
    X = load_iris().data
    model = PatchIsomap(n_neighbors=30).fit(X)
    model.inverse_transform(model.embedding_)
    model.fit(10 * X)
    back = model.inverse_transform(model.embedding_)
    assert root_mean_square(back - 10 * X) < 5


def test_rows_that_are_added_count_for_the_way_back():
    X = sheet_in_space()
    model = PatchIsomap(landmarks=50, random_state=0).fit(X[:250])
    model.inverse_transform(model.embedding_)
    model.partial_fit(X[250:])
    back = model.inverse_transform(model.embedding_)
    assert len(back) == 300
    assert root_mean_square(back - X) < 0.2 * root_mean_square(X - X.mean(axis=0))
    np.testing.assert_array_equal(model._kept["inverse"].points, X)


def test_the_way_back_is_found_again_in_a_copy():
    model = PatchIsomap(n_neighbors=30).fit(load_iris().data)
    before = pickle.dumps(model)
    back = model.inverse_transform(model.embedding_[:5])
    assert len(pickle.dumps(model)) == len(before)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.inverse_transform(model.embedding_[:5]), back)


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        (np.zeros((2, 3)), "Z has 3 columns, and the embedding has n_components=2"),
        ([[0.0, np.nan]], "NaN"),
        (np.zeros(2), "Z"),
        (np.zeros((0, 2)), "Z"),
    ],
)
def test_bad_places_are_refused(Z, message):
    model = PatchIsomap(n_neighbors=30).fit(load_iris().data)
    with pytest.raises(ValueError, match=message):
        model.inverse_transform(Z)


@pytest.mark.parametrize("method", ["inverse_transform", "local_loadings"])
def test_distances_have_no_features_to_go_back_to(method):
    X = load_iris().data
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    model = PatchIsomap(divergence="precomputed", n_neighbors=60).fit(distances)
    with pytest.raises(ValueError, match=f"{method} needs points, and divergence='precomputed'"):
        getattr(model, method)(model.embedding_)


@pytest.mark.parametrize("method", ["inverse_transform", "local_loadings"])
def test_there_is_nothing_to_say_before_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(PatchLLE(), method)([[0.0, 0.0]])


# ---------------------------------------------------------------- loadings

SMOOTH = [
    PatchIsomap(),
    PatchIsomap(divergence="euclidean", scaling="classical"),
    PatchIsomap(lengths="divergence", scaling="classical", n_neighbors=10),
    PatchIsomap(out_of_sample="krr"),
    PatchIsomap(out_of_sample="grnn"),
    PatchLLE(),
    PatchLLE(weights="entropic"),
    PatchEigenmaps(bandwidth="median"),
    PatchTSNE(perplexity=10, n_iter=50, random_state=0),
]


@pytest.mark.parametrize("estimator", SMOOTH, ids=str)
def test_loadings_of_new_points_are_differences_of_transform(estimator):
    X, _ = roll(330)
    model, new = estimator.fit(X[:300]), X[300:]
    found = model.local_loadings(new)

    def differences(step):
        moves = step * np.eye(3)
        sides = [(model.transform(new + move), model.transform(new - move)) for move in moves]
        return np.stack([(right - left) / (2 * step) for right, left in sides], axis=2)

    def size(J):
        return np.linalg.norm(J, axis=(1, 2))

    expected, coarser = differences(1e-5), differences(3e-5)
    smooth = size(expected - coarser) < 1e-4 * size(expected)
    assert smooth.mean() > 0.9
    assert (size(found - expected) < 1e-3 * size(expected))[smooth].all()


@pytest.mark.slow
def test_loadings_point_along_the_coordinates_of_a_roll():
    X, along = roll(2000, seed=10)
    loadings = PatchIsomap().fit(X).local_loadings()
    up = np.tile([0.0, 1.0, 0.0], (len(X), 1))
    for component, direction in enumerate((along, up)):
        slopes = loadings[:, component]
        cosines = np.abs((slopes * direction).sum(axis=1)) / np.linalg.norm(slopes, axis=1)
        assert np.degrees(np.median(np.arccos(np.minimum(cosines, 1)))) < 5


def test_loadings_turn_with_the_points():
    X = sheet_in_space(150)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    model = PatchIsomap().fit(X)
    turned = PatchIsomap().fit(2 * X @ turn + 5)
    signs = np.sign((model.embedding_ * turned.embedding_).sum(axis=0))
    expected = signs[:, None] * model.local_loadings() @ turn / 2
    np.testing.assert_allclose(turned.local_loadings(), expected, atol=1e-6)


def test_copies_have_the_loadings_of_the_point():
    X = np.unique(load_iris().data, axis=0)
    once, twice = PatchIsomap(n_neighbors=30), PatchIsomap(n_neighbors=30)
    expected = once.fit(X).local_loadings()
    found = twice.fit(np.repeat(X, 2, axis=0)).local_loadings()
    np.testing.assert_array_equal(found[::2], found[1::2])
    np.testing.assert_allclose(found[::2], expected, atol=1e-6)


def test_a_row_that_was_fitted_has_its_loadings():
    X = load_iris().data.astype(np.float32)
    model = PatchLLE(n_neighbors=30).fit(X)
    first = model.patch_graph_.fitted_as(X)
    fitted = model.local_loadings()
    assert fitted.dtype == np.float32
    np.testing.assert_array_equal(model.local_loadings(X[[7, 100]]), fitted[first[[7, 100]]])


@pytest.mark.slow
def test_new_points_do_not_influence_each_others_loadings():
    X, _ = roll(220)
    model = PatchIsomap().fit(X[:200])
    together = model.local_loadings(X[190:])
    one_by_one = np.concatenate([model.local_loadings(X[i : i + 1]) for i in range(190, 220)])
    np.testing.assert_array_equal(one_by_one, together)


def test_loadings_are_fitted_where_new_points_get_the_mean_of_their_neighbours():
    X, _ = roll(320)
    model = PatchEigenmaps().fit(X[:300])
    found = model.local_loadings(X[300:])
    near = model.patch_graph_.neighbors_of_new(X[300:])
    nearest = near.indices[near.indptr[:-1]]
    # Alike those of the nearest fitted point, and not zero.
    cosines = (found * model.local_loadings()[nearest]).sum(axis=2)
    cosines /= np.linalg.norm(found, axis=2)
    cosines /= np.linalg.norm(model.local_loadings()[nearest], axis=2)
    assert np.median(cosines) > 0.9


def test_a_forest_has_no_slopes():
    forest = RandomForestRegressor(5, random_state=0)
    model = PatchIsomap(n_neighbors=30, out_of_sample=forest).fit(load_iris().data)
    np.testing.assert_array_equal(model.local_loadings([[5.123, 3.123, 1.523, 0.223]]), 0)


def test_points_of_other_features_are_refused():
    model = PatchIsomap(n_neighbors=30).fit(load_iris().data)
    with pytest.raises(ValueError, match="features"):
        model.local_loadings(np.zeros((2, 3)))


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has:UserWarning")
def test_a_new_point_without_a_neighbour_has_no_loadings_and_is_named():
    X, _ = roll(60)
    model = PatchEigenmaps(radius=6.0).fit(X)
    with pytest.raises(ValueError, match=r"row 1 of X has no neighbour.*radius=6.*enlarge radius"):
        model.local_loadings([X[0] + 0.1, X[0] + 1000])
