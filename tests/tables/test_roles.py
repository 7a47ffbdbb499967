"""Columns that can hardly be features are told by their names and values, and noted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patchfold.tables import Roles, Table, assign

N = 20
X = np.random.default_rng(0).normal(size=N)


def decided(roles=None, **columns):
    return assign(Table(pd.DataFrame({"w": X, **columns})), roles or Roles())


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("nr", range(5, 5 + N), True),
        ("anything", range(N), True),
        ("ID", np.random.default_rng(0).permutation(N), True),
        ("rank", np.random.default_rng(0).permutation(N), False),  # in no order, not called so
        ("id", [*range(N - 1), 99], False),
        ("gene", [f"G{row:03}" for row in range(N)], True),
        ("gene", [f"G{row // 2}" for row in range(N)], False),
        ("day", [f"2020-01-{row + 1:02}" for row in range(N)], False),
        ("price", [f"{row} €" for row in range(N)], False),
        ("typo", [*map(str, range(N - 1)), "much"], False),
        ("price", [*(f"{row + 1}.234,50" for row in range(N - 1)), "much"], False),
        ("price", [*(f"{row + 1}.234,50" for row in range(N - 1)), "-"], False),
        ("nr", pd.array([*range(N - 1), None], dtype="Int64"), False),
    ],
)
def test_a_column_that_names_or_numbers_the_rows_is_the_id(name, values, found):
    roles, notes = decided(**{name: list(values)})
    assert (roles.ids == name) is found
    assert (len(notes) == 1) is found
    assert all(f"(--feature {name} embeds it)" in note for note in notes)
    if found:
        roles, notes = decided(Roles(features=(name,)), **{name: list(values)})
        assert (roles.ids, notes) == (None, [])


def test_of_several_ids_the_one_that_is_called_so_is_taken():
    roles, notes = decided(first=range(N), comment=[f"c{i}" for i in range(N)], id=range(N))
    assert (roles.ids, roles.info) == ("id", ("first",))
    assert "number the rows, too: 'first'" in notes[1]
    roles, _ = decided(Roles(ids="w"), id=range(N), v=X)
    assert (roles.ids, roles.info) == ("w", ())


def test_long_texts_are_there_to_be_read():
    texts = [
        f"the report of day {row} says that nothing happened, at length" * 2 for row in range(N)
    ]
    roles, notes = decided(report=texts, gene=[f"G{row}" for row in range(N)])
    assert (roles.ids, roles.info) == ("gene", ("report",))
    assert notes[0] == "texts to read are shown and not embedded: 'report'"
    assert decided(Roles(ids="report"), report=texts)[0].info == ()


def test_something_is_left_to_embed():
    roles, notes = assign(Table(pd.DataFrame({"x": range(N)})), Roles())
    assert (roles, notes) == (Roles(), [])


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("species", ["a", "b"] * 10, True),
        ("Label", [0, 1] * 10, True),
        ("cell_type", ["a", "b"] * 10, True),
        ("target", X, True),  # surely no feature
        ("class", X, False),
        ("class", ["a"] * N, False),
        ("width", [0, 1] * 10, False),
        ("y", [0, 1] * 10, True),
    ],
)
def test_a_column_called_like_classes_is_the_target(name, values, found):
    roles, notes = decided(**{name: values})
    assert (roles.target == name) is found
    assert bool(notes) is found


def test_coordinates_are_no_classes():
    assert decided(x=X, y=[0, 1] * 10)[0].target is None


def test_classes_beside_a_target_are_not_embedded_in_silence():
    roles, notes = decided(Roles(target="kind"), kind=["a", "b"] * 10, label=[0, 1] * 10)
    assert roles == Roles(target="kind")
    assert notes == [
        "'label' may hold classes and is embedded all the same (--info label only shows it)"
    ]


def test_classes_that_the_file_keeps_apart_are_not_said_to_be_embedded():
    frame = pd.DataFrame({"w": X, "cell_type": ["a", "b"] * 10, "counts": range(N)})
    table = Table(frame, beside=("cell_type", "counts"))
    _, notes = assign(table, Roles(target="counts"))
    (told,) = (note for note in notes if "cell_type" in note)
    assert told.startswith("arrays beside the points are shown and not embedded: 'cell_type'")


def test_what_the_file_says_of_its_columns_is_followed():
    frame = pd.DataFrame({"gene": [f"G{i}" for i in range(N)], "w": X, "is_test": [True] * N})
    roles, notes = assign(Table(frame, index="gene", beside=("is_test",)), Roles())
    assert (roles.ids, roles.info) == ("gene", ("is_test",))
    assert notes[0] == "the index 'gene' of the file names the rows (--id)"
    assert notes[1].startswith("arrays beside the points are shown and not embedded: 'is_test'")
