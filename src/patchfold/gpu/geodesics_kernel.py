"""Triton: shortest paths within tiles of near points, relaxed to rest."""

from __future__ import annotations

import triton
import triton.language as tl

# Arcs of a point that are looked at together: so many numbers are on their way at once.
TOGETHER = tl.constexpr(4)


@triton.jit(do_not_specialize=["n_points", "groups"])
def relax(
    far,  # (groups, n_points, LANES) float64, read and written
    ends,  # int32: the points that arcs lead to; those of ROWS points lie side by side
    lengths,  # float64
    starts,  # (n_chunks + 1,) int64: where the arcs of a chunk, that is ROWS points, start
    within,  # (n_chunks,) int64: which chunks of the tile have arcs to this one, bit by bit
    tasks,  # (programs,) int64: tile * groups + group
    awake,  # (programs,) int64: the chunks of the tile to look at first, bit by bit
    shortened,  # (n_chunks, groups) float64, written: the least distance that became shorter
    n_points,
    groups,
    CHUNKS: tl.constexpr,  # of a tile
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Take the shortest way through any neighbour to each point of a tile, until nothing changes.

    Other tiles may be at work: what is read of them is the length of some path, now or before. A
    path that becomes shorter later brings this tile up again.
    """
    task = tl.load(tasks + tl.program_id(0))
    waiting = tl.load(awake + tl.program_id(0))
    tile = task // groups
    group = task % groups
    base = far + group * n_points * LANES
    row = tl.arange(0, ROWS)
    lane = tl.arange(0, LANES)
    one = tl.full((), 1, tl.int64)
    while waiting != 0:
        for part in range(CHUNKS):
            if (waiting >> part) & 1 != 0:
                waiting = waiting ^ (one << part)
                chunk = tile * CHUNKS + part
                at = base + (chunk * ROWS + row)[:, None] * LANES + lane[None, :]
                known = tl.load(at)
                least = known
                start = tl.load(starts + chunk)
                stop = tl.load(starts + chunk + 1)
                for arc in range(start, stop, TOGETHER * ROWS):
                    for step in tl.static_range(TOGETHER):
                        here = arc + step * ROWS + row
                        end = tl.load(ends + here).to(tl.int64)
                        length = tl.load(lengths + here)
                        through = tl.load(base + end[:, None] * LANES + lane[None, :])
                        least = tl.minimum(least, through + length[:, None])
                tl.store(at, least, mask=least < known)
                least = tl.where(least < known, least, float("inf"))
                lowest = tl.min(tl.min(least, axis=1), axis=0)
                if lowest < float("inf"):
                    before = tl.load(shortened + chunk * groups + group)
                    tl.store(shortened + chunk * groups + group, tl.minimum(before, lowest))
                    waiting = waiting | tl.load(within + chunk)
                tl.debug_barrier()  # what follows sees what was written
