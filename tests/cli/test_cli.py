"""The command does what its options say, says so, and ends every trouble with one clear line."""

from __future__ import annotations

import base64
import gzip
import http.client
import io
import json
import os
import pickle
import re
import sys
import webbrowser
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import patchfold
from command import done, iris, table, told
from patchfold import PatchEigenmaps, PatchIsomap, PatchLLE, PatchTSNE, cli, divergences
from patchfold.cli import _options, _session, benchmarking, exploring
from patchfold.cli.models import Origin, dump_model
from patchfold.embedding.methods import METHODS
from patchfold.selection import select_n_neighbors
from patchfold.tables import read_table

COORDINATES = ["patchisomap0", "patchisomap1"]


# ---------------------------------------------------------------- help


def test_the_version_is_printed(call):
    assert done(call("--version")).stdout == f"patchfold {patchfold.__version__}\n"


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_help_names_commands_examples_and_exit_codes(call, words):
    text = call(*words).output
    for word in ("embed", "apply", "compare", "explore", "reproduce", "datasets", "bench"):
        assert f"\n  {word} " in text
    for word in ("--install-completion", "Exit codes:", "130  stopped", "patchfold embed iris.csv"):
        assert word in text


@pytest.mark.parametrize(
    "command", ["embed", "apply", "compare", "explore", "reproduce", "datasets", "bench"]
)
def test_every_command_has_examples(call, command):
    text = done(call(command, "--help")).stdout
    assert f"\n    patchfold {command}" in text
    assert "None" not in text


def test_what_help_names_is_what_there_is():
    assert tuple(divergences.NAMES) == _options.DIVERGENCES
    assert tuple(METHODS) == _options.METHODS


def test_values_of_options_are_completed():
    chosen = _options.chosen("--method", _options.METHODS)
    assert chosen["autocompletion"]("is") == ["isomap"]


# ---------------------------------------------------------------- embed and apply

CLASSICAL_LLE = PatchLLE(divergence="euclidean", weights="euclidean")
# Labels change lengths, which the weights and the bandwidth have to use.
SUPERVISED_LLE = PatchLLE(divergence="euclidean", supervision="dissimilarity", weights="entropic")
SUPERVISED_EIGENMAPS = PatchEigenmaps(supervision="dissimilarity", bandwidth="median")


@pytest.mark.parametrize(
    ("method", "options", "estimator"),
    [
        ("isomap", [], PatchIsomap()),
        ("isomap", ["--supervised"], PatchIsomap(supervision="dissimilarity")),
        ("lle", ["--divergence", "hellinger"], PatchLLE(divergence="hellinger")),
        ("eigenmaps", ["--neighbors", 10], PatchEigenmaps(n_neighbors=10)),
        ("lle", ["--divergence", "euclidean"], CLASSICAL_LLE),
        ("lle", ["--divergence", "euclidean", "--supervised"], SUPERVISED_LLE),
        ("eigenmaps", ["--supervised"], SUPERVISED_EIGENMAPS),
        ("tsne", [], PatchTSNE(random_state=0)),
    ],
)
def test_embed_and_apply_give_the_coordinates_of_the_library(call, method, options, estimator):
    frame = pd.read_csv("iris.csv")  # columns that lie one by one in memory round their own way
    words = ["--target", "species", "--id", "name", "--method", method]
    done(call("embed", "iris.csv", *words, *options, "-o", "a.csv", "--model", "m.skops"))
    scaled = StandardScaler().fit_transform(frame.iloc[:, 1:5])
    expected = estimator.fit_transform(scaled, frame["species"])
    out = pd.read_csv("a.csv")
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
    assert np.array_equal(pd.read_csv("a.csv")[COORDINATES].to_numpy(), expected)


def test_what_was_done_is_said_and_coordinates_go_to_standard_output(call):
    result = done(call("embed", "-", "--target", "species", "--id", "name", given=texts()))
    assert pd.read_csv(io.StringIO(result.stdout)).shape == (149, 4)
    assert "standard input: 149 rows, 4 features: 4 of numbers (standardised)" in result.stderr
    assert "PatchIsomap, divergence kl, 15 neighbours" in result.stderr


