"""Estimators by name are the published methods where a divergence or labels ask for one."""

from __future__ import annotations

import inspect

import pytest
from sklearn.manifold import Isomap

from equations import assert_equal_up_to_sign, normal
from patchfold.cli.methods import methods
from patchfold.embedding.methods import METHODS, divergence_parameters, supervised_parameters
from patchfold.explorer.embeddings import choose_k, fit_all, fit_beside
from patchfold.explorer.views import placed

SHARED = {"n_jobs": None, "random_state": 0}
X = normal(0, 60, 3)


def test_labels_get_divergences_and_a_smooth_map_and_weights_that_use_lengths():
    plain = {"lengths": "divergence", "out_of_sample": "krr"}
    assert supervised_parameters("tsne") == plain
    assert supervised_parameters("isomap") == {**plain, "scaling": "classical"}
    assert supervised_parameters("lle") == {**plain, "weights": "entropic", "reg": 1e-3}
    assert supervised_parameters("eigenmaps") == {**plain, "bandwidth": "median"}


@pytest.mark.parametrize("method", METHODS)
def test_parameters_are_those_of_the_method(method):
    known = set(inspect.signature(METHODS[method]).parameters)
    assert supervised_parameters(method).keys() <= known
    for divergence in ("kl", "euclidean"):
        given = divergence_parameters(method, divergence)
        assert given.keys() <= known
        assert given["divergence"] == divergence


@pytest.mark.slow
def test_isomap_without_patches_is_classical_and_with_them_as_by_default():
    assert divergence_parameters("isomap", "hellinger") == {"divergence": "hellinger"}
    assert divergence_parameters("lle", "euclidean") == {"divergence": "euclidean", "reg": 1e-3}
    compared = {
        m.divergence: m.estimator
        for m in methods(30, divergences=["kl", "euclidean"])
        if m.name == "PatchIsomap"
    }
    assert {name: found.scaling for name, found in compared.items()} == {
        "kl": "stress",
        "euclidean": "classical",
    }


def test_the_page_shows_scikit_learns_isomap_where_there_are_no_patches():
    theirs = Isomap(n_neighbors=9).fit_transform(X)
    quiet = SHARED | {"step": lambda _: None}
    (found,) = fit_all(X, ["isomap"], ["euclidean"], [9], **quiet)
    assert_equal_up_to_sign(found.plane, placed(theirs), 1e-6)
    both, _ = fit_beside({"a": X[:, :2]}, X, ["isomap"], ["euclidean"], 9, **quiet)
    assert_equal_up_to_sign(both["PatchIsomap"].embedding_, theirs, 1e-6)
    assert choose_k(X, ["isomap"], ["euclidean"], **SHARED) in {5, 10, 20}
