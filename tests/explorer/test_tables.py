"""A data frame on a page is prepared as by the command; one of numbers alone holds points."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from explorer_pages import data_of
from patchfold import PatchIsomap, explore
from patchfold.tables import TableError, TablePreparation

FEW = {"n_neighbors": [8], "divergences": ["kl"]}


def iris() -> pd.DataFrame:
    bunch = load_iris(as_frame=True)
    frame = bunch.data.assign(species=bunch.target_names[bunch.target])
    frame.insert(0, "flower", [f"iris {row}" for row in range(150)])
    return frame


def positions(page):
    """Return the packed positions of the first map."""
    place = data_of(page)["views"][0]["positions"]
    return re.search(rf'id="array-{place}">(.*?)<', page.html)[1]


def names_of(page):
    return [column["name"] for column in data_of(page)["columns"]]


@pytest.mark.parametrize("words", [{"target": "species"}, {"y": "species"}, {}], ids=str)
def test_a_frame_with_text_is_prepared(words):
    page = explore(iris(), **words, **FEW)
    data = data_of(page)
    assert names_of(page)[0] == "species"
    assert data["ids"]["name"] == "flower"
    assert data["ids"]["texts"][:2] == ["iris 0", "iris 1"]
    assert data["features"] == load_iris().feature_names if "features" in data else True
    assert any(
        "'flower' has another text in every row and is taken for id" in n for n in page.notes
    )


def test_the_points_are_those_of_the_preparation():
    bunch = load_iris()
    own = explore(iris(), target="species", id="flower", **FEW)
    points = TablePreparation().fit_transform(iris())
    np.testing.assert_allclose(points, StandardScaler().fit_transform(bunch.data), atol=1e-12)
    assert positions(own) == positions(explore(points, **FEW))
    raw = explore(iris(), "species", preparation=TablePreparation(scale="raw"), **FEW)
    assert positions(raw) == positions(explore(bunch.data, **FEW))


def test_numbers_alone_are_points_as_they_are():
    frame = load_iris(as_frame=True).data
    assert positions(explore(frame, **FEW)) == positions(explore(frame.to_numpy(), **FEW))


def test_texts_and_pictures_of_a_frame_are_shown():
    frame = iris().assign(note=[f"Seen on day {row} of the summer" for row in range(150)])
    data = data_of(explore(frame, "species", text="note", **FEW))
    assert data["columns"][data["text"]]["name"] == "note"
    digits = load_digits(as_frame=True).frame[:60]
    assert data_of(explore(digits, target="target", **FEW))["images"]["width"] == 8


def test_a_model_shows_a_frame_as_it_was_prepared():
    frame = iris()
    model = make_pipeline(TablePreparation(), PatchIsomap(n_neighbors=8)).fit(frame)
    page = explore(frame, embeddings={"map": model})
    assert names_of(page)[0] == "species"
    other = explore(frame, preparation=model[0], embeddings={"map": model[-1]})
    assert positions(other) == positions(page)
    edges = data_of(page)["views"][0]["graph"]["edges"]
    assert edges == len(model[-1].patch_graph_.matrix.data) // 2  # its own graph
    with pytest.raises(TableError, match="needs the columns 'petal width"):
        explore(frame.drop(columns="petal width (cm)"), embeddings={"map": model})


def test_a_fitted_preparation_leaves_open_what_is_shown():
    frame = iris().assign(colour=np.arange(150) % 2)
    prepare = TablePreparation(drop=["flower"]).fit(frame)
    data = data_of(explore(frame, target="colour", id="flower", preparation=prepare, **FEW))
    assert data["columns"][0]["name"] == "colour"
    assert data["ids"]["texts"][:2] == ["iris 0", "iris 1"]
    with pytest.raises(TypeError, match=r"preparation is StandardScaler\(\); give a TablePrep"):
        explore(frame, preparation=StandardScaler())


def test_missing_values_of_any_type_are_shown_as_missing():
    frame = iris().assign(count=pd.array([1, None, 2] * 50, dtype="Int64"))
    data = data_of(explore(frame, target="count", **FEW))
    assert data["columns"][0]["name"] == "count"
    assert data["columns"][0]["kind"] == "number"


def test_models_that_prepare_the_frame_in_other_ways_are_shown_beside():
    frame = iris()
    one = make_pipeline(TablePreparation(), StandardScaler(), PCA(2)).fit(frame)
    other = make_pipeline(TablePreparation(drop=["petal width (cm)"]), PCA(2)).fit(frame)
    page = explore(frame, embeddings={"one": one, "other": other})
    assert positions(page) == positions(explore(frame, embeddings={"it": one.transform(frame)}))


def test_columns_without_names_are_called_by_their_numbers():
    frame = iris().set_axis(range(6), axis=1)
    data = data_of(explore(frame, target=1, id=0, **FEW))
    assert (data["columns"][0]["name"], data["ids"]["name"]) == ("1", "0")


def test_what_to_do_is_said_of_the_preparation():
    frame = iris().assign(day=pd.date_range("2024", periods=150))
    with pytest.raises(
        TableError, match=r"dates=True .* of preparation=TablePreparation\(\.\.\.\)"
    ):
        explore(frame, **FEW)


def test_a_frame_may_hold_the_columns():
    X, others = load_iris().data, iris()[["species", "flower"]]
    page = explore(X, "species", columns=others, **FEW)
    assert names_of(page)[:2] == ["species", "flower"]


def test_names_of_columns_need_a_frame():
    with pytest.raises(TypeError, match="target='kind' is for a data frame, and X is none; give"):
        explore(load_iris().data, target="kind")
    with pytest.raises(TableError, match="no column 'speces'; did you mean 'species'"):
        explore(iris(), target="speces")
    with pytest.raises(TableError, match="no column varies"):
        explore(pd.DataFrame({"x": np.ones(9), "kind": list("abc") * 3}), target="kind")
