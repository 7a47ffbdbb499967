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


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "uint16", "uint32"])
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


def test_rounded_numbers_are_within_half_a_step() -> None:
    values = np.random.default_rng(0).standard_normal((500, 2))
    store = ArrayStore()
    got = unpacked(store, store.add_rounded(values)).reshape(-1, 2)
    assert store.kinds[0]["type"] == "uint16"
    np.testing.assert_allclose(got, values, atol=0.51 * np.ptp(values) / 65535)


@pytest.mark.parametrize("values", [np.zeros(0), np.full(4, 2.5)], ids=["none", "equal"])
def test_no_and_equal_numbers_can_be_rounded(values: Any) -> None:
    store = ArrayStore()
    for add in (store.add_rounded, store.add_positive):
        np.testing.assert_allclose(unpacked(store, add(values)), values)


def test_an_outlier_does_not_make_the_others_coarse() -> None:
    values = np.append(np.random.default_rng(0).standard_normal(500), 1e6)
    store = ArrayStore()
    got = unpacked(store, store.add_rounded(values))
    assert store.kinds[0]["type"] == "float32"
    np.testing.assert_allclose(got, values, rtol=1e-6)


def test_positive_numbers_have_a_small_relative_error_and_zero_is_kept() -> None:
    values = np.append(np.exp(np.random.default_rng(0).uniform(-7, 7, 500)), 0)
    store = ArrayStore()
    got = unpacked(store, store.add_positive(values))
    assert got[-1] == 0
    np.testing.assert_allclose(got, values, rtol=1.1e-4)


def test_the_same_codes_of_other_scales_are_kept_apart() -> None:
    store = ArrayStore()
    first, second = (store.add_rounded(unit * np.arange(5.0)) for unit in (1, 2))
    np.testing.assert_allclose(unpacked(store, first), np.arange(5), atol=1e-4)
    np.testing.assert_allclose(unpacked(store, second), 2 * np.arange(5), atol=1e-4)
