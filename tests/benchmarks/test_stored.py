"""A benchmark marks what got slower than the last stored table by more than the noise."""

from __future__ import annotations

import pytest

stored = pytest.importorskip("benchmarks.stored", reason="benchmarks are in the checkout only")

SIZE = {"samples": 100, "features": 5, "neighbors": 15, "repeats": 3}
REFERENCES = {"theirs": "theirs", "ours": "theirs", "loops": "other"}


def result(method, *seconds):
    return {"method": method, "processor": list(seconds), "peak_gb": 0.123}


def test_a_ratio_is_that_of_the_least_times_and_noise_that_of_both_medians():
    measured = [result("theirs", 4.0, 2.0, 2.2), result("ours", 1.0, 1.5, 1.2), result("loops", 9)]
    rows = stored.rows_of(measured, REFERENCES)
    assert rows["ours"] == {"ratio": 0.5, "noise": pytest.approx(0.1 + 0.2), "peak_gb": 0.12}
    assert rows["theirs"]["ratio"] == 1
    assert "loops" not in rows  # its reference was not measured


@pytest.mark.parametrize(
    ("ratio", "noise", "slower"),
    [
        (0.54, 0.0, False),
        (0.56, 0.0, True),
        (0.56, 0.2, False),
        (0.62, 0.2, True),
        (0.1, 0.0, False),
    ],
)
def test_a_method_is_slower_if_its_ratio_rose_by_more_than_the_noise(ratio, noise, slower):
    before = {"ratio": 0.5, "noise": 0.02}
    assert stored.is_slower({"ratio": ratio, "noise": noise}, before) == slower


def test_a_stored_table_replaces_that_of_its_size_and_keeps_what_was_not_measured(tmp_path):
    file = tmp_path / "peers.json"
    assert stored.stored(SIZE, file) is None
    other = SIZE | {"samples": 7}
    for setting, rows, commit in (
        (SIZE, {"ours": {"ratio": 2}, "theirs": {"ratio": 1}}, "a"),
        (other, {"ours": {"ratio": 5}}, "b"),
        (SIZE | {"repeats": 1}, {"ours": {"ratio": 3}}, "c"),
    ):
        stored.store(setting, rows, {"commit": commit}, file)
    assert stored.stored(SIZE, file)["rows"] == {"ours": {"ratio": 3}, "theirs": {"ratio": 1}}
    assert stored.stored(SIZE, file)["commit"] == "c"
    assert stored.stored(other, file)["commit"] == "b"
