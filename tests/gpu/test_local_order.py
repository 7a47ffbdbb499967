"""Blocks of near points."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from patchfold.gpu.local_order import blocks


@given(n=st.integers(1, 300), m=st.integers(1, 40), size=st.integers(1, 70))
def test_every_row_stands_in_one_place(n, m, size):
    X = torch.randn(n, m, generator=torch.Generator().manual_seed(n)).round()
    table = blocks(X, size)
    assert table.shape[1] <= size
    assert torch.equal(table[table >= 0].sort().values, torch.arange(n))


def test_points_of_a_block_are_near():
    X = torch.rand(4096, 30, generator=torch.Generator().manual_seed(0))
    X[:, 2:] *= 0.01
    spread = X[blocks(X, 64)].std(1)[:, :2]
    assert float(spread.mean()) < 0.2 * float(X[:, :2].std(0).mean())
