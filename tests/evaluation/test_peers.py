"""Methods of other packages are made alike, and one that is missing says what to install."""

from __future__ import annotations

import sys

import pytest

from patchfold.evaluation.comparison import umap


def test_umap_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"pip install 'patchfold\[papers\]'"):
        umap(2, 15, 0)


@pytest.mark.xdist_group("pynndescent")  # UMAP imports it, and that compiles
def test_umap_has_one_thread_and_the_seed():
    pytest.importorskip("umap")
    parameters = umap(3, 12, 5).get_params()
    expected = {"n_components": 3, "n_neighbors": 12, "random_state": 5, "n_jobs": 1}
    assert expected.items() <= parameters.items()
