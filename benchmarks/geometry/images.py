"""Pictures: a painted stone turned and lit, a walker from the side, a bead under a microscope.

The renderer draws every triangle of a convex mesh as a small blurred spot, as bright as the light
on it and as large as the camera sees it; triangles that face away are not seen. All of it is
smooth in pose and light. Cameras have 8 bits, or count photons.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import ConvexHull

from benchmarks.geometry.manifold import Domain, Manifold

WHITE = 255.0


def camera(picture):
    """Return ``observe`` for a camera with 8 bits and read noise."""

    def observe(parameters, strength, random):
        clean = picture(parameters)
        return np.round(clean + strength * random.standard_normal(clean.shape))

    return observe


def counting(rate):
    """Return ``observe`` for Poisson counts: the root of the counted rate, whose noise is even.

    ``strength`` is one over the time of counting.
    """

    def observe(parameters, strength, random):
        return np.sqrt(random.poisson(rate(parameters) / strength) * strength)

    return observe


def filmed(domain):
    """Return ``draw`` for frames at an even rate, each of them somewhat early or late."""

    def draw(random, n):
        share = (np.arange(n) + random.uniform(size=n)) / n
        return domain.low[0] + (domain.high[0] - domain.low[0]) * share[:, None]

    return draw


# ---------------------------------------------------------------- a renderer


@cache
def stone(radii: tuple[float, float, float], paint: float, faces: int = 400):
    """Return the triangles of a painted ellipsoid: centres, normals, areas and albedo.

    Half a turn about the upright axis gives the same shape. ``paint`` is how far the paint tells
    front from back: 0 not at all.
    """
    i = np.arange(faces // 2 + 2) + 0.5
    up, around = 1 - 2 * i / len(i), np.pi * (1 + 5**0.5) * i
    level = np.sqrt(1 - up**2)
    points = np.column_stack([level * np.cos(around), level * np.sin(around), up]) * radii
    corners = points[ConvexHull(points).simplices]
    centres = corners.mean(axis=1)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals *= np.sign(np.sum(normals * centres, axis=1))[:, None]
    areas = np.linalg.norm(normals, axis=1) / 2
    x, y, z = (centres / radii).T
    same = np.cos(5 * z) * (x**2 - y**2) + 2 * x * y * np.sin(3 * z)
    front = np.sin(4 * z + 1) * x + y * np.cos(2 * z)
    albedo = np.clip(0.55 + 0.35 * same + paint * front, 0.05, 1.0)
    return centres, normals / (2 * areas[:, None]), areas, albedo


def render(mesh, turn, light, pixels: int, blur: float = 1.1, ambient: float = 0.15):
    """Return pictures of a mesh, one for each turn and light: shape (n, pixels * pixels).

    ``turn`` are angles about the upright axis; ``light`` are directions of shape (n, 3), as the
    camera sees them: to the right, towards the camera, up.
    """
    centres, normals, areas, albedo = mesh
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    right = cos * centres[:, 0] - sin * centres[:, 1]
    facing = sin * normals[:, 0] + cos * normals[:, 1]
    across = cos * normals[:, 0] - sin * normals[:, 1]
    lit = across * light[:, :1] + facing * light[:, 1:2] + normals[:, 2] * light[:, 2:]
    bright = albedo * areas * np.maximum(facing, 0) * (ambient + np.maximum(lit, 0))
    # Pixels are so large that the camera sees from -1.2 to 1.2.
    size = 2.4 / pixels
    centre = (np.arange(pixels) + 0.5) * size - 1.2
    wide = blur * size
    columns = np.exp(-(((right[:, :, None] - centre) / wide) ** 2) / 2)
    rows = np.exp(-(((centres[:, 2, None] + centre) / wide) ** 2) / 2)
    pictures = np.matmul(rows.T, bright[:, :, None] * columns)
    return WHITE * pictures.reshape(len(turn), -1) / (2 * np.pi * wide**2)


# ---------------------------------------------------------------- the manifolds


def _statue(parameters):
    turn, elevation = parameters.T
    light = np.column_stack([np.sin(elevation), np.full(len(turn), 0.5), np.cos(elevation)])
    light /= np.linalg.norm(light, axis=1, keepdims=True)
    return render(stone((1.0, 0.75, 1.05), 0.3), turn, light, 20)


STATUE = Domain((0.0, -1.4), (2 * np.pi, 1.4), (True, False))


def _turntable(parameters):
    light = np.tile([[0.4, 0.8, 0.45]], (len(parameters), 1))
    return render(stone((1.05, 0.6, 1.0), 0.2), parameters[:, 0], light, 30)


TURNTABLE = Domain((0.0,), (2 * np.pi,), (True,))

# A healthy walk: angles in degrees at shares of the cycle from heel strike to heel strike.
HIP = CubicSpline(
    [0, 0.15, 0.3, 0.5, 0.65, 0.85, 1], [30, 24, 8, -10, 5, 33, 30], bc_type="periodic"
)
KNEE = CubicSpline(
    [0, 0.14, 0.4, 0.6, 0.73, 0.88, 1], [5, 18, 5, 38, 60, 22, 5], bc_type="periodic"
)
ANKLE = CubicSpline(
    [0, 0.08, 0.3, 0.46, 0.62, 0.8, 1], [0, -5, 5, 10, -18, 2, 0], bc_type="periodic"
)
# Thigh, shank, foot, upper arm, forearm in metres.
LIMBS = (0.43, 0.42, 0.22, 0.3, 0.26)
# The limbs on the far side are in the shade.
SHADE = 0.6
# Metres by which the camera, not quite from the side, sees the far limbs ahead and higher.
ASIDE = np.array([0.1, 0.05])
WALKER_PIXELS = (32, 18)


def _limbs(phase):
    """Return points along a walker's limbs, seen from the side, and how bright they are."""
    points, weights = [], []
    along = np.linspace(0, 1, 7)[:, None]

    def limb(start, angle, length, weight):
        step = length * np.column_stack([np.sin(angle), -np.cos(angle)])
        points.append(start + along[:, :, None] * step)
        weights.append(np.full(len(along), weight * length))
        return start + step

    bob = 0.02 * np.cos(4 * np.pi * phase)
    hip = np.column_stack([np.zeros_like(phase), 0.9 + bob])
    shoulder = hip + np.array([0.03, 0.5])
    for shift, weight, aside in ((0.0, 1.0, 0 * ASIDE), (0.5, SHADE, ASIDE)):
        at = (phase + shift) % 1
        thigh, knee, ankle = (np.deg2rad(curve(at)) for curve in (HIP, KNEE, ANKLE))
        bottom = limb(hip + aside, thigh, LIMBS[0], weight)
        bottom = limb(bottom, thigh - knee, LIMBS[1], weight)
        limb(bottom, thigh - knee + ankle + np.pi / 2, LIMBS[2], weight)
        swing = -0.45 * np.cos(2 * np.pi * at)
        elbow = limb(shoulder + aside, swing, LIMBS[3], weight)
        limb(elbow, swing + 0.35 - 0.2 * np.cos(2 * np.pi * at), LIMBS[4], weight)
    limb(hip, np.full_like(phase, np.pi - 0.06), 0.5, 2.0)
    limb(shoulder, np.full_like(phase, np.pi - 0.06), 0.25, 2.0)
    return np.concatenate(points), np.concatenate(weights)


