"""Results are those of the table, bit for bit where the table was written on a machine like this.

Elsewhere they are close to them. A change that is meant to change results rewrites the table:
``settings.py`` says how.
"""

from __future__ import annotations

import numpy as np
import pytest

from identity.settings import SETTINGS, computed, differing, fingerprint, read

WHERE, RECORDED = read()

# Shares of a length, and of the spread of an embedding, that another machine may differ by.
LENGTHS = {"float64": 1e-6, "float32": 1e-4}
PLACES = {"float64": 1e-5, "float32": 1e-4}


@pytest.fixture(scope="module")
def same_machine():
    return fingerprint() == WHERE


@pytest.mark.every_case
@pytest.mark.parametrize("name", SETTINGS)
def test_result_is_that_of_the_table(name, same_machine):
    expected, found = RECORDED[name], computed(name)
    if same_machine:
        assert differing(found, expected) == []
    else:
        assert_close(found, expected, chaotic="tsne" in name)


def test_table_has_the_settings_and_no_others():
    assert len(RECORDED) >= 60
    assert RECORDED.keys() == SETTINGS.keys()


def test_close_results_are_told_from_others():
    expected = RECORDED["isomap radius"]
    nudged = {**expected, "embedding": expected["embedding"] * (1 + 1e-7)}
    assert differing(nudged, expected) == ["embedding"]
    assert_close(nudged, expected, chaotic=False)
    moved = {**expected, "embedding": expected["embedding"] * (1 + 1e-3)}
    with pytest.raises(AssertionError):
        assert_close(moved, expected, chaotic=False)
    assert_close(moved, expected, chaotic=True)


def assert_close(found, expected, *, chaotic):
    """Compare what other rounding leaves alike; of t-SNE, whose steps are chaotic, the graph."""
    assert found.keys() == expected.keys()
    for part, values in expected.items():
        assert found[part].dtype == values.dtype, part
        assert found[part].shape == values.shape, part
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(found[part], expected[part], part)
    lengths = expected["lengths"]
    share = LENGTHS[lengths.dtype.name]
    typical = float(np.median(lengths))
    np.testing.assert_allclose(
        found["lengths"], lengths, rtol=share, atol=share * typical, err_msg="lengths"
    )
    if chaotic:
        return
    spread = float(np.ptp(expected.get("embedding", lengths), axis=0).max())
    for part in ("embedding", "new"):
        if part in expected:
            atol = PLACES[expected[part].dtype.name] * spread
            np.testing.assert_allclose(found[part], expected[part], rtol=0, atol=atol, err_msg=part)
