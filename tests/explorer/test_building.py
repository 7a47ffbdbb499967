"""The explorer as Python sees it; the page itself is driven in test_explorer_page.py."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, triu
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding

import patchfold
from patchfold import GaussianPatch, PatchIsomap, divergences
from patchfold.embedding.methods import METHODS
from patchfold.explorer import Explorer, explore, fitting, views
from patchfold.explorer.columns import MISSING, pack_column, pack_ids
from patchfold.explorer.layout import ellipses, placed, turn, turned_ellipses
from patchfold.explorer.packing import ArrayStore, safe_json
from patchfold.explorer.page import assemble
from patchfold.explorer.trust import pointwise_trust
from patchfold.metrics import trustworthiness
from patchfold.neighbors import find_neighbors

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "<script>alert(1)</script>"


def roll(n: int = 120) -> tuple[Any, Any]:
    return make_swiss_roll(n, noise=0.3, random_state=0)


def turned(plane: Any, reference: Any) -> Any:
    return plane @ turn(plane, reference)


def unpacked(store: ArrayStore, number: int) -> Any:
    """Undo the packing, one value at a time."""
    kind = store.kinds[number]
    planes = zlib.decompress(base64.b64decode(store.texts[number]))
    dtype, n = np.dtype(kind["type"]).newbyteorder("<"), kind["length"]
    scattered = (bytes(planes[i::n]) for i in range(n))
    result = np.array([np.frombuffer(one, dtype)[0] for one in scattered], dtype=kind["type"])
    return np.add.accumulate(result, dtype=result.dtype) if kind["delta"] else result


class Page(HTMLParser):
    """What a parser of HTML finds in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.current = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.current = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.texts[self.current] = self.texts.get(self.current, "") + data


def data_of(page: Explorer) -> Any:
    return json.loads(Page(page.html).texts["data"])


# ---------------------------------------------------------------- words


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_survives_whatever_its_strings_contain_and_has_no_markup(value: Any) -> None:
    text = safe_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)


def test_half_a_character_can_be_written() -> None:
    assert json.loads(safe_json("\ud800<")) == "\ud800<"
    safe_json("\ud800").encode()


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
    assert names == ["target", "</style>", SCRIPT, "<b>", "&amp;", "@DATA@"]
    assert data["columns"][0]["texts"] == hostile


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "uint32"])
@pytest.mark.parametrize("n", [0, 1, 37])
def test_arrays_are_packed_without_loss(kind: str, n: int) -> None:
    values = (np.random.default_rng(0).random(n) * 200).astype(kind)
    store = ArrayStore()
    np.testing.assert_array_equal(unpacked(store, store.add(values)), values)


def test_differences_are_packed_without_loss_also_where_values_fall() -> None:
    values = np.array([5, 9, 9, 2, 2**32 - 1, 0], dtype=np.uint32)
    store = ArrayStore()
    np.testing.assert_array_equal(unpacked(store, store.add(values, delta=True)), values)


def test_equal_arrays_are_kept_once() -> None:
    store = ArrayStore()
    first = store.add(np.arange(9, dtype=np.uint32))
    assert store.add(np.arange(9, dtype=np.uint32)) == first
    assert store.add(np.arange(9, dtype=np.float32)) != first
    assert len(store.texts) == 2


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, None], [1.0, 2.0, np.nan]),
        (np.array([1.5, np.nan, 3.0]), [1.5, np.nan, 3.0]),
        (np.array([0.1, 0.2, 0.3], dtype=np.float32), [0.1, 0.2, 0.3]),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), [1.0, np.nan, 3.0]),
        (pd.array([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0]),
        (pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7]), [1.0, 2.0, 3.0]),
    ],
)
def test_numbers_are_kept_exactly(values: Any, expected: list[float]) -> None:
    store = ArrayStore()
    column = pack_column("c", values, 3, store)
    assert column["kind"] == "number"
    np.testing.assert_array_equal(unpacked(store, column["values"]), expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "", None], ["a", "", None]),
        ([True, False, True], ["True", "False", "True"]),
        ([1, "1", 2.5], ["1", "1", "2.5"]),
        ([2**53 + 1, 0, 1], ["9007199254740993", "0", "1"]),
        ([None, float("nan"), pd.NA], [None, None, None]),
        (pd.to_datetime(pd.Series(["2024-01-02", None, "2024-01-03"])), None),
        (pd.Categorical(["b", None, "b"]), ["b", None, "b"]),
    ],
)
def test_what_is_not_all_numbers_is_text(values: Any, expected: list[str | None] | None) -> None:
    store = ArrayStore()
    column = pack_column("c", values, 3, store)
    assert column["kind"] == "text"
    codes = unpacked(store, column["codes"])
    texts = [None if code == MISSING else column["texts"][code] for code in codes]
    if expected is None:
        assert texts[0] is not None
        assert texts[0].startswith("2024-01-02")
        assert texts[1] is None
    else:
        assert texts == expected


