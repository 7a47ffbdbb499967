"""``patchfold embed`` of Parquet files, on a cluster and beyond memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from command_line import done, told
from dask_cluster import dask_cluster
from patchfold import PatchIsomap
from patchfold.cli.streaming import is_streamed, points_of, row_groups, shared_out


@pytest.fixture
def rows(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    frame.insert(0, "name", [f"row {row}" for row in range(120)])
    (folder / "rows").mkdir()
    frame[:70].to_parquet(folder / "rows" / "0.parquet", row_group_size=40)
    frame[70:].to_parquet(folder / "rows" / "1.parquet")
    return frame


def test_parquet_files_are_embedded_on_a_cluster_as_in_one_process(
    call, rows, folder, tmp_path_factory
):
    with dask_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        words = ("--id", "name", "--cluster", cluster.address, "--divergence", "euclidean")
        done(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))
    found = pd.read_parquet(folder / "out.parquet")
    assert list(found) == ["name", "patchisomap0", "patchisomap1"]
    assert found["name"].tolist() == rows["name"].tolist()
    isomap = PatchIsomap(divergence="euclidean", random_state=0)
    alone = isomap.fit_transform(StandardScaler().fit_transform(rows[list("abc")].to_numpy()))
    places = found[["patchisomap0", "patchisomap1"]].to_numpy()
    np.testing.assert_allclose(places, alone, atol=1e-6)


def test_workers_on_this_machine_keep_to_the_memory_that_is_given(call, rows, folder):
    words = ("--id", "name", "--divergence", "euclidean", "--memory", "1GB")
    result = done(call("embed", "rows/*.parquet", *words, "-o", "out.parquet"))
    assert "Embedding 3 columns on 1 worker" in result.stderr
    found = pd.read_parquet(folder / "out.parquet")
    assert found["name"].tolist() == rows["name"].tolist()
    assert np.isfinite(found[["patchisomap0", "patchisomap1"]].to_numpy()).all()
    assert shared_out("3GB") == (1, 3_000_000_000)


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


def test_files_with_other_columns_and_without_rows_are_refused(call, rows, folder):
    rows[:0].to_parquet(folder / "none.parquet")
    assert "there are no rows" in told(call("embed", "none*.parquet", "-o", "out.parquet"))
    rows.drop(columns="a").to_parquet(folder / "rows" / "2.parquet")
    message = told(call("embed", "rows/*.parquet", "-o", "out.parquet"))
    assert "2.parquet: its columns are not those of" in message
    assert not (folder / "out.parquet").exists()


def test_only_large_tables_and_patterns_are_streamed(rows, folder):
    assert is_streamed("rows/*.parquet", None)
    assert is_streamed("rows/0.parquet", "tcp://localhost:8786")
    assert not is_streamed("rows/0.parquet", None)
    assert not is_streamed("iris.csv", None)
