"""Every divergence agrees with fifty digits and has the properties it should have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import reference
from gaussians import NAMES, factored_patches, full_patches, random_covariances
from patchfold import GaussianPatch, Patches, divergences
from patchfold.divergences import pairwise

GAUSSIAN = NAMES[:-1]
METRICS = ("hellinger", "wasserstein", "calvo-oller", "euclidean")
RIEMANN = ("jeffreys-riemann", "bhattacharyya-riemann")
# The Cauchy-Schwarz divergence of Gaussians is among them: the determinant of the map cancels.
INVARIANT = tuple(name for name in NAMES if name not in {"wasserstein", "euclidean"})
EPS = np.finfo(float).eps

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 12)


@st.composite
def random_patches(draw, n=3, dims=dimensions):
    """Full or factored patches, near or far from each other, well or badly conditioned."""
    rng = np.random.default_rng(draw(seeds))
    m = draw(dims)
    condition = 10.0 ** draw(st.integers(0, 10))
    spread = 10.0 ** draw(st.integers(-3, 3))
    if m > 1 and draw(st.booleans()):
        return factored_patches(rng, n, m, draw(st.integers(1, m - 1)), condition, spread)
    return full_patches(rng, n, m, condition, spread)


# ------------------------------------------------------------------ against fifty digits


def assert_agrees_with_fifty_digits(patches, covariances, tolerance):
    means = [reference.matrix(mean[:, None]) for mean in patches.means]
    expected = reference.divergences(means[0], covariances[0], means[1], covariances[1])
    assert set(expected) == set(NAMES)
    for name, value in expected.items():
        got = divergences.paired(patches, [0], [1], name)[0]
        assert abs(got - value) <= tolerance * value, name


# Every condition number near and far in few dimensions; in many, what is hardest.
CELLS = [(m, c, s) for m in (1, 2, 3, 7, 20) for c in (1.0, 1e4, 1e8) for s in (0.01, 1.0, 100.0)]
CELLS += [(30, 1e8, 0.01), (30, 1e8, 1.0), (30, 1e2, 1.0), (2, 1e12, 1.0), (7, 1e12, 0.01)]


@pytest.mark.some_cases(10)
@pytest.mark.parametrize(("m", "condition", "spread"), CELLS)
def test_full_patches_agree_with_fifty_digits(m, condition, spread):
    rng = np.random.default_rng(m)
    means = spread * rng.standard_normal((2, m))
    covariances = random_covariances(rng, 2, m, condition)
    # A Cholesky decomposition is exact for a matrix within eps of the given one, which moves its
    # smallest eigenvalue by eps times the condition number: nothing that starts from m x m numbers
    # of 16 digits can promise more. At 1e8 that is about 1e-8, and these cells stay within it.
    tolerance = 1e-8 if condition <= 1e8 else 64 * EPS * condition
    assert_agrees_with_fifty_digits(
        Patches.from_moments(means, covariances),
        [reference.matrix(S) for S in covariances],
        tolerance,
    )


@pytest.mark.some_cases(10)
@pytest.mark.parametrize(
    ("m", "r", "condition", "spread"),
    [
        (m, r, c, s)
        for m, r in [(2, 1), (3, 2), (6, 4), (20, 5), (20, 12)]
        for c in (10.0, 1e4, 1e8, 1e12)
        for s in (0.01, 1.0, 100.0)
    ]
    + [(30, 3, 1e8, 1.0), (30, 9, 1e8, 0.01), (30, 24, 1e8, 1.0)],
)
def test_factored_patches_agree_with_fifty_digits_at_any_condition(m, r, condition, spread):
    # Kept factored, the small eigenvalues are numbers of their own and lose nothing.
    patches = factored_patches(np.random.default_rng(m + r), 2, m, r, condition, spread)
    covariances = [
        reference.factored_covariance(patches.directions[p], patches.variances[p], patches.ridge[p])
        for p in (0, 1)
    ]
    assert_agrees_with_fifty_digits(patches, covariances, 1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("m", "r"), [(2, 1), (5, 3), (5, 4), (30, 4), (30, 14), (30, 20)])
def test_low_rank_and_full_arithmetic_agree(m, r, name):
    # Writing a covariance out rounds it by eps times the condition number, 1e5 here.
    factored = factored_patches(np.random.default_rng(m * r), 12, m, r, condition=1e5)
    full = Patches.from_moments(factored.means, factored.covariances())
    np.testing.assert_allclose(pairwise(factored, name), pairwise(full, name), rtol=1e-9)


def test_full_patches_that_almost_coincide_keep_their_relative_accuracy():
    # Formulas that subtract m, or one trace from another, would return noise here.
    covariances = random_covariances(np.random.default_rng(5), 1, 4, 10.0)[[0, 0]]
    covariances[1] *= 1 + 1e-7
    patches = Patches.from_moments(np.zeros((2, 4)), covariances)
    zero = reference.matrix(np.zeros((4, 1)))
    S_a, S_b = (reference.matrix(S) for S in covariances)
    expected = reference.divergences(zero, S_a, zero, S_b)
    for name in GAUSSIAN:
        value = divergences.paired(patches, [0], [1], name)[0]
        assert abs(value - expected[name]) <= 1e-7 * expected[name], name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("apart", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize(("m", "r"), [(2, 1), (6, 4), (20, 5)])
def test_factored_patches_that_almost_coincide_keep_their_relative_accuracy(m, r, apart, dtype):
    patches = factored_patches(np.random.default_rng(m), 1, m, r, 10.0)[[0, 0]]._map(
        lambda field: field.astype(dtype), np.arange(2)
    )
    patches.means[:] = 0
    patches.variances[1] *= 1 + dtype(apart)
    covariances = [
        reference.factored_covariance(patches.directions[p], patches.variances[p], patches.ridge[p])
        for p in (0, 1)
    ]
    zero = reference.matrix(np.zeros((m, 1)))
    expected = reference.divergences(zero, covariances[0], zero, covariances[1])
    eps = np.finfo(dtype).eps
    for name in GAUSSIAN:
        value = float(divergences.paired(patches, [0], [1], name)[0])
        # The rounding of what is compared, eps, is seen through their distance.
        assert (
            abs(value - expected[name])
            <= (100 * eps**0.5 * 1e-2 + 30 * eps / apart) * expected[name]
        ), name


@pytest.mark.parametrize("name", NAMES)
def test_patches_of_other_rank_or_form_are_compared_all_the_same(name):
    rng = np.random.default_rng(8)
    wide, narrow = factored_patches(rng, 5, 9, 6), factored_patches(rng, 5, 9, 2)
    both = np.concatenate([wide.covariances(), narrow.covariances()])
    full = Patches.from_moments(np.concatenate([wide.means, narrow.means]), both)
    rows = np.arange(5)
    expected = divergences.paired(full, rows, rows + 5, name)
    for one, other in [(wide, narrow), (wide, full[5:]), (full[:5], narrow)]:
        value = divergences.paired(one, rows, rows, name, other=other)
        np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_patches_without_directions_are_spheres():
    rng = np.random.default_rng(8)
    means, ridge = rng.standard_normal((5, 4)), rng.uniform(1, 2, 5)
    spheres = Patches.from_factors(means, np.empty((5, 4, 0)), np.empty((5, 0)), ridge)
    full = Patches.from_moments(means, ridge[:, None, None] * np.eye(4))
    for name in NAMES:
        np.testing.assert_allclose(pairwise(spheres, name), pairwise(full, name), atol=1e-7)


# ------------------------------------------------------------------ by hand


def test_kl_is_half_of_jeffreys_and_both_equal_the_seeds_equations_term_by_term():
    # Sa = [[2, 1], [1, 2]], Sb = diag(1, 4), u = mu_a - mu_b = (1, 2):
    #   Sa^-1 = [[2, -1], [-1, 2]] / 3,  Sb^-1 = diag(1, 1/4)
    #   tr(Sa^-1 Sb) = (2 * 1 + 2 * 4) / 3 = 10/3
    #   tr(Sb^-1 Sa) = 2 + 2/4 = 5/2
    #   u'Sa^-1 u = (2 * 1 - 2 * 1 * 2 + 2 * 4) / 3 = 2
    #   u'Sb^-1 u = 1 + 4/4 = 2
    patches = Patches.from_moments(
        [[1.0, 2.0], [0.0, 0.0]], [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 4.0]]]
    )
    # ISOMAP-KL eq. 22 (PELLE eq. 24, ELAP eq. 41), its terms in the order printed
    kl = 0.5 * (0.5 * (10 / 3 + 5 / 2) + 0.5 * 2 + 0.5 * 2 - 2)
    # X-space eq. 7: u' Psi u / 2 + tr(...) / 2 - d
    jeffreys = 0.5 * (2 + 2) + 0.5 * (10 / 3 + 5 / 2) - 2
    assert divergences.paired(patches, [0], [1], "kl")[0] == pytest.approx(kl, rel=1e-14)
    assert divergences.paired(patches, [0], [1], "jeffreys")[0] == pytest.approx(
        jeffreys, rel=1e-14
    )
    assert kl == pytest.approx(jeffreys / 2, rel=1e-14)


@given(random_patches())
def test_kl_is_exactly_half_of_jeffreys(patches):
    assert np.array_equal(2 * pairwise(patches, "kl"), pairwise(patches, "jeffreys"))


def test_fisher_rao_is_exact_in_one_dimension_and_calvo_oller_between_equal_means():
    patches = Patches.from_moments([[0.0], [0.0], [3.0]], [[[1.0]], [[4.0]], [[2.0]]])
    D, lower = pairwise(patches, "fisher-rao"), pairwise(patches, "calvo-oller")
    # Between N(m, s^2) and N(m', s'^2) the distance is sqrt(2) arcosh(1 + ...), half-plane geometry
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        s, t = np.sqrt([patches.covariances()[p, 0, 0] for p in (i, j)])
        gap = patches.means[i, 0] - patches.means[j, 0]
        exact = np.sqrt(2) * np.arccosh(1 + (gap**2 / 2 + (s - t) ** 2) / (2 * s * t))
        assert D[i, j] == pytest.approx(exact, rel=1e-12)
        assert lower[i, j] == pytest.approx(exact, rel=1e-12 if gap == 0 else 0.2)
        assert lower[i, j] <= exact * (1 + 1e-12)


def test_fisher_rao_is_exact_where_the_gap_is_along_a_common_axis():
    # A product of a plane (mean and variance along the axis) and of variances across it.
    S = np.stack([np.eye(3), np.diag([4.0, 0.1, 9.0])])
    value = divergences.paired(
        Patches.from_moments([[0, 0, 0], [2.0, 0, 0]], S), [0], [1], "fisher-rao"
    )
    along = np.sqrt(2) * np.arccosh(1 + (2.0**2 / 2 + (1 - 2.0) ** 2) / (2 * 2.0))
    exact = np.sqrt(along**2 + (np.log(0.1) ** 2 + np.log(9.0) ** 2) / 2)
    assert value[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize(("length", "error"), [(0.01, 1e-6), (1.0, 1e-3), (3.0, 0.03)])
def test_the_length_of_a_geodesic_is_between_calvo_oller_and_fisher_rao(m, length, error):
    rng = np.random.default_rng(m)
    for _ in range(5):
        x, B = rng.standard_normal(m), rng.standard_normal((m, m))
        B = B + B.T
        unit = length / np.sqrt(x @ x + np.trace(B @ B) / 2)
        mean, S = end_of_geodesic(unit * x, unit * B)
        patches = Patches.from_moments(np.stack([0 * mean, mean]), np.stack([np.eye(m), S]))
        upper = divergences.paired(patches, [0], [1], "fisher-rao")[0]
        lower = divergences.paired(patches, [0], [1], "calvo-oller")[0]
        assert lower <= length * (1 + 1e-9)
        assert length * (1 - 1e-9) <= upper <= length * (1 + error)


def end_of_geodesic(x, B):
    """Follow the geodesic from N(0, I) in the direction ``x`` of the mean, ``B`` of the covariance.

    Its equations are ``mu'' = S' S^-1 mu'`` and ``S'' = S' S^-1 S' - mu' (mu')^T``; here ``'`` is
    the derivative.
    """
    m = len(x)

    def change(_, state):
        _, S, dmean, dS = np.split(state, np.cumsum([m, m * m, m]))
        S, dS = S.reshape(m, m), dS.reshape(m, m)
        turn = dS @ np.linalg.inv(S)
        ddS = turn @ dS - np.outer(dmean, dmean)
        return np.concatenate([dmean, dS.ravel(), turn @ dmean, ddS.ravel()])

    start = np.concatenate([0 * x, np.eye(m).ravel(), x, B.ravel()])
    end = solve_ivp(change, (0, 1), start, rtol=1e-11, atol=1e-13).y[:, -1]
    return end[:m], end[m : m + m * m].reshape(m, m)


# ------------------------------------------------------------------ properties


@pytest.mark.parametrize("name", NAMES)
@given(patches=random_patches(n=4))
def test_symmetric_to_the_last_bit(name, patches):
    i, j = (ends.ravel() for ends in np.indices((4, 4)))
    forth, back = (divergences.paired(patches, *ends, name) for ends in ((i, j), (j, i)))
    assert np.array_equal(forth, back)
    assert np.array_equal(forth.reshape(4, 4), pairwise(patches, name))
    # also when the two patches change places
    reversed_ = divergences.paired(patches[::-1], 3 - i, 3 - j, name)
    assert np.array_equal(forth, reversed_)


@pytest.mark.parametrize("name", NAMES)
@given(patches=random_patches(n=2))
def test_exactly_zero_for_equal_patches(name, patches):
    assert (np.diagonal(pairwise(patches[[0, 1, 0]], name)) == 0).all()
    assert divergences.paired(patches[[0, 1, 0]], [0, 2], [2, 0], name).tolist() == [0, 0]


@pytest.mark.parametrize("name", NAMES)
@given(patches=random_patches(n=3), scale=st.integers(-9, 9))
def test_finite_and_never_negative(name, patches, scale):
    factor = 10.0**scale
    if patches.factored:
        scaled = Patches.from_factors(
            patches.means * factor,
            patches.directions,
            patches.variances * factor**2,
            patches.ridge * factor**2,
        )
    else:
        scaled = Patches.from_moments(patches.means * factor, patches.covariances() * factor**2)
    D = pairwise(scaled, name)
    assert np.isfinite(D).all()
    assert (D >= 0).all()


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds, m=st.integers(1, 6), power=st.integers(-15, -1))
def test_never_negative_for_patches_a_rounding_error_apart(name, seed, m, power):
    rng = np.random.default_rng(seed)
    S = random_covariances(rng, 1, m, 1e4)[[0, 0]]
    S[1] *= 1 + 10.0**power
    D = pairwise(Patches.from_moments(np.zeros((2, m)), S), name)
    assert (D >= 0).all()
    assert np.isfinite(D).all()


@pytest.mark.parametrize("name", INVARIANT)
@given(seed=seeds, m=st.integers(1, 8), r=st.integers(0, 7), shift=st.floats(-100, 100))
def test_invariant_under_an_affine_map_of_the_data(name, seed, m, r, shift):
    rng = np.random.default_rng(seed)
    factored = factored_patches(rng, 3, m, r, 100.0) if 0 < r < m else None
    before = factored or full_patches(rng, 3, m, 100.0)
    U, V = (np.linalg.qr(rng.standard_normal((m, m)))[0] for _ in range(2))
    A = U * 10.0 ** rng.uniform(-2, 2, m) @ V
    means, covariances = before.means @ A.T + shift, A @ before.covariances() @ A.T
    after = Patches.from_moments(means, (covariances + covariances.transpose(0, 2, 1)) / 2)
    # A stretches by up to 1e4, the covariances by 1e8: their rounding is seen in the values.
    np.testing.assert_allclose(pairwise(after, name), pairwise(before, name), rtol=1e-5)


@pytest.mark.parametrize("name", METRICS)
@given(patches=random_patches(n=3))
def test_triangle_inequality_of_the_metrics(name, patches):
    D = pairwise(patches, name)
    assert D[0, 2] <= (D[0, 1] + D[1, 2]) * (1 + 1e-9)


@pytest.mark.parametrize("name", RIEMANN)
@pytest.mark.parametrize("common", ["mean", "covariance"])
@given(patches=random_patches(n=3))
def test_riemann_measures_are_metrics_where_means_or_covariances_are_equal(name, common, patches):
    S = patches.covariances()
    means = patches.means * (common == "covariance")
    if common == "covariance":
        S = S[[0, 0, 0]]
    patches = Patches.from_moments(means, S + 1e-6 * np.eye(patches.n_features))
    D = pairwise(patches, name)
    assert D[0, 2] <= (D[0, 1] + D[1, 2]) * (1 + 1e-7)


@pytest.mark.parametrize(("name", "detour"), [(RIEMANN[0], 80.3), (RIEMANN[1], 23.3)])
def test_riemann_measures_are_no_metrics_in_general(name, detour):
    # X-space (section 4) calls them metrics. From N(0, 1) to N(100, 1) it is shorter by way of the
    # wide N(50, 100): near a wide patch steps between means are short.
    patches = Patches.from_moments([[0.0], [50.0], [100.0]], [[[1.0]], [[100.0]], [[1.0]]])
    D = pairwise(patches, name)
    assert D[0, 2] == pytest.approx(100)
    assert D[0, 1] + D[1, 2] == pytest.approx(detour, abs=0.05)


def test_hellinger_never_exceeds_one():
    patches = full_patches(np.random.default_rng(0), 5, 3, 1e6, spread=1e6)
    assert pairwise(patches, "hellinger").max() == 1


# ------------------------------------------------------------------ data far from the origin


@pytest.mark.parametrize("name", NAMES)
def test_an_offset_of_the_data_costs_no_digits(name):
    rng = np.random.default_rng(3)
    # Multiples of 2^-20, so that adding 1000 is exact and only the arithmetic can lose digits.
    X = np.round(rng.standard_normal((60, 4)) * 2**20) / 2**20
    recipe = GaussianPatch(size=8, gamma=1e-4)
    near, far = recipe.fit(X), recipe.fit(X + 1000)
    np.testing.assert_allclose(pairwise(far, name), pairwise(near, name), rtol=1e-7, atol=1e-12)
