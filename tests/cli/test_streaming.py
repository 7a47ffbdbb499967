"""``patchfold embed`` of Parquet files, on a cluster and beyond memory."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import distributed
from command_line import COORDINATES, done, told
from dask_cluster import without_workers
from patchfold import PatchIsomap
from patchfold.cli import streaming
from patchfold.cli.streaming import is_streamed, points_of, row_groups, shared_out
from patchfold.distributed import connection


@pytest.fixture
def rows(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    frame.insert(0, "name", [f"row {row}" for row in range(120)])
    (folder / "rows").mkdir()
    frame[:70].to_parquet(folder / "rows" / "0.parquet", row_group_size=40)
    frame[70:].to_parquet(folder / "rows" / "1.parquet")
    return frame


@pytest.fixture
def in_one_place(monkeypatch):
    """Let the command do in this process what workers would."""

    @contextmanager
    def connected(address, memory):
        yield without_workers(monkeypatch)

    monkeypatch.setattr(streaming, "_client", connected)


# ---------------------------------------------------------------- the command


def assert_embedded(folder, rows):
    """Compare what the command has written with an embedding in this process."""
    found = pd.read_parquet(folder / "out.parquet")
    assert list(found) == ["name", *COORDINATES]
    assert found["name"].tolist() == rows["name"].tolist()
    isomap = PatchIsomap(divergence="euclidean", scaling="classical", random_state=0)
    alone = isomap.fit_transform(StandardScaler().fit_transform(rows[list("abc")].to_numpy()))
    np.testing.assert_allclose(found[COORDINATES].to_numpy(), alone, atol=1e-6)


@pytest.mark.xdist_group("cluster")  # one process of pytest has the workers
def test_parquet_files_are_embedded_on_a_cluster_as_in_one_process(
    call, rows, folder, dask_workers
):
    words = ("--id", "name", "--cluster", dask_workers.address, "--divergence", "euclidean")
    done(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))
    assert_embedded(folder, rows)


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.long)])
def test_workers_on_this_machine_keep_to_the_memory_that_is_given(
    call, rows, folder, monkeypatch, processes
):
    real, limits = distributed.LocalCluster, []

    def started(**options):
        limits.append((options["n_workers"], options["memory_limit"]))
        if not processes:  # a worker of this process, which may have more memory than that already
            options["memory_limit"] = 0
        return real(processes=processes, **options)

    monkeypatch.setattr(distributed, "LocalCluster", started)
    words = ("--id", "name", "--divergence", "euclidean", "--memory", "1GB")
    result = done(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))
    assert limits == [(1, 10**9)]
    assert "Embedding 3 columns on 1 worker" in result.stderr
    assert_embedded(folder, rows)


def test_columns_beside_the_features_are_written_and_dropped_ones_are_not(
    call, rows, folder, in_one_place
):
    words = ("--id", "name", "--target", "c", "--drop", "b", "--raw")
    words += ("--divergence", "euclidean", "--components", 1)
    result = done(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))
    assert "Embedding 1 column on 1 worker" in result.stderr
    found = pd.read_parquet(folder / "out.parquet")
    assert list(found) == ["name", "c", "patchisomap0"]
    pd.testing.assert_frame_equal(found[["name", "c"]], rows[["name", "c"]])
    # Points on a line keep their distances.
    places, line = found["patchisomap0"].to_numpy(), rows["a"].to_numpy()
    np.testing.assert_allclose(abs(places - places[0]), abs(line - line[0]), atol=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rows/*.parquet",), "written to a file; name it: --output FILE.parquet"),
        (("rows/*.parquet", "-o", "out.csv"), "become Parquet; name it .parquet"),
        (("nowhere/*.parquet", "-o", "out.parquet"), "no file has such a name"),
        (("rows/*.parquet", "-o", "out.parquet", "--png", "a.png"), "--png does not go with"),
        (("rows/*.parquet", "-o", "out.parquet", "--memory", "1MB"), "need at least 1GB"),
        (("rows/*.parquet", "-o", "out.parquet", "--memory", "much"), "with a unit, e.g. 4GB"),
        (("rows/0.parquet", "--memory", "1GB"), "name them by a pattern"),
    ],
)
def test_what_is_not_done_on_a_cluster_is_refused(call, rows, words, message):
    assert message in told(call("embed", *words))


def test_an_address_without_a_scheduler_is_refused(call, rows, monkeypatch):
    def timed_out(address):
        # A real client stays Dask's default after it has failed, and later tests would use it.
        raise OSError(f"{address} did not answer")

    monkeypatch.setattr(distributed, "Client", timed_out)
    words = ("rows/*.parquet", "-o", "out.parquet", "--cluster", "tcp://there:1")
    message = told(call("embed", *words))
    assert "--cluster tcp://there:1: there is no scheduler (tcp://there:1 did not" in message


def test_without_dask_the_command_says_what_to_install(call, rows, monkeypatch):
    monkeypatch.setattr(connection, "find_spec", lambda _: None)
    message = told(call("embed", "rows/*.parquet", "-o", "out.parquet"))
    assert message == "work on a cluster needs dask and distributed; pip install 'patchfold[dask]'."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "column 'name' is no number, and categories are not coded on a cluster"),
        (("--id", "nobody"), "there is no column 'nobody'"),
        (("--id", "name", "--drop", "a", "--drop", "b", "--drop", "c"), "no column is left"),
    ],
)
def test_columns_that_are_no_features_are_refused(call, rows, in_one_place, words, message):
    assert message in told(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))


def test_files_with_other_columns_and_without_rows_are_refused(call, rows, folder, in_one_place):
    rows[:0].to_parquet(folder / "none.parquet")
    assert "there are no rows" in told(call("embed", "none*.parquet", "-o", "out.parquet"))
    rows.drop(columns="a").to_parquet(folder / "rows" / "2.parquet")
    message = told(call("embed", "rows/*.parquet", "-o", "out.parquet"))
    assert "2.parquet: its columns are not those of" in message
    assert not (folder / "out.parquet").exists()


# ---------------------------------------------------------------- its parts


def test_only_large_tables_and_patterns_are_streamed(rows, folder, monkeypatch):
    assert is_streamed("rows/*.parquet", None)
    assert is_streamed("rows/0.parquet", "tcp://localhost:8786")
    assert not is_streamed("rows/0.parquet", None)
    assert not is_streamed("iris.csv", None)
    (folder / "broken.parquet").write_bytes(b"not a table")
    assert not is_streamed("broken.parquet", None)
    table = 8 * 70 * 4 / streaming.SHARE  # bytes that have to be free
    for free, streamed in ((table - 10, True), (table, False), (None, False)):
        monkeypatch.setattr("patchfold.base.memory.available_memory", lambda free=free: free)
        assert is_streamed("rows/0.parquet", None) == streamed


def test_groups_of_rows_are_in_the_order_of_numbers_and_empty_ones_are_left_out(rows, folder):
    for number in (10, 2):
        rows[:5].to_parquet(folder / "rows" / f"{number}.parquet")
    rows[:0].to_parquet(folder / "rows" / "3.parquet")
    expected = [("0", 0, 40), ("0", 1, 30), ("1", 0, 50), ("2", 0, 5), ("10", 0, 5)]
    for name in ("rows/*.parquet", "rows"):
        assert [(Path(file).stem, at, size) for file, at, size in row_groups(name)] == expected


def test_points_are_the_features_of_all_groups_in_order(rows, folder):
    rows["flag"], rows["count"] = rows["a"] > 0, np.arange(120)
    rows[:70].to_parquet(folder / "rows" / "0.parquet", row_group_size=40)
    rows[70:].to_parquet(folder / "rows" / "1.parquet")
    names = ["count", "b", "flag"]
    points = points_of(row_groups("rows"), names)
    assert points.chunks == ((40, 30, 50), (3,))
    np.testing.assert_array_equal(points.compute(), rows[names].to_numpy(dtype=float))


def test_columns_are_standardised_but_constant_ones_and_missing_numbers_stay():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 100.0, 0.0] + [0.0, 5.0, 7.0]
    X[4, 0] = np.nan
    found = streaming._standardised(da.from_array(X, chunks=(20, 3))).compute()
    np.testing.assert_allclose(found, StandardScaler().fit_transform(X))
    assert np.isnan(found[4, 0])
    assert (found[:, 2] == 0).all()


def test_groups_are_written_one_after_the_other_with_the_columns_beside_them(rows, folder):
    groups, places = row_groups("rows/*.parquet"), np.arange(240.0).reshape(120, 2)
    chunks, output = da.from_array(places, chunks=((40, 30, 50), 2)), folder / "out.parquet"
    assert streaming._write(output, groups, ["name"], chunks, "PatchIsomap") == 120
    found = pd.read_parquet(folder / "out.parquet")
    assert found["name"].tolist() == rows["name"].tolist()
    np.testing.assert_array_equal(found[COORDINATES].to_numpy(), places)
    assert sorted(path.name for path in folder.glob("out*")) == ["out.parquet"]


def test_memory_is_shared_out_to_workers_of_at_least_two_gigabytes(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    assert shared_out("1GB") == (1, 10**9)
    assert shared_out("3GB") == (1, 3 * 10**9)
    assert shared_out("5GB") == (2, 2_500_000_000)
    assert shared_out("40GB") == (4, 10**10)
    monkeypatch.setattr("patchfold.base.memory.available_memory", lambda: 10**10)
    assert shared_out(None) == (4, int(streaming.WORKERS_SHARE * 10**10) // 4)
    monkeypatch.setattr("patchfold.base.memory.available_memory", lambda: None)
    assert shared_out(None) == (4, "auto")


def test_workers_that_are_slow_to_close_do_not_hide_why_a_fit_failed():
    class Slow:
        def close(self):
            raise TimeoutError

    with pytest.raises(RuntimeError, match="the reason"), streaming._closed(Slow()):
        raise RuntimeError("the reason")
