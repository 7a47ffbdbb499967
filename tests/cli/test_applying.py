"""``patchfold apply`` finds columns by name, and refuses what the model does not know."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import patchfold
from command_line import COORDINATES, done, iris, table, told
from patchfold import PatchIsomap
from patchfold.cli.models import dump_model, load_model
from patchfold.tables import TableError, read_table


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_categories_of_new_rows_are_text_as_those_of_the_fitted_ones(call):
    frame = table(kind=["01", "02", "0A"] * 10)
    frame.to_csv("data.csv", index=False)
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    some = frame["kind"] != "0A"
    frame[some].to_csv("new.csv", index=False)
    result = done(call("apply", "m.skops", "new.csv", "-o", "b.csv"))
    assert "does not know" not in result.stderr
    assert np.array_equal(pd.read_csv("a.csv")[some], pd.read_csv("b.csv"))


@pytest.mark.parametrize("sign", [",", "."])
def test_thousands_are_such_in_a_frame_and_in_a_row_alone_too(call, folder, sign):
    names, numbers = "preis;stueck;x\n", np.random.default_rng(0).integers(0, 9000, 40)
    pieces = [f"{number:,}".replace(",", ".") for number in numbers]
    rows = [f"{row * row % 97}{sign}{row % 10};{pieces[row]};{row}" for row in range(40)]
    (folder / "data.csv").write_text(names + "\n".join(rows))
    (folder / "one.csv").write_text(names + rows[0])
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    done(call("apply", "m.skops", "one.csv", "-o", "one-2d.csv"))
    places = pd.read_csv("a.csv")[COORDINATES].to_numpy()
    assert np.array_equal(pd.read_csv("one-2d.csv")[COORDINATES], places[:1])
    pipeline, _ = load_model((folder / "m.skops").read_bytes())
    texts = pd.read_csv("data.csv", sep=";", dtype=str)
    for frame in (read_table("data.csv").frame, texts, texts[:1]):
        found = pipeline.transform(frame)
        np.testing.assert_allclose(found, places[frame.index], atol=1e-9)
    with pytest.raises(TableError, match="column 'stueck' held whole numbers with points"):
        pipeline.transform(pd.read_csv("data.csv", sep=";"))


def test_a_row_without_any_comma_is_read_with_the_decimal_commas_of_the_model(call, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"preis": rng.integers(500, 3000, 40) + 0.5, "menge": rng.random(40)})
    frame.loc[0] = [1011.0, 2.0]
    frame.to_csv("data.csv", index=False, sep=";", decimal=",")
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    place = pd.read_csv("a.csv")[COORDINATES].to_numpy()[:1]
    for name, row in (("between", "1.011;2"), ("comma", "1011,0;2"), ("point", "1011.0;2.0")):
        (folder / f"{name}.csv").write_text(f"preis;menge\n{row}\n")
        done(call("apply", "m.skops", f"{name}.csv", "-o", f"{name}-2d.csv"))
        np.testing.assert_array_equal(pd.read_csv(f"{name}-2d.csv")[COORDINATES], place)


@pytest.mark.parametrize("words", [("false", "true"), ("FALSE", "TRUE"), ("False", "True")])
def test_truth_values_keep_their_places_however_the_file_spells_them(call, words):
    frame = table(ok=list(words) * 15)
    frame.to_csv("data.csv", index=False)
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    result = done(call("apply", "m.skops", "data.csv", "-o", "b.csv"))
    assert "does not know" not in result.stderr
    pd.testing.assert_frame_equal(pd.read_csv("b.csv"), pd.read_csv("a.csv"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["categories", "integers"])
def test_rows_of_few_different_values_keep_the_places_they_were_fitted_to(call, kind):
    values = np.random.default_rng(0).integers(0, 5, (300, 4))
    frame = pd.DataFrame(values, columns=list("abcd")).drop_duplicates()
    frame = frame.map("abcde".__getitem__) if kind == "categories" else frame
    frame.to_csv("data.csv", index=False)
    done(call("embed", "data.csv", "--model", "m.skops", "-o", "a.csv"))
    done(call("apply", "m.skops", "data.csv", "-o", "b.csv"))
    assert pd.read_csv("b.csv").equals(pd.read_csv("a.csv"))


@pytest.mark.parametrize("coding", ["onehot", "ordinal"])
def test_unknown_categories_are_told_and_refused_where_they_have_no_place(call, coding):
    frame = iris()
    words = ("--categories", coding, "--feature", "species", "--model", "m.skops", "-o", "a.csv")
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


def test_a_pickle_is_no_model(call, folder):
    (folder / "model.skops").write_bytes(pickle.dumps({"a": 1}))
    assert "pickles are not loaded" in told(call("apply", "model.skops", "iris.csv"))


def test_a_model_with_other_steps_is_refused(call, folder):
    X = iris().iloc[:, 1:5]
    other = Pipeline([("scale", StandardScaler()), ("embedding", PatchIsomap())]).fit(X)
    (folder / "model.skops").write_bytes(dump_model(other))
    assert "has other steps than" in told(call("apply", "model.skops", "iris.csv"))


def test_strangers_have_small_p_values_beside_their_coordinates(call):
    frame = iris()
    done(call("embed", "iris.csv", "--id", "name", "--drop", "species", "--model", "m.skops"))
    frame.loc[3, "petal width"] = 5.0
    frame.to_csv("new.csv", index=False)
    words = ("m.skops", "new.csv", "--drop", "species")
    result = done(call("apply", *words, "--strangers", "-o", "b.csv"))
    assert "strangers among the rows (off_manifold below 0.01)" in result.stderr
    got = pd.read_csv("b.csv")
    assert list(got.columns) == ["name", *COORDINATES, "off_manifold"]
    assert got["off_manifold"].idxmin() == 3
    done(call("apply", *words, "-o", "c.csv"))
    assert pd.read_csv("c.csv").equals(got.drop(columns="off_manifold"))
    frame.rename(columns={"name": "off_manifold"}).to_csv("same.csv", index=False)
    same = ("m.skops", "same.csv", "--id", "off_manifold", "--drop", "species")
    assert "rename it" in told(call("apply", *same, "--strangers"))