@pytest.mark.parametrize("ids", [["a", 8], [7.5, 8.0], [-1, 2], [2**32, 1], [None, 1], [True, 2]])
def test_ids_are_text(ids: list[Any]) -> None:
    packed = pack_ids("id", ids, 2, ArrayStore())
    assert packed["kind"] == "text"
    assert packed["texts"] == [str(one) for one in ids if one is not None]


def test_ids_that_are_numbers_of_rows_stay_numbers() -> None:
    store = ArrayStore()
    packed = pack_ids("row", [7, 2, 2**32 - 1], 3, store)
    assert packed["kind"] == "number"
    np.testing.assert_array_equal(unpacked(store, packed["values"]), [7, 2, 2**32 - 1])


@pytest.mark.parametrize("values", ["abc", 5])
def test_a_column_must_be_a_sequence(values: Any) -> None:
    with pytest.raises(TypeError, match="column 'c' is"):
        pack_column("c", values, 3, ArrayStore())


def test_a_column_must_have_a_value_a_point() -> None:
    with pytest.raises(ValueError, match="column 'c' has 2 values for 3 points"):
        pack_column("c", [1, 2], 3, ArrayStore())


# ---------------------------------------------------------------- places


def test_a_turned_and_scaled_copy_lies_over_the_original() -> None:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 2)) * [3, 1]
    mirror = np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(turned(placed(7 * Y @ mirror + 3), placed(Y)), placed(Y), atol=1e-12)


def test_no_turn_brings_points_nearer_than_procrustes() -> None:
    rng = np.random.default_rng(1)
    A, B = placed(rng.standard_normal((40, 2))), placed(rng.standard_normal((40, 2)))
    best = ((turned(A, B) - B) ** 2).sum()
    for angle in np.linspace(0, 2 * np.pi, 181):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for mirror in ([1, 1], [1, -1]):
            assert ((A @ (turn * mirror) - B) ** 2).sum() >= best - 1e-9


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_placed_points_have_mean_square_one_in_any_unit(scale: float) -> None:
    plane = placed(np.random.default_rng(0).standard_normal((20, 3)) * scale)
    np.testing.assert_allclose((plane**2).sum(axis=1).mean(), 1)
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-12)


def test_one_component_lies_on_a_line_and_equal_points_on_a_point() -> None:
    assert not placed(np.arange(4.0)[:, None])[:, 1].any()
    assert not placed(np.ones((4, 2))).any()


@pytest.mark.parametrize("m", [3, 30], ids=["full", "factored"])
def test_an_ellipse_is_the_patch_under_the_least_squares_map(m: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, m)) @ rng.standard_normal((m, m))
    plane = rng.standard_normal((40, 2))
    near = find_neighbors(X, 8)
    patches = GaussianPatch().fit(X, near)
    got = ellipses(patches, near, plane)
    ridge = 0.003 * X.var(axis=0).mean()
    for i in range(40):
        who = [i, *near.indices[8 * i : 8 * i + 8]]
        x, y = X[who] - X[who].mean(axis=0), plane[who] - plane[who].mean(axis=0)
        # Ridge regression as least squares with m more rows.
        A = np.linalg.lstsq(
            np.vstack([x, np.sqrt(8 * ridge) * np.eye(m)]),
            np.vstack([y, np.zeros((m, 2))]),
            rcond=None,
        )[0].T
        image = A @ patches.covariances()[i] @ A.T
        np.testing.assert_allclose(got[i, :2], plane[who].mean(axis=0))
        np.testing.assert_allclose(got[i, 2:], image[[0, 0, 1], [0, 1, 1]], rtol=1e-6, atol=1e-9)


def test_a_linear_embedding_shows_the_patch_itself() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    near = find_neighbors(X, 10)
    patches = GaussianPatch(gamma=1e-12).fit(X, near)
    got = ellipses(patches, near, X)
    np.testing.assert_allclose(got[:, :2], patches.means)
    covariances = patches.covariances()
    np.testing.assert_allclose(got[:, [2, 3, 4]], covariances[:, [0, 0, 1], [0, 1, 1]], rtol=1e-6)


