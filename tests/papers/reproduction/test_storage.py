"""Finished tasks come back as they were, and files of another kind are ignored."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest

import fake_paper
from fake_paper import outcomes
from patchfold.base.files import UNFINISHED
from patchfold.papers.reproduction import storage
from patchfold.papers.reproduction.cells import ACCOUNTS, Outcome, Result, Task
from patchfold.papers.reproduction.storage import Stamp, Store, file_name, in_words, stamp

STAMP = Stamp(1, {"numpy": "2.0"})


def test_a_stored_outcome_comes_back_to_the_last_digit(tmp_path):
    store = Store(tmp_path / "new" / "folder", STAMP)
    kept = Outcome(fake_paper.TROUBLED, (Result("Parity5", 0.1 + 0.2, 0.1, 1 / 3, "κ=7"),))
    failed = Outcome(replace(fake_paper.TROUBLED, account="honest"), error="ValueError: no")
    store.save(kept)
    store.save(failed)
    assert store.load() == ({kept.task: kept, failed.task: failed}, {})


def test_an_empty_or_missing_folder_holds_nothing(tmp_path):
    assert Store(tmp_path, STAMP).load() == ({}, {})
    assert Store(tmp_path / "missing", STAMP).load() == ({}, {})


def test_every_task_has_a_file_of_its_own():
    names = [
        file_name(Task(paper, table, data_set, method, account))
        for paper in ("pelle", "elap")
        for table in ("I", "i")
        for data_set in ("a b", "a_b", "ä/b", "a/../b")
        for method in ("X", "Y")
        for account in ACCOUNTS
    ]
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[\w.-]+\.json", name, re.ASCII) for name in names)


def stored(tmp_path):
    (outcome,) = outcomes(["published"], datasets=["bolts"])[:1]
    Store(tmp_path, STAMP).save(outcome)
    (path,) = tmp_path.iterdir()
    return path, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protocol": 0}, "protocol 0, and 1 is the current one"),
        ({"versions": {"numpy": "1.26"}}, "computed with numpy 1.26, and 2.0 is installed"),
        ({"versions": {}}, "computed with numpy None"),
        ({"versions": []}, "AttributeError"),
        ({"task": {}}, "TypeError"),
        ({"task": asdict(fake_paper.TROUBLED)}, "has another name"),
        ({"results": [{"row": "Bolts"}]}, "TypeError"),
        ({"results": [{"row": "Bolts", "value": "much"}]}, "TypeError"),
        ({"results": [{"row": "Bolts", "value": float("inf")}]}, "leave it out instead"),
        ({"results": [{"row": "bolt", "value": 0.5}]}, "row='bolt' is not known"),
    ],
    ids=str,
)
def test_a_file_of_another_kind_is_ignored_and_said_why(tmp_path, change, reason):
    path, content = stored(tmp_path)
    path.write_text(json.dumps(content | change), encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert not found
    assert list(ignored) == [path.name]
    assert reason in ignored[path.name]


@pytest.mark.parametrize("damage", ["cut", "empty", "bytes", "list"])
def test_a_damaged_file_is_ignored(tmp_path, damage):
    path, _ = stored(tmp_path)
    whole = path.read_bytes()
    broken = {"cut": whole[:-20], "empty": b"", "bytes": b"\xff\xfe", "list": b"[]"}
    path.write_bytes(broken[damage])
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert not found
    assert set(ignored) == {path.name, "notes.txt"}
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_what_a_killed_run_left_unfinished_is_removed(tmp_path):
    path, _ = stored(tmp_path)
    leftover = tmp_path / f"{path.name}abc{UNFINISHED}"
    leftover.write_text("{", encoding="utf-8")
    found, ignored = Store(tmp_path, STAMP).load()
    assert (len(found), ignored) == (1, {})
    assert list(tmp_path.iterdir()) == [path]


def test_the_stamp_has_the_protocol_and_the_versions():
    found = stamp(fake_paper)
    assert found.protocol == fake_paper.PROTOCOL
    assert list(found.versions)[:4] == ["patchfold", "numpy", "scipy", "scikit-learn"]
    assert set(found.versions) <= {"patchfold", *storage.PACKAGES}
    assert found.versions["numpy"] == np.__version__


def test_an_error_without_words_has_its_name():
    assert in_words(NotImplementedError()) == "NotImplementedError"
