"""Finished tasks come back as they were, and files of another kind are not used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fake_paper
from fake_paper import outcomes
from patchfold.papers.reproduction import storage
from patchfold.papers.reproduction.cells import Outcome, Result
from patchfold.papers.reproduction.storage import Stamp, Store, in_words, stamp

STAMP = Stamp(1, {"numpy": "2.0"})


def test_a_stored_outcome_comes_back_to_the_last_digit(tmp_path):
    store = Store(tmp_path / "new" / "folder" / "pelle.csv", STAMP)
    one = Result("Parity5", 0.1 + 0.2, 0.1, 1 / 3, 'κ="7", 8')
    kept = Outcome(fake_paper.TROUBLED, (one, Result("Corral", 0.0)))
    other = Outcome(replace(fake_paper.TROUBLED, account="honest"), (one,))
    store.save([kept])
    store.save([other])
    assert store.load() == ({kept.task: kept, other.task: other}, "")


def test_a_task_that_failed_is_not_kept_and_one_computed_again_is_replaced(tmp_path):
    store = Store(tmp_path / "pelle.csv", STAMP)
    store.save([Outcome(fake_paper.TROUBLED, error="ValueError: no")])
    assert store.load() == ({}, "")
    for value in (0.1, 0.2):
        store.save([Outcome(fake_paper.TROUBLED, (Result("Parity5", value),))])
    (found,) = store.load()[0].values()
    assert found.results == (Result("Parity5", 0.2),)


def test_a_missing_file_holds_nothing(tmp_path):
    assert Store(tmp_path / "pelle.csv", STAMP).load() == ({}, "")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("protocol 1", "protocol 0", "its results are of numpy 2.0; protocol 0, and now it is"),
        ("numpy 2.0", "numpy 1.26", "its results are of numpy 1.26; protocol 1, and now it is"),
        ("value", "number", "KeyError"),
        ("0.", "much", "ValueError: could not convert"),
    ],
)
def test_a_file_of_another_kind_is_not_used_and_said_why(tmp_path, old, new, reason):
    store = Store(tmp_path / "pelle.csv", STAMP)
    store.save(outcomes(["published"], datasets=["bolts"]))
    head, _, text = store.path.read_text(encoding="utf-8").partition("\n")
    changed = f"{head.replace(old, new)}\n{text if old in head else text.replace(old, new)}"
    store.path.write_text(changed, encoding="utf-8")
    found, problem = store.load()
    assert not found
    assert reason in problem


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe"], ids=["empty", "bytes"])
def test_a_damaged_file_is_not_used(tmp_path, damage):
    store = Store(tmp_path / "pelle.csv", STAMP)
    store.path.write_bytes(damage)
    found, problem = store.load()
    assert not found
    assert problem


def test_the_stamp_has_the_protocol_and_the_versions():
    found = stamp(fake_paper)
    assert found.protocol == fake_paper.PROTOCOL
    assert list(found.versions)[:4] == ["patchfold", "numpy", "scipy", "scikit-learn"]
    assert set(found.versions) <= {"patchfold", *storage.PACKAGES}
    assert found.versions["numpy"] == np.__version__


def test_an_error_without_words_has_its_name():
    assert in_words(NotImplementedError()) == "NotImplementedError"
