"""Every estimator by cosine or correlation is that of rows which were changed before."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.preprocessing import normalize

from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchSpace, PatchTSNE
from patchfold.selection import select_n_neighbors, select_patch_size

FOUR = [
    PatchIsomap(n_neighbors=8),
    PatchLLE(n_neighbors=8),
    PatchEigenmaps(n_neighbors=8),
    PatchSpace(n_neighbors=8),
]


def profiles(n=90, m=12, seed=0):
    """Rows along a curve of directions, each with a size and a level of its own."""
    random = np.random.default_rng(seed)
    t = random.uniform(0, 2, n)
    waves = np.cos(np.outer(t, np.arange(1, m + 1)) / 3) + 0.01 * random.standard_normal((n, m))
    return random.uniform(1, 50, (n, 1)) * (waves + 3)


def changed(X, metric):
    rows = X - X.mean(axis=1, keepdims=True) if metric == "correlation" else X
    return normalize(rows)


def values(result):
    return result.toarray() if hasattr(result, "toarray") else result


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("estimator", FOUR, ids=lambda one: type(one).__name__)
def test_a_metric_is_the_euclidean_one_of_changed_rows(estimator, metric):
    X = profiles()
    fitted, new = X[:80], X[80:]
    model = clone(estimator).set_params(metric=metric)
    plain = clone(estimator)
    found = values(model.fit_transform(fitted))
    expected = values(plain.fit_transform(changed(fitted, metric)))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    placed, known = values(model.transform(new)), values(plain.transform(changed(new, metric)))
    np.testing.assert_allclose(placed, known, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(
        model.score_samples(new), plain.score_samples(changed(new, metric)), rtol=1e-6
    )
    np.testing.assert_array_equal(values(model.transform(fitted[:3])), found[:3])
    np.testing.assert_array_equal(values(pickle.loads(pickle.dumps(model)).transform(new)), placed)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_the_affinities_of_t_sne_are_those_of_changed_rows(metric):
    X, setting = profiles(), {"perplexity": 5, "n_iter": 1, "random_state": 0}
    found = PatchTSNE(metric=metric, **setting).fit(X).affinities_
    expected = PatchTSNE(**setting).fit(changed(X, metric)).affinities_
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-9)


def test_the_size_of_a_row_does_not_count():
    X = profiles()
    factors = np.random.default_rng(1).choice([0.5, 2.0, 8.0], (len(X), 1))
    model = PatchIsomap(metric="cosine")
    np.testing.assert_array_equal(model.fit_transform(X), model.fit_transform(factors * X))


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_edges_without_patches_are_as_long_as_the_metric_says(metric):
    X = profiles(40)
    graph = PatchSpace(n_neighbors=5, divergence="euclidean", metric=metric).fit(X).graph_
    expected = np.sqrt(2 * cdist(X, X, metric))
    i, j = graph.nonzero()
    np.testing.assert_allclose(graph[i, j], expected[i, j], atol=1e-7)
    near = np.argsort(expected, axis=1)[:, 1:6]
    assert all(graph[row, near[row]].min() > 0 for row in range(len(X)))


def test_added_rows_are_changed_as_the_first_ones():
    X = profiles()
    model = PatchIsomap(metric="cosine").fit(X[:80]).partial_fit(X[80:])
    plain = PatchIsomap().fit(changed(X[:80], "cosine")).partial_fit(changed(X[80:], "cosine"))
    np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-6)


def test_the_way_back_gives_rows_of_length_one():
    X = profiles()
    model = PatchIsomap(metric="cosine").fit(X)
    back = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1, atol=0.05)
    assert np.abs(back - normalize(X)).max() < 0.1


def test_what_refits_or_compares_uses_the_metric_once():
    X = profiles(120)
    model = PatchIsomap(metric="correlation", n_neighbors=8, random_state=0).fit(X)
    plain = PatchIsomap(n_neighbors=8, random_state=0).fit(changed(X, "correlation"))
    np.testing.assert_allclose(model.trust(), plain.trust(), atol=1e-9)
    np.testing.assert_allclose(model.stability(2), plain.stability(2), atol=1e-6)
    auto = PatchIsomap(metric="correlation", n_neighbors="auto").fit(X)
    same = PatchIsomap(n_neighbors="auto").fit(changed(X, "correlation"))
    assert auto.n_neighbors_ == same.n_neighbors_
    np.testing.assert_array_equal(auto.transform(X), auto.embedding_)
    for select, values in ((select_n_neighbors, [5, 10]), (select_patch_size, [5, 9])):
        of_metric, of_rows = (
            select(one, rows, criterion="trustworthiness", candidates=values).scores
            for one, rows in (
                (PatchIsomap(metric="correlation"), X),
                (PatchIsomap(), changed(X, "correlation")),
            )
        )
        np.testing.assert_allclose(
            of_metric["trustworthiness"], of_rows["trustworthiness"], atol=1e-6
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "cosin"}, "metric='cosin' is not known; did you mean 'cosine'"),
        ({"metric": "manhattan"}, r"knn=KNeighborsTransformer\(metric=...\)"),
        ({"metric": "precomputed"}, "use divergence='precomputed'"),
        ({"metric": "cosine", "divergence": "precomputed"}, "has distances already"),
    ],
)
def test_other_metrics_are_refused_with_what_to_do(parameters, message):
    with pytest.raises(ValueError, match=message):
        PatchIsomap(**parameters).fit(np.eye(9))


def test_new_rows_without_a_direction_are_refused():
    model = PatchLLE(metric="cosine").fit(profiles())
    with pytest.raises(ValueError, match="row 1 of X has only zeros"):
        model.transform(np.eye(12)[:2] * [[1], [0]])


def ties(metric):
    """Return answers of few values, each row with a direction."""
    X = np.random.default_rng(0).integers(1, 4, (110, 7)).astype(float)
    return X if metric == "cosine" else X[X.std(axis=1) > 0]


@pytest.mark.filterwarnings("ignore:.* cannot be read:UserWarning")
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize(
    "estimator",
    [PatchIsomap(), PatchIsomap(n_neighbors="auto"), PatchLLE(), PatchEigenmaps()],
    ids=str,
)
def test_answers_in_another_order_have_the_same_places(estimator, metric):
    X = ties(metric)
    order = np.random.default_rng(1).permutation(len(X))
    model = clone(estimator).set_params(metric=metric)
    found, permuted = clone(model).fit(X), clone(model).fit(X[order])
    np.testing.assert_array_equal(permuted.embedding_, found.embedding_[order])


@pytest.mark.parametrize(
    ("estimator", "later"),
    [
        (PatchIsomap(metric="cosine"), {"metric": "euclidean"}),
        (PatchIsomap(metric="cosine", n_neighbors="auto"), {"metric": "euclidean"}),
        (PatchIsomap(), {"metric": "correlation", "divergence": "precomputed"}),
        (PatchSpace(), {"metric": "correlation", "divergence": "precomputed"}),
        (PatchLLE(weights="entropic", reg=0.1), {"weights": "euclidean", "reg": 1e3}),
        (PatchEigenmaps(), {"kernel": "exponential", "laplacian": "random-walk"}),
        (PatchTSNE(perplexity=10.0, n_iter=5, random_state=0), {"perplexity": 2.0}),
        (PatchIsomap(out_of_sample="krr"), {"out_of_sample": "grnn", "n_components": 3}),
    ],
    ids=str,
)
def test_new_points_are_placed_by_what_the_fit_was_told(estimator, later):
    X = profiles()
    model = clone(estimator).fit(X[:80])
    expected = values(model.transform(X[80:]))
    model.set_params(**later)
    np.testing.assert_array_equal(values(model.transform(X[80:])), expected)
    np.testing.assert_array_equal(model.score_samples(X[80:]), model.score_samples(X[80:].copy()))