def test_ellipses_turn_with_their_plane() -> None:
    rng = np.random.default_rng(0)
    X, plane = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    near = find_neighbors(X, 6)
    patches = GaussianPatch().fit(X, near)
    by = np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(
        turned_ellipses(ellipses(patches, near, plane), by),
        ellipses(patches, near, plane @ by),
        atol=1e-12,
    )


# ---------------------------------------------------------------- trust


def slow_trust(X: Any, plane: Any, k: int) -> Any:
    n = len(X)
    there, here = cdist(X, X), cdist(plane, plane)
    np.fill_diagonal(there, -1)
    np.fill_diagonal(here, -1)
    ranks = np.argsort(np.argsort(there, axis=1, kind="stable"), axis=1)
    worst = sum(sorted(range(n - 1 - k, 0, -1), reverse=True)[:k])
    nearest = np.argsort(here, axis=1, kind="stable")[:, 1 : k + 1]
    return np.array(
        [1 - sum(max(ranks[i, j] - k, 0) for j in nearest[i]) / worst for i in range(n)]
    )


@pytest.mark.parametrize("n", [5, 20, 80])
def test_trust_is_the_trustworthiness_of_each_point(n: int) -> None:
    rng = np.random.default_rng(n)
    X, plane = rng.standard_normal((n, 4)), rng.standard_normal((n, 2))
    k = min(15, n - 2)
    (got,) = pointwise_trust(X, [plane])
    np.testing.assert_allclose(got, slow_trust(X, plane, k))
    np.testing.assert_allclose(got.mean(), trustworthiness(X, plane, k))


def test_trust_from_a_sample_is_close() -> None:
    X, _ = roll(1500)
    plane = X[:, [0, 1]]
    (exact,) = pointwise_trust(X, [plane])
    (estimated,) = pointwise_trust(X, [plane], most_ranked=1000)
    assert not np.array_equal(exact, estimated)
    assert np.abs(exact - estimated).max() < 0.05


def test_two_points_are_trusted() -> None:
    (got,) = pointwise_trust(np.eye(2), [np.eye(2)])
    np.testing.assert_array_equal(got, 1)


def test_copies_of_points_do_not_disturb_trust() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 2)), 10, axis=0)
    (got,) = pointwise_trust(X, [X.copy()])
    np.testing.assert_allclose(got, 1, atol=0.2)


# ---------------------------------------------------------------- views


def test_the_reference_is_the_middle_k_of_the_first_divergence_of_patches() -> None:
    X, _ = roll(60)
    fits = fitting.fit_all(
        X,
        ["isomap"],
        ["euclidean", "hellinger", "kl"],
        [5, 7, 9],
        n_jobs=None,
        random_state=0,
        progress=lambda *_: None,
    )
    assert views._reference(fits) == 4
    made = views.views_of(fits, X)
    np.testing.assert_allclose(made[4].plane, fits[4].plane, atol=1e-9)


def test_a_view_has_every_edge_of_the_graph_once() -> None:
    X, _ = roll(60)
    page = explore(X, n_neighbors=[6], divergences=["kl"])
    graph = PatchIsomap(n_neighbors=6).fit(X).graph_
    data = data_of(page)
    store = store_of(page)
    packed = data["views"][0]["graph"]
    degrees = unpacked(store, packed["degrees"]).astype(int)
    rows = np.repeat(np.arange(60), degrees)
    columns = unpacked(store, packed["targets"]).astype(int)
    expected = triu(graph, k=1).toarray()
    got = csr_array((unpacked(store, packed["lengths"]), (rows, columns)), (60, 60)).toarray()
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert packed["edges"] == len(columns) == graph.nnz // 2


def store_of(page: Explorer) -> ArrayStore:
    store, texts = ArrayStore(), Page(page.html).texts
    store.kinds = data_of(page)["arrays"]
    store.texts = [texts[f"array-{number}"] for number in range(len(store.kinds))]
    return store


