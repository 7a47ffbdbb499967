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
    starts,  # (n_points // ROWS + 1,) int64: where the arcs of ROWS points start
    tasks,  # (programs,) int64: tile * groups + group
    changed,  # (n_tiles * groups,) int32, written: whether anything became shorter
    n_points,
    groups,
    CHUNKS: tl.constexpr,  # a tile has so many times ROWS points
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Take the shortest way through any neighbour to each point of a tile, until nothing changes.

    Other tiles may be at work: what is read of them is the length of some path, now or before. A
    path that becomes shorter later brings this tile up again.
    """
    task = tl.load(tasks + tl.program_id(0))
    tile = task // groups
    base = far + (task % groups) * n_points * LANES
    row = tl.arange(0, ROWS)
    lane = tl.arange(0, LANES)
    ever = tl.full((), 0, tl.int32)
    again = tl.full((), 1, tl.int32)
    while again > 0:
        better = tl.zeros((ROWS, LANES), tl.int32)
        for part in range(CHUNKS):
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
            better |= (least < known).to(tl.int32)
        again = tl.max(tl.max(better, axis=1), axis=0)
        ever |= again
        tl.debug_barrier()  # the next sweep sees what this one has written
    tl.store(changed + task, ever)
