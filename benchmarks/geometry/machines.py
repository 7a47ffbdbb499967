"""Things that move: a robot arm, a molecule, a bursting neuron, echoes from a drone."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from benchmarks.geometry.manifold import Domain, Manifold


def gaussian(clean):
    """Return ``observe`` for Gaussian noise of one strength in every column."""

    def observe(parameters, strength, random):
        points = clean(parameters)
        return points + strength * random.standard_normal(points.shape)

    return observe


# ---------------------------------------------------------------- an arm

# Metres from shoulder to elbow, from there to the wrist, from there to the finger tip.
LINKS = (0.35, 0.3, 0.2)
# Yaw and pitch of the shoulder, flexion of the elbow and of the wrist.
ARM = Domain((-2.8, -0.6, 0.1, -1.2), (2.8, 1.2, 2.4, 1.2), (False,) * 4)


def _arm(parameters):
    """Return the places of eight markers in centimetres: shape (n, 24)."""
    yaw, shoulder, elbow, wrist = parameters.T
    pitch = np.stack([shoulder, shoulder + elbow, shoulder + elbow + wrist])
    place, markers = np.zeros((2, len(yaw))), []
    for length, angle, stops in zip(
        LINKS, pitch, ((0.5, 1), (0.33, 0.67, 1), (0.5, 1)), strict=True
    ):
        step = length * np.stack([np.cos(angle), np.sin(angle)])
        markers += [place + stop * step for stop in stops]
        place = place + step
    # One more beside the hand, which is 8 cm wide.
    markers.append(place + 0.08 * np.stack([-np.sin(pitch[2]), np.cos(pitch[2])]))
    out, up = np.stack(markers, axis=2)
    places = [out * np.cos(yaw)[:, None], out * np.sin(yaw)[:, None], up]
    return 100 * np.concatenate(places, axis=1)


# ---------------------------------------------------------------- a molecule

# Alanine dipeptide, heavy atoms, with about the bonds and angles of Engh and Huber (1991): the
# three atoms an atom is placed by, its bond in Angstrom, angle and dihedral in degrees. "phi" and
# "psi" are the parameters.
FIRST = ("N", "CA", "C")
ATOMS = (
    ("CB", ("C", "N", "CA"), 1.53, 110.4, -122.5),
    ("C0", ("C", "CA", "N"), 1.33, 121.7, "phi"),
    ("O0", ("CA", "N", "C0"), 1.23, 123.0, 0.0),
    ("CH0", ("CA", "N", "C0"), 1.51, 116.2, 180.0),
    ("N2", ("N", "CA", "C"), 1.33, 116.2, "psi"),
    ("O", ("N", "CA", "C"), 1.23, 120.8, "psi+180"),
    ("CH2", ("CA", "C", "N2"), 1.45, 121.7, 180.0),
)
DIPEPTIDE = Domain((0.0, 0.0), (2 * np.pi, 2 * np.pi), (True, True))
# Wells of the energy: phi, psi, share of the points. The rest lie anywhere.
WELLS = ((-1.2, 2.4, 0.25), (-1.2, -0.7, 0.25), (1.0, 0.8, 0.1))
WELL_WIDTH = 0.5


def _next_atom(a, b, c, bond, angle, dihedral):
    """Return the place of an atom bound to ``c`` that has these internal coordinates."""
    ahead = (c - b) / np.linalg.norm(c - b, axis=1, keepdims=True)
    normal = np.cross(b - a, ahead)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    beside = np.cross(normal, ahead)
    cos, sin = np.cos(dihedral)[:, None], np.sin(dihedral)[:, None]
    aside = np.sin(angle) * (cos * beside + sin * normal)
    return c + bond * (aside - np.cos(angle) * ahead)


def molecule(parameters):
    """Return the places of the ten heavy atoms: shape (n, 10, 3)."""
    phi, psi = parameters.T
    zero = np.zeros_like(phi)
    bend = np.deg2rad(111.0)
    places = {
        "N": np.column_stack([zero + 1.46, zero, zero]),
        "CA": np.column_stack([zero, zero, zero]),
        "C": np.column_stack([zero + 1.525 * np.cos(bend), zero + 1.525 * np.sin(bend), zero]),
    }
    turns = {"phi": phi, "psi": psi, "psi+180": psi + np.pi}
    for name, by, bond, angle, turn in ATOMS:
        dihedral = turns[turn] if isinstance(turn, str) else zero + np.deg2rad(turn)
        places[name] = _next_atom(*(places[a] for a in by), bond, np.deg2rad(angle), dihedral)
    return np.stack(list(places.values()), axis=1)


def _distances_of_atoms(places):
    i, j = np.triu_indices(places.shape[1], 1)
    return np.linalg.norm(places[:, i] - places[:, j], axis=2)


def _dipeptide(parameters):
    return _distances_of_atoms(molecule(parameters))


def _dipeptide_observed(parameters, strength, random):
    places = molecule(parameters)
    return _distances_of_atoms(places + strength * random.standard_normal(places.shape))


def _in_wells(random, n):
    anywhere = DIPEPTIDE.uniform(random, n)
    phi, psi, share = np.transpose(WELLS)
    which = random.choice(len(WELLS) + 1, n, p=[*share, 1 - share.sum()])
    centre = np.column_stack([[*phi, 0.0], [*psi, 0.0]])[which]
    wells = centre + WELL_WIDTH * random.standard_normal((n, 2))
    drawn = np.where((which == len(WELLS))[:, None], anywhere, wells)
    return drawn % (2 * np.pi)


# ---------------------------------------------------------------- a bursting neuron

# Hindmarsh and Rose (1984) with a current at which bursts repeat exactly.
CURRENT, SLOWNESS = 2.5, 0.003
# A level that adaptation passes in every burst.
FALLING_LEVEL = 2.25
# Potential, recovery and adaptation in about equal units.
HR_SCALE = np.array([1.0, 0.35, 12.0])
# Share of the points that are recorded at an even rate of time; the rest is recorded at an even
# rate of change, as by a device that waits for spikes.
EVEN_TIME = 0.4


def _hindmarsh_rose(time, state):
    x, y, z = state
    return [
        y - x**3 + 3 * x**2 - z + CURRENT,
        1 - 5 * x**2 - y,
        SLOWNESS * (4 * (x + 1.6) - z),
    ]


@cache
def burst():
    """Return one burst as a closed curve over its phase, and its length, 1 in all, at phases."""

    def falling(time, state):
        return state[2] - FALLING_LEVEL

    falling.direction = -1.0
    exact = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-10, "events": falling}
    run = solve_ivp(_hindmarsh_rose, (0, 6000), [-1.3, -7, 2.2], **exact)
    start = run.y_events[0][-1]
    again = solve_ivp(_hindmarsh_rose, (0, 1000), start, dense_output=True, **exact)
    back = np.linalg.norm(again.y_events[0] - start, axis=1) < 1e-3
    period = again.t_events[0][back & (again.t_events[0] > 1.0)][0]
    phase = np.linspace(0, 1, 40_001)
    states = HR_SCALE * again.sol(phase * period).T
    # What is left of the transient is spread over the burst, so that it closes.
    states -= phase[:, None] * (states[-1] - states[0])
    states[-1] = states[0]
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(states, axis=0), axis=1))])
    return CubicSpline(phase, states, bc_type="periodic"), length / length[-1], phase


BURSTER = Domain((0.0,), (1.0,), (True,))


def _burster(parameters):
    curve, length, phase = burst()
    return curve(np.interp(parameters[:, 0] % 1, length, phase))


def _recorded(random, n):
    _, length, phase = burst()
    at = random.uniform(size=n)
    even = random.uniform(size=n) < EVEN_TIME
    return np.where(even, np.interp(at, phase, length), at)[:, None]


# ---------------------------------------------------------------- echoes

# Metres: a room, and four microphones in it.
ROOM = (6.0, 5.0, 3.0)
MICROPHONES = np.array([[0, 0, 0.2], [6, 0.5, 2.8], [5.5, 5, 0.3], [0.3, 4.8, 2.7], [3, 2.5, 3]])
DELAYS = np.linspace(0.0, 8.5, 48)
PULSE = 0.45
DRONE = Domain((0.3, 0.3, 0.3), (5.7, 4.7, 2.7), (False,) * 3)


def _echoes(parameters):
    """Return the envelope that each microphone hears of a click, fainter from farther away."""
    away = np.linalg.norm(parameters[:, None] - MICROPHONES, axis=2)[:, :, None]
    heard = np.exp(-(((DELAYS - away) / PULSE) ** 2) / 2) / np.sqrt(0.5 + away)
    return 10 * heard.reshape(len(parameters), -1)


MANIFOLDS = (
    Manifold(
        name="burster",
        title="Bursting neuron",
        what="three variables of a neuron (Hindmarsh and Rose) on its limit cycle: spikes are "
        "coils, close beside each other",
        dimension=1,
        components=2,
        n=800,
        noise="Gaussian noise of the recording",
        levels=(0.0, 0.05, 0.12),
        draw=_recorded,
        clean=_burster,
        observe=gaussian(_burster),
        domain=BURSTER,
    ),
    Manifold(
        name="dipeptide",
        title="Alanine dipeptide",
        what="45 distances in Angstrom of ten atoms over two dihedral angles, most of them in "
        "wells of the energy",
        dimension=2,
        components=4,
        n=1200,
        noise="vibration of the atoms in Angstrom, before distances are taken",
        levels=(0.0, 0.1, 0.2),
        draw=_in_wells,
        clean=_dipeptide,
        observe=_dipeptide_observed,
        domain=DIPEPTIDE,
    ),
    Manifold(
        name="drone",
        title="Drone by its clicks",
        what="240 samples of the sound that five microphones hear, over the place in a room",
        dimension=3,
        components=3,
        n=1000,
        noise="Gaussian noise of the microphones",
        levels=(0.02, 0.7, 1.4),
        draw=DRONE.uniform,
        clean=_echoes,
        observe=gaussian(_echoes),
        domain=DRONE,
    ),
    Manifold(
        name="arm",
        title="Robot arm",
        what="places of eight markers in centimetres over four joint angles",
        dimension=4,
        components=4,
        n=2000,
        noise="Gaussian noise of the markers in centimetres",
        levels=(0.1, 3.0, 6.0),
        draw=ARM.uniform,
        clean=_arm,
        observe=gaussian(_arm),
        domain=ARM,
    ),
)