def test_edges_of_the_classical_method_are_coloured_by_divergence() -> None:
    X, _ = roll(60)
    page = explore(X, n_neighbors=[6])
    euclidean, kl = (view["graph"] for view in data_of(page)["views"])
    assert euclidean["measure"] == kl["measure"] == "kl"
    assert euclidean["colours"] != euclidean["lengths"]
    # The classical graph has edges more: those that are short circuits.
    assert euclidean["edges"] > kl["edges"]
    patches = PatchIsomap(n_neighbors=6).fit(X).patches_
    store = store_of(page)
    for graph in (euclidean, kl):
        degrees = unpacked(store, graph["degrees"]).astype(int)
        i, j = np.repeat(np.arange(60), degrees), unpacked(store, graph["targets"]).astype(int)
        expected = divergences.paired(patches, i, j, "kl")
        np.testing.assert_allclose(unpacked(store, graph["colours"]), expected, rtol=1e-6)


def test_colours_are_divergences_also_where_lengths_are_none() -> None:
    X, _ = roll(60)
    fitted = PatchIsomap(n_neighbors=6, patch=GaussianPatch()).fit(X)
    plain = data_of(Explorer.from_estimators({"a": fitted}, X))["views"][0]["graph"]
    assert plain["colours"] == plain["lengths"]
    fitted.graph_ = fitted.graph_ / np.median(fitted.graph_.data)
    page = Explorer.from_estimators({"a": fitted}, X)
    stretched = data_of(page)["views"][0]["graph"]
    assert stretched["colours"] != stretched["lengths"]
    store = store_of(page)
    degrees = unpacked(store, stretched["degrees"]).astype(int)
    i, j = np.repeat(np.arange(60), degrees), unpacked(store, stretched["targets"]).astype(int)
    assert fitted.patches_ is not None
    expected = divergences.paired(fitted.patches_, i, j, "kl")
    np.testing.assert_allclose(unpacked(store, stretched["colours"]), expected, rtol=1e-6)


def test_lengths_stay_finite_in_single_precision_and_zero_has_no_sign() -> None:
    got = views._single(np.array([-0.0, 1e300, 0.5]))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [0, np.finfo(np.float32).max, 0.5])
    assert not np.signbit(got).any()


def test_a_graph_of_too_many_edges_is_left_out_and_counted() -> None:
    X, _ = roll(30)
    fits = fitting.fit_all(
        X, ["isomap"], ["kl"], [5], n_jobs=None, random_state=0, progress=lambda *_: None
    )
    (view,) = views.views_of(fits, X)
    n_edges = fits[0].graph.nnz
    packed = views.pack_view(view, ArrayStore(), most_edges=n_edges - 1)
    assert packed["graph"] == {"edges": n_edges}
    assert "targets" in views.pack_view(view, ArrayStore(), most_edges=n_edges)["graph"]


def test_warnings_of_fits_become_notes() -> None:
    X = np.concatenate([np.eye(5), 100 + np.eye(5)])
    data = data_of(explore(X, n_neighbors=[2], divergences=["euclidean"]))
    assert "2 components" in data["views"][0]["notes"][0]


def test_notes_say_whose_they_are_each_once() -> None:
    X = np.concatenate([np.eye(5), 100 + np.eye(5)])
    (note,) = explore(X, n_neighbors=[2], methods=["isomap", "eigenmaps"]).notes
    assert note.startswith("isomap, euclidean, k = 2 and 3 more: ")


@pytest.mark.parametrize("method", METHODS)
def test_the_fits_are_those_of_the_estimators(method: str) -> None:
    X, _ = roll(150)
    grid = {"methods": [method], "n_neighbors": [12]}
    view = data_of(page := explore(X, divergences=["kl"], **grid))["views"][0]
    fitted = METHODS[method](n_neighbors=12, random_state=0).fit(X)
    got = unpacked(store_of(page), view["positions"]).reshape(-1, 2)
    np.testing.assert_allclose(got, placed(fitted.embedding_), atol=1e-4)


def test_classical_lle_is_scikit_learns() -> None:
    X, _ = roll(100)
    page = explore(X, methods=["lle"], divergences=["euclidean"], n_neighbors=[10])
    got = unpacked(store_of(page), data_of(page)["views"][0]["positions"]).reshape(-1, 2)
    theirs = LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit_transform(X)
    np.testing.assert_allclose(turned(placed(theirs), got), got, atol=1e-3)


def test_the_slider_has_fewer_steps_for_many_points() -> None:
    assert fitting.slider(20_000) == (6, 10, 15, 20, 30)
    assert fitting.slider(50_000) == (10, 15, 20)
    assert fitting.slider(200_000) == (15,)


