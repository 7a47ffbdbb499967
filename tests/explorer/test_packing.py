"""Words and arrays of a page are packed without loss, and never become markup."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages import Page, data_of, roll, unpacked
from patchfold.explorer import explore
from patchfold.explorer.packing import ArrayStore, safe_json

SCRIPT = "<script>alert(1)</script>"


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