def texts():
    return iris().to_csv(index=False)


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


def test_columns_of_new_rows_are_checked_by_name(call):
    words = ("--target", "species", "--id", "name")
    done(call("embed", "iris.csv", *words, "--model", "m.skops", "-o", "a.csv"))
    frame = iris()
    frame.drop(columns="petal width").to_csv("lacking.csv", index=False)
    assert "needs the columns 'petal width'" in told(call("apply", "m.skops", "lacking.csv"))
    frame.assign(extra=1).to_csv("extra.csv", index=False)
    assert "does not know the columns 'extra'; leave" in told(call("apply", "m.skops", "extra.csv"))
    done(call("apply", "m.skops", "extra.csv", "--drop", "extra", "-o", "b.csv"))
    assert pd.read_csv("b.csv").equals(pd.read_csv("a.csv"))
    assert "no column 'nome'; did you mean 'name'" in told(
        call("apply", "m.skops", "iris.csv", "--id", "nome")
    )
    frame.rename(columns={"name": "other"}).to_csv("other.csv", index=False)
    done(call("apply", "m.skops", "other.csv", "--id", "other", "-o", "c.csv"))
    assert "other" in pd.read_csv("c.csv").columns
    frame.assign(**{"sepal width": "wide"}).to_csv("text.csv", index=False)
    assert "should hold numbers, but row 1 has 'wide'" in told(call("apply", "m.skops", "text.csv"))


def test_new_rows_may_have_other_names_and_no_feature_is_left_out(call):
    words = ("--target", "species", "--id", "name")
    done(call("embed", "iris.csv", *words, "--model", "m.skops", "-o", "a.csv"))
    iris().assign(code=[f"{row:04}" for row in range(149)]).to_csv("both.csv", index=False)
    out = done(call("apply", "m.skops", "both.csv", "--id", "code")).stdout
    assert out.splitlines()[1].startswith("0000,setosa,")
    out = done(call("apply", "m.skops", "iris.csv", "--drop", "name", "--drop", "species")).stdout
    assert out.splitlines()[0] == ",".join(COORDINATES)
    iris()[:1].to_csv("one.csv", index=False)
    assert "1 row mapped" in done(call("apply", "m.skops", "one.csv")).stderr
    line = told(call("apply", "m.skops", "iris.csv", "--drop", "petal width"))
    assert "'petal width' is a feature of the model; take it out of --drop" in line
    line = told(call("apply", "m.skops", "iris.csv", "--id", "name", "--drop", "name"))
    assert "'name' names the rows; take it out of --drop" in line
    iris().assign(**{"petal width": "wide"}).to_csv("text.csv", index=False)
    assert "--drop" not in told(call("apply", "m.skops", "text.csv"))
    iris().assign(**{"petal width": None}).to_csv("holes.csv", index=False)
    for rule in ("error", "drop"):
        line = told(call("apply", "m.skops", "holes.csv", "--missing", rule))
        assert "--drop" not in line
        assert "fit" in line or "--missing impute" not in line


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


def test_categories_of_new_rows_are_text_as_those_of_the_fitted_ones(call):
    frame = table(kind=["01", "02", "0A"] * 10)
    frame.to_csv("data.csv", index=False)
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    some = frame["kind"] != "0A"
    frame[some].to_csv("new.csv", index=False)
    result = done(call("apply", "m.skops", "new.csv", "-o", "b.csv"))
    assert "does not know" not in result.stderr
    assert np.array_equal(pd.read_csv("a.csv")[some], pd.read_csv("b.csv"))


