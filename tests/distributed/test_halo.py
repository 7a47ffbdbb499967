"""Tables of own rows and those of others, and what fills them."""

from __future__ import annotations

import numpy as np
import pytest

from patchfold.distributed.halo import Nodes, table_of


@pytest.fixture
def graph(parted):
    return parted(np.random.default_rng(1).normal(size=(60, 2)), 4)


def test_a_table_has_own_rows_and_each_other_row_once_in_the_order_of_all_rows():
    others = Nodes(np.array([7, 2, 7, 5]), np.array([2, 0, 2, 1]), np.array([4, 0, 4, 1]))
    table = table_of(1, np.array([1, 5, 8]), others)
    assert table.nodes.ids.tolist() == [1, 2, 5, 7, 8]
    assert table.nodes.homes.tolist() == [1, 0, 1, 2, 1]
    assert table.nodes.places.tolist() == [0, 0, 1, 4, 2]
    assert table.own.tolist() == [0, 2, 4]
    assert {side: at.tolist() for side, at in table.halo.items()} == {0: [1], 2: [3]}
    assert table.is_own.tolist() == [True, False, True, False, True]
    assert table.find(np.array([8, 2])).tolist() == [4, 1]


@pytest.mark.parametrize("shape", [(60,), (60, 3)])
def test_a_halo_has_the_values_that_its_rows_have_where_they_are(graph, shape):
    values = np.random.default_rng(0).normal(size=shape)
    own = graph.shared(values)
    fetched = graph.exchange.fetch(own)
    filled = graph.exchange.fill(own)
    for part, table in enumerate(graph.exchange.tables):
        expected = values[table.nodes.ids]
        np.testing.assert_array_equal(table.filled(own[part], fetched[part]), expected)
        np.testing.assert_array_equal(filled[part], expected)


def test_only_parts_that_ask_get_a_halo(graph):
    own = graph.shared(graph.X)
    every, some = graph.exchange.fetch(own), graph.exchange.fetch(own, only=[1])
    assert [len(part) for part in some] == [0, len(every[1]), 0]
    np.testing.assert_array_equal(np.concatenate(some[1]), np.concatenate(every[1]))


def test_the_rows_that_leave_a_part_are_those_in_the_halos_of_others(graph):
    for part, leaving in enumerate(graph.exchange.leaving()):
        assert leaving
        for other, places in leaving.items():
            table = graph.exchange.tables[other]
            expected = table.nodes.ids[table.halo[part]]
            np.testing.assert_array_equal(graph.ids[part][places], expected)
