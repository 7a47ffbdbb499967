"""Pixels, curves and counts are told from columns that have units of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from patchfold.tables import Roles, TablePreparation, preprocessor, select
from patchfold.tables.coding import CountScaling
from patchfold.tables.one_unit import grid_columns, pixel_side, unit_of
from patchfold.tables.problems import TableError
from patchfold.tables.roles import beside_grid


def test_pixels_are_recognised_only_in_tables_of_pixels() -> None:
    digits = load_digits().data
    rng = np.random.default_rng(0)
    assert pixel_side(digits) == 8
    assert pixel_side(digits / 16) == 8
    assert pixel_side(digits[:, rng.permutation(64)]) is None
    assert pixel_side(digits - 8) is None  # negative
    assert pixel_side(digits[:, :63]) is None
    assert pixel_side(digits[:, :16]) is None  # too few
    assert pixel_side(rng.standard_normal((50, 64))) is None
    assert pixel_side(rng.poisson(2, (50, 64))) is None
    assert pixel_side(csr_array(digits)) is None
    assert pixel_side(np.zeros((5, 64))) is None


def spectra(rows=60, noise=0.02, names=None, seed=0):
    """Return three peaks that grow, shrink and come and go, on 200 wavenumbers."""
    rng = np.random.default_rng(seed)
    place, time = np.linspace(400, 1800, 200), np.sort(rng.random(rows))
    heights = np.column_stack([time, 1 - time, 4 * time * (1 - time)])
    peaks = [np.exp(-(((place - at) / 40) ** 2)) for at in (700, 1100, 1500)]
    table = heights @ peaks + noise * rng.standard_normal((rows, 200))
    return pd.DataFrame(table, columns=place.round(1).astype(str) if names is None else names)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_spectra_are_a_curve_whatever_their_noise(noise):
    frame = spectra(noise=noise)
    assert unit_of(frame) == "grid"
    assert unit_of(frame.add_suffix(" nm")) == "grid"
    assert unit_of(frame.iloc[:, ::-1]) == "grid"  # from the largest down, as instruments write


def test_a_spike_of_stray_light_does_not_hide_the_curve():
    spike = 1e4 * np.random.default_rng(1).random(60)
    assert unit_of(spectra().assign(**{"400.0": spike})) == "grid"


def test_columns_in_no_order_or_without_numbers_are_no_curve():
    mixed = np.random.default_rng(1).permutation(200)
    names = [f"V{place}" for place in range(200)]
    assert unit_of(spectra(names=names)) == "grid"
    assert unit_of(spectra(names=names).iloc[:, mixed]) == ""
    assert unit_of(spectra(names=names).iloc[:, mixed].set_axis(names, axis=1)) == ""
    assert unit_of(spectra(names=[f"{name}a{place}b" for place, name in enumerate(names)])) == ""
    assert unit_of(spectra(names=names).iloc[:, :10]) == ""  # too few


def test_tables_of_several_units_share_none():
    for load in (load_wine, load_breast_cancer):
        data = load(as_frame=True).data.astype(float)
        assert unit_of(data) == ""
        assert unit_of(data.set_axis([f"V{i}" for i in range(data.shape[1])], axis=1)) == ""
    rng = np.random.default_rng(0)
    answers = pd.DataFrame(rng.integers(1, 6, (200, 80)).astype(float))
    assert unit_of(answers) == ""
    towns = pd.DataFrame(rng.poisson(rng.lognormal(3, 2, 60), (50, 60)).astype(float))
    assert unit_of(towns) == "counts"
    assert unit_of(towns.assign(income=rng.integers(20_000, 60_000, 50).astype(float))) == ""
    ages = pd.DataFrame({"age": rng.integers(18, 90, 200), "hours": rng.integers(0, 60, 200)})
    for most in (2, 6, 11):  # answers of yes and no, from 1 to 5, from 0 to 10
        several = pd.DataFrame(rng.integers(most == 6, most, (200, 60)))
        assert unit_of(several.join(ages).astype(float)) == ""


def test_the_number_in_a_name_rises_or_falls():
    rising = [f"I({length} nm)" for length in range(300, 500, 5)]
    assert grid_columns(["time", *rising, "pH"]) == rising
    assert grid_columns(rising[::-1]) == rising[::-1]
    assert grid_columns(rising[20:] + rising[:20]) == []
    assert grid_columns([f"gene{chr(97 + i)}" for i in range(25)]) == []


def test_what_stands_beside_a_curve_is_shown_and_not_embedded():
    frame = spectra().assign(one=1, minute=np.arange(60) * 1.5, batch=["a", "b"] * 30)
    roles, notes = beside_grid(frame, Roles())
    assert (roles.target, roles.info) == ("minute", ("one", "batch"))
    assert notes[0].startswith("column 'minute' stands beside the curve from '400.0' to '1800.0'")
    assert "(--feature minute embeds it)" in notes[0]
    roles, _ = beside_grid(frame, Roles(target="batch", features=("one",)))
    assert (roles.target, roles.info) == ("batch", ("minute",))
    both = pd.concat([spectra(), spectra().add_prefix("b")], axis=1)  # two curves
    wine = load_wine(as_frame=True).frame
    assert beside_grid(both, Roles()) == (Roles(), [])
    assert beside_grid(wine, Roles()) == (Roles(), [])


def test_counts_become_logarithms_of_rows_with_the_same_sum():
    rng = np.random.default_rng(0)
    reads = rng.poisson(rng.lognormal(0, 1.5, 120), (90, 120))
    features = select(pd.DataFrame(reads).add_prefix("g")).features
    assert unit_of(features) == "counts"
    points = preprocessor(features, scale="counts").fit_transform(features)
    np.testing.assert_allclose(np.expm1(points).sum(axis=1), np.median(reads.sum(axis=1)))
    scaling = CountScaling().fit(reads)
    # A cell that is read ten times as deep is at the same place.
    np.testing.assert_allclose(scaling.transform(10 * reads), scaling.transform(reads))
    assert scaling.transform(np.zeros((1, 120))).tolist() == [[0.0] * 120]
    with pytest.raises(TableError, match="counts are negative, such as -1; correct them"):
        scaling.transform(-np.ones((1, 120)))


GENES = ["Actb", "Gapdh", "Cd4", "Sox2", "Pax6", "Gata1"]
CELLS = [
    f"sample1_{code}-1" for code in ("ACGTACGTACGTAAAA", "TTGTACGTACGTAAAA", "ACGTACGGGGGTAAAA")
]
HINT = "rows look like genes, and columns like cells or samples"


@pytest.mark.parametrize(
    ("names", "rows", "hinted"),
    [
        (CELLS, GENES, True),
        (CELLS, [f"row {place}" for place in range(6)], True),
        (["control", "treated", "late"], [f"ENSG0000000000{place}" for place in range(6)], True),
        (["GSM1001", "GSM1002", "GSM1003"], [f"probe {place}" for place in range(6)], True),
        (["control", "treated", "late"], ["a", "b", "c", "Actb", "Gapdh", "f"], False),
        (["ACTB", "GAPDH", "CD4"], [f"cell {place}" for place in range(6)], False),
    ],
)
def test_a_table_with_genes_in_its_rows_gets_a_hint(names, rows, hinted) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).random((6, 3)), columns=names)
    frame.insert(0, "name", [f"{row}" for row in rows])
    prepare = TablePreparation(id="name").fit(frame)
    assert any(note.startswith(HINT) for note in prepare.notes_) is hinted