def test_a_file_whose_name_is_no_text_is_named_all_the_same(call, folder, quick):
    name = os.fsdecode(b"caf\xe9.csv")
    (folder / name).write_bytes((folder / "iris.csv").read_bytes())
    words = ("--target", "species", "--id", "name")
    result = done(call("embed", name, *words, "--html", "a.html", "--json"))
    assert json.loads(result.stdout)["data"] == name
    done(call("compare", name, *words, "--halves", 2, "-o", "a.md"))
    assert "caf\\udce9.csv" in (folder / "a.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("coding", ["onehot", "ordinal"])
def test_unknown_categories_are_told_and_refused_where_they_have_no_place(call, coding):
    frame = iris()
    words = ("--categories", coding, "--id", "name", "--model", "m.skops", "-o", "a.csv")
    done(call("embed", "iris.csv", *words))
    done(call("apply", "m.skops", "iris.csv", "-o", "b.csv"))
    assert pd.read_csv("b.csv").equals(pd.read_csv("a.csv"))
    frame.assign(species="daisy").to_csv("new.csv", index=False)
    result = call("apply", "m.skops", "new.csv", "-o", "c.csv")
    words = "column 'species' has values that the model does not know, such as 'daisy' in row 1"
    if coding == "ordinal":
        assert words in told(result)
    else:
        assert words in done(result).stderr


def test_models_of_another_version_are_noted(call, monkeypatch):
    done(call("embed", "iris.csv", "--id", "name", "--model", "m.skops"))
    monkeypatch.setattr(patchfold, "__version__", "99.0")
    assert "fitted by patchfold" in done(call("apply", "m.skops", "iris.csv")).stderr


def test_warnings_of_an_estimator_become_notes(call):
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 1e3])
    np.save("far.npy", far)
    result = done(call("embed", "far.npy", "--neighbors", 5))
    assert "Note: the neighbourhood graph has 2 components" in result.stderr
    assert "Warning" not in result.stderr


def test_few_rows_have_fewer_neighbours(call):
    np.save("few.npy", np.random.default_rng(0).normal(size=(9, 2)))
    assert "Note: 4 neighbours instead of 15, for 9 rows." in done(call("embed", "few.npy")).stderr
    line = told(call("embed", "few.npy", "--neighbors", 9))
    assert "few.npy: --neighbors=9 needs more than 9 samples" in line


def test_a_page_and_a_picture_are_written(call, folder):
    words = ("--target", "species", "--id", "name", "--html", "page.html", "--png", "plot.png")
    result = done(call("embed", "iris.csv", *words))
    assert result.stdout == ""
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------- messy tables


def german(frame):
    return frame.to_csv(index=False, sep=";", decimal=",")


