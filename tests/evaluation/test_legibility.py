"""A plot in which points fall on one dot is seen, and the points to blame are named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap, SpectralEmbedding
from sklearn.preprocessing import StandardScaler

from patchfold import GaussianPatch, PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE, metrics
from patchfold.embedding import base_embedding
from patchfold.metrics import Unreadable, unreadable, visible_share
from patchfold.selection import select_n_neighbors

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 60)


def integers(n, seed, m=2):
    """Return points of whole numbers, whose differences are exact, some of them equal."""
    return np.random.default_rng(seed).integers(-40, 40, size=(n, m)).astype(float)


def counted(Y, cells):
    """Return the share of occupied cells, looking at one point and one cell after the other."""
    Y = np.column_stack([Y, np.zeros(len(Y))])[:, :2]
    (left, bottom), (right, top) = Y.min(axis=0), Y.max(axis=0)
    side = max(right - left, top - bottom)
    if side == 0:
        return 1 / len(Y)
    corner = (left + right - side) / 2, (bottom + top - side) / 2
    occupied = set()
    for point in Y:
        cell = []
        for value, start in zip(point, corner, strict=True):
            borders = [start + side * number / cells for number in range(1, cells)]
            cell.append(sum(value >= border for border in borders))
        occupied.add(tuple(cell))
    return len(occupied) / len(Y)


# ---------------------------------------------------------------- visible share


@given(SIZES, SEEDS, st.integers(1, 3), st.integers(1, 12))
def test_the_visible_share_counts_occupied_cells(n, seed, m, cells):
    Y = np.random.default_rng(seed).standard_normal((n, m))
    assert visible_share(Y, cells=cells) == counted(Y, cells)


@given(SIZES, SEEDS, st.sampled_from([2.0**-40, 0.25, 8.0, 2.0**40]), st.integers(-999, 999))
def test_the_visible_share_does_not_change_when_an_embedding_is_moved_scaled_or_swapped(
    n, seed, scale, shift
):
    Y = integers(n, seed)
    share = visible_share(Y)
    assert visible_share(scale * (Y + shift)) == share
    assert visible_share(Y[:, ::-1]) == share
    assert visible_share(Y[np.random.default_rng(seed).permutation(n)]) == share
    assert visible_share(Y.astype(np.float32)) == share
    assert visible_share(np.column_stack([Y, integers(n, seed + 1)])) == share


@given(SIZES, SEEDS)
def test_the_visible_share_is_between_one_point_and_all(n, seed):
    assert 1 / n <= visible_share(integers(n, seed)) <= 1


@pytest.mark.parametrize(
    ("n", "least"), [(1, 1.0), (50, 1 / 50), (2000, 1 / 2000), (3000, 1 / 2000)]
)
def test_points_in_one_place_are_told_apart_as_one(n, least):
    assert visible_share(np.full((n, 2), 7.0)) == least


def test_one_component_is_a_line_in_the_same_raster():
    line = np.linspace(0, 1, 500)[:, None]
    assert visible_share(line) == visible_share(np.hstack([line, np.zeros((500, 1))])) == 200 / 500
    assert visible_share(line, cells=1000) == 1


def test_large_data_are_counted_by_a_fixed_sample_in_the_square_around_all():
    Y = np.random.default_rng(0).uniform(size=(100_000, 2))
    share = visible_share(Y)
    assert share == visible_share(Y)
    assert share == pytest.approx(visible_share(Y[:2000]), abs=0.02)
    sampled = np.random.default_rng(0).choice(len(Y), 2000, replace=False)
    outside = np.setdiff1d(np.arange(len(Y)), sampled)[0]
    Y[outside] = 1e4
    assert visible_share(Y) == 1 / 2000


def test_extents_that_overflow_are_counted_all_the_same():
    Y = 1.5e308 * np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert visible_share(Y) == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: visible_share([[0.0, np.nan]]),
            ValueError,
            r"embedding contains NaN.* in row 0, c",
        ),
        (lambda: visible_share([[np.inf, 0.0]]), ValueError, r"embedding contains infinity"),
        (lambda: visible_share([1.0, 2.0]), ValueError, r"embedding has shape \(2,\)"),
        (
            lambda: visible_share([[0.0]], cells=0),
            ValueError,
            r"cells=0 is too small; give at least",
        ),
        (lambda: visible_share([[0.0]], cells=1.5), TypeError, r"cells=1.5 is not an integer"),
        (
            lambda: unreadable(np.ones((3, 2)), np.ones((4, 2))),
            ValueError,
            r"points has 4 rows and embedding has 3; give the points that were embedded",
        ),
    ],
)
def test_bad_arguments_are_named_with_a_remedy(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---------------------------------------------------------------- unreadable


def square(n, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 2))


@given(st.integers(30, 400), SEEDS, st.integers(1, 3), st.floats(500, 1e12))
def test_the_few_points_that_lie_far_out_are_named(n, seed, count, far):
    count = min(count, max(1, int(0.02 * n)))
    rng = np.random.default_rng(seed)
    Y, rows = rng.uniform(size=(n, 2)), rng.permutation(n)[:count]
    Y[rows] = far * (1 + np.arange(count))[:, None] * rng.choice([-1, 1], size=(count, 2))
    found = unreadable(Y)
    assert set(found.rows) == set(rows.tolist())
    assert found.rows[0] == rows[-1]
    assert found.share == visible_share(Y)
    assert unreadable(np.delete(Y, rows, axis=0)) is None


def test_a_message_names_five_rows_and_counts_the_others():
    Y = square(500)
    Y[10] = 1e5
    assert "row 10 of X lies so far from all others" in str(unreadable(Y))
    Y[10:18] = 1e5 * np.arange(1, 9)[:, None]
    message = str(unreadable(Y))
    assert "rows 17, 16, 15, 14, 13 and 3 more of X lie so far from all others" in message
    assert "only 1.8 % of the points can be told apart in a plot" in message
    assert "plot_embedding" in message


def test_points_that_crowd_without_anyone_far_out_are_counted():
    Y = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [120, 50, 30], axis=0)
    found = unreadable(Y + 1e-6 * square(200))
    assert found == Unreadable(3 / 200, 120, 200, ())
    assert "120 of 200 points share one dot" in str(found)


@pytest.mark.parametrize("n", [2000, 50_000])
@pytest.mark.parametrize("wide", [0.0, 0.02])
def test_lines_and_curves_can_be_read(n, wide):
    rng = np.random.default_rng(0)
    t, noise = rng.uniform(size=n), wide * rng.standard_normal(n)
    assert unreadable(np.column_stack([t, 0.001 * noise])) is None
    assert unreadable(np.column_stack([abs(rng.standard_normal(n)), noise])) is None
    assert unreadable(np.column_stack([np.cos(3 * t), np.sin(3 * t) + noise])) is None


def test_copies_count_once_and_few_points_or_one_component_are_never_unreadable():
    copies = np.vstack([np.zeros((950, 2)), square(50)])
    assert unreadable(copies) is None
    # The copies of a point have different places.
    moved = copies + 1e-6 * square(1000)
    assert unreadable(moved, copies) is None
    assert unreadable(moved) is not None
    alone = np.r_[np.linspace(0, 1, 18), 1e6][:, None]
    assert unreadable(np.hstack([alone, alone])) is None
    far = np.r_[np.linspace(0, 1, 99), 1e6][:, None]
    assert unreadable(far) is None
    assert unreadable(np.hstack([far, far])).rows == (99,)


def test_points_beyond_the_sample_are_named_too():
    Y = square(60_000)
    Y[[5, 59_999]] = [[1e5, 0.0], [0.0, -2e5]]
    assert unreadable(Y).rows == (59_999, 5)
    assert unreadable(np.delete(Y, [5, 59_999], axis=0)) is None


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("scaled", [False, True])
def test_classical_embeddings_of_real_data_can_be_read(load, scaled):
    X = load().data
    X = StandardScaler().fit_transform(X) if scaled else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of graphs in parts
        for method in (
            PCA(2),
            Isomap(n_neighbors=15),
            SpectralEmbedding(n_neighbors=15, random_state=0),
        ):
            assert unreadable(method.fit_transform(X), X) is None


# ---------------------------------------------------------------- warnings of fits

EUCLIDEAN = {"divergence": "euclidean", "n_neighbors": 8}
OUTLIER = np.vstack([square(120), [[3000.0, 3000.0]]])


@pytest.mark.parametrize("form", ["points", "distances", "graph"])
def test_a_fit_warns_of_the_rows_that_spoil_its_picture(form):
    D = cdist(OUTLIER, OUTLIER)
    X = {"points": OUTLIER, "distances": D, "graph": csr_array(D)}[form]
    kind = "euclidean" if form == "points" else "precomputed"
    with pytest.warns(UserWarning, match=r"unreadable: row 120 of X lies so far") as caught:
        PatchIsomap(n_neighbors=8, divergence=kind).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_one_component_and_more_than_two_are_looked_at_as_they_are_drawn():
    PatchIsomap(1, **EUCLIDEAN).fit(OUTLIER)
    with pytest.warns(UserWarning, match="row 120 of X"):
        PatchIsomap(3, **EUCLIDEAN).fit(OUTLIER)


@pytest.mark.parametrize("n_neighbors", [8, "auto"])
def test_a_fit_warns_once_however_many_candidates_are_tried(n_neighbors):
    for X in (OUTLIER, np.vstack([square(500), OUTLIER[-1:]])):
        with pytest.warns(UserWarning, match="unreadable: row") as caught:
            PatchIsomap(n_neighbors=n_neighbors, divergence="euclidean").fit(X)
        assert len(caught) == 1
    with pytest.warns(UserWarning, match="unreadable: row") as caught:
        select_n_neighbors(PatchIsomap(divergence="euclidean"), OUTLIER, candidates=[5, 8, 12])
    assert len(caught) == 1


@pytest.mark.parametrize(
    "estimator", [PatchIsomap, PatchLLE, PatchEigenmaps, PatchTSNE], ids=lambda kind: kind.__name__
)
def test_every_embedding_is_looked_at_and_copies_do_not_count(estimator, monkeypatch):
    seen = []
    monkeypatch.setattr(
        base_embedding, "unreadable", lambda Y, X: seen.append((Y, X)) or unreadable(Y, X)
    )
    X = np.vstack([np.zeros((450, 3)), np.random.default_rng(0).uniform(size=(50, 3))])
    given = {"n_iter": 5, "perplexity": 5, "random_state": 0} if estimator is PatchTSNE else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the neighbourhood graph has")
        fitted = estimator(**EUCLIDEAN, **given).fit(X)
    ((Y, points),) = seen
    assert Y is fitted.embedding_
    np.testing.assert_array_equal(points, X)


def test_points_in_one_place_are_not_warned_of_again():
    X = square(40)
    assert unreadable(np.zeros((40, 2)), X) == Unreadable(1 / 40, 40, 40)
    with pytest.warns(UserWarning, match="all divergences are zero") as caught:
        PatchIsomap(n_neighbors=39, patch=GaussianPatch(), lengths="divergence").fit(X)
    assert len(caught) == 1


def test_classes_gathered_by_labels_are_not_warned_of():
    X = np.vstack([square(60), square(60) + 2])
    y = np.repeat([0, 1], 60)
    dots = 1000.0 * y[:, None] + square(120)
    assert unreadable(dots).rows == ()

    class Gathered(PatchIsomap):
        def _embed(self, graph, n_components):
            super()._embed(graph, n_components)
            self.embedding_ = dots

    Gathered(supervision="cut", **EUCLIDEAN).fit(X, y)
    with pytest.warns(UserWarning, match="60 of 120 points share one dot"):
        Gathered(divergence="euclidean", n_neighbors=70).fit(X)


def test_metrics_have_all_of_it():
    assert {"Unreadable", "stress", "unreadable", "visible_share"} <= set(metrics.__all__)
