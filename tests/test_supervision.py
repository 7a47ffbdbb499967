"""Labels change lengths as the papers say, and nothing that has no label."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import StandardScaler

import slow_reference as slow
from equations import (
    DATA,
    DIVERGENCES,
    PLAIN,
    THREE,
    assert_follows_the_equations,
    assert_same_graph,
)
from labelled import FOUR, unreadable_is_fine
from patchfold import (
    PatchIsomap,
    PatchLLE,
    PatchSpace,
    papers,
)
from patchfold.supervision import Cut, Dissimilarity, Edges, MinSum, encode, kinship, likeness

SLOW = {"dissimilarity": slow.dissimilarity, "cut": slow.cut, "min-sum": slow.min_sum}
SPACE = pytest.param(PatchSpace(lengths="divergence"), id="space")


def edges(lengths, kin, distances=None):
    """Edges all of one kind."""
    kins = np.full(lengths.shape, kin, dtype=np.int8)
    return Edges(lengths, kins, lambda: lengths if distances is None else distances, lambda: 1.0)


def labels_of(X, unlabelled):
    """Three classes, mixed where they meet, each label equally likely to be unknown."""
    rng = np.random.default_rng(0)
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)) / 2, [-0.7, 0.7]).tolist()
    return [None if rng.random() < unlabelled else label for label in y]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# ------------------------------------------------------------------- the papers' formulas


PLANE = (
    PatchIsomap(2, **PLAIN, scaling="classical"),
    lambda space, Y: slow.isomap(space, 2, Y),
)


@pytest.mark.some_cases(14)
@pytest.mark.parametrize("unlabelled", [0.0, 0.3])
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("rule", SLOW)
@pytest.mark.parametrize(("estimator", "compute"), [pytest.param(*PLANE, id="isomap"), *THREE[1:]])
@pytest.mark.parametrize("data", ["k > m", "disconnected"])
def test_every_rule_follows_its_formula(data, estimator, compute, rule, graph, unlabelled):
    X, k = DATA[data]
    y = labels_of(X, unlabelled)
    space = slow.Space(X, k, "kl", graph, rule=SLOW[rule], labels=y)
    setting = {"n_neighbors": k, "graph": graph, "supervision": rule}
    apart = rule == "cut" or (rule == "dissimilarity" and graph == "divergence")
    if isinstance(estimator, PatchLLE) and apart:
        # Classes are joined by single edges then, and their eigenvectors may be mixed in any way.
        assert_same_graph(sklearn.clone(estimator).set_params(**setting).fit(X, y), space)
    else:
        assert_follows_the_equations(estimator, compute, space, y, **setting)


@pytest.mark.some_cases(12)
@pytest.mark.parametrize("graph", ["neighbors", "divergence"])
@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("rule", SLOW)
def test_every_rule_changes_every_divergence(rule, name, graph):
    X, k = DATA["k > m"]
    y = labels_of(X, 0.2)
    space = slow.Space(X, k, name, graph, rule=SLOW[rule], labels=y)
    estimator, compute = PLANE
    assert_follows_the_equations(
        estimator, compute, space, y, n_neighbors=k, graph=graph, supervision=rule, divergence=name
    )


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, None), (1.0, 2.0), (0.3, 0.7), (1.4, 3.0)])
def test_supervised_isomap_follows_the_paper(alpha, beta):
    X, k = DATA["k > m"]
    y = labels_of(X, 0.0)

    def rule(*edge):
        return slow.dissimilarity(*edge, alpha=alpha, beta=beta)

    space = slow.Space(X, k, "euclidean", "divergence", rule=rule, labels=y)
    estimator = papers.supervised_isomap(k, 3, alpha=alpha, beta=beta)
    assert estimator.out_of_sample == "krr"
    assert_follows_the_equations(estimator, THREE[0].values[1], space, y)


def test_the_dissimilarity_of_an_edge_without_a_label_lies_between_the_two_others():
    lengths = np.geomspace(1e-8, 5, 50)
    same, unknown, different = (
        Dissimilarity(alpha=0.5, beta=2.0).lengths(edges(lengths, kin)) for kin in (1, 0, -1)
    )
    assert (same <= unknown * (1 + 1e-12)).all()
    assert (unknown < different).all()


def test_short_lengths_keep_their_digits():
    lengths = np.array([1e-12])
    found = Dissimilarity(beta=1.0).lengths(edges(lengths, 1))
    np.testing.assert_allclose(found, lengths, rtol=1e-15)


def test_an_alpha_above_one_lets_the_shortest_edges_between_classes_vanish():
    lengths = np.array([0.0, 0.1, 2.0])
    found = Dissimilarity(alpha=1.5, beta=1.0).lengths(edges(lengths, -1))
    np.testing.assert_allclose(found, [0, 0, np.sqrt(np.exp(4) - 1.5)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dissimilarity_of_long_edges_is_finite_and_so_are_its_squares(dtype):
    lengths = np.array([1.0, 1e3, 1e18], dtype=dtype)
    found = Dissimilarity(beta=1.0).lengths(edges(lengths, -1))
    assert found.dtype == dtype
    assert np.isfinite(found**2 * 100).all()
    assert (np.diff(found) >= 0).all()


def test_data_in_large_units_are_warned_of(iris):
    X, y = iris
    with pytest.warns(UserWarning, match=r"stretches edges to .* multiply X by a small number"):
        PatchIsomap(divergence="euclidean", supervision="dissimilarity").fit(1000 * X, y)


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ({"lengths": "pruned"}, "; use lengths='divergence', or give Dissimilarity"),
        ({"lengths": "divergence"}, "; give Dissimilarity"),
    ],
)
def test_the_remedy_for_stretched_edges_is_one_that_helps(iris, setting, remedy):
    # The unit of X changes neither divergences nor pruned lengths.
    rule = Dissimilarity(beta=0.01)
    with pytest.warns(UserWarning, match=rf"stretches edges to .*{remedy}\(beta=\.\.\.\) a larger"):
        PatchIsomap(n_neighbors=40, supervision=rule, **setting).fit(*iris)


def test_lengths_that_labels_make_equal_are_ordered_by_what_they_were():
    rng = np.random.default_rng(0)
    # In such units all dissimilarities within a class are one, and those between are cut off.
    X = 1000 * np.vstack([rng.normal(size=(30, 2)), rng.normal([30, 0], 1, (30, 2))])
    y = np.repeat([0, 1], 30)
    estimator = PatchIsomap(
        n_neighbors=4, divergence="euclidean", graph="divergence", supervision="dissimilarity"
    )
    with pytest.warns(UserWarning, match="stretches"):
        estimator.fit(X, y)
    D = cdist(X, X)
    closest = np.argwhere(D[:30, 30:].min() == D)
    wanted = {(i, j) for i in range(60) for j in np.argsort(D[i])[1:5]}
    expected = {tuple(sorted(map(int, edge))) for edge in [*wanted, *closest]}
    i, j = estimator.graph_.nonzero()
    assert {(int(a), int(b)) for a, b in zip(i, j, strict=True) if a < b} == expected


@pytest.mark.parametrize(
    "wrong", [lambda e: -e.lengths - 1, lambda e: np.nan * e.lengths, lambda e: e.lengths[:3]]
)
def test_lengths_that_are_none_are_refused_with_the_name_of_the_rule(iris, wrong):
    class Wrong:
        def lengths(self, edges):
            return wrong(edges)

        def __repr__(self):
            return "Wrong()"

    with pytest.raises(ValueError, match=r"supervision=Wrong\(\) returns lengths of shape"):
        PatchIsomap(supervision=Wrong()).fit(*iris)


def test_a_cut_between_clusters_far_apart_is_no_stretch(iris):
    X, y = iris
    far = np.vstack([X, X[:50] + 1e8])
    fitted = PatchIsomap(divergence="euclidean", supervision="cut")
    assert fitted.fit(far, np.r_[y, y[:50]]).graph_.data.max() > 1e7


@given(hnp.arrays(float, (4, 6), elements=st.floats(0, 1e3)))
def test_every_rule_makes_edges_within_a_class_no_longer_than_those_between(lengths):
    for rule in (Dissimilarity(beta=10.0), Cut(), MinSum()):
        same, different = (rule.lengths(edges(lengths, kin, lengths[::-1])) for kin in (1, -1))
        assert (same <= different).all()


# ------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "y",
    [
        [3, 5, -1, 3, -1],
        [3.0, 5.0, np.nan, 3.0, -1.0],
        ["a", "b", None, "a", float("nan")],
        np.array(["a", "b", None, "a", None], dtype=object),
        pd.Series([1, 2, pd.NA, 1, -1], dtype="Int64"),
        pd.Series(["x", "y", None, "x", None]),
        pd.Series(pd.Categorical(["x", "y", None, "x", None])),
        [True, False, None, True, None],
        [10**400, 3, None, 10**400, -1],
    ],
    ids=repr,
)
def test_labels_of_any_kind_become_codes_and_missing_ones_minus_one(y):
    codes = encode(y, 5, "PatchIsomap")
    same = codes[0]
    assert {same, codes[1]} == {0, 1}
    np.testing.assert_array_equal(codes[2:], [-1, same, -1])


def test_kinship_is_known_only_between_labelled_points():
    a = np.array([0, 0, -1, -1])
    b = np.array([0, 1, 0, -1])
    np.testing.assert_array_equal(kinship(a, b), [1, -1, 0, 0])


@pytest.mark.parametrize("estimator", [*FOUR, SPACE])
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.zeros(150), "one class only, 0"),
        (np.where(np.arange(150) < 70, -1, 1), r"one class only, 1 \(-1 stands for an unknown"),
        (np.full(150, -1), "no label"),
        (np.arange(149) % 3, "y has 149 labels and X has 150 rows"),
        (np.arange(150), "150 different labels for 150 points"),
        ([*"ab" * 74, "a", 3], "mixes text and numbers"),
        (np.zeros((150, 2)), "y has 2 columns, .*give one of the columns"),
        (3, "y should be a 1d array.*give one for each row"),
        ([[1, 2], [3]] * 75, "no list of labels .*give one for each row"),
        (np.full(150, 1j), r"Complex data not supported\); give one for each row"),
        (np.where(np.arange(150) == 5, np.inf, np.arange(150) % 3), "y has an infinite label"),
    ],
)
def test_wrong_labels_are_refused(iris, estimator, y, words):
    with pytest.raises(ValueError, match=words):
        sklearn.clone(estimator).set_params(supervision="cut").fit(iris[0], y)


def test_a_column_of_labels_is_taken_with_a_warning(iris):
    X, y = iris
    isomap = PatchIsomap(supervision="min-sum", lengths="divergence")
    expected = isomap.fit_transform(X, y)
    with pytest.warns(DataConversionWarning):
        found = isomap.fit_transform(X, y[:, None])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrong", ["cuts", 3, Cut, object()])
def test_a_wrong_rule_is_named_with_what_is_allowed(iris, wrong):
    with pytest.raises((ValueError, TypeError), match=r"supervision=.*'cut'"):
        PatchIsomap(supervision=wrong).fit(*iris)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Dissimilarity(alpha=-0.5), "alpha=-0.5 must be a number of at least 0"),
        (Dissimilarity(alpha="a"), "alpha='a' must be a number"),
        (Dissimilarity(beta=0.0), "beta=0.0 is not positive"),
    ],
)
def test_wrong_settings_of_a_rule_are_named(iris, rule, words):
    with pytest.raises(ValueError, match=words):
        PatchIsomap(supervision=rule).fit(*iris)


@pytest.mark.slow
def test_labels_are_ignored_without_supervision(iris):
    X, y = iris
    expected = PatchIsomap().fit_transform(X)
    np.testing.assert_array_equal(PatchIsomap().fit_transform(X, y), expected)
    np.testing.assert_array_equal(PatchIsomap().fit_transform(X, np.linspace(0, 1, 150)), expected)


@unreadable_is_fine
@pytest.mark.parametrize("rule", ["cut", "min-sum"])
@pytest.mark.parametrize("estimator", [*FOUR[:3], SPACE])
def test_unlabelled_points_keep_their_edges(iris, estimator, rule):
    X, y = iris
    unlabelled = np.arange(150) % 3 == 0
    found = sklearn.clone(estimator).set_params(supervision=rule)
    found.fit(X, np.where(unlabelled, -1, y))
    plain = sklearn.clone(estimator).fit(X)
    np.testing.assert_array_equal(
        found.graph_[unlabelled].toarray(), plain.graph_[unlabelled].toarray()
    )


def test_the_dissimilarity_leaves_edges_of_unlabelled_points_in_proportion(iris):
    X, y = iris
    unlabelled = np.arange(150) % 3 == 0
    rule = Dissimilarity(beta=1e4)
    found = PatchIsomap(supervision=rule, lengths="divergence")
    found.fit(X, np.where(unlabelled, -1, y))
    plain = PatchIsomap(lengths="divergence").fit(X)
    np.testing.assert_allclose(
        found.graph_[unlabelled].toarray(), plain.graph_[unlabelled].toarray() / 100, rtol=1e-12
    )


# ------------------------------------------------------------------- rules of one's own


def test_the_rule_may_be_an_object_with_its_own_parameters(iris):
    X, y = iris
    plain = PatchIsomap(lengths="divergence")
    named = sklearn.clone(plain).set_params(supervision="dissimilarity")
    expected = named.fit_transform(X, y)
    estimator = sklearn.clone(plain).set_params(supervision=Dissimilarity())
    np.testing.assert_array_equal(estimator.fit_transform(X, y), expected)
    estimator.set_params(supervision__alpha=0.9)
    assert not np.allclose(estimator.fit_transform(X, y), expected)

    class Doubled:
        def lengths(self, edges):
            assert edges.distances().shape == edges.lengths.shape
            assert edges.mean() > 0
            assert edges.between_patches
            return np.where(edges.kin < 0, 2 * edges.lengths, edges.lengths)

    found = sklearn.clone(plain).set_params(supervision=Doubled()).fit(X, y)
    plain.fit(X)
    i, j = plain.graph_.nonzero()
    np.testing.assert_allclose(
        found.graph_[i, j], np.where(y[i] == y[j], 1, 2) * plain.graph_[i, j]
    )
    np.testing.assert_array_equal(  # lengths of new points are not changed by this rule
        PatchSpace(supervision=Doubled(), lengths="divergence")
        .fit(X, y)
        .transform(X[:9] + 1e-3)
        .toarray(),
        PatchSpace(lengths="divergence").fit(X).transform(X[:9] + 1e-3).toarray(),
    )


def test_masked_labels_are_not_known():
    y = np.ma.masked_array([4, 7, 4, 7], mask=[False, False, True, False])
    np.testing.assert_array_equal(encode(y, 4, "PatchIsomap"), [0, 1, -1, 1])
    text = np.ma.masked_array(["a", "b", "a", "b"], mask=[True, False, False, False])
    np.testing.assert_array_equal(encode(text, 4, "PatchIsomap"), [-1, 1, 0, 1])


class Own:
    """A rule that is a function of the lengths."""

    def __init__(self, change):
        self.change = change

    def lengths(self, edges):
        return self.change(edges.lengths)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_lengths_of_whole_numbers_become_floating(iris, dtype):
    X, y = iris
    found = PatchIsomap(supervision=Own(lambda d: np.ceil(d).astype(dtype))).fit(X, y)
    expected = PatchIsomap(supervision=Own(lambda d: np.ceil(d).astype(dtype) * 1.0)).fit(X, y)
    assert found.embedding_.dtype == np.float64
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)


@pytest.mark.parametrize("dtype", [complex, str, object])
def test_lengths_that_are_no_real_numbers_are_refused(iris, dtype):
    with pytest.raises(TypeError, match=r"returns lengths of type .*; return real numbers"):
        PatchIsomap(supervision=Own(lambda d: d.astype(dtype))).fit(*iris)


# ------------------------------------------------------------------- measured values


def measured_roll(n=200):
    """Points of a noisy plane, and a value that one of its axes has, a little noisy."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (n, 4)) * [1, 1, 0.05, 0.05]
    return X, 3 * X[:, 0] + 0.05 * random.standard_normal(n)