GOOD = {
    "bom": table().to_csv(index=False).encode("utf-8-sig"),
    "utf-16": table().to_csv(index=False).encode("utf-16"),
    "semicolons": table().to_csv(index=False, sep=";").encode(),
    "decimal commas": german(table()).encode(),
    "quoted newlines": table(kind=['x\n"1"', "y"] * 15).to_csv(index=False).encode(),
    "tabs": table().to_csv(index=False, sep="\t").encode(),
    "windows lines": table().to_csv(index=False, lineterminator="\r\n").encode(),
    "gzip": gzip.compress(table().to_csv(index=False).encode()),
    "latin": table(kind=["süß", "herb"] * 15).to_csv(index=False).encode("latin-1"),
    "emoji": table(kind=["🙂", "שלום"] * 15).to_csv(index=False).encode(),
    "a constant column": table(c=1).to_csv(index=False).encode(),
    "script": table(kind=["<script>alert(1)</script>", "</style>"] * 15).to_csv().encode(),
    "markup": table(kind=["[red]x[/red]", ":smile:"] * 15).to_csv(index=False).encode(),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_messy_table_that_can_be_read_is(call, folder, name):
    (folder / "data.csv").write_bytes(GOOD[name])
    done(call("embed", "data.csv", "--target", "kind", "-o", "out.csv"))
    out = pd.read_csv("out.csv")
    assert len(out) == 30
    assert out["kind"].nunique() == 2


BAD = {
    "empty": (b"", "the file is empty"),
    "header only": (b"a,b,kind\n", "there are no rows"),
    "one row": (b"a,b,kind\n1,2,x\n", "one value only, 'x'"),
    "two rows": (b"a,b,kind\n1,2,x\n2,3,y\n", "no arranging of 2 rows"),
    "duplicate names": (b"a,a,kind\n1,2,x\n", "columns 1 and 2 are both named 'a'"),
    "a column all missing": (table(c=None).to_csv(index=False).encode(), "'c' has no values"),
    "one class": (table().assign(kind="x").to_csv(index=False).encode(), "one value only, 'x'"),
    "binary": (bytes(range(256)), "no table but a binary file"),
    "pickle": (pickle.dumps(table()), "no table but a binary file"),
    "missing values": (b"a,b,kind\n1,,x\n2,3,y\n4,5,x\n6,7,y\n", "row 1 ('b')"),
    "ragged": (b"a,b,kind\n1,2,x\n1,2,x,9\n", "row 2 has 4 fields and the row of names 3"),
    "constant": (b"a,kind\n1,x\n1,y\n1,x\n", "no column varies ('a')"),
    "infinite": (b"a,kind\n1,x\ninf,y\n1,x\n", "'a' is infinite in row 2"),
    "no target": (b"a,b\n1,2\n3,4\n5,6\n", "there is no column 'kind'"),
    "only a target": (b"kind\nx\ny\nx\n", "no column is left as a feature"),
    "huge categories": (
        table(2500, c=[f"c{i // 2}" for i in range(2500)]).to_csv(index=False).encode(),
        "'c' has 1250 different texts in 2500 rows, such as 'c0', too many",
    ),
    "a long cell": (
        table(c=["x" * 1_000_000, *map(str, range(29))]).to_csv(index=False).encode(),
        "'c' seems to hold numbers, but row 1 has 'xxx",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["embed", "compare", "explore"])
def test_a_messy_table_that_cannot_be_used_is_refused_in_one_line(call, folder, name, command):
    data, words = BAD[name]
    (folder / "data.csv").write_bytes(data)
    output = "out.csv" if command == "embed" else "out.html"
    result = call(command, "data.csv", "--target", "kind", "-o", output)
    line = told(result)
    assert line.startswith("data.csv: ")
    assert words in line
    assert len(line) < 400
    assert len(result.stderr.splitlines()) == 1


def test_places_that_are_no_files_are_refused(call, folder, monkeypatch):
    (folder / "sub").mkdir()
    assert told(call("embed", "sub")) == "sub: this is a folder; name a file in it."
    assert told(call("embed", "nowhere.csv")) == "nowhere.csv: there is no such file."
    assert told(call("embed", "iris.csv/x")).startswith("iris.csv/x: ")
    assert told(call("apply", "nowhere.skops", "iris.csv")).startswith("nowhere.skops: there is no")
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert told(call("embed", "iris.csv", "--id", "name")) == "iris.csv: permission denied."


def refuse(*_):
    raise PermissionError(13, "Permission denied", "iris.csv")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("out.xlsx", "the ending of 'out.xlsx' is not known; use .csv or"),
        ("iris.csv", "this is the input"),
        ("sub.csv", "this is a folder"),
        ("iris.csv/out.csv", "is a file and no folder"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused_before_anything_is_read(
    call, folder, monkeypatch, path, words
):
    (folder / "sub.csv").mkdir()
    monkeypatch.setattr("patchfold.tables.read_table", refuse)
    assert words in told(call("embed", "iris.csv", "-o", path))


def test_a_folder_without_permission_is_refused(call, folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to" in told(call("embed", "iris.csv", "-o", "out.csv"))


def test_a_file_without_permission_is_refused(call, folder, monkeypatch):
    (folder / "out.csv").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or path.name != "out.csv")
    assert "this file cannot be written to" in told(call("embed", "iris.csv", "-o", "out.csv"))


def test_two_outputs_of_one_name_are_refused(call):
    line = told(call("explore", "iris.csv", "-o", "out.txt"))
    assert "use .html or .htm" in line
    with pytest.raises(_session.Refused, match="two outputs have this name"):
        _session.check_outputs([_options.Path("a.csv"), _options.Path("a.csv")])


def test_a_full_disk_is_told_and_leaves_nothing(call, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(_session, "write_whole", full)
    line = told(call("embed", "iris.csv", "--id", "name", "-o", "out.csv"))
    assert line == "out.csv: cannot be written (No space left on device)."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "isomp"], "--method='isomp' is not known; did you mean 'isomap'?"),
        (["--divergence", "KL"], "did you mean 'kl'?"),
        (["--neighbors", "many"], "give a whole number from 1, or 'auto'"),
        (["--neighbors", "0"], "give a whole number from 1, or 'auto'"),
        (["--missing", "ignore"], "--missing='ignore' is not known"),
        (["--categories", "hot"], "--categories='hot' is not known"),
        (["--supervised"], "--supervised needs the column of the classes: --target COL."),
        (["--components", "0"], "--components"),
        (["--components", "3", "--png", "a.png"], "leave --components at 2"),
        (["--no-such-option"], "--no-such-option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_named(call, words, message):
    result = call("embed", "iris.csv", *words)
    assert result.exit_code == cli.WRONG
    assert message in " ".join(result.stderr.split())


def test_measurements_are_no_classes_to_supervise_by(call):
    words = ("--target", "petal width", "--drop", "name", "--supervised")
    assert "holds measurements, such as" in told(call("embed", "iris.csv", *words))


def test_a_column_named_as_a_coordinate_is_refused_before_the_fit(call, monkeypatch):
    monkeypatch.setattr(PatchIsomap, "fit", refuse)
    table(patchisomap0=range(30)).to_csv("data.csv", index=False)
    line = told(call("embed", "data.csv", "--id", "patchisomap0"))
    assert "the column 'patchisomap0' has the name of a coordinate" in line


def test_a_pickle_is_no_model(call, folder):
    (folder / "model.skops").write_bytes(pickle.dumps({"a": 1}))
    assert "pickles are not loaded" in told(call("apply", "model.skops", "iris.csv"))


def test_a_model_with_other_steps_is_refused(call, folder):
    X = iris().iloc[:, 1:5]
    other = Pipeline([("scale", StandardScaler()), ("embedding", PatchIsomap())]).fit(X)
    (folder / "model.skops").write_bytes(dump_model(other, Origin()))
    assert "has other steps than" in told(call("apply", "model.skops", "iris.csv"))


# ---------------------------------------------------------------- ends


def test_a_missing_package_is_one_line(call, monkeypatch):
    def missing(module, purpose):
        raise ImportError("reading tables needs pandas; install it with: pip install ...")

    monkeypatch.setattr("patchfold.tables.reading.require", missing)
    assert "needs pandas" in told(call("embed", "iris.csv"), cli.FAILED)


@pytest.mark.parametrize(
    ("option", "path", "package"),
    [
        ("--model", "m.skops", "skops"),
        ("--png", "a.png", "matplotlib"),
        ("-o", "a.parquet", "pyarrow"),
    ],
)
def test_a_package_for_an_output_is_missed_before_anything_is_read(
    call, monkeypatch, option, path, package
):
    for name in (package, f"{package}.io"):
        monkeypatch.setitem(sys.modules, name, None)
    line = told(call("embed", "nowhere.csv", option, path), cli.FAILED)
    assert f"needs {package}; install it with: pip install 'patchfold[" in line


def test_an_unexpected_error_is_one_line_unless_debugged(call, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("odd\nthing")

    monkeypatch.setattr("patchfold.tables.check_rows", broken)
    line = told(call("embed", "iris.csv", "--id", "name"), cli.FAILED)
    assert line.startswith("unexpected RuntimeError: odd thing. 'patchfold --debug ...' shows")
    result = CliRunner().invoke(cli.app, ["--debug", "embed", "iris.csv", "--id", "name"])
    assert isinstance(result.exception, RuntimeError)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), cli.STOPPED, "Stopped."),
        (MemoryError("12 GB wanted"), cli.FAILED, "Error: not enough memory (12 GB wanted)"),
    ],
)
def test_a_stop_and_a_lack_of_memory_are_told(call, monkeypatch, error, code, words):
    def ends(*_, **__):
        raise error

    monkeypatch.setattr("patchfold.tables.select", ends)
    result = call("embed", "iris.csv", "-o", "out.csv")
    assert result.exit_code == code
    assert result.stderr.startswith(words)


