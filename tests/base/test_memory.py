"""Memory is checked before it is needed, and data on disk are never copied to double precision."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest

from patchfold import GaussianPatch, PatchIsomap, PatchSpace
from patchfold.base import memory
from patchfold.base.memory import check_memory
from patchfold.neighbors import find_neighbors

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 1500, 8000, 3


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """48 MB in a file, which would be 96 MB in double precision."""
    path = tmp_path_factory.mktemp("data") / "points.npy"
    points = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES), dtype=np.float32)
    np.save(path, points)
    return np.load(path, mmap_mode="r")


def peak(work):
    """Return what the work gives, and the bytes it had allocated at most."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_neighbours_are_found_beside_one_copy_in_single_precision(mapped):
    _, used = peak(lambda: find_neighbors(mapped, N_NEIGHBORS))
    assert used < 1.9 * mapped.nbytes


@pytest.mark.slow
def test_patches_are_fitted_in_blocks(mapped):
    near = find_neighbors(mapped, N_NEIGHBORS)
    patches, used = peak(lambda: GaussianPatch().fit(mapped, near))
    assert patches.means.dtype == np.float32
    kept = sum(field.nbytes for field in (patches.means, patches.directions))
    assert used - kept < 1.5 * mapped.nbytes


@pytest.mark.slow
def test_a_graph_of_distances_needs_no_more_than_its_neighbours(mapped):
    space = PatchSpace(n_neighbors=N_NEIGHBORS, divergence="euclidean")
    fitted, used = peak(lambda: space.fit(mapped))
    assert fitted.graph_.dtype == np.float32
    assert used < 1.9 * mapped.nbytes


@pytest.mark.slow
def test_mapped_data_give_the_bits_of_data_in_memory(mapped):
    rows, columns = mapped[:200, :50], np.array(mapped[:200, :50])
    first, second = (PatchIsomap(n_neighbors=8).fit(X).embedding_ for X in (rows, columns))
    np.testing.assert_array_equal(first, second)


def test_what_is_not_there_is_refused_with_figures_and_a_remedy():
    words = "a matrix needs about 3.0 GB of memory, and 2.0 GB are available; take fewer rows"
    with pytest.raises(MemoryError, match=words):
        check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: 2 * 10**9)
    check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: 3 * 10**9)
    check_memory(3 * 10**9, "a matrix", "take fewer rows", available=lambda: None)  # not known


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of a system that says nothing yet."""
    names = ("max", "current", "stat", "meminfo", "statm")
    paths = {name: tmp_path / name for name in names}
    monkeypatch.setattr(memory, "_GROUP", (paths["max"], paths["current"]))
    monkeypatch.setattr(memory, "_GROUP_STATISTICS", paths["stat"])
    monkeypatch.setattr(memory, "_SYSTEM", paths["meminfo"])
    monkeypatch.setattr(memory, "_PROCESS", paths["statm"])
    paths["meminfo"].write_text("MemTotal: 9000 kB\nMemAvailable:  4000 kB\n")
    return paths


def test_this_machine_tells_how_much_is_left():
    assert memory.available_memory() > 10**7


def test_memory_is_what_the_system_or_the_group_has_left(files):
    assert memory.available_memory() == 4_096_000
    files["current"].write_text("1000\n")
    files["max"].write_text("max\n")
    assert memory.available_memory() == 4_096_000
    files["max"].write_text("5000\n")
    assert memory.available_memory() == 4000


def test_where_no_file_tells_memory_is_that_of_the_machine(files):
    files["meminfo"].unlink()
    assert memory.available_memory() > 10**7


def test_the_cache_of_files_counts_as_free(files):
    files["max"].write_text("5000\n")
    files["current"].write_text("4000\n")
    assert memory.available_memory() == 1000
    files["stat"].write_text("anon 10\ninactive_file 1500\nactive_file 500\n")
    assert memory.available_memory() == 3000
    files["stat"].write_text("anon 10\n")  # of another system
    assert memory.available_memory() == 1000


def test_the_limit_of_the_process_counts(files, monkeypatch):
    resource = pytest.importorskip("resource")
    page = os.sysconf("SC_PAGE_SIZE")
    limits = {"soft": 100 * page}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits["soft"], -1))
    files["statm"].write_text("60 7 7 7 0 7 0\n")
    assert memory.available_memory() == 40 * page
    limits["soft"] = resource.RLIM_INFINITY
    assert memory.available_memory() == 4_096_000
    limits["soft"] = 100 * page
    files["statm"].unlink()  # not known
    assert memory.available_memory() == 4_096_000


def test_full_covariances_are_refused_before_they_are_made(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 40))
    near = find_neighbors(X, 5)
    recipe = GaussianPatch(covariance="diagonal-shrinkage")
    needed = 2 * 8 * 60 * 40 * 40
    monkeypatch.setattr(memory, "available_memory", lambda: needed)
    assert recipe.fit(X, near).roots.shape == (60, 40, 40)
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    with pytest.raises(MemoryError, match=r"full covariances of 60 patches of 40 features.*PCA"):
        recipe.fit(X, near)
    GaussianPatch().fit(X, near)  # factored ones are small
