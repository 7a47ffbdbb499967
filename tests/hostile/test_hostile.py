"""A part of the campaign that takes seconds: each case is right or refused in clear words.

The whole of it is ``make hostile``.
"""

from __future__ import annotations

import pytest

from .cases import Case, drawn
from .data import TABLES
from .judging import CLEAR, FINE, RIGHT, Verdict, is_clear, judge

# Every so manieth case, without the slowest ones: t-SNE, and n_neighbors="auto".
STEP, COUNT = 7, 125


def quick() -> list[Case]:
    cases = drawn(2 * STEP * COUNT)[::STEP]
    slow = (".auto.", "tsne.", "loky", "dask", "multiprocessing", "forked", "spawned")
    slow += ("killed", "bomb", "many-columns", "m-5000", "cluster/", "tsne:")
    return [case for case in cases if not any(word in case.id for word in slow)][:COUNT]


@pytest.mark.parametrize("case", quick(), ids=lambda case: case.id)
def test_hostile_case_is_right_or_refused_in_clear_words(case):
    verdict = judge(case)
    assert verdict.name in FINE, verdict.detail


def test_cases_of_a_seed_are_always_the_same_and_distinct():
    names = [case.id for case in drawn(400)]
    assert names == [case.id for case in drawn(500)][:400]
    assert len(set(names)) == 400
    assert names != [case.id for case in drawn(400, seed=1)]


def test_name_of_a_case_is_all_that_is_needed():
    case = drawn(30)[-1]
    assert Case.from_id(case.id) == case
    with pytest.raises(ValueError, match="names no case"):
        Case.from_id("table/no-such/isomap/1")


@pytest.mark.parametrize(
    ("message", "clear"),
    [
        ("n_neighbors=0 is too small; give at least 1.", True),
        ("X contains NaN (1 value), the first in row 3, column 1; drop these rows.", True),
        ("index 3 is out of bounds for axis 0 with size 3", False),
        ("X has 3 features.", False),
        ("", False),
    ],
)
def test_clear_message_names_what_is_wrong_and_what_to_do(message, clear):
    assert is_clear(message) is clear


def test_wrong_results_and_unexpected_errors_are_told_from_clear_ones(monkeypatch):
    case = Case("table", "pandas", "isomap.euclidean.-.lengths.none.nystrom.auto", 0)
    assert judge(case) == Verdict(RIGHT)
    assert judge(Case("table", "nan", case.word, 0)).name == CLEAR
    monkeypatch.setitem(TABLES, "pandas", TABLES["nan"])
    assert judge(case).name == CLEAR
    monkeypatch.setitem(TABLES, "pandas", lambda random: 1 / 0)
    assert judge(case).name == "unclear error"