RULES = [Dissimilarity(bandwidth=0.1), Cut(bandwidth=0.1), MinSum(bandwidth=0.1)]


@unreadable_is_fine
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_values_far_apart_are_classes(iris, rule):
    X, y = iris
    classes = type(rule)()
    isomap = PatchIsomap(supervision=classes, lengths="divergence")
    expected = sklearn.clone(isomap).fit_transform(X, y)
    found = sklearn.clone(isomap).set_params(supervision=rule).fit_transform(X, 10 * y - 10)
    np.testing.assert_array_equal(found, expected)  # -10 and 0 are values, and so is -1
    found = sklearn.clone(isomap).set_params(supervision=rule).fit_transform(X, 2.0 * y - 1)
    np.testing.assert_array_equal(found, expected)


def test_points_that_differ_by_the_bandwidth_are_half_alike():
    values = np.array([0.0, 2.0, 4.0, np.nan])
    kin, alike = likeness(values[[0, 0, 0, 0]], values, 2.0)
    np.testing.assert_allclose(alike, [1, 1 / 2, 1 / 16, 0])
    np.testing.assert_array_equal(kin, [1, 1, -1, 0])


@pytest.mark.parametrize("rule", [Dissimilarity(), MinSum()], ids=str)
def test_lengths_lie_between_those_of_classes_by_how_alike_ends_are(rule):
    lengths = np.linspace(0.1, 2, 9)
    same, other = (rule.lengths(edges(lengths, kin, 0.5 * lengths)) for kin in (1, -1))
    for alike in (0.0, 0.3, 1.0):
        shares = np.full(9, alike)
        of_all = edges(lengths, 1, 0.5 * lengths)
        found = rule.lengths(replace(of_all, alike=shares))
        power = 2 if isinstance(rule, Dissimilarity) else 1
        expected = alike * same**power + (1 - alike) * other**power
        np.testing.assert_allclose(found**power, expected)


