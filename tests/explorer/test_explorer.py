"""The explorer as Python sees it; browser tests drive the page itself."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import patchfold
from explorer_pages import SCRIPT, Page, data_of, roll, store_of, unpacked
from patchfold import GaussianPatch, PatchIsomap
from patchfold.explorer import Explorer, explore
from patchfold.explorer.views import placed

if TYPE_CHECKING:
    from pathlib import Path


# What patches know of every point, beside the columns of the data.
KNOWN = ("local dimension", "log density", "strangeness")


def test_words_of_the_data_never_become_markup() -> None:
    X, _ = roll(30)
    hostile = [SCRIPT, "</script><img src=x onerror=alert(1)>", "<!--", "]]>", "\u2028"]
    cells = [hostile[row % 5] for row in range(30)]
    plain = explore(X, n_neighbors=[5])
    page = explore(
        X,
        cells,
        columns={"</style>": cells, SCRIPT: cells},
        ids=cells,
        feature_names=["<b>", "&amp;", "@DATA@"],
        title="</title>" + SCRIPT,
        n_neighbors=[5],
    )
    parsed, reference = Page(page.html), Page(plain.html)
    extra = data_of(page)["arrays"][len(data_of(plain)["arrays"]) :]
    assert sorted(parsed.tags) == sorted([*reference.tags, *["script"] * len(extra)])
    data = data_of(page)
    assert data["title"] == "</title>" + SCRIPT
    names = [column["name"] for column in data["columns"]]
    assert names == ["target", "</style>", SCRIPT, "<b>", "&amp;", "@DATA@", *KNOWN]
    assert data["columns"][0]["texts"] == hostile


@pytest.fixture(scope="module")
def page() -> Explorer:
    X, t = roll()
    return explore(X, t, n_neighbors=[6, 12], title="roll")


def test_explore_is_a_name_of_the_package() -> None:
    assert patchfold.explore is explore
    with pytest.raises(AttributeError, match="no attribute 'explored'"):
        patchfold.explored  # noqa: B018


def test_importing_the_package_does_not_import_the_explorer() -> None:
    check = "import sys, patchfold; print('patchfold.explorer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"


def test_the_size_of_the_page_is_stated(page: Explorer) -> None:
    size = len(page.html.encode())
    assert int(data_of(page)["bytes"]) == size
    assert repr(page) == f"Explorer(120 points, 4 embeddings, {round(size / 1000)} kB)"


def test_a_title_that_looks_like_the_size_does_not_take_its_place() -> None:
    X, _ = roll(20)
    made = explore(X, n_neighbors=[4], title="@" * 15)
    assert data_of(made)["title"] == "@" * 15
    assert int(data_of(made)["bytes"]) == len(made.html.encode())


def test_the_page_loads_nothing(page: Explorer) -> None:
    parsed = Page(page.html)
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(parsed.tags)
    assert not {"src", "href", "style", "onclick"} & {name for name, _ in parsed.attributes}
    (policy,) = (value for name, value in parsed.attributes if name == "content" and "src" in value)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "connect-src" not in policy


def test_saving_writes_all_or_nothing(page: Explorer, tmp_path: Path) -> None:
    path = page.save(tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8") == page.html
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError):  # noqa: PT011
        page.save(tmp_path / "taken")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["new", "page.html", "taken"]


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(page: Explorer) -> None:
    parsed = Page(page._repr_html_())
    assert parsed.tags == ["iframe"]
    assert dict(parsed.attributes)["srcdoc"] == page.html
    allowed = set(dict(parsed.attributes)["sandbox"].split())
    assert "allow-scripts" in allowed
    # It cannot read the notebook, nor take its place.
    assert not {"allow-same-origin", "allow-top-navigation", "allow-forms"} & allowed


def test_progress_is_told_before_every_fit_and_every_stage_and_at_the_end() -> None:
    X, _ = roll(30)
    told: list[tuple[int, int, str]] = []
    explore(X, n_neighbors=[4, 6], progress=lambda *step: told.append(step))
    assert [step[:2] for step in told] == [(done, 6) for done in range(7)]
    # The largest first, and patches before the method that has none.
    assert [step[2] for step in told] == [
        "isomap, kl, k = 6",
        "isomap, euclidean, k = 6",
        "isomap, kl, k = 4",
        "isomap, euclidean, k = 4",
        "patches",
        "trust",
        "page",
    ]
    told.clear()
    explore(X, embeddings={"flat": X[:, :2]}, progress=lambda *step: told.append(step))
    assert told == [(0, 2, "patches"), (1, 2, "trust"), (2, 2, "page")]


def test_names_of_columns_come_from_the_data() -> None:
    X, t = roll(30)
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    data = data_of(explore(frame, pd.Series(t, name="turn"), columns={"x": t}, n_neighbors=[4]))
    assert [column["name"] for column in data["columns"]] == ["turn", "x", "y", "z", *KNOWN]
    clash = data_of(explore(X, t, columns={"target": t}, n_neighbors=[4]))
    assert [column["name"] for column in clash["columns"]][:2] == ["target (target)", "target"]


def keys_of(page: Explorer) -> tuple[str, list[str]]:
    data = data_of(page)
    return data["ids"]["name"], [column["name"] for column in data["columns"]]


def test_no_two_columns_of_a_page_have_the_same_name() -> None:
    X, t = roll(30)
    options: dict[str, Any] = {"n_neighbors": [4], "divergences": ["kl"], "feature_names": "xyz"}
    assert keys_of(explore(X, **options)) == ("row", ["x", "y", "z", *KNOWN])
    assert keys_of(explore(X, columns={"row": t}, **options))[0] == "row number"
    assert keys_of(explore(X, ids=list(t), columns={"id": t}, **options))[0] == "id number"
    named = pd.Series(t, name="name")
    assert keys_of(explore(X, ids=named, columns={"name": t, "t": t}, **options)) == (
        "name",
        ["t", "x", "y", "z", *KNOWN],
    )
    assert keys_of(explore(X, ids=pd.Series(t, name="y"), **options)) == ("y", ["x", "z", *KNOWN])


def test_many_features_are_left_out() -> None:
    X = np.random.default_rng(0).standard_normal((20, 101))
    assert keys_of(explore(X, n_neighbors=[4]))[1] == list(KNOWN)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["isomaps"]}, "methods='isomaps' is not known; did you mean 'isomap'"),
        ({"divergences": "kll"}, "divergences='kll' is not known; did you mean 'kl'"),
        ({"methods": []}, "methods is empty"),
        ({"n_neighbors": [30]}, "n_neighbors=30 needs more than 30 samples, got 30"),
        ({"n_neighbors": []}, "n_neighbors is empty"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 3 features"),
        ({"ids": [1]}, "ids has 1 values for 30 points"),
    ],
)
def test_what_is_wrong_is_said(arguments: dict[str, Any], message: str) -> None:
    X, _ = roll(30)
    with pytest.raises(ValueError, match=re.escape(message)):
        explore(X, **arguments)


PLAIN = {"lengths": "divergence"}


def test_a_page_of_estimators_shows_their_embeddings() -> None:
    X, t = roll(60)
    y = (t > np.median(t)).astype(int)
    fits = {
        "classical": PatchIsomap(n_neighbors=8, divergence="euclidean").fit(X),
        "patches": PatchIsomap(n_neighbors=8, patch=GaussianPatch(size=12), **PLAIN).fit(X),
        "supervised": PatchIsomap(n_neighbors=8, supervision="dissimilarity").fit(X, y),
        "function": PatchIsomap(n_neighbors=8, divergence=_gap, patch=GaussianPatch(), **PLAIN).fit(
            X
        ),
        "radius": PatchIsomap(radius=12.0, patch=GaussianPatch(), **PLAIN).fit(X),
        "given": PatchIsomap(n_neighbors=8, divergence="precomputed").fit(cdist(X, X)),
    }
    page = explore(X, embeddings=fits, columns={"t": t}, ids=range(60), title="six")
    assert repr(page).startswith("Explorer(60 points, 6 embeddings, ")
    data = data_of(page)
    assert [view["method"] for view in data["views"]] == list(fits)
    assert {view["k"] for view in data["views"]} == {None}
    measures = [view["graph"]["measure"] for view in data["views"]]
    assert measures == ["kl", "kl", "kl", "_gap", "kl", "distance"]
    same = [v["graph"]["colours"] == v["graph"]["lengths"] for v in data["views"]]
    assert same == [False, True, False, True, True, True]
    assert [view["ellipses"] is None for view in data["views"]] == [False] * 5 + [True]
    first = unpacked(store_of(page), data["views"][0]["positions"]).reshape(-1, 2)
    np.testing.assert_allclose(first, placed(fits["classical"].embedding_), atol=5e-5)


def _gap(a: Any, b: Any) -> Any:
    return np.abs(a.means - b.means).sum(axis=1)


def test_maps_have_the_precision_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("patchfold.explorer.explorer")
    fitted: list[Any] = []
    fit = module.fit_all

    def recorded(X: Any, *setting: Any, **common: Any) -> Any:
        fitted.append(X.dtype)
        return fit(X, *setting, **common)

    monkeypatch.setattr(module, "fit_all", recorded)
    X, _ = roll(40)
    pages = [explore(X.astype(dtype), n_neighbors=[6]) for dtype in (np.float32, np.float64)]
    monkeypatch.setattr(module, "MOST_DOUBLE", X.size - 1)
    explore(X, n_neighbors=[6])
    assert fitted == [np.float32, np.float64, np.float32]
    # Columns of the page are in double precision, and as exact as the data.
    for page, dtype in zip(pages, (np.float32, np.float64), strict=True):
        column = next(one for one in data_of(page)["columns"] if one["name"] == "feature 1")
        got = unpacked(store_of(page), column["values"])
        np.testing.assert_array_equal(got, X[:, 1].astype(dtype))


def test_only_fitted_estimators_of_the_same_data_are_taken() -> None:
    X, _ = roll(30)
    with pytest.raises(ValueError, match="embeddings is empty"):
        explore(X, embeddings={})
    with pytest.raises(ValueError, match=r"\['a'\] is a PatchIsomap that is not fitted"):
        explore(X, embeddings={"a": PatchIsomap()})
    with pytest.raises(ValueError, match="coordinates of 30 points and X has 20"):
        explore(X[:20], embeddings={"a": PatchIsomap(n_neighbors=5).fit(X)})


def test_features_without_names_are_not_read_beside_texts() -> None:
    X, _ = roll(30)
    texts = [f"the text of row {row}" for row in range(30)]
    names = {
        named: {column["name"] for column in data_of(explore(X, text=texts, **words))["columns"]}
        for named, words in {
            False: {"n_neighbors": [5]},
            True: {"n_neighbors": [5], "feature_names": ["x", "y", "z"]},
        }.items()
    }
    assert names[False] == {"text", *KNOWN}
    assert names[True] == {"text", "x", "y", "z", *KNOWN}
