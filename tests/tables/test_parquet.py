"""Parquet keeps its types."""

from __future__ import annotations

import pandas as pd

from patchfold.tables import read_table, select


def test_parquet_keeps_types_and_names(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.5, 2], "kind": ["a", "b"], "day": pd.to_datetime(["2020", "2021"])}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    frame.set_index("kind").to_parquet(tmp_path / "b.parquet")
    for name in "ab":
        table = read_table(tmp_path / f"{name}.parquet")
        assert set(table.frame.columns) == {"x", "kind", "day"}
        assert table.frame["x"].tolist() == [1.5, 2]
        assert table.frame["day"].dtype.kind == "M"


def test_an_index_names_the_rows(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2]}, index=["a", "b"])
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.index == "index"
    assert table.frame["index"].tolist() == ["a", "b"]
    frame.rename_axis("gene").to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").index == "gene"
    frame.reset_index(drop=True)[::-1].to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert (table.index, list(table.frame)) == (None, ["x"])
    frame.set_index([["a", "b"], [1, 2]]).rename_axis(["g", None]).to_parquet(
        tmp_path / "a.parquet"
    )
    table = read_table(tmp_path / "a.parquet")
    assert (table.index, set(table.frame)) == (None, {"g", "x"})


def test_all_rows_can_be_selected_whether_or_not_a_column_is_kept(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2, 3], "name": ["a", "b", "c"]})
    frame.to_parquet(tmp_path / "a.parquet")
    for keep in ([], ["other"], ["name"]):
        table = read_table(tmp_path / "a.parquet", keep=keep)
        selection = select(table.frame, drop=["name"], written=table.kept)
        assert selection.features["x"].tolist() == [1.5, 2, 3]