@unreadable_is_fine
@pytest.mark.parametrize("rule", ["dissimilarity", "min-sum"])
def test_a_measured_value_shapes_the_map(rule):
    X, y = measured_roll()
    setting = {"lengths": "divergence", "divergence": "hellinger", "n_neighbors": 12}
    plain = PatchIsomap(**setting).fit_transform(X)
    model = PatchIsomap(**setting, supervision=rule).fit(X, y)
    gaps = [cdist(Y, Y)[np.triu_indices(len(X), 1)] for Y in (plain, model.embedding_)]
    apart = cdist(y[:, None], y[:, None])[np.triu_indices(len(X), 1)]
    before, after = (np.corrcoef(gap, apart)[0, 1] for gap in gaps)
    assert after > before
    assert model.transform(X[:5] + 0.001).shape == (5, 2)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@unreadable_is_fine
def test_samples_without_fractions_are_measured_as_all_rows_are():
    X, y = measured_roll(100)
    y = np.round(1e6 * y)
    rule = MinSum(bandwidth=float(np.std(y)))
    whole = PatchIsomap(supervision=rule, random_state=0).fit(X, y)
    y[0] += 0.5  # the only fraction, which some samples have and others have not
    isomap = PatchIsomap(supervision="min-sum", random_state=0).fit(X, y)
    found, expected = (one.stability(n_refits=3) for one in (isomap, whole))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_cut_removes_edges_between_values_more_than_the_bandwidth_apart():
    X, y = measured_roll()
    space = PatchSpace(supervision=Cut(bandwidth=0.5), divergence="euclidean", n_neighbors=12)
    graph = space.fit(X, y).patch_graph_.matrix
    i, j = graph.nonzero()
    assert np.abs(y[i] - y[j]).max() <= 0.5
    unknown = y.copy()
    unknown[::2] = np.nan
    graph = space.fit(X, unknown).patch_graph_.matrix
    assert graph.nnz > 0


@pytest.mark.parametrize(
    ("rule", "y", "words"),
    [
        (Cut(bandwidth=1.0), ["a", "b"] * 75, "y holds no numbers; give numbers, or, for classes"),
        (Cut(bandwidth=0.0), np.arange(150) % 3, "bandwidth=0.0 is not positive"),
        ("cut", np.full(150, 0.5), "y has one value only"),
        ("cut", np.where(np.arange(150) == 5, np.inf, 0.5), "y has an infinite value"),
        ("cut", np.full((150, 2), 0.5), "y has 2 columns"),
    ],
)
def test_wrong_values_are_refused(iris, rule, y, words):
    with pytest.raises(ValueError, match=words):
        PatchIsomap(supervision=rule).fit(iris[0], y)