def test_progress_shows_on_a_terminal_alone(monkeypatch):
    screen = io.StringIO()
    console = _session.Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(_session, "stderr", lambda: console)
    with _session.working("Embedding ..."):
        pass
    assert "Embedding ..." in screen.getvalue()


def test_neighbours_are_chosen_on_request(call):
    for options in ([], ["--supervised"], ["--method", "lle"], ["--method", "eigenmaps"]):
        words = ("--target", "species", "--id", "name", "--neighbors", "auto", *options)
        result = done(call("embed", "iris.csv", *words, "--model", "m.skops", "--json"))
        assert json.loads(result.stdout)["neighbors"] in {5, 10, 20, 40}
        done(call("apply", "m.skops", "iris.csv"))


# ---------------------------------------------------------------- explore


@pytest.fixture
def opened(monkeypatch):
    pages = []
    monkeypatch.setattr(webbrowser, "open", lambda page: pages.append(page) or len(pages) < 2)
    return pages


def test_a_page_is_written_and_opened(call, folder, opened):
    words = ("--target", "species", "--id", "name", "--neighbors", 10)
    result = done(call("explore", "iris.csv", *words, "--json"))
    page = folder / "iris-explorer.html"
    assert opened == [page.resolve().as_uri()]
    assert json.loads(result.stdout)["outputs"] == {"output": "iris-explorer.html"}
    assert f"Wrote iris-explorer.html ({round(page.stat().st_size / 1e3)} kB)" in result.stderr
    done(call("explore", "iris.csv", *words, "--no-open", "-o", "other.html"))
    assert len(opened) == 1
    result = done(call("explore", "iris.csv", *words))
    assert "No browser was found; open the file in one." in result.stderr


