"""``patchfold embed`` gives the coordinates of the library, and says what it did."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from command_line import COORDINATES, done, iris, refuse, table, told
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE
from patchfold.tables import read_table
from patchfold.tables.delimited import _precision

CLASSICAL = PatchIsomap(divergence="euclidean", scaling="classical")
CLASSICAL_LLE = PatchLLE(divergence="euclidean", reg=1e-3)
# Labels change lengths, which the weights and the bandwidth have to use.
LABELLED = {"supervision": "dissimilarity", "lengths": "divergence", "out_of_sample": "krr"}
SUPERVISED_LLE = PatchLLE(divergence="euclidean", weights="entropic", reg=1e-3, **LABELLED)
SUPERVISED_EIGENMAPS = PatchEigenmaps(bandwidth="median", **LABELLED)


def read_exactly(path):
    """Read numbers as they are written: before its third version, pandas rounds the last digit."""
    return pd.read_csv(path, **_precision(pd.__version__))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options", "estimator"),
    [
        ("isomap", [], PatchIsomap()),
        ("isomap", ["--supervised"], PatchIsomap(scaling="classical", **LABELLED)),
        ("isomap", ["--divergence", "euclidean"], CLASSICAL),
        ("lle", ["--divergence", "hellinger"], PatchLLE(divergence="hellinger")),
        ("eigenmaps", ["--neighbors", 10], PatchEigenmaps(n_neighbors=10)),
        ("lle", ["--divergence", "euclidean"], CLASSICAL_LLE),
        ("lle", ["--divergence", "euclidean", "--supervised"], SUPERVISED_LLE),
        ("eigenmaps", ["--supervised"], SUPERVISED_EIGENMAPS),
        ("tsne", [], PatchTSNE(random_state=0)),
    ],
)
def test_embed_and_apply_give_the_coordinates_of_the_library(call, method, options, estimator):
    # Columns that lie one by one in memory round their own way.
    frame = read_exactly("iris.csv")
    words = ["--target", "species", "--id", "name", "--method", method]
    done(call("embed", "iris.csv", *words, *options, "-o", "a.csv", "--model", "m.skops"))
    scaled = StandardScaler().fit_transform(frame.iloc[:, 1:5])
    expected = estimator.fit_transform(scaled, frame["species"])
    out = read_exactly("a.csv")
    names = list(estimator.get_feature_names_out())
    assert list(out.columns) == ["name", "species", *names]
    assert np.array_equal(out[names].to_numpy(), expected)
    assert out["name"].equals(frame["name"])
    done(call("apply", "m.skops", "iris.csv", "-o", "b.csv"))
    with open("a.csv", "rb") as fitted, open("b.csv", "rb") as mapped:  # noqa: PTH123
        assert fitted.read() == mapped.read()
    new = frame.iloc[:20, 1:5] + 0.01
    new[new.columns[::-1]].to_csv("new.csv", index=False)  # in another order
    done(call("apply", "m.skops", "new.csv", "-o", "new.parquet"))
    scaler = StandardScaler().fit(frame.iloc[:, 1:5])
    mapped = estimator.transform(scaler.transform(new))
    assert np.allclose(read_table("new.parquet").frame[names], mapped, rtol=0, atol=1e-12)


def test_raw_columns_are_taken_as_they_are(call):
    done(call("embed", "iris.csv", "--drop", "name", "--target", "species", "--raw", "-o", "a.csv"))
    with pytest.warns(UserWarning, match="2 components"):
        expected = PatchIsomap().fit_transform(iris().iloc[:, 1:5])
    assert np.array_equal(read_exactly("a.csv")[COORDINATES].to_numpy(), expected)


def test_parquet_needs_neither_names_nor_a_target(call):
    frame = table().drop(columns="kind")
    frame.to_csv("data.csv", index=False)
    frame.to_parquet("data.parquet")
    assert (
        done(call("embed", "data.parquet")).stdout == done(call("embed", "data.csv")).stdout != ""
    )


def test_names_that_spreadsheets_would_run_are_text_unless_asked_otherwise(call):
    names = [f"=cmd|' /C calc'!A{row}" for row in range(29)]
    table(name=[*names, "-1"]).to_csv("data.csv", index=False)
    words = ("data.csv", "--id", "name", "--target", "kind")
    lines = done(call("embed", *words, "--model", "m.skops", "-o", "a.csv")) and pd.read_csv(
        "a.csv"
    )
    assert lines["name"].tolist() == [*(f"'{name}" for name in names), "-1"]
    assert lines[COORDINATES].dtypes.eq(float).all()
    for command in (["embed", *words], ["apply", "m.skops", "data.csv"]):
        out = done(call(*command)).stdout
        assert out.splitlines()[1].startswith("'=cmd|' /C calc'!A0,x,")
        out = done(call(*command, "--keep-formulas")).stdout
        assert out.splitlines()[1].startswith("=cmd|' /C calc'!A0,x,")


def test_what_was_done_is_said_and_coordinates_go_to_standard_output(call):
    result = done(call("embed", "-", "--target", "species", "--id", "name", given=texts()))
    assert pd.read_csv(io.StringIO(result.stdout)).shape == (149, 4)
    assert "standard input: 149 rows, 4 features: 4 of numbers (standardised)" in result.stderr
    assert "PatchIsomap, divergence kl, 15 neighbours" in result.stderr


def texts():
    return iris().to_csv(index=False)


@pytest.mark.slow
def test_programs_get_a_summary_and_nothing_else(call):
    words = ["--target", "species", "--id", "name", "--components", 3, "--seed", 7]
    result = done(call("embed", "iris.csv", *words, "-o", "out.tsv.gz", "--json"))
    summary = json.loads(result.stdout)
    assert summary["rows"] == 149
    assert summary["features"] == ["sepal length", "sepal width", "petal length", "petal width"]
    assert summary["outputs"] == {"output": "out.tsv.gz"}
    assert read_table("out.tsv.gz").frame.shape == (149, 5)
    done(call("embed", "iris.csv", *words[:4], "--model", "m.skops", "--json"))
    mapped = json.loads(done(call("apply", "m.skops", "iris.csv", "--json")).stdout)
    assert (mapped["command"], mapped["rows"], mapped["outputs"]) == ("apply", 149, {})


@pytest.mark.slow
def test_rows_left_out_are_numbered_where_nothing_names_them(call):
    frame = iris().drop(columns="name")
    frame.loc[[3, 5], "sepal width"] = np.nan
    frame.to_csv("holes.csv", index=False)
    words = ("embed", "holes.csv", "--target", "species")
    assert "row 4 ('sepal width'), row 6 ('sepal width')" in told(call(*words))
    result = done(call(*words, "--missing", "drop", "--model", "m.skops", "-o", "a.csv"))
    assert "Note: 2 of 149 rows have a missing value and were left out: row 4" in result.stderr
    assert pd.read_csv("a.csv")["row"].tolist()[:5] == [1, 2, 3, 5, 7]
    assert "--missing drop" in told(call("apply", "m.skops", "holes.csv"))
    done(call("apply", "m.skops", "holes.csv", "--missing", "drop", "-o", "b.csv"))
    assert pd.read_csv("b.csv").equals(pd.read_csv("a.csv"))
    done(call(*words, "--missing", "impute", "--model", "i.skops", "-o", "c.csv"))
    done(call("apply", "i.skops", "holes.csv", "-o", "d.csv"))
    assert len(pd.read_csv("d.csv")) == 149
    assert pd.read_csv("d.csv").equals(pd.read_csv("c.csv"))


def test_names_of_rows_and_classes_come_out_as_they_went_in(call):
    frame = table(code=[f"{row:03}" for row in range(30)], kind=["1", "02", ""] * 10)
    frame.to_csv("data.csv", index=False)
    words = ("--target", "kind", "--id", "code", "--model", "m.skops")
    done(call("embed", "data.csv", *words, "-o", "a.csv"))
    for name in ("a.csv", "b.csv"):
        out = pd.read_csv(name, dtype=str, keep_default_na=False)
        assert out["code"].tolist() == frame["code"].tolist()
        assert out["kind"].tolist() == frame["kind"].tolist()
        done(call("apply", "m.skops", "data.csv", "-o", "b.csv"))
    done(call("embed", "data.csv", *words, "-o", "a.parquet"))
    out = read_table("a.parquet").frame
    assert out["code"][1] == "001"
    assert out["kind"][0] == 1


@pytest.mark.slow
def test_a_file_whose_name_is_no_text_is_named_all_the_same(call, folder, quick):
    name = os.fsdecode(b"caf\xe9.csv")
    (folder / name).write_bytes((folder / "iris.csv").read_bytes())
    words = ("--target", "species", "--id", "name")
    result = done(call("embed", name, *words, "--html", "a.html", "--json"))
    assert json.loads(result.stdout)["data"] == name
    done(call("compare", name, *words, "--halves", 2, "-o", "a.md"))
    assert "caf\\udce9.csv" in (folder / "a.md").read_text(encoding="utf-8")


def test_warnings_of_an_estimator_become_notes(call):
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 1e3])
    np.save("far.npy", far)
    result = done(call("embed", "far.npy", "--neighbors", 5))
    assert "Note: the neighbourhood graph has 2 components" in result.stderr
    assert "Warning" not in result.stderr


@pytest.mark.slow
def test_a_page_and_a_picture_are_written(call, folder):
    words = ("--target", "species", "--id", "name", "--html", "page.html", "--png", "plot.png")
    result = done(call("embed", "iris.csv", *words))
    assert result.stdout == ""
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_measurements_are_no_classes_to_supervise_by(call):
    words = ("--target", "petal width", "--drop", "name", "--supervised")
    assert "holds measurements, such as" in told(call("embed", "iris.csv", *words))


def test_a_column_named_as_a_coordinate_is_refused_before_the_fit(call, monkeypatch):
    monkeypatch.setattr(PatchIsomap, "fit", refuse)
    table(patchisomap0=range(30)).to_csv("data.csv", index=False)
    line = told(call("embed", "data.csv", "--id", "patchisomap0"))
    assert "the column 'patchisomap0' has the name of a coordinate" in line


@pytest.mark.slow
def test_neighbours_are_chosen_on_request(call):
    for options in ([], ["--supervised"], ["--method", "lle"], ["--method", "eigenmaps"]):
        words = ("--target", "species", "--id", "name", "--neighbors", "auto", *options)
        result = done(call("embed", "iris.csv", *words, "--model", "m.skops", "--json"))
        assert json.loads(result.stdout)["neighbors"] in {5, 10, 20, 40}
        done(call("apply", "m.skops", "iris.csv"))


@pytest.mark.filterwarnings("ignore:the neighbourhood graph has 2 components")
def test_rows_are_compared_by_their_shape_on_request(call):
    words = ("embed", "iris.csv", "--metric", "correlation", "--raw", "--model", "m.skops")
    done(call(*words, "-o", "out.csv"))
    points = iris().iloc[:, 1:5].to_numpy()
    expected = PatchIsomap(metric="correlation", random_state=0).fit_transform(points)
    found = read_exactly("out.csv")
    np.testing.assert_allclose(found[COORDINATES], expected, atol=1e-8)
    # The model knows it: twice the intensity is the same place.
    twice = iris().drop(columns="species")
    twice[twice.columns[1:]] *= 2
    twice.to_csv("twice.csv", index=False)
    done(call("apply", "m.skops", "twice.csv", "-o", "again.csv"))
    np.testing.assert_allclose(read_exactly("again.csv")[COORDINATES], expected, atol=1e-6)


def test_what_classes_have_shaped_is_said_to_be(call):
    words = ("embed", "iris.csv", "--target", "species", "-o", "out.csv", "--json")
    (caution,) = json.loads(done(call(*words, "--supervised")).stdout)["notes"][-1:]
    assert caution.startswith("--supervised draws classes apart, random ones too")
    assert "--supervised draws" not in done(call(*words)).stdout


def test_few_rows_get_the_caution_of_the_readme(call):
    for rows, few in ((49, True), (50, False)):
        table(100).head(rows).drop(columns="kind").to_csv("few.csv", index=False)
        result = done(call("embed", "few.csv", "-o", "out.csv"))
        assert ("49 rows are few: a neighbourhood is most of the data" in result.stderr) is few


@pytest.mark.parametrize("command", ["embed", "bridges", "explore", "compare"])
def test_a_minus_stands_for_standard_output(call, quick, folder, command):
    words = {
        "embed": ("--png", "map.png"),
        "bridges": (),
        "explore": ("--neighbors", 8, "--divergence", "kl"),
        "compare": ("--halves", 2, "--divergence", "kl"),
    }[command]
    result = done(call(command, "iris.csv", "-o", "-", *words))
    begin = {"explore": "<!doctype html>", "compare": "method\tdivergence"}
    assert result.stdout.startswith(begin.get(command, ""))
    if command in {"embed", "bridges"}:
        plain = done(call(command, "iris.csv")).stdout
        assert result.stdout == plain
    assert "Wrote -" not in result.stderr
    assert not (folder / "-").exists()
    if command != "compare":
        refused = told(call(command, "iris.csv", "-o", "-", "--json"))
        assert refused == "--json and --output - both write to standard output; leave one out."