def test_no_patch_of_the_slider_has_more_than_half_of_the_points() -> None:
    for n in range(3, 70):
        assert 1 <= max(fitting.slider(n)) <= max(n // 2, 1)
    X, _ = roll(7)
    assert explore(X).notes == []


# ---------------------------------------------------------------- the page as an object


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
    assert dict(parsed.attributes)["sandbox"] == "allow-scripts allow-downloads"


def test_progress_is_told_before_every_fit_and_at_the_end() -> None:
    X, _ = roll(30)
    told: list[tuple[int, int, str]] = []
    explore(X, n_neighbors=[4, 6], progress=lambda *step: told.append(step))
    assert [step[0] for step in told] == [0, 0, 1, 2, 3, 4]
    assert {step[1] for step in told} == {4}
    assert told[2][2] == "isomap, kl, k = 6"  # the largest first


def test_names_of_columns_come_from_the_data() -> None:
    X, t = roll(30)
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    data = data_of(explore(frame, pd.Series(t, name="turn"), columns={"x": t}, n_neighbors=[4]))
    assert [column["name"] for column in data["columns"]] == ["turn", "x", "y", "z"]
    clash = data_of(explore(X, t, columns={"target": t}, n_neighbors=[4]))
    assert [column["name"] for column in clash["columns"]][:2] == ["target (target)", "target"]


def keys_of(page: Explorer) -> tuple[str, list[str]]:
    data = data_of(page)
    return data["ids"]["name"], [column["name"] for column in data["columns"]]


def test_no_two_columns_of_a_page_have_the_same_name() -> None:
    X, t = roll(30)
    options: dict[str, Any] = {"n_neighbors": [4], "divergences": ["kl"], "feature_names": "xyz"}
    assert keys_of(explore(X, **options)) == ("row", ["x", "y", "z"])
    assert keys_of(explore(X, columns={"row": t}, **options))[0] == "row number"
    assert keys_of(explore(X, ids=list(t), columns={"id": t}, **options))[0] == "id number"
    named = pd.Series(t, name="name")
    assert keys_of(explore(X, ids=named, columns={"name": t, "t": t}, **options)) == (
        "name",
        ["t", "x", "y", "z"],
    )
    assert keys_of(explore(X, ids=pd.Series(t, name="y"), **options)) == ("y", ["x", "z"])


def test_many_features_are_left_out() -> None:
    X = np.random.default_rng(0).standard_normal((20, 101))
    assert data_of(explore(X, n_neighbors=[4]))["columns"] == []


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


# ---------------------------------------------------------------- estimators


def test_a_page_of_estimators_shows_their_embeddings() -> None:
    X, t = roll(60)
    y = (t > np.median(t)).astype(int)
    fits = {
        "classical": PatchIsomap(n_neighbors=8, divergence="euclidean").fit(X),
        "patches": PatchIsomap(n_neighbors=8, patch=GaussianPatch(size=12)).fit(X),
        "supervised": PatchIsomap(n_neighbors=8, supervision="dissimilarity").fit(X, y),
        "function": PatchIsomap(n_neighbors=8, divergence=_gap, patch=GaussianPatch()).fit(X),
        "radius": PatchIsomap(radius=12.0, patch=GaussianPatch()).fit(X),
        "given": PatchIsomap(n_neighbors=8, divergence="precomputed").fit(cdist(X, X)),
    }
    page = Explorer.from_estimators(fits, X, columns={"t": t}, ids=range(60), title="six")
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
    np.testing.assert_allclose(first, placed(fits["classical"].embedding_), atol=1e-6)


def _gap(a: Any, b: Any) -> Any:
    return np.abs(a.means - b.means).sum(axis=1)


def test_only_fitted_estimators_of_the_same_data_are_taken() -> None:
    X, _ = roll(30)
    with pytest.raises(ValueError, match="estimators is empty"):
        Explorer.from_estimators({}, X)
    with pytest.raises(ValueError, match="'a' is a PatchIsomap without embedding_"):
        Explorer.from_estimators({"a": PatchIsomap()}, X)
    with pytest.raises(ValueError, match="was fitted to 30 points and X has 20"):
        Explorer.from_estimators({"a": PatchIsomap(n_neighbors=5).fit(X)}, X[:20])


def test_the_program_has_no_imports_left() -> None:
    program = Page(assemble({}, ArrayStore())).texts["script"]
    assert not re.search(r"^(import|export)\b", program, re.MULTILINE)
