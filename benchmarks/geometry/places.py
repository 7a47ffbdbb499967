"""Where something is: phones and tags among walls, neurons that know place and direction."""

from __future__ import annotations

import numpy as np

from benchmarks.geometry.images import counting
from benchmarks.geometry.manifold import Domain, Manifold
from benchmarks.geometry.truth import crossed, walking_distances

# ---------------------------------------------------------------- walls

# Metres. People keep this far from walls.
CLEARANCE = 0.6


def _within(size, inner):
    """Return walls: those inside, and the four of a rectangle."""
    corners = np.array([[0, 0], [size[0], 0], size, [0, size[1]]], dtype=float)
    outer = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    return np.concatenate([np.array(inner, dtype=float), outer])


# An office: a corridor that goes to and fro between five walls.
OFFICE = (36.0, 20.0)
OFFICE_WALLS = _within(
    OFFICE, [[[x, 0], [x, 16]] if x % 12 else [[x, 4], [x, 20]] for x in (6, 12, 18, 24, 30)]
)
ACCESS_POINTS = np.random.default_rng(7).uniform((0, 0), OFFICE, (24, 2))
# Decibel: what a wall takes, and how fast signals fall off.
WALL_LOSS, FALL_OFF, WEAKEST = 3.0, 28.0, -95.0

# A gallery: a corridor 4 m wide that winds to the middle.
GALLERY = (20.0, 20.0)
GALLERY_WALLS = _within(
    GALLERY,
    [
        [[0, 4], [16, 4]],
        [[16, 4], [16, 16]],
        [[16, 16], [4, 16]],
        [[4, 16], [4, 8]],
        [[4, 8], [12, 8]],
        [[12, 8], [12, 12]],
    ],
)
ANCHORS = np.array(
    [[0, 0], [20, 0], [20, 20], [0, 20], [10, 0], [20, 10], [10, 20], [0, 10]], float
)
ANCHOR_HEIGHT = 2.0
# Metres by which a wall delays a signal.
WALL_DELAY = 0.35


def _away_from(walls, size):
    """Return ``draw`` for places in a rectangle that keep away from walls."""

    def draw(random, n):
        kept = np.empty((0, 2))
        while len(kept) < n:
            places = random.uniform((0, 0), size, (2 * n, 2))
            kept = np.concatenate([kept, places[_clearance(places, walls) > CLEARANCE]])
        return kept[:n]

    return draw


def _clearance(places, walls):
    """Return the distance of each place from the nearest wall."""
    start, along = walls[:, 0], walls[:, 1] - walls[:, 0]
    part = np.einsum("nwi,wi->nw", places[:, None] - start, along) / np.sum(along**2, axis=1)
    foot = start + np.clip(part, 0, 1)[:, :, None] * along
    return np.linalg.norm(places[:, None] - foot, axis=2).min(axis=1)


def _walls_between(places, senders, walls):
    return sum(crossed(places, senders, wall).astype(float) for wall in walls)


def _signal(places):
    away = np.linalg.norm(places[:, None] - ACCESS_POINTS, axis=2)
    loss = WALL_LOSS * _walls_between(places, ACCESS_POINTS, OFFICE_WALLS)
    return -35 - FALL_OFF * np.log10(np.sqrt(away**2 + 2)) - loss


def _wifi(parameters):
    return np.maximum(_signal(parameters), WEAKEST)


def _wifi_observed(parameters, strength, random):
    signal = _signal(parameters)
    noisy = signal + strength * random.standard_normal(signal.shape)
    return np.maximum(np.round(noisy), WEAKEST)


def _ranges(parameters):
    away = np.linalg.norm(parameters[:, None] - ANCHORS, axis=2)
    late = WALL_DELAY * _walls_between(parameters, ANCHORS, GALLERY_WALLS)
    return np.sqrt(away**2 + ANCHOR_HEIGHT**2) + late


def _ranges_observed(parameters, strength, random):
    clean = _ranges(parameters)
    return clean + strength * random.standard_normal(clean.shape)


# ---------------------------------------------------------------- neurons

