"""Attribute-relation files keep what they declare."""

from __future__ import annotations

import numpy as np

ARFF = r"""% a comment
@RELATION fruit

@attribute 'weight in g' REAL
@attribute colour {red, 'dark green', "so, so"}
@attribute note string
@data
150.5, 'dark green', 'it\'s'
?, "so, so", ?
"""


def test_arff_keeps_declared_categories_in_their_order(read):
    frame = read(ARFF, "fruit.arff").frame
    assert frame["weight in g"].tolist()[0] == 150.5
    assert np.isnan(frame["weight in g"][1])
    assert list(frame["colour"].cat.categories) == ["red", "dark green", "so, so"]
    assert frame["colour"].tolist() == ["dark green", "so, so"]
    assert frame["note"][0] == "it's"
    assert frame["note"].isna().tolist() == [False, True]
    assert read(ARFF, "unknown.txt").frame.equals(frame)


def test_an_attribute_may_have_any_name(read):
    frame = read("@relation r\n@attribute self real\n@data\n1\n2\n", "a.arff").frame
    assert frame["self"].tolist() == [1, 2]
