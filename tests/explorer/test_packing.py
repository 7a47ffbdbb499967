"""Words and arrays are packed into a page without loss, and never become markup."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer_pages import unpacked
from patchfold.explorer.packing import ArrayStore, safe_json


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_survives_whatever_its_strings_contain_and_has_no_markup(value: Any) -> None:
    text = safe_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)


def test_half_a_character_can_be_written() -> None:
    assert json.loads(safe_json("\ud800<")) == "\ud800<"
    safe_json("\ud800").encode()


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


def test_differences_and_values_of_the_same_bytes_are_kept_apart() -> None:
    store = ArrayStore()
    ids = store.add(np.array([0, 1, 2], dtype=np.uint32), delta=True)
    codes = store.add(np.array([0, 1, 1], dtype=np.uint32))
    np.testing.assert_array_equal(unpacked(store, ids), [0, 1, 2])
    np.testing.assert_array_equal(unpacked(store, codes), [0, 1, 1])