def _gait(parameters):
    points, weights = _limbs(parameters[:, 0])
    height, width = WALKER_PIXELS
    rows, columns = np.linspace(1.75, 0.0, height), np.linspace(-0.6, 0.6, width)
    blur = 0.05
    across = np.exp(-(((points[:, :, 0, None] - columns) / blur) ** 2) / 2)
    up = np.exp(-(((points[:, :, 1, None] - rows) / blur) ** 2) / 2)
    light = np.matmul(up.transpose(1, 2, 0), (weights[:, None, None] * across).transpose(1, 0, 2))
    return WHITE * (1 - np.exp(-2.5 * light.reshape(len(parameters), -1)))


GAIT = Domain((0.0,), (1.0,), (True,))

BEAD_PIXELS = 17
# A cylindrical lens makes the spot wide in x above the focus, and wide in y below it.
FOCUS, DEPTH, WAIST = 0.3, 0.4, 1.3
BACKGROUND = 4.0
BEAD = Domain((-5.0, -5.0, -0.5, 0.0), (5.0, 5.0, 0.5, 1.1), (False,) * 4)


def _photons(parameters):
    x, y, z, bright = parameters.T[:, :, None]
    pixels = np.arange(BEAD_PIXELS) - BEAD_PIXELS // 2
    wide = WAIST * np.sqrt(1 + ((z - FOCUS) / DEPTH) ** 2)
    high = WAIST * np.sqrt(1 + ((z + FOCUS) / DEPTH) ** 2)
    across = np.exp(-(((pixels - x) / wide) ** 2) / 2) / wide
    up = np.exp(-(((pixels - y) / high) ** 2) / 2) / high
    spot = 400 * np.exp(bright[:, :, None]) / (2 * np.pi) * up[:, :, None] * across[:, None]
    return (BACKGROUND + spot).reshape(len(parameters), -1)


MANIFOLDS = (
    Manifold(
        name="gait",
        title="Gait of a walker",
        what="576 pixels of a walker from the side, over one cycle of both legs; half a cycle "
        "later the legs have changed places, and only the shade tells which is the far one",
        dimension=1,
        components=2,
        n=300,
        noise="read noise of the camera, in grey levels of 255",
        levels=(1.0, 25.0, 50.0),
        draw=filmed(GAIT),
        clean=_gait,
        observe=camera(_gait),
        domain=GAIT,
    ),
    Manifold(
        name="turntable",
        title="Stone on a turntable",
        what="900 pixels of a painted stone over a full turn; front and back differ by some paint",
        dimension=1,
        components=2,
        n=400,
        noise="read noise of the camera, in grey levels of 255",
        levels=(1.0, 30.0, 60.0),
        draw=filmed(TURNTABLE),
        clean=_turntable,
        observe=camera(_turntable),
        domain=TURNTABLE,
    ),
    Manifold(
        name="statue",
        title="Stone over pose and light",
        what="400 pixels of a painted stone over a full turn and the height of the light",
        dimension=2,
        components=3,
        n=1000,
        noise="read noise of the camera, in grey levels of 255",
        levels=(1.0, 12.0, 24.0),
        draw=STATUE.uniform,
        clean=_statue,
        observe=camera(_statue),
        domain=STATUE,
    ),
    Manifold(
        name="bead",
        title="Bead under a microscope",
        what="roots of the photons in 289 pixels, over the place of a bead in three dimensions "
        "and its brightness; a cylindrical lens shows the depth",
        dimension=4,
        components=4,
        n=1500,
        noise="photon counts; one over the time of exposure",
        levels=(0.01, 0.5, 2.0),
        draw=BEAD.uniform,
        clean=lambda parameters: np.sqrt(_photons(parameters)),
        observe=counting(_photons),
        domain=BEAD,
    ),
)
