"""``patchfold explore`` writes, opens and serves a page."""

from __future__ import annotations

import base64
import http.client
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.preprocessing import StandardScaler

from command_line import done, iris
from patchfold import PatchIsomap
from patchfold.cli import exploring
from patchfold.selection import select_n_neighbors


@pytest.mark.slow
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


# What patches know of every row stands on a page behind the columns of the table.
KNOWN = ["local dimension", "log density", "strangeness"]


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
    columns = [column["name"] for column in data["columns"]]
    assert columns[-len(KNOWN) :] == KNOWN
    return data["ids"]["name"], columns[: -len(KNOWN)], names


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


@pytest.mark.slow
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
    (note,) = json.loads(result.stdout)["notes"]
    assert note.startswith("7 rows are few")
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


@pytest.mark.slow
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


def views_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text)[1])


def test_coordinates_of_a_table_are_shown(call, folder, opened):
    frame = iris().assign(u=range(149), v=[row % 7 for row in range(149)])
    frame.to_csv("map.csv", index=False)
    words = ("--xy", "u,v", "--xy", "petal length,petal width", "--no-open", "-o", "page.html")
    result = done(call("explore", "map.csv", *words, "--json"))
    summary = json.loads(result.stdout)
    assert summary["features"] == ["sepal length", "sepal width"]
    data = views_of(folder / "page.html")
    assert [view["method"] for view in data["views"]] == ["u, v", "petal length, petal width"]
    assert all(view["graph"]["measure"] == "kl" for view in data["views"])
    assert {"u", "v"} <= {column["name"] for column in data["columns"]}
    assert "Coordinates as given: u, v; petal length, petal width" in result.stderr


@pytest.mark.slow
def test_coordinates_alone_are_the_points(call, folder, opened):
    frame = iris()[["name", "petal length", "petal width", "species"]]
    frame.to_csv("map.csv", index=False)
    words = ("--xy", "petal length,petal width", "--no-open", "-o", "page.html", "--json")
    result = done(call("explore", "map.csv", *words))
    assert json.loads(result.stdout)["features"] == ["petal length", "petal width"]
    frame.loc[4, "petal width"] = np.nan
    frame.assign(x=range(2, 151), z=1.5).to_csv("map.csv", index=False)
    words = ("--feature", "x", *words)
    assert (
        "'petal width' of --xy has no value in row 5" in call("explore", "map.csv", *words).stderr
    )


def test_images_come_from_the_paths_of_a_column(call, folder, opened):
    (folder / "data").mkdir()
    frame = iris().head(20).assign(photo=[f"{row}.png" for row in range(20)])
    for row in range(20):
        Image.new("RGB", (8, 6), (10 * row, 0, 0)).save(folder / "data" / f"{row}.png")
    frame.to_csv("data/flowers.csv", index=False)
    words = ("--images", "photo", "--neighbors", 5, "--no-open", "-o", "page.html")
    done(call("explore", "data/flowers.csv", *words))
    data = views_of(folder / "page.html")
    assert data["images"]["channels"] == 3
    assert "photo" in {column["name"] for column in data["columns"]}
    (folder / "data" / "7.png").unlink()
    assert "images[7] cannot be read" in call("explore", "data/flowers.csv", *words).stderr
    frame.assign(photo=["0.png", None] * 10).to_csv("data/flowers.csv", index=False)
    refused = call("explore", "data/flowers.csv", *words).stderr
    assert "column 'photo' of --images has no path in row 2" in refused
