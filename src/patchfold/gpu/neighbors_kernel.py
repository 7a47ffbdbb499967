"""Triton: the candidates of queries, by one kernel of product and selection.

A program has BLOCK_QUERIES near queries and visits cells of near points, nearest cells first. It
moves both into the centre of the cell, where vectors are short: so that half precision, whose
products are exact in float32, is wrong by a thousandth of short distances and not of long ones.
What is kept are lower bounds of squared distances.

A column of the product is a lane, and each lane keeps its least KEPT bounds: minima and maxima of
whole tiles, without a look at other lanes. What a lane has dropped is above the last one it keeps.
"""

from __future__ import annotations

import triton
import triton.language as tl

BLOCK_QUERIES = tl.constexpr(64)
LANES = tl.constexpr(128)

# Bounds that a lane keeps. Of 16 near points in random lanes, four share one in 0.1 % of rows.
KEPT = tl.constexpr(4)

# The last bits of a bound, a number that is not negative, hold the step in which it was found. It
# loses at most 0.2 %. Such numbers have their order as integers; the largest stands for nothing.
MOST_STEPS = 2**14
BOUND_BITS = tl.constexpr(-MOST_STEPS)
NOTHING = tl.constexpr(2**31 - 1)

# Groups of lanes. That each has a point shows that so many points are near.
GROUPS = tl.constexpr(16)


@triton.jit(do_not_specialize=["tiles", "visited"])
def candidates(
    queries,  # (n_blocks * BLOCK_QUERIES, columns) float32
    points,  # (n_cells * tiles * LANES, columns) float16, each about the centre of its cell
    squares,  # (n_cells * tiles * LANES,) float32, lengths squared less their errors; inf: no point
    centres,  # (n_cells, columns) float32
    order,  # (n_blocks, visited) int32, the cells of a block of queries
    bounds,  # (n_blocks, visited) float32, below their squared distances, rising
    kept,  # (n_blocks * BLOCK_QUERIES, splits, KEPT, LANES) int32, written
    reached,  # (n_blocks, splits) float32, written: a bound of what was not visited
    tiles,
    visited,
    shrink,  # 1 less the relative error of a squared distance
    vanished,  # and its absolute error
    COLUMNS: tl.constexpr,  # a multiple of PART
    PART: tl.constexpr,
):
    """Write the lower bounds of squared distances that the lanes of each query keep, as keys.

    The queries of a block are shared out to ``splits`` programs by their cells.
    """
    block = tl.program_id(0)
    split = tl.program_id(1)
    splits = tl.num_programs(1)
    rows = block.to(tl.int64) * BLOCK_QUERIES + tl.arange(0, BLOCK_QUERIES)
    lanes = tl.arange(0, LANES)
    part = tl.arange(0, PART)
    x_at = queries + rows[:, None] * COLUMNS + part[None, :]
    list_at = block.to(tl.int64) * visited
    nothing = tl.full((BLOCK_QUERIES, LANES), NOTHING, tl.int32)
    first, second, third, fourth = nothing, nothing, nothing, nothing
    widest = tl.full((), NOTHING, tl.int32)
    place = split
    bound = tl.load(bounds + list_at + place, mask=place < visited, other=float("inf"))
    while (place < visited) & (bound.to(tl.int32, bitcast=True) <= widest):
        cell = tl.load(order + list_at + place).to(tl.int64)
        c_at = centres + cell * COLUMNS + part
        x_squares = tl.zeros((BLOCK_QUERIES,), tl.float32)
        for start in range(0, COLUMNS, PART):
            x = tl.load(x_at + start) - tl.load(c_at + start)[None, :]
            x_squares += tl.sum(x * x, axis=1)
        x_squares = x_squares * shrink - vanished
        if COLUMNS == PART:
            x = (tl.load(x_at) - tl.load(c_at)[None, :]).to(tl.float16)
        for tile in range(tiles):
            columns = (cell * tiles + tile) * LANES + lanes
            y_at = points + columns[None, :] * COLUMNS + part[:, None]
            if COLUMNS == PART:
                product = tl.dot(x, tl.load(y_at))
            else:
                product = _product_by_parts(x_at, c_at, y_at, COLUMNS, PART)
            least = x_squares[:, None] + tl.load(squares + columns)[None, :] - 2.0 * product
            key = tl.maximum(least, 0.0).to(tl.int32, bitcast=True)
            key = (key & BOUND_BITS) | (place * tiles + tile)
            first, second, third, fourth = _least_four(key, first, second, third, fourth)
        of_groups = tl.reshape(first, (BLOCK_QUERIES, GROUPS, LANES // GROUPS))
        widest = tl.max(tl.max(tl.min(of_groups, axis=2), axis=1), axis=0)
        place += splits
        bound = tl.load(bounds + list_at + place, mask=place < visited, other=float("inf"))
    tl.store(reached + block * splits + split, bound)
    at = kept + ((rows * splits + split) * KEPT * LANES)[:, None] + lanes[None, :]
    tl.store(at, first)
    tl.store(at + LANES, second)
    tl.store(at + 2 * LANES, third)
    tl.store(at + 3 * LANES, fourth)


@triton.jit
def _product_by_parts(x_at, c_at, y_at, COLUMNS: tl.constexpr, PART: tl.constexpr):
    """Return the products of queries about a centre with points, of more than PART columns."""
    product = tl.zeros((BLOCK_QUERIES, LANES), tl.float32)
    for start in range(0, COLUMNS, PART):
        x = (tl.load(x_at + start) - tl.load(c_at + start)[None, :]).to(tl.float16)
        product = tl.dot(x, tl.load(y_at + start), product)
    return product


@triton.jit
def _least_four(key, first, second, third, fourth):
    """Return the least four of five keys, the least first."""
    first, key = tl.minimum(first, key), tl.maximum(first, key)
    second, key = tl.minimum(second, key), tl.maximum(second, key)
    third, key = tl.minimum(third, key), tl.maximum(third, key)
    return first, second, third, tl.minimum(fourth, key)
