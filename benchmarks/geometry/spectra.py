"""Spectra: a real fermentation in time, a reaction, a plant canopy, vowels."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.signal import savgol_filter
from scipy.special import exprel

from benchmarks.geometry.images import counting
from benchmarks.geometry.manifold import Domain, Manifold


def bands(axis, centres, widths, heights):
    """Return a sum of Gaussian bands."""
    apart = (axis[:, None] - np.array(centres)) / np.array(widths)
    return np.exp(-(apart**2) / 2) @ np.array(heights)


# ---------------------------------------------------------------- a real fermentation


@cache
def fermentation_spectra():
    """Return the Raman spectra of a fermentation in the order of time: shape (1629, 409).

    They come with chemotools (Cabaneros Lopez et al., lignocellulose to ethanol, 34 hours). They
    are prepared as in its documentation: 950 to 1500 per cm, a straight line subtracted, the first
    derivative. Then they are scaled as a whole.
    """
    from chemotools.datasets import load_fermentation_test

    table, _ = load_fermentation_test()
    shift = table.columns.to_numpy(dtype=float)
    part = table.to_numpy(dtype=float)[:, (shift > 950) & (shift < 1500)]
    along = np.linspace(0, 1, part.shape[1])
    part = part - part[:, :1] * (1 - along) - part[:, -1:] * along
    return 1000 * savgol_filter(part, 15, 2, deriv=1)


# The time from the first spectrum to the last.
HOURS = 34.0


def _some_times(random, n):
    return np.sort(random.choice(FERMENTATION_COUNT, n, replace=False))[:, None].astype(float)


FERMENTATION_COUNT = 1629


def _fermentation(parameters):
    return fermentation_spectra()[parameters[:, 0].astype(int)]


def _fermentation_observed(parameters, strength, random):
    clean = _fermentation(parameters)
    return clean + strength * random.standard_normal(clean.shape)


def _hours_apart(parameters):
    time = HOURS * parameters[:, 0] / (FERMENTATION_COUNT - 1)
    return np.abs(time[:, None] - time)


# ---------------------------------------------------------------- a reaction

WAVELENGTHS = np.linspace(300, 700, 160)
SPECIES = np.stack(
    [
        bands(WAVELENGTHS, [340, 420], [25, 30], [1.6, 0.5]),
        bands(WAVELENGTHS, [390, 520], [30, 28], [0.7, 1.8]),
        bands(WAVELENGTHS, [460, 610], [28, 35], [1.0, 1.4]),
    ]
)
SECOND_RATE = 0.25
# Optical depth of the cell.
DEPTH = 3.0
# log10 of the first rate per minute, and of minutes.
KINETICS = Domain((-1.2, -0.3), (0.0, 1.0), (False, False))


def _transmitted(parameters):
    """Return the photons that pass a cell in which A becomes B and B becomes C."""
    first, time = 10**parameters.T
    A = np.exp(-first * time)
    # k1 (exp(-k2 t) - exp(-k1 t)) / (k1 - k2), also where the rates are equal
    B = first * time * np.exp(-SECOND_RATE * time) * exprel((SECOND_RATE - first) * time)
    absorbed = DEPTH * np.column_stack([A, B, 1 - A - B]) @ SPECIES
    return 100 * 10**-absorbed


# ---------------------------------------------------------------- a canopy

OPTICAL = np.linspace(400, 2400, 120)
CHLOROPHYLL = bands(OPTICAL, [440, 670, 620], [35, 22, 40], [0.06, 0.05, 0.02])
WATER = bands(OPTICAL, [970, 1200, 1450, 1940, 2400], [40, 50, 70, 80, 200], [0.8, 2, 25, 60, 40])
DRY = bands(OPTICAL, [400, 2100, 2300], [120, 120, 80], [0.5, 0.12, 0.18]) + 0.03
SOIL = 0.08 + 0.22 * (1 - np.exp(-(OPTICAL - 350) / 700))
# log of the leaf area index, log of chlorophyll in ug / cm2, log of water in cm.
CANOPY = Domain(
    (np.log(0.3), np.log(12), np.log(0.004)), (np.log(6), np.log(80), np.log(0.04)), (False,) * 3
)


def _reflectance(parameters):
    """Return the reflectance in percent of leaves above soil: two streams, after Hapke."""
    leaves, chlorophyll, water = np.exp(parameters.T)[:, :, None]
    albedo = 0.97 * np.exp(-(chlorophyll * CHLOROPHYLL + water * WATER + DRY))
    root = np.sqrt(1 - albedo)
    deep = (1 - root) / (1 + root)
    ratio = (SOIL - deep) / (1 - SOIL * deep)
    through = ratio * np.exp(-1.2 * root * leaves)
    return 100 * (deep + through) / (1 + deep * through)


def _canopy_observed(parameters, strength, random):
    clean = _reflectance(parameters)
    light = 1 + 0.01 * strength * random.standard_normal((len(clean), 1))
    return clean * light + strength * random.standard_normal(clean.shape)


# ---------------------------------------------------------------- vowels

HERTZ = np.linspace(80, 1350, 128)
# Pitch and first formant in Hz.
VOWELS = Domain((110.0, 300.0), (180.0, 850.0), (False, False))


def _loudness(parameters):
    """Return the loudness in bands of a voice: harmonics of the pitch, shaped by formants."""
    pitch, formant = parameters.T[:, :, None]
    harmonics = pitch * np.arange(1, 15)
    resonance = sum(
        height / (1 + ((harmonics - centre) / width) ** 2)
        for centre, width, height in ((formant, 90.0, 1.0), (1250.0, 120.0, 0.4))
    )
    heard = np.exp(-(((harmonics[:, :, None] - HERTZ) / 60) ** 2) / 2)
    power = np.einsum("nh,nhb->nb", resonance**2, heard)
    return 10 * (power + 1e-3) ** 0.3


def _vowels_observed(parameters, strength, random):
    clean = _loudness(parameters)
    return clean + strength * random.standard_normal(clean.shape)


def _spoken(random, n):
    """Draw pitches and formants, more of them in the middle than at the ends."""
    return VOWELS.low + (np.array(VOWELS.high) - VOWELS.low) * random.beta(1.3, 1.3, (n, 2))


MANIFOLDS = (
    Manifold(
        name="fermentation",
        title="Fermentation, measured",
        what="Raman spectra of a real fermentation at 409 wave numbers, over 34 hours; the truth "
        "is the time between them",
        dimension=1,
        components=2,
        n=600,
        noise="what the spectra have, and Gaussian noise of the detector",
        levels=(0.0, 0.3, 0.6),
        draw=_some_times,
        clean=_fermentation,
        observe=_fermentation_observed,
        distances=_hours_apart,
    ),
    Manifold(
        name="kinetics",
        title="Reaction A to B to C",
        what="roots of the photons that pass a cell at 160 wavelengths (Beer and Lambert), over "
        "the rate of the first step and time",
        dimension=2,
        components=2,
        n=900,
        noise="photon counts; one over the time of exposure",
        levels=(0.01, 1.0, 5.0),
        draw=KINETICS.uniform,
        clean=lambda parameters: np.sqrt(_transmitted(parameters)),
        observe=counting(_transmitted),
        domain=KINETICS,
    ),
    Manifold(
        name="canopy",
        title="Plant canopy",
        what="reflectance of leaves above soil at 120 wavelengths, over leaf area, chlorophyll "
        "and water",
        dimension=3,
        components=3,
        n=1000,
        noise="noise of the detector in percent of reflectance, and as much in the light",
        levels=(0.02, 0.7, 2.0),
        draw=CANOPY.uniform,
        clean=_reflectance,
        observe=_canopy_observed,
        domain=CANOPY,
    ),
    Manifold(
        name="vowels",
        title="Vowels",
        what="loudness in 128 bands of a sung vowel, over pitch and first formant",
        dimension=2,
        components=2,
        n=1200,
        noise="noise in the loudness",
        levels=(0.02, 0.3, 0.6),
        draw=_spoken,
        clean=_loudness,
        observe=_vowels_observed,
        domain=VOWELS,
    ),
)