# Spikes per second at rest.
REST = 0.5

# Grid cells of one module: phases of the lattice, spread evenly.
GRID_PHASES = np.random.default_rng(11).uniform(size=(120, 2))
GRID = Domain((0.0, 0.0), (1.0, 1.0), (True, True))


def _grid_rates(parameters):
    """Return the rates of grid cells: three waves, 60 degrees apart, on the cell of a lattice."""
    u, v = 2 * np.pi * np.moveaxis(parameters[:, None] - GRID_PHASES, 2, 0)
    waves = np.cos(u) + np.cos(v) + np.cos(u + v)
    return REST + 20 * np.exp(1.1 * (waves - 3))


# Place cells, head direction cells, and cells for both: centres in a box of 1 m, directions.
_RANDOM = np.random.default_rng(13)
PLACES = _RANDOM.uniform(size=(140, 2))
DIRECTIONS = _RANDOM.uniform(0, 2 * np.pi, 140)
# How sharply a cell is tuned: to place (in 1 / m), to direction.
PLACE_SHARP = np.repeat([5.0, 0.0, 4.0], [70, 30, 40])
DIRECTION_SHARP = np.repeat([0.0, 2.0, 1.0], [70, 30, 40])
RAT = Domain((0.0, 0.0, 0.0), (1.0, 1.0, 2 * np.pi), (False, False, True))


def _rat_rates(parameters):
    away = np.linalg.norm(parameters[:, None, :2] - PLACES, axis=2)
    ahead = np.cos(parameters[:, 2:] - DIRECTIONS) - 1
    return REST + 25 * np.exp(-((PLACE_SHARP * away) ** 2) / 2 + DIRECTION_SHARP * ahead)


def _along_walls(random, n):
    """Draw poses of a rat, which likes walls."""
    drawn = RAT.uniform(random, n)
    drawn[:, :2] = random.beta(0.7, 0.7, (n, 2))
    return drawn


MANIFOLDS = (
    Manifold(
        name="wifi",
        title="Phone in an office",
        what="signal strengths in dBm of 24 access points, over the place in an office; the truth "
        "is walking distance around walls",
        dimension=2,
        components=2,
        n=3000,
        noise="fading of the signals in decibel, and rounding to whole dBm",
        levels=(0.5, 2.0, 4.0),
        draw=_away_from(OFFICE_WALLS, OFFICE),
        clean=_wifi,
        observe=_wifi_observed,
        distances=lambda places: walking_distances(places, OFFICE_WALLS),
    ),
    Manifold(
        name="gallery",
        title="Tag in a gallery",
        what="times of flight (in metres) from eight anchors, over the place in a corridor that "
        "winds inwards; the truth is walking distance around walls",
        dimension=2,
        components=2,
        n=1200,
        noise="Gaussian noise of the times, in metres",
        levels=(0.02, 0.15, 0.3),
        draw=_away_from(GALLERY_WALLS, GALLERY),
        clean=_ranges,
        observe=_ranges_observed,
        distances=lambda places: walking_distances(places, GALLERY_WALLS),
    ),
    Manifold(
        name="grid-cells",
        title="Grid cells",
        what="roots of the spike rates of 120 grid cells of one module, over the phase of the "
        "lattice, a torus",
        dimension=2,
        components=6,
        n=1200,
        noise="spike counts; one over the time of counting in seconds",
        levels=(0.05, 1.0, 3.0),
        draw=GRID.uniform,
        clean=lambda parameters: np.sqrt(_grid_rates(parameters)),
        observe=counting(_grid_rates),
        domain=GRID,
    ),
    Manifold(
        name="rat",
        title="Place and direction cells",
        what="roots of the spike rates of 140 neurons, over the place of a rat in a box and the "
        "direction it looks in",
        dimension=3,
        components=4,
        n=1500,
        noise="spike counts; one over the time of counting in seconds",
        levels=(0.05, 1.0, 3.0),
        draw=_along_walls,
        clean=lambda parameters: np.sqrt(_rat_rates(parameters)),
        observe=counting(_rat_rates),
        domain=RAT,
    ),
)