def shown_on(path):
    """Return what a page says of its columns, and the names of its rows."""
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    number = data["ids"].get("values")
    names = data["ids"].get("texts")
    if number is not None:
        packed = re.search(rf'id="array-{number}">(.*?)</script>', text)[1]
        planes = np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8)
        names = planes.reshape(4, -1).T.copy().view("<u4").ravel().cumsum().tolist()
    return data["ids"]["name"], [column["name"] for column in data["columns"]], names


@pytest.mark.parametrize("command", ["explore", "embed"])
def test_a_page_numbers_rows_as_the_table_does(call, folder, opened, command):
    frame = iris().drop(columns="name")
    frame.loc[[0, 4], "sepal width"] = np.nan
    frame.to_csv("gaps.csv", index=False)
    words = ("--target", "species", "--missing", "drop", "--neighbors", 10)
    out = {"explore": ("--no-open", "-o", "page.html"), "embed": ("--html", "page.html")}[command]
    done(call(command, "gaps.csv", *words, *out))
    key, columns, names = shown_on(folder / "page.html")
    assert key == "row"
    assert names[:4] == [2, 3, 4, 6]
    assert names[-1] == len(frame)
    assert columns == ["species", *frame.columns[:4]]


@pytest.mark.parametrize("command", ["explore", "embed"])
def test_the_column_of_ids_is_on_the_page_once_by_its_name(call, folder, opened, command):
    words = ("--id", "name", "--target", "species", "--neighbors", 10)
    out = {"explore": ("--no-open", "-o", "page.html"), "embed": ("--html", "page.html")}[command]
    done(call(command, "iris.csv", *words, *out))
    key, columns, names = shown_on(folder / "page.html")
    assert key == "name"
    assert names[:2] == ["iris 0", "iris 1"]
    assert columns == ["species", *iris().columns[1:5]]


def test_a_column_called_row_keeps_its_name(call, folder, opened):
    frame = iris().drop(columns="name").rename(columns={"sepal length": "row"})
    frame.to_csv("rows.csv", index=False)
    words = ("--target", "species", "--neighbors", 10, "--no-open", "-o", "page.html")
    done(call("explore", "rows.csv", *words))
    key, columns, names = shown_on(folder / "page.html")
    assert key == "row number"
    assert columns == ["species", *frame.columns[:4]]
    assert names[0] == 1


def test_what_the_fits_of_a_page_say_is_said(call, folder, opened):
    rows = [[place, side] for side in (0, 1000) for place in range(20)]
    pd.DataFrame(rows, columns=["x", "y"]).to_csv("two.csv", index=False)
    result = done(call("explore", "two.csv", "--neighbors", 3, "--no-open", "--json"))
    assert any("2 components" in note for note in json.loads(result.stdout)["notes"])
    assert "Note: isomap, euclidean, k = 3" in result.stderr


def test_a_page_has_the_number_of_neighbours_that_is_chosen(call, folder, opened):
    words = ("--id", "name", "--target", "species", "--no-open")
    done(call("explore", "iris.csv", *words, "--neighbors", "auto"))
    text = (folder / "iris-explorer.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    estimator = PatchIsomap(landmarks="auto", random_state=0)
    points = StandardScaler().fit_transform(iris().iloc[:, 1:5])
    chosen = select_n_neighbors(estimator, points).n_neighbors
    assert {view["k"] for view in data["views"]} == {chosen}
    assert (
        "--neighbors='few' is not known" in call("explore", "iris.csv", "--neighbors", "few").stderr
    )


def test_few_rows_have_patches_of_half_of_them(call, folder, opened):
    iris()[["sepal length", "sepal width"]].head(7).to_csv("seven.csv", index=False)
    result = done(call("explore", "seven.csv", "--no-open", "--json"))
    assert json.loads(result.stdout)["notes"] == []
    text = (folder / "seven-explorer.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert {view["k"] for view in data["views"]} == {3}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("wine.v1.csv", "wine.v1"),
        ("a/wine.v2.CSV.gz", "wine.v2"),
        ("wine.2024", "wine.2024"),
        (".csv", "data"),
        ("-", "input"),
    ],
)
def test_a_page_is_called_as_its_table(name, stem):
    assert exploring._stem(name) == stem


def test_a_page_is_served_to_this_machine_until_a_stop(monkeypatch, capsys, opened):
    fetched = {}

    def ask():
        (address,) = opened
        host = address.removeprefix("http://").rstrip("/")
        for path, name in (("/", host), ("/other", host), ("/", "evil.example")):
            connection = http.client.HTTPConnection(host)
            connection.request("GET", path, headers={"Host": name})
            answer = connection.getresponse()
            fetched[path, name == host] = answer.status, answer.read()[:10]
            connection.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(exploring, "_wait", ask)
    exploring._serve("<p>süß", open_page=True)
    assert fetched["/", True] == (200, "<p>süß".encode())
    assert fetched["/other", True][0] == 404
    assert fetched["/", False][0] == 403
    assert "Serving http://127.0.0.1:" in capsys.readouterr().err


def test_serving_writes_no_file(call, folder, monkeypatch):
    served = []
    monkeypatch.setattr(exploring, "_serve", lambda page, *, open_page: served.append(open_page))
    words = ("--id", "name", "--target", "species", "--neighbors", 10, "--serve", "--no-open")
    done(call("explore", "iris.csv", *words))
    assert served == [False]
    assert {path.name for path in folder.iterdir()} == {"iris.csv"}


# ---------------------------------------------------------------- bench


def test_without_a_checkout_there_are_no_benchmarks(call, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarking, "_checkout", lambda: tmp_path)
    assert "not part of an installed package" in told(call("bench"))


def test_benchmarks_run_in_the_checkout_and_their_code_is_ours(call, tmp_path, monkeypatch):
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__main__.py").write_text("import sys; sys.exit(len(sys.argv))", encoding="utf-8")
    monkeypatch.setattr(benchmarking, "_checkout", lambda: tmp_path)
    assert call("bench", "a", "b").exit_code == 3
